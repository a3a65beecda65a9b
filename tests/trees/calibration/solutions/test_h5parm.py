"""H5parm files: what is written is read back, and has the form that other readers rely on."""

import os
import re
import resource
import warnings

import h5py
import numpy as np
import pytest

import rimetree as rt
from rimetree.calibration import CalibrationError, Solutions, read_h5parm, solutions_for, write_h5parm


def same(a, b):
    for key in ("name", "kind", "elements", "antennas", "directions", "text"):
        assert getattr(a, key) == getattr(b, key)
    for key in ("time_s", "time_width_s", "frequency_hz", "frequency_width_hz", "flag"):
        np.testing.assert_array_equal(getattr(a, key), getattr(b, key))
    assert a.value.keys() == b.value.keys()
    for quantity in a.value:
        np.testing.assert_array_equal(a.value[quantity][~a.flag], b.value[quantity][~a.flag])
        np.testing.assert_array_equal(a.sigma[quantity][~a.flag], b.sigma[quantity][~a.flag])


def test_round_trip(tmp_path, solutions, made_term):
    file = tmp_path / "sol.h5"
    write_h5parm(file, [solutions, Solutions((made_term("full", ("00", "01", "10", "11")),), "circular")])
    first, second = read_h5parm(file)
    for a, b in zip(solutions.terms, first.terms, strict=True):
        same(a, b)
    assert first.feed == "linear" and second.feed == "circular"
    assert first.provenance == solutions.provenance
    assert first.direction_radec_rad["south"] == pytest.approx((0.9, -0.51), abs=1e-7)
    np.testing.assert_allclose(first.antenna_xyz_m["A3"], solutions.antenna_xyz_m["A3"], rtol=1e-7)
    same(second.terms[0], made_term("full", ("00", "01", "10", "11")))


def test_terms_keep_their_order_and_their_tables(tmp_path, made_term):
    terms = (
        made_term("tec", ("",), ("tec",), "T"),
        made_term(name="G"),
        made_term("phase", ("0", "1"), ("phase",), "P", seed=9),
        made_term("delay", ("0", "1"), ("clock",), "K"),
        made_term("rotation", ("",), ("rotation",), "R"),
        made_term(name="B", seed=8),
    )
    write_h5parm(tmp_path / "sol.h5", Solutions(terms))
    (found,) = read_h5parm(tmp_path / "sol.h5")
    for a, b in zip(terms, found.terms, strict=True):
        same(a, b)
    with h5py.File(tmp_path / "sol.h5") as file:
        tables = {name for name in file["sol000"] if name not in ("antenna", "source")}
    assert tables == {
        *("tec000", "amplitude000", "phase000", "phase001", "clock000", "rotation000", "amplitude002", "phase002")
    }


def test_the_form_that_others_read(tmp_path, solutions):
    file = tmp_path / "sol.h5"
    write_h5parm(file, solutions)
    with h5py.File(file) as h5:
        group = h5["sol000"]
        assert group.attrs["h5parm_version"] == b"1.0"
        assert group["antenna"].dtype.names == ("name", "position") and group["antenna"]["name"][0] == b"A0"
        assert group["source"].dtype.names == ("name", "dir") and group["source"]["name"][0] == b"[north]"
        table = group["amplitude000"]
        assert table.attrs["TITLE"] == b"amplitude"
        assert table["val"].attrs["AXES"] == table["weight"].attrs["AXES"] == b"time,freq,ant,pol"
        assert table["pol"][:].tolist() == [b"XX", b"YY"]
        assert table["val"].shape == (4, 3, 5, 2) and table["ant"].dtype.kind == "S"
        assert group["phase001/val"].attrs["AXES"] == b"time,freq,ant,dir,pol"
        assert group["phase001/dir"][:].tolist() == [b"[north]", b"[south]"]
        # DP3 refuses text of variable length.
        for node in (group, table, table["val"]):
            for name in node.attrs:
                assert h5py.check_string_dtype(node.attrs.get_id(name).dtype) is None or (
                    h5py.check_string_dtype(node.attrs.get_id(name).dtype).length is not None
                )
        weight = table["weight"][:]
        assert set(np.unique(weight)) == {0.0, 1.0}
        assert np.isnan(table["val"][:][weight == 0]).all() and np.isfinite(table["val"][:][weight == 1]).all()


