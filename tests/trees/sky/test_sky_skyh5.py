"""SkyH5, the sky models of pyradiosky."""

import astropy_healpix
import h5py
import numpy as np
import pytest

import rimetree as rt
from rimetree.sky import FluxTable, SkyModel, SkyModelError, Source, UnsupportedError
from rimetree.sky_fluxes import stokes_at

AT_HZ = np.array([1.0e8, 1.1e8, 1.5e8])
FLUX_JY = np.array([1.0, 3.0, -2.0])
TABLE = FluxTable(AT_HZ, FLUX_JY)
SOURCE = Source("a", 1.0, 0.5, (3.0, 0, 0, 0), ref_freq_hz=1.1e8, table=TABLE)
LIGHT_M_S, BOLTZMANN_J_K = 299792458.0, 1.380649e-23


def with_table(name, table, **more):
    reference_hz = float(table.frequency_hz[0])
    return Source(name, 1.0, 0.5, table.at(reference_hz), ref_freq_hz=reference_hz, table=table, **more)


def skyh5(path, stokes, unit, header):
    """Writes Stokes parameters [4,F,component] and the datasets of a header: (value, unit) or a value."""
    with h5py.File(path, "w") as file:
        file["Data/stokes"] = stokes
        file["Data/stokes"].attrs["unit"] = unit
        for name, value in header.items():
            value, unit = value if isinstance(value, tuple) else (value, None)
            file[f"Header/{name}"] = np.bytes_(value) if isinstance(value, str) else value
            if unit:
                file[f"Header/{name}"].attrs["unit"] = unit
    return path


POINTS = {
    "component_type": "point",
    "spectral_type": "flat",
    "name": np.array([b"a", b"b"]),
    "extended_model_group": np.array([b"", b"P"]),
    "skycoord/frame": "icrs",
    "skycoord/ra": (np.array([10.0, 20.0]), "deg"),
    "skycoord/dec": (np.array([-30.0, 5.0]), "deg"),
}


def of_i(*flux):
    """[4,F,component] of Stokes I [F,component]."""
    stokes = np.zeros((4, *np.shape(flux)))
    stokes[0] = flux
    return stokes


def test_points_of_skyh5(tmp_path):
    sky = rt.sky.read(skyh5(tmp_path / "a.h5", of_i([1.0, 2.0]), "Jy", POINTS))
    assert sky.names == ["a", "b"] and [source.patch for source in sky] == ["", "P"]
    np.testing.assert_allclose(np.degrees(sky.radec_rad), [[10, -30], [20, 5]], rtol=1e-14)
    np.testing.assert_array_equal(stokes_at(sky, [1e8, 3e8])[:, 0], [[1, 1], [2, 2]])
    galactic = {name: value for name, value in POINTS.items() if "/" not in name} | {
        "skycoord/frame": "galactic",
        "skycoord/l": (np.array([0.0, 90.0]), "deg"),
        "skycoord/b": (np.array([0.0, 1.5]), "rad"),
    }
    sky = rt.sky.read(skyh5(tmp_path / "a.h5", of_i([1.0, 2.0]), "mJy", galactic))
    np.testing.assert_allclose(np.degrees(sky.radec_rad[0]), [266.405, -28.936], atol=1e-3)
    np.testing.assert_allclose(sky.stokes_jy[:, 0], [1e-3, 2e-3])


@pytest.mark.parametrize(("unit", "index"), [("Jy", 0.0), ("K sr", 2.0)])
def test_power_laws_of_skyh5_are_in_its_unit(tmp_path, unit, index):
    header = POINTS | {
        "spectral_type": "spectral_index",
        "reference_frequency": (np.array([100.0, 200.0]), "MHz"),
        "spectral_index": np.array([-0.7, -0.8]),
    }
    sky = rt.sky.read(skyh5(tmp_path / "a.h5", of_i([1.0, 2.0]), unit, header))
    at_hz = np.array([1e8, 1.7e8])
    expected = [1.0, 2.0] * (at_hz[:, None] / [1e8, 2e8]) ** [-0.7, -0.8]
    if index:
        expected *= 2e26 * BOLTZMANN_J_K * (at_hz[:, None] / LIGHT_M_S) ** 2
    np.testing.assert_allclose(stokes_at(sky, at_hz)[:, 0].T, expected, rtol=1e-13)


