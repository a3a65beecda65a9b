"""Model images: what they predict is the Fourier sum over their pixels, which a SIN projection has at known l and m."""

import gzip

import numpy as np
import pytest
from astropy.io import fits

import rimetree as rt
from rimetree.cli.options.models import SKY_FORMATS

CENTRE = (1.0, -0.5)
STEP_RAD = 2e-5
SHAPE = (40, 50)
LIGHT_M_S = 299792458.0


def image(path, planes, *, unit="JY/PIXEL", **header):
    """Writes planes [stokes, y, x] around CENTRE, which is at the pixel [20, 25]; `header` adds to the keywords."""
    one = fits.PrimaryHDU(np.asarray(planes, np.float32)[:, None])
    step = np.degrees(STEP_RAD)
    one.header.update({"CTYPE1": "RA---SIN", "CRPIX1": 26.0, "CDELT1": -step, "CRVAL1": np.degrees(CENTRE[0])})
    one.header.update({"CTYPE2": "DEC--SIN", "CRPIX2": 21.0, "CDELT2": step, "CRVAL2": np.degrees(CENTRE[1])})
    one.header.update({"CTYPE3": "FREQ", "CRPIX3": 1.0, "CDELT3": 1e6, "CRVAL3": 1.4e9})
    one.header.update({"CTYPE4": "STOKES", "CRPIX4": 1.0, "CDELT4": 1.0, "CRVAL4": 1.0, "BUNIT": unit} | header)
    one.writeto(path, overwrite=True)
    return path


def components(n_stokes=1):
    planes = np.zeros((n_stokes, *SHAPE))
    rng = np.random.default_rng(4)
    for y, x in [(20, 25), (3, 47), (38, 2), (19, 30)]:
        planes[:, y, x] = rng.normal(size=n_stokes)
    return planes


def visibilities(planes, uvw_m, frequency_hz):
    """[row, 4]: XX, XY, YX, YY."""
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]]
    l, m = -(x - 25) * STEP_RAD, (y - 20) * STEP_RAD  # noqa: E741
    n = np.sqrt(1 - l**2 - m**2)
    turns = np.einsum("rk,kyx->ryx", uvw_m, [l, m, n - 1]) * frequency_hz / LIGHT_M_S
    i, q, u, v = (np.einsum("ryx,yx->r", np.exp(2j * np.pi * turns), plane) for plane in planes)
    return np.stack([i + q, u + 1j * v, u - 1j * v, i - q], axis=1)


@pytest.mark.parametrize("n_stokes", [1, 2, 4])
def test_each_pixel_is_a_point(tmp_path, n_stokes):
    planes = np.asarray(components(n_stokes), np.float32).astype(float)
    sky = rt.sky.read(image(tmp_path / "m.fits", planes))
    assert sorted(sky.names) == ["x26y21", "x31y20", "x3y39", "x48y4"]
    uvw = np.random.default_rng(1).normal(size=(20, 3)) * 1000
    ns = rt.NodeScope()
    seen = rt.sky_nodes(ns, sky, CENTRE)
    ns.V << rt.PSV(seen.lmn, seen.brightness, rt.Constant(uvw.T, cells_rank=1), seen.shape)
    found = rt.Forest(ns).evaluate(ns.V, rt.Cells(freq_hz=[1.4e9], time_s=np.arange(20.0)))[..., 0]
    expected = visibilities(np.concatenate([planes, np.zeros((4 - n_stokes, *SHAPE))]), uvw, 1.4e9)
    np.testing.assert_allclose(found.reshape(4, -1).T, expected, atol=1e-9)


def test_images_may_be_packed_by_gzip(tmp_path):
    plain = image(tmp_path / "m.fits", components())
    packed = tmp_path / "m.fits.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert rt.sky.read(packed).sources == rt.sky.read(plain).sources
    packed.write_bytes(packed.read_bytes()[:20])
    with pytest.raises(rt.Error, match="cannot read the sky model"):
        rt.sky.read(packed)


