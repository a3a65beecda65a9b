"""Pictures of solutions: amplitude and phase (or delay, TEC, ...) of each antenna against time and frequency."""

from __future__ import annotations

import base64
import html
import io
import math
import os
from collections.abc import Iterator, Sequence

import numpy as np

from .._core import Error
from ..calibration import CalibrationError, Solutions, TermSolutions
from ..calibration.h5parm import element_names
from ..whole_file import whole_file

_UNITS = {"amplitude": "", "phase": "deg", "clock": "ns", "tec": "TECU", "rotation": "deg", "rotationmeasure": "rad/m2"}
_FACTORS = {"phase": math.degrees(1), "clock": 1e9, "rotation": math.degrees(1)}
_ANTENNAS_PER_PAGE = 16
_COLUMNS = 4
_ENDINGS = (".png", ".pdf", ".html")


def plot_solutions(
    sets: Sequence[Solutions],
    path: str | os.PathLike,
    *,
    against: str = "time",
    terms: Sequence[str] | None = None,
    antennas: Sequence[str] | None = None,
    directions: Sequence[str] | None = None,
    reference: str | None = None,
) -> int:
    """Write plots of solutions to a PDF or HTML file (all pages), or to PNG files; returns the number of pages.

    `against`: "time" (a line for each frequency, the mean where there are more than 8) or "freq" (for each time).
    `terms`, `antennas`, `directions`: only these. `reference`: antenna whose phases are subtracted. A page has up to 16
    antennas; further pages of a PNG file are PATH-2.png, ... Error bars are one standard deviation. Raises `Error` for
    an ending or a name that there is not, and where nothing is left to plot.
    """
    path = os.fspath(path)
    ending = os.path.splitext(path)[1].lower()
    if ending not in _ENDINGS:
        raise Error(f"{path!r} must end in {', '.join(_ENDINGS)}")
    if against not in ("time", "freq"):
        raise Error(f"against must be time or freq, not {against!r}")
    pages = _pages(sets, against, terms, antennas, directions, reference)
    writer = {".png": _write_png, ".pdf": _write_pdf, ".html": _write_html}[ending]
    count = writer(path, pages)
    if count == 0:
        raise Error("there are no solutions to plot")
    return count


def _pages(sets, against, terms, antennas, directions, reference) -> Iterator:
    """(title, figure) one after the other; each is closed when the next is asked for."""
    from matplotlib.figure import Figure

    known = {term.name for solutions in sets for term in solutions.terms}
    if missing := sorted(set(terms or ()) - known):
        raise CalibrationError(f"there are no solutions of {', '.join(missing)}; there are {', '.join(sorted(known))}")
    everybody = {antenna for solutions in sets for term in solutions.terms for antenna in term.antennas}
    if reference is not None and reference not in everybody:
        raise CalibrationError(f"there is no antenna {reference!r}; there are {', '.join(sorted(everybody))}")
    for index, solutions in enumerate(sets):
        for term in solutions.terms:
            if terms and term.name not in terms:
                continue
            for direction in _chosen("direction", directions, term.directions):
                names = _chosen("antenna", antennas, term.antennas)
                for quantity in term.value:
                    for begin in range(0, len(names), _ANTENNAS_PER_PAGE):
                        some = names[begin : begin + _ANTENNAS_PER_PAGE]
                        title = _title(term, quantity, direction, index if len(sets) > 1 else None)
                        figure = Figure(figsize=(11.0, 1.2 + 1.9 * math.ceil(len(some) / _COLUMNS)))
                        _draw(figure, term, quantity, direction, some, against, solutions.feed, reference)
                        figure.suptitle(title)
                        yield title, figure


