"""Dirty images: known sources in their places and with their fluxes, FITS as astropy reads it, flags and weights."""

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest
from astropy import units as u
from astropy.coordinates import SkyCoord
from astropy.io import fits
from astropy.wcs import WCS

import rimetree as rt
from rimetree import plots
from rimetree.plots.peaks import extremum
from rimetree.sky_fluxes import stokes_i_at

CENTRE = (math.radians(150.0), math.radians(-30.0))
ARCMIN = math.radians(1 / 60)


def sky_at(*offsets, centre=CENTRE):
    """A model of points (east, north) in arcmin from the centre (on the sphere), with fluxes in Jy."""
    middle = SkyCoord(*centre, unit="rad")
    sources = []
    for number, (east, north, flux) in enumerate(offsets):
        place = middle.spherical_offsets_by(east * u.arcmin, north * u.arcmin)
        sources.append(rt.sky.Source(f"s{number}", place.ra.rad, place.dec.rad, (flux, 0.0, 0.0, 0.0)))
    return rt.sky.SkyModel(tuple(sources))


def simulated(path, sky, telescope="meerkat", **changes):
    options = {
        "phase_centre_rad": CENTRE,
        "duration_s": 1200.0,
        "integration_s": 240.0,
        "bands": rt.ms.Band.regular(1.3e9, 4e6, 2),
        "correlations": "XX YY",
    }
    rt.ms.create(path, telescope, **{**options, **changes})
    ns = rt.NodeScope()
    (group,) = rt.ms.groups(path)
    rt.psv_tree(ns, sky, CENTRE, group.baselines, feed=group.feed, smearing=False)
    rt.Forest(ns).run(path)
    return str(path)


@pytest.fixture(scope="module")
def field(tmp_path_factory):
    """(set, sky): one bright source far off the axes' symmetry, three fainter ones."""
    sky = sky_at((20.0, 5.0, 2.0), (-12.0, 16.0, 1.0), (-3.0, -18.0, 1.5), (9.0, -9.0, 1.2))
    return simulated(tmp_path_factory.mktemp("field") / "field.ms", sky), sky


@pytest.mark.parametrize("robust", [None, 0.0])
def test_sources_stand_where_they_should(field, robust):
    path, sky = field
    image = plots.dirty_image(path, "MODEL_DATA", size=1024, scale_rad=ARCMIN / 20, robust=robust, psf=True)
    assert image.psf[1024, 1024] == pytest.approx(1, abs=1e-5)
    assert np.unravel_index(image.data_jy.argmax(), image.data_jy.shape) == tuple(
        np.rint(image.pixels(sky.radec_rad)[0][::-1]).astype(int)
    )
    for peak in plots.compare_peaks(image, sky):
        assert peak.offset_beams < 0.05 and peak.of is None
        assert peak.peak_jy == pytest.approx(peak.expected_jy, rel=0.02)
        assert peak.peak_jy == pytest.approx(peak.model_jy, rel=0.1)  # sidelobes of the others


def test_an_extended_source_shows_what_its_beam_makes_of_it(tmp_path):
    point, probe = sky_at((2.0, 1.0, 2.0), (2.0 + 0.3 * math.sin(0.6), 1.0 + 0.3 * math.cos(0.6), 1e-9))
    shape = (math.radians(40 / 3600), math.radians(15 / 3600), 0.6)  # probe: on its major axis, 18 arcsec away
    sky = rt.sky.SkyModel((dataclasses.replace(point, gaussian=shape), probe))
    image = plots.dirty_image(
        simulated(tmp_path / "g.ms", sky), "MODEL_DATA", size=256, scale_rad=ARCMIN / 40, psf=True
    )
    peak, beside = plots.compare_peaks(image, sky)
    assert (peak.of, beside.of) == (None, "s0")
    assert peak.peak_jy < 1.2
    assert peak.expected_jy == pytest.approx(peak.peak_jy, rel=0.01)
    x, y = np.rint(image.pixels(sky.radec_rad)[1]).astype(int)
    assert beside.expected_jy == pytest.approx(image.data_jy[y, x], rel=0.05)  # half a pixel away
    assert beside.expected_jy > 1.1 * image.data_jy[y, 2 * round(image.pixels(sky.radec_rad)[0, 0]) - x]  # mirrored


