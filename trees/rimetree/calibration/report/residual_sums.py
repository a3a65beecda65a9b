"""Sums over data, models and residuals for a report: many baselines at a time, as arrays of NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...ms import MsGroup
from ..data.neighbours import as_real, half_squares_of_differences
from ..model.predicted_tiles import KeptValues
from ..plan.planning import CalibrationOptions
from ..plan.solve_trees import within_limits
from ..solutions.solutions import Solutions
from .powers import Overlaps, Powers

_ELEMENT = {"XX": (0, 0), "XY": (0, 1), "YX": (1, 0), "YY": (1, 1), "RR": (0, 0), "RL": (0, 1), "LR": (1, 0)}
_ELEMENT |= {"LL": (1, 1), "I": (0, 0)}
PARALLEL = ("XX", "YY", "RR", "LL", "I")
_TOGETHER_BYTES = 1 << 20  # of the models of some baselines: what is made of them stays in a core's cache


class ResidualSums:
    """Sums over the tiles of a group. `times`: (times, sums) of each tile's time slots; the others as of
    `GroupResiduals` and `Overlaps`; `differences` [channels or times, sums or numbers, correlation]."""

    def __init__(self, group: MsGroup, parts: Sequence[str], solutions: Solutions, options: CalibrationOptions):
        self._group, self._parts, self._solutions, self._options = group, parts, solutions, options
        self._number = {antenna: k for k, antenna in enumerate(group.antennas)}
        self._scale = float(solutions.provenance.get("data_over_model", 1.0))
        self._gains: _Gains | None = None
        self.names = tuple(group.correlations)
        k, n = len(parts), len(self.names)
        places = np.array([_ELEMENT[name] for name in self.names], dtype=np.intp).reshape(-1, 2)
        self._feeds, self._elements = places.T, places @ (2, 1)
        self.parallel = [i for i, name in enumerate(self.names) if name in PARALLEL]
        self.antennas = Powers.zeros(len(self._number), n)
        self.times: list[tuple[NDArray, Powers]] = []
        self.channels: Powers | None = None
        self.frequency_hz = np.zeros(0)
        self.differences = np.zeros((2, 2, n))
        self.missing, self.flagged = np.zeros((2, len(self._number)), np.int64)
        self.overlaps = Overlaps(np.zeros((k, n)), np.zeros((k, k, n)), np.zeros(k), np.zeros(k))

    def add_tile(self, tile: dict, models: KeptValues) -> None:
        """Baselines of a tile, with the visibilities of each part on each of them; others may follow."""
        n_time, n_channel = tile["flag"].shape[1:3]
        # Copies: an array of a tile keeps all of it in memory.
        if not self.times or not np.array_equal(self.times[-1][0], tile["time_s"]):
            self.times.append((tile["time_s"].copy(), Powers.zeros(n_time, len(self.names))))
            self._gains = _Gains(self._solutions, self._parts, tile, self._group)
        if self.channels is None:
            self.channels = Powers.zeros(n_channel, len(self.names))
            self.frequency_hz = tile["frequency_hz"].copy()
        places = [models.place(pair) for pair in tile["baselines"]]
        rows = np.array([k for k, place in enumerate(places) if place is not None], dtype=np.intp)
        of_baseline = 64 * max(1, len(self._parts)) * n_time * n_channel
        step = max(1, _TOGETHER_BYTES // max(1, of_baseline))
        for first in range(0, len(rows), step):
            some = rows[first : first + step]
            self._add(tile, some, models.array[[places[k] for k in some]])

    def _add(self, tile: dict, rows: NDArray[np.intp], models: NDArray[np.complex128]) -> None:
        """Some baselines; `models` [baseline, part, 2, 2, time, channel], which are overwritten."""
        ends = np.array([[self._number[antenna] for antenna in tile["baselines"][k]] for k in rows]).T
        value = np.moveaxis(tile["columns"][self._options.data.column][rows], -1, 1)
        good, missing, flagged = self._good(tile, rows, ends, value)
        for counts, these in ((self.missing, missing), (self.flagged, flagged)):
            if these is not None:
                _add_to_both(counts, ends, these.sum(axis=(1, 2, 3)))
        data = value.astype(complex, order="C")
        if self._scale != 1.0:
            models *= self._scale
        seen = self._in_order(self._gains.corrupted(models, ends))
        plain = self._in_order(models)
        if flagged is not None or missing is not None:
            bad = ~good
            data[bad] = 0  # and not times 0, for it may be anything
            for some in (plain, seen):
                np.copyto(some, 0, where=bad[:, None])
        residual = data - seen.sum(axis=1)
        self._add_powers(data, residual, good, ends)
        self.differences += half_squares_of_differences(data, good)
        self._add_overlaps(data, residual, plain, seen)

    def _in_order(self, matrices: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """[baseline, part, correlation, time, channel] of [baseline, part, 2, 2, time, channel]."""
        flat = matrices.reshape(*matrices.shape[:2], 4, *matrices.shape[4:])
        return flat if self._elements.tolist() == [0, 1, 2, 3] else flat[:, :, self._elements]

    def _good(self, tile: dict, rows, ends, value) -> tuple[NDArray, NDArray | None, NDArray | None]:
        """Data that count, good data without solution, and those that are flagged or without weight; all [baseline,
        correlation, time, channel], or None where there are none."""
        weight, there = tile["weight"][rows], (tile["row"][rows] >= 0)[:, :, None, None]
        good = (tile["flag"][rows] == 0) & (weight > 0) & np.isfinite(weight) & there
        within = within_limits(tile, rows, self._options.data)
        if within is not None:
            good &= within[..., None]
        good = np.moveaxis(good, -1, 1) & np.isfinite(value)
        flagged = None if good.all() else np.moveaxis(there, -1, 1) & ~good
        if not self._gains.bad.any():
            return good, None, flagged
        one, other = (self._gains.bad[end][:, feed] for end, feed in zip(ends, self._feeds, strict=True))
        lost = one | other
        return good & ~lost, good & lost, flagged

    def _add_powers(self, data, residual, good, ends) -> None:
        times = self.times[-1][1]
        for name, values in (("data", data), ("residual", residual), ("count", good)):
            squares = values if name == "count" else np.square(as_real(values))
            of_cells = squares.sum(axis=0)
            if name != "count":
                of_cells = of_cells.reshape(*good.shape[1:], 2).sum(axis=-1)
            for sums, axis in ((times, 2), (self.channels, 1)):
                getattr(sums, name)[...] += of_cells.sum(axis=axis).T
            _add_to_both(getattr(self.antennas, name), ends, squares.reshape(*squares.shape[:2], -1).sum(axis=-1))

    def _add_overlaps(self, data, residual, plain, seen) -> None:
        # Real parts of products of complex numbers are products of their parts: matrix products of real arrays.
        sums, parallel = self.overlaps, self.parallel
        shape = (*plain.shape[:3], -1)
        one, other = (np.swapaxes(as_real(x).reshape(shape), 1, 2) for x in (plain, seen))
        of_data, left = (as_real(x).reshape(*x.shape[:2], -1, 1) for x in (data, residual))
        sums.cross += (one @ of_data)[..., 0].sum(axis=0).T
        sums.gram += np.moveaxis((one @ np.swapaxes(one, -1, -2)).sum(axis=0), 0, -1)
        sums.after += (other @ left)[:, parallel, :, 0].sum(axis=(0, 1))
        sums.own += np.einsum("bnkx,bnkx->kn", other, other)[:, parallel].sum(axis=1)


class _Gains:
    """Matrices of antennas and parts of the sky on the cells of a tile. `bad` [antenna, feed, time, channel]: without
    solution for any part."""

    def __init__(self, solutions: Solutions, parts: Sequence[str], tile: dict, group: MsGroup):
        names = [group.antenna_names[antenna] for antenna in group.antennas]
        known = {}
        self._parts = [part if part in solutions.directions else None for part in parts]
        for direction in dict.fromkeys(self._parts):
            matrices, bad = solutions.jones_of(names, tile["time_s"], tile["frequency_hz"], direction=direction)
            matrices, bad = (np.ascontiguousarray(np.moveaxis(x, (0, 1), (-2, -1))) for x in (matrices, bad))
            known[direction] = (np.ascontiguousarray(matrices[:, [0, 1], [0, 1]]), matrices, bad)
        self._known, self._diagonal = known, solutions.diagonal
        self.bad = np.any([bad for *_, bad in known.values()], axis=0)

    def corrupted(self, models: NDArray, ends: NDArray[np.intp]) -> NDArray[np.complex128]:
        """[baseline, part, 2, 2, time, channel] as baselines between these antennas see the parts."""
        seen = np.empty_like(models)
        for direction, (gains, matrices, _) in self._known.items():
            some = [j for j, own in enumerate(self._parts) if own == direction]
            if self._diagonal:
                factor = gains[ends[0]][:, :, None] * np.conj(gains[ends[1]])[:, None]
                for j in some:
                    np.multiply(models[:, j], factor, out=seen[:, j])
                continue
            left, right = matrices[ends[0]], np.conj(matrices[ends[1]])
            for j in some:
                half = sum(left[:, :, c, None] * models[:, j, c][:, None] for c in (0, 1))
                seen[:, j] = sum(half[:, :, None, d] * right[:, None, :, d] for d in (0, 1))
        return seen


def _add_to_both(sums: NDArray, ends: NDArray[np.intp], values: NDArray) -> None:
    """Adds what is of baselines to both antennas of each."""
    for end in ends:
        np.add.at(sums, end, values)
