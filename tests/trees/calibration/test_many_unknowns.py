"""Chains of terms whose equations are sparse."""

import numpy as np
import pytest
from planted_chains import CENTRE, N_ANTENNA

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, parse_terms

N_TIME, N_CHANNEL = 6, 24
SKY = rt.sky.SkyModel([rt.sky.Source("a", CENTRE[0] + 1e-3, CENTRE[1], (5.0, 0.5, 0.2, 0.0))])


def number(rng, shape):
    return rng.uniform(0.7, 1.3, shape) * np.exp(1j * rng.uniform(-np.pi, np.pi, shape))


@pytest.mark.parametrize("terms", [["B: diag, 1chan", "G: diag, 1slot"], ["G: diag, 1slot", "B: full, 1chan"]])
def test_solutions_are_the_same_for_any_number_of_threads(tmp_path, planted, terms):
    """Bit by bit: what equations of a block add to a sparse matrix is summed up before it is added."""
    rng = np.random.default_rng(2)
    bandpass, gain = number(rng, (N_ANTENNA, 1, N_CHANNEL, 2)), number(rng, (N_ANTENNA, N_TIME, 1, 2))
    jones = (bandpass * gain)[..., None] * np.eye(2)
    path = planted(lambda antenna: jones[antenna], SKY, slots=N_TIME, channels=N_CHANNEL, noise_jy=0.1)
    found = []
    for threads in (1, 2, 3):
        options = CalibrationOptions(overwrite=True, threads=threads)
        report = calibration.calibrate(path, SKY, parse_terms(terms), tmp_path / "s.h5", options)
        assert report.noise_ratio == pytest.approx(0.1, rel=0.05)
        found.append([np.stack(list(term.value.values())) for term in report.solutions[0].terms])
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, same)


def test_in_turns_where_equations_of_all_terms_would_be_too_large(tmp_path, planted):
    """Solutions are those of all unknowns together, and so are errors, but for what one term owes to another's."""
    n_antenna, n = 27, 16
    rng = np.random.default_rng(4)
    bandpass, gain = number(rng, (n_antenna, 1, n, 2)), number(rng, (n_antenna, n, 1, 2))
    jones = (bandpass * gain)[..., None] * np.eye(2)
    path = planted(lambda a: jones[a], SKY, telescope="vla-c", slots=n, channels=n, noise_jy=0.1)
    found = {}
    for memory in (None, 200 << 20):
        terms, options = parse_terms(["B: diag, 1chan", "G: diag, 1slot"]), CalibrationOptions(memory_bytes=memory)
        report = calibration.calibrate(path, SKY, terms, tmp_path / f"{memory}.h5", options)
        assert report.converged == report.solves and report.noise_ratio == pytest.approx(0.1, rel=0.01)
        assert report.chunks[0].in_turns == (memory is not None)
        found[memory] = report.solutions[0].terms
    for one, other in zip(*found.values(), strict=True):
        for quantity in one.value:
            error = np.nanmedian(one.sigma[quantity])
            np.testing.assert_allclose(other.value[quantity], one.value[quantity], atol=0.02 * error, rtol=0)
            np.testing.assert_allclose(other.sigma[quantity], one.sigma[quantity], rtol=0.1)
