"""The primary beams of a command: --beam, --pointing and --drift-scan."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from ..errors import Failed
from ..output import log
from .antennas import askers, divided, refuse_two_for_all
from .beam_kinds import Antenna, Maker, maker_of, place_of, placed
from .quantities import AZIMUTH_OR_ELEVATION, DEC, RA

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
        from rimetree import Error

        try:
            antennas, beam = divided(value)
        except ValueError as problem:
            self.fail(str(problem))
        try:
            return AskedBeam(antennas, maker_of(beam))
        except (Error, click.BadParameter) as problem:
            self.fail(f"{value!r}: {getattr(problem, 'message', problem)}")


@dataclass(frozen=True)
class AskedBeams:
    """What --beam, --pointing and --drift-scan say: (ra, dec), or (azimuth, elevation), rad, or None."""

    beams: tuple[AskedBeam, ...]
    pointing_rad: tuple[float, float] | None
    azel_rad: tuple[float, float] | None

    def require(self, sky, moved=None) -> None:
        """Raises where the options do not go together; `moved`: a phase centre that is not that of the FIELD table."""
        for option, given in (("--pointing", self.pointing_rad), ("--drift-scan", self.azel_rad)):
            if given is not None and not self.beams:
                raise click.UsageError(f"{option} goes with --beam")
        if not self.beams:
            return
        if not sky:
            raise click.UsageError("--beam goes with --sky")
        if self.pointing_rad is not None and self.azel_rad is not None:
            raise click.UsageError("give --pointing or --drift-scan, not both")
        refuse_two_for_all("--beam", self.beams, "'CM*=airy: 7m'")
        if moved is not None and self.pointing_rad is None and self.azel_rad is None:
            raise click.UsageError("with --beam and a phase centre that is not the set's, give --pointing as well")

    def through(self, model: SkyModel | dict | None, antennas: Sequence[Antenna]):
        """A sky model, or {FIELD_ID: one}, seen through the beams of these antennas, if there are any."""
        if isinstance(model, dict):
            own = {field: [replace(one, field_ids=(field,)) for one in antennas] for field in model}
            return {field: self.through(one, own[field]) for field, one in model.items()}
        seen = [] if model is None else self.of(antennas)
        return model.seen_through(seen) if seen else model

    def of(self, antennas: Sequence[Antenna]) -> list[AnyBeam]:
        """That of each antenna, of one without data any; none if no beams are asked for, or there are no data."""
        if not self.beams:
            return []
        asked = askers("--beam", self.beams, antennas)
        found = {number: self._made(one, antennas[number]) for number, one in asked.items()}
        any_beam = next(iter(found.values()), None)
        return [found.get(number, any_beam) for number in range(len(antennas))] if found else []

    def _made(self, asked: AskedBeam, antenna: Antenna) -> AnyBeam:
        from rimetree import Error

        try:
            beam = asked.of(replace(antenna, pointing_rad=self.pointing_rad))
            if self.pointing_rad is not None:
                return beam.pointed_at(self.pointing_rad)
            return beam if self.azel_rad is None else beam.standing_at(self.azel_rad, place_of(antenna))
        except Error as problem:
            raise Failed(f"--beam: {problem}") from problem


_OF_A_SKY = "See the sky model through a primary beam"
_NONE_OF_A_SKY = " Default: fluxes are as seen."


def beam_options(function: Callable, what: str = _OF_A_SKY, default: str = _NONE_OF_A_SKY) -> Callable:
    """--beam, --pointing and --drift-scan, as an argument `beams`, an `AskedBeams`; `what` the first is for, and what
    the `default` is."""

    @functools.wraps(function)
    def with_beams(*arguments, beams, pointing, drift_scan, **given):
        return function(*arguments, beams=AskedBeams(beams, pointing, drift_scan), **given)

    with_beams = click.option(
        "--drift-scan",
        type=(AZIMUTH_OR_ELEVATION, AZIMUTH_OR_ELEVATION),
        metavar="AZ EL",
        help="Azimuth, from north through east, and elevation of antennas of --beam that stand while the sky drifts "
        "through their beams, e.g. 0deg 90deg for the zenith; as tiles of the MWA do.",
    )(with_beams)
    with_beams = click.option(
        "--pointing",
        type=(RA, DEC),
        metavar="RA DEC",
        help="Where the antennas of --beam point, in the frame of the field; default: the phase centre, or with lofar "
        "what the set says.",
    )(with_beams)
    return click.option(
        "--beam",
        "beams",
        type=BeamType(),
        multiple=True,
        metavar="[ANTENNAS=]BEAM",
        help=f"{what}: airy (of each dish's diameter in the set), 'airy: 25m, 2.5m' "
        "(diameter, blockage), 'gaussian: 57.5arcmin, 1.5GHz' or 'cosine: 57.5arcmin, 1.5GHz' (full width at half "
        "maximum of the power, which goes as 1/frequency), vla, gmrt, atca, meerkat or alma (main lobes of these "
        "telescopes' dishes), FITS cubes of the Jones matrix, "
        "'beam_$(corr)_$(reim).fits[, cubic]', which turn on the sky with ALT-AZ mounts, hera.beamfits (a file of "
        "UVBeam, of electric fields in azimuth and zenith angle, of antennas that stand), or of aperture arrays "
        "'station: layout.txt, half-wave, 0.3m' (where elements are, as a file or OSKAR's telescope model; isotropic, "
        "short or half-wave dipoles; their height above a ground), mwa, or lofar (as the set says). May be repeated "
        "for arrays of several kinds of antennas, each for those of these names or patterns: 'CM*,A1=airy: 7m'."
        f"{default}",
    )(with_beams)


def antennas_of(summary: dict, field_ids: Iterable[int] | None = None) -> list[Antenna]:
    """Those of a set, in the order of their numbers, as they are in these fields, of which there may be some more than
    once; None: in all that have rows."""
    fields = field_ids if field_ids is not None else (part["field_id"] for part in summary["groups"] if part["n_row"])
    own = {"ms": summary["path"], "field_ids": tuple(sorted(set(fields)))}
    antennas = [
        Antenna(one["name"], one["diameter_m"], one["id"], one["n_row"] > 0, mount=one["mount"], **own)
        for one in summary["antennas"]
    ]
    return placed(antennas, [one["position_m"] for one in summary["antennas"]])


def antennas_of_telescope(telescope) -> list[Antenna]:
    """The same of a `Telescope`."""
    each = zip(telescope.antenna_names, telescope.dish_diameter_m.tolist(), telescope.mounts, strict=True)
    antennas = [Antenna(name, diameter_m, number, mount=own) for number, (name, diameter_m, own) in enumerate(each)]
    return placed(antennas, telescope.ecef_m.tolist())


def warn_of_patterns(model: SkyModel, groups: Sequence) -> None:
    """Says where a pattern from files, or of a telescope, was not given at the frequencies of some `MsGroup`s."""
    from rimetree import BeamPattern, PolynomialBeam, StandingPattern
    from rimetree.beams import kinds_of

    given = BeamPattern | PolynomialBeam | StandingPattern
    kinds = [] if model is None or model.beam is None else kinds_of(model.beam)[0]
    for kind in kinds:
        far = [group for group in groups if isinstance(kind, given) and not kind.reaches(*group.frequency_hz)]
        if far:
            low_hz, high_hz = far[0].frequency_hz
            log(
                f"warning: {kind} was not given at {low_hz / 1e6:.6g} to {high_hz / 1e6:.6g} MHz; beyond its first and "
                "last frequency it is taken as it is there"
            )
            return
