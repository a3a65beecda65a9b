"""`rimetree simulate --noise` and `--sefd`: every row and channel has noise of its own, however sets are made."""

import os
import re
import struct

import numpy as np
import pytest

import rimetree as rt


def noise_of(command, path, tmp_path, *options, column="MODEL_DATA"):
    """[row, channel, correlation] what `simulate` writes for a sky of nothing, in the order of rows."""
    sky = tmp_path / "empty.skymodel"
    sky.write_text("# (Name, Type, Ra, Dec, I) = format\na, POINT, 3h26m15s, -28.38.52, 0\n")
    noise = () if "--sefd" in options else ("--noise", "0.5")
    command("simulate", path, "--sky", sky, *noise, "--column", column, *options)
    rows, values = [], []
    for tile in rt.ms.tiles(path, [column], time_slots=100):
        there = tile["row"] >= 0
        rows.append(tile["row"][there])
        values.append(tile["columns"][column][there])
    return np.concatenate(values)[np.argsort(np.concatenate(rows))]


TWICE_S = np.repeat(5.0e9 + 10.0 * np.arange(3), 2)


@pytest.mark.parametrize(
    "changes",
    [{"n_window": 2}, {"time_s": TWICE_S, "n_field": 2}, {"time_s": TWICE_S}],
    ids=["windows", "fields", "rows"],
)
def test_rows_of_one_time_and_frequency_have_noise_of_their_own(command, small_ms, tmp_path, changes):
    """Windows that are alike, fields that are observed at once, and repeated rows had the same numbers each."""
    path = small_ms(**changes)
    found = noise_of(command, path, tmp_path)
    assert len(found) == 36
    assert len(np.unique(found.ravel())) == found.size
    # 2304 real and as many imaginary parts: 5 standard deviations are 5 %.
    assert np.std([found.real, found.imag]) == pytest.approx(0.5, rel=0.055)


@pytest.mark.parametrize("changes", [{"n_window": 2}, {"time_s": TWICE_S, "n_field": 2}, {"time_s": TWICE_S}])
def test_noise_is_that_of_the_row_however_rows_are_taken(command, small_ms, tmp_path, changes):
    path = small_ms(**changes)
    expected = noise_of(command, path, tmp_path)
    assert (noise_of(command, path, tmp_path, "--time-slots", "1", "--threads", "1", column="A") == expected).all()
    for one in range(2):
        which = "--ddid" if "n_window" in changes else "--field"
        if which == "--field" and "n_field" not in changes:
            return
        found = noise_of(command, path, tmp_path, which, one, column="B")
    assert (found == expected).all(), "written in two runs"


def test_a_seed_without_noise_is_refused(command, small_ms, tmp_path):
    """It had added none, without a word."""
    refused = command("simulate", small_ms(), "--sky", tmp_path / "a.skymodel", "--seed", "3", code=2)
    assert "--seed goes with --noise or --sefd" in refused.stderr


def test_noise_of_stokes_i_is_as_large_as_was_asked_for(command, small_ms, tmp_path, patched):
    """Of two feeds with that noise each the mean had been written: 0.7 of it. An SEFD is that of each feed."""
    path = small_ms(correlation_type=(9,), n_time=40)
    xx, stokes_i = (struct.pack("<iii", 1, 1, number) for number in (9, 1))  # an array of one element
    patched(os.path.join(path, "POLARIZATION"), xx, stokes_i)
    for options, expected in (((), 0.5), (("--sefd", "400Jy"), 400 / np.sqrt(2 * 1e6 * 10) / np.sqrt(2))):
        found = noise_of(command, path, tmp_path, *options)
        # 1920 real and as many imaginary parts: 5 standard deviations are 6 %.
        assert np.std([found.real, found.imag]) == pytest.approx(expected, rel=0.06)


@pytest.mark.parametrize("tree", ["--many-node", "--no-smearing"])
def test_noise_of_receivers_goes_with_the_root_of_channel_width_and_exposure(command, small_ms, tmp_path, tree):
    path = small_ms(n_time=10, exposure_s=2.5)
    found = noise_of(command, path, tmp_path, "--sefd", "A1*=1.6kJy", "--sefd", "400", tree)
    own = noise_of(command, path, tmp_path, "--sefd", "400Jy", column="A")
    (tile,) = rt.ms.tiles(path, [], time_slots=100)
    with_a1 = np.zeros(len(found), bool)
    for pair, rows in zip(tile["baselines"], tile["row"], strict=True):
        with_a1[rows] = 1 in pair
    of_all = 400 / np.sqrt(2 * 1e6 * 2.5)
    # 960 real and as many imaginary parts: 5 standard deviations are 8 %.
    assert np.std([found[with_a1].real, found[with_a1].imag]) == pytest.approx(2 * of_all, rel=0.08)
    assert np.std([found[~with_a1].real, found[~with_a1].imag]) == pytest.approx(of_all, rel=0.08)
    np.testing.assert_allclose(found[~with_a1], own[~with_a1], rtol=1e-6)


