"""Delays and TEC of all antennas together, where values that differ by turns of phase fit nearly as well.

The phase in the middle of the band says a delay to within turns, and the slope along it which of them, which hardly
differs where the band is narrow. The best turns of some antennas then depend on those of the others, and a search
antenna by antenna ends short of them. Near a solution chi-square is a quadratic form of the whole turns of each
antenna. Its smallest values are found by going through the integers near its real minimum, one antenna after the other,
nearest first, and leaving out what cannot be among the best any more (Schnorr & Euchner 1994, Mathematical Programming
66, 181; as turns of carrier phases are found, Teunissen 1995, Journal of Geodesy 70, 65).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_BEST = 12  # of the quadratic form, which are then compared as they are
_MOST_VISITS = 4000
_NOT_QUADRATIC = 0.2
_STEPS = 4  # of Newton's method


def with_best_turns(
    matrix: NDArray[np.complex128], rate: NDArray[np.float64], x: NDArray[np.float64]
) -> NDArray[np.float64]:
    """x [antenna], or better ones that differ from them by turns of phase.

    Better is where the sum of Re matrix_pq exp(-i (x_p - x_q) rate) is larger; `matrix` [channel, antenna, antenna],
    Hermitian: sums of weight V conj(model); `rate` [channel]: radians per unit of x.
    """
    used = np.flatnonzero(np.abs(matrix).sum(axis=(0, 1)) > 0)
    if len(used) < 2:
        return x
    own, begin = matrix[:, used][:, :, used], x[used]
    size = np.abs(own).sum(axis=(1, 2))
    centre = float(size @ rate / size.sum())
    if not (np.abs(rate - centre) * size).any():  # one channel
        return x
    turn = 2 * math.pi / centre
    begin = _refined(own, rate, begin)
    there = _turned(own, rate, begin)
    slope = turn * (rate - centre)
    linear = -(slope @ there.imag.sum(axis=2))
    curvature = 0.5 * np.tensordot(slope**2, there.real, 1)
    np.fill_diagonal(curvature, 0.0)
    form = np.diag(curvature.sum(axis=1)) - curvature
    # Turns of all antennas together change nothing: one stays as it is, that with most data.
    rest = np.arange(len(used)) != int(np.argmax(np.abs(own).sum(axis=(0, 1))))
    form, linear = form[rest][:, rest], linear[rest]
    best, most = begin, _height(own, rate, begin)
    lowest, first = math.inf, np.zeros(0)
    for value, turns in smallest_integers(form, linear, _BEST):
        if not len(first):
            lowest, first = value, turns
        # What is not quadratic is a part of what is: others cannot be better than the first.
        if value - lowest > _NOT_QUADRATIC * ((turns - first) @ form @ (turns - first)):
            continue
        if not turns.any():
            continue
        other = begin.copy()
        other[rest] += turn * turns
        other = _refined(own, rate, other)
        height = _height(own, rate, other)
        if height > most * (1 + 1e-12):
            best, most = other, height
    found = x.copy()
    found[used] = best
    return found


def smallest_integers(
    form: NDArray[np.float64], linear: NDArray[np.float64], count: int
) -> list[tuple[float, NDArray[np.intp]]]:
    """(value, k) for the integers k [n] for which k form k + linear k is smallest, but for a constant, so many of them,
    the smallest first; none where `form` [n, n] is not positive definite."""
    if not len(form):
        return [(0.0, np.zeros(0, np.intp))]
    try:
        lower = np.linalg.cholesky(form)
    except np.linalg.LinAlgError:
        return []
    middle = -0.5 * np.linalg.solve(form, linear)
    triangle = lower.T  # |triangle (k - middle)|^2, from the last row up
    n = len(middle)
    found: list[tuple[float, tuple[int, ...]]] = []
    turns, below = np.zeros(n), np.zeros(n + 1)
    visits = 0

    def visit(row: int) -> None:
        nonlocal visits
        free = middle[row] - (triangle[row, row + 1 :] @ (turns[row + 1 :] - middle[row + 1 :])) / triangle[row, row]
        nearest = round(free)
        side = 1 if free >= nearest else -1
        for step in range(2 * n + 64):  # nearest, then to either side
            visits += 1
            turns[row] = nearest + side * ((step + 1) // 2) * (1 if step % 2 else -1)
            below[row] = below[row + 1] + (triangle[row, row] * (turns[row] - free)) ** 2
            if (len(found) >= count and below[row] >= found[-1][0]) or visits > _MOST_VISITS:
                return
            if row > 0:
                visit(row - 1)
            else:
                found.append((float(below[0]), tuple(turns.astype(int))))
                found.sort()
                del found[count:]

    visit(n - 1)
    return [(value, np.array(one)) for value, one in found]


def _turned(matrix, rate, x) -> NDArray[np.complex128]:
    phasors = np.exp(-1j * rate[:, None] * x)
    return phasors[:, :, None] * matrix * np.conj(phasors[:, None, :])


def _height(matrix, rate, x) -> float:
    phasors = np.exp(1j * rate[:, None] * x)
    return float(np.vdot(phasors, (matrix @ phasors[..., None])[..., 0]).real)


def _refined(matrix, rate, x) -> NDArray[np.float64]:
    """The maximum near x."""
    height = _height(matrix, rate, x)
    for _ in range(_STEPS):
        there = _turned(matrix, rate, x)
        gradient = rate @ there.imag.sum(axis=2)
        curvature = np.tensordot(rate**2, there.real, 1)
        np.fill_diagonal(curvature, 0.0)
        form = np.diag(curvature.sum(axis=1)) - curvature
        other = x + np.linalg.lstsq(form, gradient, rcond=1e-9)[0]
        higher = _height(matrix, rate, other)
        if not higher > height:
            break
        x, height = other, higher
    return x
