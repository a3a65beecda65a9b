"""Solution tiles of Parms put side by side, and looked up by Parms with other tiles or polynomials."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import NamedTuple

import numpy as np

from .solving import SolutionFlag

_NO_DATA = SolutionFlag.NOT_SOLVED | SolutionFlag.NO_DATA
_SAME_EDGE = 1e-3  # of the narrowest tile
_FAR = 1e15  # seconds or Hz

Interval = tuple[float, float]
Edges = tuple[np.ndarray, np.ndarray]  # of time and of frequency
Place = tuple[float, float, float, float]  # time_0_s, time_scale_s, freq_0_hz, freq_scale_hz


class Pieces(NamedTuple):
    """Polynomials for intervals of time (MJD, seconds) and of frequency (Hz), infinite ones for all.

    `time_s`, `freq_hz`: [piece, 2]; `value`, `sigma`, `flag`: [piece, time term, freq term].
    """

    time_s: np.ndarray
    freq_hz: np.ndarray
    value: np.ndarray
    sigma: np.ndarray
    flag: np.ndarray

    def and_then(self, others: Pieces) -> Pieces:
        return Pieces(*(np.concatenate(pair) for pair in zip(self, others, strict=True)))


def moved(pieces: Pieces, place: Place, to: Place, terms: tuple[int, int]) -> Pieces:
    """The same polynomials about other origins, in other scales and with at least so many terms.

    Standard errors are those of coefficients without correlations; where an origin moves, what is wrong with one
    coefficient is wrong with all.
    """
    own = pieces.value.shape[1:]
    shape = tuple(max(pair) for pair in zip(own, terms, strict=True))
    turns = [_turn(place[2 * k : 2 * k + 2], to[2 * k : 2 * k + 2], shape[k])[:, : own[k]] for k in (0, 1)]
    value = turns[0] @ pieces.value @ turns[1].T
    sigma = np.sqrt(turns[0] ** 2 @ pieces.sigma**2 @ turns[1].T ** 2)
    flag = np.zeros(value.shape, pieces.flag.dtype)
    flag[:, : own[0], : own[1]] = pieces.flag
    if any(np.any(np.triu(turn, 1)) for turn in turns):
        flag |= np.bitwise_or.reduce(pieces.flag, axis=(1, 2), keepdims=True)
    return pieces._replace(value=value, sigma=sigma, flag=flag)


def _turn(place: Interval, to: Interval, terms: int) -> np.ndarray:
    """[new term, old term]: the powers of x = a + b x' where x = (t - place[0]) / place[1], and x' likewise of `to`."""
    a, b = (to[0] - place[0]) / place[1], to[1] / place[1]
    if terms == 1 or (a, b) == (0.0, 1.0):
        return np.eye(terms)
    return np.array([[comb(n, k) * a ** (n - k) * b**k if n >= k else 0.0 for n in range(terms)] for k in range(terms)])


class Layouts:
    """Puts pieces side by side. Many Parms have pieces for the same intervals, of which it is found out once how."""

    def __init__(self):
        self._known: dict[tuple[bytes, ...], _Layout] = {}

    def joined(self, pieces: Pieces) -> tuple[tuple[np.ndarray, ...], bool]:
        """`value`, `sigma`, `flag` [time tile, freq tile, time term, freq term], and from where to where the tiles
        reach, [time tile, 2] and [freq tile, 2]; and whether a part of a piece that is not for all is another's.

        Of several pieces for one tile the last that has data counts. A tile that no piece is for, where pieces are not
        the same at all frequencies, takes the nearest in time, flagged as not solved.
        """
        has_data = ~(pieces.flag & _NO_DATA).any(axis=(1, 2))
        key = pieces.time_s.tobytes(), pieces.freq_hz.tobytes(), has_data.tobytes()
        if key not in self._known:
            self._known[key] = _layout_of(pieces.time_s, pieces.freq_hz, has_data)
        layout = self._known[key]
        value, sigma, flag = (one[layout.owner] for one in pieces[2:])
        sigma[layout.empty] = np.nan
        flag[layout.empty] |= SolutionFlag.NOT_SOLVED
        return (value, sigma, flag, layout.times, layout.freqs), layout.in_part


class _Layout(NamedTuple):
    times: np.ndarray  # [time tile, 2]
    freqs: np.ndarray
    owner: np.ndarray  # [time tile, freq tile]: number of the piece
    empty: np.ndarray  # the same: whether the piece is that of another tile
    in_part: bool


def _layout_of(time_s: np.ndarray, freq_hz: np.ndarray, has_data: np.ndarray) -> _Layout:
    time_s, freq_hz = _with_widths(time_s), _with_widths(freq_hz)
    times, freqs = _tiles(time_s), _tiles(freq_hz)
    owner = np.full((len(times), len(freqs)), -1)
    rows, columns = _within(times, time_s), _within(freqs, freq_hz)
    for number in np.argsort(has_data, kind="stable"):  # what has no data takes no place
        owner[rows[number], columns[number]] = number
    in_part = any(
        _in_part(owner[rows[number], columns[number]] == number)
        for number in np.flatnonzero(np.isfinite(time_s).all(axis=1) | np.isfinite(freq_hz).all(axis=1))
    )
    empty = owner < 0
    centres = _centres(times), _centres(freqs)
    for i, j in np.argwhere(empty):
        away = _distance(centres[1][j], freq_hz), _distance(centres[0][i], time_s)
        owner[i, j] = np.lexsort(away[::-1])[0]
    return _Layout(times, freqs, owner, empty, in_part)


def _in_part(own: np.ndarray) -> bool:
    return bool(own.any() and not own.all())


def _with_widths(intervals: np.ndarray) -> np.ndarray:
    """Intervals [piece, 2] of which those without a width, as of cells without, reach a quarter of the way to what is
    next to them; everywhere if nothing is."""
    empty = intervals[:, 0] == intervals[:, 1]
    gaps = np.diff(np.unique(intervals[np.isfinite(intervals)]))
    reach = gaps.min() / 4 if len(gaps) else np.inf
    return np.where(empty[:, None], intervals + np.array([-reach, reach]), intervals)


def _tiles(intervals: np.ndarray) -> np.ndarray:
    """[tile, 2] of the tiles that intervals [piece, 2] make along an axis; the outermost are infinite where some of
    these are."""
    ends = np.unique(intervals)
    widths = np.diff(ends)
    least = _SAME_EDGE * np.min(intervals[:, 1] - intervals[:, 0])
    ends = ends[np.append(True, widths > (least if np.isfinite(least) else 0))]
    tiles = np.stack([ends[:-1], ends[1:]], axis=1)
    centres = _centres(tiles)
    firsts, lasts = np.sort(intervals[:, 0]), np.sort(intervals[:, 1])
    return tiles[np.searchsorted(firsts, centres) > np.searchsorted(lasts, centres)]


def edges_of(tiles: np.ndarray) -> np.ndarray:
    """[tile + 1] edges of tiles [tile, 2]: a gap between two goes half to each, and what is infinite reaches far. None
    (length 0) of a tile for all."""
    if not np.isfinite(tiles).any():
        return np.zeros(0)
    edges = np.concatenate([tiles[:1, 0], (tiles[1:, 0] + tiles[:-1, 1]) / 2, tiles[-1:, 1]])
    return np.clip(edges, -_FAR, _FAR)


def _centres(tiles: np.ndarray) -> np.ndarray:
    """Where tiles are looked up; of infinite ones beside their end."""
    inner = np.where(np.isfinite(tiles), tiles, tiles[:, ::-1] + np.array([-1.0, 1.0]))
    return np.where(np.isfinite(inner), inner, 0.0).sum(axis=1) / 2


def _within(tiles: np.ndarray, intervals: np.ndarray) -> list[slice]:
    """Tiles in each interval."""
    ends = np.searchsorted(_centres(tiles), intervals)
    return [slice(first, last) for first, last in ends]


def _distance(at: float, intervals: np.ndarray) -> np.ndarray:
    return np.maximum(np.maximum(intervals[:, 0] - at, at - intervals[:, 1]), 0.0)


def nearest_good(value: np.ndarray, flag: np.ndarray, time_s: np.ndarray) -> tuple[np.ndarray, int, bool]:
    """Values [time tile, freq tile, time term, freq term] in which tiles without data hold those of the nearest tile in
    time that has data; how many do, and whether all values can be trusted. `time_s`: of the tiles, [time tile, 2]."""
    lacks = (flag & _NO_DATA).any(axis=(2, 3))
    times = _centres(time_s)
    source = np.tile(np.arange(len(value))[:, None], (1, value.shape[1]))
    for j in np.flatnonzero(lacks.any(axis=0) & ~lacks.all(axis=0)):
        good = np.flatnonzero(~lacks[:, j])
        source[:, j] = good[np.argmin(np.abs(times[:, None] - times[good]), axis=1)]
    columns = np.arange(value.shape[1])
    filled = np.count_nonzero(source != np.arange(len(value))[:, None])
    return value[source, columns], filled, not flag[source, columns].any()


class Polynomials(NamedTuple):
    """Polynomials of solution tiles: `value` [time tile, freq tile, time term, freq term]; `edges` of time and of
    frequency (empty: one tile); `place`: origins and scales."""

    value: np.ndarray
    edges: Edges
    place: Place

    def at(self, time_s: np.ndarray, freq_hz: np.ndarray) -> np.ndarray:
        """Values [time, freq]; outside of all tiles those of the nearest."""
        i, j = (_tile_of(x, edges) for x, edges in zip((time_s, freq_hz), self.edges, strict=True))
        coefficients = self.value[i[:, None], j[None, :]]
        x, y = (_powers(at, self.place[2 * k :], self.value.shape[2 + k]) for k, at in enumerate((time_s, freq_hz)))
        return np.einsum("tfij,ti,fj->tf", coefficients, x, y)


def refitted(source: Polynomials, like: Polynomials, alike: bool) -> np.ndarray:
    """The value that other tiles and polynomials take to follow `source`, [time tile, freq tile, time term, freq term].

    `alike`: polynomials have the same degree, origin and scale, and each tile takes those of the nearest tile; others
    are fitted over the tile. A tile without edges stands for the first one of the source.
    """
    result = np.zeros(like.value.shape)
    for i, j in np.ndindex(result.shape[:2]):
        times, freqs = (_points(source, like, axis, tile, alike) for axis, tile in enumerate((i, j)))
        if alike:
            result[i, j] = source.value[_tile_of(times, source.edges[0])[0], _tile_of(freqs, source.edges[1])[0]]
            continue
        x, y = (_powers(at, like.place[2 * k :], result.shape[2 + k]) for k, at in enumerate((times, freqs)))
        basis = np.einsum("ti,fj->tfij", x, y).reshape(len(times) * len(freqs), -1)
        scale = np.maximum(np.abs(basis).max(axis=0), np.finfo(float).tiny)
        found = np.linalg.lstsq(basis / scale, source.at(times, freqs).ravel(), rcond=None)[0] / scale
        result[i, j] = found.reshape(result.shape[2:])
    return result


def _points(source: Polynomials, like: Polynomials, axis: int, tile: int, alike: bool) -> np.ndarray:
    """Where along an axis a tile of `like` looks at the source: in its middle, or where a polynomial is fitted."""
    edges = like.edges[axis][tile : tile + 2]
    if len(edges) == 0:
        edges = source.edges[axis][:2]
    if len(edges) == 0:  # neither says: where the polynomial is meant for
        zero, scale = source.place[2 * axis : 2 * axis + 2]
        edges = (zero - scale, zero + scale) if source.value.shape[2 + axis] > 1 else (zero, zero)
    if alike:
        return np.array([(edges[0] + edges[1]) / 2])
    terms = max(source.value.shape[2 + axis], like.value.shape[2 + axis])
    return np.linspace(edges[0], edges[1], 2 * terms + 2)[1:-1]  # not on edges, which are of two tiles


def _tile_of(at: np.ndarray, edges: np.ndarray) -> np.ndarray:
    return np.searchsorted(edges[1:-1], at, side="right")


def _powers(at: np.ndarray, place: Sequence[float], terms: int) -> np.ndarray:
    """[point, term]: 1, x, x^2, ... of x = (at - place[0]) / place[1]."""
    return np.vander((at - place[0]) / place[1], terms, increasing=True)
