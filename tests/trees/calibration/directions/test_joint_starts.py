"""Terms of the whole sky and of directions are searched for together where antennas are few."""

import tracemalloc

import numpy as np
import pytest
from factors import factors_seen
from patch_sky import patch_sky

from rimetree.calibration import SolverOptions
from rimetree.calibration.directions import joint_search, joint_starts
from rimetree.calibration.directions.goodness import is_exact
from rimetree.calibration.directions.joint_fit import DirectionSums, JointFit, Unknowns
from rimetree.calibration.directions.joint_turns import determined, short_basis
from rimetree.calibration.terms.kinds import phase_per_unit

N = 7
FLUXES_JY, SKY = patch_sky(4)


@pytest.fixture
def calibrated(solved):
    """calibrated(terms, kind, middle_hz, channels, ...): the report, the phases [antenna, channel] of each patch that
    were planted, and the frequencies; noise of 5 Jy, if not another."""

    def run(
        terms,
        kind,
        middle_hz,
        width_hz,
        channels,
        absent=(),
        gains=None,
        seed=0,
        scale=1.0,
        successive=False,
        slots=6,
        noise=5.0,
    ):
        rng = np.random.default_rng(seed)
        frequency = middle_hz + width_hz * (np.arange(channels) - (channels - 1) / 2)
        most, quantity = {
            "tec": (0.1, "tec"),
            "much tec": (0.3, "tec"),
            "no tec": (0.0, "tec"),
            "delay": (20e-9, "clock"),
        }[kind]
        planted = {patch: rng.uniform(-most, most, (N, 1)) * phase_per_unit(quantity, frequency) for patch in FLUXES_JY}

        def jones(antenna):
            gain = np.ones(2) if gains is None else gains[antenna]  # [feed] or [channel, feed]
            return np.sqrt(scale) * gain[..., None] * np.eye(2)

        def of_patch(antenna, patch):
            phasor = np.exp(1j * planted[patch][antenna]) * (patch not in absent)
            return phasor[:, None, None] * np.eye(2)

        data = {"middle_hz": middle_hz, "width_hz": width_hz, "channels": channels, "slots": slots, "seed": seed + 1}
        options = {"solver": SolverOptions(successive=successive)}
        report, *_ = solved(terms, jones, SKY, of_patch, noise_jy=noise * scale, options=options, **data)
        return report, planted, frequency

    return run


def errors_rad(report, planted, frequency_hz, patch):
    """Of the phases of all terms together, relative to the first antenna."""
    jones = [report.solutions[0].jones(f"ANT-{a}", [5e9], frequency_hz, direction=patch)[0] for a in range(N)]
    turned = np.array(jones)[:, 0, :, 0, 0] * np.exp(-1j * planted[patch])
    return np.angle(turned * np.conj(turned[:1]))


@pytest.mark.parametrize(
    ("terms", "seed", "scale"),
    [
        (["G: diag", "T: tec, per patch"], 0, 1e-3),
        (["T: tec, per patch", "G: diag"], 2, 1e3),
    ],
)
def test_tec_of_directions_inside_gains_that_are_not_known(calibrated, terms, seed, scale):
    """Ended in another minimum after 88 s, and flagged a patch that is in the data as without signal."""
    rng = np.random.default_rng(seed)
    gains = rng.uniform(0.7, 1.3, (N, 2)) * np.exp(1j * rng.uniform(-np.pi, np.pi, (N, 1)))
    report, planted, frequency = calibrated(terms, "tec", 150e6, 1e6, 16, gains=gains, seed=seed, scale=scale)
    assert report.converged == report.solves and not report.flagged
    assert report.noise_ratio == pytest.approx(5 * scale, rel=0.02)
    phases = np.angle(gains[:, :1] * np.conj(gains[:1, :1]))
    for patch in FLUXES_JY:
        error = errors_rad(report, planted, frequency, patch)
        assert np.abs(np.angle(np.exp(1j * (error - phases)))).max() < 0.1


@pytest.mark.parametrize(("absent", "successive"), [("p0", False), ("p1", True)])
def test_one_direction_of_four_without_signal(calibrated, absent, successive):
    """Of narrow bands, where TEC differ by whole turns: it stayed, and took the others with it."""
    found = calibrated(
        ["T: tec, per patch"], "tec", 1.3e9, 2e6, 8, absent=(absent,), seed=1, successive=successive, slots=12
    )
    report, planted, frequency = found
    assert report.converged == report.solves
    assert report.flagged_of == {f"T, {absent}": {"without signal": N}}
    for patch in set(FLUXES_JY) - {absent}:
        assert np.abs(errors_rad(report, planted, frequency, patch)).max() < 0.1


@pytest.mark.parametrize(("absent", "seed"), [(("p0",), 0), (("p0",), 2), (("p0", "p1"), 1)])
def test_the_dead_directions_of_a_minute_are_named(calibrated, absent, seed):
    """In so short a time all directions together explain the data nearly as well, with a wrong scale of all: they were
    taken for that, or one that is there was taken for dead."""
    report, planted, frequency = calibrated(["T: tec, per patch"], "tec", 1.3e9, 2e6, 8, absent=absent, seed=seed)
    assert report.converged == report.solves
    assert report.flagged_of == {f"T, {patch}": {"without signal": N} for patch in absent}
    assert report.chunks[0].scale == pytest.approx(1, rel=0.02)
    for patch in set(FLUXES_JY) - set(absent):
        assert np.abs(errors_rad(report, planted, frequency, patch)).max() < 0.1


