"""Options that several commands share: which rows, which sky, which resources; and the tree of a sky model."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence

import click

from .errors import Failed
from .output import log
from .quantities import BYTES, DEC, DURATION, RA


def rows_options(function: Callable) -> Callable:
    """--field and --ddid."""
    function = click.option(
        "--ddid", type=click.IntRange(min=0), help="Only rows of this DATA_DESC_ID; `rimetree inspect-ms` lists them."
    )(function)
    return click.option("--field", type=click.IntRange(min=0), help="Only rows of this FIELD_ID.")(function)


class Names(click.ParamType):
    """Numbers, names or patterns with commas between them, as a tuple of text; `3~5` is 3, 4 and 5."""

    name = "names"

    def convert(self, value, param, ctx) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        found: list[str] = []
        for part in (part.strip() for part in value.split(",")):
            span = re.fullmatch(r"(\d+)~(\d+)", part)
            if not part or (span and int(span[1]) > int(span[2])):
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


def several_rows_options(function: Callable) -> Callable:
    """--field and --ddid, of several."""
    function = click.option("--ddid", type=NUMBERS, help="Only these DATA_DESC_IDs, e.g. 0,2 or 0~3.")(function)
    return click.option(
        "--field", "field_names", type=NAMES, help="Only these fields: numbers, names or patterns, e.g. 0,3C286 or J1*."
    )(function)


def chosen_fields(summary: dict, names: Sequence[str] | None) -> list[int] | None:
    """Rows of the FIELD table; None for all."""
    from rimetree import calibration

    if names is None or tuple(names) == ("all",):
        return None
    return calibration.field_numbers([field["name"] for field in summary["fields"]], names)


def sky_options(required: bool, of_fields: bool = False) -> Callable:
    """--sky, --sky-format and --skip-unsupported; `of_fields`: --sky may be repeated, for a field each."""

    def add(function: Callable) -> Callable:
        function = click.option(
            "--skip-unsupported",
            is_flag=True,
            help="Leave out sources that RimeTree cannot predict, and list them; without it they are an error.",
        )(function)
        function = click.option(
            "--sky-format",
            type=click.Choice(["bbs", "wsclean", "tigger-html", "tigger-text", "oskar", "hyperdrive"]),
            help="Format of the sky model; default: found from the file's content.",
        )(function)
        if of_fields:
            return click.option(
                "--sky",
                multiple=True,
                metavar="[FIELD=]FILE",
                help="Sky model: BBS, WSClean, Tigger, OSKAR or hyperdrive. May be repeated, with one for each field "
                "(number or name).",
            )(function)
        return click.option(
            "--sky", required=required, metavar="FILE", help="Sky model: BBS, WSClean, Tigger, OSKAR or hyperdrive."
        )(function)

    return add


def model_column_option(function: Callable) -> Callable:
    """--model-column."""
    return click.option(
        "--model-column",
        "model_columns",
        multiple=True,
        metavar="[NAME=]COLUMN",
        help="Take this column of the set as the model, instead of --sky; may be repeated. The model is their sum; "
        'for terms "per patch" each column is a direction, called NAME or else COLUMN.',
    )(function)


def patch_option(function: Callable) -> Callable:
    """--patch."""
    return click.option(
        "--patch",
        "patches",
        type=NAMES,
        metavar="NAMES",
        help="Only these patches of the sky model (or model columns): names or patterns, e.g. A*,CasA; !CasA leaves "
        "out. The others are not part of the model.",
    )(function)


def of_patches(model, patterns: Sequence[str]):
    """A sky model or model columns, as far as patches (directions) fit; raises `Failed` where a pattern fits none."""
    from rimetree import calibration
    from rimetree.calibration.terms import is_among

    columns = isinstance(model, calibration.ModelColumns)
    known = list(model.columns if columns else model.patches)
    for one in patterns:
        if not any(is_among(name, [one.removeprefix("!")]) for name in known):
            what = "direction" if columns else "patch"
            raise Failed(f"there is no {what} {one.removeprefix('!')!r}; there are {', '.join(known[:20]) or 'none'}")
    found = model.select(lambda one: is_among(one if columns else one.patch, patterns))
    if not len(found.columns if columns else found):
        raise Failed(f"nothing is left of the model's patches {', '.join(patterns)}")
    return found


def read_models(
    summary: dict,
    sky: Sequence[str],
    sky_format: str | None,
    skip_unsupported: bool,
    model_columns: Sequence[str],
    patches: Sequence[str] | None = None,
):
    """As `read_model`, or {FIELD_ID: sky model} where fields have their own."""
    if len(sky) < 2 and not (sky and _of_a_field(sky[0])):
        return read_model(sky[0] if sky else None, sky_format, skip_unsupported, model_columns, patches)
    if model_columns:
        raise click.UsageError("give a model to calibrate against: either --sky or --model-column")
    found: dict = {}
    for text in sky:
        if not _of_a_field(text):
            raise click.UsageError(f"--sky {text}: of several each must say its field, e.g. --sky 0={text}")
        names, _, file = text.partition("=")
        model = read_model(file, sky_format, skip_unsupported, (), patches)
        for field in chosen_fields(summary, NAMES.convert(names, None, None)) or range(len(summary["fields"])):
            if field in found:
                raise click.UsageError(f"--sky {text}: field {field} has a model already")
            found[field] = model
    return found


def _of_a_field(text: str) -> bool:
    return "=" in text and not os.path.exists(text)


def read_model(
    sky: str | None,
    sky_format: str | None,
    skip_unsupported: bool,
    model_columns: Sequence[str],
    patches: Sequence[str] | None = None,
):
    """The sky model, or the columns, that were asked for, as far as `patches` fit; raises `UsageError` where it is not
    one of them."""
    from rimetree import calibration

    if (sky is None) == (not model_columns):
        raise click.UsageError("give a model to calibrate against: either --sky or --model-column")
    if sky is not None:
        model = read_sky(sky, sky_format, skip_unsupported)
    else:
        model = calibration.ModelColumns.parse(model_columns)
    return of_patches(model, patches) if patches else model


def evaluation_options(function: Callable) -> Callable:
    """--precision, --tolerance, --device, --threads, --memory and --time-slots."""
    function = click.option(
        "--time-slots",
        type=click.IntRange(min=1),
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
        type=click.IntRange(min=1),
        help="Number of threads; default: the environment variable RIMETREE_NUM_THREADS, else OMP_NUM_THREADS, else "
        "one for each core that this process may use.",
    )(function)


def accuracy_options(function: Callable) -> Callable:
    """--precision and --tolerance."""
    function = click.option(
        "--tolerance",
        type=click.FloatRange(min=1e-12, max=1, max_open=True),
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
        "--report", metavar="FILE", help="Also write the timing report: JSON if FILE ends in .json, else text."
    )(function)
    return click.option(
        "--dry-run", is_flag=True, help="Check everything and say what would be done, but write nothing."
    )(function)


def wait_option(function: Callable) -> Callable:
    """--wait."""
    return click.option(
        "--wait",
        type=DURATION,
        default=0.0,
        help="How long to wait if another program is writing to the set, e.g. 10min; default: do not wait. Programs "
        "that only read it do not matter.",
    )(function)


def check_output(ms: str, column: str, wait_s: float) -> None:
    """Raises where a column cannot be written, before anything is computed for it."""
    from rimetree import ms as measurement_sets

    measurement_sets.check_writable(ms, [column], wait_s=wait_s)


def check_columns(ms: str, forest, wait_s: float) -> None:
    """The same for all columns that the Sinks of a forest write."""
    from rimetree import ms as measurement_sets

    sinks = [node["name"] for node in forest.nodes() if node["class"] == "Sink"]
    columns = list(dict.fromkeys(forest.get_state(name)["output_column"] for name in sinks))
    if columns:
        measurement_sets.check_writable(ms, columns, wait_s=wait_s)


def verify_option(function: Callable) -> Callable:
    """--verify."""
    return click.option(
        "--verify",
        type=click.IntRange(min=0),
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
        help="Direction that the UVW were made for, if not the one in the FIELD table; in the frame of the field.",
    )(function)


def tree_options(function: Callable) -> Callable:
    """What the tree of a sky model is like: --no-smearing, --many-node, --phase-centre."""
    function = centre_option(function)
    function = click.option(
        "--many-node",
        is_flag=True,
        help="Write the tree with small nodes for each source and baseline, not with one PSV node per baseline.",
    )(function)
    return click.option(
        "--no-smearing", is_flag=True, help="Leave out smearing over integration time and channel width."
    )(function)


def require_ms(path: str) -> str:
    """The path of a Measurement Set; raises `Failed` where there is none."""
    if not os.path.exists(path):
        raise Failed(f"there is no Measurement Set {path}")
    return path


def read_sky(file: str, file_format: str | None, skip_unsupported: bool):
    """The sky model of a file; says what was left out."""
    from rimetree import sky

    model = sky.read(file, file_format, skip_unsupported)
    for skipped in model.skipped:
        log(f"warning: left out {skipped}")
    if len(model) == 0:
        raise Failed(f"{file}: the sky model has no sources" + (" left" if model.skipped else ""))
    return model


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


def warn_of_directions(summary: dict, field_ids: Sequence[int]) -> None:
    """Which fields have UVW that point elsewhere than the FIELD table says."""
    for direction in summary["uvw"]["directions"]:
        if direction["points_elsewhere"] and direction["field_id"] in field_ids:
            log(
                f"warning: the UVW of field {direction['field_id']} point {math.degrees(direction['offset_rad']):.4g} "
                "deg away from its phase centre in the FIELD table, so that sources will stand in wrong places; "
                f"give --phase-centre (about {math.degrees(direction['ra_rad']):.4f} "
                f"{math.degrees(direction['dec_rad']):.4f} deg)"
            )


def warn_of_sky(sky, groups, phase_centre) -> None:
    """Which sources of a model are where no telescope of this kind sees them."""
    for group in {group.field_id: group for group in groups}.values():
        far = [
            name
            for name, angle in zip(sky.names, _distances(sky, phase_centre or group.phase_centre_rad), strict=True)
            if angle > math.pi / 2
        ]
        if far:
            log(
                f"warning: {len(far)} sources are more than 90 deg from the phase centre of field {group.field_id}: "
                f"{', '.join(far[:5])}{', ...' if len(far) > 5 else ''}"
            )


def _distances(sky, centre):
    import numpy as np

    ra, dec = sky.radec_rad.T
    cosine = np.sin(dec) * math.sin(centre[1]) + np.cos(dec) * math.cos(centre[1]) * np.cos(ra - centre[0])
    return np.arccos(np.clip(cosine, -1, 1))
