"""Voltages of a known sky, correlated: expectation and noise by formulae, weights, and what stands in the set."""

import math

import numpy as np
import pytest
from second_opinion.voltages import windows

import rimetree as rt
from rimetree.telescopes import Telescope
from rimetree.voltages.making import Receivers, make_voltages
from rimetree.voltages.trees import Recording, voltage_tree

CENTRE = (math.radians(60.0), math.radians(-26.7))
START_S = 60676.0 * 86400 + 48512.0  # the centre is near the zenith of the array
LIGHT_M_S = 299792458.0


@pytest.fixture(scope="module")
def array():
    """Eight tiles of the MWA, which are up to 300 m apart."""
    mwa = rt.telescopes.get("mwa")
    chosen = [0, 3, 12, 20, 33, 41, 52, 60]
    names = tuple(mwa.antenna_names[k] for k in chosen)
    return Telescope("mwa8", names, mwa.ecef_m[chosen], mwa.dish_diameter_m[chosen], mount="FIXED")


def sky_of(tmp_path, *sources):
    lines = ["FORMAT = Name, Type, Ra, Dec, I, Q, U, V"]
    for k, ((ra, dec), stokes) in enumerate(sources):
        lines.append(f"s{k}, POINT, {math.degrees(ra)}deg, {math.degrees(dec)}deg, {', '.join(map(str, stokes))}")
    file = tmp_path / "sky.skymodel"
    file.write_text("\n".join(lines) + "\n")
    return rt.sky.read(file)


def paths_m(array, radec, time_s):
    """[antenna, source] l u + m v + n w, each antenna from the array's centre."""
    from rimetree.observing.antenna_uvw import antenna_uvw
    from rimetree.utc import dut1

    uvw = antenna_uvw(array, np.array(CENTRE), np.array([time_s]), dut1(time_s), "J2000")[0]
    return uvw @ np.stack([lmn_of(direction) for direction in radec], axis=1)


def products(recording, integration, n_slot=1):
    """[product, time, channel] of the tree's Correlate."""
    scope = voltage_tree(recording, integration=integration, baselines=[], feeds=2)
    band = recording.band()
    slot_s = integration / recording.channel_rate_hz
    cells = rt.Cells(
        recording.start_mjd_s + (np.arange(n_slot) + 0.5) * slot_s,
        np.array(band.frequency_hz),
        time_width_s=slot_s,
        freq_width_hz=np.array(band.width_hz),
    )
    return rt.Forest(scope, device="none").evaluate(scope.products, cells)


SKY = [((CENTRE[0], CENTRE[1]), (40.0, 8.0, 5.0, 3.0)), ((CENTRE[0] + 0.03, CENTRE[1] + 0.02), (25.0, 0, 0, 0))]
SKY += [((CENTRE[0] - 0.04, CENTRE[1] - 0.03), (15.0, 0, -4.0, 0))]
RATE, NOISE, HZ = 1.28e6, 100.0, 154.24e6
# The gain of small correlations and the power of rounded noise at the best setting: reference values for Gaussian
# noise in so many bits.
EFFICIENCY = {"chime": 0.9881, "mwa32t": 0.9965, "int8": 0.9999}


