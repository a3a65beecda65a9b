"""SAGECal's models and their clusters."""

import math

import numpy as np
import pytest

from rimetree import sky
from rimetree.sky import SkyModelError, UnsupportedError

HEADER = "## LSM file\n### Name | RA (hr,min,sec) | DEC (deg,min,sec) | I Q U V SI0 SI1 SI2 RM eX eY eP freq0\n"
MODEL = (
    HEADER
    + """P1 8 13 30 48 12 59.5 32 0 0 0.5 -0.5 0.1 0 0 0 0 0.0 143000000.0
G2 8 13 30 -0 30 0 10 1 0 0 0 0 0 12 0.0012 0.0008 0.3 143e6

D3 0 0 0 -1 30 0 5 0 0 0 0 0 0 0 0.0007 0.0007 0 0
"""
)
SHORT = HEADER + "P1 8 13 30 48 12 59.5 32 0 0 0.5 -0.5 0 0 0 0.0 143000000.0\n"


def read(tmp_path, text, clusters=None, **options):
    path = tmp_path / "sky.txt"
    path.write_text(text)
    if clusters is not None:
        (tmp_path / "sky.txt.cluster").write_text(clusters)
    return sky.read(path, **options)


def test_a_model(tmp_path):
    model = read(tmp_path, MODEL)
    assert model.names == ["P1", "G2", "D3"] and model.patches == []
    ra = 15 * (8 + 13 / 60 + 30 / 3600)
    np.testing.assert_allclose(
        np.degrees(model.radec_rad), [[ra, 48 + 12 / 60 + 59.5 / 3600], [ra, -0.5], [0, -1.5]], rtol=1e-14
    )
    point, extended, disk = model
    assert (point.stokes_jy, point.ref_freq_hz, point.spectrum) == ((32, 0, 0, 0.5), 143e6, (-0.5, 0.1))
    assert point.logarithmic and point.spectrum_scales_polarisation and not point.is_extended
    assert (extended.stokes_jy, extended.spectrum, extended.rm_rad_m2) == ((10, 1, 0, 0), (), 12)
    assert extended.gaussian == pytest.approx((0.0024, 0.0016, 0.3 + math.pi / 2))
    assert disk.uniform_disk == pytest.approx((0.0014, 0.0014, 0))


def test_one_spectral_index(tmp_path):
    """17 columns: Tigger has such rows, too, with extents of other units; only a comment tells."""
    assert read(tmp_path, SHORT)[0].spectrum == (-0.5,)
    text = SHORT.removeprefix(HEADER)
    with pytest.raises(SkyModelError, match="format='sagecal' or 'tigger-text'"):
        read(tmp_path, text)
    assert read(tmp_path, text, format="sagecal") == read(tmp_path, SHORT)
    assert read(tmp_path, text, format="tigger-text").names == ["P1"]


@pytest.mark.parametrize("row", ["a b c d e f g h i j k l m n o p q r s\n", "P2 1 2 3\n"])
def test_other_rows_are_no_model(tmp_path, row):
    with pytest.raises(SkyModelError, match="not a sky model that can be read"):
        read(tmp_path, MODEL + row)


def test_seconds_that_are_rounded_up(tmp_path):
    """As rounding writers make of 59.9996."""
    assert math.degrees(read(tmp_path, MODEL.replace("12 59.5", "12 60"))["P1"].dec_rad) == pytest.approx(48 + 13 / 60)


def test_shapes_are_those_of_converted_models(tmp_path):
    """As its converter writes a Gaussian of another format: half of axes, and the angle less 90 degrees."""
    bbs = tmp_path / "x.skymodel"
    bbs.write_text(
        "format = Name, Type, Ra, Dec, I, MajorAxis, MinorAxis, Orientation, OrientationIsAbsolute\n"
        "G2, GAUSSIAN, 08:13:30, 48.12.59.5, 10, 60, 30, 25, true\n"
    )
    arcsec = math.pi / 648000
    row = f"G2 8 13 30 48 12 59.5 10 0 0 0 0 0 0 0 {30 * arcsec} {15 * arcsec} {math.radians(25 - 90)} 0\n"
    assert read(tmp_path, row)["G2"].isclose(sky.read(bbs)["G2"])


def test_clusters_are_patches(tmp_path):
    model = read(tmp_path, MODEL, "# id chunks sources\n-1 2 G2 P1\n\n3 1 D3\n")
    assert [source.patch for source in model] == ["-1", "-1", "3"] and not model.skipped


def test_sources_in_no_cluster_are_left_out(tmp_path):
    model = read(tmp_path, MODEL, "# id chunks sources\n-1 2 G2\n#3 1 D3\n")
    assert model.names == ["G2"] and "2 sources: " in str(*model.skipped)
    assert str(*model.skipped).endswith("sky.txt.cluster: no cluster names P1, D3")
    assert len(read(tmp_path, MODEL, "# nothing\n")) == 0


@pytest.mark.parametrize(
    ("text", "clusters", "message"),
    [
        (MODEL.replace(" 143e6", ""), None, "sky.txt:4:1: the row has 18 columns, expected 19 as in the first row"),
        (HEADER + "P1 1 2 3\n", None, "sky.txt:3:1: the row has 4 columns, expected 17 or 19"),
        (MODEL.replace("32 0", "bright 0"), None, "sky.txt:3:23: a value is 'bright', expected a number"),
        *(
            (MODEL.replace("48 12 59.5", wrong), None, "sky.txt:3:15: minutes and seconds are numbers from 0 to 60")
            for wrong in ("48 72 1", "48 60 1", "48 -1 1", "48 12 61", "48 12 -1")
        ),
        (MODEL.replace("48 12", "98 12"), None, "sky.txt:3:1: source 'P1': declination 98.2165 deg is outside"),
        (MODEL.replace("143000000.0", "0"), None, "sky.txt:3:1: source 'P1' has a spectrum but no reference frequency"),
        (MODEL.replace("G2", "P1"), None, "sky.txt:4:1: a source named 'P1' was already given in line 3"),
        (MODEL, "1 1 P1\n2 1 D3 P1\n", "sky.txt.cluster:2:8: source 'P1' is in cluster 1 already"),
        (MODEL, "1 1 P1\n2 1 D4\n", "sky.txt.cluster:2:5: no source is named 'D4'"),
        (MODEL, "one 1 P1\n", "sky.txt.cluster:1:1: expected the number of a cluster"),
        (MODEL, "1\n", "sky.txt.cluster:1:1: expected the number of a cluster"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, text, clusters, message):
    with pytest.raises(SkyModelError) as error:
        read(tmp_path, text, clusters, format="sagecal")
    assert str(error.value).startswith(f"{tmp_path}/{message}")


@pytest.mark.parametrize(("name", "what"), [("R2", "rings"), ("s2", "shapelets from a file")])
def test_rings_and_shapelets_can_be_left_out(tmp_path, name, what):
    text = MODEL.replace("G2", name)
    with pytest.raises(UnsupportedError, match=f"of {what}: not supported"):
        read(tmp_path, text)
    model = read(tmp_path, text, f"1 1 P1 {name}\n2 1 D3\n", skip_unsupported=True)
    assert model.names == ["P1", "D3"] and model.patches == ["1", "2"]