def test_axes_may_be_in_any_order_or_left_out(tmp_path):
    planes = components()
    expected = rt.sky.read(image(tmp_path / "m.fits", planes))
    with fits.open(tmp_path / "m.fits") as units:
        header, data = units[0].header.copy(), units[0].data
    names = ("CTYPE", "CRPIX", "CDELT", "CRVAL")
    values = [{name: header[f"{name}{axis}"] for name in names} for axis in range(1, 5)]
    for order in [(1, 0, 2, 3), (2, 0, 3, 1), (0, 1)]:
        one = fits.PrimaryHDU(np.squeeze(data).transpose(1, 0) if order[0] == 1 else np.squeeze(data))
        if len(order) == 4:
            # FITS axis k + 1, the k-th from the end in NumPy, is what was order[k] + 1.
            one = fits.PrimaryHDU(np.transpose(data, [3 - axis for axis in order][::-1]))
        for axis, what in enumerate(order, 1):
            one.header.update({f"{name}{axis}": values[what][name] for name in names})
        one.header["BUNIT"] = "Jy/pixel"
        one.writeto(tmp_path / "other.fits", overwrite=True)
        found = rt.sky.read(tmp_path / "other.fits")
        places = {tuple(np.round(one, 12)) for one in np.column_stack([found.radec_rad, found.stokes_jy]).tolist()}
        wanted = {
            tuple(np.round(one, 12)) for one in np.column_stack([expected.radec_rad, expected.stokes_jy]).tolist()
        }
        assert places == wanted, order


def test_steps_as_a_cd_matrix(tmp_path):
    """Where there is one CDELT does not count, as for positions: frequencies were 1e6 times as far apart."""
    cube = fits.PrimaryHDU(np.array([1.0, 2.0], np.float32)[:, None, None] * np.eye(4, dtype=np.float32))
    for axis, kind, value, step in [(1, "RA---SIN", 10.0, -0.01), (2, "DEC--SIN", 20.0, 0.01), (3, "FREQ", 1.4e9, 1e6)]:
        cube.header.update({f"CTYPE{axis}": kind, f"CRVAL{axis}": value, f"CRPIX{axis}": 1.0, f"CDELT{axis}": step})
        cube.header[f"CD{axis}_{axis}"] = step
    cube.header["BUNIT"] = "Jy/pixel"
    for name in ("both", "cd"):
        cube.writeto(tmp_path / f"{name}.fits")
        del cube.header["CDELT*"]
    both, cd = (rt.sky.read(tmp_path / f"{name}.fits") for name in ("both", "cd"))
    assert both.sources == cd.sources and len(both) == 4
    assert both[0].ref_freq_hz == 1.401e9
    np.testing.assert_allclose(both.radec_rad[0], np.radians([10.0, 20.0]), rtol=1e-12)


def test_blank_pixels_and_empty_images_hold_nothing(tmp_path):
    planes = components()
    planes[0, :, :2] = np.nan
    assert len(rt.sky.read(image(tmp_path / "m.fits", planes))) == 4
    assert len(rt.sky.read(image(tmp_path / "m.fits", 0 * components()))) == 0


def test_infinite_pixels_are_refused(tmp_path):
    """They had been left out like blank ones, without a word."""
    planes = components()
    planes[0, 3, 47] = np.inf
    with pytest.raises(rt.sky.SkyModelError, match="1 pixels are infinite, x48y4 the first of them"):
        rt.sky.read(image(tmp_path / "m.fits", planes))


@pytest.mark.parametrize("unit, scale", [("Jy pixel-1", 1.0), ("mJy / pix", 1e-3), ("uJy.pix**-1", 1e-6)])
def test_units_come_in_all_ways_of_fits(tmp_path, unit, scale):
    planes = np.float32(components()).astype(float)
    found = rt.sky.read(image(tmp_path / "m.fits", planes, unit=unit)).stokes_jy[:, 0]
    np.testing.assert_allclose(found, scale * planes[planes != 0], rtol=1e-12)


