"""Rotations of linear feeds inside of diagonal gains: V_pq = D_p R(chi_p - chi_q) D_q^H I of an unpolarised sky.

XX YY and XY YX have the same gains, and are cos^2 and -sin^2 of the difference of angles, times these:

    (XX YY + XY YX) / (XX YY - XY YX) = cos 2 (chi_p - chi_q).

As a matrix of antennas that has rank 2, and its eigenvectors are cosines and sines of 2 chi, but for a common angle and
sign. What the sign is in one bin relative to another is told by gains that are the same in both: D_1 conj(D_0) of the
second antenna is that of -conj(XY) XX / sin 2 (chi_p - chi_q).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from ..data.hands import ALL_HANDS, FROM_LINEAR

_LEAST = 1e-12  # of a matrix of cosines: what has less has no data


def double_angles(sums: Coherence, cells: NDArray[np.intp], reference: int) -> NDArray[np.complex128]:
    """exp(2 i chi) [cell, antenna] relative to the reference, times a common weight; 0 where a cell has no data.

    `sums`: of `Hands.INTENSITY`; `cells` [time, freq]: number of the cell that each bin is in; angles of a cell are the
    same in all its bins, gains need not be. The sign of chi is any, in each cell.
    """
    xx, yy, xy, yx = np.moveaxis(sums.product[..., 0], -1, 0)
    determinant, total = xx * yy - xy * yx, xx * yy + xy * yx
    n_cell, n = int(cells.max(initial=-1)) + 1, len(sums.antennas)

    def of_cells(values: NDArray) -> NDArray:
        """[cell, antenna, antenna], the sum over bins."""
        result = np.zeros((n_cell, *values.shape[:1]), values.dtype)
        np.add.at(result, cells.ravel(), values.reshape(len(values), -1).T)
        matrix = np.zeros((n_cell, n, n), values.dtype)
        p, q = sums.baselines.T
        matrix[:, p, q] = result
        matrix[:, q, p] = result
        return matrix

    weight = of_cells(np.abs(determinant) ** 2)
    cosine = of_cells((total * np.conj(determinant)).real)
    cosine = np.divide(cosine, weight, out=np.zeros_like(cosine), where=weight > _LEAST * weight.max(initial=0.0))
    there = weight.sum(axis=2) > 0
    cosine += np.eye(n) * there[:, None]
    _, vectors = np.linalg.eigh(cosine)
    found = vectors[:, :, -1] * _scale(cosine, vectors, -1) + 1j * vectors[:, :, -2] * _scale(cosine, vectors, -2)
    turned = found * np.conj(found[:, [reference]])
    turned = np.divide(turned, np.abs(turned), out=np.zeros_like(turned), where=np.abs(turned) > _LEAST)
    return np.where(there, turned, 0) * weight.sum(axis=(1, 2))[:, None]


def continued(turned: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Channels [freq, antenna] one after the other, with signs with which each is nearest to the one before."""
    signed, before = turned.copy(), np.zeros(turned.shape[1], complex)
    for channel, own in enumerate(turned):
        if not own.any():
            continue
        if np.vdot(before, own).real < np.vdot(before, np.conj(own)).real:
            signed[channel] = np.conj(own)
        before = signed[channel] / np.abs(own).max()
    return signed


def _scale(cosine, vectors, k: int) -> NDArray[np.float64]:
    """[cell, 1]: the root of an eigenvalue."""
    own = vectors[:, :, k]
    return np.sqrt(np.maximum(np.einsum("ca,cab,cb->c", own, cosine, own), 0.0))[:, None]


def of_one_sign(sums: Coherence, turned: NDArray[np.complex128], cells: NDArray[np.intp]) -> NDArray[np.complex128]:
    """[group, cell of the group, antenna], with the signs of groups with which gains of feed 1 over those of feed 0 are
    most alike. `cells`: as of `double_angles`, of the cells of all groups one after the other."""
    phase = turned.reshape(-1, turned.shape[-1])
    phase = np.divide(phase, np.abs(phase), out=np.zeros_like(phase), where=phase != 0)
    seen = feed_ratios(sums, np.moveaxis(phase[cells], -1, 0))
    ratio = np.zeros(phase.shape, complex)
    np.add.at(ratio, cells.ravel(), seen.reshape(len(seen), -1).T)
    signed, before = turned.copy(), np.zeros(turned.shape[1] * turned.shape[2], complex)
    for group, own in enumerate(ratio.reshape(len(turned), -1)):
        sign = -1.0 if np.vdot(before, own).real < 0 else 1.0
        before = before + sign * own
        if sign < 0:
            signed[group] = np.conj(turned[group])
    return signed


