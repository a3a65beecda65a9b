"""Visibilities from arrays, without a tree."""

from __future__ import annotations

import warnings

import numpy as np

from ._core import Error
from .arguments import ArgumentError, numbers
from .evaluation.asking import count
from .evaluation.cells import Cells
from .evaluation.verification import tolerance_of
from .forest import Forest
from .nodes import PSV, Constant, Stokes
from .sky.projection import axes_at
from .sky.source import PROFILES
from .writing.scope import NodeScope


def predict(
    uvw_m,
    frequency_hz,
    lmn,
    stokes,
    *,
    duvw_m_s=None,
    exposure_s=None,
    channel_width_hz=None,
    gaussian=None,
    exponential_disk=None,
    uniform_disk=None,
    device: str = "auto",
    precision: str = "double",
    tolerance: float | None = None,
    verify: int = 0,
    found: list | None = None,
    threads: int | None = None,
) -> np.ndarray:
    """Visibilities of points, Gaussians and disks in linear correlations XX, XY, YX, YY.

    Arrays are plain numbers in the units below, or Quantities that convert to them.

    V = sum_s B_s exp(+2 pi i nu/c (u l + v m + w (n-1))) smearing shape, with B = [[I+Q, U+iV], [U-iV, I-Q]]
    (Smirnov 2011, A&A 527, A106, eq. 14); the PSV node on one row per time cell.

    Parameters
    ----------
    uvw_m: [row, 3], metres, as stored in a Measurement Set.
    frequency_hz: [channel], in any order.
    lmn: [source, 3], direction cosines; n - 1 is formed without cancellation.
    stokes: [source, 4] or [source, channel, 4]: I, Q, U, V in Jy.
    duvw_m_s: [row, 3], rates of change in metres per second, for time smearing; needs exposure_s.
    exposure_s: scalar or [row], seconds; needs duvw_m_s.
    channel_width_hz: scalar or [channel]: turns bandwidth smearing on.
    gaussian: [source, 3]: major and minor axis (FWHM) and position angle (north through east) in the (l, m) plane,
        radians; zeros: point. Or [source, 6]: the components of both axes along u, v and w (`SkyModel.shape_axes`).
    exponential_disk: the same of disks exp(-r), r being counted in the axes, which are scale lengths.
    uniform_disk: the same of disks that are alike everywhere; the axes are diameters. Of the shapes of a source all but
        one must be zeros.
    device: "cpu", "auto" (all GPUs, or the CPU where there is none) or as `Forest` has it, e.g. "cuda:0".
    precision: "double" (1e-12 of the total flux) or "single" (1e-6; phases are double).
    tolerance: what visibilities may be wrong by instead, as a fraction of the total flux, 1e-12 to 1; the cheapest
        method that meets it is taken.
    verify: so many visibilities, chosen at random, are computed again one by one in extended precision; warns if one is
        off by more than the tolerance.
    found: a list to which the `Verification` of `verify` is appended.
    threads: number of threads; None: as `Forest` has it.

    Returns
    -------
    complex128 [row, channel, 2, 2], a read-only view.

    Raises `Error` for arrays that do not fit together, values that are not finite and directions off the sphere.
    """
    tolerance_of(precision, tolerance)
    verify = count(verify, "verify")
    if not isinstance(found, list | None):
        raise ArgumentError(f"found must be a list, not {found!r}")
    uvw = _array("uvw_m", uvw_m, (None, 3))
    frequency = _array("frequency_hz", np.atleast_1d(numbers(frequency_hz, "frequency_hz", "Hz")), (None,))
    directions = _directions(lmn)
    n_row, n_channel, n_source = len(uvw), len(frequency), len(directions)
    if (frequency <= 0).any():
        raise Error("frequency_hz must be positive")
    fluxes = _fluxes(stokes, n_source, n_channel)
    shapes = _shapes(
        {"gaussian": gaussian, "exponential_disk": exponential_disk, "uniform_disk": uniform_disk}, n_source
    )
    if exposure_s is not None and duvw_m_s is None:
        raise Error("exposure_s is given without duvw_m_s: time smearing needs the rates of change of uvw")
    if duvw_m_s is not None and exposure_s is None:
        raise Error("duvw_m_s is given without exposure_s: time smearing needs to know over how many seconds")
    exposure = _spread("exposure_s", 0.0 if exposure_s is None else exposure_s, n_row, "row")
    width = _spread("channel_width_hz", 0.0 if channel_width_hz is None else channel_width_hz, n_channel, "channel")
    if n_row == 0 or n_channel == 0:
        return np.zeros((n_row, n_channel, 2, 2), np.complex128)

    smears = duvw_m_s is not None or channel_width_hz is not None
    if smears:
        rates = np.zeros_like(uvw) if duvw_m_s is None else _array("duvw_m_s", duvw_m_s, (n_row, 3))
        uvw = np.stack([uvw, rates], axis=1)  # [row, 2, 3]

    ns = NodeScope()
    ns.lmn << Constant(directions)
    ns.stokes << Constant(fluxes, cells_rank=2)
    ns.brightness << Stokes(ns.stokes)
    ns.uvw << Constant(np.moveaxis(uvw, 0, -1), cells_rank=1)
    shape = None
    if shapes is not None:
        shape = ns.shape << Constant(shapes)
    ns.V << PSV(ns.lmn, ns.brightness, ns.uvw, shape)
    # A row stands for a cell of the time axis: where it lies does not matter, only how wide it is.
    cells = Cells(np.arange(n_row), frequency, time_width_s=exposure, freq_width_hz=width)
    forest = Forest(ns, threads=threads, device="none" if device == "cpu" else device)
    values = forest.evaluate(ns.V, cells, precision=precision, tolerance=tolerance, verify=verify)
    if verify:
        verification = forest.verification()
        if found is not None:
            found.append(verification)
        if not verification.passed:
            warnings.warn(str(verification), stacklevel=2)
    for message in forest.warnings():
        warnings.warn(message, stacklevel=2)
    values = np.broadcast_to(values, (2, 2, n_row, n_channel))
    return values.transpose(2, 3, 0, 1)


