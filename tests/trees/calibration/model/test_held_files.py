"""Several files that are held, or applied, together."""

import numpy as np
import pytest
from planted_chains import N_ANTENNA, N_TIME, POLARISED, SKY

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationError, CalibrationOptions, parse_terms


def test_terms_of_one_name_in_two_files_are_both_held(planted, tmp_path):
    """As in rounds of self-calibration, each with its G; of the second file G was left out of the fit, but applied."""
    rng = np.random.default_rng(4)
    gain = rng.uniform(0.7, 1.3, (N_ANTENNA, 2)) * np.exp(1j * rng.uniform(-3, 3, (N_ANTENNA, 2)))
    drift = np.exp(1j * rng.normal(0, 0.3, (N_ANTENNA, N_TIME)))
    path = planted(lambda a: drift[a][:, None, None, None] * np.diag(gain[a]), noise_jy=0.01)

    def solve(term, held=()):
        options = CalibrationOptions(held=held, reference="ANT-0", overwrite=True)
        return calibration.calibrate(path, SKY, parse_terms([term]), tmp_path / "s.h5", options)

    first = solve("G: diag").solutions
    second = solve("G: phase, 1slot", first).solutions
    third = solve("P: phase, 1slot", [first, second]).solutions
    assert np.abs(third[0]["P"].value["phase"]).max() < 1e-3  # 0.3 is what the second has


def test_feeds_turn_once(planted, tmp_path):
    """A chain with the parallactic angle in two files, or in what is held and what is solved, turned feeds twice."""
    path = planted(lambda _: np.eye(2), POLARISED, noise_jy=0.1)

    def solve(out, terms, held=()):
        options = CalibrationOptions(held=held)
        return calibration.calibrate(path, POLARISED, parse_terms(terms), tmp_path / out, options).solutions

    turned = ["G: diag", "P: parallactic"]
    first = solve("g.h5", turned)
    for terms, held in ((["D: leakage", "P: parallactic"], first), (["D: leakage"], [first, first])):
        with pytest.raises(CalibrationError, match="feeds turn on the sky once"):
            solve("d.h5", terms, held)
    with pytest.raises(CalibrationError, match="feeds turn on the sky once"):
        solve("two.h5", [*turned, "Q: parallactic"])
    (group,) = rt.ms.groups(path)
    assert calibration.chain_for([first], group)
    with pytest.raises(CalibrationError, match="feeds turn on the sky once"):
        calibration.chain_for([first, calibration.read_h5parm(tmp_path / "g.h5")], group)
    solve("d.h5", ["D: leakage", "P: parallactic"], [one.only(["G"]) for one in first])
