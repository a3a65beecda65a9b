"""Starting values of several directions: one is searched for after the other, on what the others leave of the data.

How much of each direction's model is in the data is found along with its phases, as a real factor: a direction without
signal, as one below the horizon, then takes nothing from the others. It is of no use in a fit of phases alone, where
its model could not become small (`SeveralDirections.absent`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Container, Mapping

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from .goodness import POOR, is_good
from .significance import is_noise

_MOST_ROUNDS = 30  # over the directions
_SAME = 1e-5  # a round that lowers chi-square by less than this part of what all directions explain is the last
_SAME_FREE = 1e-3  # the same of what is only a beginning
_LOST_AFTER = 3  # rounds: what is absent then stays so
ABSENT = 0.3  # of the model of the direction that is found best: less is no signal

#: Values of a direction's terms for sums [baseline, time, freq, feed] of weight V conj(model) of that direction alone.
Search = Callable[[NDArray[np.complex128]], NDArray[np.float64]]
#: Phasors [baseline, time, freq, feed] of such values.
Phasors = Callable[[NDArray[np.float64]], NDArray[np.complex128]]


class SeveralDirections:
    """The search, and what it has found: `values` {direction: values}, `scales` {direction: of its model}.

    `names`: the direction of each part of the sums; `free`: directions that have terms, others are as the model says;
    `without`: directions that are taken to be absent, whatever the data say.
    """

    def __init__(self, sums: Coherence, names: list[str], free: Container[str | None], without: Collection[str] = ()):
        self._sums, self._names, self._free = sums, names, free
        # Each part by itself, as most is done with one after the other.
        self._product = np.moveaxis(sums.product, -1, 0).copy()
        self._model = np.moveaxis(sums.power, (-2, -1), (0, 1)).copy()
        self._model_of: dict[tuple[int, ...], NDArray[np.float64]] = {}
        brightness = self._model.sum(axis=(2, 3, 4, 5)).diagonal().real
        self._order = list(dict.fromkeys(names[k] for k in np.argsort(-brightness, kind="stable")))
        self._power = {name: sum(brightness[k] for k, other in enumerate(names) if other == name) for name in names}
        self.values: dict[str, NDArray[np.float64]] = {}
        self.scales = dict.fromkeys(self._order, 0.0)
        self._seen = np.zeros((len(names), *sums.product.shape[:4]), complex)  # phasors times scales, by part
        self._without = set(without)
        self._lost = set(without)  # directions that are not looked for any more
        self._noise: set[str] = set()  # those of which no more is found than noise would give

    def run(self, search: Search, phasors: Phasors, free: tuple[Search, Phasors] | None = None) -> None:
        """Until a round over all directions changes nothing. `free`: a search without the minima that turns of phase
        make, by which the others are known when each is searched for the first time."""
        for number in range(len(self._order)):
            if number > 0:  # what is not there has led the others astray
                self._forget()
            if free is not None:
                self._rounds(*free, _SAME_FREE)
                found = {
                    name: search(self._left_by_others(self._parts_of(name))[0])
                    for name in self._order
                    if name in self._free and name not in self._lost
                }
                self.values.clear()
                for name, values in found.items():
                    self._set(name, values, phasors)
            lost = set(self._lost)
            self._rounds(search, phasors, _SAME)
            if self._lost == lost and not self._found_again(search, phasors):
                return

    def _forget(self) -> None:
        self.values.clear()
        self.scales = dict.fromkeys(self._order, 0.0)
        self._seen[:] = 0

    def adopt(self, values: dict[str, NDArray[np.float64]], scales: Mapping[str, float], phasors: Phasors) -> None:
        """What has been found otherwise takes the place of all: `values` of directions that have terms, `scales` of
        their models, but for a common factor; those of 0 are lost."""
        self.values = dict(values)
        for name in self._order:
            known = phasors(values[name]) if name in values else 1.0
            self._seen[self._parts_of(name)] = scales[name] * known
        factor = self._common_factor(self._seen)
        self._seen *= factor
        self.scales = {name: factor * scales[name] for name in self._order}
        self._lost = {name for name in self._order if not scales[name] > 0}

    def take(
        self,
        values: dict[str, NDArray[np.float64]],
        search: Search,
        phasors: Phasors,
        scales: Mapping[str, float] | None = None,
        worth: float = 0.0,
    ) -> None:
        """Goes on from other values, of directions that have terms, if they lead to where more is explained, by more
        than it is `worth`; `scales` of their models, if these are known."""
        before = dict(self.values), dict(self.scales), self._seen.copy(), set(self._lost), self._explained()
        known = {} if scales is None else scales
        self.adopt(values, {n: 0.0 if n in self._without else known.get(n, 1.0) for n in self._order}, phasors)
        self._rounds(search, phasors, _SAME)
        if not self._explained() > before[-1] + worth:
            self.values, self.scales, self._seen, self._lost, _ = before

    def leave_noise(self, names: Collection[str], search: Search, phasors: Phasors) -> None:
        """Takes those of some directions to be absent of which the search finds no more than in noise alone, as large
        as what is left of the data. Not where the others do not fit: then that is not noise."""
        noise = self.noise
        if noise > POOR * self._sums.floor[0]:
            return
        for name in names:
            if name in self.values and name not in self.absent:
                own = self._parts_of(name)
                rest, power = self._left_by_others(own)

                def explained(product, power=power):
                    values = search(product)
                    turned = phasors(values)
                    seen = self._scale_of(turned, product, power) * turned
                    return self._gain(seen, product, power)

                gain = self._gain(self._seen[own[0]], rest, power)
                if is_noise(gain, noise, power, np.size(self.values[name]), explained):
                    self._noise.add(name)
        for name in self._noise:
            self._lose(name)

    @property
    def without(self) -> set[str]:
        """Directions that are taken to be absent, whatever the data say."""
        return set(self._without)

    @property
    def fits(self) -> bool:
        """Whether what is found explains the data as well as anything could."""
        freedom = self._freedom()
        chi_square = float(self._sums.data.sum() - self._explained())
        return is_good(chi_square, freedom, *self._sums.floor)

    @property
    def noise(self) -> float:
        """Chi-square for each degree of freedom that is left, with all that has been found."""
        freedom = self._freedom()
        return float(self._sums.data.sum() - self._explained()) / freedom if freedom > 0 else math.nan

    def _freedom(self) -> int:
        unknowns = sum(np.size(values) for name, values in self.values.items() if name not in self.absent)
        return 2 * int(self._sums.count.sum()) - unknowns

    def _rounds(self, search: Search, phasors: Phasors, same: float) -> None:
        height = 0.0
        for number in range(_MOST_ROUNDS):
            for name in self._order:
                if name not in self._lost:
                    self._improve(name, search, phasors)
            lost = len(self._lost)
            if number >= _LOST_AFTER:
                for name in [one for one in self.absent if one not in self._lost][-1:]:
                    self._lose(name)  # others may be there once it is not
            before, height = height, self._explained()
            ended = number > _LOST_AFTER or not set(self.absent) - self._lost  # none may still be lost
            if ended and len(self._lost) == lost and height - before <= same * height:
                break

    def _lose(self, name: str) -> None:
        self._lost.add(name)
        self.scales[name] = 0.0
        self._seen[self._parts_of(name)] = 0

    def _parts_of(self, name: str) -> list[int]:
        return [k for k, other in enumerate(self._names) if other == name]

    def _set(self, name: str, values: NDArray[np.float64], phasors: Phasors) -> None:
        own = self._parts_of(name)
        rest, power = self._left_by_others(own)
        turned = phasors(values)
        self.values[name], self.scales[name] = values, self._scale_of(turned, rest, power)
        self._seen[own] = self.scales[name] * turned

    @staticmethod
    def _scale_of(turned, rest, power) -> float:
        fit = np.vdot(np.broadcast_to(turned, rest.shape), rest).real
        return max(0.0, fit / power.sum()) if power.sum() > 0 else 0.0

    def _found_again(self, search: Search, phasors: Phasors) -> bool:
        """Whether any direction that was lost is there, now that the others are known."""
        lost, self._lost = self._lost, set(self._without)
        for name in sorted(lost - self._without):
            self._improve(name, search, phasors)
        self._lost = set(self.absent) | self._without
        for name in self._lost:
            self._lose(name)
        return self._lost != lost

    @property
    def order(self) -> list[str]:
        """All directions, the brightest first."""
        return list(self._order)

    @property
    def absent(self) -> list[str]:
        """Directions of which hardly anything is found in the data; what is found least is the last."""
        found = [name for name in self._order if self.scales[name] <= ABSENT * self.most or name in self._gone]
        return sorted(found, key=lambda name: -self.scales[name])

    @property
    def most(self) -> float:
        """The scale of the direction that explains most of the data: noise is many times a faint model."""
        name = max(self._order, key=lambda name: self.scales[name] ** 2 * self._power[name])
        return self.scales[name]

    @property
    def _gone(self) -> set[str]:
        return self._without | self._noise

    @property
    def scale(self) -> float:
        """The factor of the whole model that fits best with these phases, of directions that are there."""
        there = [name not in self.absent for name in self._names]
        factor = np.array([self.scales[name] if self.scales[name] > 0 else 1.0 for name in self._names])
        return self._common_factor(np.where(there, 1 / factor, 0.0)[:, None, None, None, None] * self._seen)

    def _common_factor(self, seen: NDArray[np.complex128]) -> float:
        """Of all parts, with which they explain most of the data; 1 where they explain nothing."""
        fit, square = self._fit_and_square(seen)
        return fit / square if square > 0 and fit > 0 else 1.0

    def _improve(self, name: str, search: Search, phasors: Phasors) -> None:
        """A direction's values and scale, if they explain more of what the others leave than those it has."""
        own = self._parts_of(name)
        rest, power = self._left_by_others(own)
        if name not in self._free:
            self.scales[name] = self._scale_of(np.ones(()), rest, power)
            self._seen[own] = self.scales[name]
            return
        found = search(rest)
        turned = phasors(found)
        scale = self._scale_of(turned, rest, power)
        if name in self.values and self.scales[name] > 0:
            old = self._seen[own[0]] / self.scales[name]
            scale_now = self._scale_of(old, rest, power)
            if self._gain(scale * turned, rest, power) <= self._gain(scale_now * old, rest, power):
                found, turned, scale = self.values[name], old, scale_now
        self.values[name], self.scales[name] = found, scale
        self._seen[own] = scale * turned

    def _left_by_others(self, own: list[int]) -> tuple[NDArray[np.complex128], NDArray[np.float64]]:
        """Sums [baseline, time, freq, feed] of the data without other directions, and of this one's model."""
        product = self._product[own].sum(axis=0)
        for j in range(len(self._names)):
            if j not in own and self._seen[j].any():
                for k in own:
                    product -= self._model[k, j] * self._seen[j]
        if tuple(own) not in self._model_of:
            self._model_of[tuple(own)] = self._model[np.ix_(own, own)].real.sum(axis=(0, 1))
        return product, self._model_of[tuple(own)]

    @staticmethod
    def _gain(seen, product, power) -> float:
        """By how much a direction lowers chi-square."""
        fit = np.vdot(np.broadcast_to(seen, product.shape), product).real
        return float(2 * fit - ((seen.real**2 + seen.imag**2) * power).sum())

    def _explained(self) -> float:
        """By how much all directions lower chi-square."""
        fit, square = self._fit_and_square(self._seen)
        return 2 * fit - square

    def _fit_and_square(self, seen: NDArray[np.complex128]) -> tuple[float, float]:
        """What these factors of the parts have in common with the data, and with themselves."""
        there = [k for k in range(len(seen)) if seen[k].any()]
        fit = sum(np.vdot(seen[k], self._product[k]).real for k in there)
        square = sum(
            (1 if k == j else 2) * np.vdot(seen[k], self._model[k, j] * seen[j]).real
            for k in there
            for j in there
            if k <= j
        )
        return float(fit), float(square)
