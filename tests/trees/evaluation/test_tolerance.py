"""Tolerances from Python: methods chosen, results within what was asked for, verification."""

import warnings
from fractions import Fraction

import numpy as np
import pytest

import rimetree as rt

N_CHANNEL = 3000


def problem(n_source=40, n_row=3):
    rng = np.random.default_rng(5)
    lm = rng.uniform(-0.02, 0.02, (n_source, 2))
    n = np.sqrt(1 - (lm**2).sum(axis=1))
    stokes = np.column_stack([rng.uniform(1, 2, n_source), rng.normal(0, 0.1, (n_source, 3))])
    return {
        "uvw_m": rng.normal(0, 2000, (n_row, 3)),
        "frequency_hz": 0.9e9 + 2.5e5 * np.arange(N_CHANNEL),
        "lmn": np.column_stack([lm, n]),
        "stokes": stokes,
        "duvw_m_s": rng.normal(0, 0.1, (n_row, 3)),
        "exposure_s": 4.0,
        "channel_width_hz": 2.5e5,
    }


def forest_of(inputs):
    ns = rt.NodeScope()
    ns.lmn << rt.Constant(inputs["lmn"])
    ns.brightness << rt.Stokes(rt.Constant(inputs["stokes"]))
    ns.uvw << rt.Constant(inputs["uvw_m"][0])
    ns.V << rt.PSV(ns.lmn, ns.brightness, ns.uvw)
    return rt.Forest(ns), rt.Cells(freq_hz=inputs["frequency_hz"])


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9, 1e-12])
def test_predict_meets_the_tolerance_and_says_so(tolerance):
    inputs = problem()
    found = []
    got = rt.predict(**inputs, tolerance=tolerance, verify=50, found=found)
    # Channels in another order have no regular spacing: this is the direct sum.
    order = np.random.default_rng(1).permutation(N_CHANNEL)
    inputs["frequency_hz"] = inputs["frequency_hz"][order]
    reference = rt.predict(**inputs)
    got = got[:, order]
    flux = np.abs(inputs["stokes"]).sum()
    assert np.abs(got - reference).max() < (tolerance + 1e-12) * flux
    (verification,) = found
    assert verification.count == 50 and verification.passed and verification.tolerance == tolerance
    assert 0 < verification.largest_error <= tolerance
    assert "50 visibilities" in str(verification) and "within" in str(verification)


def test_verification_sees_what_is_wrong(monkeypatch):
    inputs = problem(n_source=3)
    exact = rt.Verification(2, 3e-7, "V at time 0, channel 1", 1e-12)
    assert not exact.passed and "ABOVE" in str(exact)
    monkeypatch.setattr(rt.Forest, "verification", lambda self: exact)
    with pytest.warns(UserWarning, match="ABOVE the tolerance"):
        rt.predict(**inputs, verify=2)
    assert "nothing was verified" in str(rt.Verification(0, 0.0, "", 1e-12))


def test_forests_note_and_foretell_the_method(monkeypatch):
    monkeypatch.setenv("RIMETREE_DEVICE", "none")  # it is about the host's methods
    inputs = problem(n_source=500)
    forest, cells = forest_of(inputs)
    (described,) = forest.describe(cells, tolerance=1e-6)
    assert described["node"] == "V" and "delay method" in described["text"] and described["seconds"] > 0
    assert "not exact enough" in forest.describe(cells)[0]["text"]
    assert forest.notes() == []
    rough = forest.evaluate("V", cells, tolerance=1e-6)
    fine = forest.evaluate("V", cells)
    assert 0 < np.abs(rough - fine).max() < 1e-6 * np.abs(inputs["stokes"]).sum()
    assert len(forest.notes()) == 1  # one method, two tolerances
    assert "500 sources, 1 rows, 3000 channels" in forest.notes()[0] and "delay method" in forest.notes()[0]
    assert forest.verification().count == 0


@pytest.mark.parametrize("tolerance", [0, 1e-13, 1.0, -1e-6, float("nan"), "1e-6"])
def test_impossible_tolerances_are_refused(tolerance):
    with pytest.raises(rt.Error, match="tolerance must be a fraction"):
        rt.predict(**problem(3), tolerance=tolerance)
    with pytest.raises(rt.Error, match="tolerance must be a"):
        rt.ms.run_options(tolerance=tolerance)


def test_default_precisions_are_kept_with_many_channels():
    inputs = problem()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rt.predict(**inputs, verify=100)
        rt.predict(**inputs, precision="single", verify=100)


def test_runs_report_method_and_verification(small_ms, small_sky):
    path = small_ms(n_time=5, frequency_hz=1.4e9 + 1e6 * np.arange(64))
    ns = rt.NodeScope()
    rt.psv_tree(ns, small_sky, (0.9, -0.5), rt.ms.baselines(path))
    forest = rt.Forest(ns)
    report = forest.run(path, tolerance=1e-5, verify=11, time_slots=2)  # three tiles
    assert report.verification.count == 11 and report.verification.passed
    assert any("to 1e-05 of the total flux" in note for note in report.notes)
    assert "11 visibilities computed again" in str(report) and "PSV: 3 sources" in str(report)
    assert forest.run(path, time_slots=2).verification is None
    with pytest.raises(rt.Error, match="verify"):
        forest.run(path, verify=-1)


@pytest.mark.parametrize("device", ["none", "simulated"])
@pytest.mark.parametrize("asked", [{"precision": "single"}, {"tolerance": 1e-3}, {}])
def test_fringes_of_billions_of_turns(asked, device):
    """Between continents at 1.3 mm, with fringes that nobody has stopped; as fractions of whole numbers."""
    uvw_m, lmn, frequency_hz = [3e6, 2e6, 9e6], [2.0**-30, -(2.0**-29), 1.0], [230e9, 230e9 + 2.0**20]
    path = sum(Fraction(x) * Fraction(y) for x, y in zip(uvw_m, lmn, strict=True))
    turns = [path * Fraction(one) / 299792458 for one in frequency_hz]
    assert turns[0] > 2**32
    ns = rt.NodeScope()
    ns.V << rt.PSV([lmn], [1.0], uvw_m, n_minus=0)
    ns.chi << rt.ChiSquare(rt.Condeq(np.zeros((2, 2)) + 1.0, ns.V))
    forest, cells = rt.Forest(ns, device=device), rt.Cells(freq_hz=frequency_hz)
    wanted = np.exp(2j * np.pi * np.array([float(one - round(one)) for one in turns]))
    tolerance = asked.get("tolerance", 1e-6 if asked else 1e-12)
    np.testing.assert_allclose(forest.evaluate(ns.V, cells, **asked)[0, 0, 0], wanted, rtol=0, atol=tolerance)
    chi = forest.evaluate(ns.chi, cells, **asked).item()
    assert chi == pytest.approx(2 * (abs(1 - wanted) ** 2).sum() + 4, abs=20 * tolerance)
