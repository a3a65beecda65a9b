"""`rimetree simulate --add-to` and `--subtract-from`: a sky, or noise alone, beside what a column has."""

import numpy as np
import pytest
from planted_columns import write_column

import rimetree as rt


@pytest.fixture
def sky(tmp_path, small_sky):
    path = tmp_path / "a.skymodel"
    rt.sky.write(small_sky, path)
    return path


def column_of(path, name):
    (tile,) = rt.ms.tiles(path, [name], time_slots=100)
    return tile["columns"][name]


@pytest.fixture
def observed(command, small_ms, sky):
    """A function that makes a set with data, of which some are flagged, and the sky in MODEL_DATA."""

    def make(**changes):
        path = small_ms(**changes)
        command("simulate", path, "--sky", sky)
        (tile,) = rt.ms.tiles(path, [], time_slots=100)
        rng = np.random.default_rng(4)
        cells = tile["flag"].shape[:3]
        values = rng.normal(size=(2, *cells, 2, 2))
        write_column(path, tile, values[0] + 1j * values[1], flag=rng.random(cells) < 0.2)
        return path

    return make


HANDS = {"four hands": (9, 10, 11, 12), "two hands": (9, 12), "circular": (5, 6, 7, 8)}
WAYS = {"--add-to": 1, "--subtract-from": -1}


@pytest.mark.parametrize("hands", HANDS.values(), ids=HANDS)
@pytest.mark.parametrize("tree", [[], ["--many-node"], ["--as-written"]], ids=["PSV", "many nodes", "as written"])
@pytest.mark.parametrize("way", WAYS)
def test_a_sky_beside_data(command, observed, sky, way, tree, hands):
    """Flagged data as well: flags may be taken back."""
    path = observed(correlation_type=hands)
    command("simulate", path, "--sky", sky, way, "DATA", "--column", "SUM", *tree)
    expected = column_of(path, "DATA") + WAYS[way] * column_of(path, "MODEL_DATA")
    np.testing.assert_allclose(column_of(path, "SUM"), expected, atol=4e-6)


def test_fields_and_windows_have_their_own_data(command, small_ms, sky):
    path = small_ms(n_window=2, n_field=2, n_time=4)
    command("simulate", path, "--sky", sky)
    command("simulate", path, "--noise", "1", "--column", "DATA")
    command("simulate", path, "--sky", sky, "--add-to", "DATA", "--column", "SUM")
    tiles = list(rt.ms.tiles(path, ["DATA", "MODEL_DATA", "SUM"], time_slots=100))
    assert len(tiles) == 4
    for tile in tiles:
        there = tile["row"] >= 0
        data, model, found = (tile["columns"][name][there] for name in ("DATA", "MODEL_DATA", "SUM"))
        np.testing.assert_allclose(found, data + model, atol=4e-6)


def test_what_was_added_is_subtracted_in_place(command, observed, sky):
    path = observed()
    before = column_of(path, "DATA")
    command("simulate", path, "--sky", sky, "--add-to", "DATA", "--column", "DATA")
    assert abs(column_of(path, "DATA") - before).max() > 0.1
    command("simulate", path, "--sky", sky, "--subtract-from", "DATA", "--column", "DATA")
    np.testing.assert_allclose(column_of(path, "DATA"), before, atol=2e-6)


@pytest.mark.parametrize("way", WAYS)
def test_the_same_is_not_done_twice_to_a_column(command, observed, sky, way):
    path = observed()
    same = ("simulate", path, "--sky", sky, way, "DATA", "--column", "DATA", "--noise", "0.1")
    command(*same)
    once = column_of(path, "DATA")
    assert "DATA of field 0, window 0 had the same model" in command(*same, code=1).stderr
    assert (column_of(path, "DATA") == once).all()
    assert "had the same model" in command(*same, "--seed", "2", code=1).stderr, "other noise, the same sky"
    command(*same, "--again")
    command("simulate", path, "--sky", sky, "--column", "DATA")
    command(*same)  # what had been done is gone


def test_times_that_do_not_meet_are_others(command, observed, sky):
    """They were warned of as if they might be the same, and those that meet no more than that."""
    path = observed(n_time=6)
    same = ("simulate", path, "--sky", sky, "--add-to", "DATA", "--column", "DATA", "--time")
    assert "second time" not in command(*same, "0s~20s").stderr
    assert "second time" not in command(*same, "20s~40s").stderr
    assert "would be a second time" in command(*same, "10s~50s", code=1).stderr
    assert "would be a second time" in command(*same, "0s~20s", "--antenna", "A0,A1", code=1).stderr
    assert "second time" not in command(*same, "40s~60s", "--antenna", "A0,A1").stderr
    assert "are a second time" in command(*same, "40s~60s", "--antenna", "A1,A2").stderr
    assert "would be a second time" in command("simulate", path, *same[2:-1], code=1).stderr


