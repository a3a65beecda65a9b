"""What calibrations of chains of terms make of data that the chains have made."""

import numpy as np
import pytest
from planted_chains import N_ANTENNA, N_CHANNEL, N_TIME
from planted_terms import planted_jones

import rimetree as rt
from rimetree.calibration import parse_terms


@pytest.fixture
def calibrated(solved):
    """calibrated(terms, sky, seed=0, ...): the report of what antennas with random values of these terms see, with
    noise of 1 Jy; `middle_hz`, `width_hz` of channels and further options as of `planted`."""

    def run(terms, sky, seed=0, **data):
        rng, parsed = np.random.default_rng(seed), parse_terms(terms)
        low = any(term.kind.name in ("tec", "faraday") for term in parsed)
        middle_hz = data.get("middle_hz", 150e6 if low else 1.3e9)
        width_hz = data.get("width_hz", middle_hz / 60 / N_CHANNEL)
        frequency_hz = np.array(rt.ms.Band.regular(middle_hz, width_hz * N_CHANNEL, N_CHANNEL).frequency_hz)
        whole, of_patches = np.eye(2), {patch: np.eye(2) for patch in sky.patches}
        for term in parsed:
            for patch in of_patches if term.per else [None]:
                own = planted_jones(term, rng, N_ANTENNA, N_TIME, frequency_hz)
                if patch is None:
                    whole = whole @ own
                else:
                    of_patches[patch] = of_patches[patch] @ own
        jones = np.broadcast_to(whole, (N_ANTENNA, N_TIME, N_CHANNEL, 2, 2))
        of_patch = {p: np.broadcast_to(own, jones.shape) for p, own in of_patches.items()}
        data = {"middle_hz": middle_hz, "width_hz": width_hz, "seed": seed, **data}
        report, *_ = solved(terms, lambda antenna: jones[antenna], sky, lambda antenna, p: of_patch[p][antenna], **data)
        return report

    return run
