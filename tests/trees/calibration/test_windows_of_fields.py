"""Fields that have not all windows of each other, and windows with other correlations than others."""

import dataclasses

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationError, CalibrationOptions, parse_terms
from rimetree.cli.options.applied_terms import of_terms
from rimetree.cli.runs.calibrating_text import log_windows

CAL, TARGET = (0.93, -0.485), (0.95, -0.49)
SKY = {k: rt.sky.SkyModel([rt.sky.Source("a", *at, (20.0, 0.0, 0.0, 0.0))]) for k, at in enumerate((CAL, TARGET))}
BANDS = [rt.ms.Band.regular(1.300e9, 16e6, 4), rt.ms.Band.regular(1.316e9, 16e6, 4)]
rng = np.random.default_rng(4)
GAIN = rng.uniform(0.6, 1.5, (7, 2)) * np.exp(1j * rng.uniform(-3, 3, (7, 2)))


def jones(antenna, patch, time_s, frequency_hz):
    """The same gains in all windows."""
    return np.broadcast_to(np.diag(GAIN[antenna]), (len(time_s), len(frequency_hz), 2, 2))


@pytest.fixture
def two_windows(tmp_path):
    """Fields CAL and TARGET, two windows."""
    path = str(tmp_path / "a.ms")
    scans = [rt.ms.Scan(CAL, 40.0, "CAL"), rt.ms.Scan(TARGET, 40.0, "TARGET")]
    rt.ms.create(path, "kat-7", scans=scans, integration_s=10.0, bands=BANDS)
    return path


@pytest.fixture
def without_a_window(two_windows, observe):
    """(set, what `inspect` says of it): CAL has the first window only."""
    for field, centre in enumerate((CAL, TARGET)):
        for window in (0, 1):
            observe(two_windows, SKY[field], centre, jones, field_id=field, data_desc_id=window)
    summary = rt.ms.inspect(two_windows)
    summary["groups"] = [one for one in summary["groups"] if (one["field_id"], one["data_desc_id"]) != (0, 1)]
    return two_windows, summary


def test_a_term_that_a_window_lacks_is_held_and_applied_alike(without_a_window, tmp_path):
    """The target's gains of a window that the calibrator does not have are found with the bandpass of the other one,
    and were applied without any; and the report had ended in an error."""
    path, summary = without_a_window
    terms, options = parse_terms(["B: diag, on CAL", "G: diag"]), CalibrationOptions(in_turn=True)
    with pytest.warns(UserWarning, match="B are solved for in other windows than field 1, window 1, which get"):
        stages = calibration.plan_stages(path, terms, options, SKY, summary=summary)
    report = calibration.calibrate(path, SKY, terms, tmp_path / "s.h5", options, stages=stages)
    assert report.left < 1e-10 and report.usable
    assert set(report.flagged_fraction("B").values()) == set(report.flagged_fraction("G").values()) == {0.0}
    sets = calibration.read_h5parm(tmp_path / "s.h5")
    assert [[term.name for term in one.terms] for one in sets] == [["B", "G"], ["G"]]
    assert [[term.name for term in one.terms] for one in of_terms([sets], ["B"])[0]] == [["B"]]
    (group,) = rt.ms.groups(path, field_id=1, data_desc_id=1)
    ns = rt.NodeScope()
    calibration.apply_tree(ns, group, calibration.chain_for([sets], group), subtract=SKY[1])
    rt.Forest(ns).run(path, **group.selection)
    (tile,) = rt.ms.tiles(path, ["CORRECTED_DATA"], time_slots=100, field_id=1, data_desc_id=1)
    assert np.abs(tile["columns"]["CORRECTED_DATA"]).max() < 1e-3 and not tile["flag"].any()


