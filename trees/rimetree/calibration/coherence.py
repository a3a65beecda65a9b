"""What data and model of a chunk have in common: sums of weight V conj(model) for each baseline, as the search for
starting values wants them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..ms import CORRELATION_NAMES, MsGroup, OpenSet
from .held import Held
from .model_trees import SkyPart
from .predicted_tiles import PredictedTiles, slots_within
from .solve_trees import DataSelection, within_limits

_MEMORY_BYTES = 256 << 20  # for data and model at a time
_FEEDS = {"XX": 0, "YY": 1, "RR": 0, "LL": 1}


@dataclass(frozen=True, eq=False)
class Coherence:
    """Sums over the cells of each bin of times and frequencies.

    `antennas`: their numbers in the set; `baselines` [baseline, 2]: indices into these; `frequency_hz` [freq]: of the
    bins; `product` [baseline, time, freq, feed, part]: sum of weight V conj(M) of the good data V of parallel hands and
    the model M of a part of the sky; `power` [baseline, time, freq, feed, part, part]: sum of weight conj(M_k) M_l.
    """

    antennas: list[int]
    baselines: NDArray[np.intp]
    frequency_hz: NDArray[np.float64]
    product: NDArray[np.complex128]
    power: NDArray[np.complex128]

    def matrix(self, values: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """Values [baseline, ...] of visibilities as Hermitian matrices [..., antenna, antenna]."""
        n = len(self.antennas)
        result = np.zeros((n, n, *values.shape[1:]), complex)
        p, q = self.baselines.T
        np.add.at(result, (p, q), values)
        np.add.at(result, (q, p), np.conj(values))
        return np.moveaxis(result, (0, 1), (-2, -1))


@dataclass(frozen=True, eq=False)
class CoherenceBins:
    """Where sums begin and end: edges in time (MJD, seconds), and in frequency (Hz; None: each channel by itself)."""

    time_edges_s: NDArray[np.float64]
    frequency_edges_hz: NDArray[np.float64] | None

    def times(self, time_s: NDArray[np.float64]) -> NDArray[np.intp]:
        """The bin of each time."""
        return np.searchsorted(self.time_edges_s[1:-1], time_s, side="right")

    def frequencies(self, frequency_hz: NDArray[np.float64]) -> NDArray[np.intp]:
        """The bin of each channel."""
        if self.frequency_edges_hz is None:
            return np.arange(len(frequency_hz))
        return np.searchsorted(self.frequency_edges_hz[1:-1], frequency_hz, side="right")


class CoherenceReader:
    """Makes the sums of chunks of a Measurement Set; the tree of the model is made once.

    `reference`: of baselines to this antenna alone. `apart`: each part of the sky by itself, and not their sum. Data
    and model are taken so many time slots at a time that they stay within `memory_bytes`, or one. `opened`: the set, if
    it is open already.
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
        memory_bytes: int = _MEMORY_BYTES,
        opened: OpenSet | None = None,
        held: Held | None = None,
    ):
        self._group, self._data = group, data
        self._held = held or Held(group)
        self._pairs = [pair for pair in group.baselines if reference is None or reference in pair]
        self._n_part = len(parts) if apart else 1
        self._slots = slots_within(group, len(self._pairs) * self._n_part, memory_bytes)
        self._predicted = PredictedTiles(
            group, parts, phase_centre_rad, apart=apart, pairs=self._pairs, held=self._held, opened=opened
        )

    def read(self, bins: CoherenceBins) -> Coherence:
        """The sums over the time slots within the bins; channels that stand by themselves window after window."""
        sums = _Sums(self._pairs, bins, self._n_part)

        def add_tile(tile: dict, models: dict) -> None:
            gains = _DividedBy(self._held, tile) if self._held.divides else None
            for k, pair in enumerate(tile["baselines"]):
                if pair in models:
                    sums.add(tile, k, pair, self._data, models.pop(pair), gains)

        span = (float(bins.time_edges_s[0]), float(bins.time_edges_s[-1]))
        self._predicted.each(self._data.column, add_tile, time_range_s=span, time_slots=self._slots)
        frequency, product, power = sums.joined()
        index = {antenna: i for i, antenna in enumerate(self._group.antennas)}
        baselines = np.array([[index[p], index[q]] for p, q in self._pairs], dtype=np.intp).reshape(-1, 2)
        return Coherence(list(self._group.antennas), baselines, frequency, product, power)


