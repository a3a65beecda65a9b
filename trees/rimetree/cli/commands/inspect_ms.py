"""`rimetree inspect-ms`: what a Measurement Set contains, and what may cause trouble."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import click

from ...utc import utc_text
from ..options.quantities import dec_text, frequency_text, ra_text
from ..options.sets import require_ms
from ..output import table

_FAMILY = {
    "p-q": "position(ANTENNA1) - position(ANTENNA2)",
    "q-p": "position(ANTENNA2) - position(ANTENNA1)",
}


@click.command("inspect-ms")
@click.argument("ms", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option(
    "--antennas", is_flag=True, help="Also list the antennas: positions (ITRF), rows, fraction of usable data, rms."
)
@click.option("--scans", is_flag=True, help="Also list the scans: observation, field, times, data descriptions, rows.")
@click.option("--quick", is_flag=True, help="Do not read flags, weights and visibilities: quicker on large sets.")
def command(ms, as_json, antennas, scans, quick) -> None:
    """Report antennas, baselines, times, missing rows, spectral windows, fields, flags, weights and UVW of MS.

    Frequencies are channel centres, times are centres of time slots (UTC), directions are in the frame of the field
    (ICRS or J2000). Warnings at the end name what may cause trouble: UVW that point elsewhere, EXPOSURE and INTERVAL
    that differ, columns whose writing was interrupted, ...

    \b
      rimetree inspect-ms obs.ms --antennas --scans
      rimetree inspect-ms obs.ms --json > obs.json
    """
    import rimetree as rt

    require_ms(ms)
    summary = rt.ms.inspect(ms, scan_cells=not quick)
    listed = rt.ms.scans(ms, autocorrelations=True) if scans and not summary["rows_problem"] else []
    if as_json:
        summary |= {"scans": listed} if scans else {}
        click.echo(json.dumps(summary, indent=2))
        return
    parts = [_overview(summary), _fields(summary), _windows(summary), _groups(summary)]
    parts += [_scans(listed, summary)] if listed else []
    if antennas:
        parts.append(_antennas(summary))
    parts += [_columns(summary), _uvw(summary)]
    click.echo("\n\n".join(part for part in parts if part))
    count = len(summary["warnings"])
    click.echo("\n" + (f"{count} warning{'s' * (count > 1)}:" if count else "no warnings"))
    for message in summary["warnings"]:
        click.echo(f"  - {message}")


def _overview(s: dict) -> str:
    used = sum(antenna["n_row"] > 0 for antenna in s["antennas"])
    lines = [
        f"{s['path']}: {s['telescope'] or 'telescope not named'}, {len(s['antennas'])} antennas ({used} with data), "
        f"{s['n_baseline']} baselines, {s['n_row']} rows"
        + (f" ({s['n_autocorrelation']} autocorrelations)" if s["n_autocorrelation"] else "")
    ]
    if s["n_row"]:
        lines.append(f"{s['n_time']} times, {s['first_time']} to {s['last_time']} UTC{_spacing(s)}")
        lines.append(f"EXPOSURE {_seconds(s['exposures_s'])}, INTERVAL {_seconds(s['intervals_s'])}")
    if s["cells_scanned"]:
        lines.append(
            f"flagged {_percent(s['flagged_fraction'])} (FLAG or FLAG_ROW; {s['n_flag_row']} rows by FLAG_ROW), "
            f"zero weight {_percent(s['zero_weight_fraction'])}{_bad_weights(s)}, "
            f"usable {_percent(s['usable_fraction'])}; weights are those of {s['weight_column'] or 'no column'}"
        )
    else:
        lines.append(f"flags were not read; weights are those of {s['weight_column'] or 'no column'}")
    return "\n".join(lines)


def _bad_weights(s: dict) -> str:
    bad = s["negative_weight_fraction"] + s["not_finite_weight_fraction"]
    return f", negative or not finite weight {_percent(bad)}" if bad else ""


def _spacing(s: dict) -> str:
    return f", {s['spacing_s']:.6g} s apart" if s["spacing_s"] else ""


def _seconds(values: Sequence[float]) -> str:
    """Distinct finite numbers of a column."""
    if len(values) > 4:
        return f"{values[0]:.6g} ... {values[-1]:.6g} s"
    return f"{', '.join(f'{value:.6g}' for value in values)} s" if values else "no number"


def _percent(fraction: float) -> str:
    """Rounded, but never to 0 or 100 % where it is not."""
    if 0 < fraction < 5e-4:
        return f"{100 * fraction:.1e} %"
    if 0.9995 <= fraction < 1:
        return "> 99.9 %"
    return f"{100 * fraction:.1f} %"


def _fields(s: dict) -> str:
    rows = [
        [
            field["id"],
            field["name"],
            "no number" if field["ra_rad"] is None else ra_text(field["ra_rad"]),
            "no number" if field["dec_rad"] is None else dec_text(field["dec_rad"]),
            _frame(field),
            field["n_row"],
        ]
        for field in s["fields"]
    ]
    return table(["field", "name", "phase centre RA", "Dec", "frame", "rows"], rows, left=(1, 2, 3, 4))


def _scans(listed: Sequence[dict], s: dict) -> str:
    headers = ["observation", "scan", "field", "name", "first time", "last time", "times", "rows", "DDIDs"]
    rows = [
        [
            one["observation"],
            one["scan"],
            one["field_id"],
            s["fields"][one["field_id"]]["name"],
            utc_text(one["first_time_s"]),
            utc_text(one["last_time_s"]),
            one["n_slot"],
            one["n_row"],
            ",".join(map(str, one["data_desc_ids"])),
        ]
        for one in listed
    ]
    return table(headers, rows, left=(3, 4, 5, 8))


def _frame(field: dict) -> str:
    """The frame of a field's coordinates, and what they were converted from."""
    if field["frame"] in (field["coordinates"], ""):
        return field["coordinates"]
    return field["frame"] if field["frame"].endswith("?") else f"{field['coordinates']} (from {field['frame']})"


