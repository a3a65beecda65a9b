"""Solutions of which the data have little signal.

Amplitudes over their errors say how much there is. Errors of phases and delays do not: of phases alone they follow from
the model, whether it is in the data or not. Beside delays that of a phase is large however much signal there is, as it
is the phase at frequency 0. So what turns phases is judged by the gains beside it, of the same feed, times and
frequencies.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..terms.kinds import KINDS
from .term_solutions import TermSolutions

_FEEDS = {"": (0, 1), "0": (0,), "1": (1,), "00": (0,), "11": (1,)}  # of elements on the diagonal
_NOT_JUDGED = ("leakage", "crosshand", "parallactic")


def faint(terms: Mapping[str, TermSolutions], least: float, variance: float = 1.0) -> dict[str, NDArray[np.bool_]]:
    """{name of a term: bool [time, freq, antenna, direction, element], which of its solutions have less signal over
    noise than the `least`}, of the terms of a chunk, which have the same antennas. `variance`: of errors, over the
    squares of what solutions say.

    Gains and amplitudes count with their own errors, phases, delays, rates, TEC and rotations of the whole sky as the
    gains of the whole sky do that they share data with, all together. Terms of directions without amplitudes, leakages
    and phases between feeds are not judged, and neither is what lies off the diagonal.
    """
    squares = {name: _of_feeds(term) for name, term in terms.items() if _has_amplitudes(term)}
    judges = [(terms[name], square) for name, square in squares.items() if not terms[name].of_directions]
    found = {}
    for name, term in terms.items():
        square = squares.get(name)
        if square is None and judges and not term.of_directions and term.kind not in _NOT_JUDGED:
            square = np.max([_within(term, judge, own) for judge, own in judges], axis=0)
        found[name] = np.zeros(term.shape, bool)
        for e, element in enumerate(term.elements if square is not None else ()):
            if element in _FEEDS:
                signal = square[..., list(_FEEDS[element])].sum(axis=-1)
                found[name][..., e] = signal < least**2 * variance
    return found


def _has_amplitudes(term: TermSolutions) -> bool:
    return "amplitude" in KINDS[term.kind].quantities and term.kind not in _NOT_JUDGED


def _of_feeds(term: TermSolutions) -> NDArray[np.float64]:
    """[time, freq, antenna, direction, feed] squares of amplitudes over errors; infinite where errors are 0 or not
    known, and 0 where there is no solution."""
    sigma = term.sigma["amplitude"]
    known = np.isfinite(sigma) & (sigma > 0)
    square = np.where(known, term.value["amplitude"] / np.where(known, sigma, 1.0), np.inf) ** 2
    square = np.where(term.flag, 0.0, square)
    result = np.zeros((*term.shape[:-1], 2))
    for e, element in enumerate(term.elements):
        feeds = _FEEDS.get(element, ())
        for feed in feeds:
            result[..., feed] = square[..., e] / len(feeds)
    return result


def _within(term: TermSolutions, judge: TermSolutions, square: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squares [time, freq, antenna, direction, feed] of another term, summed over the intervals of a term, as far as
    they lie in these."""
    times = _shares(term.time_s, term.time_width_s, judge.time_s, judge.time_width_s)
    frequencies = _shares(term.frequency_hz, term.frequency_width_hz, judge.frequency_hz, judge.frequency_width_hz)
    finite = np.where(np.isfinite(square), square, 0.0)
    total = np.einsum("tT,fF,TFade->tfade", times, frequencies, finite, optimize=True)
    endless = np.einsum("tT,fF,TFade->tfade", times, frequencies, (~np.isfinite(square)).astype(float), optimize=True)
    return np.where(endless > 0, np.inf, total)


def _shares(centre, width, of_centre, of_width) -> NDArray[np.float64]:
    """[interval, other interval] which part of the other one lies in each."""
    low = np.maximum((centre - width / 2)[:, None], of_centre - of_width / 2)
    high = np.minimum((centre + width / 2)[:, None], of_centre + of_width / 2)
    return np.clip((high - low) / of_width, 0.0, 1.0)
