"""Angles of sky-model files: hours, degrees, units, and what is refused."""

import math
import random

import pytest

from rimetree.sky.angles import format_dec, format_ra, parse_angle

HOUR = math.pi / 12
DEG = math.pi / 180


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("01:30:00", 1.5 * HOUR),
        ("01:30", 1.5 * HOUR),
        ("-00:30:00.0", -0.5 * HOUR),
        ("48.12.58.225", (48 + 12 / 60 + 58.225 / 3600) * DEG),
        ("+058.49.01.630", (58 + 49 / 60 + 1.63 / 3600) * DEG),
        ("-00.30.36", -0.51 * DEG),
        ("33.09.35", (33 + 9 / 60 + 35 / 3600) * DEG),
        ("08h13m36.0s", (8 + 13 / 60 + 36 / 3600) * HOUR),
        ("48d12m", 48.2 * DEG),
        ("12.5deg", 12.5 * DEG),
        ("-1.25rad", -1.25),
        ("90 arcmin", 1.5 * DEG),
        ("3600arcsec", DEG),
        ("05:34:60.000", (5 + 35 / 60) * HOUR),  # what rounding makes of 59.9996
    ],
)
def test_parse(text, expected):
    assert parse_angle(text) == pytest.approx(expected, rel=1e-15)


def test_bare_numbers_have_the_unit_of_the_format_or_none():
    assert parse_angle("30", bare="deg") == pytest.approx(30 * DEG, rel=1e-15)
    assert parse_angle("0.5", bare="rad") == 0.5
    with pytest.raises(ValueError, match="has no unit"):
        parse_angle("12.5")


@pytest.mark.parametrize(
    "text", ["12:61:00", "12.10.60.5", "1:2:3:4", "abc", "", "nan", "1e400x", "--1deg", "1.2.3.4.5"]
)
def test_malformed(text):
    with pytest.raises(ValueError):
        parse_angle(text)


def test_colons_in_a_declination_are_an_error_or_degrees():
    with pytest.raises(ValueError, match=r"dd\.mm\.ss"):
        parse_angle("48:12:58", colon=None)
    assert parse_angle("48:12:36", colon="degrees") == pytest.approx(48.21 * DEG, rel=1e-15)


def test_format_is_short_where_the_angle_is():
    assert format_ra(1.5 * HOUR) == "01:30:00.000"
    assert format_ra(-HOUR) == "23:00:00.000"
    assert format_dec((48 + 12 / 60 + 58.225 / 3600) * DEG) == "+48.12.58.225"
    assert format_dec(-0.51 * DEG) == "-00.30.36.000"
    assert format_dec(math.pi / 2) == "+90.00.00.000"


def test_round_trip_of_random_angles():
    generator = random.Random(3)
    # 4 ulp: 2 of the text, and 2 roundings of reading it.
    for _ in range(300):
        ra = generator.uniform(0, 2 * math.pi) * 10 ** generator.uniform(-12, 0)
        dec = generator.uniform(-1, 1) * math.pi / 2 * 10 ** generator.uniform(-12, 0)
        assert abs(parse_angle(format_ra(ra)) - ra) <= 4 * math.ulp(ra)
        assert abs(parse_angle(format_dec(dec), colon=None) - dec) <= 4 * math.ulp(dec)
