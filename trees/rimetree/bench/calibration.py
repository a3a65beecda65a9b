"""Calibrating an observation with planted gains: processor time, memory and errors of the gains, of whole commands, of
RimeTree and, where they are installed, of DP3 and QuartiCal.

All solve for the same: a complex gain of each feed and antenna, and of each direction if there are several, for so many
time slots and channels, with the same sky model, starting from nothing. DP3 runs with the defaults of its `gaincal`, or
of `ddecal` for several directions, QuartiCal with its own but for chunks of one interval (its default is to have all
data in memory), and without writing flags, which the others do not write either.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .. import ms, sky, telescopes
from .. import nodes as rt
from .._core import Error
from ..calibration.model.model_trees import model_nodes, sky_parts
from ..calibration.solutions.h5parm import read_h5parm
from ..calibration.solutions.term_solutions import TermSolutions
from ..forest import Forest
from ..receiver_noise import ReceiverNoise
from ..sky_trees import sink_nodes
from ..writing.scope import NodeScope

_CENTRE = (0.93, -0.485)  # ra, dec (rad)
_SLOT_S, _CHANNEL_HZ, _FIRST_HZ = 8.0, 0.2e6, 1.35e9
_DP3, _QUARTICAL = ("DP3", "DP3.py"), ("goquartical",)  # DP3.py is what PyPI's package brings


@dataclass(frozen=True)
class CalibrationCase:
    """How large the observation is, and the intervals of the gains. `noise_jy`: of real and of imaginary parts, of each
    correlation; the sources have 1 Jy on average."""

    n_antenna: int = 64
    n_channel: int = 64
    n_slot: int = 60
    n_source: int = 20
    slots: int = 10
    channels: int = 8
    noise_jy: float = 1.0
    seed: int = 7
    n_direction: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        """(times, frequencies) of the gains."""
        return -(-self.n_slot // self.slots), -(-self.n_channel // self.channels)

    @property
    def patches(self) -> list[str]:
        """Names of the directions; none, where gains are of the whole sky."""
        return [f"patch{k}" for k in range(self.n_direction)] if self.n_direction > 1 else []


@dataclass(frozen=True)
class CalibrationFigures:
    """What a command took: processor and wall time (s), the largest resident memory (bytes); `gain_error`: root mean
    square of the differences from the planted gains, each feed and interval turned to their phase; `flagged`: the
    fraction of the gains that it gave none for."""

    program: str
    processor_s: float
    wall_s: float
    memory_bytes: int
    gain_error: float
    flagged: float

    def as_dict(self) -> dict:
        return asdict(self)


def planted_sky(case: CalibrationCase) -> sky.SkyModel:
    """Unpolarised points within half a degree, of flat spectra; those of a patch within 2 arcmin of each other."""
    rng = np.random.default_rng(case.seed)
    ra, dec = _CENTRE
    offsets, fluxes = np.radians(rng.uniform(-0.5, 0.5, (case.n_source, 2))), rng.uniform(0.5, 1.5, case.n_source)
    patches = [case.patches[k % case.n_direction] if case.patches else "" for k in range(case.n_source)]
    if case.patches:
        first = offsets[: case.n_direction]
        offsets = first[np.arange(case.n_source) % case.n_direction] + offsets / 30
    return sky.SkyModel(
        [
            sky.Source(f"s{k}", ra + dx / np.cos(dec), dec + dy, (flux, 0.0, 0.0, 0.0), patch=patch)
            for k, ((dx, dy), flux, patch) in enumerate(zip(offsets, fluxes, patches, strict=True))
        ]
    )


def planted_gains(case: CalibrationCase) -> NDArray[np.complex128]:
    """[time, freq, antenna, direction, feed], with amplitudes between 0.7 and 1.3. Those of the whole sky are of any
    phase, those of directions within 1 rad, as after a calibration of the whole sky."""
    rng = np.random.default_rng(case.seed + 1)
    shape = (*case.shape, case.n_antenna, case.n_direction, 2)
    most = 1.0 if case.patches else np.pi
    return rng.uniform(0.7, 1.3, shape) * np.exp(1j * rng.uniform(-most, most, shape))


def make_observation(case: CalibrationCase, path: str, threads: int | None = None) -> None:
    """A Measurement Set of these dimensions, with the planted sky, gains and noise in DATA. Raises `Error`."""
    array, some = telescopes.get("meerkat"), slice(case.n_antenna)
    array = replace(
        array,
        antenna_names=array.antenna_names[some],
        ecef_m=array.ecef_m[some],
        dish_diameter_m=array.dish_diameter_m[some],
    )
    ms.create(
        path,
        array,
        phase_centre_rad=_CENTRE,
        duration_s=_SLOT_S * case.n_slot,
        integration_s=_SLOT_S,
        overwrite=True,
        bands=ms.Band.regular(_FIRST_HZ, _CHANNEL_HZ * case.n_channel, case.n_channel),
    )
    (group,) = ms.groups(path)
    gains = planted_gains(case)
    times = [slot for _, _, slot in ms.slot_times(path)]
    edges_s = np.array([times[k] - _SLOT_S / 2 for k in range(0, case.n_slot, case.slots)] + [times[-1] + _SLOT_S / 2])
    low_hz = min(group.frequency_hz) - _CHANNEL_HZ / 2
    edges_hz = low_hz + _CHANNEL_HZ * np.minimum(case.channels * np.arange(case.shape[1] + 1), case.n_channel)
    ns = NodeScope()

    def parm(values: NDArray):
        tiles = np.ascontiguousarray(values[:, :, None, None])
        return rt.Parm(value=tiles, time_edges_s=edges_s, freq_edges_hz=edges_hz, solvable=False)

    def jones(antenna, part):
        if (part is not None) != bool(case.patches):
            return []
        direction = case.patches.index(part.name) if part else 0
        node = ns.G(antenna, direction)
        if not node.initialized():
            own = gains[:, :, antenna, direction]
            parts = [rt.ToComplex(parm(own[..., feed].real), parm(own[..., feed].imag)) for feed in (0, 1)]
            node << rt.Matrix22(parts[0], 0.0, 0.0, parts[1])
        return [node]

    parts = sky_parts(planted_sky(case), ["patch"] if case.patches else [])
    model_nodes(ns, parts, group.baselines, _CENTRE, jones, feed=group.feed)
    noise = ReceiverNoise(case.noise_jy, seed=case.seed)
    for p, q in group.baselines:
        ns.V(p, q) << noise.added_to(ns, p, q, ns.model(p, q))
    sink_nodes(ns, group.baselines, column="DATA")
    Forest(ns, threads=threads).run(path)


def gain_error(found: NDArray[np.complex128], planted: NDArray[np.complex128]) -> tuple[float, float]:
    """(root mean square of the differences, fraction without solution) of gains [time, freq, antenna, direction, feed];
    the phase that all antennas of a feed have in common is open in each interval and direction."""
    good = np.isfinite(found)
    product = np.where(good, np.conj(found), 0) * planted
    turn = product.sum(axis=2, keepdims=True)
    turned = found * np.exp(1j * np.angle(turn))
    difference = np.abs(turned - planted)[good]
    return float(np.sqrt(np.mean(difference**2))) if good.any() else float("nan"), float(1 - good.mean())


# A process counts what its parent had when it was forked: this one is small.
_MEASURE = """
import json, os, subprocess, sys, time
began = time.monotonic()
child = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(child.pid, 0)
wall = time.monotonic() - began
with open(sys.argv[1], "w") as file:
    json.dump([os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * 1024], file)
