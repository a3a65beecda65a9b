"""Solutions applied to the groups of a set: what is checked, said, flagged and written."""

from __future__ import annotations

import shlex

import click

from ...some_names import some_names
from ..errors import NothingUsable
from ..options.asked_rows import ChosenRows
from ..options.centre import warn_of_directions
from ..options.models import model_of
from ..options.sets import check_output
from ..output import log
from .applied import AppliedNotes, applied_digests, summed_digests
from .applying_text import new_flags_text, warn_of_antennas, warn_of_family, warn_of_other_data
from .groups import memory_text, run_in_turn
from .new_columns import fill_new_column


def run_apply(ms, files, rows: ChosenRows, options: dict, resources: dict, accuracy: dict, **how) -> list:
    """Write corrected data of `rows`; `options` as of `calibration.apply_tree`, but that what to subtract may be
    {FIELD_ID: model}. Or, if there is a `sky`, what is predicted of it with the solutions; `options` then as of
    `calibration.corrupted_tree`. `files`: solution sets, those of the first file stand outside the others'. Returns
    [(group, RunReport)].

    `how`: `dry_run`, `wait` (s), `save_flags`: whether to keep a version of the flags first, `summary` of the set,
    `again`: whether the same may be done a second time to data that are replaced.
    Raises `NothingUsable`, and then nothing has changed, where all data that are not flagged would be.
    """
    import rimetree as rt
    from rimetree import calibration

    predicts = "sky" in options
    what = "sky" if predicts else "subtract"
    read = _column_read(options)
    check_output(ms, options["column"], how.get("wait", 0.0), read=read, save_flags=how.get("save_flags", True))
    summary = how.get("summary") or rt.ms.inspect(ms, scan_cells=False)
    groups = rows.groups(ms, summary, by_window=True)
    if isinstance(options[what], rt.sky.SkyModel | dict):
        warn_of_directions(summary, [group.field_id for group in groups], options["phase_centre_rad"])
    rows.check(ms, groups)
    for group in groups if read is not None else ():
        group.require_column(read)
    sets = [one for own in files for one in own]
    warn_of_family(summary, sets)
    chosen = [calibration.chain_for(files, group) for group in groups]
    log(f"terms of the solutions: {calibration.terms_text(chosen)}")
    models = [model_of(options[what], group) for group in groups]
    notes = _notes(ms, groups, chosen, models, rows.selection, options)
    if notes is not None:
        notes.check(bool(how.get("again")))
    jobs = [
        _Job(group, solutions, {**options, what: model}, resources, accuracy)
        for group, solutions, model in zip(groups, chosen, models, strict=True)
    ]
    counts = [job.new_flags(dry=bool(how.get("dry_run"))) for job in jobs]
    warn_of_antennas(groups, chosen)
    warn_of_other_data(groups, chosen, models, options["smearing"])
    _refuse_useless(ms, groups, sets, counts)
    if how.get("dry_run"):
        for job in jobs:
            click.echo(f"{job.group}; {job.memory_text()}")
        click.echo(new_flags_text(groups, counts))
        click.echo("dry run: nothing was written")
        return []
    if how.get("save_flags", True):
        version = rt.ms.save_flags_before(ms, "simulate" if predicts else "apply")
        restoring = shlex.join(["rimetree", "flags", "restore", str(ms), version.name])
        log(f"flags are saved as {version.name}: `{restoring}` brings them back")
    if read is not None:
        fill_new_column(ms, groups, read, options["column"], how.get("wait", 0.0))
    reports = run_in_turn(ms, jobs, wait_s=how.get("wait", 0.0))
    if notes is not None:
        notes.add()
    click.echo(new_flags_text(groups, [job.flagged() for job in jobs]))
    return reports


def _column_read(options: dict) -> str | None:
    """The column with visibilities that is read, if any is."""
    if "sky" not in options:
        return options["data_column"]
    return options["add_to"] or options["subtract_from"]


def _notes(ms, groups, chosen, models, selection, options: dict) -> AppliedNotes | None:
    """Of what is to be done to the column that is read; None where another one is written."""
    if options["column"] != _column_read(options):
        return None

    def digests(solutions, model) -> dict[str, str]:
        if "sky" not in options:
            return applied_digests(solutions, model, correct=options["correct"], direction=options["direction"])
        subtract = options["subtract_from"] is not None
        return summed_digests(model, options["noise"], subtract=subtract, solutions=solutions)

    done = [(group, digests(solutions, model)) for group, solutions, model in zip(groups, chosen, models, strict=True)]
    return AppliedNotes(ms, options["column"], done, selection)


