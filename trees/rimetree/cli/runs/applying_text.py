"""What `rimetree apply` says of solutions and of what it flags."""

from __future__ import annotations

from ...some_names import some_names
from ..output import log, table

_MOST_ANTENNAS = 20


def warn_of_antennas(groups, chosen) -> None:
    """Antennas without solutions: once for all windows of which the same is to be said."""
    windows: dict[tuple[str, ...], list[str]] = {}
    for group, solutions in zip(groups, chosen, strict=True):
        names = (group.antenna_names[a] for a in group.antennas)
        if unknown := tuple(name for name in names if not solutions.knows(name)):
            windows.setdefault(unknown, []).append(str(group.data_desc_ids[0]))
    for unknown, ids in windows.items():
        where = "" if len(groups) == 1 else f" (in {len(ids)} of {len(groups)} fields and windows)"
        log(f"warning: no solutions for {len(unknown)} antennas, {some_names(unknown)}: their data are flagged{where}")


def warn_of_other_data(groups, chosen, models, smearing: bool) -> None:
    """Where solutions are for another band, other times or other feeds, or were found with models (of the groups, or
    None) that were seen in another way: nothing is flagged, and what comes out looks as if it were right."""
    from rimetree import calibration

    for solutions, model in zip(chosen, models, strict=True):
        if model is not None and (text := calibration.seen_warning(solutions, model, smearing)):
            log(f"warning: {text}")
            break
    for warning in (calibration.frequency_warning, calibration.time_warning, calibration.feed_warning):
        said = list(filter(None, map(warning, groups, chosen)))
        for text in said[:1]:
            others = f" (and {len(said) - 1} more fields and windows)" if len(said) > 1 else ""
            log(f"warning: {text}{others}")


def new_flags_text(groups, counts) -> str:
    """What is newly flagged: of all data, of windows that lose more than others, by antenna and reason."""
    every = max(1, sum(count.all for count in counts))
    before, new = (100 * sum(getattr(count, what) for count in counts) / every for what in ("flagged", "new"))
    lines = [f"flags: {before:.4g} % of the data were flagged before, {new:.4g} % are newly flagged"]
    share = [100 * count.new / max(1, count.all) for count in counts]
    if len(groups) > 1 and max(share) - min(share) > 1:
        worst = sorted(zip(share, groups, strict=True), key=lambda pair: -pair[0])[:5]
        lines.append(
            "  most in "
            + ", ".join(f"field {g.field_id} window {g.data_desc_ids[0]} ({part:.3g} %)" for part, g in worst)
        )
    found: dict[tuple[str, str], int] = {}
    data: dict[str, int] = {}
    for count in counts:
        for index, name in enumerate(count.antennas):
            data[name] = data.get(name, 0) + int(count.all_of_antenna[index])
            for reason, numbers in count.new_of_antenna.items():
                if numbers[index]:
                    found[name, reason] = found.get((name, reason), 0) + int(numbers[index])
    if not found:
        return lines[0]
    ordered = sorted(found.items(), key=lambda item: -item[1] / max(1, data[item[0][0]]))
    rows = [[name, f"{100 * n / max(1, data[name]):.4g}", reason] for (name, reason), n in ordered[:_MOST_ANTENNAS]]
    lines.append(table(["antenna", "newly flagged/% of its data", "because"], rows, left=(0, 2)))
    if len(ordered) > _MOST_ANTENNAS:
        lines.append(f"... and {len(ordered) - _MOST_ANTENNAS} more")
    return "\n".join(lines)


def warn_of_family(summary: dict, sets) -> None:
    """Gains of a set whose UVW have the other sign are the complex conjugates."""
    family = summary["uvw"]["family"]
    for solutions in sets:
        other = solutions.provenance.get("uvw_family")
        if other in ("p-q", "q-p") and family in ("p-q", "q-p") and other != family:
            log(
                f"warning: the solutions are of a Measurement Set with UVW of the family {other}, this one has "
                f"{family}: its gains are the complex conjugates"
            )
            return