#: What Quantities are converted to.
_UNITS = {
    "uvw_m": "m",
    "frequency_hz": "Hz",
    "lmn": "",
    "stokes": "Jy",
    "duvw_m_s": "m/s",
    "exposure_s": "s",
    "channel_width_hz": "Hz",
    "gaussian": "rad",
    "exponential_disk": "rad",
    "uniform_disk": "rad",
}


def _array(name: str, value, shape: tuple) -> np.ndarray:
    array = numbers(value, name, _UNITS[name])
    fits = array.ndim == len(shape) and all(
        want is None or want == got for want, got in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("any" if want is None else str(want) for want in shape)
        raise Error(f"{name} has shape {list(array.shape)}, expected [{wanted}]")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise Error(f"{name}{list(where)} is {array[where]}: values must be finite")
    return array


def _spread(name: str, value, length: int, axis: str) -> np.ndarray:
    array = numbers(value, name, _UNITS[name])
    if array.shape not in ((), (length,)):
        raise Error(f"{name} has shape {list(array.shape)}, expected a number or [{length}], one per {axis}")
    if not np.isfinite(array).all():
        raise Error(f"{name} must be finite")
    if name == "exposure_s" and (array < 0).any():
        raise Error(f"{name} must not be negative")
    return np.abs(np.broadcast_to(array, (length,)))


def _directions(lmn) -> np.ndarray:
    directions = _array("lmn", lmn, (None, 3))
    lm2 = directions[:, 0] ** 2 + directions[:, 1] ** 2
    if (lm2 > 1).any():
        s = int(np.argmax(lm2))
        raise Error(f"lmn[{s}]: l^2 + m^2 = {lm2[s]:.6g} exceeds 1; l and m are direction cosines, not angles")
    wrong = np.abs(np.abs(directions[:, 2]) - np.sqrt(1 - lm2)) > 1e-6
    if wrong.any():
        s = int(np.argmax(wrong))
        raise Error(
            f"lmn[{s}]: n = {directions[s, 2]:.9g}, but sqrt(1 - l^2 - m^2) = {np.sqrt(1 - lm2[s]):.9g}; "
            "the third component is n, not n - 1"
        )
    return directions


def _fluxes(stokes, n_source: int, n_channel: int) -> np.ndarray:
    """As [source, 4, 1, channel or 1]: Stokes parameters on the cells."""
    array = numbers(stokes, "stokes", "Jy")
    if array.ndim == 2:
        return _array("stokes", array, (n_source, 4))[:, :, np.newaxis, np.newaxis]
    if array.ndim != 3:
        raise Error(
            f"stokes has shape {list(array.shape)}, expected [{n_source}, 4] or [{n_source}, {n_channel}, 4], one for "
            "each source, or for each source and channel"
        )
    array = _array("stokes", array, (n_source, n_channel, 4))
    return array.transpose(0, 2, 1)[:, :, np.newaxis, :]


def _shapes(given: dict, n_source: int) -> np.ndarray | None:
    """[source, 3 or 6], or with the number of the profile [source, 4 or 7] where not all are of the first; None:
    points."""
    arrays = {name: numbers(value, name, _UNITS[name]) for name, value in given.items() if value is not None}
    columns = 6 if any(array.ndim == 2 and array.shape[1] == 6 for array in arrays.values()) else 3
    shapes, owner = None, np.full(n_source, -1)
    for name in PROFILES:
        if name not in arrays:
            continue
        is_vectors = arrays[name].ndim == 2 and arrays[name].shape[1] == 6
        array = _array(name, arrays[name], (n_source, 6 if is_vectors else 3))
        if not is_vectors and (array[:, :2] < 0).any():
            raise Error(f"{name}: widths must not be negative")
        own = array[:, : 6 if is_vectors else 2].any(axis=1)
        if columns == 6 and not is_vectors:
            array = axes_at(array, np.broadcast_to(np.eye(3)[:2], (n_source, 2, 3)))
        if (twice := own & (owner >= 0)).any():
            s = int(np.argmax(twice))
            raise Error(f"source {s} has axes both as {PROFILES[owner[s]]} and as {name}: it can be one only")
        owner[own] = PROFILES.index(name)
        shapes = np.where(own[:, np.newaxis], array, 0.0 if shapes is None else shapes)
    return np.column_stack([shapes, np.maximum(owner, 0)]) if (owner > 0).any() else shapes