def test_uniform_weights_make_the_beam_sharper(field):
    path, _ = field
    natural = plots.dirty_image(path, "MODEL_DATA", size=256)
    uniform = plots.dirty_image(path, "MODEL_DATA", size=256, robust=-2.0)
    assert uniform.beam.major_rad < 0.9 * natural.beam.major_rad
    almost_natural = plots.dirty_image(path, "MODEL_DATA", size=256, robust=2.0)
    assert almost_natural.beam.major_rad == pytest.approx(natural.beam.major_rad, rel=0.1)


@pytest.mark.parametrize(("frame", "astropy_frame"), [("J2000", "fk5"), ("ICRS", "icrs")])
def test_fits_places_sources_right(field, tmp_path, frame, astropy_frame):
    path, sky = field
    if frame == "ICRS":
        path = simulated(tmp_path / "icrs.ms", sky, frame=frame)
    (group,) = rt.ms.groups(path)
    assert group.frame == frame
    np.testing.assert_allclose(group.phase_centre_rad, CENTRE, rtol=1e-15)  # as given in either frame
    image = plots.dirty_image(path, "MODEL_DATA", size=1024, scale_rad=ARCMIN / 20)
    plots.write_fits(image, tmp_path / "a.fits")
    with fits.open(tmp_path / "a.fits") as hdus:
        header, data = hdus[0].header, hdus[0].data[0, 0]
    assert header["BUNIT"] == "JY/BEAM"
    assert header["CRVAL3"] == pytest.approx(1.3e9)
    assert header["BMAJ"] == pytest.approx(math.degrees(image.beam.major_rad))
    y, x = np.unravel_index(data.argmax(), data.shape)
    found = WCS(header).celestial.pixel_to_world(x, y)
    assert found.frame.name == astropy_frame
    source = SkyCoord(*sky.radec_rad[0], unit="rad", frame=astropy_frame)
    assert found.separation(source) < 0.75 * image.scale_rad * u.rad
    assert found.ra > SkyCoord(*CENTRE, unit="rad").ra  # east is to the left
    assert x < 512
    places = SkyCoord(*sky.radec_rad.T, unit="rad", frame=astropy_frame)
    place = WCS(header).celestial.world_to_pixel(places)
    np.testing.assert_allclose(np.column_stack(place), image.pixels(sky.radec_rad), atol=1e-6)


def test_the_brightest_are_compared_with_what_all_add_up_to(field):
    path, sky = field
    shape = (math.radians(20 / 3600), math.radians(10 / 3600), 0.4)
    shaped = rt.sky.SkyModel(
        tuple(dataclasses.replace(one, gaussian=shape if one.name == "s1" else None) for one in sky)
    )
    image = plots.dirty_image(path, "MODEL_DATA", size=256, scale_rad=ARCMIN / 5, psf=True)
    every = plots.compare_peaks(image, shaped)
    assert [peak.name for peak in every] == sky.names
    assert plots.compare_peaks(image, shaped, 2) == [every[0], every[2]]
    assert plots.compare_peaks(image, shaped, 0) == []
    assert plots.compare_peaks(image, shaped, 9) == every


def test_w_of_a_wide_field(tmp_path):
    # 8 degrees from the phase centre w (n-1) is some turns: a wrong sign of w, or none, loses the source.
    sky = sky_at((480.0, 30.0, 1.0))
    path = simulated(tmp_path / "wide.ms", sky, "kat-7", start_hour_angle_rad=-1.2)
    image = plots.dirty_image(path, "MODEL_DATA", size=512, scale_rad=2 * ARCMIN)
    (peak,) = plots.compare_peaks(image, sky)
    assert peak.peak_jy == pytest.approx(1, rel=0.05)  # the beam has but two pixels at this scale
    assert math.hypot(*peak.offset_rad) < 0.3 * image.scale_rad


def test_circular_feeds_and_stokes_i_of_two_hands(tmp_path):
    sky = sky_at((2.0, 1.0, 1.0))
    path = simulated(tmp_path / "c.ms", sky, "vla-d", correlations=None, start_hour_angle_rad=0.0)
    image = plots.dirty_image(path, "MODEL_DATA", size=256)
    (peak,) = plots.compare_peaks(image, sky)
    assert peak.peak_jy == pytest.approx(1, rel=0.01)


