"""The names of :mod:`widthwise.studies.hardness`."""

from ..studies.hardness import *  # noqa: F403
