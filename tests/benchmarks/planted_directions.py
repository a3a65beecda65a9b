"""Calibrates data of which everything is known, and says what a calibrator would mind.

    python tests/benchmarks/planted_directions.py CASE[,CASE...] [SEED...]    patterns such as "tec-*" may be cases
    python tests/benchmarks/planted_directions.py list

Data of a few patches are made with planted phases, delays or TEC per patch, gains of the whole sky and noise, and are
calibrated. Each line says how the fit ended: "silently wrong" where chi-square is above that of what was planted and
the fit is said to have converged, "wrong, told" where it is not, "flags a living patch" (not as one that noise hides),
"misses a dead one", "slow" (8 s of processor time); by how much chi-square is above that of what was planted, in
variances of the noise (a right fit is below, by about as many as it has unknowns); and the errors of each patch's Jones
matrices on baselines (rad).
"""

from __future__ import annotations

import fnmatch
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from patch_sky import CENTRE_RAD, patch_sky
from planted_columns import predicted_by_psv, write_column

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, SolverOptions, parse_terms
from rimetree.calibration.terms.kinds import phase_per_unit

_SLOW_S = 8.0
#: Of each kind of planted term: what it is by the name of its rate, how large, and whether feeds differ.
_KINDS = {
    "tec": ("tec", 0.1, False),
    "delay": ("clock", 20e-9, True),
    "phase": (None, np.pi, True),
    "diag": (None, np.pi, True),
}


@dataclass(frozen=True)
class Case:
    """`planted`: kind of what each patch has, up to `most`; `whole`: of what all have; `absent`: patches that are not
    in the data; `flux_jy`: of patches that have others than always, `true_jy`: in the data only; `scale`: of the
    data."""

    terms: tuple[str, ...]
    planted: str
    whole: str = ""
    most: float | None = None
    antennas: int = 7
    feed: str = "linear"
    patches: int = 4
    slots: int = 6
    middle_hz: float = 1.3e9
    width_hz: float = 2e6
    channels: int = 8
    noise_jy: float = 5.0
    scale: float = 1.0
    absent: tuple[str, ...] = ()
    flux_jy: dict[str, float] = field(default_factory=dict)
    true_jy: dict[str, float] = field(default_factory=dict)
    flagged: float = 0.0
    successive: bool = False


_TEC = Case(("T: tec, per patch",), "tec")
_LOW = {"most": 0.1, "middle_hz": 150e6, "width_hz": 1e6, "channels": 16}
_G_TEC = Case(("G: diag", "T: tec, per patch"), "tec", "diag", **_LOW)
_P_TEC = Case(("G: phase", "T: tec, per patch"), "tec", "phase", **_LOW, scale=1e-3)
_G_DELAY = Case(("G: diag", "K: delay, per patch"), "delay", "diag")
_B_TEC = Case(("B: diag, 1chan", "T: tec, per patch"), "tec", "band", **{**_LOW, "most": 0.3, "channels": 8})
_PHASE, _DELAY = Case(("P: phase, per patch",), "phase"), Case(("K: delay, per patch",), "delay")
_DE = Case(("dE: diag, per patch",), "diag")
_NOISY = {"noise_jy": 400.0, "slots": 60}


def _faint(case: Case, sigma: float, absent: tuple[str, ...] = ()) -> Case:
    """Two bright patches, and p1, of which all data together have so many standard deviations, if it is in them."""
    case = replace(case, patches=3, slots=12, absent=absent)
    data = case.antennas * (case.antennas - 1) // 2 * case.slots * case.channels * 2
    return replace(case, flux_jy={"p1": sigma * case.noise_jy / data**0.5})


_FAINT = {"tec": _TEC, "delay": _DELAY, "phase": _PHASE, "diagonal": _DE}

