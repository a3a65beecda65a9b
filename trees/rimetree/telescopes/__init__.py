"""Telescopes: where antennas stand, how they are mounted and fed, and what they usually observe.

rimetree.telescopes.available()
meerkat = rimetree.telescopes.get("meerkat")
mine = rimetree.telescopes.get("my_layout.csv")
"""

from .layouts import ALIASES, available, get, read
from .telescope import Telescope, TelescopeError

__all__ = ["ALIASES", "Telescope", "TelescopeError", "available", "get", "read"]
