"""Every figure and table of the paper, computed again: ``widthwise reproduce``.

One module an item, all of one form (:class:`Item`); the sizes at which they run are in :mod:`scales`, the
authors' own measurements in :mod:`published`.
"""

from .item import Item, Tables
from .registry import NAMES, choose, find
from .reproduce import Outcome, announce, load, reproduce
from .scales import SCALES, Settings, settings_of

__all__ = [
    "NAMES",
    "SCALES",
    "Item",
    "Outcome",
    "Settings",
    "Tables",
    "announce",
    "choose",
    "find",
    "load",
    "reproduce",
    "settings_of",
]
