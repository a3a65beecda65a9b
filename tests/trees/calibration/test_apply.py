"""Applying planted solutions: data corrupted with them come back, flags are written, weights stay."""

import dataclasses
import os
import struct

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationError, Solutions, TermSolutions
from rimetree.receiver_noise import ReceiverNoise

CENTRE = (0.9, -0.5)
NAMES = tuple(f"A{i}" for i in range(4))


@pytest.fixture
def sky():
    """Two patches: one source at the centre, two beside it."""
    return rt.sky.SkyModel(
        [
            rt.sky.Source("a", 0.9, -0.5, (2.0, 0.2, 0.1, 0.05), patch="middle"),
            rt.sky.Source("b", 0.902, -0.501, (1.0, 0.0, 0.0, 0.0), patch="side"),
            rt.sky.Source("c", 0.9022, -0.501, (0.5, 0.0, 0.0, 0.0), patch="side"),
        ]
    )


def planted(kind, elements, quantities, name="G", directions=("",), seed=1, antennas=NAMES):
    """Solutions of 2 intervals in time and 2 in frequency for `small_ms`, close to unity."""
    rng = np.random.default_rng(seed)
    shape = (2, 2, len(antennas), len(directions), len(elements))
    value = {}
    for quantity in quantities:
        if quantity == "amplitude":
            crossed = np.array([element in ("01", "10") for element in elements])
            value[quantity] = np.where(crossed, 0.1, rng.uniform(0.5, 2, shape))
        else:
            value[quantity] = rng.uniform(-np.pi, np.pi, shape)
    return TermSolutions(
        name, kind, tuple(elements),
        5e9 + np.array([5.0, 25.0]), np.array([20.0, 20.0]),
        1.4e9 + 1e6 * np.array([1.5, 5.5]), np.array([4e6, 4e6]),
        antennas, directions, value, {q: np.zeros(shape) for q in quantities}, np.zeros(shape, bool),
    )  # fmt: skip


DIAG = planted("diag", ("0", "1"), ("amplitude", "phase"))
FULL = planted("full", ("00", "01", "10", "11"), ("amplitude", "phase"), "D", seed=2)
TOWARD = planted("phase", ("0", "1"), ("phase",), "dE", ("middle", "side"), seed=3)


@pytest.fixture
def corrupt(observe):
    """A function: fill DATA of a set with what terms make of a sky."""

    def fill(path, sky, terms):
        solutions = Solutions(terms)

        def jones(antenna, patch, time_s, frequency_hz):
            which = {"terms": "whole sky"} if patch is None else {"direction": patch, "terms": "direction"}
            return solutions.jones(NAMES[antenna], time_s, frequency_hz, **which)[0]

        return observe(path, sky, CENTRE, jones)

    return fill


def apply(path, terms, **options):
    (group,) = rt.ms.groups(path, by_window=True)
    ns = rt.NodeScope()
    calibration.apply_tree(ns, group, Solutions(terms), **options)
    rt.Forest(ns).run(path, **group.selection)
    (tile,) = rt.ms.tiles(path, ["CORRECTED_DATA"], time_slots=100)
    return tile, tile["columns"]["CORRECTED_DATA"]


def uncorrupted(path, sky):
    ns = rt.NodeScope()
    rt.psv_tree(ns, sky, CENTRE, rt.ms.baselines(path))
    rt.Forest(ns).run(path)
    (tile,) = rt.ms.tiles(path, ["MODEL_DATA"], time_slots=100)
    return tile["columns"]["MODEL_DATA"]


@pytest.mark.parametrize("terms", [(DIAG,), (FULL,), (DIAG, FULL)], ids=["diag", "full", "both"])
def test_what_was_corrupted_comes_back(small_ms, sky, corrupt, terms):
    path = small_ms(n_time=4)
    data = corrupt(path, sky, terms)
    tile, corrected = apply(path, terms)
    expected = uncorrupted(path, sky)
    assert np.abs(data.reshape(expected.shape) - expected).max() > 1
    # Columns hold single precision; gains between 0.5 and 2 in two places multiply its rounding.
    np.testing.assert_allclose(corrected, expected, atol=3.5 * 20 * 6e-8)
    assert not tile["flag"].any() and (tile["weight"] == 1).all()


