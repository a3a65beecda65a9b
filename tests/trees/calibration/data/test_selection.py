"""Which rows and channels are solved on: what is left out is spoilt here, and must not matter."""

import warnings

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, parse_terms
from rimetree.ms import Selection
from rimetree.ms.selection import chosen_baselines

CENTRES = [(0.93, -0.485), (0.97, -0.5)]
SKY = [rt.sky.SkyModel([rt.sky.Source("a", *centre, (20.0, 0.0, 0.0, 0.0))]) for centre in CENTRES]


@pytest.fixture
def two_fields(tmp_path):
    """Scans of 60 s on fields 0, 1, 0; two windows of 8 channels of 2 MHz."""
    path = str(tmp_path / "a.ms")
    scans = [rt.ms.Scan(CENTRES[k], 60.0, f"F{k}") for k in (0, 1, 0)]
    bands = [rt.ms.Band.regular(centre, 16e6, 8) for centre in (1.3e9, 1.4e9)]
    rt.ms.create(path, "kat-7", scans=scans, integration_s=10.0, bands=bands)
    return path


def read(path, **options):
    return list(rt.ms.tiles(path, [], time_slots=100, **options))


def test_rows(two_fields):
    (first, second) = (t for t in read(two_fields, field_id=0, data_desc_id=0)[0]["time_s"][[0, -1]])
    assert sum(t["row"].size for t in read(two_fields, scans=[3])) == 2 * 6 * 21
    assert {t["field_id"] for t in read(two_fields, scans=[2])} == {1}
    one, other = read(two_fields, field_id=0, times_s=[(first, first + 11), (second, second)])
    assert one["time_s"].shape == other["time_s"].shape == (3,)
    (tile,) = read(two_fields, data_desc_ids=[1], field_id=1, baselines=[(3, 0), (2, 3)])
    assert tile["baselines"] == [(0, 3), (2, 3)] and tile["data_desc_id"] == 1
    assert rt.ms.baselines(two_fields, baselines=[(0, 0)]) == [] and read(two_fields, scans=[9]) == []


def test_intervals_of_scans(two_fields):
    """The first field has two scans, with another field between them."""
    terms = parse_terms(["G: diag, 1scan"])
    plans = calibration.plan_groups(two_fields, terms, CalibrationOptions())
    assert [(plan.group.field_id, len(plan.chunks)) for plan in plans] == [(0, 2), (1, 1)] * 2
    together = calibration.plan_groups(two_fields, parse_terms(["G: diag, 1scan, all windows"]), CalibrationOptions())
    assert [len(plan.chunks) for plan in together] == [2, 1]


def test_channels(two_fields):
    (tile,) = read(two_fields, field_id=1, data_desc_id=0, channel_ranges=[(1, 3), (5, 6)])
    assert len(tile["frequency_hz"]) == 5  # what is between is read
    np.testing.assert_array_equal(tile["flag"].all(axis=(0, 1, 3)), [0, 0, 1, 1, 0])
    assert not tile["flag"][:, :, [0, 1, 4]].any()
    inside = [(1.3e9, 1.3045e9)]
    (tile,) = read(two_fields, field_id=1, data_desc_id=0, frequency_ranges_hz=inside)
    np.testing.assert_allclose(tile["frequency_hz"], [1.301e9, 1.303e9])
    with pytest.raises(rt.Error, match="none of the 8 channels of DATA_DESC_ID 1"):
        read(two_fields, frequency_ranges_hz=inside)
    with pytest.raises(rt.Error, match="none of the 8 channels"):
        read(two_fields, channel_ranges=[(8, 9)])
    with pytest.raises(rt.Error, match="channel_ranges must be pairs"):
        read(two_fields, channel_ranges=[(8, 9, 10)])
    with pytest.raises(rt.Error, match="chosen by several ranges for reading only"):
        ns = rt.NodeScope()
        ns.V << rt.Spigot(station_1_index=0, station_2_index=1)
        ns.sink << rt.Sink(ns.V, station_1_index=0, station_2_index=1, output_column="X")
        rt.Forest(ns).run(two_fields, channel_ranges=[(1, 2)])


