"""The names of :mod:`widthwise.sweeps.sweep`."""

from ..sweeps.sweep import *  # noqa: F403
