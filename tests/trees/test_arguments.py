"""Every public function, called with each of its arguments wrong: of another type, of another unit, of a shape that
cannot be. The message names the argument."""

import types
from dataclasses import fields, is_dataclass

import astropy.units as u
import numpy as np
import pytest
from beam_cubes import write_cubes
from beamfits import some_pattern, write_beamfits
from made_calls import made_calls, table_calls

import rimetree as rt
from rimetree import calibration, ms, sky, telescopes
from rimetree.arguments import unit_of_name
from rimetree.sky.source import PROFILES

#: What functions give back; nobody calls them to make one.
RESULTS = {
    *(rt.DerivativeCheck, rt.NodeDef, rt.NodeStub, rt.Parameter, rt.Result, rt.SkyNodes, rt.SolutionFlag),
    *(rt.SolveReport, rt.Verification, ms.Created, ms.MsGroup, ms.RunReport, sky.Skipped),
    *(calibration.CalibrationReport, calibration.ChunkReport, calibration.GroupPlan, calibration.Kind),
    *(calibration.MemoryNeed, calibration.NewFlags, calibration.Stage, calibration.FluxRatio, calibration.JonesUse),
    *(calibration.GroupResiduals, calibration.SolutionDifference, ms.FlagChange, ms.FlagVersion),
}

