"""Options that several commands share: which resources, which tree; and the tree of a sky model."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Sequence

import click

from .errors import Failed
from .output import log
from .quantities import BYTES, DEC, DURATION, RA, Count, Number

_FITS = 0.05  # relative: UVW that fit a direction better than that are for one
_OFF_RAD = 5e-3  # what is further from it is another phase centre; UVW of the mean equinox are not as far


class Names(click.ParamType):
    """Numbers, names or patterns with commas between them, as a tuple of text; `3~5` is 3, 4 and 5."""

    name = "names"

    def convert(self, value, param, ctx) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        found: list[str] = []
        for part in (part.strip() for part in value.split(",")):
            span = re.fullmatch(r"(\d+)~(\d+)", part)
            if span and int(span[1]) > int(span[2]):
                self.fail(f"{part!r}: the smaller number comes first")
            if not part:
                self.fail(f"{value!r}: expected numbers or names with commas between them, or a range such as 3~5")
            found += map(str, range(int(span[1]), int(span[2]) + 1)) if span else [part]
        return tuple(found)


class Numbers(Names):
    """The same of numbers only, as a tuple of integers."""

    name = "numbers"

    def convert(self, value, param, ctx) -> tuple[int, ...]:
        found = super().convert(value, param, ctx)
        if wrong := [one for one in found if not str(one).isdigit()]:
            self.fail(f"{wrong[0]!r} is no number; expected e.g. 0,2 or 3~5")
        return tuple(map(int, found))


NAMES, NUMBERS = Names(), Numbers()


def chosen_fields(summary: dict, names: Sequence[str] | None) -> list[int] | None:
    """Rows of the FIELD table; None for all."""
    from rimetree import calibration

    if names is None or tuple(names) == ("all",):
        return None
    return calibration.field_numbers([field["name"] for field in summary["fields"]], names)


def require_from_field(fields: Sequence[int] | None, solved_on: Collection[int], terms: Sequence) -> None:
    """Raises where no solution would be of the fields of --from-field: of `terms`, or of fields that are solved on."""
    own = [term.field_ids for term in terms if term.field_ids is not None]
    known = {*solved_on, *(int(field) for ids in own for field in ids)}
    if fields is not None and known and not known & set(fields):
        raise Failed(
            f"--from-field {', '.join(map(str, fields))}: no term has solutions there; there are some of the fields "
            f"{', '.join(map(str, sorted(known)))}"
        )


def of_fields(files: Sequence, fields: Sequence[int]) -> list:
    """Of solution sets of some files those of these fields, of terms that have any there; raises where none has."""
    require_from_field(fields, (), [term for sets in files for one in sets for term in one.terms])
    return [[one.of_fields(fields) for one in sets] for sets in files]


def evaluation_options(function: Callable) -> Callable:
    """--precision, --tolerance, --device, --threads, --memory and --time-slots."""
    function = click.option(
        "--time-slots",
        type=Count(min=1),
        help="Time slots that are read and evaluated together; default: as many as fit into memory, at most 64.",
    )(function)
    function = click.option(
        "--memory", type=BYTES, help="Memory for results, e.g. 4GiB; default: half of the memory that is free."
    )(function)
    function = click.option(
        "--device",
        metavar="NAMES",
        help="Where to evaluate: auto (all GPUs), none (the host), or names with commas between them, as `rimetree "
        "info` lists them. Default: the environment variable RIMETREE_DEVICE, else none. A DeviceMemory node in the "
        "tree overrides this.",
    )(function)
    return accuracy_options(threads_option(function))


def as_written_option(function: Callable) -> Callable:
    """--as-written and --together."""
    return click.option(
        "--as-written/--together",
        default=None,
        help="Evaluate every node as the tree has it, or take sums over sources together, however they are written; "
        "default: as the environment variable RIMETREE_AS_WRITTEN says (1 or 0), else together.",
    )(function)


def threads_option(function: Callable) -> Callable:
    """--threads."""
    return click.option(
        "--threads",
        type=Count(min=1),
        help="Number of threads; default: the environment variable RIMETREE_NUM_THREADS, else OMP_NUM_THREADS, else "
        "one for each core that this process may use.",
    )(function)


def accuracy_options(function: Callable) -> Callable:
    """--precision and --tolerance."""
    function = click.option(
        "--tolerance",
        type=Number(min=1e-12, max=1, max_open=True),
        help="Largest error that visibilities may have, as a fraction of the total flux. The cheapest method that "
        "keeps to it is used. Default: 1e-12 for double precision, 1e-6 for single.",
    )(function)
    return click.option(
        "--precision",
        type=click.Choice(["double", "single"]),
        default="double",
        show_default=True,
        help="Numbers to sum visibilities in; phases are always in double precision.",
    )(function)


def outcome_options(function: Callable) -> Callable:
    """--dry-run, --report and --wait of a command that writes to a Measurement Set."""
    function = wait_option(function)
    function = click.option(
        "--report",
        metavar="FILE",
        callback=require_places,
        help="Also write the timing report: JSON if FILE ends in .json, else text.",
    )(function)
    return click.option(
        "--dry-run", is_flag=True, help="Check everything and say what would be done, but write nothing."
    )(function)


def require_places(ctx, param, value):
    """The value of an option of a file, or of several, to be written at the end; raises `OSError` where that could not
    be done."""
    from rimetree.whole_file import require_place

    for file in [value] if isinstance(value, str) else value or ():
        if file != "-":
            require_place(file)
    return value


def wait_option(function: Callable) -> Callable:
    """--wait."""
    return click.option(
        "--wait",
        type=DURATION,
        default=0.0,
        help="How long to wait if another program is writing to the set, e.g. 10min; default: do not wait. Programs "
        "that only read it do not matter.",
    )(function)


def check_output(ms: str, column: str, wait_s: float, *, read: str | None = None, save_flags: bool = False) -> None:
    """Raises where a column, or before it a version of the flags, cannot be written, before anything is computed; and
    where it is the column to `read` and a run that did the same has not come to its end."""
    import rimetree as rt

    wait_until_writable(ms, [column], wait_s)
    if column == read:
        for journal in rt.ms.inspect(ms, scan_cells=False)["progress"]:
            if journal["column"] == column:
                raise Failed(
                    f"{ms}: {journal['text']}; what has been written may have been corrected already, and would be a "
                    "second time. Bring a copy of the data back; if that is done, delete "
                    f"{ms}/rimetree.{column}.progress"
                )
    if save_flags:
        rt.ms.require_flag_versions(ms)


def check_columns(ms: str, forest, wait_s: float) -> None:
    """The same for all columns that the Sinks of a forest write."""
    sinks = [node["name"] for node in forest.nodes() if node["class"] == "Sink"]
    columns = list(dict.fromkeys(forest.get_state(name)["output_column"] for name in sinks))
    if columns:
        wait_until_writable(ms, columns, wait_s)


def warn_of_unfinished(group, forest) -> None:
    """Which of the columns that the Spigots of a forest read a run has not finished writing."""
    from rimetree.tile_values import columns_read

    for column in columns_read(forest):
        if column in group.unfinished:
            group.require_column(column)


def wait_until_writable(ms: str, columns: Sequence[str], wait_s: float) -> None:
    """Says that it waits, and for whom: a command that is silent for minutes looks as if it hung."""
    import rimetree as rt

    try:
        rt.ms.check_writable(ms, columns)
    except rt.ms.SetLockedError as error:
        if not wait_s > 0:
            raise
        log(f"waiting for up to {wait_s:g} s: {str(error).partition(';')[0]}")
        rt.ms.check_writable(ms, columns, wait_s=wait_s)


def verify_option(function: Callable) -> Callable:
    """--verify."""
    return click.option(
        "--verify",
        type=Count(min=0),
        default=0,
        metavar="N",
        help="Compute N visibilities of each batch of PSV nodes again in extended precision; report the largest error.",
    )(function)


def centre_option(function: Callable) -> Callable:
    """--phase-centre."""
    return click.option(
        "--phase-centre",
        type=(RA, DEC),
        metavar="RA DEC",
        help="Direction that the UVW were made for, if not the one in the FIELD table; in the frame of the field; e.g. "
        "3h32m30s -27d48m (bare numbers are degrees).",
    )(function)


def tree_options(function: Callable) -> Callable:
    """What the tree of a sky model is like: --no-smearing, --many-node, --phase-centre."""
    function = centre_option(function)
    function = click.option(
        "--many-node",
        is_flag=True,
        help="Write the tree with small nodes for each source and baseline, not with one PSV node per baseline.",
    )(function)
    return smearing_option(function)


def smearing_option(function: Callable) -> Callable:
    """--no-smearing."""
    return click.option(
        "--no-smearing", is_flag=True, help="Leave out smearing over integration time and channel width."
    )(function)


def require_ms(path: str) -> str:
    """The path of a Measurement Set; raises `Failed` where there is none."""
    if not os.path.exists(path):
        raise Failed(f"there is no Measurement Set {path}")
    return path


def scope_of_sky(group, sky, column: str, *, no_smearing, many_node, phase_centre, noise_jy=0.0, seed=0):
    """The scope of the ready-made tree of a sky model for an `MsGroup`."""
    import rimetree as rt

    ns = rt.NodeScope()
    tree = rt.many_node_tree if many_node else rt.psv_tree
    tree(
        ns,
        sky,
        phase_centre or group.phase_centre_rad,
        group.baselines,
        feed=group.feed,
        smearing=not no_smearing,
        column=column,
        noise_jy=noise_jy,
        seed=seed,
    )
    return ns


def warn_of_directions(summary: dict, field_ids: Collection[int], given: Sequence[float] | None = None) -> None:
    """What of these fields' phase centres and UVW `inspect-ms` warns of, and how to name another phase centre; or where
    the UVW are not for the one that was given, as those of several fields cannot be."""
    if given is not None:
        _warn_of_given_centre(summary, field_ids, given)
        return
    for warning in summary["field_warnings"]:
        if warning["field_id"] in field_ids:
            log(f"warning: {warning['text']}; sources may stand in wrong places{_centre_to_give(summary, warning)}")


def warn_of_exposures(summary: dict) -> None:
    """Where a model cannot be smeared in time as the data are."""
    exposures_s = summary["exposures_s"]
    if exposures_s and exposures_s[0] <= 0:
        which = "all" if exposures_s[-1] <= 0 else "some"
        log(f"warning: EXPOSURE is 0 s or negative in {which} rows: what is predicted there is not smeared in time")
    if n := summary["n_exposure_not_finite"]:
        log(f"warning: {n} rows have an EXPOSURE that is not a number: nothing can be predicted for them")


def _warn_of_given_centre(summary: dict, field_ids: Collection[int], given: Sequence[float]) -> None:
    for direction in summary["uvw"]["directions"]:
        residual, names = direction["residual"], {field["id"]: field["name"] for field in summary["fields"]}
        (off,) = angles_from(given, [[direction["ra_rad"], direction["dec_rad"]]])
        if direction["field_id"] in field_ids and residual < _FITS and off > max(5 * residual, _OFF_RAD):
            which = f"field {direction['field_id']} ({names[direction['field_id']]})"
            log(f"warning: the UVW of {which} are for a direction {math.degrees(off):.3g} deg from --phase-centre")


def angles_from(centre: Sequence[float], radec):
    """[source] of directions [source, 2] (right ascension, declination), all in radians."""
    import numpy as np

    ra, dec = np.transpose(radec)
    cosine = np.sin(dec) * math.sin(centre[1]) + np.cos(dec) * math.cos(centre[1]) * np.cos(ra - centre[0])
    return np.arccos(np.clip(cosine, -1, 1))


def _centre_to_give(summary: dict, warning: dict) -> str:
    for direction in summary["uvw"]["directions"]:
        if direction["field_id"] == warning["field_id"] and direction["points_elsewhere"]:
            ra, dec = (math.degrees(direction[name]) for name in ("ra_rad", "dec_rad"))
            return f": give --phase-centre (about {ra:.4f} {dec:.4f} deg)"
    return ": give --phase-centre if they do"