@pytest.mark.parametrize("kind", ["steep", "list"])
def test_wide_bands_are_compared_in_the_mean_of_their_channels(tmp_path, kind):
    """They were compared at the middle frequency: 2.0 Jy expected where perfect data have 2.5."""
    at = {"name": "a", "ra_rad": CENTRE[0], "dec_rad": CENTRE[1], "ref_freq_hz": 1e9}
    if kind == "steep":
        source = rt.sky.Source(stokes_jy=(2.0, 0, 0, 0), spectrum=(-2.0,), **at)
    else:
        table = rt.sky.FluxTable([5e8, 1e9, 1.5e9], [0.5, 2.0, 0.1], power_laws=True)
        source = rt.sky.Source(stokes_jy=(2.0, 0, 0, 0), table=table, **at)
    sky = rt.sky.SkyModel((source,))
    band = rt.ms.Band.regular(1e9, 900e6, 9)
    path = simulated(tmp_path / "a.ms", sky, "kat-7", bands=band)
    image = plots.dirty_image(path, "MODEL_DATA", size=128, psf=True)
    (peak,) = plots.compare_peaks(image, sky)
    expected = np.mean([stokes_i_at(sky, frequency)[0] for frequency in band.frequency_hz])
    assert peak.model_jy == pytest.approx(expected, rel=1e-6) == peak.expected_jy
    assert peak.peak_jy == pytest.approx(expected, rel=1e-4)
    assert image.bandwidth_hz == pytest.approx(900e6) and image.channel_weight.sum() == pytest.approx(1)
    some = plots.dirty_image(
        path, "MODEL_DATA", size=128, selection=rt.ms.Selection(channels=((0, 1), (8, 9))), psf=True
    )
    (peak,) = plots.compare_peaks(some, sky)
    assert peak.peak_jy == pytest.approx(peak.expected_jy, rel=1e-4)
    assert plots.image_files.fits_header(image)["CDELT3"] == pytest.approx(900e6)


@pytest.mark.parametrize(("hand", "flux_jy", "number"), [("XX", 3.0, -5.0), ("YY", 1.0, -6.0), ("XX YY", 2.0, 1.0)])
def test_an_image_of_one_hand_is_told_as_such(tmp_path, hand, flux_jy, number):
    """It was called Stokes I, and compared with it."""
    sky = rt.sky.SkyModel((rt.sky.Source("a", *CENTRE, (2.0, 1.0, 0, 0)),))
    path = simulated(tmp_path / "a.ms", sky, "kat-7", correlations=hand)
    image = plots.dirty_image(path, "MODEL_DATA", size=128, psf=True)
    (peak,) = plots.compare_peaks(image, sky)
    assert peak.model_jy == pytest.approx(flux_jy) and peak.peak_jy == pytest.approx(flux_jy, rel=1e-4)
    assert image.quantity == (hand if " " not in hand else "Stokes I")
    assert plots.image_files.fits_header(image)["CRVAL4"] == number


def test_gaussian_beam_is_fitted(field):
    path, _ = field
    image = plots.dirty_image(path, "MODEL_DATA", size=512, psf=True)
    # Half of the maximum is where the fit says, along both axes of the ellipse.
    for width, turn in ((image.beam.major_rad, 0.0), (image.beam.minor_rad, math.pi / 2)):
        angle = image.beam.angle_rad + turn
        x = 512 - width / 2 * math.sin(angle) / image.scale_rad
        y = 512 + width / 2 * math.cos(angle) / image.scale_rad
        assert image.psf[round(y), round(x)] == pytest.approx(0.5, abs=0.12)


