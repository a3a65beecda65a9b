"""Sums over data and models of which residuals are told: powers, and what a model has in common with data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(eq=False)
class Powers:
    """Sums over visibilities, arrays of one shape: of |data|^2, of |data - model with its solutions|^2
    (`residual`), and their number."""

    data: NDArray[np.float64]
    residual: NDArray[np.float64]
    count: NDArray[np.int64]

    @classmethod
    def zeros(cls, *shape: int) -> Powers:
        return cls(np.zeros(shape), np.zeros(shape), np.zeros(shape, np.int64))

    def add(self, where, others: Powers) -> None:
        """Add sums at some places."""
        for name in ("data", "residual", "count"):
            np.add.at(getattr(self, name), where, getattr(others, name))

    def summed(self, axis) -> Powers:
        """The sums along an axis."""
        return Powers(self.data.sum(axis=axis), self.residual.sum(axis=axis), self.count.sum(axis=axis))

    def at(self, place) -> Powers:
        """The sums at one place of the first axes, or some."""
        return Powers(self.data[place], self.residual[place], self.count[place])

    @property
    def left(self) -> NDArray[np.float64]:
        """Residual power over data power, of the dimensions of the sums; NaN where there are no data."""
        return np.divide(self.residual, self.data, out=np.full(self.data.shape, np.nan), where=self.data > 0)


@dataclass(eq=False)
class Overlaps:
    """Sums of the model without solutions, by part of the sky: `cross` [part, correlation] of Re(data conj(part)) and
    `gram` [part, part, correlation] of Re(part conj(other)); `after` [part]: of Re(residual conj(part with its
    solutions)) over parallel hands, and `own` [part] of |part with its solutions|^2."""

    cross: NDArray[np.float64]
    gram: NDArray[np.float64]
    after: NDArray[np.float64]
    own: NDArray[np.float64]

    def factor(self, parallel: Sequence[int]) -> float:
        """The number times which the whole model fits the data of parallel hands best; 0 where none does."""
        model = self.gram[..., parallel].sum()
        return max(0.0, float(self.cross[:, parallel].sum() / model)) if model > 0 else 0.0

    def before(self, data: NDArray[np.float64], parallel: Sequence[int]) -> NDArray[np.float64]:
        """[correlation] power of data - factor model."""
        a = self.factor(parallel)
        return data - 2 * a * self.cross.sum(axis=0) + a**2 * self.gram.sum(axis=(0, 1))

    def left_before(self, parallel: Sequence[int]) -> NDArray[np.float64]:
        """[part]: what of each part is left in data - factor model."""
        a, gram = self.factor(parallel), self.gram[..., parallel].sum(axis=-1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return (self.cross[:, parallel].sum(axis=-1) - a * gram.sum(axis=0)) / (a * np.diagonal(gram))
