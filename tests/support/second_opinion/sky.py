"""Opinions on directions, baselines and sources, from docs/conventions.md; phases in extended precision."""

from __future__ import annotations

import erfa
import numpy as np
import scipy.special

from .registry import Call, opinion
from .values import RefusedError, Value

C_M_S = np.longdouble(299792458.0)
TWO_PI = 2 * np.longdouble("3.14159265358979323846264338327950288")


def column(x: np.ndarray, k: int) -> np.ndarray:
    """Element k of the last dimension of a tensor [member, dims..., axes]."""
    return x[..., k, :, :, :, :]


def stacked(parts: list[np.ndarray]) -> np.ndarray:
    """Arrays as elements of a new last dimension."""
    return np.stack(np.broadcast_arrays(*parts), axis=-5)


def required(condition: bool, what: str) -> None:
    if not condition:
        raise RefusedError(what)


@opinion("LMN")
def lmn(call: Call) -> Value:
    radec, centre = call.child("radec").x, call.child("radec_0").x
    required(centre.shape[1:-4] == (2,) and radec.shape[-5] == 2, "LMN of other than directions")
    dra, dec = column(radec, 0) - column_like(centre, 0, radec), column(radec, 1)
    dec0 = column_like(centre, 1, radec)
    parts = [
        np.cos(dec) * np.sin(dra),
        np.sin(dec) * np.cos(dec0) - np.cos(dec) * np.sin(dec0) * np.cos(dra),
        np.sin(dec) * np.sin(dec0) + np.cos(dec) * np.cos(dec0) * np.cos(dra),
    ]
    # Each product is at most 1; the difference of right ascensions rounds as they do.
    size = 1 + np.max(np.abs(column(radec, 0)), initial=0.0)
    return call.result(stacked(parts), size)


def column_like(x: np.ndarray, k: int, like: np.ndarray) -> np.ndarray:
    """Element k of a vector, to stand beside a column of `like` ([member, source, axes] or [member, axes])."""
    one = column(x, k)
    return one[:, None] if like.ndim == 7 else one


def path_m(lmn_x: np.ndarray, uvw: np.ndarray, n_minus: int) -> np.ndarray:
    """u l + v m + w (n - n_minus) in extended precision, [member, source?, axes]."""
    l, m, n = (column(lmn_x, k).astype(np.longdouble) for k in range(3))  # noqa: E741
    u, v, w = (column_like(uvw, k, lmn_x).astype(np.longdouble) for k in range(3))
    third = -(l * l + m * m) / (1 + n) if n_minus else n
    return u * l + v * m + w * third


