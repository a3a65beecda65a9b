"""OSKAR files: bare columns in degrees, named columns in radians unless they say otherwise."""

import math

import pytest

from rimetree import sky
from rimetree.sky import SkyModelError, UnsupportedError

ARCSEC = math.pi / 648000


def read(tmp_path, text, **options):
    path = tmp_path / "sky.osm"
    path.write_text(text)
    return sky.read(path, **options)


def test_bare_columns(tmp_path):
    text = (
        "# RA Dec I Q U V freq spix RM maj min PA\n"
        "20.0 -30.0 1 0.1 0.2 0.3 100e6 -0.7 15 600 50 45  # all\n"
        "20.0, -30.5, 3\n"
        "\n"
        "0 -30.5 3 0 0 2 100e6 -0.7 600 50 45\n"
    )
    full, short, eleven = read(tmp_path, text)
    assert (full.name, short.name) == ("s0", "s1")
    assert (full.ra_rad, full.dec_rad) == pytest.approx((math.radians(20), math.radians(-30)), rel=1e-15)
    assert full.stokes_jy == (1, 0.1, 0.2, 0.3) and full.ref_freq_hz == 1e8 and full.spectrum == (-0.7,)
    assert full.rm_rad_m2 == 15 and full.spectrum_scales_polarisation
    assert full.gaussian == pytest.approx((600 * ARCSEC, 50 * ARCSEC, math.pi / 4), rel=1e-15)
    assert short.stokes_jy == (3, 0, 0, 0) and short.gaussian is None
    assert eleven.rm_rad_m2 == 0 and eleven.gaussian == full.gaussian  # the older form has no rotation measure


def test_named_columns_are_in_radians(tmp_path):
    model = read(
        tmp_path, "format = Name, Ra, Dec, I\na, 0.35, -0.5, 1\nb, 20deg, -30.00.00, 2\nc, 01:20:00, -0.5rad, 3\n"
    )
    assert (model["a"].ra_rad, model["a"].dec_rad) == (0.35, -0.5)
    assert (model["b"].ra_rad, model["b"].dec_rad) == pytest.approx((math.radians(20), math.radians(-30)), rel=1e-15)
    assert model["c"].ra_rad == pytest.approx(math.radians(20), rel=1e-15)


def test_colons_are_hours_in_ra_and_degrees_in_dec(tmp_path):
    source = read(tmp_path, "format = Ra, Dec, I\n01:20:00, -30:30:36, 1\n")["s0"]
    assert (source.ra_rad, source.dec_rad) == pytest.approx((math.radians(20), -math.radians(30.51)), rel=1e-15)


def test_named_columns_in_degrees_with_lists(tmp_path):
    text = (
        "# (RaD DecD StokesI Q U V RefFreq SpectralIndex LogarithmicSI MajorAxis MinorAxis Orientation) = format\n"
        "20 -30 1 0 0 0.3 1e8 [-0.7,0.1] true 20 10 5\n"
        "20 -30 1 0 0 0 1e8 [-0.7, 0.1] false\n"
    )
    first, second = read(tmp_path, text)
    assert first.spectrum == pytest.approx((-0.7, 0.1 / math.log(10)), rel=1e-15)
    assert second.spectrum == (-0.7, 0.1) and not second.logarithmic
    assert first.gaussian == pytest.approx((20 * ARCSEC, 10 * ARCSEC, math.radians(5)), rel=1e-15)
    assert first.dec_rad == pytest.approx(math.radians(-30), rel=1e-15)


def test_curvature_is_the_square_of_the_natural_logarithm(tmp_path):
    text = "format = RaD, DecD, I, ReferenceFrequency='1e8', SpectralIndex, SpectralCurvature\n0, 0, 2, , -0.7, 0.25\n"
    source = read(tmp_path, text)["s0"]
    x = math.log(2)
    expected = 2 * 2**-0.7 * math.exp(0.25 * x**2)
    assert 2 * 2 ** (source.spectrum[0] + source.spectrum[1] * x) == pytest.approx(expected, rel=1e-15)


