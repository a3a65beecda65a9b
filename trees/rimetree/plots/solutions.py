"""Pictures of solutions: amplitude and phase (or delay, TEC, ...) of each antenna against time and frequency; of all
antennas where a term has one solution only."""

from __future__ import annotations

import base64
import html
import io
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .._core import Error
from ..calibration import CalibrationError, Solutions, TermSolutions
from ..calibration.solutions.h5parm import element_names
from ..whole_file import whole_file
from .panels import Panels, draw_lines, name_along

_UNITS = {"amplitude": "", "phase": "deg", "clock": "ns", "rate": "ps/s", "tec": "TECU", "rotation": "deg"}
_UNITS |= {"rotationmeasure": "rad/m2"}
_FACTORS = {"phase": math.degrees(1), "clock": 1e9, "rate": 1e12, "rotation": math.degrees(1)}
_ANTENNAS_PER_PAGE = 16
_AGAINST = ("time", "freq", "antenna")
_ENDINGS = (".png", ".pdf", ".html")


def plot_solutions(
    sets: Sequence[Solutions],
    path: str | os.PathLike,
    *,
    against: str | None = None,
    terms: Sequence[str] | None = None,
    antennas: Sequence[str] | None = None,
    directions: Sequence[str] | None = None,
    reference: str | None = None,
) -> int:
    """Write plots of solutions to a PDF or HTML file (all pages), or to PNG files; returns the number of pages.

    `against`: "time" (a line for each frequency, the mean where there are more than 8), "freq" (for each time) or
    "antenna" (for each of both, all antennas on one page); by default the first of these along which a term varies.
    `terms`, `antennas`, `directions`: only these. `reference`: antenna whose phases are subtracted. A page has up to 16
    antennas; further pages of a PNG file are PATH-2.png, ... Error bars are one standard deviation. Raises `Error` for
    an ending or a name that there is not, and where nothing is left to plot.
    """
    path = os.fspath(path)
    ending = os.path.splitext(path)[1].lower()
    if ending not in _ENDINGS:
        raise Error(f"{path!r} must end in {', '.join(_ENDINGS)}")
    if against not in (None, *_AGAINST):
        raise Error(f"against must be time, freq or antenna, not {against!r}")
    pages = _pages(sets, against, terms, antennas, directions, reference)
    writer = {".png": _write_png, ".pdf": _write_pdf, ".html": _write_html}[ending]
    count = writer(path, pages)
    if count == 0:
        raise Error("there are no solutions to plot")
    return count


def _pages(sets, against, terms, antennas, directions, reference) -> Iterator:
    """(title, figure) one after the other; figures are drawn on again when the next is asked for."""
    known = {term.name for solutions in sets for term in solutions.terms}
    if missing := sorted(set(terms or ()) - known):
        raise CalibrationError(f"there are no solutions of {', '.join(missing)}; there are {', '.join(sorted(known))}")
    shown = [term for solutions in sets for term in solutions.terms if not terms or term.name in terms]
    _check("antenna", [*(antennas or ()), *([] if reference is None else [reference])], (one.antennas for one in shown))
    _check("direction", directions or (), (one.directions for one in shown))
    panels: dict[int, Panels] = {}
    for index, solutions in enumerate(sets):
        for term in solutions.terms:
            if terms and term.name not in terms:
                continue
            along = against or _along(term)
            step = _ANTENNAS_PER_PAGE if along != "antenna" else len(term.antennas)
            for direction in _chosen(directions, term.directions):
                names = _chosen(antennas, term.antennas)
                for quantity in term.value:
                    for begin in range(0, len(names), step):
                        some = names[begin : begin + step]
                        title = _title(term, quantity, direction, index if len(sets) > 1 else None)
                        what = _What(term, quantity, direction, some, solutions.feed, reference)
                        figure = _snapshot(what) if along == "antenna" else _page(what, along, panels)
                        figure.suptitle(title)
                        yield title, figure


def _along(term: TermSolutions) -> str:
    """The axis along which there is most to see."""
    times, frequencies = term.shape[:2]
    return "time" if times > 1 else "freq" if frequencies > 1 else "antenna"


def _check(what: str, wanted: Sequence[str], of_terms: Iterable[Sequence[str]]) -> None:
    """Raises `CalibrationError` for names that no term has."""
    known = list(dict.fromkeys(name for names in of_terms for name in names if name))
    if missing := [name for name in wanted if name not in known]:
        raise CalibrationError(f"there is no {what} {', '.join(missing)}; there are {', '.join(known) or 'none'}")


