"""Maps in HEALPix pixels: their pixels are points whose places, fluxes and angles astropy finds in its own way."""

import astropy.units as u
import astropy_healpix
import numpy as np
import pytest
from astropy.coordinates import SkyCoord
from astropy.io import fits

import rimetree as rt

SIDE = 4
COUNT = 12 * SIDE**2
BOLTZMANN_J_K, LIGHT_M_S = 1.380649e-23, 299792458.0
FRAMES = {"C": "icrs", "Q": "icrs", "G": "galactic", "E": "barycentricmeanecliptic"}


def healpix_file(path, columns, unit="Jy/pixel", **header):
    """Writes columns by name; `header` adds to the keywords, or takes those away that are None."""
    formats = {"i": "K", "f": "D"}
    table = fits.BinTableHDU.from_columns(
        [fits.Column(name, formats[np.asarray(of).dtype.kind], unit=unit, array=of) for name, of in columns.items()]
    )
    said = {"PIXTYPE": "HEALPIX", "ORDERING": "RING", "NSIDE": SIDE, "COORDSYS": "C", "INDXSCHM": "IMPLICIT"} | header
    table.header.update({key: value for key, value in said.items() if value is not None})
    table.writeto(path, overwrite=True)
    return path


def random_map(seed=1):
    return np.random.default_rng(seed).normal(size=COUNT)


def places(numbers, system="C", order="ring"):
    longitude, latitude = astropy_healpix.HEALPix(SIDE, order).healpix_to_lonlat(numbers)
    return SkyCoord(longitude, latitude, frame=FRAMES[system])


@pytest.mark.parametrize("order", ["RING", "NESTED", "NEST"])
@pytest.mark.parametrize("system", FRAMES)
def test_each_pixel_is_a_point(tmp_path, system, order):
    fluxes = random_map()
    sky = rt.sky.read(healpix_file(tmp_path / "m.fits", {"TEMPERATURE": fluxes}, COORDSYS=system, ORDERING=order))
    there = places(np.arange(COUNT), system, order.lower().removesuffix("ed") + "ed" * (order != "RING")).icrs
    assert sky.names == [f"pixel{k}" for k in range(COUNT)]
    np.testing.assert_allclose(sky.radec_rad, np.column_stack([there.ra.rad, there.dec.rad]), atol=1e-12)
    np.testing.assert_array_equal(sky.stokes_jy[:, 0], fluxes)
    assert not sky.spectrum.size


@pytest.mark.parametrize(
    ("unit", "kelvin"), [("K", 1.0), ("mK", 1e-3), ("Kelvin", 1.0), ("K_RJ", 1.0), ("uK", 1e-6), ("muK", 1e-6)]
)
def test_temperatures_are_those_of_all_frequencies(tmp_path, unit, kelvin):
    sky = rt.sky.read(healpix_file(tmp_path / "m.fits", {"TEMPERATURE": np.full(COUNT, 20.0)}, unit))
    ns = rt.NodeScope()
    seen = rt.sky_nodes(ns, sky, (0.0, 0.0))
    ns.V << rt.PSV(seen.lmn, seen.brightness, rt.Constant(np.zeros(3)), seen.shape)[0, 0]
    frequency_hz = np.array([1e8, 1.4e8])
    found = rt.Forest(ns).evaluate(ns.V, rt.Cells(freq_hz=frequency_hz, time_s=[0.0]))
    whole_sky = 4 * np.pi * 2e26 * BOLTZMANN_J_K * 20.0 * kelvin * frequency_hz**2 / LIGHT_M_S**2
    np.testing.assert_allclose(found.ravel(), whole_sky, rtol=1e-12)


def test_fluxes_of_a_solid_angle(tmp_path):
    sky = rt.sky.read(healpix_file(tmp_path / "m.fits", {"I": np.full(COUNT, 0.5)}, "MJy/sr"))
    assert sky.total_flux_jy == pytest.approx(0.5e6 * 4 * np.pi)


@pytest.mark.parametrize("convention", ["IAU", "COSMO", None])
@pytest.mark.parametrize("system", FRAMES)
def test_angles_of_polarisation_turn_with_the_frame(tmp_path, system, convention):
    angle = np.random.default_rng(2).uniform(0, np.pi, COUNT)
    columns = {
        "I_STOKES": np.full(COUNT, 3.0),
        "Q_STOKES": np.cos(2 * angle),
        "U_STOKES": (1 if convention == "IAU" else -1) * np.sin(2 * angle),
        "V_STOKES": np.full(COUNT, 0.25),
    }
    sky = rt.sky.read(healpix_file(tmp_path / "m.fits", columns, COORDSYS=system, POLCCONV=convention))
    there = places(np.arange(COUNT), system)
    # The direction of the electric field: towards a place an arcsecond away.
    away = there.directional_offset_by(angle * u.rad, 1 * u.arcsec)
    expected = there.icrs.position_angle(away.icrs).rad
    np.testing.assert_allclose(sky.stokes_jy[:, 1], np.cos(2 * expected), atol=1e-4)
    np.testing.assert_allclose(sky.stokes_jy[:, 2], np.sin(2 * expected), atol=1e-4)
    np.testing.assert_array_equal(sky.stokes_jy[:, 3], 0.25)


