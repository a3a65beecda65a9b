"""Signals of a sky at antennas: what moves, what is extended, feeds, bands and orders, against closed forms."""

import errno
import math
import os

import numpy as np
import pytest

import rimetree as rt
from rimetree.telescopes import Telescope
from rimetree.voltages.making import Receivers, make_voltages
from rimetree.voltages.signals import SampledBand, taper_modes
from rimetree.voltages.trees import Recording, voltage_tree

CENTRE = (math.radians(60.0), math.radians(-26.7))
START_S = 60676.0 * 86400 + 48512.0
LIGHT_M_S = 299792458.0


def array_of(scale, count=5, feed="linear"):
    """Antennas of the MWA around their middle, their distances times a factor."""
    mwa = rt.telescopes.get("mwa")
    chosen = [0, 12, 33, 52, 60, 3, 20, 41][:count]
    positions = mwa.ecef_m[chosen]
    positions = positions.mean(axis=0) + scale * (positions - positions.mean(axis=0))
    names = tuple(mwa.antenna_names[k] for k in chosen)
    return Telescope("some", names, positions, np.full(count, 4.0), mount="FIXED", feed=feed)


def read_sky(tmp_path, *lines):
    file = tmp_path / "sky.skymodel"
    head = "FORMAT = Name, Type, Ra, Dec, I, Q, U, V, MajorAxis, MinorAxis, Orientation, OrientationIsAbsolute"
    file.write_text("\n".join([head, *lines]) + "\n")
    return rt.sky.read(file)


def point(name, ra, dec, flux, rest=", , , "):
    return f"{name}, POINT, {math.degrees(ra)}deg, {math.degrees(dec)}deg, {flux}{rest}"


def lmn_of(ra, dec):
    ra_0, dec_0 = CENTRE
    return np.array(
        [
            np.cos(dec) * np.sin(ra - ra_0),
            np.sin(dec) * np.cos(dec_0) - np.cos(dec) * np.sin(dec_0) * np.cos(ra - ra_0),
            np.sin(dec) * np.sin(dec_0) + np.cos(dec) * np.cos(dec_0) * np.cos(ra - ra_0),
        ]
    )


def uvw_m(array, times_s):
    from rimetree.observing.antenna_uvw import antenna_uvw
    from rimetree.utc import dut1

    return antenna_uvw(array, np.array(CENTRE), np.asarray(times_s, float), dut1(times_s[0]), "J2000")