"""


def _run(command: list[str], folder: str, environment: dict | None = None) -> tuple[float, float, int]:
    """(processor time, wall time, largest resident memory) of a command. Raises `Error` where it fails."""
    figures = os.path.join(folder, "figures.json")
    with open(os.path.join(folder, "log"), "w+b") as log:
        measured = [sys.executable, "-S", "-c", _MEASURE, figures, *command]
        subprocess.run(measured, cwd=folder, stdout=log, stderr=log, env=environment, check=True)
        with open(figures, encoding="utf-8") as file:
            code, processor, wall, memory = json.load(file)
        if code:
            log.seek(0)
            tail = log.read().decode(errors="replace")[-1000:]
            raise Error(f"{command[0]} ended with exit status {code}: {tail}")
    return processor, wall, memory


def _rimetree(case: CalibrationCase, path: str, folder: str, threads: int | None):
    out = os.path.join(folder, "rimetree.h5")
    term = f"G: diag, {case.slots}slots, {case.channels}chan{', per patch' if case.patches else ''}"
    command = [sys.executable, "-m", "rimetree.cli", "calibrate", path, "--sky", os.path.join(folder, "model.skymodel")]
    command += ["--term", term, "--out", out, "--overwrite", *(["--threads", str(threads)] if threads else [])]
    took = _run(command, folder)
    (found,) = read_h5parm(out)
    return took, _diagonals(case, found["G"])


def _diagonals(case: CalibrationCase, term: TermSolutions) -> NDArray[np.complex128]:
    """Gains [time, freq, antenna, direction, feed] of a file."""
    order = [term.directions.index(name) for name in case.patches] or [0]
    return np.diagonal(term.gain()[:, :, :, order], axis1=-2, axis2=-1)


def _dp3(case: CalibrationCase, path: str, folder: str, threads: int | None):
    out = os.path.join(folder, "dp3.h5")
    shutil.rmtree(out, ignore_errors=True)
    step, mode, parameters = ("ddecal", "mode", "h5parm") if case.patches else ("gaincal", "caltype", "parmdb")
    settings = {
        "msin": path,
        "msout": "",
        "steps": f"[{step}]",
        f"{step}.sourcedb": os.path.join(folder, "model.skymodel"),
        f"{step}.{mode}": "diagonal",
        f"{step}.{parameters}": out,
        f"{step}.solint": case.slots,
        f"{step}.nchan": case.channels,
        **({"numthreads": threads} if threads else {}),
    }
    command = [_found(_DP3), *(f"{key}={value}" for key, value in settings.items())]
    took = _run(command, folder, {**os.environ, "OPENBLAS_NUM_THREADS": "1"})  # without which DP3 refuses
    (found,) = read_h5parm(out)
    return took, _diagonals(case, found.terms[0])


# What QuartiCal's own Python has, and ours need not.
_TO_TIGGER = """
import sys, Tigger
model = Tigger.load(sys.argv[1], verbose=False)
for source in model.sources:  # a tag and a cluster make a direction
    source.setAttribute("dE", True)
    source.setAttribute("cluster", source.name.partition(".")[0])
