"""Experiments on finite networks: instances, observables, and what is built on them."""

from .instance import Instance, sample_instance
from .observables import Observer

__all__ = ["Instance", "Observer", "sample_instance"]