def test_parts_of_the_sky_and_pixels_without_data(tmp_path):
    fluxes = random_map()
    some = np.array([7, 100, 3, 50, 120])
    part = rt.sky.read(healpix_file(tmp_path / "m.fits", {"PIXEL": some, "SIGNAL": fluxes[some]}, INDXSCHM="EXPLICIT"))
    assert part.names == [f"pixel{k}" for k in some]
    whole = fluxes.copy()
    whole[[0, 1, 2]] = np.nan, -1.6375e30, 0.0
    left = rt.sky.read(healpix_file(tmp_path / "n.fits", {"SIGNAL": whole})).select(names=part.names)
    assert set(left.sources) == set(part.sources)
    marked = np.where(np.isnan(whole), -99.0, whole)
    marked[1] = -99.0
    found = rt.sky.read(healpix_file(tmp_path / "o.fits", {"SIGNAL": marked}, BAD_DATA=-99.0))
    assert found.names == [f"pixel{k}" for k in range(3, COUNT)]


def test_rows_may_hold_many_pixels_in_single_precision(tmp_path):
    fluxes = random_map().astype(np.float32)
    healpix_file(tmp_path / "m.fits", {"SIGNAL": fluxes.astype(float)})
    table = fits.BinTableHDU.from_columns(
        [fits.Column("SIGNAL", "32E", unit="Jy/pixel", array=fluxes.reshape(-1, 32))],
        header=fits.getheader(tmp_path / "m.fits", 1),
    )
    table.writeto(tmp_path / "n.fits")
    assert rt.sky.read(tmp_path / "n.fits").sources == rt.sky.read(tmp_path / "m.fits").sources


def test_columns_of_errors_are_left_out_if_asked_for(tmp_path):
    path = healpix_file(tmp_path / "m.fits", {"SIGNAL": random_map(), "HITS": random_map()})
    with pytest.raises(rt.Error, match="column 'HITS' is no Stokes parameter"):
        rt.sky.read(path)
    sky = rt.sky.read(path, skip_unsupported=True)
    assert len(sky) == COUNT and [one.what for one in sky.skipped] == ["column 'HITS'"]


@pytest.mark.parametrize(
    ("columns", "header", "message"),
    [
        ({}, {"COORDSYS": None}, r"COORDSYS is None, expected C \(equatorial\), G \(galactic\) or E \(ecliptic\)"),
        ({}, {"ORDERING": "NUNIQ"}, "pixels are in the order 'nuniq', expected ring or nested"),
        ({}, {"ORDERING": "NESTED", "NSIDE": 3}, "NSIDE is 3, expected a power of two, as pixels are in nested order"),
        ({}, {"NSIDE": None}, "NSIDE is None"),
        ({}, {"NSIDE": 8}, "192 pixels, expected 768: NSIDE is 8"),
        ({}, {"unit": "K_CMB"}, r"the map is in K_CMB, expected K \(brightness temperature, not K_CMB\)"),
        ({}, {"unit": ""}, "the map is in no unit"),
        ({}, {"unit": "Jy/beam"}, "the map is in Jy/beam"),
        ({}, {"BAD_DATA": "none"}, "BAD_DATA is no number: 'none'"),
        ({}, {"POLCCONV": "MINE"}, "POLCCONV is 'MINE'"),
        ({"SIGNAL": np.full(COUNT, np.inf)}, {}, "192 pixels are infinite, pixel 0 the first of them"),
        ({"Q_STOKES": random_map()}, {}, "of Stokes Q and U there is one only"),
        (None, {}, "the map has no columns"),
        ({}, {"INDXSCHM": "EXPLICIT"}, "the first column should hold the numbers of pixels"),
    ],
)
def test_what_is_no_map_is_told(tmp_path, columns, header, message):
    columns = {} if columns is None else {"SIGNAL": random_map(), **columns}
    path = healpix_file(tmp_path / "m.fits", columns, **{"unit": "K"} | header)
    with pytest.raises(rt.Error, match=message):
        rt.sky.read(path)


@pytest.mark.parametrize(
    ("numbers", "message"), [([3, 3], "a pixel is given twice"), ([0, 192], "pixels 0 to 192, expected 0 to 191")]
)
def test_numbers_of_pixels_are_looked_at(tmp_path, numbers, message):
    columns = {"PIXEL": np.array(numbers), "SIGNAL": np.ones(2)}
    with pytest.raises(rt.Error, match=message):
        rt.sky.read(healpix_file(tmp_path / "m.fits", columns, INDXSCHM="EXPLICIT"))
