"""Sky models: sources as data, and the files of BBS/DP3, WSClean, Tigger, OSKAR and hyperdrive.

    model = rimetree.sky.read("field.skymodel")
    model.total_flux_jy, model.radec_rad, model.stokes_jy
    rimetree.sky.write(model.select(min_flux_jy=0.1), "bright.skymodel")

Nothing is evaluated here: direction cosines, spectra and shapes are nodes of a tree. `rimetree.sky.synthetic` makes up
skies for examples and benchmarks.
"""

from . import synthetic
from .errors import SkyModelError, UnsupportedError
from .formats import READERS, WRITERS, detect, read, write
from .model import Skipped, SkyModel
from .source import Source

__all__ = [
    "READERS",
    "WRITERS",
    "Skipped",
    "SkyModel",
    "SkyModelError",
    "Source",
    "UnsupportedError",
    "detect",
    "read",
    "synthetic",
    "write",
]
