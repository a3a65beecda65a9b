"""The search for fringes finds planted delays and TEC, turns of phase away from zero."""

import math

import numpy as np
import pytest

import rimetree as rt
from rimetree.calibration.data.coherence import CoherenceReader, explained
from rimetree.calibration.data.coherence_bins import CoherenceBins
from rimetree.calibration.model.model_trees import SkyPart
from rimetree.calibration.plan.solve_trees import DataSelection
from rimetree.calibration.searches.fringe import fringe_fit, search
from rimetree.calibration.searches.fringe_grid import magnitudes_on_grid
from rimetree.calibration.searches.fringe_pairs import search_delay_and_tec
from rimetree.calibration.searches.phase_search import best_phases
from rimetree.calibration.terms.grid import Chunk
from rimetree.calibration.terms.kinds import phase_per_unit

FREQUENCY = np.linspace(1.30e9, 1.36e9, 60)
NO_CHUNK = Chunk(np.zeros(1), {})


@pytest.mark.parametrize("delay", [0.0, 3e-9, -41.3e-9, 180e-9])
def test_delays_to_within_their_width(delay):
    rate = phase_per_unit("clock", FREQUENCY)
    spectrum = np.exp(1j * rate * delay)
    # Slope alone: to a fraction of 1/bandwidth; with the phase itself: to a fraction of 1/frequency.
    assert search(spectrum * np.exp(2j), rate, any_phase=True) == pytest.approx(delay, abs=0.1 / 60e6)
    assert search(spectrum, rate, any_phase=False) == pytest.approx(delay, abs=0.1 / 1.3e9)


@pytest.mark.parametrize("delay", [0.0, 1.7e-9, -211.3e-9])
@pytest.mark.parametrize("middle", [1.3e9, 36e9, 345e9])
def test_the_phase_tells_delays_at_any_frequency(delay, middle):
    """With hundreds and thousands of turns of the whole phase within the width of a peak, and noise of a twentieth."""
    rng = np.random.default_rng(8)
    rate = phase_per_unit("clock", middle + 2e6 * np.arange(-32, 32))
    spectrum = np.exp(1j * rate * delay) + 0.05 * (rng.normal(size=64) + 1j * rng.normal(size=64))
    found = search(spectrum, rate, any_phase=False)
    real = [(spectrum * np.exp(-1j * rate * x)).sum().real for x in (found, delay)]
    assert real[0] >= real[1] and found == pytest.approx(delay, abs=0.05 / 128e6)


@pytest.mark.parametrize("tec", [0.02, -1.3, 2.5])
def test_tec(tec):
    frequency = np.linspace(120e6, 160e6, 80)[::-1]
    rate = phase_per_unit("tec", frequency)
    found = search(np.exp(1j * rate * tec), rate, any_phase=False)
    assert abs(found - tec) * np.abs(rate).max() < math.pi / 4


def test_noise_and_missing_channels():
    rng = np.random.default_rng(1)
    rate = phase_per_unit("clock", FREQUENCY)
    spectrum = np.exp(1j * rate * 77e-9) + 0.5 * (rng.normal(size=60) + 1j * rng.normal(size=60))
    spectrum[rng.random(60) < 0.3] = 0
    assert search(spectrum, rate, any_phase=False) == pytest.approx(77e-9, abs=0.1 / 60e6)


def test_without_two_channels_there_is_nothing_to_find():
    rate = phase_per_unit("clock", FREQUENCY)
    assert search(np.zeros(60, complex), rate, any_phase=False) == 0
    one = np.zeros(60, complex)
    one[3] = 1j
    assert search(one, rate, any_phase=False) == 0
    assert search(np.ones(2, complex), np.ones(2), any_phase=True) == 0


@pytest.mark.parametrize("delay", [27.13e-9, -21.07e-9, 15.01e-9])
def test_two_windows_far_apart(delay):
    """Peaks every 5 ns are within 1 % of each other; their highest is found between the points that are tried."""
    frequency = np.concatenate([1.3e9 + 2e6 * np.arange(4), 1.5e9 + 2e6 * np.arange(4)])
    rate = phase_per_unit("clock", frequency)
    found = search(np.exp(1j * rate * delay), rate, any_phase=True)
    assert found == pytest.approx(delay, abs=0.1 / 200e6)


