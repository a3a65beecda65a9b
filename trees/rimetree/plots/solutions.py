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
            for k in range(value.shape[1]):
                place.errorbar(
                    x,
                    value[:, k],
                    yerr=sigma[:, k],
                    fmt=".-" if quantity in ("amplitude", "tec", "clock") else ".",
                    ms=3,
                    lw=0.6,
                    elinewidth=0.6,
                    color=colour,
                    alpha=max(0.25, 1 / value.shape[1]),
                    label=name if k == 0 and name else None,
                )
        flagged = term.flag[:, :, a, d].mean()
        place.set_title(antenna + (f" ({100 * flagged:.0f} % flagged)" if flagged else ""), fontsize=8, pad=2)
        place.tick_params(labelsize=7)
        if quantity == "phase":
            place.set_ylim(-190, 190)
    for place in axes.flat[len(antennas) :]:
        place.set_visible(False)
    for column in axes.T:  # its lowest that is used
        place = [one for one in column if one.get_visible()][-1]
        place.set_xlabel(label, fontsize=8)
        place.tick_params(labelbottom=True)
    if any(names):
        axes[0, 0].legend(fontsize=6, loc="upper right")
    figure.tight_layout(rect=(0, 0, 1, 0.96))


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