def test_a_file_of_another_writer(tmp_path):
    """Other order of axes, no terms, weights of half precision, frequencies that descend, a NaN with weight 1."""
    rng = np.random.default_rng(2)
    value = rng.normal(size=(2, 3, 4, 2))  # pol, ant, freq, time
    with h5py.File(tmp_path / "other.h5", "w") as file:
        for name, array in (("amplitude000", np.abs(value)), ("phase000", value)):
            table = file.create_group(f"sol000/{name}")
            table.attrs["TITLE"] = np.bytes_(name[:-3])
            array = array.copy()
            array[0, 1, 2, 0] = np.nan
            for part, values in (("val", array), ("weight", np.ones(value.shape, "f2"))):
                table[part] = values
                table[part].attrs["AXES"] = "pol,ant,freq,time"
            table["pol"], table["ant"] = [b"RR", b"LL"], [b"P", b"Q", b"R"]
            table["freq"], table["time"] = [4e8, 3e8, 2e8, 1e8], [1.0, 2.0]
    (found,) = read_h5parm(tmp_path / "other.h5")
    (term,) = found.terms
    assert (term.kind, found.feed, term.directions) == ("diag", "circular", ("",))
    assert term.frequency_hz.tolist() == [1e8, 2e8, 3e8, 4e8]
    assert np.argwhere(term.flag).tolist() == [[0, 1, 1, 0, 0]]
    assert term.value["phase"][1, 3, 2, 0, 1] == value[1, 2, 0, 1]
    assert term.value["amplitude"][1, 0, 2, 0, 1] == abs(value[1, 2, 3, 1])
    assert np.isnan(term.sigma["phase"]).all()


def others_table(group, name, title, value, *, pol=("XX", "YY"), time=(1.0, 2.0), freq=(1e8, 2e8, 3e8)):
    """A table as others write it: of [time, freq, ant, pol], [time, freq, ant] or [time, ant]."""
    axes = {2: "time,ant", 3: "time,freq,ant", 4: "time,freq,ant,pol"}[value.ndim]
    table = group.create_group(name)
    table.attrs["TITLE"] = np.bytes_(title)
    table["val"] = value
    table["val"].attrs["AXES"] = np.bytes_(axes)
    for axis, values in (("time", time), ("freq", freq), ("ant", np.bytes_(["P", "Q"])), ("pol", np.bytes_(pol))):
        if axis in axes:
            table[axis] = values


def test_polarisations_are_taken_by_their_names(tmp_path):
    """They had been taken by their places: YY, XX as if it was XX, YY."""
    rng = np.random.default_rng(3)
    names = {2: ("XX", "YY"), 4: ("XX", "XY", "YX", "YY")}
    for order in ((1, 0), (0, 1, 3, 2), (3, 1, 0, 2)):
        value = rng.uniform(size=(2, 3, 2, len(order)))
        with h5py.File(tmp_path / "a.h5", "w") as file:
            for quantity in ("amplitude", "phase"):
                pol = [names[len(order)][k] for k in order]
                others_table(file.require_group("sol000"), f"{quantity}000", quantity, value[..., order], pol=pol)
        (found,) = read_h5parm(tmp_path / "a.h5")
        for quantity in ("amplitude", "phase"):
            np.testing.assert_array_equal(found["gain000"].value[quantity][..., 0, :], value)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        others_table(file.create_group("sol000"), "phase000", "phase", value[..., :2], pol=("XX", "XY"))
    with pytest.raises(CalibrationError, match="has the polarisations XX, XY; understood are XX, YY and"):
        read_h5parm(tmp_path / "a.h5")


