"""Source lists of the RTS and of WODEN."""

import math

import numpy as np
import pytest

from rimetree import sky
from rimetree.sky import SkyModelError, UnsupportedError

RTS = """# of two sources
SOURCE J1 3.5 -26.5
FREQ 1.5e+08 4 0 0 0
FREQ 3.0e+08 2 0 0 0
ENDSOURCE
SOURCE EXT 0.25 10
GAUSSIAN 30 2 1
FREQ 1.5e+08 1 0.1 0 0
COMPONENT 0.3 10.5
FREQ 1.5e+08 2 0 0 0
SHAPELET2 20 4 3
COEFF 0.0 0.0 1.0
COEFF 2.0 0.0 0.5
COEFF 1.0 0.0 0.25
ENDCOMPONENT
ENDSOURCE
"""
WODEN = """## of one source
SOURCE all P 1 G 1 S 1 2
COMPONENT POINT 3.5 -26.5
LINEAR 1.5e+08 4 0 0 0.2 -0.7
ENDCOMPONENT
COMPONENT GAUSSIAN 0.25 10
FREQ 1.5e+08 1 0.1 0 0
GPARAMS 30 2 1
ENDCOMPONENT
COMPONENT SHAPELET 0.3 10.5
FREQ 1.5e+08 2 0 0 0
SPARAMS 20 4 3
SCOEFF 0.0 0.0 1.0
SCOEFF 1.0 0.0 0.25
ENDCOMPONENT
ENDSOURCE
"""
ARCMIN = math.pi / 10800


def read(tmp_path, text, **options):
    path = tmp_path / "srclist.txt"
    path.write_text(text)
    return sky.read(path, **options)


def test_a_list_of_the_rts(tmp_path):
    model = read(tmp_path, RTS)
    assert model.names == ["J1", "EXT_0", "EXT_1"] and model.patches == ["J1", "EXT"]
    np.testing.assert_allclose(np.degrees(model.radec_rad), [[52.5, -26.5], [3.75, 10], [4.5, 10.5]])
    assert model["J1"].ref_freq_hz == 3e8 and model["J1"].spectrum == pytest.approx((-1,))
    extended = model["EXT_0"]
    assert extended.gaussian == pytest.approx((2 * ARCMIN, ARCMIN, math.radians(30)))
    assert (extended.stokes_jy, extended.spectrum) == (
        (1, 0.1, 0, 0),
        (-0.8,),
    ) and extended.spectrum_scales_polarisation
    # The second function has -1/sqrt(2) of the first one's integral, the odd ones none.
    shapelets, flux = model["EXT_1"].shapelets, 1 - 0.5 * -math.sqrt(0.5)
    assert model["EXT_1"].stokes_jy[0] == pytest.approx(2 * flux) and shapelets.flux == pytest.approx(1)
    assert (shapelets.major_rad, shapelets.minor_rad) == pytest.approx((4 * ARCMIN, 3 * ARCMIN))
    assert {(j, k): c * flux for j, k, c in shapelets.coefficients} == pytest.approx(
        {(0, 0): 1, (2, 0): 0.5, (1, 0): 0.25}
    )


def test_a_list_of_woden_is_the_same_sky(tmp_path):
    model, rts = read(tmp_path, WODEN), read(tmp_path, RTS.replace("COEFF 2.0 0.0 0.5\n", ""))
    assert model.names == ["all_0", "all_1", "all_2"] and model.patches == ["all"]
    point = model["all_0"]
    assert (point.stokes_jy, point.ref_freq_hz, point.spectrum) == ((4, 0, 0, 0.2), 1.5e8, (-0.7,))
    for one, other in (("all_1", "EXT_0"), ("all_2", "EXT_1")):
        assert (model[one].shape, model[one].shapelets) == (rts[other].shape, rts[other].shapelets)
        assert (model[one].stokes_jy, model[one].spectrum) == (rts[other].stokes_jy, rts[other].spectrum)