CASES = {
    "tec": _TEC,
    "tec-dead0": replace(_TEC, absent=("p0",)),
    "tec-dead1": replace(_TEC, absent=("p1",)),
    "tec-dead01": replace(_TEC, absent=("p0", "p1")),
    "tec-dead0-scale": replace(_TEC, absent=("p0",), scale=1e3),
    "tec-flagged": replace(_TEC, absent=("p0",), flagged=0.3),
    "tec-2-patches": replace(_TEC, patches=2),
    "tec-6-patches": replace(_TEC, patches=6),
    "tec-6-patches-dead": replace(_TEC, patches=6, absent=("p0", "p3")),
    "tec-20-antennas-dead0": replace(_TEC, antennas=20, absent=("p0",)),
    "tec-faint": replace(_TEC, flux_jy={"p1": 3.0}, slots=12),
    "tec-noisy": replace(_TEC, **_NOISY),
    "tec-successive": replace(_TEC, absent=("p0",), successive=True, slots=12),
    "tec-wrong-flux": replace(_TEC, true_jy={"p0": 30.0}),
    "gain-tec": _G_TEC,
    "gain-tec-circular": replace(_G_TEC, feed="circular", whole="diag1"),
    "gain-tec-20-antennas": replace(_G_TEC, antennas=20),
    "gain-tec-2-patches": replace(_G_TEC, patches=2),
    "gain-tec-6-patches": replace(_G_TEC, patches=6),
    "gain-tec-flagged": replace(_G_TEC, flagged=0.3),
    "gain-tec-noisy": replace(_G_TEC, **_NOISY),
    "phase-tec": _P_TEC,
    "phase-tec-dead": replace(_P_TEC, absent=("p1",)),
    "gain-delay": _G_DELAY,
    "gain-delay-first": replace(_G_DELAY, terms=_G_DELAY.terms[::-1], scale=1e3),
    "gain-delay-dead": replace(_G_DELAY, absent=("p0",)),
    "gain-delay-20-antennas": replace(_G_DELAY, antennas=20),
    "bandpass-tec": _B_TEC,
    "bandpass-tec-dead": replace(_B_TEC, absent=("p0",)),
    "bandpass-tec-phase": replace(_B_TEC, terms=("B: phase, 1chan", _B_TEC.terms[1]), whole="band phase", scale=1e3),
    "bandpass-tec-scalar": replace(_B_TEC, terms=("B: scalar, 1chan", _B_TEC.terms[1]), whole="band scalar"),
    "bandpass-gain-tec": replace(_B_TEC, terms=("G: diag", *_B_TEC.terms)),
    "bandpass-delay": replace(_B_TEC, terms=(_B_TEC.terms[0], "K: delay, per patch"), planted="delay", most=None),
    "phase": _PHASE,
    "phase-dead": replace(_PHASE, absent=("p0",)),
    "phase-noisy": replace(_PHASE, **_NOISY),
    "delay": _DELAY,
    "delay-dead": replace(_DELAY, absent=("p0",)),
    "delay-noisy": replace(_DELAY, **_NOISY),
    "diagonal": _DE,
    "diagonal-noisy": replace(_DE, **_NOISY),
    "gain-diagonal-dead": replace(_DE, terms=("G: diag", *_DE.terms), whole="diag", absent=("p0",)),
    **{f"faint-{name}-{sigma}": _faint(case, sigma) for name, case in _FAINT.items() for sigma in (3, 5, 8, 12, 20)},
    **{
        f"faint-{name}-{sigma}-dead": _faint(case, sigma, ("p1",)) for name, case in _FAINT.items() for sigma in (5, 20)
    },
}


def _turned(kind: str, count: int, frequency_hz, most: float | None, rng) -> np.ndarray:
    """[antenna, channel, feed] of a patch."""
    quantity, usual, apart = _KINDS[kind]
    rate = np.ones(len(frequency_hz)) if quantity is None else phase_per_unit(quantity, frequency_hz)
    size = rng.uniform(0.7, 1.3, (count, 1, 2)) if kind == "diag" else 1.0
    most = usual if most is None else most
    phase = rng.uniform(-most, most, (count, 1, 2 if apart else 1)) * rate[:, None]
    return size * np.exp(1j * phase) * np.ones(2)


def _of_all(kind: str, count: int, channels: int, rng) -> np.ndarray:
    """[antenna, channel, feed] of the whole sky. diag1: both feeds have the same phase; band: channels have others."""
    if not kind:
        return np.ones((count, channels, 2), complex)
    shape = count, channels if kind.startswith("band") else 1, 1 if kind == "band scalar" else 2
    size = 1.0 if kind in ("phase", "band phase") else rng.uniform(0.7, 1.3, shape)
    phase = rng.uniform(-np.pi, np.pi, shape)
    return size * np.exp(1j * (phase[..., :1] if kind == "diag1" else phase)) * np.ones((count, channels, 2))


@dataclass(frozen=True, eq=False)
class _Planted:
    """`jones` {patch: [antenna, channel, feed]}; `chi_square` of what was planted."""

    tile: dict
    jones: dict[str, np.ndarray]
    chi_square: float


def _telescope(case: Case):
    every = rt.telescopes.get("kat-7" if case.antennas <= 7 else "meerkat64")
    fields = ("antenna_names", "ecef_m", "dish_diameter_m")
    return replace(every, feed=case.feed, **{name: getattr(every, name)[: case.antennas] for name in fields})