@pytest.mark.parametrize("n_freq", [1, 8])
def test_rounding_of_fourier_transforms_is_left_out(tmp_path, n_freq):
    """Cleaning with several scales leaves it in all pixels: 2000 sources where there are 4, with spectra that no
    polynomial follows."""
    noise = 1e-11 * np.random.default_rng(5).normal(size=(n_freq, *SHAPE))
    planes = np.where(components() == 0, noise, components())
    sky = rt.sky.read(cube(tmp_path / "m.fits", planes, CDELT4=1e7))
    assert sorted(sky.names) == ["x26y21", "x31y20", "x3y39", "x48y4"]
    (left_out,) = sky.skipped
    assert left_out.what == "1996 pixels" and "of the brightest, as rounding is" in str(left_out)


def test_what_is_more_than_rounding_stays(tmp_path):
    """Single pixels, and those that are something together: a sky of 2000 pixels that are 1.2e-4 of the flux."""
    planes = components()
    planes[0, 5, 5] = 1e-7 * planes.max()
    assert "x6y6" in rt.sky.read(image(tmp_path / "m.fits", planes)).names
    sky = rt.sky.read(image(tmp_path / "m.fits", np.where(components() == 0, 5e-8 * planes.max(), components())))
    left_out = np.prod(SHAPE) - len(sky)
    assert left_out == int(sky.skipped[0].what.split()[0]) and 100 < left_out < 1000


@pytest.mark.parametrize(
    "header, message",
    [
        ({"unit": "JY/BEAM"}, "in JY/BEAM, expected Jy/pixel"),
        ({"unit": ""}, "in no unit, expected Jy/pixel"),
        ({"unit": "MJY/PIXEL"}, "in MJY/PIXEL, expected Jy/pixel"),  # milli or mega
        ({"CTYPE1": "GLON-SIN"}, "no axes of right ascension and declination: GLON-SIN"),
        ({"CRVAL4": -5.0}, r"planes of STOKES -5 .XX., expected 1 to 4"),
        ({"EQUINOX": 1950.0}, "in the frame FK4 of equinox 1950; expected ICRS, or FK5 of equinox 2000"),
        ({"EPOCH": 1950.0}, "in the frame FK4 of equinox 1950; expected ICRS"),
        ({"RADESYS": "FK5", "EQUINOX": 1975.0}, "in the frame FK5 of equinox 1975"),
        ({"RADESYS": "GAPPT"}, "in the frame GAPPT; expected ICRS"),
        ({"CRVAL3": "a"}, "m.fits: CRVAL3 is no number: 'a'"),
        ({"CDELT1": 0.0}, "does not say where pixels are: PCi_ja matrix is singular"),
        ({"CTYPE1": "RA---XYZ"}, "does not say where pixels are: Unrecognized projection code"),
    ],
)
def test_what_is_no_model_is_refused(tmp_path, header, message):
    path = image(tmp_path / "m.fits", components(), **header)
    with pytest.raises(rt.sky.SkyModelError, match=message):
        rt.sky.read(path)


@pytest.mark.parametrize("header", [{"RADESYS": "ICRS"}, {"RADESYS": "FK5", "EQUINOX": 2000.0}, {"EPOCH": 2000.0}])
def test_frames_of_sets_are_taken(tmp_path, header):
    found = rt.sky.read(image(tmp_path / "m.fits", components(), **header))
    plain = rt.sky.read(image(tmp_path / "n.fits", components()))
    np.testing.assert_array_equal(found.radec_rad, plain.radec_rad)


def test_planes_that_do_not_go_together_are_refused(tmp_path):
    planes = components(4)
    path = image(tmp_path / "m.fits", planes, CDELT4=0.0)
    with pytest.raises(rt.sky.SkyModelError, match="planes of STOKES 1, 1, 1, 1: some are the same"):
        rt.sky.read(path)
    planes[3, 3, 47] = np.nan
    with pytest.raises(rt.sky.SkyModelError, match=r"1 pixels are blank in some planes .* x48y4 the first"):
        rt.sky.read(image(path, planes))
    one = fits.ImageHDU(components()[0])
    fits.HDUList([fits.PrimaryHDU(), one, one]).writeto(path, overwrite=True)
    with pytest.raises(rt.sky.SkyModelError, match="holds 2 images, expected one"):
        rt.sky.read(path)


