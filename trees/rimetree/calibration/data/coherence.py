"""What data and model of a chunk have in common: sums of weight V conj(model) for each baseline, as the search for
starting values wants them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...ms import MsGroup, OpenSet, Tiles
from ..model.column_tiles import ColumnTiles, ColumnValues, elements_of
from ..model.held import Held
from ..model.model_trees import SkyPart
from ..model.predicted_tiles import KeptValues, PredictedTiles, slots_within
from ..plan.solve_trees import DataSelection, within_limits
from .coherence_bins import CoherenceBins
from .hands import FROM_LINEAR, Hands, model_of

#: For data and model at a time.
SEARCHED_BYTES = 64 << 20
_DEPENDENT = 1e-9  # of a model's power: what is left of it without others if it is no other than these
_AT_A_TIME = 1 << 12  # cells: so that what is made on the way stays in the cache


@dataclass(frozen=True, eq=False)
class Coherence:
    """Sums over the cells of each bin of times and frequencies.

    `antennas`: their numbers in the set; `baselines` [baseline, 2]: indices into these; `frequency_hz` [freq]: of the
    bins; `product` [baseline, time, freq, hand, part]: sum of weight V conj(M) of the good data V of parallel hands (XX
    and YY, or RR and LL), or of all of `Hands.feeds`, and the model M of a part of the sky; `power` [baseline, time,
    freq, hand, part, part]: sum of weight conj(M_k) M_l; `data` and `count` [baseline, time, freq, hand]: sum of weight
    |V|^2, and the number of V; `bins`: where they begin and end.
    """

    antennas: list[int]
    baselines: NDArray[np.intp]
    frequency_hz: NDArray[np.float64]
    product: NDArray[np.complex128]
    power: NDArray[np.complex128]
    data: NDArray[np.float64]
    count: NDArray[np.int64]
    bins: CoherenceBins

    @functools.cached_property
    def floor(self) -> tuple[float, int]:
        """Chi-square for each degree of freedom if every part had any factor on each baseline, in each bin and feed:
        what antennas can at best explain; and the degrees of freedom. NaN where bins have no more visibilities than the
        parts of the model that differ there."""
        n = self.product.shape[-1]
        most, different = explained(self.product.reshape(-1, n), self.power.reshape(-1, n, n))
        more = self.count.ravel() - different
        own = more > 0
        if not own.any():
            return math.nan, 0
        freedom = 2 * int(more[own].sum())
        return float((self.data.ravel() - most)[own].sum() / freedom), freedom

    def of_parallel_hands(self) -> Coherence:
        """These sums of parallel hands alone."""
        arrays = {name: getattr(self, name)[:, :, :, :2] for name in ("product", "power", "data", "count")}
        return replace(self, **arrays)

    def in_times(self, time_edges_s: NDArray[np.float64]) -> Coherence:
        """These sums in longer bins of time, which have these edges."""
        bins = replace(self.bins, time_edges_s=time_edges_s)
        at, n_bin = bins.times(self.bins.mean_times()), len(time_edges_s) - 1

        def summed(values: NDArray) -> NDArray:
            total = np.zeros((values.shape[0], n_bin, *values.shape[2:]), values.dtype)
            np.add.at(total, (slice(None), at), values)
            return total

        arrays = {name: summed(getattr(self, name)) for name in ("product", "power", "data", "count")}
        return replace(self, bins=bins, **arrays)

    @property
    def power_over_model(self) -> float:
        """Of the data over the model, where both are in phase within a bin of a baseline."""
        power = self.power[..., 0, 0].real
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where(power > 0, np.abs(self.product[..., 0]) ** 2 / power, 0.0)
        return float(ratio.sum() / power.sum()) if power.sum() > 0 else 1.0

    def matrix(self, values: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """Values [baseline, ...] of visibilities as Hermitian matrices [..., antenna, antenna]."""
        n = len(self.antennas)
        result = np.zeros((n, n, *values.shape[1:]), complex)
        p, q = self.baselines.T
        result[p, q] += values  # each pair is there once
        result[q, p] += np.conj(values)
        return np.moveaxis(result, (0, 1), (-2, -1))


#: [time, channel, 2, 2] of a baseline at these times and frequencies.
Factors = Callable[[tuple[int, int], NDArray, NDArray], NDArray[np.float64]]


class CoherenceReader:
    """Makes the sums of chunks of a Measurement Set; the tree of the model is made once.

    `reference`: of baselines to this antenna alone. `apart`: each part of the sky by itself, and not their sum.
    `hands`: which. Data and model are taken so many time slots at a time that they stay within `memory_bytes`, or one.
    `opened`: the set, if it is open already. `factors`: that weights are multiplied with.
    """

    def __init__(
        self,
        group: MsGroup,
        parts: Sequence[SkyPart],
        phase_centre_rad: Sequence[float],
        data: DataSelection,
        *,
        reference: int | None = None,
        apart: bool = False,
        hands: Hands = Hands.PARALLEL,
        memory_bytes: int = SEARCHED_BYTES,
        opened: OpenSet | None = None,
        held: Held | None = None,
        factors: Factors | None = None,
    ):
        self._group, self._data, self._which, self._factors = group, data, hands, factors
        self._held = held or Held(group)
        self._pairs = [pair for pair in group.baselines if reference is None or reference in pair]
        self._place = {pair: k for k, pair in enumerate(self._pairs)}
        self._n_part = (len(parts) if apart else 1) * hands.models
        columns = [part.column for part in parts if part.sky is None]
        self._models: ColumnTiles | PredictedTiles
        if len(columns) == len(parts) and not self._held.inner:
            self._slots = slots_within(group, 0, memory_bytes, len(columns))
            self._models = ColumnTiles(group, columns, opened, apart=apart)
        else:
            self._slots = slots_within(group, len(self._pairs) * self._n_part, memory_bytes)
            self._models = PredictedTiles(
                group, parts, phase_centre_rad, apart=apart, pairs=self._pairs, held=self._held, opened=opened
            )

    def read(self, bins: CoherenceBins, tiles: Tiles | None = None) -> Coherence:
        """The sums over the time slots within the bins; channels that stand by themselves window after window. `tiles`:
        of these slots, with all columns that are looked at, if they are in memory: where the model is columns they are
        not read again."""
        sums = _Sums(len(self._pairs), bins, len(self._which.feeds), self._n_part)

        def add_tile(tile: dict, models: KeptValues | ColumnValues) -> None:
            hands, place_in = _Hands(self._held, self._data, tile, self._which, self._factors), sums.places(tile)
            there = [(k, models.place(pair), self._place.get(pair)) for k, pair in enumerate(tile["baselines"])]
            found = np.array([one for one in there if None not in one], np.intp).reshape(-1, 3)
            step = max(1, _AT_A_TIME // max(1, len(tile["time_s"]) * len(tile["frequency_hz"])))
            for first in range(0, len(found), step):
                own, of_model, place = found[first : first + step].T
                for hand, value, weight in hands.of(own):
                    model = model_of(self._which, functools.partial(models.element, of_model), hand)
                    place_in.add(place, self._which.feeds.index(hand), value, weight, model)

        span = (float(bins.time_edges_s[0]), float(bins.time_edges_s[-1]))
        if tiles is not None and isinstance(self._models, ColumnTiles):
            self._models.of_tiles(tiles, add_tile)
        else:
            self._models.each(self._data.column, add_tile, time_range_s=span, time_slots=self._slots)
        frequency, *joined = sums.joined()
        index = {antenna: i for i, antenna in enumerate(self._group.antennas)}
        baselines = np.array([[index[p], index[q]] for p, q in self._pairs], dtype=np.intp).reshape(-1, 2)
        return Coherence(list(self._group.antennas), baselines, frequency, *joined, bins)


class _Hands:
    """The hands of a tile, without what is held outside the terms that are solved for."""

    def __init__(self, held: Held, data: DataSelection, tile: dict, which: Hands, factors: Factors | None):
        self._held, self._data, self._tile, self._which, self._factors = held, data, tile, which, factors
        self._circular = which is Hands.CIRCULAR
        self._elements = elements_of(tile)
        self._inverses: dict[int, tuple[NDArray[np.complex128], NDArray[np.bool_]]] = {}

    def of(
        self, some: NDArray[np.intp]
    ) -> Iterator[tuple[tuple[int, int], NDArray[np.complex128], NDArray[np.float64]]]:
        """(feeds, visibilities, weights [baseline, time, channel]) of some baselines of the tile; weight 0 where there
        is no datum."""
        mixed = self._held.outside or self._circular
        feeds = self._which.feeds
        elements = [(i, j, c) for i, j, c in self._elements if mixed or (i, j) in feeds]
        cells = {(i, j): self._cells(some, (i, j), c) for i, j, c in elements}
        for hand in feeds if self._circular else [one for one in feeds if one in cells]:
            yield hand, *(self._mixed(cells, some, hand) if mixed else cells[hand])

    def _cells(
        self, some: NDArray[np.intp], element: tuple[int, int], c: int
    ) -> tuple[NDArray[np.complex128], NDArray[np.float64]]:
        tile = self._tile
        value, weight = tile["columns"][self._data.column][some, ..., c].astype(complex), tile["weight"][some, ..., c]
        if self._factors is not None:
            axes = tile["time_s"], tile["frequency_hz"]
            weight = weight * np.stack([self._factors(tile["baselines"][k], *axes)[..., *element] for k in some])
        good = (tile["flag"][some, ..., c] == 0) & (tile["row"][some] >= 0)[..., None] & (weight > 0)
        good &= np.isfinite(weight) & np.isfinite(value)
        within = within_limits(tile, some, self._data)
        good = good if within is None else good & within
        return np.where(good, value, 0), np.where(good, weight, 0.0)

    def _mixed(self, cells: dict, some: NDArray[np.intp], hand: tuple[int, int]) -> tuple[NDArray, NDArray]:
        """Of H_p^-1 V H_q^-H, where something is held, and of circular feeds, if they are wanted; correlations that the
        set does not have count as 0."""
        pairs = [self._tile["baselines"][k] for k in some]
        (left, left_good), (right, right_good) = (
            (np.stack([inverse for inverse, _ in ends]), np.stack([good for _, good in ends]))
            for ends in ([self._inverse(pair[end]) for pair in pairs] for end in (0, 1))
        )
        good = left_good[:, hand[0]] & right_good[:, hand[1]]
        total, variance = np.zeros(good.shape, complex), np.zeros(good.shape)
        for (i, j), (value, weight) in cells.items():
            factor = left[:, hand[0], i] * np.conj(right[:, hand[1], j])
            some_of_it = factor != 0
            good = good & (~some_of_it | (weight > 0))
            total += factor * value
            variance += np.abs(factor) ** 2 / np.where(weight > 0, weight, 1.0)
        good &= variance > 0
        return np.where(good, total, 0), np.where(good, 1 / np.where(good, variance, 1.0), 0.0)

    def _inverse(self, antenna: int) -> tuple[NDArray[np.complex128], NDArray[np.bool_]]:
        if antenna not in self._inverses:
            axes = self._tile["time_s"], self._tile["frequency_hz"]
            shape = tuple(len(axis) for axis in axes)
            inverse, good = np.broadcast_to(np.eye(2)[..., None, None], (2, 2, *shape)), np.ones((2, *shape), bool)
            if self._held.outside:
                inverse, good = self._held.inverse_of(antenna, *axes)
            if self._circular:
                inverse = np.einsum("ij,jktf->iktf", FROM_LINEAR, inverse)
                good = np.broadcast_to(good.all(axis=0), good.shape)
            self._inverses[antenna] = inverse, good
        return self._inverses[antenna]


class _Axis:
    """The cells of a tile along an axis, by the bins that they are in."""

    def __init__(self, bins: NDArray[np.intp]):
        self._order = None if (np.diff(bins) >= 0).all() else np.argsort(bins, kind="stable")
        #: Bins with cells.
        self.bins, self._first = np.unique(bins if self._order is None else bins[self._order], return_index=True)
        self._alone = len(self.bins) == len(bins)
        sizes = np.diff(np.append(self._first, len(bins)))
        self._even = len(set(sizes)) <= 1
        # [bin, cell]: the cells of each bin, and the last of all where it has no more.
        of_bin = np.arange(sizes.max(initial=0))
        self._cells = np.minimum(self._first[:, None] + of_bin, max(0, len(bins) - 1))
        self._there = of_bin < sizes[:, None]

    @property
    def shape(self) -> tuple[int, int]:
        """Bins, and cells of the largest one."""
        return self._cells.shape

    def in_bins(self, values: NDArray) -> NDArray:
        """[..., bin, cell] of values along the last axis; bins with fewer cells than others have any at their end."""
        if self._order is not None:
            values = np.take(values, self._order, axis=-1)
        return values.reshape(*values.shape[:-1], *self._cells.shape) if self._even else values[..., self._cells]

    def weights_in_bins(self, weight: NDArray) -> NDArray:
        """[..., bin, cell] of weights along the last axis; 0 where a bin has no more cells."""
        return self.in_bins(weight) if self._even else np.where(self._there, self.in_bins(weight), 0.0)

    def sum(self, values: NDArray, axis: int) -> NDArray:
        """Sums over the cells of each bin: `axis` of the values is that of cells, and of the result that of bins."""
        if self._order is not None:
            values = np.take(values, self._order, axis=axis)
        return values if self._alone else np.add.reduceat(values, self._first, axis=axis)


class _Sums:
    """Sums that grow tile by tile, of each window or of all of them."""

    def __init__(self, n_pair: int, bins: CoherenceBins, n_hand: int, n_part: int):
        self._n_pair, self._n_hand, self._n_part = n_pair, n_hand, n_part
        self._bins = bins
        self._sums: dict[int, tuple[NDArray, ...]] = {}

    def _of(self, tile: dict) -> tuple[NDArray, ...]:
        edges = self._bins.frequency_edges_hz
        window = int(tile["data_desc_id"]) if edges is None else 0
        if window not in self._sums:
            frequency = tile["frequency_hz"] if edges is None else 0.5 * (edges[:-1] + edges[1:])
            shape = (self._n_pair, len(self._bins.time_edges_s) - 1, len(frequency), self._n_hand, self._n_part)
            self._sums[window] = frequency, *self._zeros(shape)
        return self._sums[window]

    def _zeros(self, shape: tuple[int, ...]) -> tuple[NDArray, ...]:
        power = np.zeros((*shape, self._n_part), complex)
        return np.zeros(shape, complex), power, np.zeros(shape[:-1]), np.zeros(shape[:-1], np.int64)

    def places(self, tile: dict) -> _PlacesInSums:
        """Where the cells of a tile belong."""
        return _PlacesInSums(self._of(tile)[1:], self._bins, tile)

    def joined(self) -> tuple[NDArray, ...]:
        """(frequencies, products, powers, data, counts) of all windows."""
        windows = [self._sums[window] for window in sorted(self._sums)]
        if not windows:
            shape = (self._n_pair, len(self._bins.time_edges_s) - 1, 0, self._n_hand, self._n_part)
            return np.zeros(0), *self._zeros(shape)
        frequency, *sums = zip(*windows, strict=True)
        return np.concatenate(frequency), *(np.concatenate(own, axis=2) for own in sums)


class _PlacesInSums:
    """Adds what the cells of a tile give to sums (products, powers, data, counts)."""

    def __init__(self, sums: tuple[NDArray, ...], bins: CoherenceBins, tile: dict):
        self._sums = sums
        self._times = _Axis(bins.times(tile["time_s"]))
        self._frequencies = _Axis(bins.frequencies(tile["frequency_hz"]))

    def add(
        self,
        place: NDArray[np.intp],
        hand: int,
        value: NDArray[np.complex128],
        weight: NDArray[np.float64],
        model: NDArray[np.complex128],
    ) -> None:
        """Some baselines, [baseline, time, channel]; `place`: their places in the sums; `model`
        [baseline, part, time, channel]."""
        product, power, data, count = self._sums
        times, frequencies = self._times, self._frequencies
        where = (*np.ix_(place, times.bins, frequencies.bins), hand)
        good = np.isfinite(model)
        if not good.all():
            there = good.all(axis=1)
            weight, model = np.where(there, weight, 0.0), np.where(there[:, None], model, 0)
        data[where] += self._binned(weight * (value.real**2 + value.imag**2))
        count[where] += self._binned((weight > 0).astype(np.int64))
        # Sums over the cells of a bin as products of small matrices: models by models and data.
        n_bin, n_cell = frequencies.shape
        n_part = model.shape[1]
        factors = np.empty((*weight.shape[:2], n_bin, n_part + 1, n_cell), complex)
        factors[..., :-1, :] = np.moveaxis(frequencies.in_bins(model), 1, 3)
        factors[..., -1, :] = frequencies.in_bins(value)
        weighted = np.conj(factors[..., :-1, :])
        weighted *= frequencies.weights_in_bins(weight)[..., None, :]
        sums = times.sum(_of_cells(weighted, factors), 1)
        product[where] += sums[..., -1]
        power[where] += sums[..., :-1]

    def _binned(self, values: NDArray) -> NDArray:
        return self._times.sum(self._frequencies.sum(values, 2), 1)


def explained(product: NDArray[np.complex128], power: NDArray[np.complex128]) -> tuple[NDArray, NDArray]:
    """(b^H A^+ b, rank of A) for each b [n, k] and positive semidefinite A [n, k, k], of which b is a combination of
    columns: models are taken out one after the other, those that the ones before have made up already left out."""
    product, power = product.copy(), power.copy()
    least = _DEPENDENT * np.einsum("nkk->nk", power).real
    found, rank = np.zeros(len(product)), np.zeros(len(product), np.intp)
    for k in range(product.shape[1]):
        pivot = power[:, k, k].real
        inverse = np.divide(1.0, pivot, out=np.zeros(len(pivot)), where=pivot > least[:, k])
        found += inverse * np.abs(product[:, k]) ** 2
        rank += inverse > 0
        factor = inverse[:, None] * power[:, k + 1 :, k]
        product[:, k + 1 :] -= factor * product[:, k, None]
        power[:, k + 1 :, k + 1 :] -= factor[:, :, None] * np.conj(power[:, None, k + 1 :, k])
    return found, rank


def _of_cells(weighted: NDArray[np.complex128], factors: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """[..., k, l]: sums over cells of [..., k, cell] times [..., l, cell]."""
    other = np.swapaxes(factors, -1, -2)
    return weighted * other if other.shape[-2] == 1 else weighted @ other
