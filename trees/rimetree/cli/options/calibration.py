"""Options of `rimetree calibrate`, and what they become."""

from __future__ import annotations

import shlex
import sys

import click

from .applied_terms import of_terms
from .asked_calibration import AskedCalibration
from .names import NAMES
from .quantities import Count, Number, Quantity
from .with_options import with_options

_LENGTH = Quantity("length", {"m": 1.0, "km": 1e3, "lambda": -1.0, "klambda": -1e3}, 1.0, positive=False)


def solver_options(function):
    """--robust, --iterations, --scale-errors, --successive, --reference, --flag-data, --noise-per, --flag-solutions,
    --min-fraction, --min-snr, --uvmin, --uvmax."""
    return with_options(
        function,
        click.option("--uvmin", type=_LENGTH, help="Solve on baselines from this length on, e.g. 100m or 2klambda."),
        click.option("--uvmax", type=_LENGTH, help="Solve on baselines up to this length, e.g. 5km."),
        click.option(
            "--min-fraction",
            type=Number(min=0, max=1),
            default=0.0,
            help="Flag solutions of which less than this fraction of the data is good.",
        ),
        click.option(
            "--min-snr",
            type=Number(min=0),
            default=0.0,
            help="Flag solutions with less signal over noise than this: gains over their errors; phases, delays, "
            "rates, TEC and rotations by the gains of the same times and frequencies. 3 is usual; beside delays and "
            "rates 5 to 7, as the highest of many peaks of noise has more than 3.",
        ),
        click.option(
            "--flag-solutions",
            type=Number(min=0, min_open=True),
            metavar="SIGMA",
            help="Flag solutions that stand out by more than so many standard deviations (by the median of magnitudes) "
            "from the median of their antenna: amplitudes, delays, rates, TEC, rotations.",
        ),
        click.option(
            "--flag-data",
            type=Number(min=0, min_open=True),
            metavar="SIGMA",
            help="Leave out visibilities that stand out by more than so many standard deviations (by medians, for each "
            "baseline and correlation): before, by their magnitude, then by residuals, until no more are found. FLAG "
            "stays as it is.",
        ),
        click.option(
            "--noise-per",
            type=click.Choice(["baseline", "channel"]),
            help="Find the noise of each baseline, or each channel, from its residuals (by medians), and weigh data by "
            "it: for weights that are not 1/sigma^2.",
        ),
        click.option(
            "--robust",
            type=Number(min=0, max=1e6, min_open=True, max_open=True),
            metavar="DOF",
            help="Student's t with so many degrees of freedom (2 to 5 are usual): outliers do no harm.",
        ),
        click.option(
            "--iterations", type=Count(min=1), default=100, show_default=True, help="Steps of a fit, at most."
        ),
        click.option(
            "--scale-errors", is_flag=True, help="Scale errors by what the residuals say of the noise, not the weights."
        ),
        click.option(
            "--successive", is_flag=True, help="One direction after the other, in turns, instead of all together."
        ),
        click.option(
            "--reference", metavar="ANTENNA", help="Antenna that phases refer to; default: one with many data."
        ),
    )


def order_options(function):
    """--in-turn, --start, --hold, --hold-terms, --apply-to, --from-field, --flux-from."""
    return with_options(
        function,
        click.option(
            "--in-turn",
            is_flag=True,
            help="Solve for one term after the other, in the order given, while those before are held; else for all "
            "together.",
        ),
        click.option(
            "--start",
            multiple=True,
            metavar="FILE",
            help="Solutions (H5parm) at which terms of the same name begin, instead of a search; solved for as usual.",
        ),
        click.option(
            "--hold",
            multiple=True,
            metavar="FILE",
            help="Solutions (H5parm) that stand outside the terms and are held: solve on top of them. May be repeated, "
            "the outermost first. They are applied too, but not written to --out.",
        ),
        click.option(
            "--hold-terms",
            type=NAMES,
            metavar="NAMES",
            help="Hold these terms of --hold only: names or patterns, e.g. B,G*; !P leaves out.",
        ),
        click.option(
            "--apply-to",
            type=NAMES,
            metavar="FIELD",
            help="Apply to these fields (numbers, names, patterns or all) instead of those solved on.",
        ),
        click.option(
            "--from-field",
            type=NAMES,
            metavar="FIELD",
            help="With --apply: use the solutions of these fields only, of terms that have any there.",
        ),
        click.option(
            "--flux-from",
            type=NAMES,
            metavar="FIELD",
            help="The field whose model is right: amplitudes on the other fields, whose models may be too bright or "
            "too faint as a whole, are scaled to it, and their fluxes printed.",
        ),
    )


def held_files(asked: AskedCalibration) -> list:
    """The solutions of each file of --hold, of the terms of --hold-terms."""
    from rimetree import calibration

    files = [calibration.read_solutions(file) for file in asked.hold]
    return files if asked.hold_terms is None else of_terms(files, asked.hold_terms, "--hold-terms")


def calibration_options(asked: AskedCalibration, field_id, selection, summary: dict):
    """The `CalibrationOptions` of the command; `field_id`, `selection`: the data that it chose."""
    from rimetree import calibration

    least, most = asked.uvmin, asked.uvmax
    limits = {}
    for name, value in (("min", least), ("max", most)):
        if value is not None:
            limits[f"{name}_m" if value >= 0 else f"{name}_wavelengths"] = abs(value)
    return calibration.CalibrationOptions(
        data=calibration.DataSelection(column=asked.data_column, **limits),
        solver=calibration.SolverOptions(
            iterations=asked.iterations,
            robust_dof=asked.robust or 0.0,
            errors_from_residuals=asked.scale_errors,
            successive=asked.successive,
        ),
        data_desc_id=asked.ddid,
        field_id=field_id,
        selection=selection,
        in_turn=asked.in_turn,
        start=[one for file in asked.start for one in calibration.read_solutions(file)],
        flag_solutions=asked.flag_solutions or 0.0,
        flag_data=asked.flag_data or 0.0,
        noise_per=asked.noise_per or "",
        min_fraction=asked.min_fraction,
        min_snr=asked.min_snr,
        average_loss=asked.average_loss or 0.0,
        average_radius_rad=asked.average_radius,
        held=held_files(asked),
        interpolation=asked.interpolation,
        reference=asked.reference,
        phase_centre_rad=asked.phase_centre,
        smearing=not asked.no_smearing,
        precision=asked.precision,
        tolerance=asked.tolerance,
        device=asked.device,
        threads=asked.threads,
        memory_bytes=int(asked.memory) if asked.memory else None,
        resume=asked.resume,
        overwrite=asked.overwrite,
        provenance={
            "command": shlex.join(["rimetree", *sys.argv[1:]]),
            "sky_model": " ".join([*asked.sky, *asked.model_columns]),
            "uvw_family": summary["uvw"]["family"],
        },
    )
