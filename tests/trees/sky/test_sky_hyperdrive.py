"""hyperdrive's source lists."""

import json
import math

import numpy as np
import pytest

from rimetree import sky
from rimetree.sky import Shapelets, SkyModel, SkyModelError, Source, UnsupportedError
from rimetree.sky_fluxes import stokes_i_at

LIST = """---
one:
  - ra: 10.5
    dec: -27.25
    comp_type: point
    flux_type:
      power_law:
        si: -0.8
        fd: {freq: 200000000.0, i: 2.0, q: 0.2}
two parts:
- ra: 11
  dec: -28
  comp_type:
    gaussian:
      maj: 210.0
      min: 120.0
      pa: -30.0
  flux_type:
    curved_power_law:
      si: -0.7
      fd:
        freq: 1.5e+8
        i: 3.0
      q: 0.1
- ra: 12
  dec: -28
  comp_type: point
  flux_type:
    list:
    - {freq: 150000000.0, i: 4.0}
"""


def read(tmp_path, text, **options):
    path = tmp_path / "list.yaml"
    path.write_text(text)
    return sky.read(path, **options)


def test_components(tmp_path):
    model = read(tmp_path, LIST)
    assert sky.detect(LIST, "list.yaml") == "hyperdrive"
    assert model.names == ["one", "two parts_0", "two parts_1"]
    assert [source.patch for source in model] == ["one", "two parts", "two parts"]
    one, gaussian, _ = model
    assert (one.ra_rad, one.dec_rad) == pytest.approx((math.radians(10.5), math.radians(-27.25)), rel=1e-15)
    assert one.stokes_jy == (2.0, 0.2, 0.0, 0.0) and one.ref_freq_hz == 2e8 and one.spectrum == (-0.8,)
    assert gaussian.gaussian == pytest.approx((210 * math.pi / 648000, 120 * math.pi / 648000, -math.pi / 6))
    assert not gaussian.shape_in_plane
    # S0 (nu/nu0)^si exp(q ln^2(nu/nu0)), and -0.8 for a list of one flux.
    x = math.log(230 / 150)
    expected = [2 * (230 / 200) ** -0.8, 3 * math.exp(-0.7 * x + 0.1 * x * x), 4 * (230 / 150) ** -0.8]
    np.testing.assert_allclose(stokes_i_at(model, 230e6), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("old", "new", "line", "message", "error"),
    [
        ("comp_type: point", "comp_type: {ring: {maj: 1}}", 5, "type ring are not supported", UnsupportedError),
        ("power_law:", "tabulated:", 7, "flux_type tabulated is not supported", UnsupportedError),
        ("    dec: -27.25\n", "", 3, "dec is missing", SkyModelError),
        ("ra: 10.5", "ra: ten", 3, "ra", SkyModelError),
        ("si: -0.8", "si: [1", 9, "not YAML", SkyModelError),
        ("ra: 10.5", "ra: [10.5, 1]", 3, "ra is a list, expected a number", SkyModelError),
        ("ra: 10.5", "ra: {a: 1}", 3, "ra is a mapping, expected a number", SkyModelError),
        ("ra: 10.5", "ra: 10.5\n    ra: 11", 4, "ra is given twice", SkyModelError),
        ("ra: 10.5", "[ra, dec]: 10.5", 3, "a list stands where a name is expected", SkyModelError),
        ("comp_type: point", "comp_type: [point]", 5, "comp_type is a list", SkyModelError),
        (
            "comp_type: point",
            "comp_type: {gaussian: {maj: 1, min: 1, pa: 0}, shapelet: {}}",
            5,
            "type gaussian, shapelet are not supported",
            UnsupportedError,
        ),
    ],
)
def test_errors_have_a_line(tmp_path, old, new, line, message, error):
    with pytest.raises(error, match=message) as caught:
        read(tmp_path, LIST.replace(old, new, 1))
    assert caught.value.line == line


def test_lists_as_json_are_recognised(tmp_path):
    law = {"power_law": {"si": -0.8, "fd": {"freq": 1e8, "i": 2.0}}}
    component = {"ra": 10.0, "dec": -27.0, "comp_type": "point", "flux_type": law}
    found = read(tmp_path, json.dumps({"s": [component]}))
    assert found["s"].stokes_jy == (2, 0, 0, 0) and found["s"].spectrum == (-0.8,)


def test_what_is_written_is_read(tmp_path):
    look = Shapelets(1e-3, 5e-4, -0.3, {(0, 0): 0.7, (1, 3): -0.2, (4, 2): 1e-5})
    model = SkyModel(
        (
            Source("1e5", 6.2, -1.5, (1.25, 0, 0, -0.5), 1.1e8, (-0.7,), patch="1e5"),
            Source("two: parts_0", 1.0, 0.5, (-2.0, 0, 0, 0), patch="two: parts", gaussian=(1e-4, 1e-4, 0.0)),
            Source("two: parts_1", 1.0, 0.6, (0.1, 0.2, 0.3, 0.4), 2e8, (-0.7, 0.1), patch="two: parts"),
            Source("ähnlich", -0.1, 0.0, (3.0, 0, 0, 0), 1.5e8, patch="ähnlich", shapelets=look.times(1 / look.flux)),
            Source("flat", 0.0, 0.0, (1.0, 0, 0, 0), patch="flat", shapelets=Shapelets(1, 1, 0, {(1, 0): 1.0})),
        )
    )
    file = tmp_path / "model.yaml"
    sky.write(model, file)
    back = sky.read(file)
    assert back.names == model.names
    assert all(a.isclose(b) for a, b in zip(model, back, strict=True))
    again = tmp_path / "again.yml"
    sky.write(back, again)
    assert again.read_text() == file.read_text()
    sky.write(model.without_patches().select(names=["flat"]), file)
    assert sky.read(file)[0].patch == "flat"
    assert len(sky.read(file)) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rm_rad_m2": 1.0}, "no rotation measures"),
        ({"spectrum": (1.0, 2.0, 3.0)}, "no spectra of more than"),
        ({"spectrum": (1.0,), "logarithmic": False}, "no spectra that are polynomials in Jy"),
        ({"spectrum": (1.0,), "spectrum_scales_polarisation": False}, "no polarisation that does not follow"),
        ({"gaussian": (1e-4, 1e-4, 0), "shape_in_plane": True}, "drawn on the sky"),
        ({"patch": "p"}, "calls the components of 'p' 'p'; write BBS, or drop patches"),
    ],
)
def test_what_lists_do_not_hold(change, message):
    source = Source("s", 0.1, 0.2, (1, 0.5, 0, 0), 1e8, **change)
    with pytest.raises(UnsupportedError, match=f"'s': .*{message}"):
        sky.WRITERS["hyperdrive"](SkyModel((source,)))
