"""Full matrices on a sky that is polarised in two ways, one of which may be not at all: some turns change nothing."""

import numpy as np
import pytest
from scipy.optimize import brentq

import rimetree as rt
from rimetree.calibration import parse_terms
from rimetree.calibration.terms.axis_gauge import open_axis
from rimetree.calibration.terms.gauge import Polarisation

CENTRE = (0.93, -0.485)
N_TIME, N_CHANNEL = 6, 4
#: Stokes parameters of one source; two others are not polarised, or as the second ones.
SKIES = {
    "U": ((60.0, 0.0, 9.0, 0.0), (25.0, 0, 0, 0)),
    "V": ((60.0, 0.0, 0.0, 9.0), (25.0, 0, 0, 0)),
    "Q and U": ((60.0, 8.0, -5.0, 0.0), (25.0, 0, 0, 0)),
    "all": ((60.0, 4.0, 5.0, -6.0), (25.0, 0, 0, 0)),
    "two": ((60.0, 4.0, 5.0, -6.0), (25.0, -2.0, 3.0, 3.0)),
}


def matrices(n_time=1, n_freq=1, seed=5, size=0.3):
    rng = np.random.default_rng(seed)
    own = rng.normal(size=(7, n_time, n_freq, 2, 2)) + 1j * rng.normal(size=(7, n_time, n_freq, 2, 2))
    return np.eye(2) + size * own


def sky_of(one, other):
    sources = [(one, 0.93, -0.485), (other, 0.935, -0.482), (other, 0.927, -0.489)]
    return rt.sky.SkyModel([rt.sky.Source(f"s{k}", *at, own) for k, (own, *at) in enumerate(sources)])


def in_convention(truth, one, other):
    """The matrices [antenna, time, freq, 2, 2] turned to where the convention wants them: by eigenvectors that two
    brightnesses share, and by looking for the angle."""
    (b, c) = (np.array([[i + q, u + 1j * v], [u - 1j * v, i - q]]) for i, q, u, v in (one, other))
    _, vectors = np.linalg.eig(b @ np.linalg.inv(c))
    slope = 1j * (vectors * (1, -1) @ np.linalg.inv(vectors))[0, 1]
    result = np.empty_like(truth)
    for at in np.ndindex(truth.shape[1:3]):
        own = truth[(slice(None), *at)]

        def turned(angle, own=own):
            both = own @ (vectors * np.exp(1j * angle * np.array([1, -1]))) @ np.linalg.inv(vectors)
            return both * np.exp(-1j * np.angle(both[0, 0, 0]))

        def part(angle, turned=turned):
            second = turned(angle)[0, 0, 1]
            return second.imag if abs(slope.imag) >= abs(slope.real) else second.real

        angles = np.linspace(0, np.pi, 200)
        there = [part(angle) for angle in angles]
        roots = [brentq(part, *angles[k : k + 2]) for k in range(199) if there[k] * there[k + 1] < 0]
        result[(slice(None), *at)] = max(map(turned, roots), key=lambda both: np.abs(np.diagonal(both[0])).sum())
    return result


@pytest.fixture
def fitted(solved):
    """fitted(terms, sky, jones, of_patch, options): the report."""

    def fit(terms, sky, jones, of_patch=lambda *_: np.eye(2), noise_jy=0.0, seed=0, **options):
        data = {"slots": N_TIME, "channels": N_CHANNEL, "noise_jy": noise_jy, "seed": seed}
        return solved(terms, jones, sky, of_patch, options=options, **data)[0]

    return fit


@pytest.mark.parametrize("name", SKIES)
def test_the_turn_is_that_of_the_reference_antenna(fitted, name):
    """Any turn had come out: unflagged, or where both are polarised "ambiguous"."""
    truth = matrices()
    report = fitted(["F: full"], sky_of(*SKIES[name]), lambda antenna: truth[antenna])
    assert report.converged == 1 and not report.flagged
    found = np.moveaxis(report.solutions[0]["F"].gain()[..., 0, :, :], 2, 0)
    np.testing.assert_allclose(found, in_convention(truth, *SKIES[name]), atol=2e-5)