@pytest.mark.parametrize("what", ["sky", "sky with solutions", "solutions"])
def test_a_new_column_has_the_data_of_rows_that_are_left_out(command, small_ms, sky, tmp_path, what):
    """They were 0, as those of antennas with themselves."""
    pairs = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2)]
    path = small_ms(pairs=pairs, n_field=2, n_time=4)
    for column in ("DATA", "MODEL_DATA"):
        tiles = list(rt.ms.tiles(path, [], time_slots=100, autocorrelations=True))
        for tile in tiles:
            values = np.ones((*tile["flag"].shape[:3], 2, 2)) * (3 if column == "DATA" else 0)
            write_column(path, tile, values, column, options={"field_id": tile["field_id"], "autocorrelations": True})
    options = []
    if "solutions" in what:
        term = "G: diag" if what == "solutions" else "P: phase"
        command("calibrate", path, "--sky", sky, "--term", term, "--out", tmp_path / "g.h5")
        options = ["--solutions", tmp_path / "g.h5"]
    if what == "solutions":
        command("apply", path, *options, "--field", "0", "--output-column", "SUM")
    else:
        command("simulate", path, "--sky", sky, *options, "--field", "0", "--add-to", "DATA", "--column", "SUM")
    for tile in rt.ms.tiles(path, ["SUM"], time_slots=100, autocorrelations=True):
        for pair, own in zip(tile["baselines"], tile["columns"]["SUM"], strict=True):
            changed = tile["field_id"] == 0 and pair[0] != pair[1]
            assert (abs(own - 3).max() > 0.1) == changed, (pair, tile["field_id"])
    kept = command("simulate", path, "--sky", sky, "--field", "0", "--add-to", "DATA", "--column", "SUM")
    assert "is new" not in kept.stderr


@pytest.mark.parametrize("noise", [("--noise", "0.5"), ("--sefd", "2.2kJy")], ids=" ".join)
def test_noise_is_not_added_twice(command, observed, noise):
    """Noise alone into the column that is read was "the sky model has no sources"."""
    path = observed()
    same = ("simulate", path, *noise, "--add-to", "DATA", "--column", "DATA")
    before = column_of(path, "DATA")
    command(*same)
    assert np.std((column_of(path, "DATA") - before).real) == pytest.approx(0.5, rel=0.2)
    assert "had the same noise added" in command(*same, code=1).stderr
    command(*same, "--seed", "2")


def test_noise_alone(command, observed):
    path = observed(n_time=40)
    before = column_of(path, "DATA")
    done = command("simulate", path, "--noise", "0.5", "--add-to", "DATA", "--column", "SUM")
    assert "noise alone" in done.stderr
    command("simulate", path, "--noise", "0.5", "--column", "NOISE")
    noise = column_of(path, "NOISE")
    # 7680 real and as many imaginary parts: 5 standard deviations are 3 %.
    assert np.std([noise.real, noise.imag]) == pytest.approx(0.5, rel=0.03)
    np.testing.assert_allclose(column_of(path, "SUM"), before + noise, atol=1e-6)


def test_noise_of_receivers_alone_and_its_weights(command, tmp_path):
    path = tmp_path / "a.ms"
    times = ("--phase-centre", "3h26m15s", "-28d38m52s", "--duration", "5min", "--integration", "10s")
    command("make-ms", path, "--telescope", "kat-7", *times, "--channels", "8", "--weight-spectrum")
    command("simulate", path, "--sefd", "400", "--weights", "--column", "DATA")
    (tile,) = rt.ms.tiles(path, ["DATA"], time_slots=100)
    weighed = tile["columns"]["DATA"] * np.sqrt(tile["weight"])
    assert np.std([weighed.real, weighed.imag]) == pytest.approx(1, rel=0.02)


@pytest.mark.parametrize("way", WAYS)
def test_beside_data_with_solutions(command, observed, sky, tmp_path, way):
    path = observed()
    command("calibrate", path, "--sky", sky, "--term", "G: diag", "--out", tmp_path / "g.h5")
    seen = ("simulate", path, "--sky", sky, "--solutions", tmp_path / "g.h5")
    command(*seen, "--column", "SEEN")
    command(*seen, way, "DATA", "--column", "SUM")
    expected = column_of(path, "DATA") + WAYS[way] * column_of(path, "SEEN")
    np.testing.assert_allclose(column_of(path, "SUM"), expected, atol=4e-6)
    command(*seen, way, "DATA", "--column", "DATA")
    assert "window 0 had the same model" in command(*seen, way, "DATA", "--column", "DATA", code=1).stderr


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--add-to", "DATA"], 2, "with --add-to say where to write with --column; it may be DATA itself"),
        (["--subtract-from", "DATA"], 2, "with --subtract-from say where to write with --column"),
        (["--add-to", "DATA", "--subtract-from", "DATA", "--column", "A"], 2, "give --add-to or --subtract-from"),
        (["--add-to", "NONE", "--column", "A"], 1, "has no column of visibilities NONE"),
        (["--add-to", "DATA", "--column", "A", "--again"], 2, "--again is for --add-to or --subtract-from the column"),
        (["--again"], 2, "--again is for --add-to or --subtract-from the column that is written"),
    ],
)
def test_what_is_no_sum(command, small_ms, sky, options, code, said):
    assert said in command("simulate", small_ms(), "--sky", sky, *options, code=code).stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "give a sky model with --sky, or --sefd or --noise for noise alone"),
        (["--sefd", "0"], "give a sky model with --sky, or --sefd or --noise for noise alone"),
        (["--noise", "1", "--beam", "airy"], "--beam goes with --sky"),
        (["--noise", "1", "--no-smearing"], "--no-smearing goes with --sky"),
        (["--noise", "1", "--solutions", "g.h5"], "--solutions goes with --sky"),
        (["--noise", "1", "--subtract-from", "DATA", "--column", "A"], "--subtract-from goes with --sky"),
    ],
)
def test_what_needs_a_sky(command, small_ms, options, said):
    assert said in command("simulate", small_ms(), *options, code=2).stderr


def test_a_sky_is_added_or_subtracted(small_sky):
    ns = rt.NodeScope()
    with pytest.raises(rt.Error, match="the sky is added to DATA or subtracted from A, not both"):
        rt.psv_tree(ns, small_sky, (0.9, -0.5), [(0, 1)], add_to="DATA", subtract_from="A")
