"""The names of :mod:`widthwise.studies.leaderboard`."""

from ..studies.leaderboard import *  # noqa: F403
