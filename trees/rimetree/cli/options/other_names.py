"""What options are called in other programs: CASA, DP3, hyperdrive and others."""

from __future__ import annotations

import click

#: The option of ours that does what one of these names does elsewhere.
_OPTIONS = {
    "--ddid": "spw spws spwid ddids data-desc-id window windows band",
    "--reference": "refant ref-ant ref-antenna reference-antenna",
    "--channels": "chan chans channel nchan freq-range",
    "--time": "timerange time-range timesteps",
    "--uvmin": "uvrange uv-range uvdist uv-min min-uv uvw-min uvlambdamin uvmmin",
    "--uvmax": "uvrange uv-range uvdist uv-max max-uv uvw-max uvlambdamax uvmmax",
    "--scan": "scans scan-numbers",
    "--field": "fields field-id field-ids source-name",
    "--sky": "model models source-list sourcedb srclist sky-model skymodel lsm",
    "--data-column": "column datacolumn data-col msin-datacolumn input-column",
    "--column": "data-column datacolumn data-col output-column",
    "--out": "caltable parmdb output outputs h5parm sol-file gain-directory outfile",
    "--solutions": "gaintable applycal parmdb caltable h5parm",
    "--iterations": "niter maxiter max-iterations maxit iters",
    "--min-snr": "snr snr-limit",
    "--min-fraction": "minblperant min-bl-per-ant",
    "--threads": "nthreads ncpu ncores numthreads",
    "--memory": "mem absmem",
}
#: What is said in a term.
_TERMS = {
    "an interval": "solint time-interval freq-interval solution-interval timesteps-per-timeblock",
    "a kind": "gaintype calmode bandtype caltype mode",
    "what solutions share": "combine",
}
_EXAMPLE = 'e.g. --term "G: diag, 2min, 8chan"'


def say_ours(problem: click.NoSuchOption) -> None:
    """Makes the message about an option that a command does not have say what does the same here, if anything does."""
    if problem.ctx is None:
        return
    own = {name for one in problem.ctx.command.params for name in one.opts}
    asked = problem.option_name.lstrip("-").replace("_", "-").lower()
    found = [ours for ours, names in _OPTIONS.items() if ours in own and asked in names.split()]
    if found:
        problem.possibilities = sorted(found)
    elif "--term" in own:
        for what, names in _TERMS.items():
            if asked in names.split():
                problem.message = f"No such option {problem.option_name!r}: {what} is part of a term, {_EXAMPLE}"
                problem.possibilities = None
