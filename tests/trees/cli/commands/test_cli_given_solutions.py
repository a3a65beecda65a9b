"""Solutions that are given and are for other data: other antennas, frequencies, terms."""

import dataclasses
import re

import numpy as np
import pytest

import rimetree as rt

CENTRE = (np.radians(53.125), np.radians(-27.8))
MODEL = """# (Name, Type, Ra, Dec, I) = format
a, POINT, 03:32:30.0, -27.48.00, 2.0
b, POINT, 03:33:00.0, -27.53.00, 1.0
"""


@pytest.fixture(scope="module")
def sets(tmp_path_factory, command):
    """Two sets of KAT-7 (1.4 and 0.12 GHz), one of MeerKAT, with the sky of `MODEL`, and gains found on the first."""
    folder = tmp_path_factory.mktemp("given")
    (folder / "field.skymodel").write_text(MODEL)
    for name, telescope, low_hz in (("near", "kat-7", 1.4e9), ("far", "kat-7", 0.12e9), ("other", "meerkat", 1.4e9)):
        band = rt.ms.Band.regular(low_hz, 4e6, 4)
        path, times = folder / f"{name}.ms", {"duration_s": 120.0, "integration_s": 60.0}
        rt.ms.create(path, telescope, phase_centre_rad=CENTRE, **times, bands=band)
        command("simulate", path, "--sky", folder / "field.skymodel", "--column", "DATA")
    command(*solve(folder, "near", "G: diag", "sol.h5"))
    return folder


def solve(folder, name, term, out, *more):
    sky = folder / "field.skymodel"
    return ["calibrate", folder / f"{name}.ms", "--sky", sky, "--term", term, "--out", folder / out, *more]


def test_a_sky_is_simulated_with_solutions(command, sets, tmp_path):
    """And applying them gives the sky."""
    path, sky = sets / "near.ms", ("--sky", sets / "field.skymodel")
    (found,) = rt.calibration.read_h5parm(sets / "sol.h5")
    turned = found["G"].value["phase"] + np.arange(7)[None, None, :, None, None]
    term = dataclasses.replace(found["G"], value={**found["G"].value, "phase": turned})
    rt.calibration.write_h5parm(sets / "turned.h5", dataclasses.replace(found, terms=(term,)))
    command("simulate", path, *sky, "--solutions", sets / "turned.h5", "--column", "SEEN", "--no-flag-version")
    command("simulate", path, *sky)
    done = command("apply", path, "--solutions", sets / "turned.h5", "--data-column", "SEEN", "--no-flag-version")
    assert "terms of the solutions: G" in done.stderr
    (tile,) = rt.ms.tiles(path, ["MODEL_DATA", "SEEN", "CORRECTED_DATA"], time_slots=10)
    columns = tile["columns"]
    assert np.abs(columns["SEEN"] - columns["MODEL_DATA"]).max() > 1
    np.testing.assert_allclose(columns["CORRECTED_DATA"], columns["MODEL_DATA"], atol=1e-6)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--terms", "G"], "--terms goes with --solutions"),
        (["--interpolation", "linear"], "--interpolation goes with --solutions"),
        (["--solutions", "sol.h5", "--many-node"], "--many-node does not go with --solutions"),
        (["--solutions", "sol.h5", "--verify", "3"], "--verify does not go with --solutions"),
        (["--solutions", "sol.h5", "--together"], "--together does not go with --solutions"),
    ],
)
def test_what_does_not_go_with_solutions_of_a_simulation(command, sets, options, said):
    refused = command("simulate", sets / "near.ms", "--sky", sets / "field.skymodel", *options, code=2)
    assert said in refused.stderr


def test_a_simulation_that_no_solutions_are_for(command, sets):
    sky = ("--sky", sets / "field.skymodel", "--solutions", sets / "sol.h5")
    assert "solutions of G are for 1398 to 1402 MHz" in command("simulate", sets / "far.ms", *sky, "--dry-run").output
    assert "they are for other antennas" in command("simulate", sets / "other.ms", *sky, code=3).output


def test_what_is_held_must_be_for_some_of_the_antennas(command, sets):
    text = command(*solve(sets, "other", "K: diag", "no.h5", "--hold", sets / "sol.h5"), code=1).output
    assert "what is to be held is for other antennas" in text and not (sets / "no.h5").exists()


def test_terms_of_what_is_held_are_chosen(command, sets):
    hold = ["--hold", sets / "sol.h5", "--dry-run"]
    text = command(*solve(sets, "near", "K: diag", "no.h5", *hold, "--hold-terms", "!G"), code=1).output
    assert "--hold-terms !G: no term is left; the solutions have G" in text
    command(*solve(sets, "near", "K: diag", "no.h5", *hold, "--hold-terms", "G"))
    command(*solve(sets, "near", "K: diag", "no.h5", "--dry-run", "--hold-terms", "G"), code=2)


