"""Numerical tools without physics: piecewise polynomials, bracketed roots, Newton's method."""