WRONG_SHAPE = np.ones((2, 1, 3, 1, 2, 1, 2))


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """{name: (function, arguments that are right)}."""
    folder = tmp_path_factory.mktemp("arguments")
    path = str(folder / "a.ms")
    telescope = telescopes.get("kat-7")
    ms.create(path, telescope, phase_centre_rad=(0.3, -0.5), duration_s=20, integration_s=10, columns=["DATA"])
    (group,) = ms.groups(path)
    model = sky.SkyModel([sky.Source("a", 0.3, -0.5, (1, 0, 0, 0))])
    ns = rt.NodeScope()
    ns.p << rt.Parm(1.0, solvable=True)
    ns.chi2 << rt.ChiSquare(rt.Condeq(2.0, ns.p))
    ns.solver << rt.Solver(rt.Condeq(2.0, ns.p))
    forest = rt.Forest(ns)
    cells = rt.Cells([1.0], [1e9])
    exact = {"precision": "double", "tolerance": 1e-9}
    terms = calibration.parse_terms(["G: diag"])
    options = calibration.CalibrationOptions()
    axes = {"time_s": [1.0], "time_width_s": [1.0], "frequency_hz": [1e9], "frequency_width_hz": [1e6]}
    axes = {name: np.array(value) for name, value in axes.items()} | {"antennas": ("A",), "directions": ("",)}
    found = calibration.TermSolutions.empty("G", "scalar", ("",), axes)
    solutions = calibration.Solutions((found,))
    text = str(folder / "a.skymodel")
    sky.write(model, text)
    tables = str(folder / "a.h5")
    use = calibration.JonesUse(solutions, None)
    casa = {"files": [[solutions]], "direction": "x"}
    grids = [1e8], np.radians(np.arange(0, 360, 15)), np.radians(np.arange(0, 91, 15))
    standing = write_beamfits(folder / "a.beamfits", some_pattern(*grids), *grids)
    calibration.write_h5parm(tables, solutions)
    asked = {"terms": terms, "options": options}
    stages = calibration.plan_stages(path, **asked)
    tree = {"sky": model, "phase_centre_rad": (0.3, -0.5), "baselines": [(0, 1)], "feed": "linear"}
    tree |= {"smearing": True, "column": "MODEL_DATA", "noise_jy": 1.0, "sefd_jy": 0.0, "seed": 3}
    rows = {"data_desc_id": 0, "field_id": 0, "autocorrelations": False, "time_slots": 1, "channels": (0, 4)}
    rows |= {"time_range_s": (0.0, 1e10), **exact, "verify": 0, "part": (0, 1, 5), "join_windows": False}
    source = {"name": "a", "ra_rad": 0.1, "dec_rad": 0.1, "stokes_jy": (1, 0, 0, 0), "ref_freq_hz": 1e9}
    source |= {"spectrum": (0.1,), "logarithmic": True, "spectrum_scales_polarisation": True, "rm_rad_m2": 0.1}
    predicted = {"uvw_m": [[1.0, 2, 3]], "frequency_hz": [1e9], "lmn": [[0.0, 0, 1]], "stokes": [[1.0, 0, 0, 0]]}
    predicted |= {"duvw_m_s": [[0.0, 0, 0]], "exposure_s": 1.0, "channel_width_hz": 1e6}
    predicted |= {profile: [[0.0, 0, 0]] for profile in PROFILES}
    one_shape = dict.fromkeys(PROFILES) | {PROFILES[0]: (0.1, 0.1, 0.1)}
    index = rt.each(["a", "b"])
    return {
        "each": (rt.each, {"values": ["a", "b"], "members": 1}),
        "record": (rt.record, {"function": lambda cells: 1.0}),
        "over": (rt.over, {"index": index, "nodes": ns.family(index)}),
        "product_order": (rt.product_order, {"order": "xgpu", "n_input": 4}),
        "samples_to_order": (
            rt.samples_to_order,
            {"codes": np.zeros((16, 1, 2), np.uint16), "order": "tcc", "format": "int8"},
        ),
        "samples_from_order": (
            rt.samples_from_order,
            {"samples": np.zeros((16, 1, 1, 2, 2), np.int8), "order": "xgpu"},
        ),
        "integers_to_order": (rt.integers_to_order, {"sums": np.zeros(10), "order": "xgpu"}),
        "integers_from_order": (
            rt.integers_from_order,
            {"numbers": np.zeros((10, 2), np.int32), "order": "chime", "n_input": 4},
        ),
        "to_order": (rt.to_order, {"products": np.zeros(10), "order": "xgpu"}),
        "from_order": (rt.from_order, {"values": np.zeros((3, 2, 2)), "order": "xgpu", "n_input": 4}),
        "correlate": (
            rt.correlate,
            {"voltages": np.zeros((4, 1, 2), np.uint8), "format": "chime", "integration": 2, "strategy": "pairs"},
        ),
        "product_inputs": (rt.product_inputs, {"n_input": 3}),
        "Cells": (rt.Cells, {"time_s": 1.0, "freq_hz": 1e9, "time_width_s": 1, "freq_width_hz": 1, "l": 0, "m": 0}),
        "Forest": (rt.Forest, {"scope": ns, "threads": 1, "memory_bytes": 10**9, "device": "none"}),
        "Forest.evaluate": (forest.evaluate, {"node": ns.p, "cells": cells, **exact, "verify": 0}),
        "Forest.result": (forest.result, {"node": ns.p, "cells": cells, **exact, "derivatives": True, "verify": 0}),
        "Forest.results": (forest.results, {"nodes": [ns.p], "cells": cells, **exact, "derivatives": False}),
        "Forest.solve": (forest.solve, {"solver": ns.solver, "cells": cells, **exact, "progress": print}),
        "Forest.solve_tiles": (forest.solve_tiles, {"tiles": ms.Tiles(path, [], ms.run_options()), **exact}),
        "Forest.run": (forest.run, {"path": path, "progress": print, "solve_progress": print, **rows}),
        "Forest.get_state": (forest.get_state, {"node": ns.p}),
        "Forest.set_state": (forest.set_state, {"node": ns.p, "value": 1.0, "solvable": True}),
        "Forest.set_parameters": (forest.set_parameters, {"x": [1.0]}),
        "Forest.value_and_gradient": (
            forest.value_and_gradient,
            {"node": ns.chi2, "cells": cells, "x": [1], **exact},
        ),
        "Forest.chi_square": (forest.chi_square, {"node": ns.chi2, "cells": cells, "x": [1.0]}),
        "Forest.check_derivatives": (forest.check_derivatives, {"node": ns.chi2, "cells": cells, **exact}),
        "Forest.plan": (forest.plan, {"n_time": 1, "n_freq": 1}),
        "Forest.describe": (forest.describe, {"cells": cells, **exact}),
        "MsObjective": (rt.MsObjective, {"forest": forest, "path": path, "node": ns.chi2, "memory_bytes": 10**6}),
        "NodeScope": (rt.NodeScope, {"prefix": "", "quals": ()}),
        "NodeScope.Subscope": (ns.Subscope, {"name": "a"}),
        "NodeScope.MakeConstant": (ns.MakeConstant, {"value": 1.0}),
        "NodeScope.Search": (ns.Search, {"name": ".*", "class_name": "Parm"}),
        "load_plugin": (rt.load_plugin, {"path": "none.so"}),
        "predict": (rt.predict, {**predicted, "device": "cpu", **exact, "verify": 0, "found": [], "threads": 1}),
        "parallactic_angle": (rt.parallactic_angle, {"radec_rad": (0.3, -0.5), "xyz_m": telescope.ecef_m[0]}),
        "azimuth_elevation": (rt.azimuth_elevation, {"radec_rad": (0.3, -0.5), "xyz_m": telescope.ecef_m[0]}),
        "feed_rotation": (rt.feed_rotation, {"angle_rad": 0.1, "feed": "linear"}),
        "sky_nodes": (rt.sky_nodes, {"ns": ns, "sky": model, "phase_centre_rad": (0.3, -0.5), "feed": "linear"}),
        "ReceiverNoise": (rt.ReceiverNoise, {"noise_jy": 0.0, "sefd_jy": [400.0, 500.0], "seed": 3}),
        "psv_tree": (rt.psv_tree, {"ns": rt.NodeScope(), **tree}),
        "many_node_tree": (rt.many_node_tree, {"ns": rt.NodeScope(), **tree}),
        "ms.Band": (ms.Band, {"frequency_hz": [1e9], "width_hz": [1e6], "name": "a"}),
        "ms.Band.regular": (ms.Band.regular, {"centre_hz": 1e9, "bandwidth_hz": 1e6, "channels": 4, "name": "a"}),
        "ms.Band.of": (ms.Band.of, {"frequency_hz": [1e9], "width_hz": 1e6, "name": "a"}),
        "ms.OpenSet": (ms.OpenSet, {"path": path}),
        "ms.Tiles": (ms.Tiles, {"path": path, "columns": ["DATA"], "options": ms.run_options()}),
        "ms.baselines": (ms.baselines, {"path": path, **rows}),
        "ms.Scan": (ms.Scan, {"phase_centre_rad": (0.1, 0.1), "duration_s": 20.0, "field_name": "a"}),
        "ms.Selection": (ms.Selection, vars(ms.Selection())),
        "ms.create": (
            ms.create,
            {"path": path, "telescope": telescope, "phase_centre_rad": (0.1, 0.1), "duration_s": 20.0, "scans": ()}
            | {"integration_s": 10.0, "start": "2025-01-01", "start_mjd_s": 5e9, "start_hour_angle_rad": 0.0}
            | {"bands": ms.Band((1e9,), (1e6,)), "correlations": "XX YY", "autocorrelations": False}
            | {"weight_spectrum": False, "columns": ["DATA"], "field_name": "a", "overwrite": False},
        ),
        "ms.feed_of": (ms.feed_of, {"correlations": [9, 12]}),
        "ms.groups": (
            ms.groups,
            {"path": path, "data_desc_id": 0, "field_id": 0, "autocorrelations": False, "by_window": True},
        ),
        "ms.inspect": (ms.inspect, {"path": path, "scan_cells": False}),
        "ms.run_options": (ms.run_options, rows),
        "ms.check_writable": (ms.check_writable, {"path": path, "columns": ["DATA"], "wait_s": 0.0}),
        "ms.flag_versions": (ms.flag_versions, {"path": path}),
        "ms.require_flag_versions": (ms.require_flag_versions, {"path": path}),
        "ms.save_flags": (ms.save_flags, {"path": path, "name": "a", "comment": "b"}),
        "ms.save_flags_before": (ms.save_flags_before, {"path": path, "what": "b"}),
        "ms.restore_flags": (ms.restore_flags, {"path": path, "name": "none", "wait_s": 0.0}),
        "ms.sample_coordinates": (ms.sample_coordinates, {"path": path, "count": 3}),
        "ms.without_averaging": (ms.without_averaging, {"options": {"average_slots": 2}}),
        "ms.sample_tiles": (ms.sample_tiles, {"path": path, "columns": ["DATA"], "count": 1}),
        "ms.slot_times": (ms.slot_times, {"path": path, "field_id": 0}),
        "ms.require_slots": (ms.require_slots, {"path": path, "found": [group], "selection": ms.Selection()}),
        "ms.scans": (ms.scans, {"path": path, "field_id": 0}),
        "ms.slot_scans": (ms.slot_scans, {"path": path, "field_id": 0}),
        "ms.numbered_scans": (ms.numbered_scans, {"path": path, "field_id": 0}),
        "ms.tiles": (ms.tiles, {"path": path, "columns": ["DATA"], "time_slots": 1}),
        "sky.Source": (
            sky.Source,
            {**source, **one_shape, "patch": "p", "shape_in_plane": False, "shapelets": None, "table": None},
        ),
        "sky.FluxTable": (sky.FluxTable, {"frequency_hz": [1e8, 2e8], "stokes_jy": [1.0, 2.0], "power_laws": True}),
        "sky.Shapelets": (
            sky.Shapelets,
            {"major_rad": 0.1, "minor_rad": 0.1, "pa_rad": 0.0, "coefficients": [(0, 0, 1.0)]},
        ),
        "sky.SkyModel": (sky.SkyModel, {"sources": model.sources}),
        "sky.SkyModel.seen_through": (model.seen_through, {"beam": rt.Beam("gaussian", 0.01, 1e9)}),
        "calibration.seen_warning": (
            calibration.seen_warning,
            {"solutions": solutions, "model": model, "smearing": True},
        ),
        "lofar_beams": (rt.lofar_beams, {"ms": path, "pointing_rad": (0.3, -0.5)}),
        "StationBeam": (
            rt.StationBeam.of_elements,
            {
                "elements_m": [[0.0, 0.0, 0.0], [1.0, 2.0, 0.0]],
                "site_m": (5109270.0, 2006780.0, -3239050.0),
                "element": "short",
                "height_m": 0.3,
                "x_azimuth_rad": 0.7,
                "y_azimuth_rad": 2.3,
                "tile_elements_m": [[0.0, 0.5], [0.5, 0.0]],
                "weights": [1.0, 0.5],
                "pointing_rad": (0.3, -0.5),
                "name": "core",
            },
        ),
        "BeamPattern": (
            rt.BeamPattern.read,
            {
                "files": write_cubes(folder, np.ones((2, 2, 2, 4)), *[np.array([1.0, 2.0])] * 3),
                "pointing_rad": (0.3, -0.5),
                "site_m": (5109270.0, 2006780.0, -3239050.0),
                "method": "cubic",
            },
        ),
        "StandingPattern": (rt.StandingPattern.read, {"file": standing, "site_m": (5109270.0, 2006780.0, -3239050.0)}),
        "PolynomialBeam": (rt.PolynomialBeam.of_telescope, {"name": "vla", "pointing_rad": (0.3, -0.5)}),
        "Beam": (
            rt.Beam,
            {
                "profile": "airy",
                "width_rad": 0.01,
                "ref_freq_hz": 1e9,
                "blockage": 0.1,
                "pointing_rad": None,
                "azel_rad": (0.3, 0.5),
                "site_m": (5109270.0, 2006780.0, -3239050.0),
            },
        ),
        "Beam.of_dish": (rt.Beam.of_dish, {"diameter_m": 12.0, "blockage_m": 1.0, "pointing_rad": (0.3, -0.5)}),
        "sky.SkyModel.select": (model.select, {"where": bool, "names": ["a"], "patches": [], "min_flux_jy": 0.1}),
        "sky.synthetic.SyntheticSky": (sky.synthetic.SyntheticSky, vars(sky.synthetic.SyntheticSky())),
        "sky.synthetic.random": (sky.synthetic.random, {"count": 3, "sky": sky.synthetic.SyntheticSky()}),
        "sky.synthetic.grid": (sky.synthetic.grid, {"side": 3, "sky": sky.synthetic.SyntheticSky()}),
        "sky.calibrator": (sky.calibrator, {"name": "3C286", "scale": "Perley"}),
        "sky.detect": (sky.detect, {"text": "", "file": "a"}),
        "sky.read": (sky.read, {"path": text, "format": "bbs", "skip_unsupported": False}),
        "sky.write": (sky.write, {"model": model, "path": text, "format": "bbs"}),
        "sky.format_to_write": (sky.format_to_write, {"path": text}),
        "telescopes.Telescope": (telescopes.Telescope, vars(telescope)),
        "telescopes.get": (telescopes.get, {"name": "vla"}),
        "telescopes.read": (telescopes.read, {"path": "none.csv"}),
        "calibration.CalibrationOptions": (calibration.CalibrationOptions, vars(options)),
        "calibration.DataSelection": (calibration.DataSelection, vars(options.data)),
        "calibration.SolverOptions": (calibration.SolverOptions, vars(options.solver)),
        "calibration.Interval": (calibration.Interval, {"quantity": 1.0, "count": 1, "scans": 1}),
        "calibration.ModelColumns": (calibration.ModelColumns, {"columns": {"a": "MODEL_DATA"}}),
        "calibration.ModelColumns.parse": (calibration.ModelColumns.parse, {"texts": ["MODEL_DATA"]}),
        "calibration.Term": (calibration.Term, vars(terms[0])),
        "calibration.TermSolutions": (calibration.TermSolutions, vars(found)),
        "calibration.Solutions": (calibration.Solutions, vars(solutions)),
        "calibration.apply_tree": (
            calibration.apply_tree,
            {"ns": rt.NodeScope(), "group": group, "solutions": solutions, "correct": True, "subtract": model}
            | {"direction": "a", "interpolation": "nearest", "data_column": "DATA", "column": "CORRECTED_DATA"}
            | {"phase_centre_rad": (0.1, 0.1), "smearing": True},
        ),
        "calibration.corrupted_tree": (
            calibration.corrupted_tree,
            {"ns": rt.NodeScope(), "group": group, "solutions": solutions, "sky": model, "interpolation": "nearest"}
            | {"column": "MODEL_DATA", "phase_centre_rad": (0.1, 0.1), "smearing": True}
            | {"noise": rt.ReceiverNoise(1.0)},
        ),
        "calibration.calibrate": (
            calibration.calibrate,
            {"path": path, "sky": model, "terms": terms, "out": "none.h5", "options": options, "on_chunk": print}
            | {"on_iteration": print, "stages": stages, "keep_progress": False},
        ),
        "calibration.chain_for": (calibration.chain_for, {"files": [[solutions]], "group": group}),
        "calibration.check": (calibration.check, {"sky": model, **asked, "stages": stages}),
        "calibration.check_held": (calibration.check_held, {"sets": [], "group": group}),
        "calibration.start_warnings": (calibration.start_warnings, {"sets": [], "group": group, "terms": terms}),
        **{
            f"calibration.{name}": (getattr(calibration, name), {"group": group, "solutions": solutions})
            for name in ("frequency_warning", "time_warning", "held_warning", "feed_warning")
        },
        "calibration.field_numbers": (calibration.field_numbers, {"names": ["a"], "wanted": ["a"]}),
        "calibration.count_new_flags": (calibration.count_new_flags, {"group": group, "uses": [use]}),
        "calibration.check_correction": (
            calibration.check_correction,
            {"group": group, "solutions": solutions, "direction": "x"},
        ),
        "calibration.correct": (
            calibration.correct,
            {"group": group, "solutions": solutions, "direction": "x", "interpolation": "nearest"}
            | {"data_column": "DATA", "column": "CORRECTED_DATA", "threads": 1, "memory_bytes": 10**9}
            | {"time_slots": 1, "part": (0, 1, 0), "wait_s": 0.0, "progress": print},
        ),
        "calibration.correction_bytes": (
            calibration.correction_bytes,
            {"group": group, "data_column": "DATA", "memory_bytes": 10**9, "time_slots": 1},
        ),
        **table_calls(str(folder / "p.h5"), forest, ns.solver, cells),
        **made_calls(path, solutions),
        "calibration.parse_term": (calibration.parse_term, {"text": "G: diag"}),
        "calibration.parse_terms": (calibration.parse_terms, {"texts": ["G: diag"]}),
        "calibration.plan_groups": (calibration.plan_groups, {"path": path, "terms": terms, "options": options}),
        "calibration.plan_stages": (calibration.plan_stages, {"path": path, **asked}),
        "calibration.transfer_flux_scale": (
            calibration.transfer_flux_scale,
            {"sets": [solutions], "reference_field": 0},
        ),
        "calibration.read_h5parm": (calibration.read_h5parm, {"path": tables}),
        "calibration.casa_order_warning": (calibration.casa_order_warning, {"files": [[solutions]]}),
        "calibration.read_casa_table": (calibration.read_casa_table, {"path": tables}),
        "calibration.read_solutions": (calibration.read_solutions, {"path": tables}),
        "calibration.joined_sets": (calibration.joined_sets, {"files": [[solutions]]}),
        "calibration.terms_text": (calibration.terms_text, {"sets": [solutions]}),
        "calibration.write_casa_tables": (calibration.write_casa_tables, {"prefix": tables, "ms": path, **casa}),
        "calibration.write_h5parm": (calibration.write_h5parm, {"path": tables, "sets": [solutions]}),
        "calibration.residuals": (
            calibration.residuals,
            {"path": path, "sky": model, "files": [[solutions]], "options": options},
        ),
        "calibration.residual_json": (calibration.residual_json, {"found": []}),
        "calibration.memory_of_passes": (
            calibration.memory_of_passes,
            {"path": path, "sky": model, **asked, "report": True, "subtract": True},
        ),
        "calibration.beam_solutions": (
            calibration.beam_solutions,
            {"path": path, "beams": rt.Beam.of_dish(12.0), "towards_rad": (0.3, -0.5), "time_step_s": 5.0},
        ),
        "calibration.forget_progress": (calibration.forget_progress, {"out": path}),
        "calibration.slots_of_tree": (calibration.slots_of_tree, {"group": group}),
        "calibration.without_signal": (calibration.without_signal, {"found": []}),
        "calibration.solutions_for": (calibration.solutions_for, {"sets": [solutions], "group": group}),
    }


