"""Antennas, or feeds of them, that saw nothing of the model are said."""

from dataclasses import replace

import numpy as np
import pytest
from planted_chains import CENTRE, SKY

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, parse_terms
from rimetree.calibration.solutions.gains_of_noise import GainsOverErrors, feeds_without_signal

N, NOISE_JY = 7, 0.3


@pytest.fixture
def observed(tmp_path, observe):
    """observed(dead): a set in which antenna 3 has noise alone in these feeds."""

    def made(dead, scale=1.0):
        path = str(tmp_path / "a.ms")
        band = rt.ms.Band.regular(1.3e9, 8e6, 8)
        rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, bands=band, duration_s=120.0, integration_s=10.0)
        rng = np.random.default_rng(5)
        gain = scale * rng.uniform(0.7, 1.3, (N, 2)) * np.exp(1j * rng.uniform(-np.pi, np.pi, (N, 2)))
        gain[3, list(dead)] = 0

        def seen(antenna, patch, time_s, frequency_hz):
            own = np.eye(2) if patch is not None else np.diag(gain[antenna])
            return np.broadcast_to(own, (len(time_s), len(frequency_hz), 2, 2))

        observe(path, SKY, CENTRE, seen, noise_jy=scale**2 * NOISE_JY, seed=2)
        return path

    return made


@pytest.mark.parametrize(
    ("dead", "expected"), [((), []), ((0, 1), ["ANT-3"]), ((1,), ["ANT-3 Y"])], ids=["none", "antenna", "feed"]
)
@pytest.mark.parametrize("terms", [["G: diag"], ["G: diag, 1slot"], ["K: delay", "G: diag, 1min"]])
def test_what_saw_nothing_is_said(observed, tmp_path, dead, expected, terms):
    options = CalibrationOptions(overwrite=True, reference="ANT-0")
    # Raw data, whose weights of 1 say nothing about their noise.
    report = calibration.calibrate(observed(dead, 0.01), SKY, parse_terms(terms), tmp_path / "s.h5", options)
    assert report.without_signal == {(0,): expected}


def test_all_terms_that_have_gains_must_say_so(made_term):
    term = made_term()
    faint = replace(term, sigma={**term.sigma, "amplitude": np.abs(term.value["amplitude"])})
    sure, noise, phases = GainsOverErrors(), GainsOverErrors(), GainsOverErrors()
    sure.add(term, 1.0), noise.add(faint, 1.0), phases.add(made_term("phase", quantities=("phase",)), 1.0)
    of_directions = GainsOverErrors()
    of_directions.add(made_term(directions=("north", "south")), 1.0)
    assert not phases.counts and not of_directions.counts
    names = [f"A{i}" for i in range(4)]  # all of the fifth is flagged
    assert feeds_without_signal([noise, phases], "linear") == names
    assert feeds_without_signal([noise, sure], "linear") == [] == feeds_without_signal([phases], "linear")
    wide = GainsOverErrors()
    wide.add(term, 1e4)  # the noise is 100 times what weights say
    assert feeds_without_signal([wide], "circular") == names