def of_one_sign_along_frequency(
    sums: Coherence, turned: NDArray[np.complex128], cells: tuple[NDArray[np.intp], NDArray[np.intp]]
) -> NDArray[np.complex128]:
    """[time, freq, antenna] of cells, with signs with which gains of feed 1 over those of feed 0 are, at each time,
    most like those of the cell before. `cells`: of each bin, in time and in frequency."""
    at_time, at_frequency = cells
    phase = np.divide(turned, np.abs(turned), out=np.zeros_like(turned), where=turned != 0)
    seen = feed_ratios(sums, np.moveaxis(phase[at_time][:, at_frequency], -1, 0))
    sign = np.ones(turned.shape[:2])
    for f in range(1, turned.shape[1]):
        before, own = (seen[:, :, at_frequency == k].sum(axis=2) for k in (f - 1, f))
        alike = np.zeros(len(turned))
        np.add.at(alike, at_time, (own * np.conj(before)).real.sum(axis=0))
        sign[:, f] = sign[:, f - 1] * np.where(alike < 0, -1.0, 1.0)
    return np.where(sign[..., None] < 0, np.conj(turned), turned)


def feed_ratios(sums: Coherence, phase: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """[antenna, time, freq]: gains of feed 1 times the conjugate of those of feed 0, times something positive; `phase`
    the same, of exp(2 i chi)."""
    p, q = sums.baselines.T
    xx, yy, xy, yx = np.moveaxis(sums.product[..., 0], -1, 0)
    sine = (phase[p] * np.conj(phase[q])).imag  # of twice the difference
    seen = np.zeros(phase.shape, complex)
    np.add.at(seen, q, (yx * np.conj(yy) - xx * np.conj(xy)) * sine)
    np.add.at(seen, p, (yx * np.conj(xx) - yy * np.conj(xy)) * sine)
    return seen


def polarisations(
    sums: Coherence, turned: NDArray[np.complex128], gains: NDArray[np.complex128]
) -> tuple[dict[float, NDArray[np.complex128]], float]:
    """({sign: [baseline, time, freq]}, how circular polarisation agrees): what linear polarisation of the data, without
    gains and rotations, has in common with that of the model; the phase is twice the angle by which all antennas are
    turned besides. For the sign -1 angles are the negative, and gains of feed 1.

    `turned` [antenna, time, freq]: exp(i chi); `gains` [antenna, time, freq, feed].
    """
    inverse = rotations_by(np.conj(turned)) / np.where(gains == 0, 1.0, gains)[..., None, :]
    z, x, y = _stokes(between(inverse, sums))
    own_z, own_x, own_y = _stokes(matrices_of(sums.power[..., 0, 1]))

    def linear(sign: float) -> NDArray[np.complex128]:
        right, left = z + 1j * sign * x, z - 1j * sign * x
        return right * np.conj(own_z + 1j * own_x) + np.conj(left) * (own_z - 1j * own_x)

    return {sign: linear(sign) for sign in (1.0, -1.0)}, float((y * np.conj(own_y)).real.sum()) * 2


def with_turned_model(sums: Coherence, turned: NDArray[np.complex128], *, polarised: bool) -> Coherence:
    """Sums of all hands with the model as antennas see it that are turned by known angles: what gains outside of
    rotations are seen by. `turned` [antenna, time, freq]: exp(i chi); `polarised`: whether the model's polarisation is
    meant, too."""
    rotation = rotations_by(turned)
    model, power = np.eye(2), sums.power[..., 0, 0]
    if polarised:
        model = matrices_of(np.divide(sums.power[..., 0, 1], power, out=np.zeros_like(power), where=power != 0))
    p, q = sums.baselines.T
    seen = rotation[p] @ model @ np.swapaxes(rotation[q], -1, -2)
    hands = np.stack([seen[..., i, j] for i, j in ALL_HANDS], axis=-1)
    product, power = sums.product[..., 0] * np.conj(hands), power * np.abs(hands) ** 2
    return replace(sums, product=product[..., None], power=power[..., None, None])


def rotations_by(turned: NDArray[np.complex128]) -> NDArray[np.float64]:
    """[..., 2, 2] rotations of linear feeds by the angles of phasors [...]."""
    cosine, sine = turned.real, turned.imag
    return np.moveaxis(np.array([[cosine, -sine], [sine, cosine]]), (0, 1), (-2, -1))


def circular_hands_inside(sums: Coherence, gains: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """[baseline, time, freq, (RR, LL)] of data without gains [antenna, time, freq, feed], times the conjugate of Stokes
    I; those that are 0 are taken as 1."""
    found = between(FROM_LINEAR / np.where(gains == 0, 1.0, gains)[..., None, :], sums)
    return np.stack([found[..., 0, 0], found[..., 1, 1]], axis=-1)


def between(jones: NDArray[np.complex128], sums: Coherence) -> NDArray[np.complex128]:
    """[baseline, time, freq, 2, 2]: J_p V J_q^H, times the conjugate of Stokes I."""
    p, q = sums.baselines.T
    return jones[p] @ matrices_of(sums.product[..., 0]) @ np.conj(np.swapaxes(jones[q], -1, -2))


def matrices_of(hands: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """[..., 2, 2] of all hands [..., hand]."""
    return np.stack([hands[..., [0, 2]], hands[..., [3, 1]]], axis=-2)


def _stokes(matrix: NDArray[np.complex128]) -> tuple[NDArray, NDArray, NDArray]:
    """Q, U and iV of matrices of linear feeds."""
    xx, xy, yx, yy = matrix[..., 0, 0], matrix[..., 0, 1], matrix[..., 1, 0], matrix[..., 1, 1]
    return (xx - yy) / 2, (xy + yx) / 2, (xy - yx) / 2
