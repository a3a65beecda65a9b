"""Leakages of polarised fields and of others."""

import warnings

import pytest

import rimetree as rt
from rimetree.calibration import parse_terms
from rimetree.calibration.plan.relative_leakages import warn_of_relative_leakages
from rimetree.calibration.terms.gauge import Polarisation

NONE, CROSSED = Polarisation("none", True), Polarisation("crossed", True)


@pytest.fixture
def group(tmp_path):
    times = {"duration_s": 20.0, "integration_s": 10.0}
    rt.ms.create(tmp_path / "a.ms", "kat-7", phase_centre_rad=(1.0, -0.5), field_name="A", **times)
    return rt.ms.groups(tmp_path / "a.ms")[0]


def test_both_kinds_are_named(group):
    """They were interpolated between, and a target had the leakages of neither."""
    terms = parse_terms(["G: diag", "D: leakage"])
    with pytest.warns(UserWarning, match=r'"D: leakage": the models of field 0 \(A\) are not polarised'):
        warn_of_relative_leakages(terms, [(group, NONE), (group, CROSSED)])


@pytest.mark.parametrize(
    ("texts", "skies"),
    [
        (["D: leakage"], [NONE, NONE]),
        (["D: leakage"], [CROSSED, CROSSED]),
        (["D: leakage, per patch"], [NONE, CROSSED]),
        (["G: diag"], [NONE, CROSSED]),
    ],
)
def test_one_kind_is_not(group, texts, skies):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_relative_leakages(parse_terms(texts), [(group, sky) for sky in skies])
