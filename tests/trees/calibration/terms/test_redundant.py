"""Terms that can do nothing that others cannot, and terms of directions that share what data tell only as products."""

import h5py
import numpy as np
import pytest
from planted_chains import N_ANTENNA, N_CHANNEL, N_TIME, POLARISED, SKY, diagonal, gains

import rimetree as rt

PATCHES = rt.sky.SkyModel(
    [
        rt.sky.Source("a", 0.93, -0.485, (60.0, 10.0, -15.0, 3.0), patch="middle"),
        rt.sky.Source("b", 0.935, -0.482, (25.0, 0.0, 5.0, 0.0), patch="side"),
    ]
)


def mixed(rng, n_time, n_freq):
    """Full matrices [antenna, time, freq, 2, 2] not far from diagonal ones."""
    values = diagonal(gains(rng, n_time, n_freq, phase=1))
    return values + 0.15 * (rng.normal(size=values.shape) + 1j * rng.normal(size=values.shape))


def turned(rng, n_time, n_freq):
    """Rotations of all antennas [antenna, time, freq, 2, 2]."""
    angle = rng.uniform(-0.5, 0.5, (N_ANTENNA, n_time, n_freq))
    return np.moveaxis(np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]), (0, 1), (-2, -1))


def assert_fits(report):
    assert report.usable and report.converged == report.solves and not report.flagged
    assert report.noise_ratio == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("sky", [SKY, PATCHES], ids=["unpolarised", "polarised"])
@pytest.mark.parametrize(
    ("terms", "held"),
    [
        (["T0: full, per patch", "T1: rotation"], "T1"),
        (["T0: full, per patch", "T1: crosshand"], "T1"),
        (["T0: full, per patch", "T1: diag, per patch"], "T1"),
        (["T0: full, per patch", "T1: rotation, per patch"], "T1"),
        (["T0: full, 1slot, per patch", "T1: rotation, 5slots"], "T1"),
    ],
)
def test_a_term_that_a_full_matrix_of_directions_can_do(solved, sky, terms, held):
    """Both were flagged, all of them, or the one that is too many was."""
    rng = np.random.default_rng(3)
    of = {patch: mixed(rng, 1, 1) for patch in ("middle", "side")}
    with pytest.warns(UserWarning, match=r'held at the unit matrix: "T1: .*", because "T0: full.*" can do all'):
        report, found, out = solved(terms, lambda _: np.eye(2), sky, lambda antenna, patch: of[patch][antenna])
    assert_fits(report)
    assert report.redundant == {held: "T0"}
    np.testing.assert_allclose(found[held].gain(), np.broadcast_to(np.eye(2), found[held].gain().shape))
    with h5py.File(out) as file:
        own = [table for table in file["sol000"].values() if table.attrs.get("term", b"") == held.encode()]
        assert own and all(b"held at the unit matrix, because T0" in table.attrs["convention"] for table in own)


@pytest.mark.parametrize(
    "terms",
    [
        ["F: full", "R: rotation"],
        ["R: rotation", "F: full"],
        ["F: full", "X: crosshand"],
        ["F: full, 4chans", "D: leakage"],
    ],
)
@pytest.mark.parametrize("sky", [SKY, POLARISED], ids=["unpolarised", "polarised"])
def test_a_term_of_the_whole_sky_beside_a_full_matrix(solved, terms, sky):
    f = mixed(np.random.default_rng(4), 1, 1)
    with pytest.warns(UserWarning, match="held at the unit matrix"):
        report, found, _ = solved(terms, lambda antenna: f[antenna], sky)
    assert_fits(report)
    (other,) = (text[0] for text in terms if "full" not in text)
    assert report.redundant == {other: "F"}
    np.testing.assert_allclose(found[other].gain()[..., 0, 0], 1)


@pytest.mark.parametrize(
    "terms",
    [
        ["F: full, 1slot", "R: rotation, 1chan"],
        ["F: full, 1slot", "G: diag, 1chan"],
        ["G: diag, 1slot", "P: phase"],
        ["D: leakage", "F: full"],
        ["G: diag", "R: rotation"],
    ],
)
def test_terms_that_do_what_others_do_not_or_have_a_convention_are_solved_for(solved, terms):
    report, *_ = solved(terms, lambda _: np.eye(2), POLARISED, slots=4, channels=4, width_hz=6e6, noise_jy=0.1)
    assert not report.redundant


def test_leakages_inside_of_full_matrices_around_which_others_stand(solved):
    """All full matrices had been ambiguous: what scalars, and what leakages, can exchange with them are two things."""
    rng = np.random.default_rng(7)
    scalar, f = diagonal(gains(rng, 4, 1, 1)), mixed(rng, 1, 4)
    terms = ["S: scalar, 1slot", "F: full, 1chan", "D: leakage"]
    with pytest.warns(UserWarning, match="held at the unit matrix"):
        report, *_ = solved(terms, lambda a: scalar[a] @ f[a], slots=4, channels=4, width_hz=6e6)
    assert_fits(report)


@pytest.mark.parametrize("sky", [SKY, PATCHES], ids=["unpolarised", "polarised"])
@pytest.mark.parametrize(
    ("terms", "unit"),
    [
        (["G: diag, 1slot, per patch", "B: diag, 1chan, per patch"], "B"),
        (["G: full, 1chan, per patch", "F: full, 1slot, per patch"], "G"),
    ],
)
def test_two_terms_of_directions(solved, sky, terms, unit):
    """What each direction's terms have in common was settled for the brightest only, and all were flagged."""
    rng = np.random.default_rng(5)
    make = mixed if "full" in terms[0] else lambda rng, *shape: diagonal(gains(rng, *shape))
    shapes = [(N_TIME, 1) if "slot" in text else (1, N_CHANNEL) for text in terms]
    of = {patch: make(rng, *shapes[0]) @ make(rng, *shapes[1]) for patch in ("middle", "side")}
    report, found, _ = solved(terms, lambda _: np.eye(2), sky, lambda antenna, patch: of[patch][antenna])
    assert_fits(report)
    assert report.normalised == [unit]
    mean = found[unit].gain().mean(axis=(0, 1))  # [antenna, direction, 2, 2]
    if "full" in terms[0]:
        np.testing.assert_allclose(mean, np.broadcast_to(np.eye(2), mean.shape), atol=1e-6)
    else:
        amplitude = np.abs(found[unit].gain()[..., [0, 1], [0, 1]]).mean(axis=(0, 1))
        np.testing.assert_allclose(amplitude, 1, rtol=1e-9)


def test_full_matrices_of_directions_that_are_polarised_alike(solved):
    """Each direction's sources are polarised in one way, but not all sources: all had been flagged as ambiguous."""
    rng = np.random.default_rng(6)
    of = {patch: mixed(rng, 1, 1) for patch in ("middle", "side")}
    report, _, _ = solved(
        ["T: full, per patch"], lambda _: np.eye(2), PATCHES, lambda antenna, patch: of[patch][antenna]
    )
    assert_fits(report)


def test_rotations_around_full_matrices_of_an_unpolarised_sky(solved):
    """Full matrices make crossed hands, which tell the rotations of the reference antenna, too: they had been held."""
    rng = np.random.default_rng(7)
    r, f = turned(rng, 1, N_CHANNEL), mixed(rng, N_TIME, 1)
    report, _, _ = solved(["R: rotation, 1chan", "F: full, 1slot"], lambda antenna: r[antenna] @ f[antenna])
    assert_fits(report)