@pytest.mark.parametrize(
    ("text", "replaced", "by", "message"),
    [
        (RTS, "FREQ 1.5e+08 4 0 0 0\n", "FREQ 1.5e+08 4 0 0\n", "3:1: FREQ needs frequency, I, Q, U, V"),
        (RTS, "FREQ 1.5e+08 4", "FREQ 1.5e+08 x", "3:14: I is 'x', expected a number"),
        (RTS, "FREQ 1.5e+08 4", "FREQ 1.5e+08 nan", "3:14: I is 'nan', expected a finite number"),
        (RTS, "FREQ 1.5e+08 4", "FREQ 1.5e+08 1_0", "3:14: I is '1_0', expected a number"),
        (RTS, "FREQ 1.5e+08 4", "FREQ 0 4", "3:6: a frequency of 0 Hz"),
        (RTS, "3.5 -26.5", "-3.5 -26.5", "2:11: right ascension is -3.5, expected hours from 0 to 24"),
        (RTS, "3.5 -26.5", "3.5 -96.5", "2:8: source 'J1': declination -96.5 deg is outside"),
        (RTS, "ENDSOURCE\nSOURCE EXT", "SOURCE EXT", "5:1: a source inside of source 'J1', which has no ENDSOURCE"),
        (RTS, "ENDCOMPONENT\nENDSOURCE\n", "", "6:8: source 'EXT' has no ENDSOURCE"),
        (RTS, "FREQ 1.5e+08 1 0.1 0 0\n", "", "6:8: source 'EXT_0': the list is empty"),
        (RTS, "COEFF 1.0", "COEFF 1.5", "14:7: an order is '1.5', expected a whole number"),
        (RTS, "SHAPELET2 20 4 3\n", "", "11:1: COEFF of a component that is no sum of shapelets"),
        (
            RTS,
            "GAUSSIAN 30 2 1\n",
            "GAUSSIAN 30 2 1\nGAUSSIAN 30 2 1\n",
            "8:1: GAUSSIAN of a component that is gaussian",
        ),
        (RTS, "ENDCOMPONENT\n", "ENDCOMPONENT\nFREQ 1e8 1 0 0 0\n", "16:1: FREQ outside of a component"),
        (RTS, "GAUSSIAN 30", "DISK 30", "7:1: DISK is no keyword of RTS and WODEN lists"),
        (WODEN, "G 1", "G 2", "2:18: 2 gaussian are announced, and there are 1"),
        (WODEN, "S 1 2", "S 1 3", "2:24: 3 coefficients are announced, and there are 2"),
        (WODEN, "GPARAMS 30 2 1\n", "", "6:1: source 'all_1' has no line of its shape"),
        (
            WODEN,
            "COMPONENT POINT",
            "COMPONENT RING",
            "3:1: COMPONENT of a WODEN list is one of POINT, GAUSSIAN, SHAPELET",
        ),
        (WODEN, "0.2 -0.7\n", "0.2 -0.7\nFREQ 2e8 1 0 0 0\n", "5:1: LINEAR beside other fluxes"),
        (
            WODEN,
            "FREQ 1.5e+08 1 0.1 0 0\n",
            "FREQ 1e8 1 0 0 0\nLINEAR 2e8 1 0 0 0 0\n",
            "8:1: LINEAR beside other fluxes",
        ),
        (WODEN, "LINEAR 1.5e+08 4", "LINEAR 0 4", "4:8: a frequency of 0 Hz"),
        (WODEN, "LINEAR 1.5e+08 4", "LINEAR 150 4", "3:1: source 'all_0': reference frequency 150 Hz is below what"),
        (WODEN, "ENDCOMPONENT\n", "GPARAMS 30 2 1\nENDCOMPONENT\n", "5:1: GPARAMS of a component that is a point"),
        (WODEN, " S 1 2", " S 1", "2:1: SOURCE of a WODEN list has a name, P, points"),
        (WODEN, "COMPONENT POINT 3.5 -26.5", "COMPONENT", "3:1: COMPONENT of a WODEN list is one of"),
        (WODEN, "SCOEFF 1.0 0.0", "SCOEFF -1.0 0.0", "10:1: source 'all_2': orders of shapelets are whole numbers"),
        (RTS, "3.5 -26.5", "25 -26.5", "2:11: right ascension is 25, expected hours from 0 to 24"),
        (RTS, " EXT 0.25 10", " EXT", "6:1: SOURCE needs right ascension, declination"),
        (RTS, " EXT 0.25 10", "", "6:1: SOURCE has no name"),
        (RTS, "ENDSOURCE\n", "ENDSOURCE\nFREQ 2e8 1 0 0 0\n", "6:1: FREQ outside of a component"),
        (RTS, "ENDSOURCE\n", "ENDSOURCE\nENDCOMPONENT\n", "6:1: ENDCOMPONENT outside of a component"),
        (RTS, "ENDSOURCE\n", "ENDSOURCE\nENDSOURCE\n", "6:1: ENDSOURCE outside of a source"),
        (RTS, "ENDSOURCE\n", "ENDSOURCE\nCOMPONENT 1 2\n", "6:1: a component outside of a source"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, text, replaced, by, message):
    with pytest.raises(SkyModelError) as error:
        read(tmp_path, text.replace(replaced, by, 1))
    assert f"srclist.txt:{message}" in str(error.value)


def test_the_old_shapelets_of_the_rts_can_be_left_out(tmp_path):
    text = RTS.replace("SHAPELET2", "SHAPELET")
    with pytest.raises(UnsupportedError, match="of the old kind"):
        read(tmp_path, text)
    model = read(tmp_path, text, skip_unsupported=True)
    assert model.names == ["J1", "EXT_0"] and model.skipped[0].what == "source 'EXT_1'"


def test_a_list_without_end_of_line_indented_or_empty(tmp_path):
    lines = "\n".join("  " + line for line in RTS.splitlines())
    assert read(tmp_path, lines).names == read(tmp_path, RTS).names
    assert len(read(tmp_path, "# nothing\n", format="rts")) == 0
