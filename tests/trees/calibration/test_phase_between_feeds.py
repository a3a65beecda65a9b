"""The phase between the feeds of the reference antenna, where terms are solved for in turn."""

import numpy as np
import pytest
from planted_chains import N_ANTENNA, N_CHANNEL, N_TIME, POLARISED, diagonal

from rimetree.calibration import parse_terms
from rimetree.calibration.terms.conventions import leaves_phase_between_feeds


@pytest.mark.parametrize("leakage", [0.0, 0.05])
def test_gains_leave_it_to_a_crosshand_phase(solved, leakage):
    """Crossed hands of a polarised calibrator told it to gains, with all that leakages do to it; the crosshand phase
    had what was left. As gains of a field that is not polarised know nothing of it, crossed hands of a target between
    two calibrators were off by tens of degrees."""
    rng = np.random.default_rng(6)
    gain = rng.uniform(0.8, 1.2, (N_ANTENNA, 1, 1, 2)) * np.exp(1j * rng.uniform(-3, 3, (N_ANTENNA, 1, 1, 2)))
    drift = np.exp(1j * rng.normal(0, 0.2, (N_ANTENNA, N_TIME, 1, 1)))
    between = rng.uniform(-1, 1, N_CHANNEL)
    hands = diagonal(np.stack([np.ones(N_CHANNEL), np.exp(1j * between)], axis=-1))
    d = leakage * (rng.normal(size=(N_ANTENNA, 2)) + 1j * rng.normal(size=(N_ANTENNA, 2)))

    def jones(p):
        return diagonal(gain[p] * drift[p]) @ hands @ np.array([[1, d[p, 0]], [d[p, 1], 1]])

    terms = ["G: diag, 1slot", "X: crosshand, 1chan", "D: leakage"]
    _, found, _ = solved(terms, jones, POLARISED, noise_jy=0.01, options={"in_turn": True})
    phase = found["G"].value["phase"][:, 0, :, 0]  # [time, antenna, element]
    assert not phase[:, 0].any()
    told = np.exp(1j * phase) * np.conj(np.moveaxis((gain * drift)[:, :, 0], 0, 1))
    told = told * np.conj(told[:, :1])
    assert np.abs(np.angle(told)).max() < 0.01 + 2 * leakage
    own = between + np.angle(gain[0, 0, 0, 1] / gain[0, 0, 0, 0])
    if not leakage:  # else it takes what leakages have in common
        crosshand = found["X"].value["phase"][0, :, 0, 0, 1]
        np.testing.assert_allclose(np.exp(1j * crosshand), np.exp(1j * own), atol=0.01)


@pytest.mark.parametrize(
    ("term", "later", "leaves"),
    [
        ("G: diag, 1min", ["X: crosshand"], True),
        ("G: phase, 1min", ["D: leakage", "X: crosshand, 1chan"], True),
        ("B: diag, 1chan", ["X: crosshand, 1chan"], True),
        ("B: diag, 1chan", ["X: crosshand"], False),
        ("K: delay", ["X: crosshand"], False),
        ("G: scalar", ["X: crosshand"], False),
        ("G: diag", ["D: leakage"], False),
        ("G: diag", ["X: crosshand, per patch"], False),
        ("G: diag, per patch", ["X: crosshand"], False),
    ],
)
def test_it_is_left_to_what_can_have_it(term, later, leaves):
    (own, *others) = parse_terms([term, *later])
    assert leaves_phase_between_feeds(own, others) == leaves
