"""BBS/makesourcedb files: headers in every place, defaults, units, rotation measures, errors, round trips."""

import math

import pytest

from rimetree import sky
from rimetree.sky import SkyModel, SkyModelError, Source, UnsupportedError

ARCSEC = math.pi / 648000
C = 299792458.0
FULL = (
    "# (Name, Type, Patch, Ra, Dec, I, Q, U, V, ReferenceFrequency='74e6', SpectralIndex='[]', MajorAxis, MinorAxis, "
    "Orientation) = format\n"
)


def read(tmp_path, text, **options):
    path = tmp_path / "sky.skymodel"
    path.write_text(text)
    return sky.read(path, **options)


def fails(tmp_path, text, place, message, error=SkyModelError):
    with pytest.raises(error) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'sky.skymodel'}:{place}: "), str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "header",
    [
        "format = Name, Type, Ra, Dec, I",
        "FORMAT=Name,Type,Ra,Dec,I",
        "# format = Name, Type, Ra, Dec, I",
        "# (Name, Type, Ra, Dec, I) = format",
        "#(name,type,ra,dec,i)=Format",
        "Name, Type, Ra, Dec, I = format",
    ],
)
def test_header_in_all_its_places(tmp_path, header):
    model = read(tmp_path, f"# a comment\n{header}\n\ns1, POINT, 01:00:00, 45.00.00, 2.5\n")
    assert model["s1"].stokes_jy == (2.5, 0, 0, 0)
    assert model["s1"].ra_rad == pytest.approx(math.pi / 12, rel=1e-15)
    assert model["s1"].dec_rad == pytest.approx(math.pi / 4, rel=1e-15)


def test_a_header_behind_a_comment_sign_counts_only_where_there_is_no_other(tmp_path):
    text = "# format = Name, Dec, Ra, I\nformat = Name, Ra, Dec, I\ns1, 01:00:00, 45.00.00, 2.5\n"
    assert read(tmp_path, text)["s1"].dec_rad == pytest.approx(math.pi / 4, rel=1e-15)


def test_columns_separated_by_blanks(tmp_path):
    model = read(tmp_path, "format = Name Type Ra Dec I\ns1   POINT 01:00:00\t45.00.00 2.5\n")
    assert model["s1"].stokes_jy[0] == 2.5


def test_a_whole_file(tmp_path):
    text = (
        FULL + "\n# A comment, with, commas\n"
        ", , CygA, 19:59:26, +40.44.00\n"
        "c1,  POINT,    CygA, 19:59:30, +40.44.30, 4.827e+03, 0.0, 0.0, 0.0, 7.38e+07, [-0.8], 7.6e-03, 6.9e-03, 100\n"
        "c2, GAUSSIAN, CygA, 19:59:30, -00.30.00, 10, 1, 2, 3, , [-0.7, 0.2, -0.1], 35.9, 38.7, 116.3\r\n"
        "c3, GAUSSIAN, CygA, 19:59:30, 40.44.30, 10, , , \n"
        "c4, , CygA, 19:59:30, 40.44.30, 10\n"
    )
    model = read(tmp_path, text)
    assert model.names == ["c1", "c2", "c3", "c4"] and model.patches == ["CygA"]
    assert model.patch_radec_rad["CygA"][1] == pytest.approx(math.radians(40 + 44 / 60), rel=1e-15)
    c1, c2, c3, c4 = model
    assert c1.gaussian is None  # a point keeps no axes
    assert c1.ref_freq_hz == 7.38e7 and c1.spectrum == (-0.8,) and c1.logarithmic
    assert c2.ref_freq_hz == 74e6  # the default of the header
    assert c2.dec_rad == pytest.approx(-math.radians(0.5), rel=1e-15)
    assert c2.stokes_jy == (10, 1, 2, 3)
    assert not c2.spectrum_scales_polarisation  # DP3 scales Stokes I only
    assert c2.gaussian == pytest.approx((35.9 * ARCSEC, 38.7 * ARCSEC, math.radians(116.3)), rel=1e-15)
    assert c3.gaussian == pytest.approx((ARCSEC, ARCSEC, 0), rel=1e-15)  # a Gaussian without axes has 1 arcsec
    assert c4.gaussian is None and c4.spectrum == ()