@pytest.mark.parametrize("absent", [(), ("p0",)])
def test_delays_of_directions_inside_gains_that_are_not_known(calibrated, absent):
    """Up to 20 ns, which turn phases by a third of a turn over the band: ended in another minimum, as converged."""
    rng = np.random.default_rng(1)
    gains = rng.uniform(0.7, 1.3, (N, 2)) * np.exp(1j * rng.uniform(-np.pi, np.pi, (N, 1)))
    terms = ["G: diag", "K: delay, per patch"]
    report, planted, frequency = calibrated(terms, "delay", 1.3e9, 2e6, 8, absent=absent, gains=gains, seed=1)
    assert report.converged == report.solves
    assert report.flagged_of == {f"K, {patch}": {"without signal": 2 * N} for patch in absent}
    assert report.noise_ratio == pytest.approx(5, rel=0.02)
    phases = np.angle(gains[:, :1] * np.conj(gains[:1, :1]))
    for patch in set(FLUXES_JY) - set(absent):
        error = errors_rad(report, planted, frequency, patch)
        assert np.abs(np.angle(np.exp(1j * (error - phases)))).max() < 0.2


@pytest.mark.parametrize(("absent", "channels"), [((), 8), (("p0",), 4)])
def test_tec_of_directions_inside_a_bandpass_of_any_phase(calibrated, absent, channels, monkeypatch):
    """Ended in another minimum after 50 s: where turns of an antenna in all directions together change nothing, no
    turns were found. That no direction is absent showed only when all channels had been fitted without each."""
    searched = []
    every = joint_starts._Problem.lowest
    monkeypatch.setattr(
        joint_starts._Problem, "lowest", lambda self, *a, **k: searched.append(0) or every(self, *a, **k)
    )
    rng = np.random.default_rng(3)
    shape = N, channels, 2
    gains = rng.uniform(0.7, 1.3, shape) * np.exp(1j * rng.uniform(-np.pi, np.pi, shape))
    terms = ["B: diag, 1chan", "T: tec, per patch"]
    report, planted, frequency = calibrated(terms, "much tec", 150e6, 1e6, channels, absent=absent, gains=gains)
    assert report.converged == report.solves
    assert report.flagged_of == {f"T, {patch}": {"without signal": N} for patch in absent}
    assert report.noise_ratio == pytest.approx(5, rel=0.02)
    phases = np.angle(gains[..., 0] * np.conj(gains[:1, :, 0]))
    for patch in set(FLUXES_JY) - set(absent):
        error = errors_rad(report, planted, frequency, patch)
        assert np.abs(np.angle(np.exp(1j * (error - phases)))).max() < 0.2
    assert absent or len(searched) == 1


def test_delays_of_directions_alone(calibrated):
    """Ended in another minimum, as converged, with errors of a radian."""
    report, planted, frequency = calibrated(["K: delay, per patch"], "delay", 1.3e9, 2e6, 8)
    assert report.converged == report.solves and not report.flagged
    for patch in FLUXES_JY:
        assert np.abs(errors_rad(report, planted, frequency, patch)).max() < 0.2


@pytest.mark.parametrize("terms", [["T: tec, per patch"], ["K: delay, per patch"]])
def test_the_only_living_direction_of_four_stays(calibrated, terms):
    """Three of four directions are not in the data."""
    report, *_ = calibrated(terms, "tec", 1.3e9, 2e6, 8, absent=("p0", "p1", "p3"), slots=12)
    assert report.converged == report.solves
    assert {key.split(", ")[1] for key in report.flagged_of} == {"p0", "p1", "p3"}


def problem(rng):
    """Sums of two directions on three antennas, and unknowns of each kind."""
    baselines = np.array([[0, 1], [0, 2], [1, 2]])
    models = rng.normal(size=(3, 1, 4, 2, 2, 5, 2)) @ [1, 1j]
    data = rng.normal(size=(3, 1, 4, 2, 5, 2)) @ [1, 1j]
    sums = DirectionSums(
        baselines,
        np.einsum("btfens,btfes->btfen", models.conj(), data),
        np.einsum("btfeks,btfels->btfekl", models.conj(), models),
        float((np.abs(data) ** 2).sum()),
        3,
    )
    cells, both = np.zeros((1, 4), int), np.ones(2, bool)
    index = np.array([[-1, 0, 1]])
    rate = np.linspace(-1, 1, 4)
    unknowns = [
        Unknowns(rate, True, np.array([True, False]), both, cells, index),
        Unknowns(np.ones(4), False, both, np.array([True, False]), cells, np.array([[2, 3, 4]])),
        Unknowns(np.ones(4), False, np.array([False, True]), both, cells, np.full((1, 3), 5)),
    ]
    return sums, unknowns


