"""Calibration: solving for Jones terms of a Measurement Set, keeping the solutions, and using them.

from rimetree import calibration

terms = calibration.parse_terms(["G: diag, 2min, 8chan"])
solutions, = calibration.read_h5parm("sol.h5")
solutions["G"].gain()  # [time, freq, antenna, direction, 2, 2]
"""

from .apply import apply_tree, slots_of_tree
from .calibrate import calibrate, check
from .choosing import chain_for, solutions_for
from .correction import JonesUse, check_correction, correct, correction_bytes, count_new_flags
from .errors import CalibrationError
from .flux_scale import FluxRatio, transfer_flux_scale
from .h5parm import read_h5parm, write_h5parm
from .kinds import KINDS, Kind
from .memory import MemoryNeed
from .models import ModelColumns
from .new_flags import NewFlags
from .other_data import check_held, feed_warning, frequency_warning, start_warnings
from .pass_memory import memory_of_passes
from .planning import CalibrationOptions, GroupPlan, plan_groups
from .progress_file import forget_progress
from .reports import CalibrationReport, ChunkReport
from .residual_report import residual_json, without_signal
from .residuals import GroupResiduals, residuals
from .solutions import Solutions
from .solve_trees import DataSelection, SolverOptions
from .stages import Stage, field_numbers, plan_stages
from .term_solutions import INTERPOLATIONS, TermSolutions
from .terms import Interval, Term, parse_term, parse_terms

__all__ = [
    "INTERPOLATIONS",
    "KINDS",
    "CalibrationError",
    "CalibrationOptions",
    "CalibrationReport",
    "ChunkReport",
    "DataSelection",
    "FluxRatio",
    "GroupPlan",
    "GroupResiduals",
    "Interval",
    "JonesUse",
    "Kind",
    "MemoryNeed",
    "ModelColumns",
    "NewFlags",
    "Solutions",
    "SolverOptions",
    "Stage",
    "Term",
    "TermSolutions",
    "apply_tree",
    "calibrate",
    "chain_for",
    "check",
    "check_correction",
    "check_held",
    "correct",
    "correction_bytes",
    "count_new_flags",
    "feed_warning",
    "field_numbers",
    "forget_progress",
    "frequency_warning",
    "memory_of_passes",
    "parse_term",
    "parse_terms",
    "plan_groups",
    "plan_stages",
    "read_h5parm",
    "residual_json",
    "residuals",
    "slots_of_tree",
    "solutions_for",
    "start_warnings",
    "transfer_flux_scale",
    "without_signal",
    "write_h5parm",
]