def test_solutions_of_another_band_are_named_before_they_are_used(command, sets):
    said = "solutions of G are for 1398 to 1402 MHz"
    for more in (["--dry-run"], []):
        assert said in command("apply", sets / "far.ms", "--solutions", sets / "sol.h5", *more).output
        assert said not in command("apply", sets / "near.ms", "--solutions", sets / "sol.h5", *more).output
    held = solve(sets, "far", "K: diag", "held.h5", "--hold", sets / "sol.h5", "--dry-run")
    assert said in command(*held).output


def test_solutions_of_other_times_are_named_before_they_are_used(command, sets):
    """Of terms that change in time; one solution for all times is meant for any."""
    band, times = rt.ms.Band.regular(1.4e9, 4e6, 4), {"duration_s": 120.0, "integration_s": 60.0}
    near_s = rt.ms.slot_times(sets / "near.ms")[0][2]
    for name, hours in (("soon", 0.9), ("late", 3.0)):
        start = {"start_mjd_s": near_s - 30 + 3600 * hours}
        rt.ms.create(sets / f"{name}.ms", "kat-7", phase_centre_rad=CENTRE, bands=band, **start, **times)
    command(*solve(sets, "near", "G: diag, 1slot", "slots.h5"))
    said = "solutions of G, which change in time, are for"
    assert said not in command("apply", sets / "soon.ms", "--solutions", sets / "slots.h5", "--dry-run").output
    assert said not in command("apply", sets / "late.ms", "--solutions", sets / "sol.h5", "--dry-run").output
    text = command("apply", sets / "late.ms", "--solutions", sets / "slots.h5", "--dry-run").output
    assert said in text and re.search(r"up to (2\.9\d|3) h away: they get the nearest", text)
    assert said in command(*solve(sets, "late", "K: diag", "k.h5", "--hold", sets / "slots.h5", "--dry-run")).output


def test_solutions_of_other_feeds_are_named_before_they_are_used(command, sets):
    """Those of XX and YY were taken for RR and LL without a word."""
    band = rt.ms.Band.regular(1.4e9, 4e6, 2)
    times = {"duration_s": 60.0, "integration_s": 30.0}
    path = sets / "round.ms"
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, bands=band, correlations="RR LL", **times)
    said = "solutions of G are of linear feeds, those of field 0 are circular (RR LL)"
    for more in (["--dry-run"], []):
        assert said in command("apply", path, "--solutions", sets / "sol.h5", *more).output
        assert "warning" not in command("apply", sets / "near.ms", "--solutions", sets / "sol.h5", *more).output
    command(*solve(sets, "near", "S: scalar", "scalar.h5"))
    assert "are of linear" not in command("apply", path, "--solutions", sets / "scalar.h5").output
    for option in ("--hold", "--start"):
        assert said in command(*solve(sets, "round", "G: diag", "s.h5", option, sets / "sol.h5", "--dry-run")).output


@pytest.mark.parametrize(
    ("name", "term", "said"),
    [
        ("near", "G: diag", None),
        ("near", "H: diag", "--start has no term H"),
        ("other", "G: diag", "--start has G for other antennas"),
        ("near", "G: diag, per source", "--start has G for the whole sky, but it is solved for single directions"),
    ],
)
def test_a_term_that_finds_nothing_to_begin_at_is_named(command, sets, name, term, said):
    text = command(*solve(sets, name, term, "s.h5", "--start", sets / "sol.h5", "--dry-run")).output
    assert said in text if said else "--start" not in text


def test_an_empty_selection_says_what_was_chosen_and_what_there_is(command, sets):
    text = command(*solve(sets, "near", "G: diag", "n.h5", "--time", "5h~6h"), code=1).output
    first_s = rt.ms.inspect(sets / "near.ms")["first_time_s"]
    day = str(np.datetime64("1858-11-17T00:00:00") + np.timedelta64(round(first_s), "s"))
    assert "no rows are left of what is selected (times " in text and f"it has times {day} to " in text


@pytest.mark.parametrize(
    ("option", "value", "code", "said"),
    [
        ("--channels", "1~20", 1, "channels 1 to 20 are selected, but data description 0 has the channels 0 to "),
        ("--channels", "3~1", 2, "the smaller number comes first"),
        ("--channels", "0~1,1.2GHz~1.6GHz", 2, "by number or by frequency"),
        ("--channels", "", 2, "expected channels"),
        ("--time", "2min~1min", 2, "the earlier time comes first"),
        ("--time", "0~10h", 0, ""),
        ("--scan", "1,77", 1, "has no scan 77"),
        ("--scan", "7~3", 2, "the smaller number comes first"),
        ("--ddid", "0,5", 1, "has no DATA_DESC_ID 5; it has 0 to 0"),
        ("--field", "0,4", 1, "there is no field '4'"),
        ("--antenna", "ANT-0,QQ*", 1, "there is no antenna 'QQ*'"),
        ("--baseline", "ANT-0&QQ", 1, "there is no antenna 'QQ'"),
    ],
)
def test_a_selection_of_what_is_not_there(command, sets, option, value, code, said):
    """Some of it was left out without a word."""
    text = command(*solve(sets, "near", "G: diag", "n.h5", option, value, "--dry-run"), code=code).output
    assert said in " ".join(text.split())