def _chosen(what: str, wanted: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    if not wanted or list(known) == [""]:
        return list(known)
    if missing := [name for name in wanted if name not in known]:
        raise CalibrationError(f"there is no {what} {', '.join(missing)}; there are {', '.join(known)}")
    return [name for name in known if name in wanted]


def _title(term: TermSolutions, quantity: str, direction: str, index: int | None) -> str:
    unit = _UNITS.get(quantity, "")
    parts = [f"{term.text or term.name}: {quantity}{f' ({unit})' if unit else ''}"]
    parts += [f"direction {direction}"] * bool(direction) + ([f"window {index}"] if index is not None else [])
    return ", ".join(parts)


def _draw(figure, term, quantity, direction, antennas, against, feed, reference) -> None:
    rows = math.ceil(len(antennas) / _COLUMNS)
    axes = figure.subplots(rows, min(_COLUMNS, len(antennas)), sharex=True, sharey=True, squeeze=False)
    x, label = _abscissa(term, against)
    names = _elements(term, feed)
    d = term.directions.index(direction)
    for place, antenna in zip(axes.flat, antennas, strict=False):
        a = term.antennas.index(antenna)
        for e, (name, colour) in enumerate(zip(names, ("C0", "C1", "C2", "C3"), strict=False)):
            value, sigma = _lines(term, quantity, (a, d, e), against, reference)
            style = ".-" if quantity in ("amplitude", "tec", "clock") else "."
            _draw_lines(place, x, value, sigma, style, color=colour, label=name or None)
        flagged = term.flag[:, :, a, d].mean()
        place.set_title(antenna + (f" ({100 * flagged:.0f} % flagged)" if flagged else ""), fontsize=8, pad=2, y=1.0)
        if quantity == "phase":
            place.set_ylim(-190, 190)
    for place in axes.flat[len(antennas) :]:
        place.set_visible(False)
    # Ticks take most of the time: only outer axes have some.
    for column in axes.T:  # its lowest that is used
        *others, place = (one for one in column if one.get_visible())
        place.set_xlabel(label, fontsize=8)
        place.tick_params(axis="x", labelbottom=True, labelsize=7)
        for other in others:
            other.xaxis.set_visible(False)
    for first, *others in axes:
        first.tick_params(axis="y", labelsize=7)
        for other in others:
            other.yaxis.set_visible(False)
    if any(names):
        axes[0, 0].legend(fontsize=6, loc="upper right")
    height = figure.get_figheight()  # inches; what text there is, is known: no need to draw it to find out
    figure.subplots_adjust(0.05, 0.55 / height, 0.99, 1 - 0.7 / height, wspace=0.05, hspace=0.17)


def _draw_lines(place, x, value, sigma, style: str, *, color: str, label: str | None) -> None:
    """Lines [along, line] with error bars: all of them in two artists, between which there are gaps."""
    gap = np.full((1, value.shape[1]), np.nan)
    every_x = np.tile(np.append(x, np.nan), value.shape[1])
    y, error = (np.concatenate([of, gap]).T.ravel() for of in (value, sigma))
    alpha = max(0.25, 1 / value.shape[1])
    place.plot(every_x, y, style, ms=3, lw=0.6, color=color, alpha=alpha, label=label)
    there = np.isfinite(y) & (error > 0)
    if there.any():
        low, high = (y - error)[there], (y + error)[there]
        place.vlines(every_x[there], low, high, linewidth=0.6, color=color, alpha=alpha)


def _abscissa(term: TermSolutions, against: str):
    if against == "freq":
        return term.frequency_hz / 1e6, "frequency / MHz"
    from ..cli.quantities import utc_text

    return (term.time_s - term.time_s[0]) / 60, f"minutes after {utc_text(float(term.time_s[0]))[:19]} UTC"


def _lines(term, quantity, at, against, reference):
    """[along, other] values and standard deviations, NaN where flagged; the mean over `other` where that is long."""
    where = (slice(None), slice(None), *at)
    value = np.where(term.flag[where], np.nan, term.value[quantity][where])
    sigma = np.where(term.flag[where], np.nan, term.sigma[quantity][where])
    if reference in term.antennas and quantity == "phase":
        other = (slice(None), slice(None), term.antennas.index(reference), *at[1:])
        value = value - np.where(term.flag[other], np.nan, term.value[quantity][other])
    if against == "freq":
        value, sigma = value.T, sigma.T
    if value.shape[1] > 8:
        value, sigma = _mean(quantity, value, sigma)
    if quantity == "phase":
        value = np.angle(np.exp(1j * value))
    factor = _FACTORS.get(quantity, 1.0)
    return value * factor, np.where(np.isfinite(sigma), sigma, 0.0) * factor


def _mean(quantity, value, sigma):
    good = np.isfinite(value)
    count = np.maximum(good.sum(axis=1, keepdims=True), 1)
    if quantity == "phase":
        total = np.where(good, np.exp(1j * np.where(good, value, 0)), 0).sum(axis=1, keepdims=True)
        mean = np.where(good.any(axis=1, keepdims=True), np.angle(total), np.nan)
    else:
        mean = np.where(good, value, 0).sum(axis=1, keepdims=True) / count
        mean = np.where(good.any(axis=1, keepdims=True), mean, np.nan)
    return mean, np.sqrt(np.where(good, sigma, 0) ** 2).sum(axis=1, keepdims=True) / count**1.5


def _elements(term: TermSolutions, feed: str) -> list[str]:
    return [element_names(feed).get(element, "") for element in term.elements]


def _write_png(path: str, pages: Iterator) -> int:
    count = 0
    stem, ending = os.path.splitext(path)
    for count, (_, figure) in enumerate(pages, start=1):
        with whole_file(path if count == 1 else f"{stem}-{count}{ending}") as temporary:
            figure.savefig(temporary, dpi=110, format="png")
    return count


def _write_pdf(path: str, pages: Iterator) -> int:
    from matplotlib.backends.backend_pdf import PdfPages

    first = next(pages, None)
    if first is None:
        return 0
    count = 1
    with whole_file(path) as temporary, PdfPages(temporary) as file:
        file.savefig(first[1])
        for _, figure in pages:
            file.savefig(figure)
            count += 1
    return count


def _write_html(path: str, pages: Iterator) -> int:
    parts = []
    for title, figure in pages:
        buffer = io.BytesIO()
        figure.savefig(buffer, dpi=110, format="png")
        image = base64.b64encode(buffer.getvalue()).decode()
        parts.append(
            f'<h2>{html.escape(title)}</h2>\n<img alt="{html.escape(title)}" src="data:image/png;base64,{image}">'
        )
    if not parts:
        return 0
    head = '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Solutions</title></head><body>\n'
    with whole_file(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        file.write(head + "\n".join(parts) + "\n</body></html>\n")
    return len(parts)