def test_tables_of_skyh5_without_what_is_no_number(tmp_path):
    header = POINTS | {"spectral_type": "subband", "freq_array": (np.array([120.0, 100.0, 150.0]), "MHz")}
    flux = of_i([2.0, np.nan], [1.0, 5.0], [4.0, 7.0])
    sky = rt.sky.read(skyh5(tmp_path / "a.h5", flux, "Jy", header))
    np.testing.assert_allclose(
        stokes_at(sky, [1e8, 1.1e8, 1.2e8, 1.25e8])[:, 0], [[1, 1.5, 2, 7 / 3], [5, 5.4, 5.8, 6]]
    )
    flux[0, :, 1] = np.nan
    with pytest.raises(UnsupportedError, match="source 'b' has no flux"):
        rt.sky.read(skyh5(tmp_path / "a.h5", flux, "Jy", header))
    sky = rt.sky.read(tmp_path / "a.h5", skip_unsupported=True)
    assert sky.names == ["a"] and [one.what for one in sky.skipped] == ["source 'b'"]


@pytest.mark.parametrize("order", ["ring", "nested"])
@pytest.mark.parametrize("unit", ["K", "Jy / sr"])
def test_maps_of_skyh5(tmp_path, order, unit):
    rng = np.random.default_rng(5)
    numbers, at_hz = rng.permutation(192)[:50], np.array([0.8e8, 1e8, 1.1e8])
    flux = rng.uniform(1, 2, (3, 50))
    flux[:, 7] = 0
    header = {
        "component_type": "healpix",
        "spectral_type": "full",
        "nside": 4,
        "hpx_order": order,
        "hpx_inds": numbers,
        "hpx_frame/frame": "galactic",
        "freq_array": (at_hz, "Hz"),
    }
    sky = rt.sky.read(skyh5(tmp_path / "map.skyh5", of_i(*flux), unit, header))
    kept = np.delete(np.arange(50), 7)
    assert sky.names == [f"pixel{number}" for number in numbers[kept]]
    there = astropy_healpix.HEALPix(4, order, frame="galactic").healpix_to_skycoord(numbers[kept]).icrs
    np.testing.assert_allclose(sky.radec_rad, np.column_stack([there.ra.rad, there.dec.rad]), atol=1e-12)
    jy = flux[:, kept] * np.pi / 48
    if unit == "K":
        jy *= 2e26 * BOLTZMANN_J_K * (at_hz[:, None] / LIGHT_M_S) ** 2
    np.testing.assert_allclose(stokes_at(sky, at_hz)[:, 0].T, jy, rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"component_type": "disk"}, "component_type is 'disk', expected point or healpix"),
        ({"spectral_type": "wild"}, "spectral_type is 'wild', expected flat"),
        ({"skycoord/frame": "altaz"}, "positions are in the frame altaz, expected icrs, fk5, galactic"),
        ({"name": np.array([b"a"])}, "Header/name has 1 entries for 2 components"),
        ({"name": np.array([b"a", b"a"])}, "two sources are named 'a'"),
        ({"spectral_type": "full"}, "Header/freq_array is missing"),
        ({"spectral_type": "spectral_index", "reference_frequency": (1e8, "Hz")}, "Header/spectral_index is missing"),
        ({"spectral_type": "spectral_index", "spectral_index": 0.7}, "Header/reference_frequency is missing"),
        ({"spectral_type": "full", "freq_array": (np.array([1e8, 2e8]), "Hz")}, "2 entries for 1 frequencies"),
    ],
)
def test_what_is_no_skyh5(tmp_path, change, said):
    with pytest.raises(SkyModelError, match=said):
        rt.sky.read(skyh5(tmp_path / "a.h5", of_i([1.0, 2.0]), "Jy", POINTS | change))