@pytest.mark.parametrize("terms", [(TOWARD,), (DIAG, TOWARD)], ids=["dE", "G and dE"])
def test_subtraction_takes_each_direction_with_its_own_terms(small_ms, sky, corrupt, terms):
    path = small_ms(n_time=4)
    corrupt(path, sky, terms)
    _, residual = apply(path, terms, correct=False, subtract=sky)
    assert np.abs(residual).max() < 4 * 3.5 * 6e-8
    side = sky.select(patches=["side"])
    _, rest = apply(path, terms, subtract=side, direction="middle")
    # What is left is the middle patch, corrected in its own direction.
    expected = uncorrupted(path, sky.select(patches=["middle"]))
    np.testing.assert_allclose(rest, expected, atol=3.5 * 20 * 6e-8)


def corrupted(path, sky, terms, **options):
    """What is predicted of a sky with terms, and flags, of the whole set."""
    (group,) = rt.ms.groups(path, by_window=True)
    ns = rt.NodeScope()
    calibration.corrupted_tree(ns, group, Solutions(terms), sky, **options)
    rt.Forest(ns).run(path, **group.selection)
    (tile,) = rt.ms.tiles(path, ["MODEL_DATA"], time_slots=100)
    return tile["columns"]["MODEL_DATA"], tile["flag"] != 0


@pytest.mark.parametrize("terms", [(DIAG,), (FULL, DIAG), (TOWARD,), (DIAG, TOWARD)], ids=["G", "D G", "dE", "G dE"])
@pytest.mark.parametrize("hands", [(9, 10, 11, 12), (9, 12)], ids=["four hands", "two hands"])
def test_a_sky_is_predicted_with_terms(small_ms, sky, corrupt, terms, hands):
    path = small_ms(n_time=4, correlation_type=hands)
    corrupt(path, sky, terms)
    (tile,) = rt.ms.tiles(path, ["DATA"], time_slots=100)
    found, flag = corrupted(path, sky, terms)
    np.testing.assert_allclose(found, tile["columns"]["DATA"], atol=4 * 3.5 * 6e-8)
    assert not flag.any()


def test_noise_is_that_of_receivers_not_of_gains(small_ms, sky):
    """Added where data are: after the gains, which are up to 2 and do not change it."""
    path = small_ms(n_time=40)
    noise = ReceiverNoise(sefd_jy=[100.0, 200.0, 400.0, 50.0], seed=3)
    plain, _ = corrupted(path, sky, (DIAG,))
    noisy, _ = corrupted(path, sky, (DIAG,), noise=noise)
    (tile,) = rt.ms.tiles(path, [], time_slots=100)
    for (p, q), own in zip(tile["baselines"], noisy - plain, strict=True):
        expected = np.sqrt(noise.sefd_jy[p] * noise.sefd_jy[q] / (2 * 1e6 * 10))
        # 1280 real and as many imaginary parts: 5 standard deviations are 7 %.
        assert np.std([own.real, own.imag]) == pytest.approx(expected, rel=0.07)
    own = corrupted(path, sky, (DIAG,), noise=ReceiverNoise(sefd_jy=200.0, seed=3))[0] - plain
    assert np.std([own.real, own.imag]) == pytest.approx(200 / np.sqrt(2 * 1e6 * 10), rel=0.03)


def test_noise_of_stokes_i_behind_solutions_is_as_large_as_was_asked_for(small_ms, sky, patched):
    path = small_ms(n_time=40, correlation_type=(9,))
    xx, stokes_i = (struct.pack("<iii", 1, 1, number) for number in (9, 1))  # an array of one element
    patched(os.path.join(path, "POLARIZATION"), xx, stokes_i)
    plain, _ = corrupted(path, sky, (DIAG,))
    own = corrupted(path, sky, (DIAG,), noise=ReceiverNoise(noise_jy=0.5))[0] - plain
    # 1920 real and as many imaginary parts: 5 standard deviations are 6 %.
    assert np.std([own.real, own.imag]) == pytest.approx(0.5, rel=0.06)


def test_what_is_predicted_without_a_solution_is_flagged(small_ms, sky):
    path = small_ms(n_time=4)
    flag = DIAG.flag.copy()
    flag[:, :, 3] = True
    found, flagged = corrupted(path, sky, (dataclasses.replace(DIAG, flag=flag),))
    (tile,) = rt.ms.tiles(path, [], time_slots=100)
    for pair, own in zip(tile["baselines"], flagged, strict=True):
        assert own.all() == own.any() == (3 in pair)
    assert np.isfinite(found).all()
    lonely = rt.sky.SkyModel([rt.sky.Source("z", 0.9, -0.5, (1.0, 0, 0, 0), patch="far")])
    with pytest.raises(CalibrationError, match="no solutions for z"):
        corrupted(path, lonely, (TOWARD,))


