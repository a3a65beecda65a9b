"""Errors where terms exchange any matrix: products planted, solutions in the convention, pulls of mean square 1."""

import numpy as np
import pytest
from planted_chains import N_CHANNEL, N_TIME, POLARISED
from test_exchange import leakages, mixed


def pulls(term, truth):
    """Differences over errors of matrices [antenna, time, freq, 2, 2], of amplitudes and of phases."""
    wanted, found = np.moveaxis(truth.reshape(*truth.shape[:3], 4), 0, 2), []
    for quantity, of in (("amplitude", np.abs), ("phase", np.angle)):
        value, sigma = (x[quantity][:, :, :, 0] for x in (term.value, term.sigma))
        difference = value - of(wanted)
        difference = np.angle(np.exp(1j * difference)) if quantity == "phase" else difference
        there = sigma > 1e-9  # else it is held
        np.testing.assert_allclose(difference[~there], 0, atol=1e-9)
        found.append(difference[there] / sigma[there])
    return np.concatenate(found)


def assert_within_errors(*of_terms):
    """What is held of the first antenna, and the mean, are common to many pulls: of ten realisations mean squares were
    0.73 to 1.47, on average 1.08 for two full matrices and 0.9 for leakages around one."""
    assert np.mean(np.concatenate(of_terms) ** 2) == pytest.approx(1, abs=0.4)


def turned(matrices):
    """Such that the first element of the first antenna is real in each interval."""
    return matrices * np.exp(-1j * np.angle(matrices[:1, :, :, :1, :1]))


def with_open_phases(f, found, in_convention):
    """Matrices [antenna, time, freq, 2, 2] in the convention, and the phases of each interval that all antennas have in
    common, which data do not tell: such that the imaginary part that is held of the first antenna is what was found."""
    held = found.gain()[None, :, :, 0, 0, 0, 0].imag
    phase = np.zeros(held.shape)
    for _ in range(100):
        result = in_convention(f * np.exp(1j * phase)[..., None, None])
        phase = phase + (held - result[:1, ..., 0, 0].imag) / result[:1, ..., 0, 0].real
    return result, phase


@pytest.mark.parametrize("order", ["FH", "HF"])
def test_two_full_matrices(solved, order):
    rng = np.random.default_rng(21)
    f, h = mixed(rng, 1, N_CHANNEL), mixed(rng, N_TIME, 1)
    terms = {"F": "F: full, 1chan", "H": "H: full, 1slot"}
    truth = f @ h if order == "FH" else h @ f
    report, found, _ = solved([terms[name] for name in order], lambda antenna: truth[antenna], POLARISED)
    assert report.converged == report.solves and not report.flagged and report.normalised == ["F"]

    def unit(values):
        inverse = np.linalg.inv(values.mean(axis=(1, 2), keepdims=True))
        return values @ inverse if order == "FH" else inverse @ values

    wanted, phase = with_open_phases(f, found["F"], unit)
    mean = (f * np.exp(1j * phase)[..., None, None]).mean(axis=(1, 2), keepdims=True)
    h = mean @ h if order == "FH" else h @ mean
    assert_within_errors(pulls(found["F"], wanted), pulls(found["H"], turned(h)))


def test_leakages_around_full_matrices(solved):
    rng = np.random.default_rng(22)
    d, f = leakages(rng), mixed(rng, N_TIME, 1)
    report, found, _ = solved(["D: leakage", "F: full, 1slot"], lambda antenna: (d @ f)[antenna], POLARISED)
    assert report.converged == report.solves and not report.flagged and report.normalised == ["F"]

    def turn(values):
        mean = values.mean(axis=(1, 2), keepdims=True)
        return mean / np.diagonal(d @ mean, axis1=-2, axis2=-1)[..., None, :]

    wanted, phase = with_open_phases(f, found["F"], lambda values: np.linalg.inv(turn(values)) @ values)
    around = d @ turn(f * np.exp(1j * phase)[..., None, None])
    assert_within_errors(pulls(found["D"], around), pulls(found["F"], wanted))