def test_tables_may_have_any_name(tmp_path):
    """Those without a number at the end had been passed over, and of two of a kind with the same number one."""
    amplitude, phase = np.random.default_rng(3).uniform(size=(2, 2, 3, 2, 2))
    file = tmp_path / "a.h5"
    with h5py.File(file, "w") as h5:
        group = h5.create_group("calibrator")
        others_table(group, "bandpass", "amplitude", amplitude)
        others_table(group, "polalign", "phase", phase)
        others_table(group, "clock", "clock", 1e-9 * phase[:, 0, :, 0])
        others_table(group, "align000", "phase", phase)
        others_table(group, "phase000", "phase", phase)
        others_table(group, "common000", "commonscalarphase", phase[:, 0, :, 0])
    (found,) = read_h5parm(file)
    kinds = {term.name: term.kind for term in found.terms}
    assert (found.name, len(kinds)) == ("calibrator", 6) and sorted(kinds.values()) == sorted(
        ["amplitude", "delay", "phase", "phase", "phase", "phase"]
    )
    jones, bad = found.jones("Q", np.array([1.0]), np.array([2e8]))
    expected = amplitude[0, 1, 1] * np.exp(1j * (3 * phase[0, 1, 1] + phase[0, 0, 1, 0] * (1 + 2 * np.pi * 0.2)))
    np.testing.assert_allclose(np.diagonal(jones[0, 0]), expected, rtol=1e-9)
    assert not bad.any()
    (one,) = read_h5parm(f"{file}:calibrator/bandpass")
    assert [term.name for term in one.terms] == ["bandpass"]


def made_of(rng, kind):
    """Tables of phases, and of what was made of them: {name: (title, [time, freq, ant, pol] or [time, ant])}."""
    freq, hertz = np.linspace(1.2e8, 1.6e8, 40), np.linspace(1.2e8, 1.6e8, 40)[None, :, None]
    tec, clock = rng.normal(size=(20, 1, 2)), 2e-8 * rng.normal(size=(1, 1, 2))
    phase = -8.44797245e9 / hertz * tec + 2 * np.pi * hertz * clock + rng.normal(size=(1, 1, 2))
    phase = (phase + 0.3 * rng.normal(size=phase.shape))[..., None] + np.array([0.0, 0.4])
    tables = {"phase000": ("phase", phase)}
    if kind == "fitted":
        tables |= {"tec000": ("tec", tec[:, 0]), "clock000": ("clock", np.tile(clock[:, 0], (20, 1)))}
    elif kind == "smoothed":
        tables |= {"phaseSmooth000": ("phase", phase + 0.1 * rng.normal(size=phase.shape))}
    elif kind == "unrelated":
        tables |= {
            "clock000": ("clock", 2e-8 * rng.normal(size=(20, 2))),
            "align000": ("phase", 0 * phase + [0.0, 1.0]),
        }
    return freq, tables


@pytest.mark.parametrize(
    ("kind", "named"),
    [("fitted", "phase000|gain000 and clock000, tec000"), ("smoothed", "phaseSmooth000"), ("unrelated", "")],
)
def test_tables_that_were_made_of_others_are_named(tmp_path, kind, named):
    """Both were applied, so that phases were taken out twice, without a word."""
    freq, tables = made_of(np.random.default_rng(3), kind)
    with h5py.File(tmp_path / "a.h5", "w") as h5:
        group = h5.create_group("sol000")
        for name, (title, value) in tables.items():
            others_table(group, name, title, value, time=np.arange(20.0), freq=freq)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        read_h5parm(tmp_path / "a.h5")
    texts = [str(one.message) for one in said]
    assert bool(texts) == bool(named)
    if named:
        assert re.search(rf"{named}.* seem to hold the same, .* choose, by --terms or as FILE:sol000/TERM", texts[0])