def _chosen(wanted: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    """What is wanted of that which a term has; all if nothing is asked for. A name "" (the whole sky) is always
    wanted."""
    return [name for name in known if not wanted or not name or name in wanted]


def _title(term: TermSolutions, quantity: str, direction: str, index: int | None) -> str:
    unit = _UNITS.get(quantity, "")
    parts = [f"{term.text or term.name}: {quantity}{f' ({unit})' if unit else ''}"]
    parts += [f"direction {direction}"] * bool(direction) + ([f"window {index}"] if index is not None else [])
    return ", ".join(parts)


@dataclass(frozen=True)
class _What:
    """Of which solutions a page is."""

    term: TermSolutions
    quantity: str
    direction: str
    antennas: Sequence[str]
    feed: str
    reference: str | None

    @property
    def elements(self) -> list[tuple[int, str, str]]:
        """(number, name, colour)."""
        names = [element_names(self.feed).get(element, "") for element in self.term.elements]
        return [(e, name, f"C{e}") for e, name in enumerate(names[:4])]

    def at(self, antenna: str, element: int) -> tuple[int, int, int]:
        return self.term.antennas.index(antenna), self.term.directions.index(self.direction), element


def _page(what: _What, along: str, panels: dict[int, Panels]):
    """The figure of up to 16 antennas, each in a panel."""
    count = len(what.antennas)
    if count in panels:
        panels[count].clear()
    else:
        panels[count] = Panels(count)
    page = panels[count]
    x, label = _abscissa(what.term, along)
    style = ".-" if what.quantity in ("amplitude", "tec", "clock", "rate") else "."
    for place, antenna in zip(page.places, what.antennas, strict=True):
        for e, name, colour in what.elements:
            value, sigma = _lines(what.term, what.quantity, what.at(antenna, e), along, what.reference)
            draw_lines(place, x, value, sigma, style, color=colour, label=name or None)
        flagged = what.term.flag[:, :, *what.at(antenna, 0)[:2]].mean()
        place.set_title(antenna + (f" ({100 * flagged:.0f} % flagged)" if flagged else ""), fontsize=8, pad=2, y=1.0)
    if what.quantity == "phase":
        page.places[0].set_ylim(-190, 190)
    page.label(label)
    _add_legend(page.places[0], what)
    return page.figure


def _snapshot(what: _What):
    """The figure of all antennas side by side."""
    page = Panels(1)
    (place,) = page.places
    x = np.arange(len(what.antennas))
    for e, name, colour in what.elements:
        of_antennas = [
            _lines(what.term, what.quantity, what.at(antenna, e), "antenna", what.reference)
            for antenna in what.antennas
        ]
        value, sigma = (np.array(one) for one in zip(*of_antennas, strict=True))
        shift = 0.15 * (e - (len(what.elements) - 1) / 2)  # error bars stand beside each other
        draw_lines(place, x + shift, value, sigma, ".", color=colour, label=name or None)
    if what.quantity == "phase":
        place.set_ylim(-190, 190)
    name_along(place, what.antennas)
    _add_legend(place, what)
    return page.figure


def _add_legend(place, what: _What) -> None:
    if any(name for _, name, _ in what.elements):
        place.legend(fontsize=6, loc="upper right")


def _abscissa(term: TermSolutions, against: str):
    if against == "freq":
        return term.frequency_hz / 1e6, "frequency / MHz"
    from ..utc import utc_text

    return (term.time_s - term.time_s[0]) / 60, f"minutes after {utc_text(float(term.time_s[0]))[:19]} UTC"


def _lines(term, quantity, at, against, reference):
    """[along, other] values and standard deviations, NaN where flagged; the mean over `other` where that is long; of
    one antenna, against antennas, [other]."""
    where = (slice(None), slice(None), *at)
    value = np.where(term.flag[where], np.nan, term.value[quantity][where])
    sigma = np.where(term.flag[where], np.nan, term.sigma[quantity][where])
    if reference in term.antennas and quantity == "phase":
        other = (slice(None), slice(None), term.antennas.index(reference), *at[1:])
        value = value - np.where(term.flag[other], np.nan, term.value[quantity][other])
    if against == "freq":
        value, sigma = value.T, sigma.T
    elif against == "antenna":
        value, sigma = value.reshape(1, -1), sigma.reshape(1, -1)
    if value.shape[1] > 8:
        value, sigma = _mean(quantity, value, sigma)
    if quantity == "phase":
        value = np.angle(np.exp(1j * value))
    factor = _FACTORS.get(quantity, 1.0)
    value, sigma = value * factor, np.where(np.isfinite(sigma), sigma, 0.0) * factor
    return (value[0], sigma[0]) if against == "antenna" else (value, sigma)


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


def _write_png(path: str, pages: Iterator) -> int:
    count = 0
    stem, ending = os.path.splitext(path)
    for count, (_, figure) in enumerate(pages, start=1):
        with whole_file(path if count == 1 else f"{stem}-{count}{ending}") as temporary:
            figure.savefig(temporary, dpi=110, format="png", pil_kwargs={"compress_level": 3})
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
        figure.savefig(buffer, dpi=110, format="png", pil_kwargs={"compress_level": 3})
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
