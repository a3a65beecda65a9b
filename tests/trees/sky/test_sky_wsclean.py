"""WSClean component lists."""

import math

import pytest

from rimetree import sky
from rimetree.sky import SkyModel, Source, UnsupportedError

LIST = """\
Format = Name, Type, Ra, Dec, I, SpectralIndex, LogarithmicSI, ReferenceFrequency='125584411.621094', \
MajorAxis, MinorAxis, Orientation
s0c0,POINT,08:28:05.152,39.35.08.511,0.00075,[-0.0069,-0.085],false,125584411.621094,,,
s0c1,GAUSSIAN,07:51:09.24,42.32.46.177,0.0009,[0.0012,0.047],true,,83.6,83.6,0
"""


def test_read(tmp_path):
    path = tmp_path / "wsclean-sources.txt"
    path.write_text(LIST)
    model = sky.read(path)
    assert sky.detect(LIST, str(path)) == "wsclean"
    first, second = model
    assert first.spectrum == (-0.0069, -0.085) and not first.logarithmic
    assert first.ra_rad == pytest.approx((8 + 28 / 60 + 5.152 / 3600) * math.pi / 12, rel=1e-15)
    assert second.logarithmic and second.ref_freq_hz == 125584411.621094
    assert second.spectrum == pytest.approx((0.0012, 0.047 / math.log(10)), rel=1e-15)
    assert second.gaussian == pytest.approx((83.6 * math.pi / 648000,) * 2 + (0,), rel=1e-15)
    assert first.spectrum_scales_polarisation


def test_round_trip(tmp_path):
    model = SkyModel(
        (
            Source("s0", 1.234567890123, -0.98765432109876, (1 / 3, 0, 0, 0)),
            Source("s1", 6.2, 1.5, (-5, 0, 0, 0), 123456789.123, (-0.7123, 0.2345, -0.01)),
            Source("s2", 3.0, -1.5, (5, 0, 0, 0), 1e8, (-3.3, 7.7), False),
            Source("s3", 3.1, 0.1, (5, 0, 0, 0), 1e8, (1.0,), gaussian=(1.23456789e-4, 3e-5, 2.2)),
        )
    )
    path = tmp_path / "out-sources.txt"
    sky.write(model, path)  # the name says WSClean
    assert sky.detect(path.read_text(), str(path)) == "wsclean"
    back = sky.read(path)
    for before, after in zip(model, back, strict=True):
        assert after.isclose(before, rtol=1e-12), (before, after)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (Source("s", 0, 0, (5, 1, 0, 0)), "no Stokes Q, U, V"),
        (Source("s", 0, 0, (5, 0, 0, 0), 1e9, rm_rad_m2=3.0), "no rotation measures"),
        (Source("s", 0, 0, (5, 0, 0, 0), patch="p"), "no patches"),
    ],
)
def test_what_the_lists_do_not_hold_is_refused(tmp_path, source, message):
    path = tmp_path / "out.txt"
    path.write_text("before")
    with pytest.raises(UnsupportedError, match=message):
        sky.write(SkyModel((source,)), path, format="wsclean")
    assert path.read_text() == "before"
