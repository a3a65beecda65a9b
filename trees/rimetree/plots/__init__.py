"""Pictures: dirty images of Measurement Sets as PNG and FITS, solutions as PNG, PDF and HTML, and
forests as SVG.

from rimetree import plots

image = plots.dirty_image("sim.ms", "MODEL_DATA", size=512)
plots.write_png(image, "sim.png")
plots.write_fits(image, "sim.fits")

Nothing heavy is imported before it is used.
"""

from .draw import draw, forest_graph
from .image import Image, dirty_image
from .image_files import write_fits, write_png
from .peaks import Peak, compare_peaks
from .solutions import plot_solutions

__all__ = [
    "Image",
    "Peak",
    "compare_peaks",
    "dirty_image",
    "draw",
    "forest_graph",
    "plot_solutions",
    "write_fits",
    "write_png",
]