def rows_of_uvw(x: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """(u, v, w) and their rates, or None: of [3] or [2,3]."""
    dims = x.shape[1:-4]
    required(dims in ((3,), (2, 3)), f"uvw of dimensions {dims}")
    return (x, None) if dims == (3,) else (x[:, 0], x[:, 1])


def checked_lmn(x: np.ndarray) -> np.ndarray:
    dims = x.shape[1:-4]
    required(len(dims) in (1, 2) and dims[-1] == 3, f"lmn of dimensions {dims}")
    return x


def phasor(path: np.ndarray, frequency_hz: np.ndarray) -> np.ndarray:
    turns = path * frequency_hz / C_M_S
    angle = TWO_PI * (turns - np.rint(turns))
    return np.cos(angle) + 1j * np.sin(angle)


def sinc(x: np.ndarray) -> np.ndarray:
    return np.where(x == 0, 1, np.sin(x) / np.where(x == 0, 1, x))


@opinion("VisPhaseShift")
def vis_phase_shift(call: Call) -> Value:
    x = checked_lmn(call.child("lmn").x)
    uvw, _ = rows_of_uvw(call.child("uvw").x)
    path, nu = path_m(x, uvw, int(call.state["n_minus"])), call.axis("freq")
    # Extended precision has 11 bits more than double, which phases of thousands of turns use up.
    scale = 1 + np.abs(TWO_PI * path * nu / C_M_S).astype(float) / 256
    if call.precision > 1e-12:  # as exact as was asked for, where it is a part of a sum that runs as PSV
        scale = scale + call.precision / np.finfo(float).eps
    return call.result(phasor(path, nu).astype(complex), scale)


def smearing(call: Call, x: np.ndarray, uvw: np.ndarray, rates: np.ndarray | None) -> np.ndarray:
    """The product of both factors, in extended precision."""
    factor, n_minus = np.ones((1, 1, 1, 1), np.longdouble), int(call.state["n_minus"])
    if call.state["smear_time"] and rates is not None:
        factor = factor * sinc(
            TWO_PI / 2 * call.axis("time", "width") * call.axis("freq") / C_M_S * path_m(x, rates, n_minus)
        )
    if call.state["smear_frequency"]:
        factor = factor * sinc(TWO_PI / 2 * call.axis("freq", "width") / C_M_S * path_m(x, uvw, n_minus))
    return factor


@opinion("TFSmearFactor")
def tf_smear_factor(call: Call) -> Value:
    x = checked_lmn(call.child("lmn").x)
    uvw, rates = rows_of_uvw(call.child("uvw").x)
    shape = x.shape[1:-5]
    factor = smearing(call, x, uvw, rates)
    factor = np.broadcast_to(factor, np.broadcast_shapes(factor.shape, (x.shape[0], *shape, *call.extents[:2], 1, 1)))
    return call.result(factor.astype(float), 1.0)


def taper(shape: np.ndarray, uvw: np.ndarray, frequency_hz: np.ndarray) -> np.ndarray:
    """exp(-pi^2/(4 ln 2) q^2) of a Gaussian, (1 + (2 pi q)^2)^(-3/2) of an exponential disk, in extended precision,
    2 J1(pi q)/(pi q) of a uniform disk."""
    numbers = [column(shape, k).astype(np.longdouble) for k in range(shape.shape[-5])]
    baseline = [column_like(uvw, k, shape) * frequency_hz / C_M_S for k in range(3)]
    if len(numbers) < 6:
        major, minor, angle = numbers[:3]
        along = major * (baseline[0] * np.sin(angle) + baseline[1] * np.cos(angle))
        across = minor * (baseline[0] * np.cos(angle) - baseline[1] * np.sin(angle))
    else:
        along, across = (sum(numbers[first + k] * baseline[k] for k in range(3)) for first in (0, 3))
    square = along**2 + across**2
    gaussian = np.exp(-((TWO_PI / 2) ** 2) / (4 * np.log(np.longdouble(2))) * square)
    if len(numbers) in (3, 6):
        return gaussian
    exponential_disk = (1 + TWO_PI**2 * square) ** np.longdouble(-1.5)
    uniform_disk = airy((TWO_PI / 2 * np.sqrt(square)).astype(float))
    number = column(shape, len(numbers) - 1)
    return np.where(number == 1, exponential_disk, np.where(number == 2, uniform_disk, gaussian))


@opinion("SourceShape")
def source_shape(call: Call) -> Value:
    shape = call.child("shape").x
    required(len(shape.shape[1:-4]) in (1, 2) and shape.shape[-5] in (3, 4, 6, 7), "shape of such a number of numbers")
    uvw, _ = rows_of_uvw(call.child("uvw").x)
    y = taper(shape, uvw, call.axis("freq"))
    # The exponent rounds by as much as it is; a uniform disk's series has terms of up to 30.
    scale = np.where(y > 0, y * (1 + np.abs(np.log(np.abs(y) + (y == 0)))), 0)
    if shape.shape[-5] in (4, 7):
        scale = np.where(column(shape, shape.shape[-5] - 1) == 2, 100, scale)
    return call.result(y.astype(float), scale)


@opinion("Shapelets")
def shapelets(call: Call) -> Value:
    coefficients, axes, directions = call.child("coefficients").x, call.child("axes").x, call.child("directions")
    dims = coefficients.shape[1:-4]
    required(len(dims) in (2, 3) and min(dims[-2:]) > 0, "coefficients of other dimensions")
    required(axes.shape[1:-4] == (*dims[:-2], 3), "axes of other dimensions")
    uvw, _ = rows_of_uvw(call.child("uvw").x)
    along = [column_like(uvw, k, axes) for k in range(3)]
    if directions is None:
        east, north = along[:2]
    else:
        required(directions.x.shape[1:-4] in ((2, 3), (*dims[:-2], 2, 3)), "directions of other dimensions")
        x = directions.x if directions.x.ndim == axes.ndim + 1 else directions.x[:, None]
        east, north = (sum(x[..., k, i, :, :, :, :] * along[i] for i in range(3)) for k in range(2))
    major, minor, angle = (column(axes, k).astype(np.longdouble) for k in range(3))
    scale = TWO_PI / np.sqrt(8 * np.log(np.longdouble(2))) * call.axis("freq") / C_M_S
    places = (
        scale * major * (east * np.sin(angle) + north * np.cos(angle)),
        scale * minor * (north * np.sin(angle) - east * np.cos(angle)),
    )
    functions = [
        [
            scipy.special.eval_hermite(n, x.astype(float))
            * np.exp(-(x**2) / 2)
            / np.sqrt(np.longdouble(2**n * scipy.special.factorial(n, exact=True)))
            for n in range(count)
        ]
        for x, count in zip(places, dims[-2:], strict=True)
    ]
    total, size = 0.0, 0.0
    for j, first in enumerate(functions[0]):
        for k, second in enumerate(functions[1]):
            term = coefficients[..., j, k, :, :, :, :] * first * second
            total = total + 1j ** ((j + k) % 4) * term
            # The exponent rounds by as much as it is, and the polynomials by as much as their arguments change them.
            size = size + np.abs(coefficients[..., j, k, :, :, :, :]) * 10 * (1 + j + k)
    return call.result(total.astype(complex), size)


def airy(x: np.ndarray) -> np.ndarray:
    return np.where(x == 0, 1.0, 2 * scipy.special.j1(x) / np.where(x == 0, 1.0, x))


@opinion("DishBeam")
def dish_beam(call: Call) -> Value:
    x, width = checked_lmn(call.child("lmn").x), call.child("width").x
    required(width.ndim == 5 and not np.iscomplexobj(width), "a width that is no real number")
    ref_freq_hz, b = call.state["ref_freq_hz"], call.state["blockage"]
    required(0 < ref_freq_hz < np.inf, "a reference frequency that is not positive")
    required(0 <= b < 1 and (b == 0 or call.state["profile"] == "airy"), "such a blockage")
    l, m, n = (column(x, k) for k in range(3))  # noqa: E741
    y = np.hypot(l, m) / (width[:, None] if x.ndim == 7 else width) * call.axis("freq") / ref_freq_hz
    if call.state["profile"] == "gaussian":
        voltage = 0.5 ** (2 * y**2)
    elif call.state["profile"] == "cosine":
        # The transform of cos(pi r) over a line of unit length: of edges 0, unlike that of a uniform field.
        k = 1.1889647809329456
        voltage = 0.25 * np.pi * (np.sinc(k * y - 0.5) + np.sinc(k * y + 0.5))
    else:
        x = 2 * 1.6163399483107032 * y
        voltage = (airy(x) - b**2 * airy(b * x)) / (1 - b**2)
    voltage = np.where(n < 0, 0.0, voltage)
    return call.result(voltage, 100.0)  # the series of the Airy pattern has terms of up to 30


@opinion("Stokes")
def stokes(call: Call) -> Value:
    x = call.child("stokes").x
    required(len(x.shape[1:-4]) in (1, 2) and x.shape[-5] == 4, "Stokes parameters of other than four numbers")
    required(not np.iscomplexobj(x), "complex Stokes parameters")
    i, q, u, v = (column(x, k) for k in range(4))
    if call.state["feed"] == "linear":
        rows = [stacked([i + q + 0j, u + 1j * v]), stacked([u - 1j * v, i - q + 0j])]
    else:
        rows = [stacked([i + v + 0j, q + 1j * u]), stacked([q - 1j * u, i - v + 0j])]
    return call.result(np.stack(rows, axis=-6))


@opinion("Spectrum")
def spectrum(call: Call) -> Value:
    x, c = call.child("stokes").x, call.child("coefficients").x
    nu0, rm = call.child("ref_freq_hz").x, call.child("rotation_measure")
    single = len(x.shape[1:-4]) == 1
    if single:
        x = x[:, None]
    count = x.shape[1]
    c = c[:, None] if c.ndim == 6 else c
    nu0, rm = (one[:, None] if one.ndim == 5 else one for one in (nu0, rm.x if rm else np.zeros((1,) * 5)))
    logarithmic, scaled = (
        np.broadcast_to(np.asarray(call.state[name], float).ravel() != 0, count).reshape(1, -1, 1, 1, 1, 1)
        for name in ("logarithmic", "scale_polarisation")
    )
    nu = call.axis("freq")
    idle = np.all(c == 0, axis=-5) & (rm == 0)
    ratio = np.where(idle, 1.0, nu / np.where(idle, 1.0, nu0))
    order = np.arange(c.shape[-5]).reshape(-1, 1, 1, 1, 1)
    exponent = np.sum(c * np.log(ratio)[:, :, None] ** order, axis=-5)
    i0 = column(x, 0)
    by_power = ratio**exponent
    plain = i0 + np.sum(c * (ratio - 1)[:, :, None] ** (order + 1), axis=-5)
    i = np.where(logarithmic, i0 * by_power, plain)
    by_ratio = np.where(logarithmic, by_power, np.where(i0 == 0, 1, plain / np.where(i0 == 0, 1, i0)))
    factor = np.where(scaled, by_ratio, 1.0)
    squares = (float(C_M_S) / nu) ** 2 - np.where(idle, 0.0, (float(C_M_S) / np.where(idle, 1.0, nu0)) ** 2)
    turn = np.exp(2j * np.where(idle, 0.0, rm * squares))
    qu = (column(x, 1) + 1j * column(x, 2)) * turn * factor
    y = stacked([i, np.real(qu), np.imag(qu), column(x, 3) * factor])
    angle = np.abs(rm) * (float(C_M_S) / nu) ** 2
    scale = np.max(np.abs(x), axis=-5) * (np.abs(by_power) + np.abs(factor)) * (1 + np.abs(exponent) + angle)
    scale = scale + np.sum(np.abs(c * (ratio - 1)[:, :, None] ** (order + 1)), axis=-5) * (1 + np.abs(factor))
    y, scale = (y[:, 0], scale[:, 0]) if single else (y, scale)
    return call.result(y, np.broadcast_to(scale[..., None, :, :, :, :], y.shape))


OMEGA_RAD_S = 7.292115e-5


@opinion("UVW")
def uvw(call: Call) -> Value:
    """By ERFA's own chain of rotations; rates as the Earth turns, from times a second apart."""
    if call.state["include_deriv"]:
        ahead, behind = (station_uvw(call, step) for step in (1.0, -1.0))
        rates = (ahead - behind) / 2 * (OMEGA_RAD_S / np.sin(OMEGA_RAD_S))
        x = np.stack([station_uvw(call, 0.0), rates], axis=1)
    else:
        x = station_uvw(call, 0.0)
    # Earth orientation depends on time by 1e-4 rad/s, and MJD in seconds is rounded to 1e-6 s. A difference of two
    # values 2 s apart loses no more than that.
    length = np.max(np.abs(call.child("xyz").x - call.child("xyz_0").x), initial=0.0)
    return call.result(x, length, rounding=1e-9)


def station_uvw(call: Call, later_s: float) -> np.ndarray:
    times_s = call.axis("time").ravel()
    matrices = []
    for time_s in times_s:
        day, part = 2400000.5 + np.floor(time_s / 86400), (time_s % 86400 + later_s) / 86400
        tai = erfa.utctai(day, part)
        ut1 = erfa.utcut1(day, part, call.state["dut1_s"])
        matrices.append(erfa.c2t06a(*erfa.taitt(*tai), *ut1, 0.0, 0.0))
    ra, dec = (column(call.child("radec_0").x, k) for k in (0, 1))
    zero = np.zeros_like(ra)
    frame = [
        [-np.sin(ra), np.cos(ra), zero],
        [-np.sin(dec) * np.cos(ra), -np.sin(dec) * np.sin(ra), np.cos(dec)],
        [np.cos(dec) * np.cos(ra), np.cos(dec) * np.sin(ra), np.sin(dec)],
    ]
    offset = call.child("xyz").x - call.child("xyz_0").x
    turned = [
        sum(np.array([m[j, i] for m in matrices]).reshape(1, -1, 1, 1, 1) * column(offset, j) for j in range(3))
        for i in range(3)
    ]
    return stacked([sum(row[i] * turned[i] for i in range(3)) for row in frame])
