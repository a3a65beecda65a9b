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
from ..ms import CORRELATION_NAMES, MsGroup, tiles
from ..scope import NodeScope
from .kinds import TEC_PHASE_HZ
from .model_trees import SkyPart, model_nodes

_POINTS = 200_000  # most that are tried
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
    best = _largest(value, h - middle, step * np.arange(-half, half + 1))
    best = _largest(value, h - middle, best + step * np.linspace(-1, 1, 65))
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


def _largest(value, h, x) -> float:
    best, where = -math.inf, 0.0
    for begin in range(0, len(x), 4096):
        some = x[begin : begin + 4096]
        total = np.abs(np.exp(-1j * some[:, None] * h) @ value)
        at = int(np.argmax(total))
        # Of equal ones the smallest: aliases of a regular band have the same magnitude.
        if total[at] > best * (1 + 1e-9) or (total[at] > best * (1 - 1e-9) and abs(some[at]) < abs(where)):
            best, where = float(total[at]), float(some[at])
    return where


def reference_spectra(
    group: MsGroup,
    parts: list[SkyPart],
    phase_centre_rad,
    column: str,
    reference: int,
    time_range_s: tuple[float, float],
) -> tuple[dict[int, NDArray[np.complex128]], NDArray[np.float64]]:
    """({antenna: [feed, channel] sum over time of weight V conj(model)}, [channel] Hz) of baselines to the reference.

    Spectra are those of V_(antenna, reference), whichever way the baseline is stored; feeds without data are 0.
    """
    baselines = [pair for pair in group.baselines if reference in pair]
    models = _models(group, parts, phase_centre_rad, baselines, time_range_s)
    spectra: dict[int, NDArray[np.complex128]] = {}
    frequency = np.zeros(0)
    for index, tile in enumerate(tiles(group.path, [column], time_range_s=time_range_s, **_whole(group))):
        frequency = tile["frequency_hz"]
        hands = [_FEEDS.get(CORRELATION_NAMES.get(kind)) for kind in tile["correlation_type"]]
        value = tile["columns"][column].astype(complex)
        good = (tile["flag"] == 0) & (tile["row"] >= 0)[..., None, None] & (tile["weight"] > 0) & np.isfinite(value)
        value = np.where(good, value * np.where(good, tile["weight"], 0), 0)
        for k, pair in enumerate(tile["baselines"]):
            model = models.get((*pair, index))
            if model is None:
                continue
            antenna = pair[0] if pair[1] == reference else pair[1]
            spectrum = spectra.setdefault(antenna, np.zeros((2, len(frequency)), complex))
            for c, feed in enumerate(hands):
                for own in () if feed is None else (feed,):
                    total = (value[k, ..., c] * np.conj(model[own, own])).sum(axis=0)
                    spectrum[own] += total if pair[1] == reference else np.conj(total)
    return spectra, frequency


def _whole(group: MsGroup) -> dict:
    return {**group.selection, "time_slots": 1_000_000}


def _models(group, parts, phase_centre_rad, baselines, time_range_s) -> dict[tuple, NDArray[np.complex128]]:
    """{(p, q, tile): [2, 2, time, channel]} visibilities of the sky, without any terms."""
    found: dict[tuple, NDArray[np.complex128]] = {}
    ns = NodeScope()
    model_nodes(ns, parts, baselines, phase_centre_rad, lambda *_: [], feed=group.feed)
    seen: dict[tuple[int, int], int] = dict.fromkeys(baselines, 0)

    def keeper(pair):
        def keep(cells, value):
            shape = (2, 2, len(cells.time_s), len(cells.freq_hz))
            found[*pair, seen[pair]] = np.broadcast_to(value, shape).copy()
            seen[pair] += 1
            return 0.0

        return keep

    for p, q in baselines:
        ns.keep(p, q) << rt.PyNode(ns.model(p, q), evaluate=keeper((p, q)), depends_on=["domain", "data"])
    ns.VisDataMux << rt.VisDataMux(None, None, *(ns.keep(p, q) for p, q in baselines))
    Forest(ns).run(group.path, time_range_s=time_range_s, **_whole(group))
    return found
