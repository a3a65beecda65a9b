"""Rotations of linear feeds in several directions k, inside of gains: V_pq = D_p sum_k (R_kp B_k R_kq^T) D_q^H.

Gains may be any in each bin, which is more than terms outside can do: gains and angles are found in turns, by least
squares on sums over the data. Of angles there are several minima: it is begun at 0 and at random, until the lowest has
been found again. Angles of the other sign, with gains of feed 1 negative, do the same to a sky that is not polarised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from ..data.hands import ALL_HANDS
from .diagonal_gains import on_hands
from .rotations_inside_gains import matrices_of, rotations_by

_STARTS = 8  # at random
_ROUNDS, _SWEEPS = 200, 3  # of both; over gains in each
_SAME, _AGAIN = 1e-5, 1e-3  # of what is left: the last round; the same minimum
_ROUNDING = 1e-12  # of the data
_ROUNDS_OF_GAINS, _SURE = 30, 2.0  # standard deviations of noise
_MOST = 1 << 18  # visibilities of bins
_MOST_UNKNOWNS = 400
_QUARTER = np.array([[0.0, -1.0], [1.0, 0.0]])


@dataclass(frozen=True, eq=False)
class Turned:
    """`angle` [direction, time, freq, antenna] (rad); by how much that, with any `gains` [antenna, time, freq, feed],
    lowers chi-square."""

    angle: NDArray[np.float64]
    gains: NDArray[np.complex128]
    explained: float

    @property
    def mirrored(self) -> Turned:
        """With angles of the other sign."""
        return replace(self, angle=-self.angle, gains=self.gains * np.array([1, -1]))


class RotatedDirections:
    """The search. `sums`: of `Hands.INTENSITY`, for each part of the sky, the direction `of_part` of each; `cells`: of
    each bin, in time and in frequency."""

    def __init__(self, sums: Coherence, of_part: Sequence[int], cells: tuple[NDArray[np.intp], NDArray[np.intp]]):
        n = len(of_part)
        self._sums, self._of_part, self._cells = sums, np.array(of_part), cells
        self._product, self._power = sums.product[..., :n], sums.power[..., :n, :n]
        own = np.arange(n)
        size = sums.power[..., own, own].real.sum(axis=(0, 1, 2))
        common = sums.power[..., own, own + n].sum(axis=(0, 1, 2))  # [hand, part]
        ratio = np.divide(common, size, out=np.zeros_like(common), where=size > 0)
        self._brightness = matrices_of(ratio.T)  # over Stokes I
        shape = [int(own.max(initial=-1)) + 1 for own in cells]
        self._shape = (int(self._of_part.max()) + 1, *shape, len(sums.antennas))
        number = np.arange(np.prod(self._shape)).reshape(self._shape)
        at = number[self._of_part][:, cells[0]][:, :, cells[1]]  # [part, time, freq, antenna]
        self._unknown = np.moveaxis(np.stack([at[..., end] for end in sums.baselines.T], axis=-1), (3, 0), (0, 3))

    @property
    def few(self) -> bool:
        """Whether it does not take too long."""
        return self._product[..., 0].size <= _MOST and np.prod(self._shape) <= _MOST_UNKNOWNS

    def run(self) -> Turned | None:
        """The lowest minimum; None where gains explain the data without any rotation."""
        plain = self._of_gains(np.zeros(self._shape))
        for _ in range(_ROUNDS_OF_GAINS):
            plain = replace(plain, gains=self._better_gains(plain.angle, plain.gains))
        if self._is_good(replace(plain, explained=self._explained(plain.angle, plain.gains))):
            return None
        rng = np.random.default_rng(0)
        best = self._of_better_sign(self._found(np.zeros(self._shape)))
        for _ in range(0 if self._is_good(best) else _STARTS):
            other = self._of_better_sign(self._found(rng.uniform(-np.pi / 2, np.pi / 2, self._shape)))
            same = _AGAIN * self._left(best.explained)
            again = abs(other.explained - best.explained) < same
            best = other if other.explained > best.explained + same else best
            if again:
                break
        return best

    def _of_better_sign(self, one: Turned) -> Turned:
        other = self._found_from(one.mirrored)
        return other if other.explained > one.explained + _AGAIN * self._left(one.explained) else one

    def seen(self, angle: NDArray[np.float64]) -> Coherence:
        """Sums with the model as antennas see it that are turned by these angles."""
        model = _hands(self._models(angle))
        product = (np.conj(model) * self._product).sum(axis=-1)
        power = np.einsum("...k,...kl,...l->...", np.conj(model), self._power, model)
        return replace(self._sums, product=product[..., None], power=power[..., None, None])

    def _models(self, angle: NDArray[np.float64]) -> NDArray[np.complex128]:
        """[baseline, time, freq, part, 2, 2]: over Stokes I of each part."""
        turned = np.exp(1j * angle[self._of_part][:, self._cells[0]][:, :, self._cells[1]])
        rotation = rotations_by(np.moveaxis(turned, (3, 0), (0, 3)))  # [antenna, time, freq, part, 2, 2]
        p, q = self._sums.baselines.T
        return rotation[p] @ self._brightness @ np.swapaxes(rotation[q], -1, -2)

    def _is_good(self, one: Turned) -> bool:
        """Whether no more than noise is left, where bins tell how large that is."""
        floor, freedom = self._sums.floor
        own = 2 * int(self._sums.count.sum()) - one.angle.size - 2 * one.gains.size
        if not (floor > 0 and own > 0):
            return False
        sigma = np.sqrt(2 / own + 2 / freedom)
        return self._left(one.explained) < own * floor * (1 + _SURE * sigma)

    def _found(self, angle: NDArray[np.float64]) -> Turned:
        """The minimum that is reached from some angles."""
        return self._found_from(self._of_gains(angle))

    def _of_gains(self, angle: NDArray[np.float64]) -> Turned:
        """With gains of the phases of the largest eigenvector."""
        sums = self.seen(angle)
        phase = np.linalg.eigh(self._of_feeds(sums.product[..., 0]))[1][..., -1]
        size = np.sqrt(max(sums.power_over_model, 0.0))
        gains = size * np.divide(phase, np.abs(phase), out=np.ones_like(phase), where=phase != 0)
        return Turned(angle, self._by_antenna(gains), -np.inf)

    def _found_from(self, begin: Turned) -> Turned:
        angle, gains, before, damping = begin.angle, begin.gains, -np.inf, 1e-3
        for _ in range(_ROUNDS):
            gains = self._better_gains(angle, gains)
            left, curvature = self._slopes(angle, gains)
            now = self._explained(angle, gains)
            for _ in range(6):
                diagonal = np.diag(curvature) + 1e-9 * np.trace(curvature) / len(curvature)
                step = np.linalg.solve(curvature + damping * np.diag(diagonal), left)
                turned = angle + step.reshape(self._shape)
                if self._explained(turned, gains) > now:
                    angle, damping = turned, max(damping / 3, 1e-6)
                    break
                damping *= 10
            now = self._explained(angle, gains)
            if not now - before > _SAME * self._left(now):
                break
            before = now
        return Turned(angle, gains, now)

    def _left(self, explained: float) -> float:
        """Chi-square, or the rounding of it."""
        power = float(self._sums.data.sum())
        return max(power - explained, _ROUNDING * power)

    def _explained(self, angle: NDArray[np.float64], gains: NDArray[np.complex128]) -> float:
        sums, seen = self.seen(angle), on_hands(gains, self._sums)
        return float(
            2 * (np.conj(seen) * sums.product[..., 0]).real.sum()
            - (np.abs(seen) ** 2 * sums.power[..., 0, 0].real).sum()
        )

    def _better_gains(self, angle: NDArray[np.float64], gains: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """In turns over antennas, as `floor_of_gains`, of all hands."""
        sums = self.seen(angle)
        product, power = self._of_feeds(sums.product[..., 0]), self._of_feeds(sums.power[..., 0, 0]).real
        own = np.moveaxis(gains, 0, 2).reshape(*gains.shape[1:3], -1)
        for _ in range(_SWEEPS):
            size = (power @ (np.abs(own) ** 2)[..., None])[..., 0]
            best = (product @ own[..., None])[..., 0] / np.where(size > 0, size, 1.0)
            own = 0.5 * (own + np.where(size > 0, best, 0.0))
        return self._by_antenna(own)

    def _of_feeds(self, values: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """[time, freq, feed of an antenna, the same]: values [baseline, time, freq, hand] as Hermitian matrices."""
        n, shape = len(self._sums.antennas), values.shape[1:3]
        result = np.zeros((n, 2, n, 2, *shape), complex)
        p, q = self._sums.baselines.T
        for k, (i, j) in enumerate(ALL_HANDS):
            result[p, i, q, j] += values[..., k]
            result[q, j, p, i] += np.conj(values[..., k])
        return np.moveaxis(result.reshape(2 * n, 2 * n, *shape), (0, 1), (-2, -1))

    def _by_antenna(self, gains: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """[antenna, time, freq, feed] of [time, freq, feed of an antenna]."""
        return np.moveaxis(gains.reshape(*gains.shape[:2], -1, 2), 2, 0)

    def _slopes(self, angle, gains) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Half the slope of what is explained along each angle, and the matrix of its curvature."""
        matrix, seen = self._models(angle), on_hands(gains, self._sums)[..., None]
        model = _hands(matrix)
        size = np.abs(seen) ** 2
        left = np.conj(seen) * self._product - size * np.einsum("...kl,...l->...k", self._power, model)
        change = np.stack([_hands(_QUARTER @ matrix), _hands(matrix @ _QUARTER.T)], axis=-1)  # of either antenna
        slope = np.einsum("btfhks,btfhk->btfks", np.conj(change), left).real
        weighted = np.einsum("btfhkl,btfhlr->btfhklr", size[..., None] * self._power, change)
        curved = np.einsum("btfhks,btfhklr->btfkslr", np.conj(change), weighted).real
        n, at = int(np.prod(self._shape)), self._unknown
        total, curvature = np.zeros(n), np.zeros((n, n))
        np.add.at(total, at, slope)
        np.add.at(curvature, (at[..., None, None], at[:, :, :, None, None]), curved)
        return total, curvature


def _hands(matrix: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """[baseline, time, freq, hand, part] of matrices [baseline, time, freq, part, 2, 2]."""
    return np.stack([matrix[..., i, j] for i, j in ALL_HANDS], axis=3)