@pytest.mark.parametrize(
    ("axis", "entries", "said"),
    [
        ("time", (np.nan, 2.0), "axis time of /sol000/phase000 has an entry that is not a number"),
        ("freq", (), "axis freq of /sol000/phase000 has no entries"),
        ("ant", np.bytes_(["P", "P"]), "/sol000/phase000 has antenna P twice"),
    ],
)
def test_axes_that_are_none(tmp_path, axis, entries, said):
    """Plots of them ended in a traceback."""
    with h5py.File(tmp_path / "a.h5", "w") as h5:
        group = h5.create_group("sol000")
        others_table(group, "phase000", "phase", np.zeros((2, len(entries) if axis == "freq" else 3, 2)))
        del group[f"phase000/{axis}"]
        group[f"phase000/{axis}"] = entries
    with pytest.raises(CalibrationError, match=said):
        read_h5parm(tmp_path / "a.h5")


def test_tables_without_frequencies_are_complete_without_a_word(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as h5:
        others_table(h5.create_group("sol000"), "tec000", "tec", np.ones((2, 2)))
    (found,) = read_h5parm(tmp_path / "a.h5")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert found["tec000"].complete(["P", "Q"])


def test_amplitudes_and_phases_of_other_times_are_terms_of_their_own(tmp_path):
    """They had been refused."""
    rng = np.random.default_rng(3)
    amplitude, phase = rng.uniform(size=(1, 3, 2, 2)), rng.uniform(size=(2, 2))
    with h5py.File(tmp_path / "a.h5", "w") as h5:
        group = h5.create_group("sol000")
        others_table(group, "amplitude000", "amplitude", amplitude, time=[1.5])
        others_table(group, "phase000", "phase", phase)
    (found,) = read_h5parm(tmp_path / "a.h5")
    jones, _ = found.jones("P", np.array([1.0, 2.0]), np.array([3e8]))
    expected = amplitude[0, 2, 0] * np.exp(1j * phase[:, 0, None])
    np.testing.assert_allclose(np.diagonal(jones[:, 0], axis1=-2, axis2=-1), expected, rtol=1e-12)


def test_which_of_several_sets_is_meant(tmp_path, small_ms):
    """Of two sets for the same frequencies the first had been taken without a word; and delays that are for all
    frequencies had made windows look alike, so that the first was taken there, too."""
    (group,) = rt.ms.groups(small_ms())
    phase = np.random.default_rng(3).uniform(size=(2, 3, 2, 2))
    low, high = group.frequency_hz
    file = tmp_path / "a.h5"
    with h5py.File(file, "w") as h5:
        for name, first in (("sol000", 0.5 * low), ("sol001", low)):
            freq = np.linspace(first, first + high - low, 3)
            others_table(h5.create_group(name), "phase000", "phase", phase, freq=freq)
            others_table(h5[name], "clock000", "clock", phase[:, 0, :, 0])
    assert solutions_for(read_h5parm(file), group).name == "sol001"
    with h5py.File(file, "r+") as h5:
        h5.copy("sol001", "target")
    with pytest.raises(CalibrationError, match="sets sol001, target of one file are for the same frequencies: say wh"):
        solutions_for(read_h5parm(file), group)
    assert solutions_for(read_h5parm(f"{file}:target"), group).name == "target"


def test_an_order_that_matters_and_is_not_said_is_named(tmp_path):
    values = np.random.default_rng(3).uniform(size=(2, 3, 2, 2))
    file = tmp_path / "a.h5"
    with h5py.File(file, "w") as h5:
        for name in ("calibrator", "other"):
            group = h5.create_group(name)
            others_table(group, "faraday", "rotationmeasure", values[:, 0, :, 0])
            others_table(group, "polalign", "phase", values)
    with pytest.warns(UserWarning, match="terms of calibrator stand, and it matters: they are taken as faraday, pola"):
        both = read_h5parm(file)
    assert [one.name for one in both] == ["calibrator", "other"]
    (one,) = read_h5parm(f"{file}:other/faraday")
    assert [term.kind for term in one.terms] == ["faraday"]
    with pytest.raises(CalibrationError, match="has no solution set 'target'; it has calibrator, other"):
        read_h5parm(f"{file}:target")
    with pytest.raises(CalibrationError, match="no solutions of 'clock'"):
        read_h5parm(f"{file}:other/clock")


def test_tables_of_unknown_kinds_are_left_out(tmp_path, solutions):
    """One had kept all others from being read."""
    file = tmp_path / "a.h5"
    write_h5parm(file, solutions)
    with h5py.File(file, "r+") as h5:
        others_table(h5["sol000"], "tec3rd000", "tec3rd", np.ones((1, 1, 2)), time=[1.0], freq=[1e8])
    with pytest.warns(UserWarning, match="sol000/tec3rd000 left out, and nothing is corrected .* type tec3rd with 1"):
        (found,) = read_h5parm(file)
    assert [term.name for term in found.terms] == [term.name for term in solutions.terms]
    with warnings.catch_warnings(action="error"):
        assert read_h5parm(f"{file}:sol000/G")[0].has("G")
    with pytest.raises(CalibrationError, match="solutions of type tec3rd"), warnings.catch_warnings(action="ignore"):
        read_h5parm(f"{file}:sol000/tec3rd000")
    with h5py.File(file, "r+") as h5:
        for name in list(h5["sol000"]):
            if name not in ("antenna", "source", "tec3rd000"):
                del h5["sol000"][name]
    with pytest.raises(CalibrationError, match="solutions of type tec3rd with 1 elements are of no known kind of term"):
        read_h5parm(file)


def test_errors(tmp_path, solutions):
    with pytest.raises(FileNotFoundError):
        read_h5parm(tmp_path / "none.h5")
    (tmp_path / "text.h5").write_text("no HDF5")
    with pytest.raises(CalibrationError, match="no HDF5 file"):
        read_h5parm(tmp_path / "text.h5")
    with h5py.File(tmp_path / "empty.h5", "w"):
        pass
    with pytest.raises(CalibrationError, match="no solution set"):
        read_h5parm(tmp_path / "empty.h5")
    file = tmp_path / "axis.h5"
    write_h5parm(file, solutions)
    with h5py.File(file, "r+") as h5:
        h5["sol000/phase001/val"].attrs["AXES"] = np.bytes_("time,freq,ant,dir,spin")
    with pytest.raises(CalibrationError, match="an axis 'spin'"):
        read_h5parm(file)


def test_a_failed_write_leaves_the_file_as_it_was(tmp_path, solutions):
    file = tmp_path / "sol.h5"
    write_h5parm(file, solutions)
    before = file.read_bytes()

    class Broken(Solutions):
        @property
        def terms(self):
            raise MemoryError

    broken = object.__new__(Broken)
    for name in ("feed", "antenna_xyz_m", "direction_radec_rad", "provenance"):
        object.__setattr__(broken, name, getattr(solutions, name))
    with pytest.raises(MemoryError):
        write_h5parm(file, [solutions, broken])
    assert file.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["sol.h5"]


@pytest.mark.parametrize("part", [0.0, 0.3, 0.7, 0.9, 0.99])
def test_a_disk_that_gets_full_on_the_way(tmp_path, solutions, part):
    """A limit on file sizes stands for it. HDF5 alone calls some such files good, and ends the program later."""
    file = tmp_path / "sol.h5"
    write_h5parm(file, solutions)
    size, before = file.stat().st_size, file.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(part * size), hard))
    try:
        with pytest.raises(OSError, match="cannot be written: File too large") as caught:
            write_h5parm(file, solutions)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.filename == os.fspath(file)
    assert file.read_bytes() == before and os.listdir(tmp_path) == ["sol.h5"]
