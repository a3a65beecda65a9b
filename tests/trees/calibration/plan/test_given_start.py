"""Terms that begin at solutions of a file begin where the fit that found them ended."""

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, parse_terms

CENTRE = (0.93, -0.485)
N_CHANNEL, N_TIME = 8, 4
FIELDS = ((0.0, 0.0), (0.02, -0.01))  # offsets of two sources, rad


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """7 antennas, 4 times of 60 s, 8 channels of 32 MHz."""
    folder = tmp_path_factory.mktemp("start")
    bands = rt.ms.Band.regular(1.4e9, 256e6, N_CHANNEL)
    rt.ms.create(
        folder / "a.ms", "kat-7", phase_centre_rad=CENTRE, duration_s=60.0 * N_TIME, integration_s=60.0, bands=bands
    )
    return folder


def sky(polarised):
    """Of two sources that are polarised differently, or not at all."""
    stokes = [(20.0, 1.0, -2.0, 0.0), (8.0, -1.5, 0.5, 0.0)] if polarised else [(20.0, 0, 0, 0), (8.0, 0, 0, 0)]
    return rt.sky.SkyModel(
        [rt.sky.Source(f"s{k}", CENTRE[0] + a, CENTRE[1] + d, stokes[k]) for k, (a, d) in enumerate(FIELDS)]
    )


def jones(seed, chain):
    """[antenna, time, channel, 2, 2] full matrices, times delays of each feed where a chain has any."""
    rng = np.random.default_rng(seed)
    full = np.eye(2) + 0.2 * (rng.normal(size=(7, 2, 2)) + 1j * rng.normal(size=(7, 2, 2)))
    frequency_hz = 1.4e9 + 32e6 * (np.arange(N_CHANNEL) - 3.5)
    delay = np.exp(2j * np.pi * frequency_hz[:, None] * 3e-9 * rng.normal(size=(7, 1, 2)))
    matrices = full[:, None, None] * (
        delay[:, None, :, None, :] if "K: delay" in chain else np.ones((1, N_CHANNEL, 1, 1))
    )
    return np.broadcast_to(matrices, (7, N_TIME, N_CHANNEL, 2, 2))


CHAINS = [
    ["G: full", "K: delay"],
    ["G: diag", "D: leakage"],
    ["D: leakage", "G: diag"],
    ["G: full, 1chan"],
    ["G: phase, 1chan", "A: amplitude"],
]


@pytest.mark.parametrize("chain", CHAINS, ids=" | ".join)
@pytest.mark.parametrize("polarised", [True, False], ids=["polarised", "unpolarised"])
def test_a_fit_that_begins_at_its_solutions_has_nothing_to_do(folder, observe, chain, polarised):
    path, planted = folder / "a.ms", jones(3, chain)
    observe(path, sky(polarised), CENTRE, lambda a, p, t, f: planted[a], noise_jy=0.5, seed=1)

    def solve(out, **options):
        chosen = CalibrationOptions(overwrite=True, **options)
        report = calibration.calibrate(str(path), sky(polarised), parse_terms(chain), folder / out, chosen)
        return report.chunks[0]

    found = solve("found.h5")
    assert found.statuses == {"converged": sum(found.statuses.values())}
    start = calibration.read_h5parm(folder / "found.h5")
    again = solve("again.h5", start=start)
    least = min(found.chi_square[-1], again.chi_square[-1])
    assert again.chi_square[0] < found.chi_square[-1] + 1e-3 * least
    # Another reference. Matrices that noise or an unpolarised sky leaves open are not turned for it.
    if not polarised or any("leakage" in term for term in chain):
        return
    other = solve("other.h5", start=start, reference="ANT-3")
    assert other.chi_square[0] < found.chi_square[-1] + 1e-3 * least
