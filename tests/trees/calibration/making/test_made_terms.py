"""What is said of values that are drawn: amounts with units, and what does not go together."""

import math

import pytest

from rimetree.calibration import CalibrationError, MadeTerm, Screen, parse_made_term, parse_made_terms, parse_term


@pytest.mark.parametrize(
    ("text", "spread", "about"),
    [
        ("G: diag, amplitude 10%, phase 20deg", {"amplitude": 0.1, "phase": math.radians(20)}, {}),
        ("G: scalar, 1min, amplitude 0.1, over 2h", {"amplitude": 0.1}, {"over_s": 7200.0}),
        ("G: full, 1chan, leakage 3 %, over 20MHz, mean 0.5", {"leakage": 0.03}, {"over_hz": 2e7, "mean": 0.5}),
        ("P: phase, spread 1.5rad, mean -10deg", {"spread": 1.5}, {"mean": math.radians(-10)}),
        ("K: delay, spread 5ns", {"spread": 5e-9}, {}),
        ("K: delay, spread 299.792458mm", {"spread": 1e-9}, {}),
        ("R: rate, spread 2ps/s", {"spread": 2e-12}, {}),
        ("T: tec, spread 20 mTECU, mean 10TECU", {"spread": 0.02}, {"mean": 10.0}),
        ("R: rotation, spread 5deg", {"spread": math.radians(5)}, {}),
        ("F: faraday, spread 0.1rad/m2", {"spread": 0.1}, {}),
        ("X: crosshand, mean 30deg", {}, {"mean": math.radians(30)}),
        ("D: leakage, spread 3%", {"spread": 0.03}, {}),
        ("P: parallactic", {}, {}),
    ],
)
def test_amounts_are_in_the_units_of_tables(text, spread, about):
    made = parse_made_term(text)
    assert made.spread == pytest.approx(spread, rel=1e-14)
    for name in ("mean", "over_s", "over_hz", "screen"):
        expected = about.get(name)
        assert getattr(made, name) == (expected if expected is None else pytest.approx(expected, rel=1e-14))
    assert str(made) == text


def test_what_is_solved_for_is_read_as_ever():
    made = parse_made_term("T: tec, 10s, spread 0.1TECU, per patch A* !AB, over 1h")
    assert made.term == parse_term("T: tec, 10s, per patch A* !AB")


def test_screens_have_what_is_usual_but_for_what_is_said():
    usual = parse_made_term("T: tec, 10s, spread 0.02TECU at 10km").screen
    assert usual == Screen(300e3, 1000e3, 100.0, 0.02, 10e3, None)
    own = parse_made_term("T: tec, spread 0.5TECU at 500m, height 200km, outer 50km, wind 5m/s 90deg").screen
    assert own == Screen(200e3, 50e3, 5.0, 0.5, 500.0, math.radians(90))
    apart = parse_made_term("T: tec, spread 0.5 TECU at 500 m, height 200 km, outer 50 km, wind 5 m/s -270 deg").screen
    assert apart == Screen(200e3, 50e3, 5.0, 0.5, 500.0, math.radians(-270))
    assert parse_made_term("T: tec, spread 1TECU at 1km, wind 36km/h").screen.wind_m_s == pytest.approx(10)
    vapour = parse_made_term("K: delay, scalar, 10s, spread 1mm at 1km").screen
    assert (vapour.height_m, vapour.outer_m, vapour.wind_m_s) == (1e3, 6e3, 10.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("G: diag", "say what its values are: amplitude, phase, mean"),
        ("G: diag, spread 3%", "no 'spread'"),
        ("D: leakage, mean 3%, spread 3%", "no 'mean'"),
        ("G: diag, amplitude 10", "at most 100 %"),
        ("G: full, leakage 2", "at most 100 %"),
        ("A: amplitude, mean 0", "must be positive"),
        ("G: diag, phase 20", "expected a number and rad, deg"),
        ("G: diag, phase 1e999deg", "expected a number"),
        ("G: diag, phase", "expected a number"),
        ("D: leakage, spread -3%", "must not be negative"),
        ("T: tec, spread 1TECU at 1km, height 0km", "'height 0km' must not be 0"),
        ("G: diag, phase 3deg, phase 4deg", "again"),
        ("G: diag, 1min, phase 3deg, over 1h, over 2h", "again"),
        ("G: diag, phase 3deg, over 1h", '"1min"'),
        ("G: diag, 1min, phase 3deg, over 1MHz", '"1chan"'),
        ("G: diag, 1min, phase 3deg, over 0s", "must be positive"),
        ("G: diag, 1min, phase 3deg, ovr 1h", "did you mean 'over'"),
        ("G: diag, 1min, phase 3deg, smooth 1MHz, 1chan", '"smooth" is an option of terms that are solved for'),
        ("G: diag, phase 3deg, on 0", '"on" is an option of terms that are solved for'),
        ("T: tec, height 300km, spread 1TECU", "say how rough it is"),
        ("T: tec, 10s, spread 1TECU at 10km, over 1h", "wind"),
        ("T: tec, 10s, spread 1TECU at 10km, plane", "goes without"),
        ("T: tec, 10s, 1chan, spread 1TECU at 10km", "goes without"),
        ("T: tec, 10s, spread 1TECU at 0km", "must not be 0"),
        ("T: tec, spread 1TECU at 10", "expected a number and m, km"),
        ("K: delay, 10s, spread 1mm at 1km", "the same for both feeds"),
        ("F: faraday, 10s, spread 1rad/m2 at 1km", "can be of a screen"),
        ("P: parallactic, spread 1deg", "has no options"),
        ("diag, phase 3deg", "expected a name"),
    ],
)
def test_what_means_nothing_is_refused(text, said):
    with pytest.raises(CalibrationError) as caught:
        parse_made_term(text)
    assert said in str(caught.value)


def test_names_are_used_once_and_there_is_a_term():
    with pytest.raises(CalibrationError, match="two terms are named 'G'"):
        parse_made_terms(["G: diag, phase 3deg", "G: scalar, phase 3deg"])
    with pytest.raises(CalibrationError, match="there is no term"):
        parse_made_terms([])


def test_terms_that_python_makes_are_looked_at_likewise():
    for what, said in (
        ({}, "say what its values are"),
        ({"spread": {"spread": 0.1}}, "no 'spread'"),
        ({"screen": Screen(1e3, 6e3, 10.0, 1.0, 1e3)}, "can be of a screen"),
    ):
        with pytest.raises(CalibrationError, match=said):
            MadeTerm(parse_term("G: diag"), **what)
