"""Calibrates data that random chains of terms have made, and says which fits a calibrator would mind.

    python tests/benchmarks/random_chains.py FIRST LAST                 chains of these seeds
    python tests/benchmarks/random_chains.py FIRST LAST "K: delay" "D: leakage"     of one chain

Each line: the chain, the sky, how large residuals are over the noise (1 is right), and what is wrong: "silently" where
the fit is said to have converged. Some chains have no answer: terms that can take all of each other's values are
flagged as ambiguous.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "trees" / "calibration"))
from planted_chains import CENTRE, N_ANTENNA, N_CHANNEL, N_TIME, POLARISED, SKY
from planted_columns import predicted_by_psv, write_column
from planted_terms import planted_jones

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationError, CalibrationOptions, parse_terms
from rimetree.calibration.data.hands import FROM_LINEAR
from rimetree.calibration.terms.kinds import ROTATIONS

#: How often each kind is drawn, relative to others.
_WEIGHTS = {"scalar": 2, "diag": 4, "phase": 3, "amplitude": 2, "delay": 3, "tec": 3, "full": 1, "leakage": 2}
_WEIGHTS |= {"rotation": 1, "faraday": 1, "crosshand": 1}
_OF_THE_WHOLE_BAND = ("delay", "tec", "faraday")
_WRONG, _SLOW_S = 1.03, 8.0


def random_chain(rng: np.random.Generator) -> list[str]:
    """One to three terms of different kinds."""
    weights = np.array(list(_WEIGHTS.values()), dtype=float)
    kinds = rng.choice(list(_WEIGHTS), rng.choice([1, 2, 2, 3, 3]), replace=False, p=weights / weights.sum())
    chain = []
    for name, kind in zip("ABC", kinds, strict=False):
        slots = "" if kind == "crosshand" else rng.choice(["", ", 1slot", ", 5slots"])
        channels = "" if kind in _OF_THE_WHOLE_BAND else rng.choice(["", ", 1chan", ", 4chans"])
        chain.append(f"{name}: {kind}{slots}{channels}")
    return chain


def calibrated(seed: int, chain: list[str]) -> str:
    """What to say of one."""
    rng = np.random.default_rng(seed)
    chain = chain or random_chain(rng)
    terms = parse_terms(chain)
    polarised, low = rng.random(2) < 0.5
    linear = rng.random() < 0.7 or any(term.kind.name in ROTATIONS for term in terms)
    middle_hz = 150e6 if low else 1.3e9
    said = f"{seed} {' * '.join(chain)}; {'polarised' if polarised else 'I'}, {'linear' if linear else 'circular'}, "
    said += f"{middle_hz / 1e6:.0f} MHz:"
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/a.ms"
        rt.ms.create(
            path,
            "kat-7",
            phase_centre_rad=CENTRE,
            duration_s=10.0 * N_TIME,
            integration_s=10.0,
            bands=rt.ms.Band.regular(middle_hz, middle_hz / 60, N_CHANNEL),
            correlations="XX XY YX YY" if linear else "RR RL LR LL",
        )
        (tile,) = rt.ms.tiles(path, [], time_slots=N_TIME)
        sky = POLARISED if polarised else SKY
        seen = predicted_by_psv(tile, sky, CENTRE)
        if not linear:
            seen = FROM_LINEAR @ seen @ FROM_LINEAR.conj().T
        jones = np.eye(2)
        for term in terms:
            jones = jones @ planted_jones(term, rng, N_ANTENNA, N_TIME, tile["frequency_hz"])
        p, q = np.array(tile["baselines"]).T
        noise = rng.normal(size=(2, *seen.shape))
        write_column(path, tile, jones[p] @ seen @ np.conj(np.swapaxes(jones[q], -1, -2)) + noise[0] + 1j * noise[1])
        begin = time.process_time()
        try:
            report = calibration.calibrate(path, sky, terms, folder + "/s.h5", CalibrationOptions(reference="ANT-0"))
        except CalibrationError as error:
            return f"{said} refused: {error}"
        seconds = time.process_time() - begin
    said += f" {report.noise_ratio:.3f}, {report.converged} of {report.solves} converged, {seconds:.1f} s"
    if report.noise_ratio > _WRONG:
        said += "; WRONG" + (", silently" if report.converged == report.solves else "")
    if report.flagged:
        said += f"; flagged: {report.flagged}"
    return said + ("; slow" if seconds > _SLOW_S else "")


if __name__ == "__main__":
    first, last, *given = sys.argv[1:]
    for number in range(int(first), int(last)):
        print(calibrated(number, given), flush=True)
