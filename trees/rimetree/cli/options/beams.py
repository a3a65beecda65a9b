"""The primary beams of a command: --beam and --pointing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from ..errors import Failed
from ..output import log
from .quantities import ANGLE, DEC, FREQUENCY, LENGTH, RA

if TYPE_CHECKING:
    from rimetree import Beam, BeamPattern
    from rimetree.sky import SkyModel

_EXPECTED = {
    "airy": "airy: DIAMETER[, BLOCKAGE], e.g. airy: 25m, 2.5m; airy alone takes the diameters of the set",
    "gaussian": "gaussian: WIDTH, FREQUENCY, e.g. gaussian: 57.5arcmin, 1.5GHz",
    "cosine": "cosine: WIDTH, FREQUENCY, e.g. cosine: 57.5arcmin, 1.5GHz",
}


@dataclass(frozen=True)
class Dish:
    """An antenna of a set or telescope; `used`: whether there are data of it; `site_m`: where the array's middle is
    (ITRF); `mount`: as in the ANTENNA table."""

    name: str
    diameter_m: float
    used: bool = True
    site_m: tuple[float, ...] | None = None
    mount: str = ""


@dataclass(frozen=True)
class AskedBeam:
    """What a --beam says: names or patterns of antennas (none: all), and a beam, or None for the Airy pattern of the
    dishes that there are."""

    antennas: tuple[str, ...]
    beam: Beam | BeamPattern | None

    def of(self, dish: Dish) -> Beam | BeamPattern:
        """The beam of a dish. Raises `Failed` where it has no diameter and no beam was given, and where it is not known
        how a pattern turns."""
        from rimetree import Beam, BeamPattern

        if isinstance(self.beam, BeamPattern):
            return replace(self.beam, site_m=dish.site_m if _turns(dish) else None)
        if self.beam is not None:
            return self.beam
        if not dish.diameter_m > 0:
            raise Failed(
                f"--beam airy: antenna {dish.name} has a diameter of {dish.diameter_m:g} m in the set; give its own, "
                'as in "airy: 25m"'
            )
        return Beam.of_dish(dish.diameter_m)


def _turns(dish: Dish) -> bool:
    from rimetree.observing.mounts import STANDING, TURNING

    mount = dish.mount.upper()
    if mount not in TURNING + STANDING:
        raise Failed(
            f"--beam: antenna {dish.name} has the mount {dish.mount!r}; how a pattern turns on the sky is known of "
            f"{' and '.join((TURNING[0], *STANDING))}"
        )
    return mount in TURNING


class BeamType(click.ParamType):
    """[ANTENNAS=]KIND, or KIND: numbers with units."""

    name = "beam"

    def convert(self, value, param, ctx) -> AskedBeam:
        if isinstance(value, AskedBeam):
            return value
        names, equals, beam = value.partition("=")
        if not equals:
            names, beam = "", value
        antennas = tuple(name.strip() for name in names.split(",") if name.strip())
        if equals and not antennas:
            self.fail(f"{value!r}: expected antennas before =, e.g. 'CM*=airy: 7m'")
        return AskedBeam(antennas, self._beam(value, beam, param, ctx))

    def _beam(self, value: str, text: str, param, ctx) -> Beam | BeamPattern | None:
        from rimetree import Beam, BeamPattern, Error

        if "$(" in text:
            try:
                return BeamPattern.read(text.strip())
            except Error as problem:
                self.fail(str(problem))
        kind, colon, rest = (part.strip() for part in text.partition(":"))
        kind, given = kind.lower(), [part.strip() for part in rest.split(",")] if rest else []
        if kind not in _EXPECTED:
            self.fail(
                f"{value!r}: there is no beam {kind!r}; there are {', '.join(_EXPECTED)}, and files of names with "
                "$(corr) and $(reim)"
            )
        if kind == "airy" and not colon:
            return None
        if len(given) not in ((1, 2) if kind == "airy" else (2,)):
            self.fail(f"{value!r}: expected {_EXPECTED[kind]}")
        try:
            if kind == "airy":
                return Beam.of_dish(*(LENGTH.with_unit().convert(one, param, ctx) for one in given))
            width, frequency = given
            width_rad = ANGLE.with_unit().convert(width, param, ctx)
            return Beam(kind, width_rad, FREQUENCY.with_unit().convert(frequency, param, ctx))
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
        "beams",
        type=BeamType(),
        multiple=True,
        metavar="[ANTENNAS=]BEAM",
        help="See the sky model through a primary beam: airy (of each dish's diameter in the set), 'airy: 25m, 2.5m' "
        "(diameter, blockage), 'gaussian: 57.5arcmin, 1.5GHz' or 'cosine: 57.5arcmin, 1.5GHz' (full width at half "
        "maximum of the power, which goes as 1/frequency), or FITS cubes of the Jones matrix, "
        "'beam_$(corr)_$(reim).fits', which turn on the sky with ALT-AZ mounts. May be repeated for arrays of several "
        "kinds of dishes, each for the antennas of these names or patterns: 'CM*,A1=airy: 7m'. Default: fluxes are as "
        "seen.",
    )(function)


def require_beam(beams: Sequence[AskedBeam], pointing, sky, moved=None) -> None:
    """Raises where the options do not go together; `moved`: a phase centre that is not that of the FIELD table."""
    if pointing is not None and not beams:
        raise click.UsageError("--pointing goes with --beam")
    if not beams:
        return
    if not sky:
        raise click.UsageError("--beam goes with --sky")
    if sum(not beam.antennas for beam in beams) > 1:
        raise click.UsageError("--beam is repeated: say for which antennas each is, as in 'CM*=airy: 7m'")
    if moved is not None and pointing is None:
        raise click.UsageError("with --beam and a phase centre that is not the set's, give --pointing as well")


def through_beams(model: SkyModel | dict | None, beams: Sequence[AskedBeam], pointing, dishes: Sequence[Dish]):
    """A sky model, or {FIELD_ID: one}, seen through the beams of these dishes, if there are any."""
    if not beams or model is None:
        return model
    pointing = None if pointing is None else tuple(pointing)
    seen = [replace(beam, pointing_rad=pointing) for beam in _beams_of(beams, dishes)]
    if not seen:
        return model  # there are no data
    if isinstance(model, dict):
        return {field: one.seen_through(seen) for field, one in model.items()}
    return model.seen_through(seen)


def _beams_of(beams: Sequence[AskedBeam], dishes: Sequence[Dish]) -> list[Beam | BeamPattern]:
    """The beam of each dish; one without data has that of another. Raises `Failed` for a dish of which none, or two,
    were given."""
    from rimetree.ms.selection import fitting_antennas

    names = {number: dish.name for number, dish in enumerate(dishes)}
    asked: dict[int, AskedBeam] = {}
    for beam in beams:
        for number in set(fitting_antennas(names, beam.antennas)):
            if number in asked:
                raise Failed(f"two --beam are for antenna {names[number]}")
            asked[number] = beam
    for beam in beams:
        if not beam.antennas:
            asked = dict.fromkeys(names, beam) | asked
    used = [number for number, dish in enumerate(dishes) if dish.used]
    if without := [names[number] for number in used if number not in asked]:
        more = ", ..." if len(without) > 10 else ""
        raise Failed(f"no --beam is for antenna {', '.join(without[:10])}{more}; give one without names for all others")
    found = {number: asked[number].of(dishes[number]) for number in used}
    any_beam = next(iter(found.values()), None)
    return [found.get(number, any_beam) for number in names] if found else []


def dishes_of(summary: dict) -> list[Dish]:
    """The antennas of a set, in the order of their numbers."""
    antennas = summary["antennas"]
    used = [antenna["position_m"] for antenna in antennas if antenna["n_row"] > 0]
    middle_m = tuple(sum(axis) / len(used) for axis in zip(*used, strict=True)) if used else None
    return [
        Dish(antenna["name"], antenna["diameter_m"], antenna["n_row"] > 0, middle_m, antenna["mount"])
        for antenna in antennas
    ]


def warn_of_patterns(model: SkyModel, groups: Sequence) -> None:
    """Says where a pattern from files was not given at the frequencies of some `MsGroup`s."""
    from rimetree import BeamPattern
    from rimetree.beams import kinds_of

    kinds = [] if model is None or model.beam is None else kinds_of(model.beam)[0]
    for kind in kinds:
        far = [group for group in groups if isinstance(kind, BeamPattern) and not kind.reaches(*group.frequency_hz)]
        if far:
            low_hz, high_hz = far[0].frequency_hz
            log(
                f"warning: {kind} was not given at {low_hz / 1e6:.6g} to {high_hz / 1e6:.6g} MHz; beyond its first and "
                "last frequency it is taken as it is there"
            )
            return
