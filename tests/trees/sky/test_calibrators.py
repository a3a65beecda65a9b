"""Flux calibrators by their names: published fluxes, other spellings, and where they are not known."""

import numpy as np
import pytest

import rimetree as rt
from rimetree import sky, sky_fluxes
from rimetree.sky.flux_calibrators import find_calibrator, polarisation_of_3c286


@pytest.mark.parametrize(
    ("name", "scale", "frequency_hz", "flux_jy"),
    [  # of CASA 6.7, task setjy (manual of fluxes that it lists), and of papers' polynomials at their reference
        ("3C286", None, 1e9, 10**1.2481),
        ("3C48", None, 1e9, 10**1.3253),
        ("3C147", None, 1e9, 10**1.4516),
        ("3C286", "Scaife-Heald 2012", 150e6, 27.477),
        ("3C295", "scaife", 150e6, 97.763),
        ("1934-638", None, 1.225e9, 15.13316977),
        ("PKS B1934-638", None, 30.625e9, 0.5161947),
        ("0408-65", None, 1.284e9, 17.066),  # what MeerKAT's pipelines set: 17.066 Jy at 1284 MHz
    ],
)
def test_fluxes(name, scale, frequency_hz, flux_jy):
    (flux,) = sky_fluxes.stokes_i_at(sky.calibrator(name, scale), frequency_hz)
    assert flux == pytest.approx(flux_jy, rel=4e-3 if name == "0408-65" else 3e-6)


@pytest.mark.parametrize("one", sky.calibrators(), ids=lambda one: f"{one.names[0]}-{one.scale}")
def test_tables_are_the_polynomials(one):
    frequency_hz = np.geomspace(*one.range_hz, 3571)
    model = one.model()
    found = sky_fluxes.stokes_at(model, frequency_hz)[0, 0]
    np.testing.assert_allclose(found, one.flux_jy(frequency_hz), rtol=2e-5)
    assert model[0].table.covers(*one.range_hz)


def test_fluxes_of_two_scales_are_alike_where_both_are_made_for():
    for name in ("3C48", "3C147", "3C196", "3C286", "3C295", "3C380"):
        first, second = (find_calibrator(f"{name}, {scale}").calibrator for scale in ("Perley", "Scaife"))
        np.testing.assert_allclose(first.flux_jy([150e6, 250e6]), second.flux_jy([150e6, 250e6]), rtol=0.12)


@pytest.mark.parametrize(
    "name",
    [
        "3C286",
        "3c286",
        "3C 286",
        "3C_286",
        "J1331+3030",
        "1331+305",
        "1328+307",
        "B1328+307",
        "3C-286",
        "1331+305=3C286",
        "J1331+3030=3C286",
    ],
)
def test_other_names(name):
    assert sky.calibrator(name).names == ["3C286"]
    assert sky.read(name).names == ["3C286"]


def test_names_are_of_one_source_each():
    all_names = {}
    for one in sky.calibrators():
        for name in one.names:
            assert all_names.setdefault(name.lower(), one.names[0]) == one.names[0]
        np.testing.assert_allclose(one.ra_rad, find_calibrator(one.names[0]).calibrator.ra_rad)


@pytest.mark.parametrize(
    ("frequency_hz", "fraction", "angle_deg"),
    [(1.02e9, 0.086, 26.2), (1.47e9, 0.098, 28.7), (4.89e9, 0.115, 32.4), (12e9, 0.128, 32.6), (19.1e9, 0.126, 35)],
)
def test_polarisation_of_3c286(frequency_hz, fraction, angle_deg):
    """By NRAO's list (fractions), and Hugo & Perley 2024 (angles)."""
    found, angle_rad = polarisation_of_3c286(np.array([frequency_hz]))
    assert found[0] == pytest.approx(fraction, abs=2e-3)
    assert np.degrees(angle_rad[0]) == pytest.approx(angle_deg, abs=0.5)
    stokes = sky_fluxes.stokes_at(sky.calibrator("3C286"), [frequency_hz])[0, :, 0]
    assert np.hypot(*stokes[1:3]) / stokes[0] == pytest.approx(found[0], rel=1e-3)
    assert np.arctan2(stokes[2], stokes[1]) / 2 == pytest.approx(angle_rad[0], abs=1e-3)
    assert stokes[3] == 0


def test_polarisation_of_3c286_above_12_ghz_is_as_listed():
    fraction, angle_rad = polarisation_of_3c286(np.array([14.1e9, 32.1e9, 60e9]))
    np.testing.assert_allclose(fraction, [0.123, 0.131, 0.146], rtol=1e-12)
    np.testing.assert_allclose(np.degrees(angle_rad), [34, 36, 36], rtol=1e-12)


