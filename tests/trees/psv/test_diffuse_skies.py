"""Skies of many points, as model images have: the uv grid, and what it gives against extended precision."""

import numpy as np
import pytest
from astropy.io import fits

import rimetree as rt

CENTRE_DEG = (50.0, -28.0)
PIXELS = 150


@pytest.fixture(scope="module", autouse=True)
def on_the_host():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RIMETREE_DEVICE", "none")
        yield


@pytest.fixture(scope="module")
def observed(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("diffuse") / "kat.ms")
    band = rt.ms.Band.regular(1.4e9, 64e6, 64)
    kat = rt.telescopes.get("kat-7")
    rt.ms.create(path, kat, phase_centre_rad=np.radians(CENTRE_DEG), bands=band, duration_s=600.0, integration_s=10.0)
    return path


def image(path, frequency_hz=(1.4e9,), n_stokes=1):
    """Jy/pixel, of all pixels, 1.5 degrees wide."""
    rng = np.random.default_rng(1)
    data = (
        1e-3
        * rng.uniform(0.1, 1, (len(frequency_hz), n_stokes, PIXELS, PIXELS))
        / (1 + np.arange(n_stokes))[:, None, None]
    )
    data *= np.array(frequency_hz)[:, None, None, None] / 1.4e9
    one = fits.PrimaryHDU(data.astype(np.float32))
    for axis, kind in ((1, "RA---SIN"), (2, "DEC--SIN")):
        one.header.update({f"CTYPE{axis}": kind, f"CRPIX{axis}": PIXELS / 2, f"CRVAL{axis}": CENTRE_DEG[axis - 1]})
        one.header[f"CDELT{axis}"] = 1.5 / PIXELS * (-1) ** axis
    one.header.update({"CTYPE3": "STOKES", "CRPIX3": 1.0, "CDELT3": 1.0, "CRVAL3": 1.0, "BUNIT": "Jy/pixel"})
    step_hz = frequency_hz[1] - frequency_hz[0] if len(frequency_hz) > 1 else 1e6
    one.header.update({"CTYPE4": "FREQ", "CRPIX4": 1.0, "CDELT4": step_hz, "CRVAL4": frequency_hz[0]})
    one.writeto(path)
    return rt.sky.read(path)


def run(path, sky, **options):
    ns = rt.NodeScope()
    rt.psv_tree(ns, sky, np.radians(CENTRE_DEG), rt.ms.baselines(path))
    return rt.Forest(ns).run(path, verify=20, **options)


@pytest.mark.parametrize("n_stokes", [1, 4])
@pytest.mark.parametrize("precision", ["double", "single"])
def test_a_model_image_takes_the_uv_grid(tmp_path, observed, precision, n_stokes):
    report = run(observed, image(tmp_path / "m.fits", n_stokes=n_stokes), precision=precision)
    assert any("22500 sources" in note and "total flux: uv grid (" in note for note in report.notes), report.notes
    assert report.verification.passed and report.verification.count == 20


def test_images_of_several_frequencies_take_it(tmp_path, observed):
    report = run(observed, image(tmp_path / "m.fits", (1.35e9, 1.4e9, 1.45e9)), tolerance=1e-9)
    assert any("total flux: uv grid (" in note for note in report.notes), report.notes
    assert report.verification.passed


def test_sources_with_a_shape_among_many_points(tmp_path, observed):
    points = image(tmp_path / "m.fits")
    ra, dec = np.radians(CENTRE_DEG)
    wide = rt.sky.Source("wide", ra + 0.003, dec, (30.0, 1.0, 0.0, 0.0), gaussian=(1e-3, 5e-4, 0.3))
    report = run(observed, rt.sky.SkyModel([*points, wide]))
    assert any("22501 sources" in note and "total flux: uv grid (" in note for note in report.notes), report.notes
    assert report.verification.passed


@pytest.mark.parametrize("spectra", [False, True])
def test_gradients_by_fluxes_of_many_points_take_the_uv_grid(observed, spectra):
    rng = np.random.default_rng(2)
    x = np.linspace(-0.012, 0.012, PIXELS)
    lm = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    ns = rt.NodeScope()
    ns.lmn << rt.Constant(np.column_stack([lm, np.sqrt(1 - (lm**2).sum(axis=1))]))
    for k in range(3):
        wide = np.exp(-((lm - rng.uniform(-0.01, 0.01, 2)) ** 2).sum(axis=1) / 2e-5)
        ns.component(k) << rt.Parm(1.0 + k, solvable=True) * rt.Constant(1e-3 * wide)
    ns.flux << rt.Add(*(ns.component(k) for k in range(3)))
    if spectra:
        ns.flux_at << ns.flux * rt.Exp(rt.Parm(-0.7, solvable=True) * rt.Log(rt.Freq() / 1.4e9))
    for p, q in rt.ms.baselines(observed):
        spigot = {"station_1_index": p, "station_2_index": q}
        uvw = rt.Spigot(**spigot, input_column="UVW", include_deriv=True)
        ns.V(p, q) << rt.PSV(ns.lmn, ns.flux_at if spectra else ns.flux, uvw)
        ns.residual(p, q) << rt.Condeq(rt.Spigot(**spigot, input_column="DATA"), ns.V(p, q))
    ns.chi_square << rt.ChiSquare(*(ns.residual(p, q) for p, q in rt.ms.baselines(observed)))
    forest = rt.Forest(ns)
    objective = rt.MsObjective(forest, observed)
    start = forest.parameter_vector()
    _, gradient = objective(start)
    assert any("derivatives by the uv grid" in note for note in forest.notes()), forest.notes()
    for i in range(len(start)):
        step = 1e-4 * np.eye(len(start))[i]
        slope = (objective.value(start + step) - objective.value(start - step)) / 2e-4
        assert gradient[i] == pytest.approx(slope, rel=1e-6)