def _windows(s: dict) -> str:
    rows = []
    for window in s["spectral_windows"]:
        notes = [] if window["regular"] else ["irregular"]
        notes += [f"{window['gaps']} gaps"] * bool(window["gaps"])
        notes += ["widths differ"] * (not window["equal_widths"]) + ["negative widths"] * window["negative_width"]
        rows.append(
            [
                window["id"],
                window["name"],
                window["n_channel"],
                frequency_text(window["lowest_hz"]),
                frequency_text(window["highest_hz"]),
                frequency_text(window["width_hz"]),
                window["order"],
                ", ".join(notes),
            ]
        )
    headers = ["SPW", "name", "channels", "lowest", "highest", "width", "order", "notes"]
    return table(headers, rows, left=(1, 6, 7))


def _groups(s: dict) -> str:
    rows = []
    for group in s["groups"]:
        description = s["data_descriptions"][group["data_desc_id"]]
        low, high = group["min_rows_per_time"], group["max_rows_per_time"]
        rows.append(
            [
                group["data_desc_id"],
                group["field_id"],
                description["spectral_window_id"],
                " ".join(description["correlations"]),
                group["n_row"],
                group["n_time"],
                group["n_baseline"],
                f"{low}" if low == high else f"{low}-{high}",
                group["n_missing"],
                group["n_duplicate"],
            ]
        )
    headers = ["DDID", "field", "SPW", "correlations", "rows", "times", "baselines", "rows/time", "missing", "repeated"]
    return table(headers, rows, left=(3,))


def _antennas(s: dict) -> str:
    rows = []
    for antenna in s["antennas"]:
        x, y, z = ("no number" if value is None else f"{value:.3f}" for value in antenna["position_m"])
        diameter = f"{antenna['diameter_m']:g}"
        usable = f"{100 * antenna['n_usable'] / antenna['n_visibility']:.1f}" if antenna["n_visibility"] else "-"
        rms = f"{math.sqrt(antenna['power']):.3g}" if antenna["power"] else "-"
        row = [antenna["id"], antenna["name"], antenna["station"], x, y, z, diameter, antenna["n_row"], usable, rms]
        rows.append([*row, "dead" if antenna["dead"] else ""])
    headers = ["id", "name", "station", "x/m", "y/m", "z/m", "dish/m", "rows", "usable/%", "rms", ""]
    return table(headers, rows, left=(1, 2, 10))


def _columns(s: dict) -> str:
    names = []
    for column in s["columns"]:
        shape = " x ".join(map(str, column["shape"])) or "empty"
        shape += ", all zero" if column["all_zero"] else ""
        names.append(f"{column['name']} ({'varies, first row ' if column['variable_shape'] else ''}{shape})")
    return "columns of visibilities [channels x correlations]: " + (", ".join(names) or "none")


def _verdict(direction: dict, where: str, away: str) -> str:
    if direction["points_elsewhere"]:
        return f"point at {where}, {away}"
    if direction["residual"] > 0.3:  # a wrong sign makes 2
        return "follow from the antenna positions neither for the phase centre nor for another direction"
    return "fit the phase centre" if direction["residual"] < 0.02 else "fit the phase centre roughly"


def _uvw(s: dict) -> str:
    uvw = s["uvw"]
    if not s["n_row"]:
        return ""
    family = _FAMILY.get(uvw["family"])
    lines = [f"UVW: {uvw['family']}, {family}" if family else f"UVW: sign unknown: {uvw['reason']}"]
    if uvw["closure_tested"]:
        lines.append(
            "UVW are differences of one vector per antenna"
            if uvw["decomposable"]
            else f"UVW are not differences of one vector per antenna (loops miss by up to {uvw['misclosure_m']:.3g} m)"
        )
    for direction in uvw["directions"]:
        where = f"{ra_text(direction['ra_rad'])} {dec_text(direction['dec_rad'])}"
        away = f"{math.degrees(direction['offset_rad']):.3g} deg from it"
        lines.append(
            f"field {direction['field_id']}: UVW "
            + _verdict(direction, where, away)
            + f" (rms difference {100 * direction['residual']:.3g} % of the UVW)"
        )
    return "\n".join(lines)
