"""What weights of data are multiplied with while a chunk is solved: 0 for outliers, and one over the variance that
residuals show where the noise of each baseline or channel is asked for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from ... import nodes as rt
from ...evaluation.cells import Cells
from ...forest import Forest
from ...ms import CORRELATION_NAMES, MsGroup, OpenSet, without_averaging
from ...writing.families import NodeFamily
from ...writing.indices import Index
from ...writing.scope import NodeScope
from ..model.predicted_tiles import KeptTiles, KeptValues
from ..plan.solve_trees import DataSelection, within_limits
from .outliers import standing_out, usual_noise, variances
from .stored_outliers import StoredOutliers

Pair = tuple[int, int]

_ELEMENT = {"XX": (0, 0), "XY": (0, 1), "YX": (1, 0), "YY": (1, 1), "RR": (0, 0), "RL": (0, 1), "LR": (1, 0)}
_ELEMENT |= {"LL": (1, 1)}
_SAME = 0.02  # noise that changes by less is found


class DataWeights:
    """Factors [time, channel, 2, 2] of the weights of each baseline on the cells of a chunk.

    `flag_data`: visibilities are left out whose magnitude stands out by so many standard deviations (0: none), first of
    the data, then of the residuals. `noise_per`: "baseline", "channel" or "" (weights as they are). `bands`: {data
    description: channels} where tiles may have different ones, of which each of theirs is nearest to another. With
    `looks_before` outliers of data that are averaged on reading are looked for before (`before_averaging`).
    """

    def __init__(
        self,
        group: MsGroup,
        data: DataSelection,
        flag_data: float,
        noise_per: str,
        bands: dict[int, NDArray[np.float64]] | None = None,
        *,
        looks_before: bool = False,
    ):
        self._group, self._data, self._most, self._per = group, data, flag_data, noise_per
        self._stored: StoredOutliers | None = None
        if flag_data > 0 and looks_before and without_averaging(group.selection) != group.selection:
            self._stored = StoredOutliers(group, data.column, flag_data)
        self._number = 0  # of the chunk
        self._bands = bands or {}
        self._slots: NDArray[np.float64] = np.zeros(0)
        self._frequency: NDArray[np.float64] = np.zeros(0)
        self._out: dict[Pair, NDArray[np.bool_]] = {}
        self._scale: dict[Pair, NDArray[np.float64]] = {}

    def __bool__(self) -> bool:
        return self._most > 0 or bool(self._per)

    @property
    def left_out(self) -> int:
        """Visibilities of the chunk that are outliers, as they are stored; then means."""
        means = sum(int(own.sum()) for own in self._out.values())
        return means + (self._stored.count(self._number) if self._stored else 0)

    def nodes(self, ns: NodeScope, p: Index, q: Index) -> NodeFamily:
        """The factors of baselines (p, q) in a tree."""
        for pair in zip(p.values, q.values, strict=True):
            own = functools.partial(self._factor, pair)
            ns.data_weight(*pair) << rt.PyNode(evaluate=own, dims=(2, 2), depends_on=["domain", "data"])
        return ns.data_weight(p, q)

    def before_averaging(self, opened: OpenSet, number: int, span_s: tuple[float, float]) -> None:
        """Before a chunk, between these times (MJD, seconds), is read: leaves outliers out of means."""
        if self._stored:
            self._stored.look(opened, number, span_s, self._good_stored)

    def end(self, opened: OpenSet) -> None:
        """After the last chunk: nothing is left out any more."""
        if self._stored:
            self._stored.forget(opened)

    def begin(self, number: int, slot_s: NDArray[np.float64], tiles: Callable[[], Iterable[dict]]) -> None:
        """A new chunk, of the time slots at these centres (MJD, s); `tiles()` reads its data, window by window."""
        self._number = number
        self._slots, self._out, self._scale = np.asarray(slot_s), {}, {}
        bands: dict[int, NDArray[np.float64]] = {}
        magnitudes: dict[Pair, dict] = {}
        for tile in tiles():
            window = int(tile["data_desc_id"])
            bands[window] = self._bands.get(window, tile["frequency_hz"])
            if self._most > 0 and not self._stored:
                self._keep_magnitudes(tile, magnitudes)
        self._frequency = np.concatenate([bands[one] for one in sorted(bands)]) if bands else np.zeros(0)
        for pair, parts in magnitudes.items():
            self._out[pair] = self._standing_out(self._joined(parts), "median")

    def look(self, kept: KeptTiles, forest: Forest, opened: OpenSet, options: dict) -> bool:
        """Looks at the residuals of a chunk with what the forest has found; `kept`: data, model and weight of each
        baseline, `options`: as of `ms.run_options`. Whether factors have changed."""
        found: dict[Pair, dict] = {}

        def on_tile(tile: dict, values: KeptValues) -> None:
            for k, pair in enumerate(tile["baselines"]):
                if pair in values:
                    value, model, weight = values[pair]
                    size = np.moveaxis(np.abs(value - model) * np.sqrt(np.abs(weight)), (0, 1), (-2, -1))
                    self._keep(found, pair, tile, np.where(self._good(tile, k) & (size > 0), size, np.nan))

        kept.each(forest, opened, self._data.column, on_tile, **options)
        sizes = {pair: self._joined(parts) for pair, parts in found.items()}
        changed = False
        if self._most > 0:
            usual = usual_noise(sizes.values()) if sizes else None
            for pair, size in sizes.items():
                new = self._standing_out(size, "zero", usual) & ~self._out.get(pair, False)
                if new.any():
                    self._out[pair] = self._out.get(pair, False) | new
                    changed = True
        return self._find_noise(sizes) or changed

    def _standing_out(self, size: NDArray, around: str, usual: NDArray | None = None) -> NDArray[np.bool_]:
        """As `standing_out`, on the cells of a baseline alone, where those of others stand between them."""
        if not self._bands:
            return standing_out(size, self._most, around=around, usual=usual)
        there, found = np.isfinite(size).any(axis=(2, 3)), np.zeros(size.shape, bool)
        if there.any():
            own = np.ix_(there.any(axis=1), there.any(axis=0))
            found[own] = standing_out(size[own], self._most, around=around, usual=usual)
        return found

    def _find_noise(self, sizes: dict[Pair, NDArray]) -> bool:
        if not self._per or not sizes:
            return False
        for pair in sizes.keys() & self._out.keys():
            sizes[pair][self._out[pair]] = np.nan  # nobody looks at them any more
        changed = False
        for pair, scale in variances(sizes, self._per).items():
            before = self._scale.get(pair)
            changed |= before is None or bool((np.abs(np.log(scale / before)) > _SAME).any())
            self._scale[pair] = scale
        return changed

    def _factor(self, pair: Pair, cells: Cells) -> NDArray[np.float64]:
        """[2, 2, time, channel] on the cells of a request."""
        return np.moveaxis(self.factors(pair, cells.time_s, cells.freq_hz), (2, 3), (0, 1))

    def factors(self, pair: Pair, time_s: NDArray, frequency_hz: NDArray) -> NDArray[np.float64]:
        """[time, channel, 2, 2] of a baseline, as far as is known by now; [1, 1, 2, 2] before there is a chunk."""
        out, scale = self._out.get(pair), self._scale.get(pair)
        shape = (len(self._slots), len(self._frequency), 2, 2)
        whole = np.ones(shape) if scale is None else np.broadcast_to(1 / scale, shape)
        if out is not None:
            whole = np.where(out, 0.0, whole)
        if not whole.size:
            return np.ones((1, 1, 2, 2))
        return whole[np.ix_(_nearest(self._slots, time_s), _nearest(self._frequency, frequency_hz))]

    def _good(self, tile: dict, k: int) -> NDArray[np.bool_]:
        """[time, channel, 2, 2]: data of a baseline that are solved on, before anything is left out here."""
        return _as_matrix(self._good_stored(tile, k), tile["correlation_type"], False)

    def _good_stored(self, tile: dict, k: int) -> NDArray[np.bool_]:
        """`_good` as the set has correlations: [time, channel, correlation]."""
        weight, value = tile["weight"][k], tile["columns"][self._data.column][k]
        good = (tile["flag"][k] == 0) & (tile["row"][k] >= 0)[:, None, None] & (weight > 0) & np.isfinite(value)
        within = within_limits(tile, k, self._data)
        return good if within is None else good & within[..., None]

    def _keep_magnitudes(self, tile: dict, magnitudes: dict) -> None:
        for k, pair in enumerate(tile["baselines"]):
            size = _as_matrix(np.abs(tile["columns"][self._data.column][k]), tile["correlation_type"], np.nan)
            self._keep(magnitudes, pair, tile, np.where(self._good(tile, k), size, np.nan))

    def _keep(self, parts: dict[Pair, dict], pair: Pair, tile: dict, size: NDArray) -> None:
        """Puts values [time, channel, 2, 2] of a tile into its window's part of the chunk."""
        own = parts.setdefault(pair, {})
        window = int(tile["data_desc_id"])
        band = self._bands.get(window, tile["frequency_hz"])
        if window not in own:
            own[window] = np.full((len(self._slots), len(band), *size.shape[2:]), np.nan, np.float32)
        at = np.ix_(_nearest(self._slots, tile["time_s"]), _nearest(band, tile["frequency_hz"]))
        # Of rows that a slot has twice, the larger value says whether it stands out, and the first how large noise is.
        before = own[window][at]
        own[window][at] = np.fmax(before, size) if self._most > 0 else np.where(np.isnan(before), size, before)

    @staticmethod
    def _joined(parts: dict[int, NDArray]) -> NDArray[np.float32]:
        arrays = [parts[one] for one in sorted(parts)]
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=1)


def _as_matrix(values: NDArray, correlation_type, missing) -> NDArray:
    """[..., 2, 2] of [..., correlation]."""
    result = np.full((*values.shape[:-1], 2, 2), missing, values.dtype)
    for c, kind in enumerate(correlation_type):
        name = CORRELATION_NAMES.get(kind, "")
        for i, j in ((0, 0), (1, 1)) if name == "I" else (_ELEMENT[name],):
            result[..., i, j] = values[..., c]
    return result


def _nearest(axis: NDArray[np.float64], at: NDArray[np.float64]) -> NDArray[np.intp]:
    """The number of the value nearest to each place, of values in any order."""
    order = np.argsort(axis, kind="stable")
    middle = 0.5 * (axis[order][1:] + axis[order][:-1])
    return order[np.searchsorted(middle, at)]