NAMES = {0: "CS001", 1: "CS002", 2: "RS106", 3: "DE601"}
PAIRS = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


@pytest.mark.parametrize(
    ("antennas", "baselines", "expected"),
    [
        ([], [], PAIRS),
        (["CS*"], [], [(0, 1)]),
        (["!DE*"], [], [(0, 1), (0, 2), (1, 2)]),
        (["CS*", "2"], ["RS*&CS*"], [(0, 2), (1, 2)]),
        ([], ["RS106&CS*"], [(0, 2), (1, 2)]),
        ([], ["!CS001&*"], [(1, 2), (1, 3), (2, 3)]),
        (["CS*"], ["RS*&RS*"], []),
    ],
)
def test_antennas_and_baselines(antennas, baselines, expected):
    assert chosen_baselines(NAMES, PAIRS, antennas, baselines) == expected


@pytest.mark.parametrize(
    ("selection", "says"),
    [
        ({"antennas": ["XX"]}, "there is no antenna 'XX'; there are ANT-0"),
        ({"baselines": ["ANT-0"]}, "expected two antennas .* with & between them"),
        ({"antennas": ["ANT-0"]}, "no baseline is left"),
        ({"scans": [7]}, "has no scan 7; it has 1, 2, 3"),
        ({"times_s": [(1.0, 2.0)]}, "no rows are left"),
        ({"frequencies_hz": [(1e9, 1.1e9)]}, "no channel is between 1000 and 1100 MHz; there are channels from"),
    ],
)
def test_nothing_left(two_fields, selection, says):
    options = CalibrationOptions(selection=Selection(**selection))
    with pytest.raises(rt.Error, match=says):
        calibration.plan_stages(two_fields, parse_terms(["G: diag"]), options)


@pytest.mark.parametrize(
    ("selection", "good"),
    [
        (Selection(scans=[1]), lambda t, f, p, q: t < 60),
        (
            Selection(channels=[(1, 3), (5, 7)]),
            lambda t, f, p, q: np.isin(np.arange(8), [1, 2, 5, 6])[None, :] & (t > -1),
        ),
        (Selection(antennas=["!ANT-3"]), lambda t, f, p, q: (p != 3) & (q != 3) & (t > -1)),
        (Selection(baselines=["!ANT-3&ANT-4"]), lambda t, f, p, q: ({p, q} != {3, 4}) & (t > -1)),
        (
            Selection(scans=[1], channels=[(0, 6)], antennas=["!ANT-3"]),
            lambda t, f, p, q: (t < 60) & (np.arange(8) < 6)[None, :] & (p != 3) & (q != 3),
        ),
    ],
)
def test_what_is_left_out_does_not_matter(two_fields, observe, tmp_path, selection, good):
    """Gains from good data; what is not selected is garbage of 1000 Jy."""
    rng = np.random.default_rng(1)
    gain = rng.uniform(0.7, 1.4, 7) * np.exp(1j * rng.uniform(-3, 3, 7))
    truth = observe(two_fields, SKY[0], CENTRES[0], lambda a, p, t, f: np.eye(2) * gain[a], field_id=0, data_desc_id=0)
    (tile,) = read(two_fields, field_id=0, data_desc_id=0)
    since = (tile["time_s"] - tile["time_s"][0])[:, None]
    ns = rt.NodeScope()
    for k, (p, q) in enumerate(tile["baselines"]):
        keep = np.broadcast_to(good(since, tile["frequency_hz"], p, q), truth.shape[1:3])[..., None, None]
        values = np.where(keep, truth[k], 1000 * rng.normal(size=truth[k].shape))
        ns.V(p, q) << rt.Constant(np.ascontiguousarray(np.moveaxis(values, (2, 3), (0, 1))), cells_rank=2)
        ns.sink(p, q) << rt.Sink(ns.V(p, q), station_1_index=p, station_2_index=q, output_column="DATA")
    rt.Forest(ns).run(two_fields, time_slots=1000, field_id=0, data_desc_id=0)
    out = tmp_path / "sol.h5"
    options = {"field_id": [0], "data_desc_id": [0], "selection": selection}
    report = calibration.calibrate(two_fields, SKY[0], parse_terms(["G: diag"]), out, CalibrationOptions(**options))
    (found,) = calibration.read_h5parm(out)
    term = found["G"]
    solved = term.gain()[0, 0, :, 0, 0, 0]
    numbers = [int(name.removeprefix("ANT-")) for name in term.antennas]
    ratio = solved / gain[numbers]
    np.testing.assert_allclose(ratio, ratio[0] / np.abs(ratio[0]), rtol=1e-5)
    assert report.left < 1e-9
    if selection.channels == [(1, 3), (5, 7)]:  # what is between has no solutions, and those beside it are taken
        again = calibration.calibrate(
            two_fields, SKY[0], parse_terms(["B: diag, 1chan"]), tmp_path / "b.h5", CalibrationOptions(**options)
        )
        assert again.solutions[0]["B"].shape[1] == 4 and not again.solutions[0]["B"].flag.any()
    (rest,) = calibration.residuals(two_fields, SKY[0], [[found]], CalibrationOptions(**options))
    assert rest.of_correlations.left[0] < 1e-9


