"""Primary beams: how much of each source's power antennas let through.

    sky = rt.sky.read("field.skymodel").seen_through(rt.Beam.of_dish(25.0))
    sky = sky.seen_through(rt.PolynomialBeam.of_telescope("vla"))
    sky = sky.seen_through([rt.Beam.of_dish(diameter_m) for diameter_m in diameters])  # of each antenna
    sky = sky.seen_through(rt.BeamPattern.read("beam_$(corr)_$(reim).fits", site_m=site))
    sky = sky.seen_through(rt.StandingPattern.read("hera.beamfits", site))
    sky = sky.seen_through([rt.StationBeam.read("layout.txt", xyz_m) for xyz_m in antenna_xyz_m])

A `SkyModel` carries its beam, or those of its antennas, along: whatever predicts it, images it or calibrates against it
sees its sources through them. Beams of other forms are Jones terms of a tree (`DishBeam`, `Interpolate` and other
nodes): docs/writing-trees.md, primary beams.
"""

from .array import AnyBeam, beams_text, jones_nodes, kinds_of, mean_power, require_pointing, voltages
from .dish import Beam
from .lofar import lofar_beams
from .oskar import oskar_layouts
from .pattern import BeamPattern
from .place import Place, drift_frame
from .polynomial import PolynomialBeam
from .standing_pattern import StandingPattern
from .station import StationBeam, read_layout

__all__ = [
    "AnyBeam",
    "Beam",
    "BeamPattern",
    "Place",
    "PolynomialBeam",
    "StandingPattern",
    "StationBeam",
    "beams_text",
    "drift_frame",
    "jones_nodes",
    "kinds_of",
    "lofar_beams",
    "mean_power",
    "oskar_layouts",
    "read_layout",
    "require_pointing",
    "voltages",
]
