"""Calibration: solving for Jones terms of a Measurement Set, keeping the solutions, and using them.

from rimetree import calibration

terms = calibration.parse_terms(["G: diag, 2min, 8chan"])
solutions, = calibration.read_h5parm("sol.h5")
solutions["G"].gain()  # [time, freq, antenna, direction, 2, 2]
"""

from __future__ import annotations

from ..loading import when_used

#: Modules, and the names that they give. They are loaded when they are used: whoever applies solutions solves nothing.
_MODULES = {
    "apply": "apply_tree corrupted_tree slots_of_tree",
    "solutions.beam_solutions": "beam_solutions",
    "solutions.casa_tables": "casa_order_warning read_casa_table",
    "solutions.casa_writing": "write_casa_tables",
    "calibrating": "calibrate check",
    "solutions.comparison": "SolutionDifference compare_solutions",
    "solutions.choosing": "chain_for solutions_for",
    "solutions.correction": "JonesUse check_correction correct correction_bytes count_new_flags",
    "errors": "CalibrationError",
    "making.made_terms": "MadeTerm parse_made_term parse_made_terms",
    "making.make_solutions": "make_solutions",
    "making.screens": "Screen",
    "solutions.flux_scale": "FluxRatio transfer_flux_scale",
    "solutions.h5parm": "read_h5parm write_h5parm",
    "terms.kinds": "KINDS Kind",
    "memory": "MemoryNeed",
    "model.models": "ModelColumns seen_warning",
    "solutions.new_flags": "NewFlags",
    "solutions.other_data": "check_held feed_warning frequency_warning held_warning start_warnings time_warning",
    "pass_memory": "memory_of_passes",
    "plan.planning": "CalibrationOptions GroupPlan plan_groups",
    "progress_file": "forget_progress",
    "report.reports": "CalibrationReport ChunkReport",
    "report.residual_data": "GroupResiduals residuals",
    "report.residual_report": "residual_json without_signal",
    "solutions.solution_files": "joined_sets read_solutions terms_text",
    "solutions.solutions": "Solutions",
    "plan.solve_trees": "DataSelection SolverOptions",
    "stages": "Stage field_numbers plan_stages",
    "solutions.term_solutions": "INTERPOLATIONS TermSolutions",
    "terms.terms": "Interval Term parse_term parse_terms",
}

__all__ = [name for names in _MODULES.values() for name in names.split()]

__getattr__, __dir__ = when_used(__name__, _MODULES)
