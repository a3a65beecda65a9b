"""Correcting in one pass gives what the tree gives: values, flags, and counts of what was newly flagged."""

import dataclasses
import shutil

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationError, Solutions, TermSolutions

NAMES = tuple(f"A{i}" for i in range(4))
ALL = ("00", "01", "10", "11")


def planted(name, kind, elements, quantities, seed, directions=("",)):
    """Solutions of 2 intervals in time and 3 in frequency, which do not cut where the set's cells end."""
    rng = np.random.default_rng(seed)
    shape = (2, 3, len(NAMES), len(directions), len(elements))
    scale = {"amplitude": (0.5, 2.0), "phase": (-3.0, 3.0), "clock": (-1e-7, 1e-7), "tec": (-0.3, 0.3)}
    value = {q: rng.uniform(*scale.get(q, (-1.0, 1.0)), shape) for q in quantities}
    return TermSolutions(
        name, kind, tuple(elements),
        5e9 + np.array([5.0, 25.0]), np.array([20.0, 20.0]),
        1.4e9 + 1e6 * np.array([1.0, 3.5, 6.5]), 1e6 * np.array([2.0, 3.0, 3.0]),
        NAMES, directions, value, {q: np.zeros(shape) for q in quantities}, np.zeros(shape, bool),
    )  # fmt: skip


TERMS = {
    "scalar": planted("G", "scalar", ("",), ("amplitude", "phase"), 1),
    "diag": planted("G", "diag", ("0", "1"), ("amplitude", "phase"), 2),
    "full": planted("D", "full", ALL, ("amplitude", "phase"), 3),
    "delay": planted("K", "delay", ("0", "1"), ("clock",), 4),
    "tec": planted("T", "tec", ("",), ("tec",), 5),
    "rotation": planted("R", "rotation", ("",), ("rotation",), 6),
    "toward": planted("dE", "phase", ("0", "1"), ("phase",), 7, ("middle", "side")),
}


def thinned(term, seed=9):
    """With some solutions flagged, some zero and some not finite."""
    rng = np.random.default_rng(seed)
    value = {q: v.copy() for q, v in term.value.items()}
    first = next(iter(value))
    value[first][rng.random(term.shape) < 0.03] = np.nan
    if first == "amplitude":
        value[first][rng.random(term.shape) < 0.03] = 0.0
    return dataclasses.replace(term, value=value, flag=rng.random(term.shape) < 0.03)


def both_ways(path, terms, **options):
    """(values, flags) of one pass and of the tree, and what the pass counted; data with noise, flags and a NaN."""
    (group,) = rt.ms.groups(path, by_window=True)
    solutions, found = Solutions(terms), []
    for way in ("pass", "tree"):
        copy = f"{path}.{way}"
        shutil.copytree(path, copy)
        here = dataclasses.replace(group, path=copy)
        if way == "pass":
            counts = calibration.correct(here, solutions, **options)[1]
        else:
            ns = rt.NodeScope()
            calibration.apply_tree(ns, here, solutions, **options)
            rt.Forest(ns).run(copy, **group.selection)
        (tile,) = rt.ms.tiles(copy, ["CORRECTED_DATA"], time_slots=100)
        found.append((tile["columns"]["CORRECTED_DATA"], tile["flag"]))
    return *found, counts


@pytest.fixture
def noisy(small_ms):
    """A function: a set with complex noise of several magnitudes, some flags, and values that are not finite."""

    def make(name="a.ms", flags=True, **how):
        path = small_ms(name, n_time=4, **how)
        rng = np.random.default_rng(3)
        ns, (group,) = rt.NodeScope(), rt.ms.groups(path, by_window=True)
        n_freq = group.n_channel
        for p, q in group.baselines:
            value = rng.normal(size=(2, 2, 4, n_freq, 2)) @ [1, 1j] * 10.0 ** rng.uniform(-3, 3)
            flag = flags * (rng.random((4, n_freq)) < 0.2)
            if flags:
                value[0, 0, 1, 2] = np.nan
            data = rt.PyNode(evaluate=lambda cells, v=value: v, dims=(2, 2))
            mask = rt.PyNode(evaluate=lambda cells, v=1.0 - flag: v, dims=())
            ns.V(p, q) << rt.MergeFlags(data, rt.ZeroFlagger(mask, oper="EQ"))
            sink = {"station_1_index": p, "station_2_index": q, "output_column": "DATA", "write_flags": flags}
            ns.sink(p, q) << rt.Sink(ns.V(p, q), **sink)
        rt.Forest(ns).run(path, **group.selection)
        return path

    return make


CHAINS = [
    ("scalar",),
    ("diag",),
    ("full",),
    ("delay", "diag"),
    ("tec", "delay"),
    ("full", "rotation"),
    ("diag", "toward"),
]


