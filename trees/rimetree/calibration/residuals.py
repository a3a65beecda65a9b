"""What is left of data when the model with the solutions is taken away, and how much the data vary by themselves."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..arguments import checked
from ..ms import MsGroup, OpenSet
from ..sky import SkyModel
from .apply import groups_by_window, parts_with_solutions
from .choosing import chain_for
from .models import ModelColumns, Models
from .planning import CalibrationOptions
from .powers import Overlaps, Powers
from .predicted_tiles import KeptValues, PredictedTiles
from .solutions import Solutions
from .solve_trees import within_limits

_DATA_BYTES, _MODEL_BYTES = 64 << 20, 32 << 20  # of a tile, and of the models of some of its baselines
_ELEMENT = {"XX": (0, 0), "XY": (0, 1), "YX": (1, 0), "YY": (1, 1), "RR": (0, 0), "RL": (0, 1), "LR": (1, 0)}
_ELEMENT |= {"LL": (1, 1), "I": (0, 0)}
_PARALLEL = ("XX", "YY", "RR", "LL", "I")


@dataclass(eq=False)
class GroupResiduals:
    """Of one field and spectral window.

    `of_antennas` [antenna, correlation], `of_times` [time, correlation], `of_channels` [channel, correlation], of
    good data that have solutions; a visibility counts for both its antennas. `noise_by_channels`, `noise_by_times`
    [correlation]: half the mean square of differences of neighbouring data; NaN where there are none. `before`
    [correlation]: power of the data without the model times one number, the best for parallel hands (`factor`),
    without solutions. `missing` [antenna]: good data without solution; `flagged` [antenna]: data that are flagged
    or without weight. `directions`: {name: (what is left of its model in the residuals before, after, its share of
    the power of the data)}.
    """

    group: MsGroup
    correlations: tuple[str, ...]
    time_s: NDArray[np.float64]
    frequency_hz: NDArray[np.float64]
    of_antennas: Powers
    of_times: Powers
    of_channels: Powers
    noise_by_channels: NDArray[np.float64]
    noise_by_times: NDArray[np.float64]
    before: NDArray[np.float64]
    factor: float
    missing: NDArray[np.int64]
    flagged: NDArray[np.int64]
    directions: dict[str, tuple[float, float, float]] = field(default_factory=dict)

    @property
    def of_correlations(self) -> Powers:
        """[correlation]."""
        return self.of_channels.summed(0)

    @property
    def left_before(self) -> NDArray[np.float64]:
        """[correlation] `before` over the power of the data."""
        data = self.of_correlations.data
        return np.divide(self.before, data, out=np.full(len(data), np.nan), where=data > 0)

    @property
    def parallel(self) -> list[int]:
        """Which correlations are parallel hands."""
        return [k for k, name in enumerate(self.correlations) if name in _PARALLEL]

    @property
    def noise(self) -> NDArray[np.float64]:
        """[correlation] power of the noise over that of the data: the smaller of what differences of channels and of
        times say."""
        power = self.of_correlations
        mean = np.divide(power.data, power.count, out=np.full(len(power.data), np.nan), where=power.count > 0)
        smaller = np.fmin(self.noise_by_channels, self.noise_by_times)
        return np.divide(smaller, mean, out=np.full(len(mean), np.nan), where=mean > 0)


@checked
def residuals(
    path: str | os.PathLike,
    sky: SkyModel | ModelColumns | dict[int, SkyModel | ModelColumns],
    files: Sequence[Sequence[Solutions]],
    options: CalibrationOptions | None = None,
) -> list[GroupResiduals]:
    """What is left of the data of each field and window of `options` with the solutions of some files, of which the
    first stands outside the next. Fields without a model are left out."""
    options, models, opened = options or CalibrationOptions(), Models(sky), OpenSet(path)
    found = []
    for group in groups_by_window(path, **options.rows):
        if models.knows(group):
            found.append(_of_group(group, models, chain_for(files, group).of_fields([group.field_id]), options, opened))
    return found


def _of_group(group, models: Models, solutions: Solutions, options: CalibrationOptions, opened) -> GroupResiduals:
    model = models.of(group)
    parts = parts_with_solutions(getattr(model, "sky", model), solutions, group)
    centre = options.phase_centre_rad or group.phase_centre_rad
    how = {"smearing": options.smearing, "opened": opened, "portion_bytes": _MODEL_BYTES}
    predicted = PredictedTiles(group, parts, centre, apart=True, **how)
    sums = _Sums(group, [part.name for part in parts], solutions, options)
    of_visibility = 8 + 4 + 1 + 8 * sum(bool(part.column) for part in parts)  # data, weight, flag, columns
    of_slot = len(group.baselines) * group.n_channel * len(group.correlations) * of_visibility
    slots = max(1, _DATA_BYTES // of_slot)
    predicted.each(options.data.column, sums.add_tile, time_slots=slots)
    return sums.result()


class _Sums:
    """Sums over the tiles of a group."""

    def __init__(self, group: MsGroup, parts: Sequence[str], solutions: Solutions, options: CalibrationOptions):
        self._group, self._parts, self._solutions, self._options = group, parts, solutions, options
        self._number = {antenna: k for k, antenna in enumerate(group.antennas)}
        self._scale = float(solutions.provenance.get("data_over_model", 1.0))
        self._names = tuple(group.correlations)
        n = len(self._names)
        self._parallel = [k for k, name in enumerate(self._names) if name in _PARALLEL]
        self._antennas = Powers.zeros(len(self._number), n)
        self._times: list[tuple[NDArray, Powers]] = []
        self._channels: Powers | None = None
        self._frequency = np.zeros(0)
        self._differences = np.zeros((2, 2, n))  # channels and times: sums of squares, and their numbers
        self._missing, self._flagged = np.zeros((2, len(self._number)), np.int64)
        k = len(parts)
        self._overlaps = Overlaps(np.zeros((k, n)), np.zeros((k, k, n)), np.zeros(k), np.zeros(k))

    def add_tile(self, tile: dict, models: KeptValues) -> None:
        """Baselines of a tile, with the visibilities of each part on each of them; others may follow."""
        gains = _Gains(self._solutions, self._parts, tile, self._group)
        n_time, n_channel, n = *tile["flag"].shape[1:3], len(self._names)
        # Copies: an array of a tile keeps all of it in memory.
        if not self._times or not np.array_equal(self._times[-1][0], tile["time_s"]):
            self._times.append((tile["time_s"].copy(), Powers.zeros(n_time, n)))
        times = self._times[-1][1]
        if self._channels is None:
            self._channels, self._frequency = Powers.zeros(n_channel, n), tile["frequency_hz"].copy()
        for k, pair in enumerate(tile["baselines"]):
            if pair not in models:
                continue
            good, missing = self._good(tile, k, pair, gains)
            ends = [self._number[antenna] for antenna in pair]
            self._missing[ends] += int(missing.sum())
            self._flagged[ends] += int(((tile["row"][k] >= 0)[:, None, None] & ~good & ~missing).sum())
            data = np.where(good, tile["columns"][self._options.data.column][k].astype(complex), 0)
            with_terms = [gains.corrupted(j, pair, models[pair][j]) for j in range(len(self._parts))]
            plain, seen = (
                [self._scale * self._in_order(x) * good for x in some] for some in (models[pair], with_terms)
            )
            residual = data - sum(seen)
            squares = [np.abs(x) ** 2 for x in (data, residual)]
            times.add(slice(None), _powers(squares, good, 1))
            self._channels.add(slice(None), _powers(squares, good, 0))
            self._antennas.add((ends,), _powers(squares, good, (0, 1)))
            self._add_differences(data, good)
            self._add_overlaps(data, residual, plain, seen)

    def _in_order(self, matrices: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """[time, channel, correlation] of [2, 2, time, channel]."""
        return np.stack([matrices[_ELEMENT[name]] for name in self._names], axis=-1)

    def _good(self, tile: dict, k: int, pair: tuple[int, int], gains: _Gains) -> tuple[NDArray, NDArray]:
        """Data that count, and good data without solution, [time, channel, correlation]."""
        weight, value = tile["weight"][k], tile["columns"][self._options.data.column][k]
        good = (tile["flag"][k] == 0) & (tile["row"][k] >= 0)[:, None, None] & (weight > 0) & np.isfinite(weight)
        within = within_limits(tile, k, self._options.data)
        good &= np.isfinite(value) & (True if within is None else within[..., None])
        p, q = (gains.bad(antenna) for antenna in pair)
        lost = np.stack([p[..., i] | q[..., j] for i, j in (_ELEMENT[name] for name in self._names)], axis=-1)
        return good & ~lost, good & lost

    def _add_differences(self, data: NDArray, good: NDArray) -> None:
        for which, axis in ((0, 1), (1, 0)):
            both = np.logical_and(*_neighbours(good, axis))
            one, next_one = _neighbours(data, axis)
            square = np.where(both, np.abs(next_one - one) ** 2, 0) / 2
            self._differences[which] += square.sum(axis=(0, 1)), both.sum(axis=(0, 1))

    def _add_overlaps(self, data, residual, plain, seen) -> None:
        sums, parallel = self._overlaps, self._parallel
        for j, own in enumerate(plain):
            sums.cross[j] += (data * np.conj(own)).real.sum(axis=(0, 1))
            for k, other in enumerate(plain):
                sums.gram[j, k] += (own * np.conj(other)).real.sum(axis=(0, 1))
            with_terms = seen[j][..., parallel]
            sums.after[j] += (residual[..., parallel] * np.conj(with_terms)).sum().real
            sums.own[j] += (np.abs(with_terms) ** 2).sum()

    def result(self) -> GroupResiduals:
        """The sums over all tiles."""
        n = len(self._names)
        order = np.argsort(np.concatenate([time for time, _ in self._times] or [np.zeros(0)]), kind="stable")

        def joined(name: str) -> NDArray:
            empty = [np.zeros((0, n))]
            return np.concatenate([getattr(one, name) for _, one in self._times] or empty)[order]

        times = Powers(*(joined(name) for name in ("data", "residual", "count")))
        channels, sums, parallel = self._channels or Powers.zeros(0, n), self._overlaps, self._parallel
        data = channels.data.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            noise = self._differences[:, 0] / self._differences[:, 1]
            shares = (sums.left_before(parallel), sums.after / sums.own, sums.own / data[parallel].sum())
        rows = zip(self._parts, *shares, strict=True)
        named = {name: (float(a), float(b), float(c)) for name, a, b, c in rows if name}
        return GroupResiduals(
            self._group,
            self._names,
            np.concatenate([time for time, _ in self._times] or [np.zeros(0)])[order],
            self._frequency,
            self._antennas,
            times,
            channels,
            noise[0],
            noise[1],
            sums.before(data, parallel),
            sums.factor(parallel),
            self._missing,
            self._flagged,
            named,
        )


class _Gains:
    """Matrices of antennas and parts of the sky on the cells of a tile."""

    def __init__(self, solutions: Solutions, parts: Sequence[str], tile: dict, group: MsGroup):
        self._solutions, self._parts, self._names = solutions, parts, group.antenna_names
        self._axes = (tile["time_s"], tile["frequency_hz"])
        self._known: dict[tuple, tuple] = {}

    def _of(self, antenna: int, part: str | None) -> tuple[NDArray, NDArray]:
        direction = part if part in self._solutions.directions else None
        key = (antenna, direction)
        if key not in self._known:
            self._known[key] = self._solutions.jones(self._names[antenna], *self._axes, direction=direction)
        return self._known[key]

    def bad(self, antenna: int) -> NDArray[np.bool_]:
        """[time, channel, feed] without solution for any part."""
        found = [self._of(antenna, part)[1] for part in self._parts]
        return np.any(found, axis=0)

    def corrupted(self, j: int, pair: tuple[int, int], model: NDArray) -> NDArray[np.complex128]:
        """[2, 2, time, channel] of a part as a baseline sees it."""
        left, right = (self._of(antenna, self._parts[j])[0] for antenna in pair)
        return np.einsum("tcab,bdtc,tced->aetc", left, model, np.conj(right), optimize=True)


def _powers(squares, good: NDArray[np.bool_], axis) -> Powers:
    return Powers(*(square.sum(axis=axis) for square in squares), good.sum(axis=axis))


def _neighbours(values: NDArray, axis: int) -> tuple[NDArray, NDArray]:
    return (values[:, :-1], values[:, 1:]) if axis == 1 else (values[:-1], values[1:])
