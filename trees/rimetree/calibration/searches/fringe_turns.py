"""The fringe search where the phase itself counts: of the places where a spectrum is largest, and those that differ
from them by turns of the whole phase, the one where its real part is largest. Of several antennas at a time."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .fringe_grid import in_order, magnitudes_on_grid, places_of, points_of_grid

_HIGH, _PEAKS = 0.5, 20  # of the highest: noise may lower the real part where the magnitude is highest
_TURNS, _LIKELY = 50, 5  # that are looked at more closely, and of those
_AT_A_TIME = 1 << 21  # numbers


def search_turns(spectra: NDArray[np.complex128], rate: NDArray[np.float64]) -> NDArray[np.float64]:
    """The x [antenna] for which the real part of the sum of spectra [antenna, channel] times exp(-i x rate) is largest.

    Channels without data are 0; x is where fewer than two have any.
    """
    found = np.zeros(len(spectra))
    masks, of = np.unique(spectra != 0, axis=0, return_inverse=True)
    for k, used in enumerate(masks):
        own = np.flatnonzero(np.ravel(of) == k)
        value, h = in_order(spectra[own][:, used], rate[used])
        places = places_of(h)
        if places is not None:
            some = max(1, _AT_A_TIME // points_of_grid(places[1]))
            parts = [slice(first, first + some) for first in range(0, len(own), some)]
            found[own] = np.concatenate([_search(value[at], h, *places) for at in parts])
    return found


def _search(value, h, step: float, half: int) -> NDArray[np.float64]:
    middle = np.abs(value) @ h / np.abs(value).sum(axis=1)
    # Magnitudes do not depend on where rates count from: the middle of the band is the same for all spectra.
    height = magnitudes_on_grid(value.T, h - 0.5 * (h[0] + h[-1]), step, half).T
    near, there = _peaks(height)
    near = step * (near - half)
    turns = 1 + math.ceil(2 * step * np.abs(middle).max())
    # There are many turns where the band is narrow: all are a few long steps and a few short ones away.
    few = math.isqrt(2 * turns) + 1
    some = max(1, _AT_A_TIME // (near.shape[1] * few * len(h)))
    parts = [slice(first, first + some) for first in range(0, len(value), some)]
    return np.concatenate([_best(value[at], h, middle[at], near[at], there[at], turns) for at in parts])


def _peaks(height: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Places [curve, peak] of the highest peaks of curves [curve, place], and which of them are any."""
    padded = np.pad(height, ((0, 0), (1, 1)), constant_values=-1.0)
    peak = (height >= padded[:, :-2]) & (height >= padded[:, 2:])
    peak &= height >= _HIGH * height.max(axis=1, keepdims=True)
    most = min(_PEAKS, int(peak.sum(axis=1).max()))
    near = np.argpartition(np.where(peak, -height, 1.0), most - 1, axis=1)[:, :most]
    return near, np.take_along_axis(peak, near, axis=1)


def _best(value, h, middle, near, there, turns: int) -> NDArray[np.float64]:
    """Of the x within some turns of any of `near` [antenna, peak] at which the whole phase is 0, the one with the
    largest real part."""
    at_near = value[:, None] * np.exp(-1j * near[..., None] * h)
    first = near + np.angle(at_near.sum(axis=2)) / middle[:, None]
    step, few = 2 * math.pi / middle[:, None], math.isqrt(2 * turns) + 1
    long, short = step * (few * np.arange(few) - turns), step * np.arange(few)  # [antenna, turn]
    at_first = value[:, None] * np.exp(-1j * first[..., None] * h)
    far = at_first[:, :, None] * np.exp(-1j * long[..., None] * h)[:, None]
    near_by = np.swapaxes(np.exp(-1j * short[..., None] * h), 1, 2)[:, None]
    real = np.where(there[..., None, None], (far @ near_by).real, -np.inf).reshape(len(value), -1)
    best = np.argpartition(-real, min(_TURNS, real.shape[1] - 1), axis=1)[:, :_TURNS]
    rows = np.arange(len(value))[:, None]
    peak, longer, shorter = np.unravel_index(best, (near.shape[1], few, few))
    x = first[rows, peak] + long[rows, longer] + short[rows, shorter]
    # Newton's method: after a step turns are in the order in which they end, but for the fourth order.
    x = _stepped(_turned(value, h, x), h, x)
    turned = _turned(value, h, x)
    likely = np.argsort(-turned.real.sum(axis=2), axis=1, kind="stable")[:, :_LIKELY]
    x = _stepped(turned[rows, likely], h, x[rows, likely])
    x = _stepped(_turned(value, h, x), h, x)
    return x[rows[:, 0], np.argmax(_turned(value, h, x).real.sum(axis=2), axis=1)]


def _turned(value, h, x) -> NDArray[np.complex128]:
    """[antenna, place, channel]"""
    return value[:, None] * np.exp(-1j * x[..., None] * h)


def _stepped(turned, h, x) -> NDArray[np.float64]:
    curvature = turned.real @ h**2
    return x + np.where(curvature > 0, (turned.imag @ h) / np.where(curvature > 0, curvature, 1), 0)