@pytest.mark.parametrize("interpolation", ["nearest", "linear"])
@pytest.mark.parametrize("names", CHAINS, ids="*".join)
def test_one_pass_gives_what_the_tree_gives(noisy, names, interpolation):
    path = noisy()
    options = {"interpolation": interpolation, "direction": "side" if "toward" in names else None}
    (values, flags), (expected, expected_flags), counts = both_ways(path, [thinned(TERMS[n]) for n in names], **options)
    np.testing.assert_array_equal(flags != 0, expected_flags != 0)
    good = flags == 0
    assert 0.1 < good.mean() < 0.9 and np.isfinite(values[good]).all()
    # Of one or two products in double precision, rounded to single.
    np.testing.assert_allclose(values[good], expected[good], rtol=2e-7, atol=1e-5 * np.abs(expected[good]).min())
    assert counts.all == flags.size and counts.flagged + counts.new == (flags != 0).sum()
    assert counts.new == counts.lost_of_antenna.sum() / 2


@pytest.mark.parametrize("types", [(9, 12), (5, 6, 7, 8), (12,)])
def test_any_number_of_correlations(noisy, types):
    path = noisy(correlation_type=types)
    for terms in [("diag",), ("full",)] if len(types) == 4 else [("diag",)]:
        path = shutil.copytree(path, path + terms[0])
        (values, flags), (expected, expected_flags), _ = both_ways(path, [thinned(TERMS[n]) for n in terms])
        np.testing.assert_array_equal(flags != 0, expected_flags != 0)
        np.testing.assert_allclose(values[flags == 0], expected[flags == 0], rtol=2e-6)


def test_flags_that_do_not_change_are_not_written(noisy, monkeypatch):
    path = noisy(flags=False)
    (group,) = rt.ms.groups(path, by_window=True)
    before = {p.name: p.read_bytes() for p in _files(path)}
    column = "MODEL_DATA"
    _, counts = calibration.correct(group, Solutions([TERMS["diag"]]), column=column)
    assert counts.new == 0 and counts.usable
    (tile,) = rt.ms.tiles(path, [column, "DATA"], time_slots=100)
    assert not tile["flag"].any() and np.abs(tile["columns"][column] - tile["columns"]["DATA"]).max() > 0.01
    assert {p.name for p in _files(path)} >= set(before)


def _files(path):
    import pathlib

    return [p for p in pathlib.Path(path).iterdir() if p.is_file()]


def test_memory_and_time_slots_change_nothing(noisy):
    path, results = noisy(), []
    (group,) = rt.ms.groups(path, by_window=True)
    for options in ({"time_slots": 1}, {"time_slots": 3, "threads": 1}, {"memory_bytes": 60_000}, {"threads": 2}):
        copy = shutil.copytree(path, f"{path}{len(results)}")
        here = dataclasses.replace(group, path=str(copy))
        report, counts = calibration.correct(here, Solutions([thinned(TERMS["diag"])]), **options)
        assert report.rows_written == report.rows == group.n_row and report.time_slots <= options.get("time_slots", 64)
        (tile,) = rt.ms.tiles(copy, ["CORRECTED_DATA"], time_slots=100)
        results.append((tile["columns"]["CORRECTED_DATA"].tobytes(), tile["flag"].tobytes(), counts.new))
    assert len(set(results)) == 1
    with pytest.raises(rt.Error, match="budget"):
        calibration.correct(group, Solutions([TERMS["diag"]]), memory_bytes=100)


def test_what_does_not_fit_is_said_and_nothing_written(noisy, small_ms):
    path = noisy(correlation_type=(9, 12))
    (group,) = rt.ms.groups(path, by_window=True)
    with pytest.raises(CalibrationError, match="correlations XX YY"):
        calibration.correct(group, Solutions([TERMS["full"]]))
    with pytest.raises(CalibrationError, match="direction 'up'; there are middle, side"):
        calibration.correct(group, Solutions([TERMS["toward"]]), direction="up")
    with pytest.raises(rt.Error, match="NOTHING"):
        calibration.correct(group, Solutions([TERMS["diag"]]), data_column="NOTHING")
    assert "CORRECTED_DATA" not in rt.ms.groups(path)[0].columns


def test_counting_before_is_what_is_flagged_then(noisy):
    path = noisy(flags=False)
    (group,) = rt.ms.groups(path, by_window=True)
    solutions = Solutions([thinned(TERMS["diag"]), thinned(TERMS["delay"], seed=4)])
    before = calibration.count_new_flags(group, [calibration.JonesUse(solutions, None)])
    assert not calibration.JonesUse(solutions, None).complete(NAMES)
    _, then = calibration.correct(group, solutions)
    assert 0 < before.new == then.new < before.all and before.flagged == then.flagged == 0
    assert before.new_of_antenna.keys() == then.new_of_antenna.keys()
    for reason, numbers in before.new_of_antenna.items():
        np.testing.assert_array_equal(numbers, then.new_of_antenna[reason])
    assert calibration.count_new_flags(group, []).flagged == before.new
    assert calibration.JonesUse(Solutions([TERMS["diag"]]), None).complete(NAMES)
    assert not calibration.JonesUse(Solutions([TERMS["diag"]]), None).complete((*NAMES, "other"))
