"""Gains of directions, of which one is not in the data: short observations, so that directions resemble each other."""

import numpy as np
import pytest
from patch_sky import patch_sky

from rimetree.calibration import SolverOptions

N, N_TIME, N_CHANNEL = 7, 12, 8
FREQUENCY_HZ = 1.3e9 + 2e6 * (np.arange(N_CHANNEL) - (N_CHANNEL - 1) / 2)
FLUXES_JY, SKY = patch_sky(4)


@pytest.fixture
def calibrated(solved):
    """calibrated(terms, absent, seed, with_gains=False, scale=1, **solver): (the report, {patch: root mean square of
    errors of g_p conj(g_q) in the direction, over its size}) of data times a scale, with noise of 5 Jy; of gains of
    any phase of each direction and, if asked for, of antennas."""

    def run(terms, absent, seed, with_gains=False, scale=1.0, **solver):
        rng = np.random.default_rng(seed)

        def any_gains():
            return rng.uniform(0.7, 1.3, (N, 2)) * np.exp(1j * rng.uniform(-np.pi, np.pi, (N, 2)))

        planted = {patch: any_gains() for patch in FLUXES_JY}
        gains = (any_gains() if with_gains else np.ones((N, 2))) * np.sqrt(scale)

        def of_patch(antenna, patch):
            return np.diag(planted[patch][antenna]) * (patch not in absent)

        data = {"slots": N_TIME, "channels": N_CHANNEL, "noise_jy": 5.0 * scale, "seed": seed + 1}
        options = {"solver": SolverOptions(**solver)}
        report, *_ = solved(terms, lambda a: np.diag(gains[a]), SKY, of_patch, options=options, **data)
        p, q = np.triu_indices(N, 1)
        errors = {}
        for patch in set(FLUXES_JY) - set(absent):
            jones = [report.solutions[0].jones(f"ANT-{a}", [5e9], FREQUENCY_HZ, direction=patch)[0] for a in range(N)]
            found, true = np.array(jones)[:, 0, 0][..., [0, 1], [0, 1]], gains * planted[patch]
            ratio = found[p] * np.conj(found[q]) / (true[p] * np.conj(true[q]))
            errors[patch] = float(np.sqrt(np.mean(np.abs(ratio - 1) ** 2)))
        return report, errors

    return run


@pytest.mark.parametrize(
    ("terms", "absent", "seed", "options"),
    [
        (["P: phase, per patch", "A: amplitude, per patch"], "p0", 0, {}),
        (["A: amplitude, per patch", "P: phase, 4slots, per patch"], "p1", 1, {}),
        (["dE: diag, per patch"], "p0", 0, {"successive": True}),
        (["G: diag", "dE: diag, per patch"], "p0", 1, {"with_gains": True}),
        (["G: diag", "dE: diag, per patch"], "p1", 2, {"with_gains": True, "scale": 1e3}),
    ],
)
def test_the_others_are_right(calibrated, terms, absent, seed, options):
    """They were not: the fit was exhausted with errors of 100 %, or had converged with the direction still there."""
    report, errors = calibrated(terms, [absent], seed, **options)
    named = [term.partition(":")[0] for term in terms if "per patch" in term]
    assert set(report.flagged_of) == {f"{name}, {absent}" for name in named}
    assert all(set(reasons) == {"without signal"} for reasons in report.flagged_of.values())
    assert report.converged == report.solves and report.usable
    assert report.noise_ratio == pytest.approx(5 * options.get("scale", 1.0), rel=0.02)
    assert max(errors.values()) < 0.25  # as noise alone makes them in so short a time


@pytest.mark.parametrize(
    ("terms", "options"),
    [
        (["dE: diag, per patch"], {}),
        (["G: diag", "dE: diag, per patch"], {"with_gains": True}),
    ],
)
def test_gains_of_directions_of_any_phase(calibrated, terms, options):
    """From the unit matrix the fit had not ended after 100 iterations, with errors of 150 %."""
    report, errors = calibrated(terms, [], 0, **options)
    assert report.converged == report.solves and not report.flagged and max(errors.values()) < 0.25