def test_decimal_logarithm_becomes_natural(tmp_path):
    model = read(tmp_path, FULL + "s, POINT, , 0:0:0, 0.0.0, 2, , , , 100e6, [-0.7, 0.3, -0.2]\n")
    source = model["s"]
    # One octave up: 2 * 2^(-0.7 + 0.3 log10(2) - 0.2 log10(2)^2), computed with the decimal logarithm of the file.
    decimal = math.log10(2)
    expected = 2 * 2 ** (-0.7 + 0.3 * decimal - 0.2 * decimal**2)
    natural = math.log(2)
    found = 2 * 2 ** sum(c * natural**k for k, c in enumerate(source.spectrum))
    assert found == pytest.approx(expected, rel=1e-14)


def test_ordinary_polynomial_is_kept(tmp_path):
    header = "format = Name, Ra, Dec, I, ReferenceFrequency, SpectralIndex, LogarithmicSI\n"
    model = read(
        tmp_path, header + "s, 0:0:0, 0.0.0, 2, 1e8, [-0.7, 0.3], false\nt, 0:0:0, 0.0.0, 2, 1e8, -0.7, true\n"
    )
    assert model["s"].spectrum == (-0.7, 0.3) and not model["s"].logarithmic
    assert model["t"].spectrum == (-0.7,) and model["t"].logarithmic  # a single value needs no brackets


def test_quotes_fixed_values_and_dummies(tmp_path):
    text = "format = Name, dummy, Ra, Dec, I, Q=fixed'0.5', , V\n'a, b', 7, 1:0:0, 1.0.0, 2, what, 3\n"
    source = read(tmp_path, text)["a, b"]
    assert source.stokes_jy == (2, 0.5, 0, 3)


RM = "format = Name, Ra, Dec, I, Q, U, V, ReferenceFrequency, SpectralIndex, RotationMeasure"


def test_rotation_measure_with_q_and_u(tmp_path):
    source = read(tmp_path, RM + "\ns, 0:0:0, 0.0.0, 2, 0.1, 0.2, , 1e9, [-0.7], 30\n")["s"]
    assert source.stokes_jy == (2, 0.1, 0.2, 0) and source.rm_rad_m2 == 30
    assert source.spectrum_scales_polarisation  # Q and U are a fraction of I(nu) there


def test_rotation_measure_with_fraction_and_angle(tmp_path):
    text = RM + ", PolarizedFraction, PolarizationAngle\ns, 0:0:0, 0.0.0, 2, , , , 1e9, [], 30, 0.1, 0.4\n"
    source = read(tmp_path, text)["s"]
    chi = 0.4 + 30 * 0.299792458**2  # at the reference wavelength; the angle given is that at zero wavelength
    assert source.stokes_jy == pytest.approx((2, 0.2 * math.cos(2 * chi), 0.2 * math.sin(2 * chi), 0), rel=1e-14)
    without = read(tmp_path, text.replace("1e9", ""))["s"]  # flat: any reference frequency serves
    assert without.ref_freq_hz > 0
    back = -2 * 30 * (C / without.ref_freq_hz) ** 2  # to zero wavelength
    q, u = without.stokes_jy[1:3]
    assert math.hypot(q, u) == pytest.approx(0.2, rel=1e-14)
    assert math.remainder(math.atan2(u, q) + back - 0.8, 2 * math.pi) == pytest.approx(0, abs=1e-12)


