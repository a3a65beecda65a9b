"""How often phases, delays and TEC of one direction end at the global optimum, which brute force finds.

    python tests/benchmarks/phases_by_brute_force.py phase|delay|tec [CASES] [SEED]

Each case is a time slot of seven antennas, eight channels and two feeds by itself: phases of any size, delays to 50 ns
or TEC to 1e16 m^-2 of each antenna, signal over noise of a visibility 17, data times 1e-3 to 1e3. As the scale of the
data is fitted, chi-square is least where sum Re conj(phasor_p) D_pq phasor_q is largest (D: sums of V conj(model)), for
each feed by itself. Brute force climbs from 300 random places (phases), or takes from the planted values and from those
found all that differ by turns: of all antennas by one at most, of three by one, of two by four; and refines the best
twelve. "Worse" counts cases of which chi-square is above that by more than 0.01 of the noise's variance; "better" those
where brute force did not find as good a place.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from patch_sky import CENTRE_RAD, patch_sky
from planted_columns import predicted_by_psv, write_column

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, parse_terms
from rimetree.calibration.terms.kinds import phase_per_unit

_ANTENNAS, _CHANNELS, _SIGNAL_TO_NOISE = 7, 8, 17.0
_STARTS, _SWEEPS, _AT_A_TIME = 300, 60, 50
_BEST, _STEPS = 12, 8
_KINDS = {
    "phase": (None, np.pi, 1.3e9, 2e6),
    "delay": ("clock", 50e-9, 1.3e9, 2e6),
    "tec": ("tec", 1.0, 120e6, 1e6),
}


@dataclass(frozen=True, eq=False)
class _Cases:
    """`matrix` [case, channel, antenna, antenna], Hermitian, of slots and feeds; `planted` and `found` [case, antenna];
    `weight` [case]: chi-square, in variances of the noise, for the square of the sum that is largest; `rate`
    [channel]."""

    matrix: np.ndarray
    planted: np.ndarray
    found: np.ndarray
    weight: np.ndarray
    rate: np.ndarray


def _calibrated(kind: str, slots: int, seed: int) -> tuple[_Cases, list[int], float]:
    """The cases, iterations of each chunk, and processor time."""
    quantity, most, middle_hz, width_hz = _KINDS[kind]
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        path, sky = f"{folder}/planted.ms", patch_sky(2)[1]
        band = rt.ms.Band.regular(middle_hz, width_hz * _CHANNELS, _CHANNELS)
        time_s = {"duration_s": 10.0 * slots, "integration_s": 10.0}
        rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE_RAD, bands=band, **time_s)
        (tile,) = rt.ms.tiles(path, [], time_slots=10000)
        frequency_hz = tile["frequency_hz"]
        rate = np.ones(_CHANNELS) if quantity is None else phase_per_unit(quantity, frequency_hz)
        planted = rng.uniform(-most, most, (slots, _ANTENNAS, 1 if kind == "tec" else 2)) * np.ones(2)
        planted[:, 0] = 0.0
        phasors = np.exp(1j * planted[:, :, None] * rate[:, None])  # [slot, antenna, channel, feed]
        model = predicted_by_psv(tile, sky, CENTRE_RAD)
        p, q = np.array(tile["baselines"]).T
        turned = np.moveaxis(phasors[:, p, :, :, None] * np.conj(phasors[:, q, :, None, :]), 1, 0)
        scale = 10.0 ** rng.uniform(-3, 3, slots)[:, None, None, None]
        sigma = np.sqrt((np.abs(model[..., 0, 0]) ** 2).mean() / 2) / _SIGNAL_TO_NOISE
        data = turned * model + sigma * (rng.normal(size=(2, *model.shape)).T @ [1, 1j]).T
        write_column(path, tile, scale * data)
        names = rt.telescopes.get("kat-7").antenna_names
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            options = CalibrationOptions(reference=names[0])
            report = calibration.calibrate(path, sky, parse_terms([f"P: {kind}, 1slot"]), f"{folder}/s.h5", options)
        seconds = time.process_time() - began
        value = next(iter(report.solutions[0]["P"].value.values()))[:, 0, :, 0]  # [slot, antenna, element]
    feeds = [0, 1]
    # [slot, channel, baseline, feed]
    own = np.moveaxis(data[..., feeds, feeds] * np.conj(model[..., feeds, feeds]), 0, 2)
    if kind == "tec":
        own = own.sum(axis=-1, keepdims=True)
    matrix = np.zeros((*own.shape[:2], own.shape[3], _ANTENNAS, _ANTENNAS), complex)
    matrix[..., p, q] = np.swapaxes(own, 2, 3)
    matrix[..., q, p] = np.conj(np.swapaxes(own, 2, 3))
    power = (np.abs(model[..., feeds, feeds]) ** 2).sum(axis=(0, 2, 3))  # [slot]
    elements = matrix.shape[2]

    def of_cases(x):
        return np.swapaxes(x[:, :, :elements], 1, 2).reshape(-1, _ANTENNAS)

    cases = _Cases(
        np.moveaxis(matrix, 2, 1).reshape(-1, _CHANNELS, _ANTENNAS, _ANTENNAS),
        of_cases(planted),
        of_cases(value),
        np.repeat(1 / (4 * power * sigma**2), elements),
        rate,
    )
    return cases, [one.iterations for one in report.chunks], seconds


def _height(matrix, rate, x) -> np.ndarray:
    """[..., place] of matrices [channel, antenna, antenna] and places [place, antenna]."""
    phasors = np.exp(1j * rate[:, None, None] * x)  # [channel, place, antenna]
    return np.einsum("fnp,fpq,fnq->n", np.conj(phasors), matrix, phasors, optimize=True).real


def _refined(matrix, rate, x) -> np.ndarray:
    """Maxima near places, by Newton's method."""
    for _ in range(_STEPS):
        phasors = np.exp(1j * rate[:, None, None] * x)
        there = np.conj(phasors)[..., :, None] * matrix[:, None] * phasors[..., None, :]
        slope = np.einsum("f,fnpq->np", rate, there.imag)
        curvature = np.einsum("f,fnpq->npq", rate**2, there.real)
        curvature = np.eye(_ANTENNAS) * curvature.sum(axis=2)[:, None] - curvature
        other = x + np.einsum("npq,nq->np", np.linalg.pinv(curvature, hermitian=True), slope)
        better = _height(matrix, rate, other) > _height(matrix, rate, x)
        x = np.where(better[:, None], other, x)
    return x


