"""The sky model, or the model columns, of a command: its options, reading it, and what is odd about it."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence

import click

from ..errors import Failed
from ..output import log
from .beams import beam_options, warn_of_patterns
from .fields import chosen_fields, fields_text, names_of
from .names import NAMES
from .quantities import Count

#: Those of `rimetree.sky.READERS`, which need not be loaded for --help.
SKY_FORMATS = click.Choice(
    [
        *("bbs", "wsclean", "tigger-html", "tigger-text", "oskar", "hyperdrive"),
        *("rts", "woden", "ao", "sagecal", "catalogue", "fits", "casa-image", "casa-components", "healpix", "skyh5"),
    ]
)
_FAR_RAD = math.radians(10)  # further from the phase centre than dishes see
_APART_RAD = math.radians(0.5)  # further from it than a calibrator is that is observed
_READ = (
    "Sky model: BBS, WSClean, Tigger, OSKAR, hyperdrive, RTS, WODEN, AO or SAGECal, a catalogue of PyBDSF, LoBES or "
    "GLEAM-X, a map of the sky (HEALPix), SkyH5, components of CASA, a flux calibrator by its name (3C286; see "
    "rimetree sky calibrators), or a model image (FITS or CASA, Jy/pixel"
)


def sky_options(required: bool, of_fields: bool = False) -> Callable:
    """As `sky_file_options`, and --beam, --pointing."""
    files = sky_file_options(required, of_fields)
    return lambda function: files(beam_options(function))


def sky_file_options(required: bool, of_fields: bool = False) -> Callable:
    """--sky, --sky-format, --skip-unsupported, --patch; `of_fields`: --sky may be repeated, for a field each."""

    def add(function: Callable) -> Callable:
        function = click.option(
            "--skip-unsupported",
            is_flag=True,
            help="Leave out sources that RimeTree cannot predict, and list them; without it they are an error.",
        )(patch_option(function))
        function = click.option(
            "--sky-format",
            type=SKY_FORMATS,
            help="Format of the sky model; default: found from the file's content.",
        )(function)
        if of_fields:
            return click.option(
                "--sky",
                multiple=True,
                metavar="[FIELD=]FILE",
                help=f"{_READ}). May be repeated, with one for each field (number or name) and one without for all "
                "others.",
            )(function)
        return click.option(
            "--sky",
            required=required,
            metavar="FILE",
            help=f"{_READ}; of several frequencies 'field-0*-model.fits').",
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


def limit_option(function: Callable) -> Callable:
    """--limit."""
    return click.option(
        "--limit",
        type=Count(min=0),
        default=50,
        show_default=True,
        help="How many sources to list: the brightest.",
    )(function)


def patch_option(function: Callable) -> Callable:
    """--patch."""
    return click.option(
        "--patch",
        "patches",
        type=NAMES,
        metavar="NAMES",
        help="Only these patches of the sky model (and of model columns, where there are any): names or patterns, e.g. "
        "A*,CasA; !CasA leaves out. The others are not part of the model.",
    )(function)


def of_patches(model, patterns: Sequence[str]):
    """A sky model or model columns, as far as patches (directions) fit; raises `Failed` where a pattern fits none."""
    from rimetree import calibration
    from rimetree.calibration.terms.terms import is_among

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
    if len(sky) < 2 and not (sky and _divided(sky[0], names_of(summary))[0]):
        return read_model(sky[0] if sky else None, sky_format, skip_unsupported, model_columns, patches)
    if model_columns:
        raise click.UsageError("give a model to calibrate against: either --sky or --model-column")
    found: dict = {}
    rest: list[str] = []  # without a field: of all others
    for text in sky:
        names, file = _divided(text, names_of(summary))
        if names is None:
            rest.append(text)
            continue
        if not file:
            raise click.UsageError(f"--sky {text}: there is no file behind the field")
        model = read_model(file, sky_format, skip_unsupported, (), patches)
        for field in chosen_fields(summary, names) or range(len(summary["fields"])):
            if field in found:
                raise click.UsageError(
                    f"--sky {text}: field {fields_text([field], names_of(summary))} has a model already"
                )
            found[field] = model
    if len(rest) > 1:
        raise click.UsageError(f"--sky {rest[1]}: of several all but one must say their fields, e.g. --sky 0={rest[1]}")
    for text in rest:
        model = read_model(text, sky_format, skip_unsupported, (), patches)
        found = {**dict.fromkeys(range(len(summary["fields"])), model), **found}
    return found


def model_of(model, group):
    """That of a group, of {FIELD_ID: model} or one for all."""
    if not isinstance(model, dict):
        return model
    if group.field_id not in model:
        raise Failed(
            f"there is no model of field {group.field_id} ({group.field_name}); give --sky {group.field_id}=FILE, or "
            "choose fields with --field"
        )
    return model[group.field_id]


def by_model(model, groups) -> list[tuple[str, object, list]]:
    """[(which fields it is of, model, groups)], each group once, of {FIELD_ID: model} or one for all; "" says all
    fields. Raises `Failed` where a field has no model."""
    groups = list({(group.field_id, group.data_desc_ids): group for group in groups}.values())
    if not isinstance(model, dict):
        return [("", model, groups)]
    fields = {group.field_id: group for group in groups}
    return [
        (
            f"field {field} ({one.field_name})",
            model_of(model, one),
            [group for group in groups if group.field_id == field],
        )
        for field, one in fields.items()
    ]


def _divided(text: str, known: Sequence[str]) -> tuple[tuple[str, ...] | None, str]:
    """Fields and the file of [FIELD=]FILE. There may be a "=" in names of fields (1331+305=3C286) and of files."""
    from rimetree import Error, calibration
    from rimetree.sky.flux_calibrators import calibrator_of_path

    if "=" not in text or os.path.exists(text):
        return None, text
    for place in (match.start() for match in reversed(list(re.finditer("=", text)))):
        names = NAMES.convert(text[:place], None, None)
        try:
            if tuple(names) != ("all",):
                calibration.field_numbers(known, names)
        except Error:
            continue
        return names, text[place + 1 :].strip()
    if calibrator_of_path(text) is not None:
        return None, text
    names, _, file = text.partition("=")
    return NAMES.convert(names, None, None), file.strip()


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


def read_sky(file: str, file_format: str | None, skip_unsupported: bool, patches: Sequence[str] | None = None):
    """The sky model of a file, as far as `patches` fit; says what was left out."""
    from rimetree import sky
    from rimetree.sky.flux_calibrators import calibrator_of_path

    model = sky.read(file, file_format, skip_unsupported)
    if known := calibrator_of_path(file):
        log(str(known))
    for skipped in model.skipped:
        log(f"warning: left out {skipped}")
    if len(model) == 0:
        raise Failed(f"{file}: the sky model has no sources" + (" left" if model.skipped else ""))
    return of_patches(model, patches) if patches else model


def _is_calibrator(sky) -> bool:
    from rimetree.sky.flux_calibrators import find_calibrator

    return len(sky) == 1 and find_calibrator(sky.names[0]) is not None


def warn_of_sky(sky, groups, phase_centre) -> None:
    """Which sources of a model are where no telescope of this kind sees them, or whether all are far from where fields
    are, and where its beam is not known."""
    from rimetree.directions import angles_from

    warn_of_patterns(sky, groups)
    for group in {group.field_id: group for group in groups}.values():
        angles = angles_from(phase_centre or group.phase_centre_rad, sky.radec_rad)
        far = [name for name, angle in zip(sky.names, angles, strict=True) if angle > math.pi / 2]
        centre = f"the phase centre of field {group.field_id}"
        if far:
            log(
                f"warning: {len(far)} sources are more than 90 deg from {centre}: "
                f"{', '.join(far[:5])}{', ...' if len(far) > 5 else ''}"
            )
        elif len(angles) and angles.min() > (_APART_RAD if _is_calibrator(sky) else _FAR_RAD):
            log(
                f"warning: the nearest source of the sky model, {sky.names[int(angles.argmin())]}, is "
                f"{math.degrees(angles.min()):.3g} deg from {centre} ({group.field_name}): is it of this field?"
            )
