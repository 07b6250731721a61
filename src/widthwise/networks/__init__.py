"""Networks of finite size: a teacher with its data, and what is measured on a student beside it."""

from .instance import Instance, sample_instance
from .observables import Observer

__all__ = ["Instance", "Observer", "sample_instance"]
