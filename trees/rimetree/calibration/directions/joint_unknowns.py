"""The unknowns of terms for a fit on sums over the data, and the Parms that they are."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.coherence import Coherence
from ..data.hands import TURNS
from ..terms.kinds import phase_per_unit
from ..terms.term_trees import Parameter
from ..terms.terms import Term
from .joint_fit import Unknowns, most_rates

#: Kinds of terms of which the diagonal says all that parallel hands see, to first order.
DIAGONAL = ("scalar", "diag", "full", "phase", "amplitude", "delay", "tec", "crosshand", "leakage")
_UNSEEN = ("crosshand", "leakage")
_FEEDS = {"": (True, True), "0": (True, False), "00": (True, False), "1": (False, True), "11": (False, True)}
AMPLITUDES = ("re", "amplitude")  # parts of which the logarithm is an unknown
_SEARCHED = ("clock", "tec", "rotationmeasure")
_OF_HANDS = ("rotation", "rotationmeasure")  # of circular feeds, which they turn by TURNS


@dataclass(frozen=True, eq=False)
class TermUnknowns:
    """`tight`: the unknowns as they are; `loose`: with two for each delay or TEC, a phase in the middle of the band and
    a slope along it. `whole`, `slope` [pair]: numbers of these among the loose ones, and `middle` [pair]: the rate at
    which the phase is; `tight_of` [pair]: their numbers among the tight ones; `others` [n, 2]: numbers, loose and
    tight, of all else. `scale_of` {direction: number of the logarithm of the root of a scale of its model} (tight),
    `loose_scales`: the same of all, loose; `of_all`: that of a scale of all, if there is one (tight);
    `amplitudes`: of the first term of the whole sky that has any, or that of a scale of all (tight).
    `number`: {(Parm, cell): number} (tight)."""

    tight: list[Unknowns]
    loose: list[Unknowns]
    whole: NDArray[np.intp]
    slope: NDArray[np.intp]
    middle: NDArray[np.float64]
    tight_of: NDArray[np.intp]
    others: NDArray[np.intp]
    scale_of: dict[str, int]
    of_all: int | None
    amplitudes: NDArray[np.intp]
    loose_scales: list[int]
    number: dict[tuple, int]

    @property
    def scales(self) -> list[int]:
        """Numbers of all scales (tight)."""
        return [*self.scale_of.values(), *([] if self.of_all is None else [self.of_all])]

    @property
    def most_rate(self) -> NDArray[np.float64]:
        """As of `JointFit`, of the loose ones."""
        return most_rates(self.loose, len(self.others) + 2 * len(self.slope))

    def tightened(self, place: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of loose places [..., unknown]: their slopes count."""
        found = np.zeros((*place.shape[:-1], len(self.number)))
        found[..., self.others[:, 1]] = place[..., self.others[:, 0]]
        found[..., self.tight_of] = place[..., self.slope]
        return found

    def loosened(self, place: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of tight places [..., unknown]."""
        found = np.zeros((*place.shape[:-1], len(self.others) + 2 * len(self.slope)))
        found[..., self.others[:, 0]] = place[..., self.others[:, 1]]
        found[..., self.slope] = place[..., self.tight_of]
        found[..., self.whole] = self.middle * place[..., self.tight_of]
        return found

    def without_common_scale(
        self, place: NDArray[np.float64], power: Mapping[str, float]
    ) -> tuple[NDArray[np.float64], dict[str, float]]:
        """A tight place [unknown] and its scales {direction: scale}. Where a term of the whole sky has amplitudes, they
        take the scale of the direction that explains most of the data, which is 1 then. `power`: {direction: that of
        its model}."""
        place = place.copy()
        numbers = list(self.scale_of.values())
        if numbers and len(self.amplitudes):
            most = max(self.scale_of, key=lambda name: np.exp(4 * place[self.scale_of[name]]) * power[name])
            common = place[self.scale_of[most]]
            place[numbers] -= common
            place[self.amplitudes] += common
        return place, {name: float(np.exp(2 * place[number])) for name, number in self.scale_of.items()}

    def place(self, parameters: Sequence[Parameter], known: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """[tight unknown] of values {Parm: [time, freq]}, others as in the unit matrix."""
        found = np.zeros(len(self.number))
        of = {(one.term, one.antenna, one.direction, one.element, one.part): one for one in parameters}
        for key, one in of.items():
            value = np.ravel(known.get(one.node, one.start))
            if one.part in ("re", "im"):
                gain = [np.ravel(known.get(o.node, o.start)) for o in (of[*key[:4], "re"], of[*key[:4], "im"])]
                gain = gain[0] + 1j * gain[1]
                value = np.angle(gain) if one.part == "im" else np.log(np.maximum(np.abs(gain), 1e-6))
            elif one.part == "amplitude":
                value = np.log(np.maximum(np.abs(value), 1e-6))
            for cell, number in enumerate(value):
                if (one.node, cell) in self.number:
                    found[self.number[one.node, cell]] = number
        return found

    def values(
        self, place: NDArray[np.float64], parameters: Sequence[Parameter], shapes: Mapping[str, tuple[int, int]]
    ) -> dict[str, NDArray[np.float64]]:
        """{Parm: [time, freq]} of a tight place, for those of `parameters` that the place says."""
        of = {(one.term, one.antenna, one.direction, one.element, one.part): one for one in parameters}

        def table(one: Parameter) -> NDArray[np.float64]:
            numbers = [self.number.get((one.node, cell), -1) for cell in range(np.prod(shapes[one.term]))]
            return np.append(place, 0.0)[numbers].reshape(shapes[one.term])

        found = {}
        for key, one in of.items():
            if one.part in ("re", "im"):
                size, phase = np.exp(table(of[*key[:4], "re"])), table(of[*key[:4], "im"])
                if of[*key[:4], "re"].start == 1:
                    found[one.node] = size * (np.cos(phase) if one.part == "re" else np.sin(phase))
            elif one.part == "amplitude":
                found[one.node] = np.exp(table(one))
            elif one.part in ("phase", "rotation", *_SEARCHED):
                found[one.node] = table(one)
        return found


class _Building:
    """Unknowns as they are added, loose and tight."""

    def __init__(self, sums: Coherence, directions: Sequence[str]):
        self._sums, self._directions = sums, directions
        self.tight: list[Unknowns] = []
        self.loose: list[Unknowns] = []
        self.number: dict[tuple, int] = {}
        self.numbers_loose: dict[tuple, int] = {}
        self.middle: dict[tuple, float] = {}

    def add(
        self, keys: dict[int, str], rate, turns: bool, direction: str | None, feeds, cells, n_cell: int, sign: int = 1
    ) -> None:
        """Of each antenna (its place) that has one; `rate` None: 1; `sign`: of what it does."""
        acts = np.array([direction in (None, one) for one in self._directions])
        ones = np.ones(len(self._sums.frequency_hz))

        def add(to: list, numbers: dict, rate, kind: str) -> None:
            index = np.full((n_cell, len(self._sums.antennas)), -1)
            for antenna, node in keys.items():
                for cell in range(n_cell):
                    index[cell, antenna] = numbers.setdefault((node, cell) + ((kind,) if kind else ()), len(numbers))
            to.append(Unknowns(sign * rate, turns, acts, np.array(feeds), cells, index))

        add(self.tight, self.number, ones if rate is None else rate, "")
        if rate is None:
            add(self.loose, self.numbers_loose, ones, "")
            return
        weight = self._sums.power.real.sum(axis=(0, 1, 3, 4, 5))
        middle = float(rate @ weight / weight.sum()) if weight.sum() > 0 else float(rate.mean())
        add(self.loose, self.numbers_loose, ones, "whole")
        add(self.loose, self.numbers_loose, rate - middle, "slope")
        for node in keys.values():
            for cell in range(n_cell):
                self.middle[node, cell] = middle

    def built(self, scaled: Mapping[str, tuple], of_all: tuple | None, amplitudes: NDArray[np.intp]) -> TermUnknowns:
        pairs = list(self.middle)
        own = np.array([self.number[pair] for pair in pairs], dtype=np.intp)
        whole, slope = (
            np.array([self.numbers_loose[*pair, kind] for pair in pairs], dtype=np.intp) for kind in ("whole", "slope")
        )
        others = [(self.numbers_loose[key], number) for key, number in self.number.items() if key not in self.middle]
        return TermUnknowns(
            self.tight,
            self.loose,
            whole,
            slope,
            np.array([self.middle[pair] for pair in pairs]),
            own,
            np.array(others, dtype=np.intp).reshape(-1, 2),
            {name: self.number[key] for name, key in scaled.items()},
            None if of_all is None else self.number[of_all],
            amplitudes,
            [self.numbers_loose[key] for key in scaled.values()],
            self.number,
        )


def unknowns_of(
    terms: Sequence[Term],
    parameters: Sequence[Parameter],
    free: Collection[str],
    sums: Coherence,
    cells: Mapping[str, tuple[NDArray[np.intp], NDArray[np.intp]]],
    shapes: Mapping[str, tuple[int, int]],
    directions: Sequence[str],
    scaled: Collection[str],
    *,
    any_scale: bool,
) -> TermUnknowns:
    """The unknowns of terms; rotations are those of circular hands, of which the sums then are. `free`: Parms that are
    solved for; `cells` {term: (interval of each bin in time, in
    frequency)}, `shapes` {term: how many}; `directions`: those of the sums; `scaled`: those of which the model has a
    scale; `any_scale`: data are any factor larger than the model, which belongs to no term."""
    building = _Building(sums, directions)
    place = {antenna: k for k, antenna in enumerate(sums.antennas)}
    for term in terms:
        if term.kind.name in _UNSEEN:
            continue
        at_time, at_frequency = cells[term.name]
        times, frequencies = shapes[term.name]
        own_cells = at_time[:, None] * frequencies + at_frequency
        kinds: dict[tuple, dict[int, str]] = {}
        for one in parameters:
            if one.term != term.name or one.node not in free:
                continue
            element = term.elements[one.element]
            if element in _FEEDS:
                kinds.setdefault((one.direction, element, one.part), {})[place[one.antenna]] = one.node
        for (direction, element, part), keys in kinds.items():
            rate = phase_per_unit(part, sums.frequency_hz) if part in _SEARCHED else None
            turns, count = part not in AMPLITUDES, times * frequencies
            if part in _OF_HANDS:
                for feeds, sign in zip((_FEEDS["0"], _FEEDS["1"]), TURNS, strict=True):
                    building.add(keys, rate, turns, direction, feeds, own_cells, count, sign)
            else:
                building.add(keys, rate, turns, direction, _FEEDS[element], own_cells, count)
    amplitudes = np.zeros(0, np.intp)
    for term in terms:
        own = [one.node for one in parameters if one.term == term.name and one.part in AMPLITUDES]
        if term.per is None and not len(amplitudes):
            amplitudes = np.array([n for (node, _), n in building.number.items() if node in own], np.intp)
    one_cell = np.zeros((sums.product.shape[1], len(sums.frequency_hz)), np.intp)
    everyone = range(len(sums.antennas))
    of_all = (("scale of all",), 0) if any_scale else None
    if of_all is not None:
        building.add(dict.fromkeys(everyone, of_all[0]), None, False, None, (True, True), one_cell, 1)
        amplitudes = np.array([building.number[of_all]], np.intp)
    names = {name: ("scale", name) for name in scaled}
    for name, key in names.items():
        building.add(dict.fromkeys(everyone, key), None, False, name, (True, True), one_cell, 1)
    return building.built({name: (key, 0) for name, key in names.items()}, of_all, amplitudes)
