"""The primary beams of a command: --beam and --pointing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from ..errors import Failed
from ..output import log
from .beam_kinds import Antenna, Maker, maker_of
from .quantities import DEC, RA

if TYPE_CHECKING:
    from rimetree.beams import AnyBeam
    from rimetree.sky import SkyModel


@dataclass(frozen=True)
class AskedBeam:
    """What a --beam says: names or patterns of antennas (none: all), and what gives them a beam."""

    antennas: tuple[str, ...]
    of: Maker


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
        from rimetree import Error

        try:
            return AskedBeam(antennas, maker_of(beam))
        except (Error, click.BadParameter) as problem:
            self.fail(f"{value!r}: {getattr(problem, 'message', problem)}")


def beam_options(function: Callable) -> Callable:
    """--beam and --pointing."""
    function = click.option(
        "--pointing",
        type=(RA, DEC),
        metavar="RA DEC",
        help="Where the antennas of --beam point, in the frame of the field; default: the phase centre, or with lofar "
        "what the set says.",
    )(function)
    return click.option(
        "--beam",
        "beams",
        type=BeamType(),
        multiple=True,
        metavar="[ANTENNAS=]BEAM",
        help="See the sky model through a primary beam: airy (of each dish's diameter in the set), 'airy: 25m, 2.5m' "
        "(diameter, blockage), 'gaussian: 57.5arcmin, 1.5GHz' or 'cosine: 57.5arcmin, 1.5GHz' (full width at half "
        "maximum of the power, which goes as 1/frequency), FITS cubes of the Jones matrix, "
        "'beam_$(corr)_$(reim).fits', which turn on the sky with ALT-AZ mounts, or of aperture arrays 'station: "
        "layout.txt, half-wave, 0.3m' (where elements are, as a file or OSKAR's telescope model; isotropic, short or "
        "half-wave dipoles; their height above a ground), mwa, or lofar (as the set says). May be repeated for arrays "
        "of several kinds of antennas, each for those of these names or patterns: 'CM*,A1=airy: 7m'. Default: fluxes "
        "are as seen.",
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


def through_beams(model: SkyModel | dict | None, beams: Sequence[AskedBeam], pointing, antennas: Sequence[Antenna]):
    """A sky model, or {FIELD_ID: one}, seen through the beams of these antennas, if there are any."""
    if not beams or model is None:
        return model
    seen = _beams_of(beams, antennas)
    if pointing is not None:
        seen = [beam.pointed_at(tuple(pointing)) for beam in seen]
    if not seen:
        return model  # there are no data
    if isinstance(model, dict):
        return {field: one.seen_through(seen) for field, one in model.items()}
    return model.seen_through(seen)


def _beams_of(beams: Sequence[AskedBeam], antennas: Sequence[Antenna]) -> list[AnyBeam]:
    """The beam of each antenna; one without data has that of another. Raises `Failed` for an antenna of which none, or
    two, were given."""
    from rimetree.ms.selection import fitting_antennas

    names = {number: antenna.name for number, antenna in enumerate(antennas)}
    asked: dict[int, AskedBeam] = {}
    for beam in beams:
        for number in set(fitting_antennas(names, beam.antennas)):
            if number in asked:
                raise Failed(f"two --beam are for antenna {names[number]}")
            asked[number] = beam
    for beam in beams:
        if not beam.antennas:
            asked = dict.fromkeys(names, beam) | asked
    used = [number for number, antenna in enumerate(antennas) if antenna.used]
    if without := [names[number] for number in used if number not in asked]:
        more = ", ..." if len(without) > 10 else ""
        raise Failed(f"no --beam is for antenna {', '.join(without[:10])}{more}; give one without names for all others")
    found = {number: _made(asked[number], antennas[number]) for number in used}
    any_beam = next(iter(found.values()), None)
    return [found.get(number, any_beam) for number in names] if found else []


def _made(asked: AskedBeam, antenna: Antenna) -> AnyBeam:
    from rimetree import Error

    try:
        return asked.of(antenna)
    except Error as problem:
        raise Failed(f"--beam: {problem}") from problem


def antennas_of(summary: dict) -> list[Antenna]:
    """Those of a set, in the order of their numbers."""
    antennas = summary["antennas"]
    used = [antenna["position_m"] for antenna in antennas if antenna["n_row"] > 0]
    middle_m = tuple(sum(axis) / len(used) for axis in zip(*used, strict=True)) if used else None
    return [
        Antenna(
            antenna["name"],
            antenna["diameter_m"],
            number,
            antenna["n_row"] > 0,
            tuple(antenna["position_m"]),
            middle_m,
            antenna["mount"],
            summary["path"],
        )
        for number, antenna in enumerate(antennas)
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