class _DividedBy:
    """Gains of a tile that data are divided by; 0 where there are none."""

    def __init__(self, held: Held, tile: dict):
        self._held, self._axes = held, (tile["time_s"], tile["frequency_hz"])
        self._gains: dict[int, NDArray[np.complex128]] = {}

    def _antenna(self, antenna: int) -> NDArray[np.complex128]:
        if antenna not in self._gains:
            gain, bad = self._held.of_cells(antenna, *self._axes)
            self._gains[antenna] = np.where(bad, 0, gain)
        return self._gains[antenna]

    def of(self, pair: tuple[int, int], feed: int) -> NDArray[np.complex128]:
        """[time, channel] of a baseline's parallel hand."""
        p, q = (self._antenna(antenna)[..., feed] for antenna in pair)
        return p * np.conj(q)


class _Sums:
    """Sums that grow tile by tile, of each window or of all of them."""

    def __init__(self, pairs: Sequence[tuple[int, int]], bins: CoherenceBins, n_part: int):
        self._place = {pair: k for k, pair in enumerate(pairs)}
        self._bins = bins
        self._n_part = n_part
        self._sums: dict[int, tuple[NDArray, NDArray, NDArray]] = {}

    def _of(self, tile: dict) -> tuple[NDArray, NDArray, NDArray]:
        edges = self._bins.frequency_edges_hz
        window = int(tile["data_desc_id"]) if edges is None else 0
        if window not in self._sums:
            frequency = tile["frequency_hz"] if edges is None else 0.5 * (edges[:-1] + edges[1:])
            shape = (len(self._place), len(self._bins.time_edges_s) - 1, len(frequency), 2, self._n_part)
            self._sums[window] = frequency, np.zeros(shape, complex), np.zeros((*shape, self._n_part), complex)
        return self._sums[window]

    def add(
        self,
        tile: dict,
        k: int,
        pair: tuple[int, int],
        data: DataSelection,
        model: NDArray,
        gains: _DividedBy | None = None,
    ) -> None:
        """A baseline of a tile; `model` [part, 2, 2, time, channel]; `gains`: that data are divided by before."""
        _, product, power = self._of(tile)
        at_time, at_frequency = self._bins.times(tile["time_s"]), self._bins.frequencies(tile["frequency_hz"])
        where = (at_time[:, None], at_frequency[None, :])
        within = within_limits(tile, k, data)
        within = True if within is None else within
        b = self._place[pair]
        for c, kind in enumerate(tile["correlation_type"]):
            feed = _FEEDS.get(CORRELATION_NAMES.get(kind))
            if feed is None:
                continue
            own = np.moveaxis(model[:, feed, feed], 0, -1)
            value, weight = tile["columns"][data.column][k, ..., c].astype(complex), tile["weight"][k, ..., c]
            good = (tile["flag"][k, ..., c] == 0) & (tile["row"][k] >= 0)[:, None] & (weight > 0) & np.isfinite(weight)
            good &= np.isfinite(value) & np.isfinite(own).all(axis=-1) & within
            if gains is not None:
                factor = gains.of(pair, feed)
                good &= factor != 0
                factor = np.where(good, factor, 1.0)
                value, weight = value / factor, weight * np.abs(factor) ** 2
            weight = np.where(good, weight, 0.0)[..., None]
            own = np.where(good[..., None], own, 0)
            np.add.at(product[b, ..., feed, :], where, weight * np.where(good, value, 0)[..., None] * np.conj(own))
            np.add.at(
                power[b, ..., feed, :, :], where, weight[..., None] * np.conj(own)[..., :, None] * own[..., None, :]
            )

    def joined(self) -> tuple[NDArray, NDArray, NDArray]:
        """(frequencies, products, powers) of all windows."""
        windows = [self._sums[window] for window in sorted(self._sums)]
        if not windows:
            shape = (len(self._place), len(self._bins.time_edges_s) - 1, 0, 2, self._n_part)
            return np.zeros(0), np.zeros(shape, complex), np.zeros((*shape, self._n_part), complex)
        return (
            np.concatenate([frequency for frequency, _, _ in windows]),
            np.concatenate([product for _, product, _ in windows], axis=2),
            np.concatenate([power for _, _, power in windows], axis=2),
        )
