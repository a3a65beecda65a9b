"""Tables of CASA, read and written, against formulas for which CASA 6.7 `applycal` gave the same corrected data."""

import functools
import os
import struct

import numpy as np
import pytest
from casa_kinds import FREQUENCY_HZ, KINDS, MIDDLE_HZ, N_ANTENNA, TIMES_S, fringes, make, rows_of

import rimetree as rt
from rimetree import _core, calibration
from rimetree.calibration import CalibrationError, Solutions, read_casa_table, write_casa_tables


@pytest.mark.parametrize("kind", KINDS)
def test_matrices_are_those_of_casa(small_ms, tmp_path, kind):
    rows = rows_of(kind)
    rows["flags"][5] = 1  # antenna 1 at the second time
    path = make(tmp_path / f"obs.{kind}0", small_ms(), kind, [rows])
    (found,) = calibration.read_solutions(path)
    (term,) = found.terms
    assert term.name == f"{kind}0" and found.provenance["program"] == "CASA"
    matrix = KINDS[kind][3]
    for antenna in range(N_ANTENNA):
        matrices, bad = found.jones(f"A{antenna}", TIMES_S + 2.0, FREQUENCY_HZ)
        for t in range(3):
            value = rows["values"][t * N_ANTENNA + antenna].astype(complex)
            flagged = (t, antenna) == (1, 1)
            assert (bad[t] == flagged).all()
            for c, frequency_hz in enumerate(FREQUENCY_HZ):
                expected = matrix(value[c if len(value) > 1 else 0], 2.0, frequency_hz)
                np.testing.assert_allclose(matrices[t, c], np.eye(2) if flagged else expected, atol=2e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_they_go_through_h5parm(small_ms, tmp_path, kind):
    (found,) = read_casa_table(make(tmp_path / "a", small_ms(), kind, [rows_of(kind)]))
    calibration.write_h5parm(tmp_path / "a.h5", found)
    (back,) = calibration.read_solutions(tmp_path / "a.h5")
    for method in ("nearest", "linear"):
        expected, _ = found.jones("A3", TIMES_S + 3, FREQUENCY_HZ, method=method)
        np.testing.assert_allclose(back.jones("A3", TIMES_S + 3, FREQUENCY_HZ, method=method)[0], expected, atol=1e-9)


@pytest.mark.parametrize("kind", ["K", "Fringe"])
def test_delays_between_solutions_are_between_them(small_ms, tmp_path, kind):
    """Of delays that change by many turns of the phase at 0 Hz; phases and rates are those of straight lines."""
    rows = rows_of(kind, TIMES_S[:2])
    rows["values"][..., 1 if kind == "Fringe" else 0] = np.repeat([-30.0, 50.0], N_ANTENNA)[:, None]
    if kind == "Fringe":
        rows["values"][..., 0] = np.repeat([3.0, -3.0], N_ANTENNA)[:, None]  # by 0.28 rad, beyond half a turn
        rows["values"][..., 2] = 0
    (found,) = read_casa_table(make(tmp_path / kind, small_ms(), kind, [rows]))
    matrices, _ = found.jones("A1", TIMES_S[:1] + 2, FREQUENCY_HZ, method="linear")
    phase = 3.0 + 0.2 * (2 * np.pi - 6) if kind == "Fringe" else 0
    expected = np.exp(1j * (phase + 2 * np.pi * -14e-9 * (FREQUENCY_HZ - MIDDLE_HZ)))
    np.testing.assert_allclose(matrices[0, :, 0, 0], expected, atol=1e-5)


def test_delays_of_casa_before_5_3_have_no_phase_at_another_frequency(small_ms, tmp_path):
    """At REF_FREQUENCY, as CASA says of tables that do not name its version."""
    ms, rows = small_ms(), rows_of("K")
    (old,) = read_casa_table(make(tmp_path / "old", ms, "K", [rows], version=""))
    matrices, _ = old.jones("A2", TIMES_S, FREQUENCY_HZ)
    delay_s = rows["values"][2, 0, 1].real * 1e-9
    reference_hz = 1.403e9  # of windows of eight channels
    np.testing.assert_allclose(
        matrices[0, :, 1, 1], np.exp(2j * np.pi * delay_s * (FREQUENCY_HZ - reference_hz)), atol=2e-6
    )


def test_fringes_have_four_parameters_of_each_feed(small_ms, tmp_path):
    """A feed is flagged where one of them is; the phase at 0 Hz is as uncertain as the delay makes it; and CASA has
    them about the middle of the window in tables of any version."""
    ms, rows = small_ms(), rows_of("Fringe")
    rows["flags"][0, 0, 6] = 1
    rows["errors"][..., [0, 4]], rows["errors"][..., [1, 5]] = 0.3, 1e-4  # rad, ns
    (found,) = read_casa_table(make(tmp_path / "F", ms, "Fringe", [rows], version=""))
    (term,) = found.terms
    np.testing.assert_array_equal(np.argwhere(term.flag), [[0, 0, 0, 0, 1]])
    expected = np.hypot(0.3, 2 * np.pi * MIDDLE_HZ * 1e-13)
    np.testing.assert_allclose(term.sigma["phase"][1:], expected, rtol=1e-6)
    value = rows["values"][1].astype(complex)[0]
    np.testing.assert_allclose(
        found.jones("A1", TIMES_S, FREQUENCY_HZ)[0][0, 0], fringes(value, 0, FREQUENCY_HZ[0]), atol=2e-6
    )


def test_errors_are_standard_deviations(small_ms, tmp_path):
    rows = rows_of("G")
    rows["errors"][0] = 0
    (found,) = read_casa_table(make(tmp_path / "G", small_ms(), "G", [rows]))
    (term,) = found.terms
    assert np.isnan(term.sigma["amplitude"][0, 0, 0, 0]).all()
    np.testing.assert_allclose(term.sigma["amplitude"][1:], 0.01, rtol=1e-6)
    np.testing.assert_allclose(term.sigma["phase"][1:] * term.value["amplitude"][1:], 0.01, rtol=1e-5)


def test_rows_in_any_order_and_antennas_that_are_missing(small_ms, tmp_path):
    ms, rows = small_ms(), rows_of("B")
    (expected,) = read_casa_table(make(tmp_path / "all", ms, "B", [rows]))
    some = np.random.default_rng(3).permutation(12)
    some = some[some % N_ANTENNA != 2]
    chosen = {name: np.ascontiguousarray(value[some]) for name, value in rows.items() if name != "window_id"}
    (found,) = read_casa_table(make(tmp_path / "some", ms, "B", [chosen | {"window_id": 0}]))
    for antenna in ("A0", "A1", "A3"):
        np.testing.assert_array_equal(
            found.jones(antenna, TIMES_S, FREQUENCY_HZ)[0], expected.jones(antenna, TIMES_S, FREQUENCY_HZ)[0]
        )
    assert found.jones("A2", TIMES_S, FREQUENCY_HZ)[1].all()


def test_fields_and_intervals_that_are_not_said(small_ms, tmp_path):
    rows = rows_of("G", interval_s=0.0)
    rows["field_id"] = np.repeat(np.array([0, 1, 0], np.int32), N_ANTENNA)
    (found,) = read_casa_table(make(tmp_path / "G", small_ms(n_field=2), "G", [rows]))
    (term,) = found.terms
    np.testing.assert_array_equal(term.field_ids, [0, 1, 0])
    np.testing.assert_array_equal(term.time_width_s, 10.0)
    assert found.provenance["fields"] == "0 field0\n1 field1"
    rows["time_s"][4:8] = rows["time_s"][:4]  # both fields at once
    (both,) = read_casa_table(make(tmp_path / "both", small_ms("c.ms", n_field=2), "G", [rows]))
    np.testing.assert_array_equal(both.terms[0].field_ids, [0, 1, 0])
    (one,) = read_casa_table(make(tmp_path / "one", small_ms("b.ms"), "G", [rows_of("G", TIMES_S[:1], interval_s=0.0)]))
    assert one.terms[0].time_width_s == [np.inf]


def test_windows_are_told_apart_by_the_set_they_were_made_from(small_ms, tmp_path):
    """They are alike here; and feeds are what the set has."""
    ms = small_ms(n_window=2, correlation_type=(5, 6, 7, 8))
    path = make(tmp_path / "G", ms, "G", [rows_of("G", window_id=k, seed=k) for k in (0, 1)])
    sets = read_casa_table(path)
    assert [one.feed for one in sets] == ["circular"] * 2
    for group in rt.ms.groups(ms, by_window=True):
        own = calibration.chain_for([sets], group)
        (window,) = group.data_desc_ids
        assert own is not None and own.terms[0].value["amplitude"].flat[0] == pytest.approx(
            abs(rows_of("G", seed=window)["values"].flat[0])
        )
    (tmp_path / "broken.ms").mkdir()
    (tmp_path / "broken.ms" / "table.dat").write_text("no table")
    (beside,) = read_casa_table(make(tmp_path / "beside", ms, "G", [rows_of("G")], named="broken.ms"))
    assert "measurement_set" not in beside.provenance
    gone = make(tmp_path / "far", ms, "G", [rows_of("G")], named="none.ms", basis="circular")
    (alone,) = read_casa_table(gone)
    assert alone.feed == "circular" and "measurement_set" not in alone.provenance


@pytest.mark.parametrize("kind", ["G", "K", "Fringe"])
def test_solutions_of_the_second_feed_alone(small_ms, tmp_path, patched, kind):
    """Of data that are all YY CASA keeps them as those of the first feed, and flags the second."""
    ms = small_ms(correlation_type=(9,))
    patched(os.path.join(ms, "POLARIZATION"), *(struct.pack("<iii", 1, 1, number) for number in (9, 12)))
    rows = rows_of(kind)
    half = rows["flags"].shape[2] // 2
    rows["flags"][..., half:] = 1
    rows["values"][..., half:] = 0
    (found,) = read_casa_table(make(tmp_path / "a", ms, kind, [rows]))
    matrices, bad = found.jones("A1", TIMES_S, FREQUENCY_HZ)
    assert not bad.any() and abs(matrices[..., 0, 0]).min() > 0.01
    np.testing.assert_array_equal(matrices[..., 1, 1], matrices[..., 0, 0])


def test_fields_with_solutions_of_the_same_time(small_ms, tmp_path):
    """As of calibrators before and after a target, and of flux scales: those of the second were those of the first."""
    ms = small_ms(n_field=2, n_time=4)
    rows = rows_of("G", TIMES_S[[1, 1]], interval_s=0.0)
    rows["field_id"][N_ANTENNA:] = 1
    sets = read_casa_table(make(tmp_path / "G", ms, "G", [rows]))
    delays = read_casa_table(make(tmp_path / "K", ms, "K", [rows_of("K", TIMES_S[:1])]))
    paths = write_casa_tables(tmp_path / "out", [delays, sets], ms)
    (back,) = read_casa_table(paths[1])
    np.testing.assert_array_equal(back.terms[0].field_ids, [0, 1])
    assert sets[0].jones("A3", TIMES_S, FREQUENCY_HZ)[0].shape == (3, 8, 2, 2)  # intervals without end: no warning
    for field in (0, 1):
        expected, _ = sets[0].of_fields([field]).jones("A3", TIMES_S, FREQUENCY_HZ)
        np.testing.assert_allclose(back.of_fields([field]).jones("A3", TIMES_S, FREQUENCY_HZ)[0], expected, atol=1e-6)
    assert abs(back.terms[0].value["phase"][0] - back.terms[0].value["phase"][1]).max() > 0.1


def test_channels_that_descend(small_ms, tmp_path):
    ms, rows = small_ms(frequency_hz=FREQUENCY_HZ[::-1].copy()), rows_of("B")
    (found,) = read_casa_table(make(tmp_path / "B", ms, "B", [rows]))
    matrices, _ = found.jones("A2", TIMES_S, FREQUENCY_HZ[::-1])
    np.testing.assert_allclose(matrices[1, :, 0, 0], rows["values"][6, :, 0], rtol=1e-6)


def test_what_is_no_table_of_casa(small_ms, tmp_path):
    ms = small_ms()
    with pytest.raises(CalibrationError, match="is a table of M solutions; those that are understood are G Jones, B J"):
        read_casa_table(make(tmp_path / "M", ms, "M", []))
    with pytest.raises(CalibrationError, match="is a table of no solutions"):
        read_casa_table(ms)
    with pytest.raises(CalibrationError, match=r"is a casacore table, but not one of solutions .*\(BPOLY, GSPLINE\)"):
        calibration.read_solutions(ms)
    with pytest.raises(CalibrationError, match="rows have 2 parameters, expected 1 as of T Jones"):
        read_casa_table(make(tmp_path / "T", ms, "T", [rows_of("G")]))
    with pytest.raises(CalibrationError, match="window 0 has 8 channels, its solutions 3"):
        rows = rows_of("B")
        short = {name: np.ascontiguousarray(rows[name][:, :3]) for name in ("values", "errors", "flags")}
        read_casa_table(make(tmp_path / "B", ms, "B", [rows | short]))
    with pytest.raises(CalibrationError, match="has no solutions"):
        read_casa_table(make(tmp_path / "empty", ms, "G", []))
    with pytest.raises(CalibrationError, match="has dispersive delays"):
        rows = rows_of("Fringe")
        rows["values"][0, 0, 3] = 1
        read_casa_table(make(tmp_path / "F", ms, "Fringe", [rows]))
    table = make(tmp_path / "some", ms, "G", [rows_of("G")])
    with pytest.raises(CalibrationError, match="is a table of CASA, in which there are no solution sets"):
        calibration.read_solutions(f"{table}:sol000")
    rows = rows_of("G")
    rows["antenna_id"][3] = 7
    with pytest.raises(rt.Error, match=r"column ANTENNA1 of .*, row 3: expected a row of a table that has rows 0 to 3"):
        read_casa_table(make(tmp_path / "G", ms, "G", [rows]))
    with pytest.raises(rt.Error, match="it exists; choose another name"):
        make(tmp_path / "G", ms, "G", [rows])


def test_leakages_outside_of_gains_are_warned_of(small_ms, tmp_path, solutions):
    ms = small_ms()
    gains, leaks = (read_casa_table(make(tmp_path / f"obs.{kind}", ms, kind, [rows_of(kind)])) for kind in "BD")
    assert calibration.casa_order_warning([gains, leaks]) == calibration.casa_order_warning([leaks, [solutions]]) == ""
    said = calibration.casa_order_warning([leaks, [solutions], gains])
    assert said.startswith(f"{tmp_path}/obs.D (leakages) stands outside of {tmp_path}/obs.B (gains)")


CHAINS = {
    "G": [("diag", ("amplitude", "phase"))],
    "K T": [("delay", ("clock",)), ("tec", ("tec",))],
    "R": [("rate", ("rate",))],
    "F": [("full", ("amplitude", "phase"))],
    "D": [("leakage", ("amplitude", "phase"))],
    "G F": [("diag", ("amplitude", "phase")), ("full", ("amplitude", "phase"))],
    "D G R": [("leakage", ("amplitude", "phase")), ("diag", ("amplitude", "phase")), ("rotation", ("rotation",))],
    "S": [("scalar", ("amplitude", "phase"))],
}


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_written_tables_have_the_same_product(small_ms, tmp_path, made_term, chain):
    """Flagged where a term is flagged, with a value for each time slot at least."""
    slots_s = 5e9 + 5 + 10.0 * np.arange(24)
    ms = small_ms(time_s=slots_s, frequency_hz=1.4e9 + 1e6 * np.arange(3))
    terms = []
    for k, (kind, quantities) in enumerate(chain):
        elements = calibration.KINDS[kind].elements
        term = made_term(kind, elements, quantities, name=f"{kind}{k}", seed=k)
        if kind == "leakage":
            term.value["amplitude"][..., [0, 3]] = 1
            term.value["amplitude"][..., [1, 2]] *= 0.1
            term.value["phase"][..., [0, 3]] = 0
        terms.append(term)
    solutions = Solutions(tuple(terms))
    paths = write_casa_tables(tmp_path / "out", [[solutions]], ms)
    assert paths[0] == f"{tmp_path}/out.{paths[0].rpartition('/out.')[2]}" and len(set(paths)) == len(paths)
    (group,) = rt.ms.groups(ms, by_window=True)
    read = calibration.chain_for([read_casa_table(path) for path in paths], group)
    frequency_hz = 1.4e9 + 1e6 * np.arange(3)
    for antenna in ("A0", "A1", "A2", "A3"):
        expected, bad = solutions.jones(antenna, slots_s, frequency_hz)
        found, found_bad = read.jones(antenna, slots_s, frequency_hz)
        np.testing.assert_array_equal(found_bad, bad)
        np.testing.assert_allclose(found[~bad.any(axis=-1)], expected[~bad.any(axis=-1)], atol=5e-6)
    with pytest.raises(rt.Error, match="it exists; choose another name or ask to overwrite it"):
        write_casa_tables(tmp_path / "out", [[solutions]], ms)
    assert write_casa_tables(tmp_path / "out", [[solutions]], ms, overwrite=True) == paths


@pytest.mark.parametrize(
    ("kind", "quantities", "expected"),
    [("diag", ("amplitude", "phase"), "G"), ("delay", ("clock",), "B"), ("leakage", ("amplitude", "phase"), "D")],
)
def test_what_holds_for_a_whole_window_has_one_value(small_ms, tmp_path, made_term, kind, quantities, expected):
    ms = small_ms(time_s=5e9 + 5 + 10.0 * np.arange(24))
    term = made_term(kind, calibration.KINDS[kind].elements, quantities)
    if kind == "leakage":
        term.value["amplitude"][..., [0, 3]], term.value["phase"][..., [0, 3]] = 1, 0
    arrays = {q: value[:, :1] for q, value in term.value.items()}, {q: value[:, :1] for q, value in term.sigma.items()}
    place = {"frequency_hz": term.frequency_hz[1:2], "frequency_width_hz": np.array([8e6])}
    changes = place | {"value": arrays[0], "sigma": arrays[1], "flag": term.flag[:, :1]}
    one = calibration.TermSolutions(**vars(term) | changes)
    (path,) = write_casa_tables(tmp_path / "out", [[Solutions((one,))]], ms)
    table = _core.read_calibration_table(path)
    assert table["kind"] == f"{expected} Jones"
    assert np.asarray(table["rows"][0]["values"]).shape[1] == (8 if expected == "B" else 1)
    (found,) = read_casa_table(path)
    slots_s = one.time_s
    np.testing.assert_allclose(
        found.jones("A2", slots_s, FREQUENCY_HZ)[0], one.jones("A2", "", slots_s, FREQUENCY_HZ)[0], atol=1e-6
    )


def test_matrices_without_a_gain_to_divide_by_are_flagged(small_ms, tmp_path, made_term):
    ms = small_ms(time_s=5e9 + 5 + 10.0 * np.arange(24), frequency_hz=1.4e9 + 1e6 * np.arange(3))
    full = made_term("full", calibration.KINDS["full"].elements, name="F")
    full.value["amplitude"][2, 1, 3, 0, 0] = 0
    with pytest.warns(UserWarning, match="leakages are up to"):
        gains, leakages = write_casa_tables(tmp_path / "out", [[Solutions((full,))]], ms)
    for path in (gains, leakages):
        (term,) = read_casa_table(path)[0].terms
        new = term.flag.any(axis=-1) & ~full.flag[:, :, :4].any(axis=-1)
        np.testing.assert_array_equal(np.argwhere(new)[:, :3], [[2, 1, 3]])


def test_terms_of_other_intervals_have_a_value_for_each_slot(small_ms, tmp_path, made_term):
    slots_s = 5e9 + 5 + 10.0 * np.arange(24)
    ms = small_ms(time_s=slots_s, frequency_hz=1.4e9 + 1e6 * np.arange(3))
    full = made_term("full", calibration.KINDS["full"].elements, name="F")
    gain = made_term(name="G", seed=5).at_times(np.array([True, True, False, False]))
    gain = calibration.TermSolutions(
        **vars(gain) | {"time_s": 5e9 + 40 + 110.0 * np.arange(2), "time_width_s": np.array([80.0, 140.0])}
    )
    solutions = Solutions((full, gain))
    with pytest.warns(UserWarning, match=r"leakages are up to .*: CASA takes them out to first order"):
        paths = write_casa_tables(tmp_path / "out", [[solutions]], ms)
    read = functools.reduce(lambda outer, one: one.inside(outer), (read_casa_table(path)[0] for path in paths))
    frequency_hz = 1.4e9 + 1e6 * np.arange(3)
    expected, bad = solutions.jones("A1", slots_s, frequency_hz)
    assert not bad.any()
    np.testing.assert_allclose(read.jones("A1", slots_s, frequency_hz)[0], expected, atol=5e-6)


def test_terms_of_a_direction_are_written_when_it_is_named(small_ms, tmp_path, solutions):
    ms = small_ms(time_s=5e9 + 5 + 10.0 * np.arange(24))
    with pytest.warns(UserWarning, match="P left out: of directions, of which none is named"):
        (path,) = write_casa_tables(tmp_path / "out", [[solutions]], ms)
    both = write_casa_tables(tmp_path / "out", [[solutions]], ms, direction="south", overwrite=True)
    assert both == [path, str(tmp_path / "out.P")]
    (found,) = read_casa_table(both[1])
    expected, _ = solutions["P"].jones("A1", "south", TIMES_S, FREQUENCY_HZ)
    np.testing.assert_allclose(found.jones("A1", TIMES_S, FREQUENCY_HZ)[0], expected, atol=1e-6)
    with pytest.raises(CalibrationError, match="no solutions for direction 'east'; there are north, south"):
        write_casa_tables(tmp_path / "east", [[solutions]], ms, direction="east")


def test_what_cannot_be_written(small_ms, tmp_path, solutions, made_term):
    ms = small_ms()
    turn = calibration.TermSolutions(
        **vars(made_term("parallactic", ("",), ("rotation",), name="P")) | {"text": "P: parallactic"}
    )
    with pytest.raises(CalibrationError, match="P is the parallactic angle, which CASA computes itself"):
        write_casa_tables(tmp_path / "out", [[Solutions((turn,))]], ms)
    with pytest.raises(CalibrationError, match="two terms have one name: G, G"):
        write_casa_tables(tmp_path / "out", [[solutions], [solutions]], ms)
    with pytest.raises(CalibrationError, match="there are no terms to write"):
        write_casa_tables(tmp_path / "out", [[solutions.only(["P"])]], ms)
    with pytest.raises(rt.Error, match="there is no directory"):
        write_casa_tables(tmp_path / "none" / "out", [[solutions]], ms)
    (tmp_path / "file.G").write_text("precious")
    with pytest.raises(rt.Error, match="what is there is no table of solutions, so it is not overwritten"):
        write_casa_tables(tmp_path / "file", [[solutions]], ms, overwrite=True)
    assert (tmp_path / "file.G").read_text() == "precious"