def test_the_slope_of_chi_square_is_that_of_differences():
    sums, unknowns = problem(np.random.default_rng(3))
    fit = JointFit(sums, unknowns)
    place = np.random.default_rng(4).normal(size=(2, fit.count)) * 0.3
    slope, _ = fit.normal(place)
    for k in range(fit.count):
        step = 1e-5 * (np.arange(fit.count) == k)
        difference = fit.chi_square(place + step) - fit.chi_square(place - step)
        np.testing.assert_allclose(-2 * slope[:, k], difference / 2e-5, rtol=1e-6, atol=1e-5)


def test_the_curvature_is_that_of_changes_of_the_model():
    sums, unknowns = problem(np.random.default_rng(3))
    fit = JointFit(sums, unknowns)
    place = np.random.default_rng(4).normal(size=(2, fit.count)) * 0.3
    steps = 1e-5 * np.eye(fit.count)
    both = ([factors_seen(sums, unknowns, place + sign * step) for step in steps] for sign in (1, -1))
    changes = np.subtract(*both) / 2e-5
    wanted = np.einsum("ktfeibs,btfeij,ltfejbs->skl", changes.conj(), sums.power, changes, optimize=True).real
    np.testing.assert_allclose(fit.normal(place)[1], wanted, rtol=1e-6, atol=1e-6 * np.abs(wanted).max())


def test_many_antennas_take_little_memory():
    """64 antennas and 4 directions: arrays of baselines and pairs of antennas would take gigabytes."""
    n, n_direction, rng = 64, 4, np.random.default_rng(5)
    baselines = np.stack(np.triu_indices(n, 1), axis=1)
    product = rng.normal(size=(len(baselines), 1, 1, 1, n_direction, 2)) @ [1, 1j]
    power = np.broadcast_to(np.eye(n_direction), (len(baselines), 1, 1, 1, n_direction, n_direction))
    sums = DirectionSums(baselines, product, power + 0j, 1e9, n)
    index = np.arange(n_direction * n).reshape(n_direction, 1, n)
    cells, feeds = np.zeros((1, 1), int), np.ones(1, bool)
    unknowns = [
        Unknowns(np.ones(1), True, np.arange(n_direction) == k, feeds, cells, index[k]) for k in range(n_direction)
    ]
    fit = JointFit(sums, unknowns)
    place = rng.normal(size=(3, fit.count))
    tracemalloc.start()
    fit.normal(place)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 100e6


def test_data_without_noise_are_not_searched_for_better_fits(calibrated, monkeypatch):
    """As a simulation is, in a column of single precision."""
    batches = []
    monkeypatch.setattr(joint_search._Search, "from_anywhere", lambda self, begin, *rest, **how: batches.append(rest))
    report, planted, frequency_hz = calibrated(["P: phase, scalar, per patch"], "no tec", 1.3e9, 2e6, 4, noise=0.0)
    assert report.converged == report.solves and not batches
    assert all(np.abs(errors_rad(report, planted, frequency_hz, patch)).max() < 1e-6 for patch in planted)


def test_what_leaves_only_rounding_is_exact():
    """Columns of single precision, and sums of many of them."""
    assert is_exact(2e-15, 1.0) and is_exact(0.0, 0.0) and not is_exact(1e-6, 1.0)


def test_what_is_held_has_no_slope():
    """Also where it is all that acts on a feed."""
    sums, unknowns = problem(np.random.default_rng(3))
    fit = JointFit(sums, unknowns)
    place = np.random.default_rng(4).normal(size=(2, fit.count)) * 0.3
    every = fit.normal(place)
    held = [0, 1, 5]
    slope, curvature = fit.normal(place, held)
    left = [k for k in range(fit.count) if k not in held]
    assert not slope[:, held].any() and not curvature[:, held].any() and not curvature[:, :, held].any()
    np.testing.assert_allclose(slope[:, left], every[0][:, left])
    np.testing.assert_allclose(curvature[:, left][:, :, left], every[1][:, left][:, :, left])


def test_integers_that_change_nothing_together_are_left_out():
    """Of two sets of three, of which only differences within each count, one of each has to stay."""
    differences = np.kron(np.eye(2), np.array([[1, -1, 0], [0, 1, -1], [1, 0, -1]]))
    told = determined(differences.T @ np.diag([5.0, 4, 3, 0.2, 0.1, 0.3]) @ differences)
    assert len(told) == 4
    assert (np.bincount(told // 3, minlength=2) == 2).all()
    np.testing.assert_array_equal(determined(np.diag([1.0, 0.0, 2.0])), [0, 2])
    assert not len(determined(np.zeros((2, 2))))


def test_a_basis_of_short_vectors_spans_the_same_integers():
    rng = np.random.default_rng(5)
    root = rng.normal(size=(8, 8)) * 10.0 ** rng.uniform(-2, 1, 8)
    form = root.T @ root
    basis = short_basis(form)
    assert abs(abs(np.linalg.det(basis)) - 1) < 1e-6 and (basis == np.round(basis)).all()
    lengths = np.diag(basis.T @ form @ basis)
    assert lengths.prod() < np.diag(form).prod()