@pytest.mark.parametrize("turn_deg", [0.0, 25.0])
def test_matrices_of_axes_turn_places(tmp_path, turn_deg):
    sine, cosine = np.sin(np.radians(turn_deg)), np.cos(np.radians(turn_deg))
    step = np.degrees(STEP_RAD)
    matrix = {"CD1_1": -step * cosine, "CD1_2": step * sine, "CD2_1": step * sine, "CD2_2": step * cosine}
    path = image(tmp_path / "m.fits", components(), **matrix, CD3_3=1e6, CD4_4=1.0)
    with fits.open(path, mode="update") as units:
        for axis in range(1, 5):
            del units[0].header[f"CDELT{axis}"]
    sky = rt.sky.read(path)
    for name, place in zip(sky.names, sky.radec_rad, strict=True):
        x, y = (int(number) - first for number, first in zip(name[1:].split("y"), (26, 21), strict=True))
        east, north = (-x * cosine + y * sine) * STEP_RAD, (x * sine + y * cosine) * STEP_RAD
        to_ra, (dec, dec_0) = place[0] - CENTRE[0], (place[1], CENTRE[1])
        found = np.cos(dec) * np.sin(to_ra), np.sin(dec) * np.cos(dec_0) - np.cos(dec) * np.sin(dec_0) * np.cos(to_ra)
        np.testing.assert_allclose(found, (east, north), atol=1e-13)


FREQUENCY_HZ = 1.4e9 + 1e8 * np.arange(5)


def cube(path, planes, **header):
    """Planes [freq, y, x] of Stokes I."""
    given = {"CTYPE4": "FREQ", "CRVAL4": 1.4e9, "CDELT4": 1e8, "CTYPE3": "STOKES", "CRVAL3": 1.0, "CDELT3": 1.0}
    return image(path, planes, **(given | header))


def polynomial(order):
    """[freq, y, x]: of each component a polynomial of frequency, of order 0 for one of them."""
    rng = np.random.default_rng(3)
    slope = (FREQUENCY_HZ / 1.6e9 - 1)[:, None, None]
    planes = sum(components() * rng.normal(size=SHAPE) * slope**k for k in range(order + 1))
    planes[:, 20, 25] = 0.7
    return planes


def seen(sky, frequency_hz):
    """{name: flux}"""
    from rimetree.sky_fluxes import stokes_at

    return dict(zip(sky.names, stokes_at(sky, frequency_hz)[:, 0], strict=True))


@pytest.mark.parametrize("order", [0, 1, 2, 4])
def test_planes_of_several_frequencies_are_spectra(tmp_path, order):
    """Of the lowest order that goes through them, also between planes; in one file, or in a file each."""
    planes = polynomial(order)
    sky = rt.sky.read(cube(tmp_path / "cube.fits", planes))
    assert max(len(source.spectrum) for source in sky) == order
    found = seen(sky, FREQUENCY_HZ)
    for name, (x, y) in {"x26y21": (25, 20), "x48y4": (47, 3), "x3y39": (2, 38), "x31y20": (30, 19)}.items():
        np.testing.assert_allclose(found[name], planes[:, y, x], atol=1e-6)
    for k, plane in enumerate(planes):
        image(tmp_path / f"field-{k:04}-model.fits", plane[None], CRVAL3=FREQUENCY_HZ[k], CDELT3=1e7)
    apart = rt.sky.read(tmp_path / "field-0*-model.fits")
    for name, flux in seen(apart, FREQUENCY_HZ).items():
        np.testing.assert_allclose(flux, found[name], atol=1e-6)
    if order == 2:
        nearest = seen(sky, [1.55e9])
        at = 1.55 / 1.6 - 1
        expected = np.polynomial.Polynomial.fit(FREQUENCY_HZ / 1.6e9 - 1, planes[:, 3, 47], 2)(at)
        np.testing.assert_allclose(nearest["x48y4"], expected, atol=1e-6)


def test_planes_through_which_no_polynomial_goes_are_tables(tmp_path):
    planes = np.concatenate([polynomial(1), polynomial(1)])
    planes[:, 3, 47] = np.random.default_rng(2).normal(size=10)
    at_hz = 1.4e9 + 1e7 * np.arange(10)
    sky = rt.sky.read(cube(tmp_path / "a.fits", planes, CDELT4=1e7))
    assert sky.has_table.all()
    between = 0.5 * (at_hz[1:] + at_hz[:-1])
    for name, (x, y) in {"x26y21": (25, 20), "x48y4": (47, 3)}.items():
        np.testing.assert_allclose(seen(sky, at_hz)[name], planes[:, y, x], atol=1e-6)
        expected = 0.5 * (planes[1:, y, x] + planes[:-1, y, x])
        np.testing.assert_allclose(seen(sky, between)[name], expected, atol=1e-6)


