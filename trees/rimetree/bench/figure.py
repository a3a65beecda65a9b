"""A benchmark as a picture: how fast, and where the time went."""

from __future__ import annotations

import os

from .._core import Error
from ..whole_file import whole_file
from .record import Record

ENDINGS = (".png", ".pdf", ".svg")
_PARTS = (  # of the bars: key, label, colour
    ("computation_only", "computation", "#2b6ca3"),
    ("needed_copies", "needed copies", "#8fb8d9"),
    ("avoidable_copies", "avoidable copies", "#e0a030"),
    ("framework", "framework", "#c04040"),
)


def write_figure(record: Record, path: str | os.PathLike) -> None:
    """Draw source-visibilities per second against the number of sources, and the parts of the time of each case.

    The ending of `path` says the format (png, pdf, svg). Raises `Error` for another one or a record without figures.
    """
    if os.path.splitext(path)[1].lower() not in ENDINGS:
        raise Error(f"{os.fspath(path)!r} must end in one of {', '.join(ENDINGS)}")
    cases = [case for case in record.cases if "error" not in case]
    if not cases:
        raise Error("no case has figures to draw")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, max(5.0, 0.17 * len(cases) + 2)), layout="constrained")
    speed, split = figure.subplots(1, 2)
    _draw_speed(speed, cases)
    _draw_split(split, cases)
    machine = record.about["machine"]
    figure.suptitle(
        f"rimetree bench psv, {record.about['date']}: {machine['processor']}, {machine['instruction_set']}, "
        f"threads: {machine['threads']}",
        fontsize=10,
    )
    with whole_file(path) as temporary:
        figure.savefig(temporary)


def _draw_speed(axes, cases: list[dict]) -> None:
    families: dict[str, list[dict]] = {}
    for case in cases:
        families.setdefault(case["name"].rpartition("/")[0], []).append(case)
    styles = ("-", "--", ":", "-.")
    for i, (family, members) in enumerate(families.items()):
        members = sorted(members, key=lambda case: case["n_source"])
        axes.loglog(
            [case["n_source"] for case in members],
            [case["source_visibilities_per_second"] for case in members],
            marker="o",
            markersize=3,
            linestyle=styles[i // 10 % len(styles)],
            label=family,
        )
    axes.set_xlabel("sources")
    axes.set_ylabel("source-visibilities per second")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=6, ncols=2)


def _draw_split(axes, cases: list[dict]) -> None:
    """One bar for each case, the first on top: parts of the total."""
    places = range(len(cases))[::-1]
    left = [0.0] * len(cases)
    for key, label, colour in _PARTS:
        parts = [100 * case["seconds"][key] / case["seconds"]["total"] for case in cases]
        axes.barh(places, parts, left=left, color=colour, label=label)
        left = [start + part for start, part in zip(left, parts, strict=True)]
    axes.set_yticks(places, [case["name"] for case in cases], fontsize=6)
    axes.set_ylim(-0.6, len(cases) - 0.4)
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of the total time")
    axes.legend(fontsize=7, loc="lower left")