def test_channels_of_other_widths_have_other_noise(command, tmp_path):
    path = tmp_path / "a.ms"
    band = rt.ms.Band([1.4e9, 1.402e9], [0.25e6, 4e6])
    rt.ms.create(path, "kat-7", phase_centre_rad=(0.9, -0.5), duration_s=300.0, integration_s=10.0, bands=band)
    found = noise_of(command, path, tmp_path, "--sefd", "400Jy")
    for channel, width_hz in enumerate(band.width_hz):
        expected = 400 / np.sqrt(2 * width_hz * 10)
        assert np.std([found[:, channel].real, found[:, channel].imag]) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("options", [("--sefd", "ANT-0=1.6kJy", "--sefd", "400"), ("--noise", "0.2")])
def test_weights_are_those_of_the_noise(command, tmp_path, options):
    path, sky = tmp_path / "a.ms", tmp_path / "a.skymodel"
    sky.write_text("# (Name, Type, Ra, Dec, I) = format\na, POINT, 3h26m15s, -28.38.52, 9\n")
    times = ("--phase-centre", "3h26m15s", "-28d38m52s", "--duration", "5min", "--integration", "10s")
    command("make-ms", path, "--telescope", "kat-7", *times, "--channels", "8", "--weight-spectrum")
    command("simulate", path, "--sky", sky, *options, "--weights", "--column", "DATA")
    (tile,) = rt.ms.tiles(path, ["DATA"], time_slots=100)
    unit = 2 * tile["channel_width_hz"][0] * 10.0
    for pair, weight in zip(tile["baselines"], tile["weight"], strict=True):
        expected = unit / (400 * (1600 if 0 in pair else 400)) if options[0] == "--sefd" else 25.0
        np.testing.assert_allclose(weight, expected, rtol=1e-6)
    done = command("calibrate", path, "--sky", sky, "--term", "G: diag", "--out", tmp_path / "s.h5")
    (ratio,) = re.findall("noise expected from the weights: ([0-9.]+)", done.output)
    assert float(ratio) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(
    ("hands", "expected"), [(("I",), 4.0), (("XX", "YY"), 4.0)], ids=["of the set's Stokes I", "of each hand"]
)
def test_weights_of_noise_as_the_set_has_it(hands, expected):
    ns = rt.NodeScope()
    ns.weight << rt.ReceiverNoise(noise_jy=0.5).weight(ns, 0, 1, hands)
    cells = rt.Cells([0.0], [1e8], time_width_s=1, freq_width_hz=1)
    assert rt.Forest(ns).evaluate(ns.weight, cells).item() == pytest.approx(expected)
    with pytest.raises(rt.Error, match="data of antennas 0 and 1 have no noise, and with it no weight"):
        rt.ReceiverNoise(sefd_jy=[0.0, 400.0]).weight(ns, 0, 1, hands)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--weights"], "--weights goes with --noise or --sefd"),
        (["--weights", "--noise", "0"], "--weights are those of the noise: it is 0"),
        (["--weights", "--sefd", "A0=0", "--sefd", "400"], "--weights are those of the noise: it is 0"),
    ],
)
def test_weights_of_no_noise(command, small_ms, small_sky, tmp_path, options, said):
    rt.sky.write(small_sky, tmp_path / "a.skymodel")
    sky = ("--sky", tmp_path / "a.skymodel")
    assert said in command("simulate", small_ms(), *sky, *options, code=2).stderr
    without = command("simulate", small_ms("b.ms"), *sky, "--noise", "1", "--weights", code=1).stderr
    assert "has no column WEIGHT_SPECTRUM" in without


def test_infinite_visibilities_are_named(command, small_ms, tmp_path):
    """They were written without a word."""
    (tmp_path / "a.skymodel").write_text(
        "# (Name, Type, Ra, Dec, I, ReferenceFrequency='1e8', SpectralIndex='[]') = format\n"
        "a, POINT, 3h26m15s, -28.38.52, 1, , [60]\n"
    )
    done = command("simulate", small_ms(), "--sky", tmp_path / "a.skymodel")
    assert "288 visibilities that were written to MODEL_DATA are infinite or not a number" in done.stderr


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--sefd", "1", "--noise", "1"], 2, "give --noise or --sefd, not both"),
        (["--sefd", "1", "--sefd", "2"], 2, "--sefd is repeated: say for which antennas each is"),
        (["--sefd", "=2"], 2, "expected antennas before ="),
        (["--sefd", "2K"], 2, "'2K' is no flux density"),
        (["--sefd", "A0=2"], 1, "no --sefd is for antenna A1, A2, A3; give one without names for all others"),
        (["--sefd", "A*=2", "--sefd", "A0=2"], 1, "two --sefd are for antenna A0"),
        (["--sefd", "B=2", "--sefd", "1"], 1, "there is no antenna 'B'"),
    ],
)
def test_what_is_no_noise(command, small_ms, small_sky, tmp_path, options, code, said):
    rt.sky.write(small_sky, tmp_path / "a.skymodel")
    assert said in command("simulate", small_ms(), "--sky", tmp_path / "a.skymodel", *options, code=code).stderr