@pytest.mark.parametrize("any_phase", [False, True])
def test_fringes_of_an_array(any_phase):
    """A baseline to the reference is missing; noise is a third of the signal on a channel of a baseline."""
    rng = np.random.default_rng(3)
    rate = phase_per_unit("clock", FREQUENCY)
    delay = np.concatenate([[0.0], rng.uniform(-200e-9, 200e-9, 5)])
    phase = delay[:, None, None] * rate
    if any_phase:
        phase = phase + rng.uniform(-3, 3, (6, 4, 1))
    phasor = np.broadcast_to(np.exp(1j * phase), (6, 4, 60))
    matrix = np.einsum("ptf,qtf->tfpq", phasor, np.conj(phasor))
    noise = 0.3 * rng.normal(size=(2, 4, 60, 6, 6))
    noise = np.triu(noise[0] + 1j * noise[1], 1)
    matrix = (matrix + noise + np.conj(np.swapaxes(noise, -1, -2))) * (1 - np.eye(6))
    matrix[:, :, 0, 3] = matrix[:, :, 3, 0] = 0
    (found,) = fringe_fit(matrix[None], rate, 0, any_phase=any_phase)
    assert found[0] == 0
    # Some times what noise does to a slope; or, where the phase itself tells, a part of a turn.
    np.testing.assert_allclose(found, delay, atol=0.03 / 60e6 if any_phase else 0.05 / 1.3e9)


@pytest.mark.parametrize("n", [6, 20], ids=["few", "many"])
@pytest.mark.parametrize("any_phase", [False, True])
def test_tiles_are_searched_as_each_by_itself(any_phase, n):
    """Antennas are found in another order in each, not all of them are there, and one has no more than a baseline."""
    rng = np.random.default_rng(4)
    rate = phase_per_unit("clock", FREQUENCY[::6])
    phasor = np.exp(1j * rng.uniform(-30e-9, 30e-9, (4, 1, n, 1)) * rate) * rng.uniform(0.5, 2, (4, 2, n, 1))
    noise = np.triu(rng.normal(size=(4, 2, 10, n, n)) + 1j * rng.normal(size=(4, 2, 10, n, n)), 1)
    matrices = np.einsum("ktpf,ktqf->ktfpq", phasor, np.conj(phasor)) + noise + np.conj(np.swapaxes(noise, -1, -2))
    matrices[1, ..., 3, :] = matrices[1, ..., :, 3] = 0  # without data
    matrices[2, ..., 2:, :] = matrices[2, ..., :, 2:] = 0
    found = fringe_fit(matrices, rate, 1, any_phase=any_phase, origins=3)
    alone = [fringe_fit(one[None], rate, 1, any_phase=any_phase, origins=3)[0] for one in matrices]
    np.testing.assert_allclose(found, alone, rtol=0, atol=1e-9 / rate.max())
    assert not found[:, 1].any() and found[1, 3] == 0 and not found[2, 2:].any()
    assert np.count_nonzero(found) == 4 * n - 4 - 1 - (n - 2)


def test_phases_are_the_best_there_are():
    """200 matrices of five antennas with as much noise as signal: no better phases are found by many random starts."""
    rng = np.random.default_rng(5)
    phasor = np.exp(1j * rng.uniform(-np.pi, np.pi, (200, 5)))
    noise = np.triu(rng.normal(size=(200, 5, 5)) + 1j * rng.normal(size=(200, 5, 5)), 1)
    matrix = np.einsum("mp,mq->mpq", phasor, np.conj(phasor)) + noise + np.conj(np.swapaxes(noise, -1, -2))
    matrix = matrix * (1 - np.eye(5)) * 10.0 ** rng.uniform(-3, 3, (200, 1, 1))

    def height(phase):
        return np.einsum("mp,mpq,mq->m", np.exp(-1j * phase), matrix, np.exp(1j * phase)).real

    found = best_phases(matrix, 2)
    assert (found[:, 2] == 0).all()
    best = np.full(200, -np.inf)
    for _ in range(100):
        u = np.exp(1j * rng.uniform(-np.pi, np.pi, (200, 5)))
        for _ in range(60):
            for p in range(5):
                s = np.einsum("mq,mq->m", matrix[:, p], u)
                u[:, p] = s / np.abs(s)
        best = np.maximum(best, height(np.angle(u)))
    assert (height(found) > best * (1 - 1e-6)).mean() >= 0.99


def test_phases_without_data():
    matrix = np.zeros((3, 4, 4), complex)
    matrix[0, 1, 2], matrix[0, 2, 1] = 1j, -1j
    found = best_phases(matrix, 1)
    np.testing.assert_allclose(found[0], [0, 0, -math.pi / 2, 0], atol=1e-12)
    assert (found[1:] == 0).all()