def test_every_public_function_is_in_the_list(calls):
    modules = {"": rt, "ms.": ms, "sky.": sky, "telescopes.": telescopes, "calibration.": calibration}
    known = set(rt.nodes.__all__)
    public = {
        prefix + name
        for prefix, module in modules.items()
        for name in module.__all__
        if callable(found := getattr(module, name))
        and not isinstance(found, types.ModuleType)
        and found not in RESULTS
        and not (isinstance(found, type) and issubclass(found, Exception))
        and not (prefix == "" and name in known)
    }
    assert public - {"telescopes.available", "sky.calibrators"} <= set(calls)  # which take nothing


def test_every_argument_of_a_dataclass_is_in_the_list(calls):
    for name, (function, right) in calls.items():
        if is_dataclass(function) and isinstance(function, type) and name != "sky.SkyModel":
            assert {field.name for field in fields(function)} == set(right), name


def complaint(function, right: dict, name: str, wrong) -> str | None:
    """What a function says to an argument; None if it says nothing."""
    try:
        found = function(**{**right, name: wrong})
        if isinstance(found, types.GeneratorType):
            next(found)
    except (rt.Error, TypeError, ValueError) as problem:
        return str(problem)
    return None


def test_arguments_of_another_type_are_named(calls):
    wrong = object()
    silent = [
        f"{function}({name}): {said}"
        for function, (call, right) in calls.items()
        for name in right
        if (said := complaint(call, right, name, wrong)) is None or name not in said
    ]
    assert not silent


