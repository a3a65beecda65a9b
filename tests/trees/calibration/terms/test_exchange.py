"""Terms that can exchange any matrix: products are recovered, and one of the terms comes in the convention."""

import h5py
import numpy as np
import pytest
from planted_chains import N_ANTENNA, N_CHANNEL, N_TIME, POLARISED, SKY, diagonal, gains

from rimetree.calibration import parse_terms
from rimetree.calibration.terms.full_chains import exchange_pairs
from rimetree.calibration.terms.grid import Axis


@pytest.mark.parametrize(
    ("terms", "unit"), [(["F: full, 1chan", "H: full, 1slot"], "F"), (["H: full, 1slot", "F: full, 1chan"], "F")]
)
def test_two_full_matrices(solved, terms, unit):
    """Any matrix may go from one to the other: the mean of the bandpass is the unit matrix, for each antenna."""
    rng = np.random.default_rng(8)
    f, h = (diagonal(gains(rng, *shape)) for shape in ((1, N_CHANNEL), (N_TIME, 1)))
    f, h = (x + 0.2 * (rng.normal(size=x.shape) + 1j * rng.normal(size=x.shape)) for x in (f, h))
    truth = f @ h if terms[0].startswith("F") else h @ f
    report, found, out = solved(terms, lambda antenna: truth[antenna], POLARISED)
    assert report.converged == report.solves == 1 and not report.flagged and report.normalised == [unit]
    assert report.noise_ratio == pytest.approx(1, abs=0.02)
    mean = found[unit].gain()[:, :, :, 0].mean(axis=(0, 1))
    np.testing.assert_allclose(mean, np.broadcast_to(np.eye(2), mean.shape), atol=1e-6)
    product = np.stack([found.jones(name, *axes(found))[0] for name in found[unit].antennas])
    # One phase for all antennas is left open in each cell.
    turn = np.einsum("atfij,atfij->tf", np.conj(truth), product)
    product = product * np.conj(turn / np.abs(turn))[..., None, None]
    assert np.abs(product - truth).max() < 0.3 and np.abs(product - truth).std() < 0.03
    for term in found.terms:
        errors = np.concatenate([table.ravel() for table in term.sigma.values()])
        assert np.isfinite(errors).all() and (errors > 0).mean() > 0.9 and np.median(errors) < 0.1
    with h5py.File(out) as file:
        tables = [table for table in file["sol000"].values() if table.attrs.get("term", b"") == unit.encode()]
        assert tables and all(b"mean of its matrices is the unit matrix" in one.attrs["convention"] for one in tables)


def axes(solutions):
    """Centres of all time slots and channels."""
    times, frequencies = (term for term in sorted(solutions.terms, key=lambda term: -len(term.time_s)))
    return times.time_s, frequencies.frequency_hz


def test_a_full_matrix_around_gains(solved):
    """On an unpolarised sky: of the reference antenna only that is held which gains inside can take up."""
    rng = np.random.default_rng(8)
    f, g = diagonal(gains(rng, 1, N_CHANNEL, phase=1)), diagonal(gains(rng, N_TIME, 1, phase=1))
    f = f + 0.2 * (rng.normal(size=f.shape) + 1j * rng.normal(size=f.shape))
    report, _, _ = solved(["F: full, 1chan", "G: diag, 1slot"], lambda antenna: f[antenna] @ g[antenna])
    assert report.converged == 1 and report.normalised == ["F"] and not report.flagged
    assert report.noise_ratio == pytest.approx(1, abs=0.02)


def mixed(rng, n_time, n_freq, spread=0.15):
    """Full matrices [antenna, time, freq, 2, 2] not far from diagonal ones."""
    values = diagonal(gains(rng, n_time, n_freq, phase=1))
    return values + spread * (rng.normal(size=values.shape) + 1j * rng.normal(size=values.shape))


def leakages(rng, spread=0.1):
    """[antenna, 1, 1, 2, 2]"""
    values = np.broadcast_to(np.eye(2), (N_ANTENNA, 1, 1, 2, 2)).astype(complex)
    values[..., 0, 1], values[..., 1, 0] = spread * (
        rng.normal(size=(2, N_ANTENNA, 1, 1)) + 1j * rng.normal(size=(2, N_ANTENNA, 1, 1))
    )
    return values


def assert_converged(report, normalised):
    assert report.converged == report.solves and not report.flagged and report.normalised == normalised
    assert report.noise_ratio == pytest.approx(1, abs=0.02)


def assert_mean(term, wanted, direction=0):
    """The mean of the matrices of each antenna is the unit matrix, or ("diagonal") has nothing besides its diagonal."""
    mean = term.gain()[:, :, :, direction].mean(axis=(0, 1))
    if wanted == "diagonal":
        np.testing.assert_allclose(mean[:, [0, 1], [1, 0]], 0, atol=1e-6)
    else:
        np.testing.assert_allclose(mean, np.broadcast_to(np.eye(2), mean.shape), atol=1e-6)


def assert_errors(found):
    """Errors of all terms; those of values that are conventions are zero, up to rounding: all of a term's, maybe."""
    of_terms = [np.concatenate([table.ravel() for table in term.sigma.values()]) for term in found.terms]
    for errors in of_terms:
        assert np.isfinite(errors).all() and np.median(errors) < 0.1
    assert (np.concatenate(of_terms) > 1e-6).mean() > 0.4