def test_sums_do_not_depend_on_the_memory(kat7):
    """A slot at a time or all at once, with flags and two windows: the same sums, which are those of plain NumPy."""
    path, sky = kat7
    (group,) = rt.ms.groups(path)
    bins = CoherenceBins(NO_CHUNK, np.array([0.0, 1e12]), None)
    found = [
        CoherenceReader(
            group, [SkyPart("", sky, {})], CENTRE, DataSelection(), reference=reference, memory_bytes=memory
        ).read(bins)
        for memory, reference in ((1, None), (100_000, None), (1 << 30, None), (1 << 30, 2))
    ]
    pairs = [tuple(pair) for pair in found[0].baselines]
    to_reference = [pair for pair in pairs if 2 in pair]
    assert [tuple(pair) for pair in found[3].baselines] == to_reference and len(to_reference) == 6
    for sums in found:
        np.testing.assert_array_equal(sums.frequency_hz, np.concatenate([band.frequency_hz for band in BANDS]))
        here = [pairs.index(tuple(pair)) for pair in sums.baselines]
        np.testing.assert_allclose(sums.product, found[2].product[here], rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(sums.power, found[2].power[here], rtol=1e-12)
    channel = 0
    for tile in rt.ms.tiles(path, ["DATA"], time_slots=100):
        n = len(tile["frequency_hz"])
        # A source at the phase centre: its visibilities are 20 Jy.
        k = tile["baselines"].index((2, 5))
        good = tile["flag"][k, ..., 3] == 0
        total = np.where(good, tile["columns"]["DATA"][k, ..., 3].astype(complex) * 20, 0).sum(axis=0)
        own = found[0].product[pairs.index((2, 5)), 0, channel : channel + n, 1, 0]
        np.testing.assert_allclose(own, total, rtol=1e-6)
        power = found[0].power[pairs.index((2, 5)), 0, channel : channel + n, 1, 0, 0]
        np.testing.assert_allclose(power, 400 * good.sum(axis=0), rtol=1e-9)
        matrix = found[0].matrix(found[0].product)[0, channel : channel + n, 1, 0]
        np.testing.assert_allclose(matrix[:, 5, 2], np.conj(total), rtol=1e-6)
        channel += n


CENTRE = (0.93, -0.485)
BANDS = [rt.ms.Band.regular(1.5e9, 6e6, 3), rt.ms.Band.regular(1.3e9, 8e6, 4)]


@pytest.fixture
def kat7(tmp_path, observe):
    """A set of two windows with a source of 20 Jy seen through delays and noise, a fifth of it flagged."""
    path = str(tmp_path / "a.ms")
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=70.0, integration_s=10.0, bands=BANDS)
    sky = rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (20.0, 0.0, 0.0, 0.0))])
    rng = np.random.default_rng(4)

    def jones(antenna, patch, time_s, frequency_hz):
        turned = np.exp(2j * np.pi * frequency_hz * 3e-9 * antenna)
        return np.broadcast_to(turned[None, :, None, None] * np.eye(2), (len(time_s), len(frequency_hz), 2, 2))

    for window, band in enumerate(BANDS):
        flag = rng.random((21, 7, len(band.frequency_hz))) < 0.2
        observe(path, sky, CENTRE, jones, noise_jy=1.0, flag=flag, data_desc_id=window)
    return path, sky


@pytest.mark.parametrize("channels, columns, tec", [(2, 1, False), (65, 3, False), (300, 2, True), (700, 1, True)])
def test_a_curve_on_a_grid_is_the_sum_itself(channels, columns, tec):
    rng = np.random.default_rng(channels)
    frequency = np.sort(rng.uniform(30e6, 180e6, channels)) if tec else np.linspace(1.1e9, 1.4e9, channels)
    h = np.sort(phase_per_unit("tec" if tec else "clock", frequency))
    h = h - rng.uniform(h[0], h[-1])
    value = rng.normal(size=(channels, columns, 2)) @ [1, 1j] * rng.lognormal(sigma=2, size=(channels, 1))
    step, half = np.pi / (4 * np.ptp(h)), int(rng.integers(4, 3000))
    x = step * np.arange(-half, half + 1)
    expected = np.abs(np.exp(-1j * x[:, None] * h) @ value)
    found = magnitudes_on_grid(value, h, step, half)
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(value).sum())


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("any_phase", [False, True])
def test_delays_and_tec_together(seed, any_phase):
    """120 to 180 MHz, noise of 5 % of the signal: the highest maximum is found, which is the planted one or (where
    noise made it so) another with the same slope."""
    rng = np.random.default_rng(seed)
    frequency = np.linspace(120e6, 180e6, 120)
    rates = np.stack([phase_per_unit(quantity, frequency) for quantity in ("clock", "tec")])
    delay, tec = rng.uniform(-100e-9, 100e-9), rng.uniform(-2, 2)
    phases = rng.uniform(-3, 3, 3) if any_phase else np.zeros(3)
    spectrum = np.exp(1j * (delay * rates[0] + tec * rates[1] + phases[:, None]))
    spectrum += 0.05 * (rng.normal(size=(3, 120)) + 1j * rng.normal(size=(3, 120)))
    found = search_delay_and_tec(spectrum, rates, any_phase=any_phase)

    def height(x):
        sums = (spectrum * np.exp(-1j * (np.asarray(x) @ rates))).sum(axis=-1)
        return (np.abs(sums) if any_phase else sums.real).sum()

    assert height(found) >= height([delay, tec]) * (1 - 1e-9)
    if not any_phase:
        assert found == pytest.approx([delay, tec], abs=0.05) and found[0] == pytest.approx(delay, abs=2e-9)