def test_infinite_fluxes_and_frequencies_in_mhz_are_errors_of_the_file(tmp_path):
    with pytest.raises(SkyModelError, match=r"a\.h5: some fluxes are infinite"):
        rt.sky.read(skyh5(tmp_path / "a.h5", of_i([1.0, np.inf]), "Jy", POINTS))
    full = POINTS | {"spectral_type": "full", "freq_array": (np.array([150.0, 160.0]), "Hz")}
    with pytest.raises(SkyModelError, match=r"a\.h5: frequency 150 Hz of a table .* is it in MHz"):
        rt.sky.read(skyh5(tmp_path / "a.h5", of_i([1.0, 2.0], [1.0, 2.0]), "Jy", full))


def test_what_skyh5_does_not_say(tmp_path):
    with pytest.raises(SkyModelError, match="fluxes are in m, expected Jy or K sr"):
        rt.sky.read(skyh5(tmp_path / "a.h5", of_i([1.0, 2.0]), "m", POINTS))
    stokes = of_i([1.0, 2.0])
    stokes[2] = 0.1
    skyh5(tmp_path / "a.h5", stokes, "Jy", POINTS)
    with pytest.raises(UnsupportedError, match="does not say along which directions they are measured"):
        rt.sky.read(tmp_path / "a.h5")
    assert not rt.sky.read(tmp_path / "a.h5", skip_unsupported=True).stokes_jy[:, 1:].any()
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["sol000"] = 1
    with pytest.raises(SkyModelError, match="without Header and Data/stokes, expected SkyH5"):
        rt.sky.read(tmp_path / "b.h5")


@pytest.mark.parametrize(
    "sources",
    [
        [SOURCE, with_table("b", FluxTable([1e8, 1.2e8], [1.0, 2.0]), patch="P")],
        [Source("a", 6.0, -0.5, (1.5, 0, 0, 0)), Source("b", 1.0, 0.5, (1, 0, 0, 0), 2e8, (-0.7,))],
        [Source("a", 6.0, -0.5, (1.5, 0, 0, 0)), Source("b", 1.0, 0.5, (-1.0, 0, 0, 0), patch="P")],
    ],
)
def test_what_skyh5_is_written_comes_back(tmp_path, sources):
    model = SkyModel(sources)
    rt.sky.write(model, tmp_path / "sky.skyh5")
    back = rt.sky.read(tmp_path / "sky.skyh5")
    assert (back.names, back.patches) == (model.names, model.patches)
    where_hz = np.linspace(0.9e8, 1.6e8, 15)
    np.testing.assert_allclose(stokes_at(back, where_hz), stokes_at(model, where_hz), rtol=1e-13)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (Source("b", 1.0, 0.5, (1, 0, 0, 0), gaussian=(1e-3, 1e-3, 0)), "'b': SkyH5 holds no shapes"),
        (Source("b", 1.0, 0.5, (1, 0.1, 0, 0)), "'b': SkyH5 holds no polarisation"),
        (Source("b", 1.0, 0.5, (1, 0, 0, 0), 2e8, (-0.7, 0.1)), "'b': SkyH5 holds no spectra that are no power laws"),
        (Source("b", 1.0, 0.5, (1, 0, 0, 0)), "'b' has no fluxes at several frequencies, others have"),
    ],
)
def test_what_skyh5_does_not_hold(tmp_path, source, said):
    with pytest.raises(UnsupportedError, match=said):
        rt.sky.write(SkyModel((SOURCE, source)), tmp_path / "sky.skyh5")
    assert not (tmp_path / "sky.skyh5").exists()
