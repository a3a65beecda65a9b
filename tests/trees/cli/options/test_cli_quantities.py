"""Numbers with units on the command line, and how they are printed."""

import math

import click
import pytest

from rimetree.cli.options import quantities
from rimetree.machine import size_text
from rimetree.utc import utc_text


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (quantities.FREQUENCY, "1.4GHz", 1.4e9),
        (quantities.FREQUENCY, "150 MHz", 150e6),
        (quantities.FREQUENCY, "1e9", 1e9),
        (quantities.BANDWIDTH, "-32MHz", -32e6),
        (quantities.DURATION, "1.5h", 5400.0),
        (quantities.DURATION, "90", 90.0),
        (quantities.DURATION, "2min", 120.0),
        (quantities.ANGLE, "2", math.radians(2 / 3600)),
        (quantities.ANGLE, "1arcmin", math.radians(1 / 60)),
        (quantities.BYTES, "4GiB", 4 * 2.0**30),
        (quantities.FLUX, "0.5Jy", 0.5),
        (quantities.FLUX, "12 mJy", 12e-3),
        (quantities.FLUX, "3", 3.0),
        (quantities.FLUX, "0", 0.0),
        (quantities.FLUX, "1e3 kJy", 1e6),
        (quantities.RA, "3h32m30s", math.radians(53.125)),
        (quantities.RA, "03:32:30", math.radians(53.125)),
        (quantities.RA, "53.125", math.radians(53.125)),
        (quantities.RA, "6h", math.pi / 2),
        (quantities.DEC, "-27d48m", math.radians(-27.8)),
        (quantities.DEC, "-27:48:00", math.radians(-27.8)),
        (quantities.DEC, "-27.48.00", math.radians(-27.8)),
        (quantities.DEC, "-27d", math.radians(-27)),
        (quantities.HourAngle(), "-3h", -math.pi / 4),
        (quantities.HourAngle(), "-2:30:00", -2.5 * math.pi / 12),
        (quantities.HourAngle(), "-0.5", -0.5 * math.pi / 12),
    ],
)
def test_quantities(kind, text, value):
    assert kind.convert(text, None, None) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (quantities.FREQUENCY, "1.4 GHx"),
        (quantities.FREQUENCY, "-1GHz"),
        (quantities.DURATION, "0s"),
        (quantities.DURATION, "soon"),
        (quantities.DEC, "-97"),
        (quantities.DEC, "nan"),
        (quantities.HourAngle(), "13h"),
        (quantities.BYTES, "4 apples"),
        (quantities.FLUX, "1MJy"),  # which must not be taken for mJy
        (quantities.FLUX, "-1Jy"),
        (quantities.Number(min=0), "nan"),
        (quantities.Number(min=0), "inf"),
    ],
)
def test_quantities_that_are_none(kind, text):
    with pytest.raises(click.BadParameter):
        kind.convert(text, None, None)


def test_texts_of_quantities():
    assert quantities.ra_text(math.radians(359.9999999)) == "00h00m00.00s"
    assert quantities.dec_text(-math.radians(0.5)) == "-00d30m00.0s"
    assert size_text(1536) == "1.5 KiB"
    assert quantities.frequency_text(1420405751.768) == "1.42040575 GHz"
    assert utc_text(60676.5 * 86400) == "2025-01-01T12:00:00.000"
