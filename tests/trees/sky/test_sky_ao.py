"""Models of mwa-reduce (AO)."""

import math

import numpy as np
import pytest

from rimetree import sky
from rimetree.sky import SkyModelError, UnsupportedError

MODEL = """skymodel fileformat 1.1
# two sources
source {
  name "G111.7 -02.1"
  cluster "CasA"
  component {
    type gaussian
    shape 300 200.5 270
    position 23h23m24s -58d48m00s
    sed {
      frequency 200 MHz
      fluxdensity Jy 7942 0 0 1
      spectral-index { -0.77, 0.1 }
    }
  }
}
source { name "two # words" component {
    type point position 0h30m0s 10d30m00s
    measurement { frequency 100 MHz fluxdensity mJy 4000 40 0 0 }
    measurement { frequency 0.2 GHz fluxdensity Jy 1 0.01 0 0 }
  }
  component { type point position 1h0m0s -0d30m00s measurement { frequency 80 MHz fluxdensity Jy 1 0 0 0 } }
}
"""


def read(tmp_path, text, **options):
    path = tmp_path / "model.txt"
    path.write_text(text)
    return sky.read(path, **options)


def test_a_model(tmp_path):
    model = read(tmp_path, MODEL)
    assert model.names == ["G111.7 -02.1", "two # words_0", "two # words_1"]
    assert model.patches == ["CasA", "two # words"]
    np.testing.assert_allclose(np.degrees(model.radec_rad), [[350.85, -58.8], [7.5, 10.5], [15, -0.5]])
    first, second, third = model
    arcsec = math.pi / 648000
    assert first.gaussian == pytest.approx((300 * arcsec, 200.5 * arcsec, math.radians(270)))
    assert (first.stokes_jy, first.ref_freq_hz) == ((7942, 0, 0, 1), 2e8)
    # At ten times the frequency the decimal logarithm is 1.
    x = math.log(10)
    assert sum(c * x ** (k + 1) for k, c in enumerate(first.spectrum)) == pytest.approx(-0.67 * x)
    assert second.spectrum == pytest.approx((-2,)) and second.stokes_jy == (1, 0.01, 0, 0) and second.ref_freq_hz == 2e8
    assert third.spectrum == (-0.8,) and third.spectrum_scales_polarisation


def test_without_an_index_the_flux_is_the_same(tmp_path):
    text = MODEL.replace("      spectral-index { -0.77, 0.1 }\n", "")
    assert read(tmp_path, text)[0].spectrum == ()
    assert read(tmp_path, MODEL.replace("{ -0.77, 0.1 }", "{\n -0.5 }"))[0].spectrum == (-0.5,)


def test_other_spellings(tmp_path):
    text = MODEL.replace("-58d48m00s", "-58:48:00").replace("23h23m24s", "23:23:24")
    text = text.replace("0.2 GHz", "200000 kHz").replace('"two # words"', '"# words"')
    expected, found = read(tmp_path, MODEL), read(tmp_path, text)
    assert found.names == [name.replace("two ", "") for name in expected.names]
    np.testing.assert_allclose(found.radec_rad, expected.radec_rad, rtol=1e-14)
    assert [one.ref_freq_hz for one in found] == [one.ref_freq_hz for one in expected]


@pytest.mark.parametrize(
    ("replaced", "by", "message"),
    [
        ('name "G111.7 -02.1"', 'name "G111.7 -02.1', "4:8: a quotation mark is not closed"),
        ('  name "G111.7 -02.1"\n', "", "3:1: source has no name"),
        ("    type gaussian\n", "", "6:3: component has no type"),
        ("    shape 300 200.5 270\n", "", "6:3: component has no shape"),
        ("type point", "type point shape 1 1 0", "18:22: a point has no shape"),
        ("shape 300", "shape x", "8:11: major axis is 'x', expected a number"),
        ("frequency 200 MHz", "frequency 200 fortnights", "11:21: the unit is 'fortnights', expected Hz or kHz or MHz"),
        ("frequency 200 MHz", "frequency -200 MHz", "11:17: a frequency of -2e+08 Hz"),
        ("fluxdensity Jy 7942", "fluxdensity W 7942", "12:19: the unit is 'W', expected Jy or mJy"),
        ("-58d48m00s", "-98d48m00s", "6:3: source 'G111.7 -02.1': declination -98.8 deg is outside"),
        ("23h23m24s", "north", "9:14: right ascension 'north' is not an angle"),
        ("frequency 0.2 GHz", "frequency 100 MHz", "17:29: the list has different fluxes at 100 MHz"),
        (
            "    sed {\n",
            "    sed {\n colour 1\n",
            "11:2: colour in sed, where frequency, fluxdensity, spectral-index are expected",
        ),
        ("    type gaussian\n", "    type gaussian type point\n", "7:19: type is given twice"),
        ("    }\n  }\n}\nsource", "    }\n  }\nsource", "16:1: source in source, where name, cluster, component"),
        ("{ -0.77, 0.1 }", "{ -0.77, steep }", "13:31: spectral index is 'steep', expected a number"),
        ("    sed {", "    sed { frequency 1 MHz fluxdensity Jy 1 0 0 0 }\n    sed {", "6:3: a component has one sed"),
        ("skymodel fileformat 1.1\n", "skymodel fileform 1.1\n", "expected skymodel fileformat 1.1"),
        ("source {", "source (", "3:8: expected { after source"),
        ("source {", "cluster {", "3:1: expected a source, not cluster"),
        ('"G111.7 -02.1"', '""', "4:8: a source has no name"),
        ("source {", 'source { name "x" }\nsource {', "3:1: source 'x' has no components"),
        ("frequency 200 MHz", "frequency 0 MHz", "11:17: a frequency of 0 Hz"),
        ("10d30m00s\n", "10d30m00s } component {\n", "17:29: a component has one sed, or measurements"),
        (
            "    measurement { frequency 100 MHz fluxdensity mJy 4000 40 0 0 }\n",
            "    sed { frequency 1 MHz fluxdensity Jy 1 0 0 0 }\n",
            "17:29: a component has one sed, or measurements",
        ),
        (
            "measurement { frequency 80 MHz fluxdensity Jy 1 0 0 0 }",
            "",
            "22:3: a component has one sed, or measurements",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, replaced, by, message):
    assert replaced in MODEL
    with pytest.raises(SkyModelError) as error:
        read(tmp_path, MODEL.replace(replaced, by, 1), format="ao")
    assert message in str(error.value)


def test_files_that_end_early(tmp_path):
    lines = MODEL.splitlines()
    for count in range(3, len(lines)):
        text = "\n".join(lines[:count])
        if text.count("{") > text.count("}"):
            with pytest.raises(SkyModelError, match=r"model\.txt:\d+:\d+: the file ends where } of "):
                read(tmp_path, text)
    with pytest.raises(SkyModelError, match="the file ends where what shape is should follow"):
        read(tmp_path, "\n".join(lines[:7]) + " shape 1 2")


def test_other_types_can_be_left_out(tmp_path):
    text = MODEL.replace("type gaussian", "type shapelet")
    with pytest.raises(UnsupportedError, match="components of type shapelet are not supported, only point, gaussian"):
        read(tmp_path, text)
    assert len(read(tmp_path, text, skip_unsupported=True)) == 2
