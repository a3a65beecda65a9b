"""Images and lists of components that CASA has written (casa/make_tables.py) as sky models."""

import shutil
import tarfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import rimetree as rt
from rimetree import sky, sky_fluxes
from rimetree.sky import casa_components, casa_image, casa_table, fits_image

RA_RAD, DEC_RAD = np.radians([15 * (10 + 5 / 3600), 30 + 0.5 / 60])
STEP_RAD = np.radians(20 / 3600)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The folder with all tables."""
    folder = tmp_path_factory.mktemp("casa")
    with tarfile.open(Path(__file__).parent / "casa" / "tables.tar.gz") as packed:
        packed.extractall(folder, filter="data")
    return folder


def from_centre(model, projection):
    """[source, 2] places from that of the images, in pixels."""
    ra, dec = model.radec_rad.T
    east = np.cos(dec) * np.sin(ra - RA_RAD)
    north = np.sin(dec) * np.cos(DEC_RAD) - np.cos(dec) * np.sin(DEC_RAD) * np.cos(ra - RA_RAD)
    if projection == "TAN":
        towards = np.sqrt(1 - east**2 - north**2)
        east, north = east / towards, north / towards
    return np.column_stack([-east, north]) / STEP_RAD


@pytest.mark.parametrize(("name", "projection"), [("one", "SIN"), ("tan", "TAN"), ("icrs", "SIN"), ("masked", "SIN")])
def test_each_pixel_is_a_point_at_its_middle(tables, name, projection):
    model = sky.read(tables / f"{name}.model")
    assert model.names == ["x3y2", "x6y5"]
    np.testing.assert_allclose(from_centre(model, projection), [[-2, -2], [1, 1]], atol=1e-7)
    np.testing.assert_allclose(model.stokes_jy, [[2, 0, 0, 0], [-0.5, 0, 0, 0]], rtol=1e-6)
    assert not any(source.spectrum for source in model) and {source.ref_freq_hz for source in model} == {1.5e9}
    hidden = ["46 pixels: the image's mask hides them"] if name == "masked" else []
    assert [str(one).replace(f"{tables / 'masked.model'}: ", "") for one in model.skipped] == hidden


def test_masked_pixels_that_hold_nothing_are_not_missed(tables, monkeypatch):
    real = casa_image._pixels

    def without_faint_ones(path, column):
        pixels = real(path, column)
        return np.where(np.abs(pixels) > 0.01, pixels, 0) if column == "map" else pixels

    monkeypatch.setattr(casa_image, "_pixels", without_faint_ones)
    model = sky.read(tables / "masked.model")
    assert len(model) == 2 and not model.skipped


def test_planes_of_stokes(tables):
    model = sky.read(tables / "iv.model")
    np.testing.assert_allclose(model.stokes_jy, [[2, 0, 0, 0.5], [-0.5, 0, 0, -0.125]], rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "frequencies", "times"),
    [("cube", [1.0e9, 1.2e9, 1.4e9], [1, 2, 3]), ("irregular", [1.0e9, 1.2e9, 1.7e9], [1, 2, 5])],
)
def test_planes_of_frequencies(tables, name, frequencies, times):
    model = sky.read(tables / f"{name}.model")
    for frequency, factor in zip(frequencies, times, strict=True):
        fluxes = [sky_fluxes.stokes_i_at(model, frequency)]
        np.testing.assert_allclose(fluxes, [[2 * factor, -0.5 * factor]], rtol=1e-5)


@pytest.mark.parametrize("frequency", [1.2e9, 1.5e9, 1.9e9])
def test_taylor_terms_are_found_beside_the_first(tables, frequency):
    model = sky.read(tables / "mfs.tt0")
    away = frequency / 1.5e9 - 1
    expected = np.array([2, -0.5]) * (1 - 0.7 * away + 0.3 * away**2)
    np.testing.assert_allclose(sky_fluxes.stokes_i_at(model, frequency), expected, rtol=1e-6)


def test_a_first_taylor_term_alone_has_no_spectrum(tables, tmp_path):
    shutil.copytree(tables / "mfs.tt0", tmp_path / "mfs.tt0")
    model = sky.read(tmp_path / "mfs.tt0")
    assert not any(source.spectrum for source in model)
    assert "the spectrum" in str(model.skipped[0]) and "mfs.tt1 beside it" in str(model.skipped[0])
    shutil.copytree(tables / "mfs.tt2", tmp_path / "mfs.tt2")
    with pytest.raises(sky.SkyModelError, match=r"of the Taylor terms of its spectrum .*mfs.tt1 is missing"):
        sky.read(tmp_path / "mfs.tt0")
    shutil.rmtree(tmp_path / "mfs.tt2")
    shutil.copytree(tables / "iv.model", tmp_path / "mfs.tt1")
    with pytest.raises(sky.SkyModelError, match=r"mfs.tt1: its pixels or its planes .* are not those of .*mfs.tt0"):
        sky.read(tmp_path / "mfs.tt0")
    shutil.rmtree(tmp_path / "mfs.tt1")
    shutil.copytree(tables / "cube.model", tmp_path / "mfs.tt1")
    with pytest.raises(sky.SkyModelError, match="are of one frequency each"):
        sky.read(tmp_path / "mfs.tt0")


def test_taylor_terms_by_other_names(tables, tmp_path):
    (tmp_path / "link").symlink_to(tables / "mfs.tt0")
    assert len(sky.read(tmp_path / "link")[0].spectrum) == 2
    assert len(sky.read(f"{tables}/mfs.tt0/")[0].spectrum) == 2
    with pytest.raises(sky.SkyModelError, match=r"these are Taylor terms of a spectrum; .*mfs.tt0 stands for all"):
        sky.read(tables / "mfs.tt*")
    with pytest.raises(sky.SkyModelError, match=r"there is no such file, but .*mfs.tt0, the first Taylor term"):
        sky.read(tables / "mfs")


def test_taylor_terms_of_q_u_v_are_refused(tables, tmp_path):
    for k in range(2):
        shutil.copytree(tables / "iv.model", tmp_path / f"p.tt{k}")
    with pytest.raises(sky.UnsupportedError, match="Taylor terms of Q, U or V"):
        sky.read(tmp_path / "p.tt0")


def test_images_of_several_frequencies_by_wildcards(tables, tmp_path):
    for name in ("one", "cube"):
        shutil.copytree(tables / f"{name}.model", tmp_path / f"a-{name}.model")
    assert len(sky.read(tmp_path / "a-*.model")) == 2  # 1.5 GHz, and three others
    (tmp_path / "a-b.model").write_text("no image")
    with pytest.raises(sky.SkyModelError, match="no model image"):
        sky.read(tmp_path / "a-*.model")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("galactic.model", "frame GALACTIC; expected ICRS or J2000"),
        ("restored.image", "in Jy/beam, expected Jy/pixel"),
        ("iqv.model", "planes of I, Q, V, expected those of I, Q, U, V one after another"),
        ("xx.model", "planes of STOKES -5 .XX., expected 1 to 4"),
        ("mfs.tt1", r"a Taylor term of a spectrum; .*mfs.tt0 stands for all"),
        ("b1950.cl", "component 'component_0' has its place in the frame B1950"),
        ("own_spectra.cl", "component 'component_0' has spectra of Q, U and V of their own"),
    ],
)
def test_what_is_no_model_is_refused(tables, name, message):
    with pytest.raises(sky.SkyModelError, match=message) as caught:
        sky.read(tables / name)
    assert caught.value.file == str(tables / name)


def test_components(tables):
    model = sky.read(tables / "all.cl")
    assert model.names == ["component_0", "component_1", "it", "bent", "circular", "linear"]
    by_name = dict(zip(model.names, model, strict=True))
    place = np.radians([15 * (10 + 10 / 3600), 30 + 4 / 60])
    np.testing.assert_allclose(model.radec_rad[[0, 3, 4, 5]], [place] * 4, rtol=1e-12)
    polarised = [1.0, 0.1, 0.2, 0.05]
    expected = [polarised, [2, 0, 0, 0], [3, 0, 0, 0], polarised, polarised, polarised]
    np.testing.assert_allclose(model.stokes_jy, expected, atol=1e-8)
    axes = np.radians([60 / 3600, 20 / 3600, 30])
    np.testing.assert_allclose(by_name["component_1"].gaussian, axes, rtol=1e-12)
    np.testing.assert_allclose(by_name["it"].uniform_disk, axes, rtol=1e-12)
    assert by_name["component_1"].spectrum == () and by_name["component_1"].ref_freq_hz == 0


def test_spectra_of_components(tables):
    model = sky.read(tables / "all.cl")
    found = dict(zip(model.names, sky_fluxes.stokes_at(model, [2.8e9])[:, :, 0], strict=True))
    polarised, ratio = np.array([1.0, 0.1, 0.2, 0.05]), 2**-0.7
    np.testing.assert_allclose(found["component_0"], ratio * polarised, rtol=1e-6)
    bent = 2 ** (-0.7 + 0.1 * np.log(2))
    np.testing.assert_allclose(found["bent"], [bent, *polarised[1:]], rtol=1e-6)


def test_components_with_the_same_label_are_numbered(tables, monkeypatch):
    real = casa_components.contents_of

    def relabelled(path, columns):
        keywords, rows = real(path, columns)
        return keywords, [row | {"Label": "same" if k < 2 else row["Label"]} for k, row in enumerate(rows)]

    monkeypatch.setattr(casa_components, "contents_of", relabelled)
    assert sky.read(tables / "all.cl").names == ["same_0", "same_1", "it", "bent", "circular", "linear"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Flux": [{"r": 1.0, "i": 0.5}, *[{"r": 0.0, "i": 0.0}] * 3]}, "has complex fluxes"),
        ({"Flux_Unit": "Jy/beam"}, "are in 'Jy/beam', expected Jy"),
        ({"Flux_Polarisation": "Other"}, "has fluxes of Other"),
        ({"Shape": "Limb-Darkened Disk"}, "is of the shape Limb-Darkened Disk"),
        ({"Spectrum_Shape": "Tabular Spectrum"}, "has a spectrum of the kind Tabular Spectrum"),
    ],
)
def test_components_of_other_kinds(tables, monkeypatch, change, message):
    real = casa_components.contents_of
    monkeypatch.setattr(casa_components, "contents_of", lambda *given: ({}, [real(*given)[1][0] | change]))
    with pytest.raises(sky.SkyModelError, match=message):
        sky.read(tables / "all.cl")


def test_components_that_are_not_known_can_be_left_out(tables):
    model = sky.read(tables / "b1950.cl", skip_unsupported=True)
    assert model.names == ["component_1"] and "component_0" in str(model.skipped[0])
    assert np.degrees(model[0].ra_rad) == pytest.approx(15 * (15 + 10 / 3600), rel=1e-12)


def test_tables_that_are_no_sky_models(tables, tmp_path):
    ms = tmp_path / "obs.ms"
    rt.ms.create(ms, "kat-7", phase_centre_rad=(1, -0.5), start_mjd_s=5e9, duration_s=8, integration_s=8)
    with pytest.raises(sky.SkyModelError, match="a table of the kind 'Measurement Set', expected an image or a list"):
        sky.read(ms)
    (tmp_path / "empty").mkdir()
    with pytest.raises(sky.SkyModelError, match="cannot read the sky model: Is a directory"):
        sky.read(tmp_path / "empty")
    with pytest.raises(sky.SkyModelError, match=r"obs.ms has .* rows, and an image has one"):
        sky.read(ms, format="casa-image")
    with pytest.raises(sky.SkyModelError, match="no list of components"):
        sky.read(tables / "one.model", format="casa-components")


def test_damaged_images(tables, tmp_path):
    shutil.copytree(tables / "masked.model", tmp_path / "a.model")
    shutil.rmtree(tmp_path / "a.model" / "mask0")
    with pytest.raises(sky.SkyModelError, match="PagedArray"):
        sky.read(tmp_path / "a.model")
    shutil.copytree(tables / "one.model", tmp_path / "b.model")
    (tmp_path / "b.model" / "table.dat").unlink()
    with pytest.raises(sky.SkyModelError, match=r"cannot read the sky model: .*b.model"):
        sky.read(tmp_path / "b.model")


@pytest.mark.parametrize(
    "change",
    [
        *({"coords": {}}, {}, {"coords": {"direction0": {}, "pixelmap0": [0, 1]}}),
        {"coords": {"spectral2": {"unit": "no unit"}, "pixelmap2": [3]}},
    ],
)
def test_headers_that_are_not_as_casa_writes_them(tables, monkeypatch, change):
    monkeypatch.setattr(casa_image, "contents_of", lambda path: (change, []))
    with pytest.raises(sky.SkyModelError):
        sky.read(tables / "one.model")


def test_polarised_taylor_terms_whose_v_has_no_spectrum(tables, tmp_path, monkeypatch):
    for k in range(2):
        shutil.copytree(tables / "iv.model", tmp_path / f"p.tt{k}")
    real = fits_image.read_casa_image

    def without_v(path):
        image = real(path)
        return replace(image, data=image.data * (np.array([1, 0])[:, None, None] if path.endswith("tt1") else 1))

    monkeypatch.setattr(fits_image, "read_casa_image", without_v)
    found = sky_fluxes.stokes_at(sky.read(tmp_path / "p.tt0"), [3e9])[:, :, 0]
    np.testing.assert_allclose(found, [[4, 0, 0, 0.5], [-1, 0, 0, -0.125]], rtol=1e-6)


def test_a_slanted_projection(tables, monkeypatch):
    """SIN with two parameters, as of arrays along one line (Calabretta & Greisen 2002, 5.1.5)."""
    real, slant = casa_image.contents_of, 300.0

    def slanted(path):
        keywords, rows = real(path)
        keywords["coords"]["direction0"]["projection_parameters"] = [slant, 0.0]
        return keywords, rows

    plain = sky.read(tables / "one.model")
    monkeypatch.setattr(casa_image, "contents_of", slanted)
    moved = from_centre(sky.read(tables / "one.model"), "SIN") - from_centre(plain, "SIN")
    away = STEP_RAD * np.linalg.norm([[-2, -2], [1, 1]], axis=1)
    np.testing.assert_allclose(
        np.abs(moved), np.column_stack([slant * away**2 / 2 / STEP_RAD, [0, 0]]), rtol=0.2, atol=1e-4
    )


def test_numbers_that_are_none(tables, monkeypatch):
    """As restoring beams of blank planes; where they matter they are told."""
    real = casa_table._core.table_as_json
    text = real(str(tables / "one.model"), []).replace('"rows"', '"beams": [nan, -inf , inf], "one": nan,\n"rows"', 1)
    monkeypatch.setattr(casa_table, "_core", SimpleNamespace(table_as_json=lambda *given: text))
    assert len(sky.read(tables / "one.model")) == 2
    text = real(str(tables / "all.cl"), casa_components._COLUMNS).replace('"r":2.0, "i":0.0}', '"r":2.0, "i":-nan}', 1)
    assert "nan" in text
    with pytest.raises(sky.SkyModelError, match=r"must be finite|not finite|is nan"):
        sky.read(tables / "all.cl")
    text = real(str(tables / "all.cl"), casa_components._COLUMNS).replace('"it"', '"it: nan, \\"inf\\" "')
    assert sky.read(tables / "all.cl").names[2] == 'it: nan, "inf"'


def test_a_turned_image(tables, monkeypatch):
    """CASA's matrix of rotation, of which JSON has the first index as the fastest."""
    real, turn = casa_image.contents_of, np.radians(30)

    def turned(path):
        keywords, rows = real(path)
        keywords["coords"]["direction0"]["pc"] = [[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]
        return keywords, rows

    monkeypatch.setattr(casa_image, "contents_of", turned)
    x, y = np.array([[-2, 1], [-2, 1]])
    expected = np.column_stack([np.cos(turn) * x - np.sin(turn) * y, np.sin(turn) * x + np.cos(turn) * y])
    np.testing.assert_allclose(from_centre(sky.read(tables / "one.model"), "SIN"), expected, atol=1e-7)