model.save(sys.argv[2])
"""
_FROM_ZARR = """
import sys, numpy, zarr
found = zarr.open(sys.argv[1], mode="r")
flags = found["gain_flags"][:] if "gain_flags" in found else 0
numpy.savez(sys.argv[2], gains=found["gains"][:], flags=flags)
"""


def _quartical(case: CalibrationCase, path: str, folder: str, threads: int | None):
    program = _found(_QUARTICAL)
    with open(program, encoding="utf-8") as script:
        python = script.readline().removeprefix("#!").strip()
    text, model, solutions = (os.path.join(folder, name) for name in ("sky.txt", "sky.lsm.html", "gains.npz"))
    with open(text, "w", encoding="utf-8") as file:
        file.write("#format: name ra_rad dec_rad i\n")
        file.writelines(
            f"{s.patch}.{s.name} {s.ra_rad!r} {s.dec_rad!r} {s.stokes_jy[0]!r}\n" for s in planted_sky(case)
        )
    _run([python, "-c", _TO_TIGGER, text, model], folder)
    settings = {
        "input_ms.path": path,
        "input_ms.time_chunk": case.slots,
        "input_model.recipe": f"{model}@dE" if case.patches else model,
        "output.gain_directory": os.path.join(folder, "gains.qc"),
        "output.log_directory": os.path.join(folder, "logs.qc"),
        "output.flags": False,
        "solver.terms": "[G]",
        "G.type": "diag_complex",
        "G.time_interval": case.slots,
        "G.freq_interval": case.channels,
        "G.direction_dependent": bool(case.patches),
        "dask.threads": threads or len(os.sched_getaffinity(0)),
    }
    took = _run([program, *(f"{key}={value}" for key, value in settings.items())], folder)
    _run([python, "-c", _FROM_ZARR, os.path.join(folder, "gains.qc", "G", "G_0"), solutions], folder)
    with np.load(solutions) as found:
        flagged = np.broadcast_to(found["flags"], found["gains"].shape[:4]) != 0
        return took, np.where(flagged[..., None], np.nan, found["gains"])[..., ::3]


_PROGRAMS: dict[str, tuple[tuple[str, ...], Callable]] = {
    "RimeTree": ((), _rimetree),
    "DP3": (_DP3, _dp3),
    "QuartiCal": (_QUARTICAL, _quartical),
}


def _found(names: tuple[str, ...]) -> str | None:
    """The first of these commands that is in a folder of PATH."""
    return next(filter(None, map(shutil.which, names)), None)


def programs() -> dict[str, bool]:
    """{program: whether it is installed} of all that can be compared."""
    return {name: not needs or _found(needs) is not None for name, (needs, _) in _PROGRAMS.items()}


def measure_calibration(
    program: str, case: CalibrationCase, path: str, threads: int | None = None
) -> CalibrationFigures:
    """One run of a program on an observation that `make_observation` made. Raises `Error` where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        sky.write(planted_sky(case), os.path.join(folder, "model.skymodel"))
        (processor, wall, memory), found = _PROGRAMS[program][1](case, path, folder, threads)
    planted = planted_gains(case)
    if found.shape != planted.shape:
        raise Error(f"{program}: gains of shape {found.shape}, where {planted.shape} were asked for")
    return CalibrationFigures(program, processor, wall, memory, *gain_error(found, planted))