class _Job:
    """Applying solutions to one group: in one pass over its data, or, where there is a model, by a tree."""

    def __init__(self, group, solutions, options: dict, resources: dict, accuracy: dict):
        import rimetree as rt
        from rimetree import calibration

        self.group = group
        self._solutions, self._options, self._resources, self._accuracy = solutions, options, resources, accuracy
        memory = resources["memory"]
        self._memory_bytes = int(memory) if memory else None
        self._scope, self._uses = None, []
        if "sky" not in options and options["subtract"] is None:
            # No tree runs then, but what is asked for and is not there is a mistake all the same.
            nothing = rt.NodeScope()
            nothing.none << rt.Constant(0.0)
            self._forest(nothing)
            calibration.check_correction(group, solutions, options["direction"])
            self._uses.append(calibration.JonesUse(solutions, options["direction"], options["interpolation"]))
        else:
            if memory is None and resources["time_slots"] is None:
                self._resources = {**resources, "time_slots": calibration.slots_of_tree(group)}
            self._scope = rt.NodeScope()
            tree = calibration.corrupted_tree if "sky" in options else calibration.apply_tree
            tree(self._scope, group, solutions, used=self._uses, **options)

    def new_flags(self, *, dry: bool):
        """What will be flagged, as far as can be told before. Where that is nothing, data are only counted if that is
        all that is done."""
        from rimetree import calibration

        names = [self.group.antenna_names[antenna] for antenna in self.group.antennas]
        if self._scope is None and not dry and all(use.complete(names) for use in self._uses):
            return calibration.NewFlags.none(names)
        self._before = calibration.count_new_flags(self.group, self._uses)
        return self._before

    def flagged(self):
        """What was newly flagged."""
        from rimetree import calibration

        if self._scope is None:
            return self._after
        return self._before.after(calibration.count_new_flags(self.group, []))

    def _forest(self, scope):
        import rimetree as rt

        how = {"threads": self._resources["threads"], "memory_bytes": self._memory_bytes}
        return rt.Forest(scope, device=self._resources["device"], **how)

    def memory_text(self) -> str:
        from rimetree import calibration
        from rimetree.machine import size_text

        slots = self._resources["time_slots"]
        if self._scope is not None:
            return memory_text(self._forest(self._scope), self.group, slots)
        column = self._options["data_column"]
        size = calibration.correction_bytes(self.group, column, self._memory_bytes, slots)
        return f"data that are in memory at a time take at most {size_text(size)}"

    def run(self, **options):
        from rimetree import calibration

        options["time_slots"] = self._resources["time_slots"]
        if self._scope is not None:
            return self._forest(self._scope).run(self.group.path, **options, **self._accuracy, **self.group.selection)
        same = {key: self._options[key] for key in ("direction", "interpolation", "data_column", "column")}
        how = {"threads": self._resources["threads"], "memory_bytes": self._memory_bytes}
        report, self._after = calibration.correct(self.group, self._solutions, **same, **how, **options)
        return report


def _refuse_useless(ms, groups, sets, counts) -> None:
    """Raises where no data would be left; says so of single windows."""
    useless = [(group, count) for group, count in zip(groups, counts, strict=True) if count.nothing_left]
    if len(useless) < len(groups):
        for group, count in useless:
            where = f"field {group.field_id}, window {group.data_desc_ids[0]}"
            reasons = "; ".join(reason for reason, number in count.new_of_antenna.items() if number.any())
            why = f"all its data are flagged now, {reasons}" if reasons else "all its data were flagged before"
            log(f"warning: nothing can be used for {where}: {why}")
        return
    known = list(dict.fromkeys(name for solutions in sets for term in solutions.terms for name in term.antennas))
    if not set(known) & {group.antenna_names[a] for group in groups for a in group.antennas}:
        reason = (
            f"they are for other antennas ({some_names(known)}) than the set has ({some_names(counts[0].antennas)})"
        )
    else:
        reasons = dict.fromkeys(reason for count in counts for reason in count.new_of_antenna)
        reason = "; ".join(reasons) or "all of them are flagged"
    raise NothingUsable(f"nothing of the solutions can be used for {ms}: {reason}. The set is left as it is")
