"""Families of solutions: curves of saddle points over a parameter along which α is explicit."""