def _plant(case: Case, seed: int, path: str) -> _Planted:
    band = rt.ms.Band.regular(case.middle_hz, case.width_hz * case.channels, case.channels)
    time_s = {"duration_s": 10.0 * case.slots, "integration_s": 10.0}
    rt.ms.create(path, _telescope(case), phase_centre_rad=CENTRE_RAD, bands=band, **time_s)
    (tile,) = rt.ms.tiles(path, [], time_slots=10000)
    rng = np.random.default_rng(seed)
    names = patch_sky(case.patches)[0]
    own = {name: _turned(case.planted, case.antennas, tile["frequency_hz"], case.most, rng) for name in names}
    whole = np.sqrt(case.scale) * _of_all(case.whole, case.antennas, case.channels, rng)
    jones = {name: one * whole for name, one in own.items() if name not in case.absent}
    p, q = np.array(tile["baselines"]).T
    sky = patch_sky(case.patches, {**case.flux_jy, **case.true_jy})[1]
    total = 0
    for name, one in jones.items():
        seen = predicted_by_psv(tile, sky.select(patches=[name]), CENTRE_RAD)
        total = total + one[p][:, None, :, :, None] * seen * np.conj(one[q])[:, None, :, None, :]
    real, imaginary = np.random.default_rng(seed + 1).normal(size=(2, *total.shape)) * case.noise_jy * case.scale
    flag = np.random.default_rng(seed + 2).random(total.shape[:3]) < case.flagged
    write_column(path, tile, total + real + 1j * imaginary, flag=flag if flag.any() else None)
    return _Planted(tile, jones, float(((real**2 + imaginary**2)[~flag]).sum()))


def _errors(planted: _Planted, report, names) -> dict[str, float]:
    """Root mean squares over baselines, relative, but for a scale that belongs to no term."""
    p, q = np.array(planted.tile["baselines"]).T
    found = {}
    for name, true in planted.jones.items():
        jones = [
            report.solutions[0].jones(antenna, planted.tile["time_s"][:1], planted.tile["frequency_hz"], direction=name)
            for antenna in names
        ]
        own = np.array([one[0][0][:, [0, 1], [0, 1]] for one in jones])
        ratio = own[p] * np.conj(own[q]) / (true[p] * np.conj(true[q]))
        scale = np.nanmedian(np.abs(ratio)) if report.chunks[0].scale else 1.0
        found[name] = float(np.sqrt(np.nanmean(np.abs(ratio / scale - 1) ** 2)))
    return found


def _verdict(case: Case, report, above: float, seconds: float) -> str:
    hidden = {name for chunk in report.chunks for name in chunk.hidden}
    flagged = {key.split(", ")[-1] for key in report.flagged_of if ", " in key} - hidden
    converged = report.converged == report.solves
    above = 0.0 if hidden - set(case.absent) else above  # by what those have, which is not found
    found = {
        "flags a living patch": flagged - set(case.absent),
        "misses a dead one": set(case.absent) - flagged - hidden,
        "silently wrong": converged and above > 3,
        "wrong, told": not converged and above > 3,
        "did not converge": not converged and above <= 3,
        "slow": seconds > _SLOW_S,
    }
    return ", ".join(text for text, there in found.items() if there) or "right"


def run(name: str, seed: int) -> str:
    """Plants and calibrates; the line to print."""
    case = CASES[name]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/planted.ms"
        planted = _plant(case, seed, path)
        antennas = _telescope(case).antenna_names
        options = CalibrationOptions(reference=antennas[0], solver=SolverOptions(successive=case.successive))
        sky = patch_sky(case.patches, case.flux_jy)[1]
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = calibration.calibrate(path, sky, parse_terms(list(case.terms)), f"{folder}/solutions.h5", options)
        seconds = time.process_time() - began
        errors = " ".join(f"{one:.3f}" for one in _errors(planted, report, antennas).values())
    chi_square = sum(one.noise**2 * one.chi_square[-1] for one in report.chunks if one.chi_square)
    above = (chi_square - planted.chi_square) / (case.noise_jy * case.scale) ** 2
    unknowns = sum(one.rank for one in report.chunks)
    verdict = _verdict(case, report, above, seconds)
    line = f"{name:24s} {seed:3d}  {verdict:28s} {seconds:6.1f} s {above:10.1f} of {unknowns:4d}  {errors}"
    return f"{line}  {report.flagged_of or ''}".rstrip()


if __name__ == "__main__":
    wanted = sys.argv[1].split(",") if len(sys.argv) > 1 else ["list"]
    if wanted == ["list"]:
        print(*CASES, sep="\n")
    for chosen in [one for one in CASES if any(fnmatch.fnmatch(one, pattern) for pattern in wanted)]:
        for number in map(int, sys.argv[2:] or ["0"]):
            print(run(chosen, number), flush=True)