def test_data_without_solutions_are_flagged_and_nothing_else(small_ms, sky, corrupt):
    path = small_ms(n_time=4)
    flag = DIAG.flag.copy()
    flag[0, 1, 1, 0, 0] = True  # feed 0 of A1 in the first interval, upper channels
    flag[:, :, 3] = True  # A3 altogether
    corrupt(path, sky, (DIAG,))
    tile, corrected = apply(path, (dataclasses.replace(DIAG, flag=flag),))
    expected = np.zeros(tile["flag"].shape, bool)
    for k, (p, q) in enumerate(tile["baselines"]):
        expected[k, :, :, :] |= 3 in (p, q)
        if p == 1:
            expected[k, :2, 4:, :2] = True
        if q == 1:
            expected[k, :2, 4:, [0, 2]] = True
    np.testing.assert_array_equal(tile["flag"] != 0, expected)
    assert (tile["weight"] == 1).all() and np.isfinite(corrected).all()
    np.testing.assert_allclose(corrected[~expected], uncorrupted(path, sky)[~expected], atol=3.5 * 20 * 6e-8)


def test_subtraction_flags_where_a_direction_has_no_solution(small_ms, sky, corrupt):
    path = small_ms(n_time=4)
    flag = TOWARD.flag.copy()
    flag[1, 0, 2, 1] = True
    corrupt(path, sky, (TOWARD,))
    tile, _ = apply(path, (dataclasses.replace(TOWARD, flag=flag),), correct=False, subtract=sky)
    for k, pair in enumerate(tile["baselines"]):
        assert tile["flag"][k, 2:, :4].all() == (2 in pair)
        assert not tile["flag"][k, :2].any() and not tile["flag"][k, :, 4:].any()


def test_singular_and_unknown_solutions_are_flagged(small_ms, sky, corrupt):
    path = small_ms(n_time=4)
    corrupt(path, sky, (FULL,))
    value = {q: v.copy() for q, v in FULL.value.items()}
    value["amplitude"][:, :, 0] = 1.0
    value["phase"][:, :, 0] = 0.0  # [[1, 1], [1, 1]]
    known = dataclasses.replace(FULL, value=value)
    tile, corrected = apply(path, (known,))
    for k, pair in enumerate(tile["baselines"]):
        assert (tile["flag"][k] != 0).all() == (0 in pair)
    assert np.isfinite(corrected).all()
    other = small_ms("b.ms", n_time=4)
    three = planted("diag", ("0", "1"), ("amplitude", "phase"), antennas=NAMES[:3])
    tile, _ = apply(other, (three,))
    for k, pair in enumerate(tile["baselines"]):
        assert (tile["flag"][k] != 0).all() == (3 in pair)


def test_two_correlations(small_ms, sky, corrupt):
    path = small_ms(n_time=4, correlation_type=(9, 12))
    corrupt(path, sky, (DIAG,))
    tile, corrected = apply(path, (DIAG,))
    assert not tile["flag"].any()
    np.testing.assert_allclose(corrected, uncorrupted(path, sky), atol=3.5 * 20 * 6e-8)
    with pytest.raises(CalibrationError, match="correlations XX YY"):
        apply(path, (FULL,))


def test_errors(small_ms):
    path = small_ms()
    with pytest.raises(CalibrationError, match="no solutions for direction 'up'; there are middle, side"):
        apply(path, (TOWARD,), direction="up")
    lonely = rt.sky.SkyModel([rt.sky.Source("z", 0.9, -0.5, (1.0, 0, 0, 0), patch="far")])
    with pytest.raises(CalibrationError, match="no solutions for z"):
        apply(path, (TOWARD,), subtract=lonely)


def test_each_window_takes_its_own_solutions(small_ms):
    path = small_ms(frequency_hz=1.4e9 + 1e6 * np.arange(8))
    (group,) = rt.ms.groups(path, by_window=True)
    here = Solutions((DIAG,))
    far = Solutions((dataclasses.replace(DIAG, frequency_hz=DIAG.frequency_hz + 1e8),))
    assert calibration.solutions_for([far, here], group) is here
    same = Solutions(far.terms, provenance={"measurement_set": os.path.realpath(path), "data_desc_id": 0.0})
    assert calibration.solutions_for([here, same], group) is same