def test_quantities_of_another_dimension_are_named_with_both_units(calls):
    silent = []
    for function, (call, right) in calls.items():
        for name, value in right.items():
            unit = unit_of_name(name)
            if unit is None or value is None or isinstance(value, str):
                continue
            said = complaint(call, right, name, np.ones(np.shape(value)) * u.K)
            if said is None or not (name in said and "is in K" in said and f"expected {unit}" in said):
                silent.append(f"{function}({name}): {said}")
    assert not silent


def test_arrays_of_another_shape_are_named(calls):
    silent = []
    for function, (call, right) in calls.items():
        for name, value in right.items():
            if isinstance(value, bool | str) or np.asarray(value).dtype.kind not in "fiu" or not np.shape(value):
                continue
            said = complaint(call, right, name, WRONG_SHAPE)
            if said is None or name not in said:
                silent.append(f"{function}({name}): {said}")
    assert not silent


def test_misspelt_arguments_get_the_nearest_name(calls):
    for name in ("ms.create", "sky_nodes", "ms.run_options", "psv_tree", "calibration.plan_groups"):
        function, right = calls[name]
        known = max(right, key=len)
        with pytest.raises(rt.Error, match=f"no argument '{known[:-1]}'; did you mean '{known}'"):
            function(**{known[:-1] if one == known else one: value for one, value in right.items()})