def test_polarisation_of_3c286_has_no_steps():
    frequency_hz = np.geomspace(0.4e9, 50e9, 20000)
    fraction, angle_rad = polarisation_of_3c286(frequency_hz)
    assert np.abs(np.diff(fraction)).max() < 2e-3 and np.abs(np.diff(fraction * np.exp(2j * angle_rad))).max() < 2e-3
    assert not fraction[frequency_hz < 0.49e9].any() and fraction.min() == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("3C287", r"no such file, and no calibrator of this name; did you mean 3C28?.*known are 3C48, .*0408-65"),
        ("3C286, Baars", "no one flux scale 'Baars'; there are Perley-Butler 2017, Scaife-Heald 2012"),
        ("3C286,", "no one flux scale ''"),
        ("missing.skymodel", "No such file"),
        ("./3C286", "No such file"),
    ],
)
def test_what_is_not_known(name, message):
    with pytest.raises(sky.SkyModelError, match=message):
        sky.read(name)


def test_an_image_of_a_calibrator_has_its_spectrum(tmp_path, monkeypatch):
    """Whatever the fluxes of the image are; where it is polarised does not count."""
    monkeypatch.chdir(tmp_path)
    place = sky.calibrator("3C286").radec_rad[0]
    sources = [
        sky.Source("a", *place, (3.0, 0.5, 0, 0)),
        sky.Source("b", place[0], place[1] + 1e-6, (1.5, 0, 0, 0), ref_freq_hz=1e9, spectrum=(-0.7,)),
        sky.Source("c", place[0], place[1] - 1e-6, (-0.5, 0, 0, 0), gaussian=(1e-6, 1e-6, 0.0)),
        sky.Source("d", *place, (0.0, 0, 0, 0)),
    ]
    image = sky.SkyModel(sources)
    found, point = sky.calibrator("3C286", "Perley", image), sky.calibrator("3C286")
    frequencies = [1.4e9, 5e9, 30e9]
    whole, parts = (sky_fluxes.stokes_at(model, frequencies) for model in (point, found))
    np.testing.assert_allclose(parts, np.array([0.75, 0.375, -0.125])[:, None, None] * whole, rtol=1e-9)
    assert found.names == ["a", "b", "c"] and found[2].gaussian == (1e-6, 1e-6, 0.0)
    sky.write(image.select(names=["b"]), "an image.skymodel")
    text = "3C286, Scaife, image an image.skymodel"
    assert sky.read(text).total_flux_jy == pytest.approx(sky.calibrator("3C286", "Scaife").total_flux_jy)
    assert str(find_calibrator(text)).endswith("30 to 300 MHz; as the image an image.skymodel")
    with pytest.raises(sky.SkyModelError, match=r"the image of 3C286 has -0.5 Jy in all"):
        sky.calibrator("3C286", image=image[2:3])
    with pytest.raises(sky.SkyModelError, match=r"the image is 22.9 deg from 3C286: it is of another source"):
        sky.calibrator("3C286", image=sky.calibrator("3C295").select(where=lambda one: True))
    with pytest.raises(sky.SkyModelError, match=r"an image of it is given as 'image FILE'"):
        sky.read("3C286, image")
    assert len(sky.read("3C286, image an image.skymodel", format="bbs")) == 1
    with pytest.raises(sky.SkyModelError, match=r"an image.skymodel"):
        sky.read("3C286, image an image.skymodel", format="sagecal")
    with pytest.raises(sky.SkyModelError, match=r"none.im: cannot read the sky model: No such file"):
        sky.read("3C286, image none.im")


def test_calibrators_in_files_of_other_formats(tmp_path):
    """SkyH5 has straight lines, BBS up to four coefficients."""
    for name, file in (("3C147", "a.skyh5"), ("3C48", "b.skymodel"), ("3C286", "c.yaml")):
        model = sky.calibrator(name)
        sky.write(model, tmp_path / file)
        frequencies = np.geomspace(60e6, 45e9, 100)
        found, expected = (sky_fluxes.stokes_at(one, frequencies) for one in (sky.read(tmp_path / file), model))
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    few = sky.FluxTable([1e8, 2e8], [1.0, 0.5], power_laws=True)
    assert few.on_lines() is few and few.unpolarised().on_lines(0.2).power_laws is False


def test_a_spectrum_of_two_pieces_has_no_step():
    one = find_calibrator("1934-638").calibrator
    np.testing.assert_allclose(*(one.flux_jy([frequency])[0] for frequency in (11.14899e9, 11.14901e9)), rtol=1e-3)


def test_a_file_of_the_name_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = sky.SkyModel([sky.Source("mine", 1.0, 0.5, (7, 0, 0, 0))])
    sky.write(model, "3C286")
    assert sky.read("3C286").names == ["mine"]
    assert sky.calibrator("3C286").names == ["3C286"]


def test_bands_outside_of_the_scale_are_told(tmp_path):
    groups = []
    for k, frequency_hz in enumerate([1e9, 200e9]):
        path = tmp_path / f"{k}.ms"
        band = rt.ms.Band.regular(frequency_hz, 8e6, 8)
        rt.ms.create(
            path, "kat-7", bands=band, phase_centre_rad=(1, -0.5), start_mjd_s=5e9, duration_s=8, integration_s=8
        )
        groups.append(rt.ms.groups(path)[0])
    assert "Jy" in sky_fluxes.flux_text(sky.calibrator("1934-638"), groups[:1])
    with pytest.warns(
        UserWarning, match="is beyond the frequencies that the sky model has fluxes of, 408 to 100000 MHz"
    ):
        sky_fluxes.flux_text(sky.calibrator("1934-638"), groups[1:])