def expectation(array, lsb2_per_jy, n_channel, bits_gain):
    """[product, channel] of the measurement equation, with the loss by delays in a transform of n samples."""
    n_input = 2 * len(array)
    radec = [direction for direction, _ in SKY]
    delay = paths_m(array, radec, START_S) / LIGHT_M_S
    frequency = HZ + (np.arange(n_channel) - n_channel // 2) * RATE / n_channel
    i, j = rt.product_inputs(n_input).T
    total = np.zeros((len(i), n_channel), complex)
    for s, (_, (flux, q, u, v)) in enumerate(SKY):
        brightness = np.array([[flux + q, u + 1j * v], [u - 1j * v, flux - q]])
        late = delay[i // 2, s] - delay[j // 2, s]
        phase = np.exp(2j * np.pi * frequency * late[:, None])
        loss = 1 - np.abs(late[:, None]) * RATE / n_channel
        total += brightness[i % 2, j % 2][:, None] * phase * loss
    total[i == j] += NOISE
    return lsb2_per_jy * total * np.where(i == j, 1.0, bits_gain**2)[:, None]


@pytest.mark.parametrize("format", ["mwa32t", "chime", "int8"])
def test_chi_square_of_a_known_sky_is_one(tmp_path, array, format):
    """M5, M7, M11: expectation (delays, window, quantisation) and noise (Isserlis) for 24 000 numbers."""
    n_channel = 32
    sky = sky_of(tmp_path, *SKY)
    receivers = Receivers(format=format, sample_rate_hz=RATE, centre_hz=HZ, noise_jy=NOISE)
    made = make_voltages(
        tmp_path / "v", sky, array, receivers, phase_centre_rad=CENTRE, start_mjd_s=START_S, duration_s=0.1, seed=4
    )
    recording = Recording(
        files=made.files, format=format, n_input=16, sample_rate_hz=RATE, centre_hz=HZ, start_mjd_s=START_S,
        channels=n_channel, gain=1.0 if format == "int8" else 4.0,
    )  # fmt: skip
    count = made.n_sample // n_channel
    found = products(recording, count)[:, 0]
    i, j = rt.product_inputs(16).T
    gain = EFFICIENCY[format]
    expected = expectation(array, made.lsb2_per_jy, n_channel, gain)
    auto = found[i == j].real  # [input, channel], with the noise of rounding in it
    mean = np.where((i == j)[:, None], auto[i], expected)
    power, cross = auto[i] * auto[j], expected**2
    off = (i != j)[:, None] & (np.arange(n_channel) != 0)  # channel 0 has both edges of the band
    difference = found - mean
    chi = [
        (difference.real**2 / ((power + cross.real) / (2 * count)))[off],
        (difference.imag**2 / ((power - cross.real) / (2 * count)))[off],
    ]
    chi = np.concatenate(chi)
    assert abs(chi.mean() - 1) < 0.05
    assert chi.max() < 5.5**2
    # Autocorrelations: power with the noise of rounding; 1.02 times at most.
    ratio = (auto / expected[i == j].real).mean()
    assert 0.97 < ratio < 1.03


def test_chi_square_through_a_filter_bank_is_one(tmp_path, array):
    """M15, M11: what windows of four transforms leave of delayed signals, by their autocorrelation, and as many samples
    as are independent."""
    n_channel, taps = 32, 4
    sky = sky_of(tmp_path, *SKY)
    receivers = Receivers(format="mwa32t", sample_rate_hz=RATE, centre_hz=HZ, noise_jy=NOISE)
    made = make_voltages(
        tmp_path / "v", sky, array, receivers, phase_centre_rad=CENTRE, start_mjd_s=START_S, duration_s=0.1, seed=4
    )
    recording = Recording(
        files=made.files, format="mwa32t", n_input=16, sample_rate_hz=RATE, centre_hz=HZ, start_mjd_s=START_S,
        channels=n_channel, taps=taps, window="hann", gain=4.0,
    )  # fmt: skip
    count = made.n_sample // n_channel - taps
    found = products(recording, count)[:, 0]
    window = windows(n_channel, taps, "hann")
    overlap = np.correlate(window, window, "full") / n_channel  # at -(n - 1) to n - 1 samples
    lags = np.arange(len(overlap)) - (len(window) - 1)
    independent = 1 / np.sum(overlap[lags % n_channel == 0] ** 2)
    i, j = rt.product_inputs(16).T
    delay = paths_m(array, [direction for direction, _ in SKY], START_S) / LIGHT_M_S
    baseband = np.arange(n_channel) - n_channel // 2
    expected = np.zeros((len(i), n_channel), complex)
    for s, (_, (flux, q, u, v)) in enumerate(SKY):
        brightness = np.array([[flux + q, u + 1j * v], [u - 1j * v, flux - q]])
        early = delay[i // 2, s] - delay[j // 2, s]
        # White noise of the band, early by a part of a sample, seen through both windows.
        seen = (
            overlap * np.sinc(lags + early[:, None] * RATE) @ np.exp(-2j * np.pi * np.outer(lags, baseband) / n_channel)
        )
        expected += brightness[i % 2, j % 2][:, None] * np.exp(2j * np.pi * HZ * early)[:, None] * seen
    expected *= made.lsb2_per_jy * EFFICIENCY["mwa32t"] ** 2
    auto = found[i == j].real
    power, cross, difference = auto[i] * auto[j], expected**2, found - expected
    off = (i != j)[:, None] & (np.arange(n_channel) != 0)
    chi = [
        (difference.real**2 / ((power + cross.real) / (2 * count * independent)))[off],
        (difference.imag**2 / ((power - cross.real) / (2 * count * independent)))[off],
    ]
    assert 0.9 < independent < 1
    assert abs(np.concatenate(chi).mean() - 1) < 0.05
    assert np.concatenate(chi).max() < 5.5**2


def test_a_filter_bank_gives_the_same_sky(tmp_path, array):
    """M15: phases as with a transform, and noise of as many samples as are independent."""
    sky = sky_of(tmp_path, *SKY)
    receivers = Receivers(format="int8", sample_rate_hz=RATE, centre_hz=HZ, noise_jy=0.0)
    made = make_voltages(
        tmp_path / "v", sky, array, receivers, phase_centre_rad=CENTRE, start_mjd_s=START_S, duration_s=0.05, seed=1
    )
    common = {"files": made.files, "format": "int8", "n_input": 16, "sample_rate_hz": RATE, "centre_hz": HZ}
    found = [
        products(Recording(**common, start_mjd_s=START_S, channels=32, taps=taps, window=window), 1990)[:, 0, 2:]
        for taps, window in ((1, "rectangular"), (4, "hann"))
    ]
    i, j = rt.product_inputs(16).T
    scale = np.sqrt(found[0][i == j].real[i] * found[0][i == j].real[j])
    # Without receiver noise both see the same noise of the sources, but through other windows.
    assert np.sqrt(np.mean(np.abs((found[1] - found[0]) / scale) ** 2)) < 2 / math.sqrt(1990)


def test_real_samples_give_the_upper_half_of_their_band(tmp_path, array):
    """M6: a real signal of twice the rate has the covariance of the complex one."""
    sky = sky_of(tmp_path, *SKY)
    receivers = Receivers(format="real8", sample_rate_hz=2 * RATE, centre_hz=HZ, noise_jy=NOISE)
    made = make_voltages(
        tmp_path / "v", sky, array, receivers, phase_centre_rad=CENTRE, start_mjd_s=START_S, duration_s=0.05, seed=4
    )
    recording = Recording(
        files=made.files, format="real8", n_input=16, sample_rate_hz=2 * RATE, centre_hz=HZ, start_mjd_s=START_S,
        channels=32,
    )  # fmt: skip
    assert recording.channel_rate_hz == RATE / 32
    found = products(recording, 2000)[:, 0] / made.lsb2_per_jy
    i, j = rt.product_inputs(16).T
    delay = paths_m(array, [direction for direction, _ in SKY], START_S) / LIGHT_M_S
    xx = (i % 2 == 0) & (j % 2 == 0) & (i != j)
    expected = 0
    for s, (_, (flux, q, _, _)) in enumerate(SKY):
        late = delay[i[xx] // 2, s] - delay[j[xx] // 2, s]
        expected = expected + (flux + q) * np.exp(2j * np.pi * np.array(recording.band().frequency_hz) * late[:, None])
    z = np.abs(found[xx][:, 1:] - expected[:, 1:]) / (190 / math.sqrt(2000))
    assert np.sqrt(np.mean(z**2)) < 1.5


ASIDE = (CENTRE[0] + 0.02, CENTRE[1] - 0.01)


def lmn_of(direction):
    (ra, dec), (ra_0, dec_0) = direction, CENTRE
    return np.array(
        [
            np.cos(dec) * np.sin(ra - ra_0),
            np.sin(dec) * np.cos(dec_0) - np.cos(dec) * np.sin(dec_0) * np.cos(ra - ra_0),
            np.sin(dec) * np.sin(dec_0) + np.cos(dec) * np.cos(dec_0) * np.cos(ra - ra_0),
        ]
    )


@pytest.fixture
def small_set(tmp_path, array):
    """(recording, path): a set for 0.06 s of one source."""
    sky = sky_of(tmp_path, (ASIDE, (200.0, 0, 0, 0)))
    receivers = Receivers(
        format="mwa32t", order="groups", n_receiver=2, sample_rate_hz=RATE, centre_hz=HZ, noise_jy=800.0
    )
    made = make_voltages(
        tmp_path / "v", sky, array, receivers, phase_centre_rad=CENTRE, start_mjd_s=START_S, duration_s=0.06, seed=2
    )
    recording = Recording(
        files=made.files, format="mwa32t", order="groups", lost="mask", n_input=16, sample_rate_hz=RATE, centre_hz=HZ,
        start_mjd_s=START_S, channels=16, gain=4.0,
    )  # fmt: skip
    path = tmp_path / "obs.ms"
    rt.ms.create(
        path, array, phase_centre_rad=CENTRE, duration_s=0.0601, integration_s=0.02, start_mjd_s=START_S,
        bands=recording.band(), autocorrelations=True, weight_spectrum=True,
    )  # fmt: skip
    return recording, path


def correlated(recording, path, array):
    baselines = [(p, q) for p in range(len(array)) for q in range(p, len(array))]
    scope = voltage_tree(recording, integration=1600, baselines=baselines)
    report = rt.Forest(scope, device="none").run(path, autocorrelations=True)
    (tile,) = rt.ms.tiles(path, ["DATA"], autocorrelations=True)
    return report, tile


def test_visibilities_and_weights_stand_in_the_set(small_set, array):
    """M11: the phase centre is followed: a source has the phase of u l + v m + w (n - 1) as stored in the set."""
    recording, path = small_set
    _, tile = correlated(recording, path, array)
    data = tile["columns"]["DATA"].astype(complex)  # [baseline, time, channel, correlation]
    cross = np.array([p != q for p, q in tile["baselines"]])
    assert not tile["flag"].any()
    turns = tile["uvw_m"] @ (lmn_of(ASIDE) - [0, 0, 1]) / LIGHT_M_S
    phases = np.exp(-2j * np.pi * turns[..., None] * tile["frequency_hz"])
    amplitude = np.abs(data[~cross][..., [0, 3]]).mean() * 200 / 1000  # of the source in the power of all
    for correlation in (0, 3):
        straight = (data[..., correlation] * phases)[cross][..., 1:].mean(axis=(1, 2))
        np.testing.assert_allclose(straight / amplitude, 1, atol=0.1)
    # Weights are those of the noise, told from what neighbours in time differ by.
    noise = (data[:, 1:] - data[:, :-1])[cross]
    spread = np.mean(np.abs(noise) ** 2 * tile["weight"][:, 1:][cross], axis=(0, 1, 2)) / 4
    assert (np.abs(spread - 1) < 0.1).all()


def test_what_is_lost_lowers_weights_and_is_flagged(small_set, array, tmp_path):
    """Lost groups of one receiver: its products are of fewer samples, or of none in a time slot; others keep theirs."""
    recording, path = small_set
    _, whole = correlated(recording, path, array)
    groups = np.fromfile(recording.files[1], "<u2").reshape(-1, 9)
    n = 1600 * 16  # samples of a time slot
    kept = np.concatenate([groups[: n // 2], groups[n : 2 * n]])  # half of the first slot, all of the second, no third
    kept[:-100].tofile(recording.files[1])
    with open(recording.files[1], "ab") as file:
        file.write(b"\x01\x02\x03")
    _, lost = correlated(recording, path, array)
    second = np.array([max(pair) >= 4 for pair in lost["baselines"]])
    assert (lost["columns"]["DATA"][~second] == whole["columns"]["DATA"][~second]).all()
    assert (lost["weight"][~second] == whole["weight"][~second]).all()
    assert not lost["flag"][~second].any()
    assert lost["flag"][second][:, 2].all()
    assert not lost["flag"][second][:, :2].any()
    ratio = lost["weight"][second] / whole["weight"][second]
    assert abs(ratio[:, 0].mean() - 0.5) < 0.02
    assert abs(ratio[:, 1].mean() - (1 - 100 / n)) < 0.02


@pytest.mark.parametrize(("rate_hz", "channels"), [(1.712e9, 97), (64e6, 3000), (1.0, 49)])
@pytest.mark.parametrize("format", ["int8", "real8"])
def test_no_spectrum_of_a_file_is_lost_to_rounding(tmp_path, rate_hz, channels, format):
    path = tmp_path / "v"
    recording = Recording([str(path)], format, 1, rate_hz, 1e9, 5.2e9, channels=channels)
    for spectra in range(1, 70):
        path.write_bytes(bytes(spectra * 2 * channels))  # complex samples of two bytes, or two real ones of a byte
        assert recording.n_sample() == spectra
