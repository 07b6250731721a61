"""The names of :mod:`widthwise.studies.yardstick`."""

from ..studies.yardstick import *  # noqa: F403