def test_some_windows_together(two_fields, observe, tmp_path):
    """Two of three windows, with one delay over both."""
    for window in (0, 1):
        observe(two_fields, SKY[1], CENTRES[1], lambda *_: np.eye(2), field_id=1, data_desc_id=window)
    options = CalibrationOptions(field_id=1, data_desc_id=[0, 1], selection=Selection(scans=[2]))
    (stage,) = calibration.plan_stages(two_fields, parse_terms(["K: delay, all windows"]), options)
    assert [plan.group.data_desc_ids for plan in stage.plans] == [(0, 1)] and stage.plans[0].n_channel == 16
    report = calibration.calibrate(
        two_fields, SKY[1], parse_terms(["K: delay, all windows"]), tmp_path / "k.h5", options
    )
    assert report.converged == 1 and np.abs(report.solutions[0]["K"].value["clock"]).max() < 1e-14


@pytest.mark.parametrize(
    ("selection", "says"),
    [
        ({"channels": [(7, 21)]}, "channels 7 to 20 are selected, but data description 0 has the channels 0 to 7"),
        ({"channels": [(0, 4), (6, 9)]}, "channels 6 to 8 are selected"),
        ({"frequencies_hz": [(1.29e9, 1.3e9), (1e9, 1.1e9)]}, "no channel is between 1000 and 1100 MHz"),
        ({"scans": [1, 7]}, "has no scan 7; it has 1, 2, 3"),
        ({"times_s": [(0.0, 1e10), (1.0, 2.0)]}, "has no data between 1858-11-17T00:00:01"),
    ],
)
def test_a_part_of_a_selection_that_is_not_there(two_fields, selection, says):
    """It was left out without a word."""
    options = CalibrationOptions(selection=Selection(**selection), data_desc_id=0)
    with pytest.raises(rt.Error, match=says):
        calibration.plan_stages(two_fields, parse_terms(["G: diag"]), options)


