"""The names of :mod:`widthwise.studies.kernel_ridge`."""

from ..studies.kernel_ridge import *  # noqa: F403
