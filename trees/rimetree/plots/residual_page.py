"""A page (one HTML file) of what residuals say of a calibration: tables, plots against antenna, time and channel."""

from __future__ import annotations

import base64
import html
import io
import os
from collections.abc import Sequence

import numpy as np

from ..calibration.report.powers import Powers
from ..calibration.report.residual_data import GroupResiduals
from ..calibration.report.residual_report import direction_rows, residual_rows, signal_lines
from ..whole_file import write_text

_STYLE = (
    "body{font-family:sans-serif;margin:2em;max-width:72em}table{border-collapse:collapse;margin:1em 0}"
    "td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}.bad{color:#b00}pre{white-space:pre-wrap}"
    "img{max-width:100%}"
)


def write_residual_page(
    path: str | os.PathLike, found: Sequence[GroupResiduals], *, title: str, summary: str = ""
) -> None:
    """Write the page. `summary`: text of what was solved, as the command prints it."""
    parts = [f"<h1>{html.escape(title)}</h1>"]
    if summary:
        parts.append(f"<pre>{html.escape(summary)}</pre>")
    parts.append("<h2>Residual power over data power</h2>")
    parts.append(_table(*residual_rows(found)))
    parts += [f'<p class="bad">{html.escape(line)}</p>' for line in signal_lines(found)]
    headers, rows = direction_rows(found)
    if rows:
        parts += ["<h2>Directions</h2>", _table(headers, rows)]
    for one in found:
        windows = "+".join(map(str, one.group.data_desc_ids))
        parts.append(f"<h2>field {one.group.field_id} ({html.escape(one.group.field_name)}), window {windows}</h2>")
        parts.append(f'<img alt="residual over data power" src="data:image/png;base64,{_plots(one)}">')
    write_text(
        path,
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body>\n" + "\n".join(parts) + "\n</body></html>\n",
    )


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return "<table>" + line(headers, "th") + "".join(line(row, "td") for row in rows) + "</table>"


def _plots(one: GroupResiduals) -> str:
    """Against antenna, time and frequency, as PNG in base 64."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 8), layout="constrained")
    axes = figure.subplots(3, 1)
    names = [one.group.antenna_names[antenna] for antenna in one.group.antennas]
    _draw(axes[0], np.arange(len(names)), one.of_antennas, one, "o")
    axes[0].set_xticks(range(len(names)), names, rotation=90, fontsize=min(8, 400 / max(1, len(names))))
    minutes = (one.time_s - one.time_s[0]) / 60 if len(one.time_s) else one.time_s
    _draw(axes[1], minutes, one.of_times, one, ".-")
    axes[1].set_xlabel("minutes from the beginning")
    _draw(axes[2], np.asarray(one.frequency_hz) / 1e6, one.of_channels, one, ".-")
    axes[2].set_xlabel("frequency / MHz")
    axes[0].legend(fontsize=8, ncols=4)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=80)
    return base64.b64encode(buffer.getvalue()).decode()


def _draw(axes, x, powers: Powers, one: GroupResiduals, mark: str) -> None:
    for k, name in enumerate(one.correlations):
        axes.plot(x, powers.left[:, k], mark, ms=4, lw=0.8, color=f"C{k}", label=name)
        if np.isfinite(one.noise[k]):
            axes.axhline(one.noise[k], color=f"C{k}", lw=0.6, ls=":")
    if any((powers.left[:, k] > 0).any() for k in range(len(one.correlations))):
        axes.set_yscale("log")
    axes.set_ylabel("residual / data")
    axes.grid(True, alpha=0.3)