def test_reference_wavelength(tmp_path):
    text = RM + ", ReferenceWavelength\ns, 0:0:0, 0.0.0, 2, 0.1, 0.2, , 1e9, [], 30, 0.5\n"
    assert read(tmp_path, text)["s"].ref_freq_hz == pytest.approx(C / 0.5, rel=1e-15)
    fails(tmp_path, text.replace("[]", "[-1]"), "2:48", "refer both to one frequency", UnsupportedError)


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("s, POINT, , 01:00:00, 48:12:58, 1", 23, "colons mean hours"),
        ("s, POINT, , 15.5, 48.12.58, 1", 13, "has no unit"),
        ("s, POINT, , 01:00:00, 95.00.00, 1", 23, "outside [-90, 90] deg"),
        ("s, POINT, , 01:00:00, 45.00.00, nan", 33, "I is 'nan', expected a finite number"),
        ("s, POINT, , 01:00:00, 45.00.00, 1, 1e999", 36, "Q is '1e999', expected a finite number"),
        ("s, POINT, , 01:00:00, 45.00.00, one", 33, "I is 'one', expected a number"),
        ("s, POINT, , 01:00:00, 45.00.00", 1, "the flux I is missing"),
        ("s, POINT, , , 45.00.00, 1", 1, "Ra is missing"),
        ("s, POINT, , 01:00:00, 45.00.00, 1, , , , 0, [-0.7]", 42, "is 0 Hz, expected a positive frequency"),
        ("s, POINT, , 01:00:00, 45.00.00, 1, , , , -1e8, [-0.7]", 42, "is -1e8 Hz, expected a positive frequency"),
        ("s, POINT, , 01:00:00, 45.00.00, 1, , , , 1e8, [-0.7, x]", 47, "SpectralIndex is 'x'"),
        ("s, POINT, , 01:00:00, 45.00.00, 1, , , , 1e8, [-0.7", 47, "a bracket is not closed"),
        ("s, 'POINT, , 01:00:00, 45.00.00, 1", 4, "a quote is not closed"),
        ("s, GAUSSIAN, , 01:00:00, 45.00.00, 1, , , , 1e8, [], 3", 54, "needed together"),
        ("s, GAUSSIAN, , 01:00:00, 45.00.00, 1, , , , 1e8, [], 3, -2, 0", 54, "must be >= 0"),
        ("s, GAUSSIAN, , 01:00:00, 45.00.00, 1, , , , 1e8, [], 3, 2", 1, "needs an Orientation"),
        ("s, POINT, , 01:00:00, 45.00.00, 1, , , , 1e8, [], 3, 2, 1, 17", 60, "'17' stands behind the last of the 14"),
        (", POINT, , 01:00:00, 45.00.00, 1", 1, "neither a source name nor a patch name"),
    ],
)
def test_errors_name_file_line_and_column(tmp_path, line, column, message):
    fails(tmp_path, FULL + "\n" + line + "\n", f"3:{column}", message)


@pytest.mark.parametrize(
    ("header", "place", "message"),
    [
        ("format = Name, Ra, Dec, I, I", "1:28", "column 'I' appears twice"),
        ("format = Name, Ra, Dec, I=3", "1:25", "must stand in quotes"),
        ("# format = Name, Ra, Dec, I='3", "1:27", "must stand in quotes"),
    ],
)
def test_errors_of_headers(tmp_path, header, place, message):
    fails(tmp_path, header + "\n", place, message)


def test_duplicate_names(tmp_path):
    fails(tmp_path, FULL + "s,,,0:0:0,0.0.0,1\n\ns,,,0:0:0,0.0.0,1\n", "4:1", "'s' was already given in line 2")


@pytest.mark.parametrize(
    ("columns", "values", "column", "message"),
    [
        ("Type", "SHAPELET", 20, "type SHAPELET"),
        ("Type", "DISK", 20, "type DISK"),
        ("RefType", "B1950", 20, "only J2000 and ICRS"),
        ("IShapelet", "file.txt", 20, "shapelets"),
        ("V, ReferenceFrequency, SpectralIndex, RotationMeasure, Q, U", "1, 1e9, [-1], 3, 1, 1", 20, "V does not"),
    ],
)
def test_unsupported_sources_are_errors_or_listed(tmp_path, columns, values, column, message):
    text = f"format = Name, Ra, Dec, I, {columns}\ns, 0:0:0, 0.0.0, 1, {values}\nt, 0:0:0, 0.0.0, 2\n"
    fails(tmp_path, text, f"2:{column + 1}", message, UnsupportedError)
    model = read(tmp_path, text, skip_unsupported=True)
    assert model.names == ["t"]
    assert [skipped.what for skipped in model.skipped] == ["source 's'"]
    assert message in str(model.skipped[0]) and ":2:" in str(model.skipped[0])


def test_places_of_patches_in_other_frames(tmp_path):
    text = "format = Name, Patch, RefType, Ra, Dec, I\n, p, SUN, 1:0:0, 1.0.0\ns, p, , 1:0:0, 1.0.0, 1\n"
    fails(tmp_path, text, "2:6", "only J2000", UnsupportedError)
    model = read(tmp_path, text, skip_unsupported=True)
    assert model.names == ["s"] and [skipped.what for skipped in model.skipped] == ["place of patch 'p'"]


