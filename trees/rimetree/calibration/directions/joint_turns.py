"""Whole turns of phase of delays and TEC of all antennas and directions together.

Beside each other, and beside gains of any phase, delays and TEC of several directions have many minima that differ by
whole turns in the middle of the band. A fit in which the phase there is an unknown by itself (`TermUnknowns.loose`) has
few. From its end the turns follow as carrier phases' do (Teunissen 1995, Journal of Geodesy 70, 65): chi-square is a
quadratic form of these integers, when all else follows them. Its smallest values are looked for in a basis of short
vectors (Lenstra, Lenstra & Lovasz 1982, Mathematische Annalen 261, 515), where few integers need to be visited.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..searches.turns import smallest_integers
from .joint_unknowns import TermUnknowns

_RIDGE = 1e-7  # of the curvature
_NOTHING = 1e-5  # of the largest of a form's: 100 times what the ridge makes of nothing
_SHORTER = 0.75
_MOST_SWAPS = 5000


def with_whole_turns(
    unknowns: TermUnknowns,
    place: NDArray[np.float64],
    slope: NDArray[np.float64],
    curvature: NDArray[np.float64],
    held: list[int],
    count: int,
) -> NDArray[np.float64]:
    """Tight places [some, unknown] at which the quadratic form is smallest, so many at most.

    `place`: a loose one [unknown]; `slope`, `curvature`: half of those of chi-square there, as of `JointFit.normal`;
    `held`: numbers of unknowns that stay as they are.
    """
    slope, curvature = slope.copy(), curvature.copy()
    slope[held], curvature[held], curvature[:, held] = 0.0, 0.0, 0.0
    n, size = len(place), np.diag(curvature) / unknowns.most_rate**2
    if not size.any():  # of a feed without data
        return unknowns.tightened(place[None])
    curvature = curvature + _RIDGE * np.diag(np.maximum(size, 1e-12 * size.max()) * unknowns.most_rate**2)
    middle, whole, slopes = unknowns.middle, unknowns.whole, unknowns.slope
    pairs = np.arange(len(whole))
    # A step is base + of_all @ (steps of slopes and others) + turns @ (integers).
    away = middle * place[slopes] - place[whole]
    base, turns = np.zeros(n), np.zeros((n, len(whole)))
    base[whole] = away - 2 * np.pi * np.round(away / (2 * np.pi))
    turns[whole, pairs] = 2 * np.pi
    of_all = np.eye(n)
    of_all[whole, slopes] = middle
    of_all = np.delete(of_all, whole, axis=1)
    inner = of_all.T @ curvature @ of_all
    size = 1 / np.sqrt(np.diag(inner))
    inverse = size[:, None] * np.linalg.inv(inner * size[:, None] * size) * size
    follows = of_all @ inverse @ of_all.T
    left = curvature - curvature @ follows @ curvature
    form = turns.T @ left @ turns
    linear = 2 * turns.T @ (left @ base - (slope - curvature @ follows @ slope))
    told = determined(form)
    form, linear, turns = form[np.ix_(told, told)], linear[told], turns[:, told]
    basis = short_basis(form)
    found = []
    for _, turned in smallest_integers(basis.T @ form @ basis, basis.T @ linear, count):
        step = base + turns @ (basis @ turned)
        found.append(place + step + follows @ (slope - curvature @ step))
    return unknowns.tightened(np.array(found).reshape(-1, n))


def determined(form: NDArray[np.float64]) -> NDArray[np.intp]:
    """Integers of a quadratic form [n, n] that it tells once the others are known. Beside a bandpass of any phase in
    each channel, turns of an antenna in all directions together change nothing: those in one direction may stay."""
    left = 0.5 * (form + form.T)
    most = left.diagonal().max(initial=0.0)
    told: list[int] = []
    for _ in range(len(form)):
        size = left.diagonal().copy()
        size[told] = 0.0
        k = int(np.argmax(size))
        if not size[k] > _NOTHING * most:
            break
        told.append(k)
        left = left - np.outer(left[k], left[k]) / left[k, k]
    return np.sort(np.array(told, np.intp))


def short_basis(form: NDArray[np.float64]) -> NDArray[np.float64]:
    """Integers [n, n], of determinant 1 or -1, whose columns are short by a quadratic form [n, n]."""
    n = len(form)
    basis = np.eye(n)
    if n == 0:
        return basis
    form = 0.5 * (form + form.T) + 1e-10 * np.trace(form) / n * np.eye(n)
    try:
        upper = np.linalg.cholesky(form).T.copy()
    except np.linalg.LinAlgError:
        return basis
    k, swaps = 1, 0
    while k < n and swaps < _MOST_SWAPS:
        for j in range(k - 1, -1, -1):
            times = round(upper[j, k] / upper[j, j])
            if times:  # mostly 0
                upper[:, k] -= times * upper[:, j]
                basis[:, k] -= times * basis[:, j]
        if _SHORTER * upper[k - 1, k - 1] ** 2 <= upper[k, k] ** 2 + upper[k - 1, k] ** 2:
            k += 1
            continue
        both = [k, k - 1]
        upper[:, [k - 1, k]], basis[:, [k - 1, k]] = upper[:, both], basis[:, both]
        cos, sin = upper[[k - 1, k], k - 1] / np.hypot(*upper[[k - 1, k], k - 1])
        upper[[k - 1, k]] = np.array([[cos, sin], [-sin, cos]]) @ upper[[k - 1, k]]
        k, swaps = max(k - 1, 1), swaps + 1
    return basis
