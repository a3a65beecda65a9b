"""Sky models: sources as data, the files of BBS/DP3, WSClean, Tigger, OSKAR, hyperdrive, RTS, WODEN, mwa-reduce (AO)
and SAGECal, catalogues of PyBDSF and of the MWA, model images, CASA's lists of components, maps in HEALPix pixels,
pyradiosky's SkyH5, and flux calibrators by their names.

    model = rimetree.sky.read("field.skymodel")
    model.total_flux_jy, model.radec_rad, model.stokes_jy
    rimetree.sky.write(model.select(min_flux_jy=0.1), "bright.skymodel")

Nothing is evaluated here: direction cosines, spectra and shapes are nodes of a tree. `rimetree.sky.synthetic` makes up
skies for examples and benchmarks.
"""

from typing import TYPE_CHECKING

from ..loading import when_used
from .errors import SkyModelError, UnsupportedError
from .flux_table import FluxTable
from .model import Skipped, SkyModel
from .shapelets import Shapelets
from .source import Source

if TYPE_CHECKING:  # what is loaded when it is used
    from . import synthetic
    from .flux_calibrators import calibrator, calibrators
    from .formats import READERS, WRITERS, detect, format_to_write, read, write

__all__ = [
    "READERS",
    "WRITERS",
    "FluxTable",
    "Shapelets",
    "Skipped",
    "SkyModel",
    "SkyModelError",
    "Source",
    "UnsupportedError",
    "calibrator",
    "calibrators",
    "detect",
    "format_to_write",
    "read",
    "synthetic",
    "write",
]

__getattr__, __dir__ = when_used(
    __name__,
    {
        "formats": "READERS WRITERS detect format_to_write read write",
        "flux_calibrators": "calibrator calibrators",
    },
    modules=("synthetic",),
)