def test_unknown_columns_are_errors_or_listed(tmp_path):
    text = (
        "format = Name, Ra, Dec, I, Colour, Mood='0'\n"
        "s, 0:0:0, 0.0.0, 1\nt, 0:0:0, 0.0.0, 2, red, 0\nu, 0:0:0, 0.0.0, 1, red\n"
    )
    fails(tmp_path, text, "3:21", "column 'Colour' ('red') has no meaning here", UnsupportedError)
    model = read(tmp_path, text, skip_unsupported=True)
    assert model.names == ["s", "t", "u"]
    assert [skipped.what for skipped in model.skipped] == ["column 'Colour'"]


def test_wrong_values_are_never_skipped(tmp_path):
    with pytest.raises(SkyModelError, match="expected a finite number"):
        read(tmp_path, FULL + "s, POINT, , 0:0:0, 0.0.0, nan\n", skip_unsupported=True)


def test_circular_gaussians_have_no_orientation(tmp_path):
    text = "format = Name, Type, Ra, Dec, I, MajorAxis, MinorAxis, Orientation, OrientationIsAbsolute\n"
    assert read(tmp_path, text + "s, GAUSSIAN, 0:0:0, 0.0.0, 1, 2, 2, 5, true\n")["s"].gaussian is not None


SOURCES = (
    Source("plain", 1.234567890123, -0.98765432109876, (1 / 3, 0, 0, 0)),
    Source("a, b 'x'", 1e-9, 1e-11, (-2e-7, 1e-9, -3e-8, 4e-9), patch="p q"),
    Source("log", 6.2, 1.5, (5, 0, 0, 0), 123456789.123, (-0.7123, 0.2345, -0.01), patch="z"),
    Source("linear", 3.0, -1.5, (5, 1, 1, 1), 1e8, (-3.3, 7.7), False, False),
    Source("shape", 3.1, 0.1, (5, 0, 0, 0), gaussian=(1.23456789e-4, 3e-5, 2.2), patch="z"),
    Source("narrow", 3.1, 0.1, (5, 0, 0, 0), gaussian=(1e-4, 0.0, -0.4)),
    Source("turns", 3.2, 0.1, (5, 0.5, -0.2, 0), 1.4e9, (-0.8, 0.1), rm_rad_m2=-12.34),
    Source("turns flat", 3.2, 0.1, (5, 0.5, -0.2, 0.1), 1.4e9, rm_rad_m2=55.5),
    Source("scaled", 3.2, 0.1, (5, 0.5, -0.2, 0), 1.4e9, (-0.8,)),
    Source("unscaled", 3.2, 0.1, (5, 0.5, -0.2, 0.3), 1.4e9, (-0.8,), True, False),
)


def test_round_trip(tmp_path):
    model = SkyModel(SOURCES, patch_radec_rad={"z": (1.0, 0.5), "unused": (0.0, 0.0)})
    path = tmp_path / "out.skymodel"
    sky.write(model, path)
    back = sky.read(path)
    assert back.names == model.names
    for before, after in zip(model, back, strict=True):
        assert after.isclose(before, rtol=1e-12), (before, after)
    assert back.patches == ["p q", "z"] and "unused" not in back.patch_radec_rad  # DP3 rejects patches without sources
    assert back.patch_radec_rad["z"] == pytest.approx((1.0, 0.5), rel=1e-15)
    assert back.patch_radec_rad["p q"] == pytest.approx((1e-9, 1e-11), rel=1e-12)  # its only source
    again = tmp_path / "again.skymodel"
    sky.write(back, again)
    assert [s.isclose(t) for s, t in zip(model, sky.read(again), strict=True)] == [True] * len(model)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (Source("s", 0, 0, (5, 0, 0, 1), 1e9, (-0.7,)), "'s': BBS cannot scale Stokes V"),
        (Source("s", 0, 0, (5, 1, 0, 0), 1e9, (-0.7,), True, False, 3.0), "'s': BBS scales Q and U"),
        (Source("s'\"", 0, 0, (5, 0, 0, 0)), "both kinds of quotes"),
    ],
)
def test_what_bbs_cannot_hold_is_refused(tmp_path, source, message):
    path = tmp_path / "out.skymodel"
    with pytest.raises(UnsupportedError, match=message):
        sky.write(SkyModel((source,)), path)
    assert not path.exists()


def test_a_spectrum_without_a_frequency(tmp_path):
    text = "format = Name, Ra, Dec, I, SpectralIndex\ns, 1:0:0, 45.0.0, 1, [-0.7]\n"
    fails(tmp_path, text, "2:22", "without a ReferenceFrequency")
