"""The grammar of terms."""

import pytest

from rimetree.calibration import CalibrationError, Interval, parse_term, parse_terms


def test_a_full_description():
    term = parse_term("G: diag, 2min, 8chan")
    assert (term.name, term.kind.name) == ("G", "diag")
    assert term.time == Interval(quantity=120.0) and term.frequency == Interval(count=8)
    assert term.per is None and term.elements == ("0", "1") and str(term) == "G: diag, 2min, 8chan"


@pytest.mark.parametrize(
    ("option", "key", "value"),
    [
        ("10 s", "time", Interval(quantity=10.0)),
        ("0.5h", "time", Interval(quantity=1800.0)),
        ("250ms", "time", Interval(quantity=0.25)),
        ("3 slots", "time", Interval(count=3)),
        ("slot", "time", Interval(count=1)),
        ("scan", "time", Interval(scans=1)),
        ("2scans", "time", Interval(scans=2)),
        ("1.5 MHz", "frequency", Interval(quantity=1.5e6)),
        ("200khz", "frequency", Interval(quantity=2e5)),
        ("1chan", "frequency", Interval(count=1)),
        ("per patch", "per", "patch"),
        ("per  source", "per", "source"),
        ("all  windows", "all_windows", True),
    ],
)
def test_options(option, key, value):
    assert getattr(parse_term(f"X: phase, {option}"), key) == value


def test_a_term_without_options_is_constant():
    term = parse_term("D:leakage")
    assert term.time is None and term.frequency is None and term.elements == ("00", "01", "10", "11")


def test_scalar_makes_one_of_two():
    assert parse_term("P: phase").elements == ("0", "1")
    assert parse_term("P: phase, scalar").elements == ("",)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("diag, 2min", "a name, a colon and a kind"),
        ("2G: diag", "a letter first"),
        ("G: diagonal", "did you mean diag?"),
        ("G: diag, 2min, 3s", "says again"),
        ("G: diag, 2 parsec", "no unit 'parsec'"),
        ("G: diag, 0min", "must be positive"),
        ("G: diag, 1.5chan", "whole number"),
        ("G: diag, per galaxy", '"per patch" or "per source"'),
        ("G: diag, scalar", "is the kind scalar"),
        ("G: diag, -2min", "no option"),
        ("G: diag,", "no option"),
        ("G: diag, all window", "no option"),
        ("G: diag, min", "no option 'min'"),
        ("G: diag, on A,B", "spaces between names"),
        ("G:", "no kind ''"),
    ],
)
def test_errors_say_what_and_what_may_stand_there(text, says):
    with pytest.raises(CalibrationError) as problem:
        parse_term(text)
    assert says in str(problem.value) and repr(text) in str(problem.value)


def test_names_are_distinct_and_there_is_a_term():
    with pytest.raises(CalibrationError, match="two terms are named 'G'"):
        parse_terms(["G: diag", "G: phase"])
    with pytest.raises(CalibrationError, match="no term"):
        parse_terms([])