def _turns() -> np.ndarray:
    """[place, antenna]: whole turns of all but the first antenna."""
    n = _ANTENNAS - 1
    found = [np.array(list(itertools.product((-1, 0, 1), repeat=n)))]
    for count, most in ((2, 4), (3, 1)):
        steps = np.array(list(itertools.product(range(-most, most + 1), repeat=count)))
        for some in itertools.combinations(range(n), count):
            one = np.zeros((len(steps), n), int)
            one[:, some] = steps
            found.append(one)
    return np.pad(np.unique(np.concatenate(found), axis=0), ((0, 0), (1, 0)))


def _best_by_turns(cases: _Cases) -> np.ndarray:
    turn, turns = 2 * np.pi / cases.rate.mean(), _turns()
    best = []
    for matrix, planted, found in zip(cases.matrix, cases.planted, cases.found, strict=True):
        begin = _refined(matrix, cases.rate, np.stack([planted, found]))
        places = np.concatenate([one + turn * turns for one in begin])
        low = np.argsort(-_height(matrix, cases.rate, places))[:_BEST]
        best.append(_height(matrix, cases.rate, _refined(matrix, cases.rate, places[low])).max())
    return np.array(best)


def _best_by_climbing(cases: _Cases, rng) -> np.ndarray:
    best = []
    for first in range(0, len(cases.matrix), _AT_A_TIME):
        matrix = cases.matrix[first : first + _AT_A_TIME].sum(axis=1)
        phasor = np.exp(2j * np.pi * rng.random((len(matrix), _STARTS, _ANTENNAS)))
        for _ in range(_SWEEPS):
            for antenna in range(_ANTENNAS):
                own = (phasor @ matrix[:, antenna, :, None])[..., 0]
                phasor[..., antenna] = own / np.maximum(np.abs(own), 1e-300)
        height = np.einsum("csp,cpq,csq->cs", np.conj(phasor), matrix, phasor, optimize=True).real
        best.append(height.max(axis=1))
    return np.concatenate(best)


def compare(kind: str, slots: int, seed: int) -> str:
    """The line to print."""
    cases, iterations, seconds = _calibrated(kind, slots, seed)
    found = np.array([_height(m, cases.rate, x[None])[0] for m, x in zip(cases.matrix, cases.found, strict=True)])
    best = _best_by_climbing(cases, np.random.default_rng(seed + 1)) if kind == "phase" else _best_by_turns(cases)
    feeds = len(cases.matrix) // slots
    total = [one.reshape(slots, feeds).sum(axis=1) for one in (found, best)]
    above = (total[1] ** 2 - total[0] ** 2) * cases.weight.reshape(slots, feeds)[:, 0]
    worse, better = int((above > 0.01).sum()), int((above < -0.01).sum())
    return (
        f"{kind:6s} {slots} cases: worse {worse} (by {above.max():.2g} at most), better {better}; iterations of chunks "
        f"{np.median(iterations):g} (median), {max(iterations)} (most); {seconds:.1f} s"
    )


if __name__ == "__main__":
    count, number = (int(one) for one in [*sys.argv[2:], *["1000", "0"][len(sys.argv[2:]) :]])
    for chosen in sys.argv[1].split(",") if len(sys.argv) > 1 else _KINDS:
        print(compare(chosen, count, number), flush=True)
