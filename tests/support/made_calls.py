"""Right arguments of public functions that make and compare solutions, and of tables of Parms (test_arguments.py has
all others)."""

import rimetree as rt
from rimetree import calibration


def made_calls(path, solutions):
    """{name: (function, arguments that are right)}."""
    made = calibration.parse_made_term("T: tec, 1slot, spread 1TECU at 1km, wind 3m/s 20deg")
    drawn = calibration.parse_made_term("K: delay, 1slot, spread 1ns")
    about = {**vars(drawn), "mean": 1e-9, "over_s": 60.0, "over_hz": None}
    sets = {"true": [solutions], "found": [solutions], "method": "nearest"}
    return {
        "calibration.MadeTerm": (calibration.MadeTerm, about),
        "calibration.Screen": (calibration.Screen, vars(made.screen)),
        "calibration.compare_solutions": (calibration.compare_solutions, sets),
        "calibration.make_solutions": (calibration.make_solutions, {"path": path, "terms": [drawn], "seed": 0}),
        "calibration.parse_made_term": (calibration.parse_made_term, {"text": "G: diag, phase 3deg"}),
        "calibration.parse_made_terms": (calibration.parse_made_terms, {"texts": ["G: diag, phase 3deg"]}),
    }


def table_calls(path, forest, solver, cells):
    """{name: (function, arguments that are right)}."""
    solves = [forest.solve(solver, cells)]
    table = rt.ParmTable.of(forest, solves)
    table.write(path)
    stored = next(iter(table.values()))
    return {
        "ParmTable": (rt.ParmTable, {"parms": {"p": stored}}),
        "ParmTable.joined": (table.joined, {"later": table}),
        "ParmTable.of": (rt.ParmTable.of, {"forest": forest, "solves": solves}),
        "ParmTable.put_into": (table.put_into, {"forest": forest}),
        "ParmTable.read": (rt.ParmTable.read, {"path": path}),
        "ParmTable.write": (table.write, {"path": path}),
        "StoredParm": (rt.StoredParm, vars(stored)),
    }
