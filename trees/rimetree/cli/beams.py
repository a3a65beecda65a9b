"""The primary beam of a command: --beam and --pointing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from .errors import Failed
from .quantities import ANGLE, DEC, FREQUENCY, LENGTH, RA

if TYPE_CHECKING:
    from rimetree import Beam
    from rimetree.sky import SkyModel

_EXPECTED = {
    "airy": "airy: DIAMETER[, BLOCKAGE], e.g. airy: 25m, 2.5m; airy alone takes the diameters of the set",
    "gaussian": "gaussian: WIDTH, FREQUENCY, e.g. gaussian: 57.5arcmin, 1.5GHz",
    "cosine": "cosine: WIDTH, FREQUENCY, e.g. cosine: 57.5arcmin, 1.5GHz",
}


@dataclass(frozen=True)
class AskedBeam:
    """What --beam says: a beam, or None for the Airy pattern of the dishes that there are."""

    beam: Beam | None

    def of(self, diameters_m: Sequence[float], pointing_rad: Sequence[float] | None) -> Beam:
        """The beam of dishes of these diameters. Raises `Failed` where they are not alike and none was given."""
        from rimetree import Beam

        pointing = None if pointing_rad is None else tuple(pointing_rad)
        if self.beam is not None:
            return replace(self.beam, pointing_rad=pointing)
        sizes = sorted(set(diameters_m))
        if len(sizes) != 1 or not sizes[0] > 0:
            there = ", ".join(f"{size:g}" for size in sizes[:5]) or "none"
            raise Failed(
                f"--beam airy: the set's dishes have diameters (m) of {there}; give one for all, as in "
                '"airy: 25m", or write a tree in which each has its own (docs/writing-trees.md)'
            )
        return Beam.of_dish(sizes[0], pointing_rad=pointing)


class BeamType(click.ParamType):
    """KIND, or KIND: numbers with units."""

    name = "beam"

    def convert(self, value, param, ctx) -> AskedBeam:
        if isinstance(value, AskedBeam):
            return value
        from rimetree import Beam, Error

        kind, colon, rest = (part.strip() for part in value.partition(":"))
        kind, given = kind.lower(), [part.strip() for part in rest.split(",")] if rest else []
        if kind not in _EXPECTED:
            self.fail(f"{value!r}: there is no beam {kind!r}; there are {', '.join(_EXPECTED)}")
        if kind == "airy" and not colon:
            return AskedBeam(None)
        if len(given) not in ((1, 2) if kind == "airy" else (2,)):
            self.fail(f"{value!r}: expected {_EXPECTED[kind]}")
        try:
            if kind == "airy":
                return AskedBeam(Beam.of_dish(*(LENGTH.with_unit().convert(one, param, ctx) for one in given)))
            width, frequency = given
            width_rad = ANGLE.with_unit().convert(width, param, ctx)
            return AskedBeam(Beam(kind, width_rad, FREQUENCY.with_unit().convert(frequency, param, ctx)))
        except Error as problem:
            self.fail(f"{value!r}: {problem}")


def beam_options(function: Callable) -> Callable:
    """--beam and --pointing."""
    function = click.option(
        "--pointing",
        type=(RA, DEC),
        metavar="RA DEC",
        help="Where the dishes of --beam point, in the frame of the field; default: the phase centre.",
    )(function)
    return click.option(
        "--beam",
        type=BeamType(),
        metavar="BEAM",
        help="See the sky model through a primary beam, the same for all antennas: airy (dishes as in the set), "
        "'airy: 25m, 2.5m' (diameter, blockage), 'gaussian: 57.5arcmin, 1.5GHz' or 'cosine: 57.5arcmin, 1.5GHz' (full "
        "width at half maximum of the power, which goes as 1/frequency). Default: fluxes are as seen.",
    )(function)


def require_beam(beam: AskedBeam | None, pointing, sky, moved=None) -> None:
    """Raises where the options do not go together; `moved`: a phase centre that is not that of the FIELD table."""
    if pointing is not None and beam is None:
        raise click.UsageError("--pointing goes with --beam")
    if beam is None:
        return
    if not sky:
        raise click.UsageError("--beam goes with --sky")
    if moved is not None and pointing is None:
        raise click.UsageError("with --beam and a phase centre that is not the set's, give --pointing as well")


def through_beam(model: SkyModel | dict | None, beam: AskedBeam | None, pointing, diameters_m: Sequence[float]):
    """A sky model, or {FIELD_ID: one}, seen through the beam, if there is one."""
    if beam is None or model is None:
        return model
    seen = beam.of(diameters_m, pointing)
    if isinstance(model, dict):
        return {field: one.seen_through(seen) for field, one in model.items()}
    return model.seen_through(seen)


def diameters_of(summary: dict) -> list[float]:
    """Of the antennas of a set that have rows (m)."""
    return [antenna["diameter_m"] for antenna in summary["antennas"] if antenna["n_row"]]
