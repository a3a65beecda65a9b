"""Calibration: solving for Jones terms of a Measurement Set, keeping the solutions, and using them.

from rimetree import calibration

terms = calibration.parse_terms(["G: diag, 2min, 8chan"])
solutions, = calibration.read_h5parm("sol.h5")
solutions["G"].gain()  # [time, freq, antenna, direction, 2, 2]
"""

from .apply import apply_tree, groups_by_window, solutions_for
from .calibrate import calibrate, check
from .errors import CalibrationError
from .h5parm import read_h5parm, write_h5parm
from .kinds import KINDS, Kind
from .memory import MemoryNeed
from .models import ModelColumns
from .new_flags import NewFlags, count_new_flags
from .planning import CalibrationOptions, GroupPlan, plan_groups
from .reports import CalibrationReport, ChunkReport
from .solutions import Solutions
from .solve_trees import DataSelection, SolverOptions
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
    "GroupPlan",
    "Interval",
    "Kind",
    "MemoryNeed",
    "ModelColumns",
    "NewFlags",
    "Solutions",
    "SolverOptions",
    "Term",
    "TermSolutions",
    "apply_tree",
    "calibrate",
    "check",
    "count_new_flags",
    "groups_by_window",
    "parse_term",
    "parse_terms",
    "plan_groups",
    "read_h5parm",
    "solutions_for",
    "write_h5parm",
]