def products(made, array, rate, hz, integration, n_slot, format="float32", **more):
    """[product, slot, channel] of the tree's Correlate, and the slots' middles."""
    recording = Recording(
        files=made.files, format=format, n_input=2 * len(array), sample_rate_hz=rate, centre_hz=hz,
        start_mjd_s=START_S, **more,
    )  # fmt: skip
    scope = voltage_tree(recording, integration=integration, baselines=[], feeds=2)
    slot_s = integration / recording.channel_rate_hz
    times_s = START_S + (np.arange(n_slot) + 0.5) * slot_s
    band = recording.band()
    cells = rt.Cells(times_s, np.array(band.frequency_hz), time_width_s=slot_s, freq_width_hz=np.array(band.width_hz))
    return rt.Forest(scope, device="none").evaluate(scope.products, cells), times_s


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("aside", [0.0, 0.02])
def test_fringes_of_long_baselines_turn_with_the_source(tmp_path, channels, aside):
    """30 km at 1.4 GHz: ten turns a second, within each of them the phase of the path at that time."""
    array, rate, hz = array_of(100), 1000.0, 1.4e9
    ra, dec = CENTRE[0] + aside, CENTRE[1] - aside
    sky = read_sky(tmp_path, point("s", ra, dec, 10))
    made = make_voltages(
        tmp_path / "v", sky, array,
        Receivers(format="float32", sample_rate_hz=rate, centre_hz=hz, noise_jy=0.0, channels=channels),
        phase_centre_rad=CENTRE, start_mjd_s=START_S, duration_s=3.0, seed=3,
    )  # fmt: skip
    found, times_s = products(made, array, rate, hz, 10, 300, file_channels=channels)
    early_s = uvw_m(array, times_s) @ lmn_of(ra, dec) / LIGHT_M_S  # [time, antenna]
    i, j = rt.product_inputs(10).T
    xx = (i % 2 == 0) & (j % 2 == 0) & (i != j)
    frequency = hz + (np.arange(channels) - channels // 2) * rate
    turns = (early_s[:, i[xx] // 2] - early_s[:, j[xx] // 2]).T[..., None] * frequency
    assert np.abs(np.diff(turns[..., 0], axis=1)).max() / 0.01 > 3  # turns a second: it does move
    auto = found[i == j].real
    power = np.sqrt(auto[i[xx]] * auto[j[xx]])
    straight = found[xx] * np.exp(-2j * np.pi * turns) / power
    # What is left is noise: paths differ by a tenth of a sample, and phases turn by a tenth within ten samples.
    assert np.abs(np.angle(straight.mean(axis=1))).max() < 0.01
    assert np.abs(straight - 1).max() < 0.5
    assert abs(straight.mean() - 1) < 0.03


def test_the_instant_of_a_sample_is_its_middle(tmp_path):
    """1.4 GHz, 100 samples a second, 6 turns a second: in half a sample the phase turns by a fifth of a radian.

    The path is taken as a straight line through its lengths at both ends, by a second's turn of the Earth, and samples
    are multiplied here.
    """
    array, rate, hz = array_of(300, 2), 100.0, 1.4e9
    ra, dec = CENTRE[0] + 0.02, CENTRE[1] - 0.02
    sky = read_sky(tmp_path, point("s", ra, dec, 10))
    made = make_voltages(
        tmp_path / "v", sky, array, Receivers(format="float32", sample_rate_hz=rate, centre_hz=hz, noise_jy=0.0),
        phase_centre_rad=CENTRE, start_mjd_s=START_S, duration_s=1.0, seed=3,
    )  # fmt: skip
    x = np.fromfile(made.files[0], np.complex64).reshape(-1, 4)
    ends = uvw_m(array, [START_S, START_S + 1.0]) @ lmn_of(ra, dec) * hz / LIGHT_M_S
    at_start, at_end = ends[:, 0] - ends[:, 1]
    assert abs(at_end - at_start) > 4  # turns in a second
    angle = {}
    for part in (0.0, 0.5, 1.0):  # of a sample's length
        turns = at_start + (at_end - at_start) * (np.arange(len(x)) + part) / rate
        angle[part] = np.angle(np.mean(x[:, 0] * x[:, 2].conj() * np.exp(-2j * np.pi * turns)))
    assert abs(angle[0.5]) < 0.02
    assert angle[0.0] * angle[1.0] < 0 and min(abs(angle[0.0]), abs(angle[1.0])) > 0.1


def test_either_order_of_floats_is_the_same_sky(tmp_path):
    array, rate, hz = array_of(1, 3), 1e5, 1.5e8
    sky = read_sky(tmp_path, point("s", CENTRE[0] + 0.02, CENTRE[1], 10))
    found = {}
    for format in ("float32", "float32-swapped"):
        made = make_voltages(
            tmp_path / format, sky, array, Receivers(format=format, sample_rate_hz=rate, centre_hz=hz, noise_jy=5.0),
            phase_centre_rad=CENTRE, start_mjd_s=START_S, duration_s=0.05, seed=3,
        )  # fmt: skip
        more = {"channels": 16, "channel_format": format, "format": format}
        found[format], _ = products(made, array, rate, hz, made.n_sample // 16, 1, **more)
    assert np.abs(found["float32"].imag).max() > 0
    np.testing.assert_array_equal(found["float32-swapped"], found["float32"])


@pytest.mark.parametrize("seed", [1, 2, 3, 5])
def test_extended_sources_have_their_taper(tmp_path, seed):
    """A Gaussian of 20 by 8 arcmin and a point: chi-square of 15 000 numbers of cross products, by the closed form."""
    array, rate, hz, n_channel = array_of(1, 8), 1.28e6, 154.24e6, 64
    major, minor, angle = math.radians(20 / 60), math.radians(8 / 60), math.radians(35)
    ra, dec = CENTRE[0] + 0.02, CENTRE[1] + 0.01
    sky = read_sky(
        tmp_path,
        f"g, GAUSSIAN, {math.degrees(ra)}deg, {math.degrees(dec)}deg, 60, , , , 1200, 480, 35, false",
        point("p", CENTRE[0] - 0.03, CENTRE[1], 20),
    )
    made = make_voltages(
        tmp_path / "v", sky, array, Receivers(format="float32", sample_rate_hz=rate, centre_hz=hz, noise_jy=50.0),
        phase_centre_rad=CENTRE, start_mjd_s=START_S, duration_s=0.1, seed=seed,
    )  # fmt: skip
    count = made.n_sample // n_channel
    found, times_s = products(made, array, rate, hz, count, 1, channels=n_channel, channel_format="float32")
    found = found[:, 0] / made.lsb2_per_jy
    i, j = rt.product_inputs(16).T
    position = uvw_m(array, times_s)[0]
    frequency = hz + (np.arange(n_channel) - n_channel // 2) * rate / n_channel
    baseline = (position[i // 2] - position[j // 2])[..., None] * frequency / LIGHT_M_S  # wavelengths
    u, v = baseline[:, 0], baseline[:, 1]
    along, across = u * math.sin(angle) + v * math.cos(angle), u * math.cos(angle) - v * math.sin(angle)
    taper = np.exp(-(math.pi**2) / (4 * math.log(2)) * ((along * major) ** 2 + (across * minor) ** 2))
    expected = 0
    for flux, direction, shape in ((60, (ra, dec), taper), (20, (CENTRE[0] - 0.03, CENTRE[1]), 1)):
        turns = np.einsum("bkc,k->bc", baseline, lmn_of(*direction))
        loss = 1 - np.abs(turns / frequency) * rate / n_channel
        expected = expected + flux * shape * loss * np.exp(2j * np.pi * turns)
    same_feed = (i % 2 == j % 2)[:, None]
    expected = np.where(same_feed, expected, 0) + np.where(i == j, 50, 0)[:, None]
    assert taper[i != j].min() < 0.2
    off = (i != j)[:, None] & (np.arange(n_channel) != 0)
    auto = expected[i == j].real
    power, cross, difference = auto[i] * auto[j], expected**2, found - expected
    power, cross, difference = power[off], cross[off], difference[off]
    chi = [
        difference.real**2 / ((power + cross.real) / (2 * count)),
        difference.imag**2 / ((power - cross.real) / (2 * count)),
    ]
    assert abs(np.concatenate(chi).mean() - 1) < 0.05
    assert np.concatenate(chi).max() < 5.5**2


@pytest.mark.parametrize("shape", [(0.005, 0.002, 0.3), (0.05, 0.05, 0.0), (0.002, 0.001, 0.005, -0.001, 0.002, 0.003)])
def test_modes_have_the_taper_as_covariance(shape):
    band, uvw = SampledBand(1e6, 1.5e8), np.random.default_rng(1).normal(0, 60, (12, 3))
    weights, part = taper_modes(shape, uvw, band, 256)
    assert part.shape == (256,) and part.max() == weights.shape[2] - 1
    covariance = np.einsum("amp,bmp->pab", weights, weights)
    for k, found in enumerate(covariance):
        hz = 1.5e8 - 5e5 + (k + 0.5) * (1e6 - 1e6 / 256) / len(covariance)
        baseline = (uvw[:, None] - uvw) * hz / LIGHT_M_S
        if len(shape) == 3:
            (u, v, _), (major, minor, angle) = np.moveaxis(baseline, -1, 0), shape
            along = major * (u * math.sin(angle) + v * math.cos(angle))
            across = minor * (u * math.cos(angle) - v * math.sin(angle))
        else:
            along, across = baseline @ shape[:3], baseline @ shape[3:]
        taper = np.exp(-(math.pi**2) / (4 * math.log(2)) * (along**2 + across**2))
        np.testing.assert_allclose(found, taper, atol=2e-5)


@pytest.mark.parametrize("channels", [1, 4])
def test_each_antenna_sees_through_its_own_beam(tmp_path, channels):
    """The same random numbers, less by what the beam of each antenna leaves of the source's voltage."""
    sky = read_sky(tmp_path, point("a", CENTRE[0] + 0.02, CENTRE[1] + 0.01, 5.0))
    beams = [rt.Beam("gaussian", width_rad, 1e8) for width_rad in (0.05, 0.02, 0.1)]
    samples = []
    for name, model in ("plain", sky), ("seen", sky.seen_through(beams)):
        made = make_voltages(
            tmp_path / name, model, array_of(0.1, 3), Receivers("float32", 1e5, 1e8, channels=channels, noise_jy=0.0),
            phase_centre_rad=CENTRE, start_mjd_s=START_S, duration_s=0.01, seed=3,
        )  # fmt: skip
        values = np.fromfile(made.files[0], "<c8").reshape(-1, channels, 3, 2)
        samples.append(values / math.sqrt(made.lsb2_per_jy))
    l, m, _ = lmn_of(CENTRE[0] + 0.02, CENTRE[1] + 0.01)  # noqa: E741
    left = [2.0 ** (-2 * (l**2 + m**2) / beam.width_rad**2) for beam in beams]
    np.testing.assert_allclose(samples[1], samples[0] * np.array(left)[:, None], rtol=5e-3, atol=2e-2)
    with pytest.raises(rt.Error, match="seen through 2 beams, but there are 3 antennas"):
        make_voltages(
            tmp_path / "few", sky.seen_through(beams[:2]), array_of(0.1, 3), Receivers("float32", 1e5, 1e8, 1.0),
            phase_centre_rad=CENTRE, start_mjd_s=START_S, duration_s=0.01,
        )  # fmt: skip


def test_circular_feeds_have_their_brightness(tmp_path):
    """[[I + V, Q + iU], [Q - iU, I - V]] of a source that is half of all."""
    array = array_of(1, 2, "circular")
    sky = read_sky(tmp_path, point("s", *CENTRE, 40, ", 10, 15, 20, , , , "))
    made = make_voltages(
        tmp_path / "v", sky, array, Receivers(format="float32", sample_rate_hz=1e6, centre_hz=1.5e8, noise_jy=0.0),
        phase_centre_rad=CENTRE, start_mjd_s=START_S, duration_s=0.2, seed=1,
    )  # fmt: skip
    found, _ = products(made, array, 1e6, 1.5e8, made.n_sample, 1)
    found = found[:, 0, 0] / made.lsb2_per_jy
    wanted = {0: 60, 2: 20, 1: 10 - 15j}  # products (0, 0), (1, 1) and (1, 0)
    for product, value in wanted.items():
        assert abs(found[product] - value) < 5 * 60 / math.sqrt(made.n_sample)


@pytest.mark.parametrize("order", ["channel,input,time", "input,channel,time", "antenna,channel,time,feed"])
def test_files_of_any_order_hold_the_same(tmp_path, order):
    array, sky = array_of(1, 3), read_sky(tmp_path, point("s", *CENTRE, 4))
    found = []
    for one in ("time,channel,input", order):
        made = make_voltages(
            tmp_path / one.replace(",", ""), sky, array,
            Receivers(format="int8", sample_rate_hz=1e4, centre_hz=1.5e8, noise_jy=9.0, channels=4, order=one),
            phase_centre_rad=CENTRE, start_mjd_s=START_S, duration_s=20.0, seed=1,
        )  # fmt: skip
        found.append(products(made, array, 1e4, 1.5e8, 50000, 4, format="int8", order=one, file_channels=4)[0])
    assert (found[0] == found[1]).all() and (found[0] != 0).all()


def test_bands_that_reach_below_0_hz_are_refused():
    """The message was of negative numbers in a grid."""
    with pytest.raises(rt.Error, match=r"reaches down to -3e\+06 Hz; frequencies must be positive"):
        Receivers(format="int8", sample_rate_hz=8e6, centre_hz=1e6, noise_jy=1.0)
    assert Receivers(format="real8", sample_rate_hz=8e6, centre_hz=1e6, noise_jy=1.0).centre_hz == 1e6


def test_channels_of_files_are_not_divided_further():
    how = {"files": ["a.dat"], "format": "int8", "n_input": 2, "sample_rate_hz": 1e4, "centre_hz": 1.5e8}
    with pytest.raises(rt.Error, match="the files have 3 channels already, which are not divided further"):
        Recording(**how, start_mjd_s=START_S, file_channels=3, channels=8)


def noise_of(tmp_path, sky, noise_jy):
    """Samples [time, input] in least significant bits."""
    receivers = Receivers("int8", 1e5, 1.5e8, noise_jy, rms=20.0)
    how = {"phase_centre_rad": CENTRE, "start_mjd_s": START_S, "duration_s": 0.02}
    made = make_voltages(tmp_path / "v.dat", sky, array_of(1.0), receivers, **how)
    return np.fromfile(made.files[0], np.int8).reshape(2000, -1)


def test_of_sources_that_are_not_seen_noise_is_left(tmp_path):
    """A beam lets nothing through from behind the dish: the mean direction of all that is seen had been 0/0."""
    sky = read_sky(tmp_path, point("behind", CENTRE[0] + 2.0, -CENTRE[1], 5.0))
    beam = rt.Beam("gaussian", 0.01, 1.5e8)
    with pytest.warns(UserWarning, match=r"^1 of 1 sources are below the horizon, and .*: behind \(elevation -"):
        codes = noise_of(tmp_path, sky.seen_through(beam), 10.0)
    assert abs(np.std(codes, axis=0) - 20).max() < 2


def test_sources_below_the_horizon_are_told_of(tmp_path):
    ra, dec = CENTRE
    up, down = point("up", ra + 0.1, dec, 5.0), point("down", ra + math.pi, dec, 3.0)
    with pytest.warns(UserWarning, match=r"^1 of 2 sources are below the horizon.*: down \(elevation -"):
        noise_of(tmp_path, read_sky(tmp_path, up, down), 10.0)
    noise_of(tmp_path, read_sky(tmp_path, up), 10.0)


def test_files_that_do_not_fit_the_disk_are_refused_before_anything_is_made(tmp_path, monkeypatch):
    """Voltages in an order that begins with channels had ended the program with a bus error, and left a file."""

    def full(handle, start, count):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    receivers = Receivers("int8", 1e5, 1.5e8, 10.0, order="channel,time,input", channels=4)
    how = {"phase_centre_rad": CENTRE, "start_mjd_s": START_S, "duration_s": 3600.0}
    with pytest.raises(OSError, match="cannot be written: No space left on device"):
        make_voltages(tmp_path / "v.dat", rt.sky.SkyModel(()), array_of(1.0), receivers, **how)
    assert not list(tmp_path.iterdir())