@pytest.mark.parametrize(("scans", "named"), [([1, 2, 3, 4, 5], True), ([1, 2, 3], False), ([2, 3], False)])
def test_a_range_of_scans_beside_a_field(two_fields, scans, named):
    """Those of other fields, and numbers that are left out, are no mistake; what is beyond the last is named."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        options = CalibrationOptions(selection=Selection(scans=scans), field_id=0, data_desc_id=0)
        (plan,) = calibration.plan_groups(two_fields, parse_terms(["G: diag"]), options)
    assert len(plan.chunks[0].slot_s) == (12 if 1 in scans else 6)
    assert [("has the scans 1, 2, 3" in str(one.message)) for one in said] == [True] * named


@pytest.fixture
def two_windows(tmp_path):
    """Two windows of 8 and 4 channels, side by side in frequency."""
    path = str(tmp_path / "a.ms")
    bands = [rt.ms.Band.regular(1.3e9, 16e6, 8), rt.ms.Band.regular(1.4e9, 8e6, 4)]
    rt.ms.create(path, "kat-7", scans=[rt.ms.Scan(CENTRES[0], 60.0, "F0")], integration_s=10.0, bands=bands)
    return path


def test_windows_that_do_not_have_all_channels_are_named(two_windows):
    options = CalibrationOptions(selection=Selection(channels=[(2, 6)]))
    with pytest.warns(
        UserWarning, match="channels 2 to 5 are selected, but data description 1 has the channels 0 to 3"
    ):
        plans = calibration.plan_groups(two_windows, parse_terms(["G: diag"]), options)
    assert [plan.n_channel for plan in plans] == [4, 2]


def test_a_baseline_without_data_beside_others_is_named(two_fields):
    options = CalibrationOptions(selection=Selection(baselines=["ANT-0&ANT-1", "ANT-2&ANT-2"]))
    with pytest.warns(UserWarning, match="there are no data of a baseline 'ANT-2&ANT-2'"):
        calibration.plan_groups(two_fields, parse_terms(["G: diag"]), options)


def test_choices_that_are_made_twice_count_once(two_fields):
    once = Selection(scans=[1], channels=[(1, 4)], antennas=["ANT-0", "ANT-1"], baselines=["ANT-0&ANT-1"])
    twice = Selection(
        scans=[1, 1], channels=[(1, 3), (2, 4)], antennas=["ANT-0", "ANT-1", "ANT-0"], baselines=["ANT-0&ANT-1"] * 2
    )
    plans = [
        calibration.plan_groups(
            two_fields, parse_terms(["G: diag, 1chan"]), CalibrationOptions(selection=one, data_desc_id=[0, 0])
        )
        for one in (once, twice)
    ]
    (one,), (other,) = plans
    assert one.n_channel == other.n_channel == 3 and one.group.baselines == other.group.baselines == [(0, 1)]
    assert [len(chunk.slot_s) for chunk in one.chunks] == [len(chunk.slot_s) for chunk in other.chunks]


def test_a_least_length_above_the_largest():
    with pytest.raises(calibration.CalibrationError, match="from 500 to 100 m: the smaller length comes first"):
        calibration.DataSelection(min_m=500.0, max_m=100.0)


@pytest.mark.parametrize("term", ["G: diag", "G: diag, all windows"])
def test_windows_that_have_none_of_the_channels_are_left_out_and_named(two_windows, term):
    """Of terms of all windows, and for images, they were an error; of others they were left out without a word."""
    options = CalibrationOptions(selection=Selection(channels=[(5, 7)]))
    with pytest.warns(UserWarning, match="data description 1 has the channels 0 to 3"):
        (plan,) = calibration.plan_groups(two_windows, parse_terms([term]), options)
    assert plan.group.data_desc_ids == (0,) and plan.n_channel == 2
    with pytest.warns(UserWarning, match="data description 1 has the channels 0 to 3"):
        (group,) = rt.ms.groups(two_windows, selection=Selection(channels=[(5, 7)]))
    assert group.data_desc_ids == (0,) and group.frequency_hz[1] < 1.31e9
    tiles = list(rt.ms.tiles(two_windows, ["DATA"], **group.selection))
    assert tiles and {len(tile["frequency_hz"]) for tile in tiles} == {2}
    high = Selection(frequencies_hz=[(1.39e9, 1.41e9)])
    assert [one.data_desc_ids for one in rt.ms.groups(two_windows, selection=high)] == [(1,)]
    with pytest.raises(rt.Error, match="no channels are left of what is selected"):
        rt.ms.groups(two_windows, selection=Selection(channels=[(0, 2)], frequencies_hz=[(1.4e9, 1.41e9)]))
