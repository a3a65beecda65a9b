"""Starting values for delays and TEC: the fit has a minimum at every turn of phase, and the right one must be begun at.

A baseline to the reference antenna gives the spectrum of V conj(model), whose phase is x h(nu), with h = 2 pi nu for a
delay x; the x that brings it into phase is searched for (a fringe fit, as of Schwab & Cotton 1983, AJ 88, 688).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .. import nodes as rt
from ..forest import Forest
from ..ms import CORRELATION_NAMES, MsGroup, OpenSet, tiles
from ..scope import NodeScope
from .kinds import TEC_PHASE_HZ
from .model_trees import SkyPart, model_nodes

_POINTS = 200_000  # most that are tried
_PEAKS = 500  # most that are looked at closely
_MEMORY_BYTES = 256 << 20  # for data and model at a time
_FEEDS = {"XX": 0, "YY": 1, "RR": 0, "LL": 1}


def phase_rate(quantity: str, frequency_hz: NDArray[np.float64]) -> NDArray[np.float64]:
    """h(nu): the phase in radians per unit of a "clock" (s) or "tec" (1e16 m^-2)."""
    return 2 * math.pi * frequency_hz if quantity == "clock" else TEC_PHASE_HZ / frequency_hz


def search(spectrum: NDArray[np.complex128], rate: NDArray[np.float64], *, any_phase: bool) -> float:
    """The x for which sum of spectrum exp(-i x rate) is largest; [channel] each, channels without data are 0.

    Its magnitude counts if `any_phase`, else, once that has been found, its real part: then the phase itself tells x to
    within turns of the whole phase, and not only its slope. 0 where fewer than two channels have data.
    """
    used = spectrum != 0
    if used.sum() < 2:
        return 0.0
    order = np.argsort(rate[used])
    value, h = spectrum[used][order], rate[used][order]
    span, gap = h[-1] - h[0], np.diff(h)
    if not (span > 0 and (gap > 0).any()):
        return 0.0
    step = math.pi / (4 * span)
    half = min(math.ceil(math.pi / gap[gap > 0].min() / step), _POINTS // 2)
    middle = np.average(h, weights=np.abs(value))
    x = step * np.arange(-half, half + 1)
    near = _highest(_magnitudes(value, h - middle, x))
    best = _largest(value, h - middle, (x[near][:, None] + step * np.linspace(-1, 1, 65)).ravel())
    return best if any_phase else _turn(value, h, middle, best, 1 + math.ceil(2 * step * abs(middle)))


def _turn(value, h, middle: float, near: float, turns: int) -> float:
    """Of the x within some turns of `near` at which the whole phase is 0, the one with the largest real part."""
    phase = np.angle(np.exp(-1j * near * h) @ value)
    x = near + (phase + 2 * math.pi * np.arange(-turns, turns + 1)) / middle
    for _ in range(3):  # Newton's method
        terms = value * np.exp(-1j * x[:, None] * h)
        curvature = (terms.real * h**2).sum(axis=1)
        x = x + np.where(curvature > 0, (terms.imag * h).sum(axis=1) / np.where(curvature > 0, curvature, 1), 0)
    return float(x[np.argmax((value * np.exp(-1j * x[:, None] * h)).sum(axis=1).real)])


def _magnitudes(value, h, x) -> NDArray[np.float64]:
    parts = np.split(x, range(4096, len(x), 4096))
    return np.concatenate([np.abs(np.exp(-1j * some[:, None] * h) @ value) for some in parts])


def _highest(magnitude: NDArray[np.float64]) -> NDArray[np.intp]:
    """Peaks of a curve that is sampled so finely that the highest has 95 % of its height: where it may be.

    Spectral windows far from each other make many that are nearly as high.
    """
    padded = np.concatenate([[-1.0], magnitude, [-1.0]])
    peaks = np.flatnonzero((padded[1:-1] >= padded[:-2]) & (padded[1:-1] >= padded[2:]))
    peaks = peaks[magnitude[peaks] >= 0.95 * magnitude.max()]
    return peaks[np.argsort(-magnitude[peaks], kind="stable")[:_PEAKS]]


def _largest(value, h, x) -> float:
    magnitude = _magnitudes(value, h, x)
    # Of equal ones the smallest: aliases of a regular band have the same magnitude.
    equal = x[magnitude >= magnitude.max() * (1 - 1e-9)]
    return float(equal[np.argmin(np.abs(equal))])


def reference_spectra(
    group: MsGroup,
    parts: list[SkyPart],
    phase_centre_rad,
    column: str,
    reference: int,
    time_range_s: tuple[float, float],
    memory_bytes: int = _MEMORY_BYTES,
    opened: OpenSet | None = None,
) -> tuple[dict[int, NDArray[np.complex128]], NDArray[np.float64]]:
    """({antenna: [feed, channel] sum over time of weight V conj(model)}, [channel] Hz) of baselines to the reference.

    Spectra are those of V_(antenna, reference), whichever way the baseline is stored; feeds without data are 0.
    Channels of several spectral windows stand one after the other. Data and model are taken so many time slots at a
    time that they stay within `memory_bytes`, or one. `opened`: the set, if it is open already.
    """
    opened = opened or OpenSet(group.path)
    baselines = [pair for pair in group.baselines if reference in pair]
    options = {
        **group.selection,
        "time_range_s": time_range_s,
        "time_slots": _slots_within(group, len(baselines), memory_bytes),
    }
    reading = tiles(opened, [column], **options)
    spectra: dict[int, dict[int, NDArray[np.complex128]]] = {}
    frequency: dict[int, NDArray[np.float64]] = {}
    models: dict[tuple[int, int], NDArray[np.complex128]] = {}

    def add_tile() -> None:
        """The next tile has been predicted: the data of the same."""
        tile = next(reading)
        window = int(tile["data_desc_id"])
        frequency[window] = tile["frequency_hz"]
        hands = [_FEEDS.get(CORRELATION_NAMES.get(kind)) for kind in tile["correlation_type"]]
        for k, pair in enumerate(tile["baselines"]):
            model = models.pop(pair, None)
            if model is None:
                continue
            antenna = pair[0] if pair[1] == reference else pair[1]
            empty = np.zeros((2, len(frequency[window])), complex)
            spectrum = spectra.setdefault(antenna, {}).setdefault(window, empty)
            for c, feed in enumerate(hands):
                if feed is not None:
                    total = _sum(tile, column, k, c, model[feed, feed])
                    spectrum[feed] += total if pair[1] == reference else np.conj(total)

    _predict(opened, group, parts, phase_centre_rad, baselines, options, models, add_tile)
    windows = sorted(frequency)
    joined = {
        antenna: np.concatenate([own.get(w, np.zeros((2, len(frequency[w])), complex)) for w in windows], axis=1)
        for antenna, own in spectra.items()
    }
    return joined, np.concatenate([frequency[w] for w in windows] or [np.zeros(0)])


def _sum(tile: dict, column: str, k: int, c: int, model: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """[channel] sum over time of weight V conj(model) of a baseline and a correlation, over good data."""
    value = tile["columns"][column][k, ..., c].astype(complex) * np.conj(model)
    weight = tile["weight"][k, ..., c]
    good = (tile["flag"][k, ..., c] == 0) & (tile["row"][k] >= 0)[:, None] & (weight > 0) & np.isfinite(value)
    return np.where(good, value * np.where(good, weight, 0), 0).sum(axis=0)


def _slots_within(group: MsGroup, n_baseline: int, memory_bytes: int) -> int:
    """Time slots whose data, of all baselines, and models, of some, take so much."""
    visibilities = group.n_channel * len(group.correlations)
    data = len(group.baselines) * visibilities * (8 + 4 + 1)  # column, weight, flag
    models = n_baseline * group.n_channel * 4 * 16 * 2  # as computed and as kept
    return max(1, int(memory_bytes / (2 * (data + models))))


def _predict(opened, group, parts, phase_centre_rad, baselines, options, models, tile_done) -> None:
    """Of each tile fills models[p, q] with [2, 2, time, channel] visibilities without any terms, then tile_done()."""
    ns = NodeScope()
    model_nodes(ns, parts, baselines, phase_centre_rad, lambda *_: [], feed=group.feed)

    def keeper(pair):
        def keep(cells, value):
            shape = (2, 2, len(cells.time_s), len(cells.freq_hz))
            models[pair] = np.broadcast_to(value, shape).copy()
            return 0.0

        return keep

    def done(_cells):
        tile_done()
        models.clear()
        return 0.0

    when = {"depends_on": ["domain", "data"]}
    for p, q in baselines:
        ns.keep(p, q) << rt.PyNode(ns.model(p, q), evaluate=keeper((p, q)), **when)
    ns.done << rt.PyNode(evaluate=done, **when)
    ns.VisDataMux << rt.VisDataMux(None, ns.done, *(ns.keep(p, q) for p, q in baselines))
    Forest(ns).run(opened, **options)
