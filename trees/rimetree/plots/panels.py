"""Pages of panels of one size. Making axes and ticks takes most of the time of a page: those of one page serve the next
one with as many panels."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

_COLUMNS = 4


class Panels:
    """A figure of panels that share their axes, of which only outer ones have ticks."""

    def __init__(self, count: int):
        from matplotlib.figure import Figure

        rows = math.ceil(count / _COLUMNS)
        self.figure = Figure(figsize=(11.0, 1.2 + 1.9 * rows))
        self._axes = self.figure.subplots(rows, min(_COLUMNS, count), sharex=True, sharey=True, squeeze=False)
        for place in self._axes.flat[count:]:
            place.set_visible(False)
        self.places = list(self._axes.flat[:count])
        for column in self._axes.T:  # its lowest that is used
            *others, place = (one for one in column if one.get_visible())
            place.tick_params(axis="x", labelbottom=True, labelsize=7)
            for other in others:
                other.xaxis.set_visible(False)
        for first, *others in self._axes:
            first.tick_params(axis="y", labelsize=7)
            for other in others:
                other.yaxis.set_visible(False)
        height = self.figure.get_figheight()  # inches; what text there is, is known: no need to draw it to find out
        self.figure.subplots_adjust(0.05, 0.55 / height, 0.99, 1 - 0.7 / height, wspace=0.05, hspace=0.17)

    def clear(self) -> None:
        """Takes away what the page before has drawn, and its limits."""
        for place in self.places:
            for artist in list(place.lines):
                artist.remove()
            if place.get_legend() is not None:
                place.get_legend().remove()
            place.set_prop_cycle(None)
            place.relim()
            place.autoscale(True)

    def label(self, text: str) -> None:
        """What is along the horizontal axis."""
        for place in self.places:
            if place.xaxis.get_visible():
                place.set_xlabel(text, fontsize=8)


def draw_lines(place, x, value, sigma, style: str, *, color: str, label: str | None) -> None:
    """Lines [along, line] with error bars: all of them in two artists, with gaps between lines and between bars."""
    gap = np.full((1, value.shape[1]), np.nan)
    every_x = np.tile(np.append(x, np.nan), value.shape[1])
    y, error = (np.concatenate([of, gap]).T.ravel() for of in (value, sigma))
    alpha = max(0.25, 1 / value.shape[1])
    place.plot(every_x, y, style, ms=3, lw=0.6, color=color, alpha=alpha, label=label)
    there = np.isfinite(y) & (error > 0)
    if there.any():
        nothing = np.full(there.sum(), np.nan)
        bars = np.stack([y[there] - error[there], y[there] + error[there], nothing], axis=1)
        place.plot(np.repeat(every_x[there], 3), bars.ravel(), "-", lw=0.6, color=color, alpha=alpha)


def name_along(place, names: Sequence[str]) -> None:
    """Names at 0, 1, ... of the horizontal axis: as many as there is room for."""
    step = math.ceil(len(names) / 64)
    place.set_xticks(range(0, len(names), step), names[::step], rotation=90, fontsize=6)
    place.set_xlim(-0.5, len(names) - 0.5)