def test_polarised_fraction_and_angle(tmp_path):
    text = "format = RaD, DecD, I, RefFreq, RM, PolF, PolA\n0, 0, 2, 1e9, {}, 0.1, 30\n"
    plain = read(tmp_path, text.format(0))["s0"]
    assert plain.stokes_jy == pytest.approx((2, 0.2 * math.cos(math.pi / 3), 0.2 * math.sin(math.pi / 3), 0), rel=1e-14)
    turned = read(tmp_path, text.format(7))["s0"]
    chi = math.pi / 6 + 7 * 0.299792458**2  # the angle given is that at zero wavelength
    assert turned.stokes_jy[1:3] == pytest.approx((0.2 * math.cos(2 * chi), 0.2 * math.sin(2 * chi)), rel=1e-14)


def test_dialect_is_found_from_content_or_name(tmp_path):
    assert sky.detect("20 -30 1\n", "x.txt") == "oskar"
    assert sky.detect("format = RaD, DecD, I\n", "x.txt") == "oskar"
    assert sky.detect("format = Ra, Dec, I\n", "x.osm") == "oskar"
    assert sky.detect("format = Name, Ra, Dec, I\n", "x.txt") == "bbs"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("20 -30\n", "1:1", "2 columns"),
        ("20 -30 1 0 0 0 1e8 -0.7 0 1\n", "1:1", "10 columns"),
        ("20 -95 1\n", "1:4", "outside [-90, 90] deg"),
        ("20 -30 NaN\n", "1:8", "I is 'NaN'"),
        ("20 -30 1 0 0 0 0 -0.7\n", "1:1", "a spectrum but no reference frequency"),
        ("format = Ra, Dec, I\n0.1, -30, 1\n", "2:6", "a bare Dec is in radians"),
        ("format = Ra, Dec, I\n0.1, -0.3, 1, 5\n", "2:15", "behind the last of the 3 columns"),
        ("format = Ra, RAJ2000, Dec, I\n", "1:14", "repeats an earlier one"),
        ("format = Ra, Dec, I, Type, Maj, Min\n0, 0, 1, POINT, 3, 3\n", "2:10", "a POINT has axes"),
        ("format = Ra, Dec, I, Type\n0, 0, 1, GAUSSIAN\n", "2:10", "needs its axes"),
        ("format = Ra, Dec, I, Maj, Min\n0, 0, 1, -3, 3\n", "2:10", "must not be negative"),
        ("format = Ra, Dec, I, RefFreq, SpIx, SpecCurv\n0, 0, 1, 1e8, [-0.7 0.1], 0.2\n", "2:27", "with one log"),
        ("format = Ra, Dec, I, SpIx, SpecCurv, LogarithmicSI\n0, 0, 1, -0.7, 0.2, false\n", "2:16", "with one log"),
        ("format = Ra, Dec, I, Q, PolF, PolA\n0, 0, 1, 0.1, 0.1, 30\n", "2:15", "exclude each other"),
    ],
)
def test_errors(tmp_path, text, place, message):
    with pytest.raises(SkyModelError) as error:
        read(tmp_path, text)
    assert str(error.value).startswith(f"{tmp_path / 'sky.osm'}:{place}: "), str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "what", "message"),
    [
        ("format = Ra, Dec, I, LineWidth\n0, 0, 1, 1e3\n", "source 's0'", "spectral lines"),
        ("format = Ra, Dec, I, FreqInc\n0, 0, [1 2 3], 1e6\n", "source 's0'", "tabulated"),
        ("format = Ra, Dec, I\n0, 0, [1 2 3]\n", "source 's0'", "I is a list"),
        ("format = Ra, Dec, I, Type\n0, 0, 1, DISK\n", "source 's0'", "type DISK"),
        (
            "format = Ra, Dec, I, RefFreq, SpIx, RM, ReferenceWavelength\n0, 0, 1, 1.5e8, -0.7, 3, 1\n",
            "source 's0'",
            "away from the reference frequency",
        ),
        ("format = Ra, Dec, I, Zodiac\n0, 0, 1, Leo\n", "column 'Zodiac'", "no meaning"),
    ],
)
def test_unsupported(tmp_path, text, what, message):
    with pytest.raises(UnsupportedError, match=message):
        read(tmp_path, text)
    model = read(tmp_path, text, skip_unsupported=True)
    assert [skipped.what for skipped in model.skipped] == [what]