def test_each_interval_and_each_direction(fitted):
    """Of patches that are polarised in two ways, and of one in three."""
    places = {"p0": (0.93, -0.485), "p1": (0.936, -0.482), "p2": (0.926, -0.489)}
    ways = {
        "p0": [(60.0, 3.0, 8.0, 0.0), (20.0, 0, 0, 0)],
        "p1": [(25.0, 0, 0, 7.0), (15.0, 2.0, -1.0, 0)],
        "p2": [(30.0, 2.0, -3.0, 4.0), (30.0, 5.0, 3.0, -4.0), (40.0, 0, 9.0, 0)],
    }
    sky = rt.sky.SkyModel(
        [
            rt.sky.Source(f"{name}{k}", ra + 0.0025 * k, dec - 0.002 * k**2, own, patch=name)
            for name, (ra, dec) in places.items()
            for k, own in enumerate(ways[name])
        ]
    )
    truth = {name: matrices(2, 1, seed=k, size=0.2) for k, name in enumerate(places)}
    report = fitted(
        ["F: full, 3slots, per patch"],
        sky,
        lambda _: np.eye(2),
        lambda antenna, patch: np.repeat(truth[patch][antenna], 3, axis=0),
    )
    assert report.converged == report.solves and not report.flagged
    found = report.solutions[0]["F"]
    for k, name in enumerate(found.directions):
        own, wanted = np.moveaxis(found.gain()[..., k, :, :], 2, 0), truth[name]
        turned = wanted * np.exp(-1j * np.angle(wanted[:1, ..., :1, :1]))
        turned = in_convention(wanted, *ways[name]) if len(ways[name]) == 2 else turned
        np.testing.assert_allclose(own, turned, atol=5e-4)


def test_errors_are_those_of_the_convention(fitted, predicted, tmp_path):
    """Of amplitudes and phases, from derivatives by differences, with what is held left out."""
    truth = in_convention(matrices(seed=8), *SKIES["U"])[:, 0, 0]
    report = fitted(["F: full"], sky_of(*SKIES["U"]), lambda antenna: truth[antenna])
    (tile,) = rt.ms.tiles(tmp_path / "a.ms", [], time_slots=100)
    seen = predicted(tile, sky_of(*SKIES["U"]), CENTRE)

    def model(x):
        own = (x[:28] + 1j * x[28:]).reshape(7, 2, 2)
        pairs = enumerate(tile["baselines"])
        flat = np.ravel([own[p] @ seen[k] @ np.conj(own[q].T) for k, (p, q) in pairs])
        return np.concatenate([flat.real, flat.imag])

    at = np.concatenate([truth.real.ravel(), truth.imag.ravel()])
    free = [k for k in range(56) if k not in (28, 29)]  # imaginary parts of the first row of the reference antenna
    slopes = np.array([(model(at + step) - model(at - step)) / 2e-6 for step in 1e-6 * np.eye(56)[free]])
    covariance = np.zeros((56, 56))
    covariance[np.ix_(free, free)] = np.linalg.inv(slopes @ slopes.T)
    term = report.solutions[0]["F"]
    for quantity, turn in (("amplitude", 1), ("phase", 1j)):
        along = turn * np.exp(1j * np.angle(truth.ravel())) / (1 if turn == 1 else np.abs(truth.ravel()))
        parts = np.concatenate([np.diag(along.real), np.diag(along.imag)], axis=1)
        wanted = np.sqrt(np.einsum("ij,jk,ik->i", parts, covariance, parts)).reshape(7, 4)
        np.testing.assert_allclose(term.sigma[quantity][0, 0, :, 0], wanted, rtol=1e-3, atol=1e-9)


def test_where_nothing_is_open():
    (full, gain, scalar) = parse_terms(["F: full", "G: diag", "S: scalar"])
    line = Polarisation("crossed", False, (0.0, 1.0, 0.0))
    assert open_axis(full, [full], line) == open_axis(full, [gain, full, scalar], line) == (0.0, 1.0, 0.0)
    assert open_axis(gain, [gain], line) is None
    assert open_axis(full, [full, gain], line) is None  # gains inside do not turn
    assert open_axis(full, [full], Polarisation("crossed", True, (0.0, 1.0, 0.0))) is None  # held as a triangle
    assert open_axis(full, [full], Polarisation("crossed", False, None)) is None
    assert open_axis(full, [full], Polarisation("parallel", False, (1.0, 0.0, 0.0))) is None  # feeds: phases are held


PATCHES = rt.sky.SkyModel(
    [
        *(rt.sky.Source(f"a{k}", 0.93 + 0.003 * k, -0.485, stokes, patch="a") for k, stokes in enumerate(SKIES["two"])),
        *(rt.sky.Source(f"b{k}", 0.96, -0.468 + 0.003 * k, stokes, patch="b") for k, stokes in enumerate(SKIES["all"])),
    ]
)

WAY = (60.0, 4.0, 5.0, -6.0)
ONE_WAY = rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, WAY)])
ONE_WAY_EACH = rt.sky.SkyModel(
    [rt.sky.Source("a", *CENTRE, WAY, patch="a"), rt.sky.Source("b", 0.96, -0.468, (40, 0, 6, 3), patch="b")]
)


