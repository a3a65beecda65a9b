"""Where the reference antenna has no data another takes its place, and phases go on all the same."""

from dataclasses import replace

import numpy as np
import pytest
from planted_chains import N_ANTENNA, POLARISED, SKY

from rimetree.calibration.solutions.one_reference import with_one_reference

PAIRS = [(p, q) for p in range(N_ANTENNA) for q in range(p + 1, N_ANTENNA)]
SLOTS, CHANNELS = 12, 4


@pytest.mark.parametrize("sky", [SKY, POLARISED], ids=["unpolarised", "polarised"])
@pytest.mark.parametrize("terms", [["G: diag, 2slots"], ["P: phase, scalar, 2slots"]], ids="*".join)
@pytest.mark.parametrize("seed", range(3))
def test_phases_between_intervals_of_two_references(solved, terms, sky, seed):
    """Those of the usual reference and of the others were interpolated between what refers to different antennas: 0.5
    to 0.8 rad off, without a word."""
    rng = np.random.default_rng(seed)
    drift = 0.02 * np.cumsum(rng.normal(size=(N_ANTENNA, SLOTS, 1, 1)), axis=1)
    phase = rng.uniform(-np.pi, np.pi, (N_ANTENNA, 1, 1, 2 if "diag" in terms[0] else 1)) + drift
    gain = np.exp(1j * phase) * np.ones(2)
    flag = np.zeros((len(PAIRS), SLOTS, CHANNELS), bool)
    flag[: N_ANTENNA - 1, 4:6] = True  # of the reference
    jones = gain[..., None] * np.eye(2)
    data = {"slots": SLOTS, "channels": CHANNELS, "noise_jy": 0.3, "flag": flag}
    report, found, _ = solved(terms, lambda antenna: jones[antenna], sky, **data)
    assert [one.reference for one in report.chunks].count("ANT-0") == len(report.chunks) - 1
    first = found.terms[0].time_s[0] - 5.0
    of_slots = first + 10.0 * np.arange(SLOTS)
    for p, q in PAIRS:
        (left, bad_left), (right, bad_right) = (
            found.jones(f"ANT-{a}", of_slots, [1.3e9], method="linear") for a in (p, q)
        )
        seen = left * np.conj(right) * np.conj(gain[p] * np.conj(gain[q]))[..., None]
        good = ~(bad_left | bad_right)[:, 0]
        error = np.angle(np.einsum("tii->ti", seen[:, 0]))
        assert good[:4].all() and np.abs(error[good]).max() < 0.15


def test_delays_and_feeds(made_term):
    """Delays that jump by that of the other reference; feeds that are not held turn with the one that is."""
    delay = made_term("delay", ("0", "1"), ("clock",), name="K")
    own = replace(delay, flag=np.zeros_like(delay.flag))
    own.value["clock"][1:] = own.value["clock"][0]
    own.value["clock"][..., 0, :, :] = 0.0
    jumped = {"clock": own.value["clock"].copy()}
    jumped["clock"][2] -= jumped["clock"][2, :, 3:4]
    names = ["A0", "A0", "A3", "A0"]
    found = with_one_reference(replace(own, value=jumped), names, feeds_apart=True)
    np.testing.assert_allclose(found.value["clock"], own.value["clock"], atol=1e-20)
    same = with_one_reference(own, ["A0"] * 4, feeds_apart=True)
    assert same is own

    gains = made_term("phase", ("0", "1"), ("phase",), name="P")
    gains = replace(gains, flag=np.zeros_like(gains.flag))
    gains.value["phase"][1:] = gains.value["phase"][0]
    gains.value["phase"][:, :, 0, :, 0] = 0.0  # of the first feed alone
    turned = gains.value["phase"].copy()
    turned[2] -= turned[2, :, 3:4, :, :1]
    found = with_one_reference(replace(gains, value={"phase": turned}), names, feeds_apart=True)
    np.testing.assert_allclose(np.exp(1j * found.value["phase"]), np.exp(1j * gains.value["phase"]), atol=1e-12)
