"""FITS cubes of a Jones matrix, as patterns of beams are handed on, and what NumPy and SciPy make of them."""

import numpy as np
from astropy.io import fits
from scipy.interpolate import RegularGridInterpolator

ELEMENTS = {"linear": ("xx", "xy", "yx", "yy"), "circular": ("rr", "rl", "lr", "ll")}
DEG = np.pi / 180


def some_pattern(frequency_hz, m, l):  # noqa: E741
    """[frequency, m, l, 4]: a beam that is wider along l, looks aside, and leaks from feed to feed."""
    nu, north, east = np.meshgrid(np.asarray(frequency_hz) / 1.4e9, m, l, indexing="ij")
    y = nu**2 * (((north - 0.002) / 0.03) ** 2 + (east / 0.04) ** 2)
    main = np.exp(-y) * np.exp(1j * (5 * north - 3 * east))
    return np.stack([main, 0.1j * main * east / 0.03, 0.05 * main * north / 0.03, 0.9 * main * (1 + 0.2j)], axis=-1)


def write_cubes(folder, table, frequency_hz, m, l, *, feed="linear", name="beam", axes=("X", "Y", "FREQ"), unit="deg"):  # noqa: E741
    """The files of a table [frequency, m, l, 4] on regular grids (rad, Hz); gives their name with $(corr), $(reim)."""
    grids = {"X": l, "L": l, "Y": m, "M": m, "FREQ": frequency_hz}
    for element, values in zip(ELEMENTS[feed], np.moveaxis(table, -1, 0), strict=True):
        for part, numbers in ("re", values.real), ("im", values.imag):
            order = [{"F": 0, "Y": 1, "M": 1, "X": 2, "L": 2}[axis.removeprefix("-")[0]] for axis in axes]
            data = np.transpose(numbers, order[::-1])
            header = fits.Header()
            for number, axis in enumerate(axes, 1):
                grid = np.asarray(grids[axis.removeprefix("-")])
                scale = 1.0 if axis == "FREQ" else (DEG if unit == "deg" else 1.0) * (-1 if axis[0] == "-" else 1)
                header[f"CTYPE{number}"], header[f"CRPIX{number}"] = axis, 2.0
                header[f"CUNIT{number}"] = "Hz" if axis == "FREQ" else unit
                step = (grid[1] - grid[0]) / scale if len(grid) > 1 else 1.0
                header[f"CRVAL{number}"], header[f"CDELT{number}"] = grid[0] / scale + step, step
            fits.writeto(folder / f"{name}_{element}_{part}.fits", data, header)
    return str(folder / f"{name}_$(corr)_$(reim).fits")


def between(table, frequency_hz, m, l, at_hz, at_m, at_l):  # noqa: E741
    """[source, channel, 2, 2] of the table at places, by SciPy; beyond the frequencies that of the nearest."""
    nearest = np.clip(at_hz, min(frequency_hz), max(frequency_hz))
    if len(frequency_hz) == 1:
        frequency_hz, table = [frequency_hz[0], frequency_hz[0] + 1], np.repeat(table, 2, axis=0)
    look_up = RegularGridInterpolator((frequency_hz, m, l), table)
    places = np.stack(np.broadcast_arrays(nearest, np.asarray(at_m)[:, None], np.asarray(at_l)[:, None]), axis=-1)
    return look_up(places).reshape(*places.shape[:2], 2, 2)