@pytest.mark.parametrize(
    ("gain", "full", "sky"),
    [
        ("G: diag, 1slot", "F: full", sky_of(*SKIES["two"])),
        ("G: diag, 1slot", "F: full", sky_of(*SKIES["V"])),
        ("G: diag, 1slot", "F: full, per patch", PATCHES),
        ("G: diag, 1slot, per patch", "F: full, per patch", PATCHES),
        ("G: diag, 1slot", "F: full", ONE_WAY),
        ("G: diag, 1slot", "F: full, 1chan", ONE_WAY),
        ("G: diag, 1slot", "F: full, per patch", ONE_WAY_EACH),
    ],
)
def test_gains_around_matrices_that_may_be_turned(fitted, gain, full, sky):
    """Nothing of these chains could be used: all was ambiguous, as what is held of a turn was 0 but for rounding, and
    as on a sky that is polarised in one way a phase of the gains' feeds can be a turn of the matrices, too."""
    directions = sky.patches or [""]
    of_slots = {name: matrices(N_TIME, 1, seed=k, size=0.2) * np.eye(2) for k, name in enumerate(directions)}
    constant = {name: matrices(1, 1, seed=k + 5, size=0.2) for k, name in enumerate(directions)}
    nothing = np.broadcast_to(np.eye(2), of_slots[directions[0]].shape)
    if "patch" not in gain:
        of_slots = dict.fromkeys(directions, of_slots[directions[0]])
    products = {name: of_slots[name] @ constant[name] for name in directions}
    if sky.patches:
        report = fitted([gain, full], sky, lambda a: nothing[a], lambda a, name: products[name][a], noise_jy=1e-3)
    else:
        report = fitted([gain, full], sky, lambda a: products[""][a], noise_jy=1e-3)
    assert report.converged == report.solves == 1 and not report.flagged and report.normalised == ["F"]
    assert report.noise_ratio == pytest.approx(1e-3, rel=0.1)
    (found,) = report.solutions
    for name in directions:
        gains = [
            found.jones(f"ANT-{a}", found["G"].time_s, np.array([1.3e9]), direction=name or None)[0] for a in range(7)
        ]
        # One turn of all antennas in each slot, which leaves the brightnesses as they are.
        turns = np.linalg.inv(products[name]) @ gains
        np.testing.assert_allclose(turns, np.broadcast_to(turns[0], turns.shape), atol=1e-3)
        for source in sky.select(patches=[name]) if name else sky:
            i, q, u, v = np.array(source.stokes_jy) / source.stokes_jy[0]
            b = np.array([[i + q, u + 1j * v], [u - 1j * v, i - q]])
            turned = turns[0] @ b @ np.conj(np.swapaxes(turns[0], -1, -2))
            np.testing.assert_allclose(turned, np.broadcast_to(b, turned.shape), atol=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_gains_around_unit_matrices_that_may_be_turned(fitted, seed):
    """What is held of the reference antenna was 0 for some noise and 1e-22 for other, and then all was ambiguous."""
    unit = np.eye(2)
    report = fitted(["G: diag, 1slot", "F: full"], sky_of(*SKIES["all"]), lambda _: unit, noise_jy=0.1, seed=seed)
    assert report.converged == 1 and not report.flagged and report.normalised == ["F"]


@pytest.mark.parametrize(
    ("gain", "inner"),
    [
        ("G: diag, 1slot", "F: full, per patch"),
        ("G: diag, 1slot, per patch", "D: leakage, per patch"),
    ],
)
def test_phases_between_feeds_that_change_around_matrices_of_patches(fitted, gain, inner):
    """The reference antenna's was held on an unpolarised sky, though the matrices tell it: ten times the noise was
    left, "converged" with full matrices."""
    sky = rt.sky.SkyModel(
        [
            rt.sky.Source("a", *CENTRE, (60.0, 0, 0, 0), patch="a"),
            rt.sky.Source("b", 0.96, -0.468, (40, 0, 0, 0), patch="b"),
        ]
    )
    rng = np.random.default_rng(1)

    def gains():
        return np.exp(1j * rng.uniform(-np.pi, np.pi, (7, N_TIME, 1, 2)))[..., None] * np.eye(2)

    constant = {name: matrices(1, 1, seed=k + 5, size=0.05) for k, name in enumerate("ab")}
    if "leakage" in inner:
        for own in constant.values():
            own[..., [0, 1], [0, 1]] = 1
    whole = gains()
    products = {name: (gains() if "patch" in gain else whole) @ constant[name] for name in "ab"}
    report = fitted([gain, inner], sky, lambda _: np.eye(2), lambda a, name: products[name][a], noise_jy=0.1)
    assert report.converged == report.solves == 1 and report.usable
    assert report.noise_ratio == pytest.approx(0.1, rel=0.05)
