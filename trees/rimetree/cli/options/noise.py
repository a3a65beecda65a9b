"""The noise of a simulation: --noise, --sefd, --seed and --weights."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from ..errors import Failed
from .antennas import NamedAntenna, askers, divided, refuse_two_for_all
from .quantities import FLUX
from .together import refuse_without

if TYPE_CHECKING:
    from rimetree.receiver_noise import ReceiverNoise


@dataclass(frozen=True)
class AskedSefd:
    """What a --sefd says: names or patterns of antennas (none: all), and flux density (Jy)."""

    antennas: tuple[str, ...]
    sefd_jy: float


class SefdType(click.ParamType):
    """[ANTENNAS=]FLUX."""

    name = "sefd"

    def convert(self, value, param, ctx) -> AskedSefd:
        if isinstance(value, AskedSefd):
            return value
        try:
            antennas, flux = divided(str(value))
        except ValueError as problem:
            self.fail(str(problem))
        return AskedSefd(antennas, FLUX.convert(flux, param, ctx))


@dataclass(frozen=True)
class AskedNoise:
    """What --noise (Jy), --sefd, --seed and --weights say."""

    stddev_jy: float
    sefds: tuple[AskedSefd, ...]
    seed: int
    weights: bool

    @property
    def any(self) -> bool:
        """Whether there is noise at all."""
        return self.stddev_jy > 0 or any(one.sefd_jy for one in self.sefds)

    def of(self, summary: dict, antennas: Sequence[NamedAntenna]) -> ReceiverNoise:
        """The noise of a set with these antennas. Raises `Failed` where nobody knows how much there is."""
        from rimetree.receiver_noise import ReceiverNoise

        if not self.sefds:
            return ReceiverNoise(self.stddev_jy, seed=self.seed)
        exposures_s = summary["exposures_s"]
        if summary["n_exposure_not_finite"] or (exposures_s and exposures_s[0] <= 0):
            raise Failed(
                f"--sefd: EXPOSURE of {summary['path']} is 0 s, negative or not a number in some rows, so that nobody "
                "knows how much noise they have; give --noise"
            )
        own = {number: one.sefd_jy for number, one in askers("--sefd", self.sefds, antennas).items()}
        return ReceiverNoise(sefd_jy=[own.get(number, 0.0) for number in range(len(antennas))], seed=self.seed)


def noise_options(function: Callable) -> Callable:
    """--noise, --sefd, --seed and --weights, as an argument `noise`, an `AskedNoise`."""

    @functools.wraps(function)
    def with_noise(*arguments, noise, sefd, seed, weights, **given):
        asked = click.get_current_context().get_parameter_source("noise") is not ParameterSource.DEFAULT
        if asked and sefd:
            raise click.UsageError("give --noise or --sefd, not both")
        refuse_two_for_all("--sefd", sefd, "CM*=800Jy")
        refuse_without("--noise or --sefd", asked or bool(sefd), "seed", "weights")
        if weights and not (noise or (sefd and all(one.sefd_jy for one in sefd))):
            raise click.UsageError("--weights are those of the noise: it is 0")
        return function(*arguments, noise=AskedNoise(noise, sefd, seed, weights), **given)

    with_noise = click.option(
        "--weights",
        is_flag=True,
        help="Then write WEIGHT_SPECTRUM, which the set must have: 1 over the variance of the noise, in real and in "
        "imaginary part each.",
    )(with_noise)
    with_noise = click.option(
        "--seed", type=int, default=0, help="Seed of the noise: the same seed gives the same noise."
    )(with_noise)
    with_noise = click.option(
        "--sefd",
        type=SefdType(),
        multiple=True,
        metavar="[ANTENNAS=]FLUX",
        help="Add noise of receivers of this system equivalent flux density, of each feed: Jy, kJy; a bare number: Jy. "
        "Channel widths and EXPOSURE then say how much: sqrt(SEFD_p SEFD_q / (2 width EXPOSURE)), in real and "
        "imaginary part each. May be repeated for arrays of several kinds of antennas: CM*=800Jy.",
    )(with_noise)
    return click.option(
        "--noise",
        type=FLUX,
        default=0.0,
        metavar="FLUX",
        help="Add noise of this standard deviation, to real and imaginary part each: Jy, mJy, uJy; a bare number: Jy.",
    )(with_noise)