def test_feeds_that_a_window_does_not_have_are_not_counted_as_flagged(two_windows, observe, tmp_path):
    """A window with YY alone has no solutions of X: the table had counted them, beside "values flagged: none"."""
    observe(two_windows, SKY[0], CAL, jones, field_id=0, data_desc_id=0)
    options = CalibrationOptions(field_id=0, data_desc_id=0)
    report = calibration.calibrate(two_windows, SKY[0], parse_terms(["G: diag"]), tmp_path / "s.h5", options)
    (both,), (group,) = report.solutions, report.groups
    flag = np.zeros_like(both["G"].flag)
    flag[..., 0] = True
    second = dataclasses.replace(
        both,
        terms=(dataclasses.replace(both["G"], flag=flag),),
        provenance={**both.provenance, "data_desc_id": 1.0, "data_desc_ids": "1"},
    )
    groups = [group, dataclasses.replace(group, data_desc_ids=(1,), correlations=("YY",))]
    report = dataclasses.replace(report, solutions=[both, second], groups=groups)
    assert set(report.flagged_fraction("G").values()) == {0.0}


def with_correlations(path, window, correlations):
    """What `inspect` says of a set, but that a window has other correlations."""
    summary = rt.ms.inspect(path)
    summary["data_descriptions"][window]["correlations"] = list(correlations)
    return summary


@pytest.mark.parametrize("correlations", [("XX", "YY"), ("RR", "RL", "LR", "LL")])
def test_windows_of_other_correlations_are_not_solved_together(two_windows, correlations):
    """Those of other feeds had been solved one by one without a word, others were refused after hours."""
    summary, terms = with_correlations(two_windows, 1, correlations), parse_terms(["K: delay, all windows", "G: diag"])
    with pytest.raises(CalibrationError, match="field 0: windows 0 and 1 have different correlations") as error:
        calibration.plan_groups(two_windows, terms, CalibrationOptions(), summary=summary)
    assert " ".join(correlations) in str(error.value) and "--ddid" in str(error.value)
    plans = calibration.plan_groups(two_windows, terms, CalibrationOptions(data_desc_id=1), summary=summary)
    assert [plan.group.data_desc_ids for plan in plans] == [(1,), (1,)]


def test_windows_that_could_be_solved_together_are_named(tmp_path, capsys):
    """All windows of a field had been said to overlap where two do, and such as cannot be solved together."""
    path = str(tmp_path / "a.ms")
    bands = [rt.ms.Band.regular(centre_hz, 16e6, 4) for centre_hz in (1.300e9, 1.308e9, 1.400e9)]
    rt.ms.create(path, "kat-7", phase_centre_rad=CAL, duration_s=20.0, integration_s=10.0, bands=bands)

    def said(term, correlations):
        terms, summary = parse_terms([term]), with_correlations(path, 1, correlations)
        log_windows(calibration.plan_groups(path, terms, CalibrationOptions(), summary=summary), terms)
        return capsys.readouterr().err

    assert "windows (field 0: 0, 1) overlap in frequency" in said("G: diag", ["XX", "XY", "YX", "YY"])
    assert said("G: diag", ["XX", "YY"]) == ""
    assert "each spectral window (field 0: 0, 2) has" in said("K: delay", ["XX", "YY"])


def test_terms_of_several_windows_are_in_the_order_of_the_equation(solutions, small_ms):
    """Whichever of them a window has."""
    (group,) = rt.ms.groups(small_ms())
    sets = []
    for window, names in enumerate(("KG", "BG", "G")):
        frequency_hz = solutions["G"].frequency_hz + 1e8 * (2 - window)
        own = tuple(dataclasses.replace(solutions["G"], name=name, frequency_hz=frequency_hz) for name in names)
        sets.append(calibration.Solutions(own, provenance={"measurement_set": "a", "data_desc_id": float(window)}))
    found = calibration.solutions_for(sets, group)
    assert [term.name for term in found.terms] == ["K", "B", "G"]
    assert [term.frequency_hz[0] for term in found.terms] == [1.6e9, 1.5e9, 1.4e9]
    # Sets of which it is not known that they belong together are not mixed.
    others = [dataclasses.replace(one, provenance={}) for one in sets]
    assert [term.name for term in calibration.solutions_for(others, group).terms] == ["G"]


def test_solutions_of_the_same_feeds_come_before_those_of_nearer_frequencies(solutions, small_ms):
    (group,) = rt.ms.groups(small_ms())
    near = dataclasses.replace(solutions, feed="circular")
    far = dataclasses.replace(
        solutions, terms=(dataclasses.replace(solutions["G"], frequency_hz=solutions["G"].frequency_hz + 1e8),)
    )
    assert calibration.solutions_for([near, far], group) is far