def test_png_shows_the_image_and_is_whole_or_absent(field, tmp_path):
    path, sky = field
    image = plots.dirty_image(path, "MODEL_DATA", size=128)
    plots.write_png(image, tmp_path / "a.png", sky=sky)
    data = (tmp_path / "a.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    assert data.endswith(b"IEND\xaeB`\x82")
    with pytest.raises(OSError, match="no folder"):
        plots.write_png(image, tmp_path / "missing" / "a.png")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.png"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"column": "NOTHING"}, "no column of visibilities NOTHING; columns of visibilities are: DATA, MODEL_DATA"),
        ({"size": 33}, "size must be even"),
        ({"scale_rad": 0.03}, "beyond the horizon"),
        ({"robust": 3.0}, "between -2"),
        ({"field_id": 4}, "no FIELD_ID 4"),
    ],
)
def test_what_cannot_be_imaged_is_refused(field, options, message):
    with pytest.raises(rt.Error, match=message):
        plots.dirty_image(field[0], **{"column": "MODEL_DATA", "size": 64, **options})


def test_several_fields_must_be_chosen_from(small_ms):
    with pytest.raises(rt.Error, match="several fields"):
        plots.dirty_image(small_ms(n_field=2), "DATA", size=64)
    image = plots.dirty_image(small_ms("b.ms", n_field=2), "DATA", size=64, field_id=1)
    assert image.field_name == "field1"
    assert not image.data_jy.any()


def test_labels_hide_no_source_and_no_other_label():
    from rimetree.plots.image_files import places_of_labels

    rng = np.random.default_rng(5)
    frame = (0.0, 0.0, 400.0, 350.0)
    # A bright source among many whose names would lie over it.
    marked = np.vstack([[200.0, 175.0], rng.uniform([150, 150], [260, 200], (12, 2)), rng.uniform(0, 340, (30, 2))])
    names = [f"J0332-27{n:02d}" for n in range(len(marked))]
    flux = np.concatenate([[100.0], np.linspace(1, 2, len(marked) - 1)])
    found = places_of_labels(marked, names, flux, frame)
    assert found[0][0] == 0  # the brightest chooses first
    assert 20 < len(found) < len(names)
    boxes = []
    for index, (dx, dy) in found:
        x, y = marked[index] + (dx, dy)
        boxes.append((x, y, x + 0.6 * 7 * len(names[index]), y + 7))
    for number, (x0, y0, x1, y1) in enumerate(boxes):
        assert x0 >= 0 and y0 >= 0 and x1 <= 400 and y1 <= 350
        nearest = np.clip(marked, (x0, y0), (x1, y1))
        assert (np.hypot(*(nearest - marked).T) >= 5.5).all()  # half of a circle of 11 points
        for a0, b0, a1, b1 in boxes[:number]:
            assert x1 <= a0 or a1 <= x0 or y1 <= b0 or b1 <= y0
    assert places_of_labels(marked[:1], ["x" * 200], flux[:1], frame) == []


def test_a_peak_is_no_less_than_its_pixel():
    """Of pixels as large as the beam 7.7 Jy/beam were said of a source of 10: the fit of 3 x 3 pixels was far off."""
    y, x = np.mgrid[-1:2, -1:2]
    steep = 0.05 + 0.95 * np.exp(-3.0 * (x**2 + y**2))  # a core and a pedestal
    for value in (steep, -steep):
        image = np.zeros((8, 8))
        image[3:6, 3:6] = 10 * value
        found = extremum(SimpleNamespace(data_jy=image, size=8), np.array([4.0, 4.0]), 1.5, np.sign(value[1, 1]))
        assert found == pytest.approx((4.0, 4.0, 10 * value[1, 1]), rel=1e-9)
    exact = np.exp(-0.4 * ((x - 0.3) ** 2 + (y + 0.2) ** 2))  # logarithms that are quadratic
    image[3:6, 3:6] = exact
    found = extremum(SimpleNamespace(data_jy=image, size=8), np.array([4.0, 4.0]), 1.5, 1.0)
    assert found == pytest.approx((4.3, 3.8, 1.0), rel=1e-9)


def test_shapelets_are_expected_where_they_are(tmp_path):
    """A lopsided source, and a faint point in it, at the middle of a pixel."""
    look = rt.sky.Shapelets(6 * ARCMIN, 3 * ARCMIN, 0.5, {(0, 0): 1.0, (1, 0): 0.8, (0, 1): -0.5})
    lopsided = dataclasses.replace(sky_at((0.0, 0.0, 2.0))[0], shapelets=look)
    point = dataclasses.replace(sky_at((2.0, 3.0, 1e-6))[0], name="point")
    sky = rt.sky.SkyModel((lopsided, point))
    path = simulated(tmp_path / "lopsided.ms", sky, "kat-7")
    image = plots.dirty_image(path, "MODEL_DATA", size=256, scale_rad=ARCMIN / 2, psf=True)
    peaks = plots.compare_peaks(image, sky)
    assert [peak.extended for peak in peaks] == [True, False]
    for peak, place in zip(peaks, np.rint(image.pixels(sky.radec_rad)).astype(int), strict=True):
        assert peak.expected_jy == pytest.approx(image.data_jy[place[1], place[0]], rel=0.01)
    assert peaks[1].expected_jy > 1.05 * peaks[0].expected_jy