def test_polarised_planes_of_several_frequencies_are_tables(tmp_path):
    from rimetree.sky_fluxes import stokes_at

    both = np.stack([polynomial(1), 0.1 * polynomial(2)], axis=1)
    both[:, :, 5, 6] = [0, 0.3]  # of Q alone
    one = fits.PrimaryHDU(np.asarray(both, np.float32))
    with fits.open(cube(tmp_path / "a.fits", polynomial(1))) as units:
        one.header.update({k: v for k, v in units[0].header.items() if k[:5] in ("CTYPE", "CRVAL", "CDELT", "CRPIX")})
    one.header["BUNIT"] = "Jy/pixel"
    one.writeto(tmp_path / "b.fits")
    sky = rt.sky.read(tmp_path / "b.fits")
    found = dict(zip(sky.names, stokes_at(sky, FREQUENCY_HZ), strict=True))
    for name, (x, y) in {"x26y21": (25, 20), "x48y4": (47, 3), "x7y6": (6, 5)}.items():
        np.testing.assert_allclose(found[name][:2].T, both[:, :, y, x], atol=1e-6)
        assert not found[name][2:].any()


def test_planes_of_frequencies_that_do_not_go_together_are_refused(tmp_path):
    planes = polynomial(1)
    for header, said in (
        ({"CDELT4": 0.0}, "planes have the same frequency"),
        ({"CUNIT4": "m/s"}, "frequencies are in m/s, expected Hz"),
    ):
        with pytest.raises(rt.sky.SkyModelError, match=said):
            rt.sky.read(cube(tmp_path / "a.fits", planes, **header))
    image(tmp_path / "c-0.fits", planes[:1])
    image(tmp_path / "c-1.fits", planes[1:2], CRVAL1=57.0, CRVAL3=1.5e9)
    with pytest.raises(rt.sky.SkyModelError, match=r"its pixels or its planes of STOKES are not those of .*c-0\.fits"):
        rt.sky.read(tmp_path / "c-?.fits")
    image(tmp_path / "c-1.fits", planes[1:2], CRVAL4=2.0, CRVAL3=1.5e9)  # the same pixels, of Q
    with pytest.raises(rt.sky.SkyModelError, match=r"its pixels or its planes of STOKES are not those of .*c-0\.fits"):
        rt.sky.read(tmp_path / "c-?.fits")
    (tmp_path / "c-2.fits").write_text("a b c")
    with pytest.raises(rt.sky.SkyModelError, match="no model image; only these are read by names with wildcards"):
        rt.sky.read(tmp_path / "c-*.fits")
    with pytest.raises(rt.sky.SkyModelError, match="there are no files of such names"):
        rt.sky.read(tmp_path / "d-*.fits")


def test_cubes_and_damaged_files_are_refused(tmp_path):
    path = image(tmp_path / "m.fits", components(3), CTYPE4="VELO", CTYPE3="STOKES", CDELT3=1.0, CRVAL3=1.0)
    with pytest.raises(rt.sky.UnsupportedError, match="3 planes along VELO, expected planes of FREQ and STOKES"):
        rt.sky.read(path)
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(rt.sky.SkyModelError, match=r"no FITS image that can be read|no image"):
        rt.sky.read(path)
    with pytest.raises(rt.sky.SkyModelError, match="no FITS image that can be read"):
        (tmp_path / "text.sky").write_text("a b c")
        rt.sky.read(tmp_path / "text.sky", "fits")
    with pytest.raises(rt.sky.SkyModelError, match="are of images, which is read but not written"):
        rt.sky.write(rt.sky.SkyModel(()), tmp_path / "x.fits")


def test_commands_know_all_formats():
    assert list(SKY_FORMATS.choices) == list(rt.sky.READERS)
