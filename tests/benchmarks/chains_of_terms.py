"""Calibrates with every chain of one to three terms, and says which are not simply right.

    python tests/benchmarks/chains_of_terms.py                  all, about 20 minutes of one core
    python tests/benchmarks/chains_of_terms.py '*L: leakage*'   those of which the list has lines like this
    python tests/benchmarks/chains_of_terms.py --planted SEED   with random values of all terms in the data
    python tests/benchmarks/chains_of_terms.py list

The data are those of a sky of two patches and noise, without any errors of antennas or with those of the chain's own
terms, so that each chain explains them. One sky is unpolarised, of the other a source is polarised. Each line says what
is not as it should be: "does not converge", "flagged" (with reasons), "unusable", "above the noise" (residuals, by more
than 2 %; "silently" where the report says nothing of it), "slow" (8 s of processor time), or with which error it ended;
chains that are refused with a reason are right. `random_chains.py` plants chains of terms of the whole sky at random.
Some have no answer, as crosshand phases on the unpolarised sky.
"""

from __future__ import annotations

import argparse
import fnmatch
import itertools
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from planted_columns import predicted_by_psv, write_column
from planted_terms import planted_jones

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, Term, parse_terms
from rimetree.cli.runs.calibrating_text import no_noise_lines

CENTRE_RAD = (1.047, -0.524)
NOISE_JY = 0.1
WHOLE = (
    "B: diag, 1chan",
    "G: diag, 2slots",
    "P: phase, 1slot",
    "A: amplitude, 4chan",
    "K: delay",
    "S: scalar, 1slot",
    "X: crosshand",
    "F: full, 1chan",
    "L: leakage",
)
DIRECTIONS = (
    "D: diag, per patch",
    "E: scalar, 4chan, per patch",
    "T: tec, per patch",
    "H: phase, 4slots, per patch",
    "R: rotation, per patch",
)
SKIES = {"unpolarised": (10.0, 0.0, 0.0, 0.0), "polarised": (10.0, 0.5, 0.2, 0.1)}
_SLOW_S = 8.0


def chains() -> Iterator[tuple[str, ...]]:
    """Terms from the outermost to the innermost."""
    for count in (0, 1, 2, 3):
        for whole in itertools.combinations(WHOLE, count):
            if count:
                yield whole
            if count < 3:
                yield from ((*whole, direction) for direction in DIRECTIONS)


@dataclass(frozen=True, eq=False)
class Observed:
    """`seen_jy` {patch: [baseline, time, channel, 2, 2]}, `noise_jy` of the same shape."""

    path: str
    tile: dict
    sky: rt.sky.SkyModel
    seen_jy: dict[str, np.ndarray]
    noise_jy: np.ndarray


def observed(path: str, stokes_jy: tuple[float, ...]) -> Observed:
    """`stokes_jy`: of the brighter source."""
    kat = rt.telescopes.get("kat-7")
    band = rt.ms.Band.regular(1.3e9, 8 * 8e6, 8)
    rt.ms.create(path, kat, phase_centre_rad=CENTRE_RAD, bands=band, duration_s=120.0, integration_s=10.0)
    ra, dec = CENTRE_RAD
    sky = rt.sky.SkyModel(
        [
            rt.sky.Source("a", ra, dec, stokes_jy, patch="p0"),
            rt.sky.Source("b", ra + 0.01, dec - 0.009, (5.0, 0.0, 0.0, 0.0), patch="p1"),
        ]
    )
    (tile,) = rt.ms.tiles(path, [], time_slots=10000)
    seen = {patch: predicted_by_psv(tile, sky.select(patches=[patch]), CENTRE_RAD) for patch in ("p0", "p1")}
    real, imaginary = np.random.default_rng(1).normal(size=(2, *seen["p0"].shape)) * NOISE_JY
    return Observed(path, tile, sky, seen, real + 1j * imaginary)


def write(what: Observed, chain: tuple[str, ...], seed: int | None) -> None:
    """The data that the chain explains; without a seed its terms are all 1."""
    rng = np.random.default_rng(seed)
    p, q = np.array(what.tile["baselines"]).T

    def turned(values: np.ndarray, term: Term) -> np.ndarray:
        n_antenna, (n_time, n_channel) = q.max() + 1, values.shape[1:3]
        channels = what.tile["frequency_hz"]
        assert len(channels) == n_channel
        jones = planted_jones(term, rng, n_antenna, n_time, channels)
        return jones[p] @ values @ np.conj(np.swapaxes(jones[q], -1, -2))

    of_patches = dict(what.seen_jy)
    total = None
    for term in reversed(parse_terms(list(chain)) if seed is not None else []):
        if term.per:
            of_patches = {patch: turned(values, term) for patch, values in of_patches.items()}
        else:
            total = turned(sum(of_patches.values()) if total is None else total, term)
    total = sum(of_patches.values()) if total is None else total
    write_column(what.path, what.tile, total + what.noise_jy)


def verdict(what: Observed, chain: tuple[str, ...], out: str) -> str:
    """What is not right of a calibration; empty where all is."""
    options = CalibrationOptions(overwrite=True)
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = calibration.calibrate(what.path, what.sky, parse_terms(list(chain)), out, options)
    except calibration.CalibrationError:
        return ""
    except Exception as error:  # whatever it is, the other chains are to be tried, too
        return f"{type(error).__name__}: {error}"
    seconds = time.process_time() - began
    silently = report.converged == report.solves and not no_noise_lines(report.no_noise)
    found = {
        "does not converge": report.converged != report.solves,
        f"flagged {report.flagged_of}": bool(report.flagged),
        "unusable": not report.usable,
        f"{'silently ' * silently}above the noise: {report.noise_ratio / NOISE_JY:.3f}": report.noise_ratio
        > 1.02 * NOISE_JY,
        f"slow: {seconds:.0f} s": seconds > _SLOW_S,
    }
    return ", ".join(text for text, there in found.items() if there)


def run(chosen: list[tuple[str, ...]], seed: int | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        right = 0
        for name, stokes_jy in SKIES.items():
            what = observed(f"{folder}/{name}.ms", stokes_jy)
            write(what, (), None)
            for chain in chosen:
                if seed is not None:
                    write(what, chain, seed)
                wrong = verdict(what, chain, f"{folder}/solutions.h5")
                right += not wrong
                if wrong:
                    print(f"{name:12s} {' | '.join(chain):70s} {wrong}", flush=True)
        print(f"{right} of {len(SKIES) * len(chosen)} are right")


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    asked.add_argument("chains", nargs="?", default="*", help="a pattern, or list")
    asked.add_argument("--planted", type=int, metavar="SEED", help="random values of all terms in the data")
    given = asked.parse_args()
    if given.chains == "list":
        print(*(" | ".join(chain) for chain in chains()), sep="\n")
    else:
        run([chain for chain in chains() if fnmatch.fnmatch(" | ".join(chain), given.chains)], given.planted)