def test_too_little_for_both():
    rates = np.stack([phase_per_unit(quantity, FREQUENCY) for quantity in ("clock", "tec")])
    spectrum = np.zeros(60, complex)
    spectrum[:2] = 1
    assert (search_delay_and_tec(spectrum, rates, any_phase=True) == 0).all()
    assert (search_delay_and_tec(0 * spectrum, rates, any_phase=False) == 0).all()


def test_sums_of_columns_as_they_are_read_or_in_memory(kat7, observe):
    """Two columns, slot by slot from the disk and at once from memory: as by plain NumPy."""
    path, sky = kat7
    observe(path, sky, CENTRE, lambda *_: np.eye(2), noise_jy=3.0, seed=1, column="MODEL_DATA", data_desc_id=1)
    (group,) = rt.ms.groups(path, data_desc_id=1)
    names = ["DATA", "MODEL_DATA"]
    bins = CoherenceBins(NO_CHUNK, np.array([0.0, 1e12]), np.array([0.0, 1.311e9, 1e12]))
    tiles = rt.ms.Tiles(path, names, rt.ms.run_options(time_slots=100, **group.selection))
    parts = [SkyPart(name, None, {"patch": name}, name) for name in names]
    apart = CoherenceReader(group, parts, CENTRE, DataSelection(), apart=True, memory_bytes=1)
    (tile,) = tiles
    value, model = (tile["columns"][name][..., (0, 3)].astype(complex) for name in names)
    weight = np.where(tile["flag"][..., (0, 3)] == 0, tile["weight"][..., (0, 3)], 0.0)

    def binned(x):  # [baseline, time, channel, feed] to [baseline, 1, bin, feed]
        low = tile["frequency_hz"] < 1.311e9
        return np.stack([x[:, :, own].sum(axis=(1, 2)) for own in (low, ~low)], axis=1)[:, None]

    for sums in (apart.read(bins), apart.read(bins, tiles)):
        for k, one in enumerate((value, model)):
            np.testing.assert_allclose(sums.product[..., k], binned(weight * value * np.conj(one)), rtol=1e-9)
            np.testing.assert_allclose(sums.power[..., 0, k], binned(weight * np.conj(value) * one), rtol=1e-9)
        np.testing.assert_array_equal(sums.count, binned(weight > 0))
    both = CoherenceReader(group, parts, CENTRE, DataSelection()).read(bins, tiles)
    expected = binned(weight * value * np.conj(value + model))
    np.testing.assert_allclose(both.product[..., 0], expected, rtol=1e-9)


def test_what_models_explain_where_some_are_the_same():
    """Of matrices of full and of less rank, and of none: by the pseudo-inverse."""
    rng = np.random.default_rng(0)
    model = rng.normal(size=(800, 4, 12)) + 1j * rng.normal(size=(800, 4, 12))
    model[:200, 3] = 2j * model[:200, 1]
    model[200:300, 0] = 0
    model[300:310] = 0
    data = rng.normal(size=(800, 12)) + 1j * rng.normal(size=(800, 12))
    power = np.conj(model) @ np.swapaxes(model, 1, 2)
    product = (np.conj(model) @ data[..., None])[..., 0]
    inverse = np.linalg.pinv(power, rcond=1e-9, hermitian=True)
    expected = np.einsum("nk,nkl,nl->n", np.conj(product), inverse, product).real
    np.testing.assert_allclose(explained(product, power)[0], expected, atol=1e-9)