@pytest.mark.parametrize("between", ["S: scalar, 1slot", "S: diag", "S: rotation"])
def test_full_matrices_with_another_term_between_them(solved, between):
    """What was flagged as ambiguous: any matrix passes a scalar, and, changed, whatever has one solution."""
    rng = np.random.default_rng(10)
    f, h = mixed(rng, 1, N_CHANNEL), mixed(rng, N_TIME, 1)
    if "rotation" in between:
        angle = rng.uniform(-0.5, 0.5, (N_ANTENNA, 1, 1))
        s = np.moveaxis(np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]), (0, 1), (-2, -1))
    else:
        s = diagonal(gains(rng, *((N_TIME, 1, 1) if "scalar" in between else (1, 1, 2))))
    terms = ["F: full, 1chan", between, "H: full, 1slot"]
    report, found, _ = solved(terms, lambda antenna: f[antenna] @ s[antenna] @ h[antenna], POLARISED)
    assert report.converged == report.solves == 1 and not report.flagged
    assert "F" in report.normalised and report.noise_ratio == pytest.approx(1, abs=0.02)
    assert_mean(found["F"], "unit")
    assert_errors(found)


@pytest.mark.parametrize("outer", ["full", "leakage", "full and scalar"])
def test_a_matrix_of_the_whole_sky_and_those_of_directions(solved, outer):
    """What ended in an error, or in values that were all ambiguous: the brightest direction's mean is held."""
    rng = np.random.default_rng(11)
    f = leakages(rng) if outer == "leakage" else mixed(rng, 1, 1)
    h = {patch: mixed(rng, N_TIME, 1) for patch in ("middle", "side")}
    terms = [f"F: {outer.split()[0]}", "H: full, 1slot, per patch"]
    terms[1:1] = ["S: scalar, 1chan"] if "scalar" in outer else []
    s = diagonal(gains(rng, 1, N_CHANNEL, 1)) if "scalar" in outer else np.ones((N_ANTENNA, 1, 1, 1, 1)) * np.eye(2)
    report, found, _out = solved(
        terms, lambda antenna: f[antenna] @ s[antenna], SKY, lambda antenna, patch: h[patch][antenna]
    )
    assert report.converged == report.solves and not report.flagged and "H" in report.normalised
    assert report.noise_ratio == pytest.approx(1, abs=0.02)
    assert_mean(found["H"], "diagonal" if outer == "leakage" else "unit", found["H"].directions.index("middle"))
    assert_errors(found)


def test_a_leakage_outside_of_a_full_matrix(solved):
    rng = np.random.default_rng(12)
    truth = leakages(rng) @ mixed(rng, N_TIME, 1)
    report, found, _ = solved(["D: leakage", "F: full, 1slot"], lambda antenna: truth[antenna], POLARISED)
    assert_converged(report, ["F"])
    assert_mean(found["F"], "diagonal")


@pytest.mark.parametrize("terms", [["R: rotation, 1slot", "F: full"], ["F: full", "R: rotation, 1slot"]])
def test_rotations_beside_a_full_matrix_that_changes_less_often(solved, terms):
    """The full matrix takes any turn that all rotations of an antenna have in common: all values had been ambiguous."""
    rng = np.random.default_rng(13)
    angle, f = rng.uniform(-0.6, 0.6, (N_ANTENNA, N_TIME, 1)), mixed(rng, 1, 1)
    r = np.moveaxis(np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]), (0, 1), (-2, -1))
    truth = r @ f if terms[0].startswith("R") else f @ r
    report, found, _ = solved(terms, lambda antenna: truth[antenna], POLARISED)
    assert_converged(report, ["R"])
    mean = np.angle(np.exp(1j * angle).mean(axis=1, keepdims=True))
    own, sigma = (table["rotation"][:, 0, :, 0, 0].T for table in (found["R"].value, found["R"].sigma))
    pulls = (own - (angle - mean)[..., 0]) / sigma
    assert np.abs(np.exp(1j * own).mean(axis=1).imag).max() < 1e-6
    assert np.sqrt((pulls**2).mean()) == pytest.approx(1, abs=0.25) and np.abs(pulls).max() < 5


def regular(n, width=10.0):
    edges = width * np.arange(n + 1)
    return Axis(edges, 0.5 * (edges[1:] + edges[:-1]), np.full(n, width))


@pytest.mark.parametrize(
    ("lines", "times", "wanted"),
    [
        (["F: full", "H: full"], (1, 6), ["FH:H"]),
        (["F: full", "S: scalar", "H: full"], (1, 6, 6), ["FH:H"]),
        (["F: full", "G: diag", "H: full"], (3, 1, 6), ["FH:H"]),
        (["F: full", "G: diag", "H: full"], (1, 3, 6), []),  # diagonal matrices only
        (["F: full", "K: delay", "H: full"], (1, 1, 6), []),
        (["F: full", "H: full", "K: full"], (1, 2, 6), ["HK:K", "FH:H"]),
        (["F: full", "H: full, per patch"], (1, 6), ["FH:H"]),
        (["D: leakage", "H: full, per patch"], (1, 6), ["DH:H"]),
        (["D: leakage", "H: full"], (6, 1), []),  # all leakages would have to take the same
        (["F: full", "D: leakage", "H: full"], (1, 1, 6), ["DH:H", "FD:D", "FH:F"]),
        (["G: diag", "H: full"], (1, 6), []),
        (["R: rotation", "H: full"], (6, 1), ["RH:R"]),
        (["H: full", "S: scalar", "R: rotation"], (1, 3, 6), ["HR:R"]),
        (["R: rotation", "G: diag", "H: full"], (6, 1, 1), []),  # turns do not pass
    ],
)
def test_which_terms_can_exchange_any_matrix(lines, times, wanted):
    terms = parse_terms(lines)
    axes = {term.name: (regular(n, 60.0 / n), regular(1)) for term, n in zip(terms, times, strict=True)}
    order = {term.name: place for place, term in enumerate(terms)}
    found = exchange_pairs(terms, order, axes)
    assert [f"{''.join(pair.names)}:{pair.unit}" for pair in found] == wanted
