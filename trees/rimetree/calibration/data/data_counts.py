"""What the data of some time slots are like before they are solved: how many are good, and how large they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._core import count_cells
from ...ms import CORRELATION_NAMES, MsGroup
from ..plan.solve_trees import DataSelection, within_limits
from .links import Links
from .neighbours import half_squares_of_differences

_PARALLEL = {"I", "XX", "YY", "RR", "LL"}
_VISIBILITIES = 1 << 18  # that are looked at together
_COMPARED = 1 << 16  # visibilities of a tile, with their neighbours
_KINDS = (np.complex64, np.float32, np.uint8, np.int64)  # of columns, weights, flags and rows
_FEWEST_PAIRS = 50  # of neighbours, by which noise is known to a tenth


@dataclass(frozen=True, eq=False)
class DataCounts:
    """Of the baselines of each of `MsGroup.antennas`: good data (not flagged and of positive weight), all data,
    and the mean magnitude of the good parallel hands, in the unit of the column (0 where there are none). `links`: of
    the good data that are solved on; `power`: their sum of weight |V|^2; `noise`: the mean of what is noise in that, by
    half the squares of differences of neighbouring channels or times (the smaller), None where there are none."""

    good: NDArray[np.int64]
    all: NDArray[np.int64]
    magnitude: NDArray[np.float64]
    links: Links
    power: float = 0.0
    noise: float | None = None


def count_data(
    group: MsGroup,
    data: DataSelection,
    tiles: Iterable[dict],
    *,
    magnitudes: bool = True,
    stands_for: Callable[[dict], float] = lambda tile: 1.0,
    links_by_channel: bool = False,
) -> DataCounts:
    """Of tiles with the data's column, flags and weights; without `magnitudes`, which take longest, these are 0.
    `stands_for`: how many data each of a tile counts as, where tiles are averaged differently. `links_by_channel`:
    whether `DataCounts.links` tell channels apart."""
    column, power = data.column, 0.0
    number = {antenna: index for index, antenna in enumerate(group.antennas)}
    good, every = np.zeros(len(number)), np.zeros(len(number))
    total, count = np.zeros(len(number)), np.zeros(len(number))
    differences, links = np.zeros((2, 2)), Links(group.antennas, links_by_channel)
    for tile in tiles:
        hands = np.array([CORRELATION_NAMES.get(kind) in _PARALLEL for kind in tile["correlation_type"]], np.uint8)
        antenna = np.array([[number[a] for a in pair] for pair in tile["baselines"]])
        of_cell = stands_for(tile)
        of_row = tile["flag"][0, 0].size if len(antenna) else 0
        np.add.at(every, antenna, of_cell * of_row * (tile["row"] >= 0).sum(axis=1)[:, None])
        each = -(-tile["flag"].size // _COMPARED)  # of so many baselines one is enough
        for some in _baselines_at_a_time(tile):
            arrays = (tile["columns"][column], tile["weight"], tile["flag"], tile["row"])
            value, weight, flag, row = (
                np.ascontiguousarray(array[some], kind) for array, kind in zip(arrays, _KINDS, strict=True)
            )
            within = within_limits(tile, some, data)
            limits = None if within is None else np.ascontiguousarray(within).view(np.uint8)
            *sums, linked, own_power = count_cells(value, weight, flag, row, hands, limits, magnitudes)
            by_cell = np.asarray(linked).reshape(value.shape[:3]).view(bool)
            links.add(tile["time_s"], tile["frequency_hz"], antenna[some], by_cell)
            power += own_power
            for table, of_baseline in zip((good, count, total), sums, strict=True):
                np.add.at(table, antenna[some], of_cell * np.asarray(of_baseline)[:, None])
            one = slice(-some.start % each, None, each)
            solved = (flag[one] == 0) & (weight[one] > 0) & np.isfinite(weight[one]) & np.isfinite(value[one])
            solved &= (row[one] >= 0)[..., None, None]
            if within is not None:
                solved &= within[one][..., None]
            compared = (np.moveaxis(x, -1, 1) for x in (value[one], solved, weight[one]))
            differences += half_squares_of_differences(*compared).sum(axis=-1)
    good, every = (np.round(table).astype(np.int64) for table in (good, every))
    magnitude = np.divide(total, count, out=np.zeros(len(total)), where=count > 0)
    noise = min((float(own / pairs) for own, pairs in differences if pairs >= _FEWEST_PAIRS), default=None)
    return DataCounts(good, every, magnitude, links, power, noise)


def _baselines_at_a_time(tile: dict) -> Iterator[slice]:
    """Such that what is made of them takes some tens of MiB."""
    of_one = max(1, tile["flag"][0].size)
    step = max(1, _VISIBILITIES // of_one)
    return (slice(first, first + step) for first in range(0, len(tile["baselines"]), step))


def starting_amplitudes(magnitude: NDArray[np.float64], flux_jy: float) -> NDArray[np.float64]:
    """[antenna] amplitudes of gains for which a point source of this flux has such mean magnitudes [antenna] (the
    data's unit).

    On V_pq = g_p g_q S the mean over q is about g_p times the mean gain times S. 1 where there are no data.
    """
    known = magnitude > 0
    if not known.any() or not flux_jy > 0:
        return np.ones(len(magnitude))
    return np.where(known, magnitude / np.sqrt(magnitude[known].mean() * flux_jy), 1.0)


def good_fractions_of(
    group: MsGroup, data: DataSelection, tiles: Iterable[dict], axes: dict[str, tuple[NDArray, NDArray]]
) -> dict[str, NDArray[np.float64]]:
    """{name: [antenna, time, freq]}: which fraction of an antenna's data is good in intervals between edges (time,
    frequency); 0 where there are none."""
    number = {antenna: index for index, antenna in enumerate(group.antennas)}
    shapes = {name: (len(number), len(times) - 1, len(bands) - 1) for name, (times, bands) in axes.items()}
    good, every = ({name: np.zeros(shape) for name, shape in shapes.items()} for _ in range(2))
    for tile in tiles:
        usable = (tile["flag"] == 0) & (tile["weight"] > 0) & np.isfinite(tile["columns"][data.column])
        present = np.broadcast_to((tile["row"] >= 0)[..., None], usable.shape[:3])
        share = (usable & present[..., None]).mean(axis=-1)
        for name, (times, bands) in axes.items():
            t = np.searchsorted(times[1:-1], tile["time_s"], side="right")
            f = np.searchsorted(bands[1:-1], tile["frequency_hz"], side="right")
            for k, pair in enumerate(tile["baselines"]):
                for antenna in pair:
                    place = (number[antenna], t[:, None], f[None, :])
                    np.add.at(good[name], place, share[k])
                    np.add.at(every[name], place, present[k])
    return {
        name: np.divide(good[name], every[name], out=np.zeros(shape), where=every[name] > 0)
        for name, shape in shapes.items()
    }
