"""Terms in a plane over the array, solved for."""

import numpy as np
import pytest
from planted_chains import CENTRE

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, parse_terms
from rimetree.calibration.terms.planes import places_in_plane

TEC_RAD_HZ = -8.44797245e9
SLOTS, CHANNELS, MIDDLE_HZ, WIDTH_HZ = 6, 8, 150e6, 2e6
FREQUENCY_HZ = np.array(rt.ms.Band.regular(MIDDLE_HZ, WIDTH_HZ * CHANNELS, CHANNELS).frequency_hz)
PATCHES = {"north": (0.0, 0.03, 40.0), "middle": (0.0, 0.0, 60.0), "east": (0.04, -0.01, 25.0)}


def sky(scale=1.0):
    sources = [
        rt.sky.Source(name, CENTRE[0] + ra, CENTRE[1] + dec, (scale * flux, 0.0, 0.0, 0.0), patch=name)
        for name, (ra, dec, flux) in PATCHES.items()
    ]
    return rt.sky.SkyModel(tuple(sources))


def planes(rng, size, slots=SLOTS):
    """{patch: [antenna, slot]} values in a plane over KAT-7, 0 at the first antenna."""
    xyz = rt.telescopes.get("kat-7").ecef_m
    places = np.array(list(places_in_plane(dict(enumerate(xyz)), dict.fromkeys(range(len(xyz)), "")).values()))
    found = {name: places @ rng.normal(0, size, (places.shape[1], slots)) for name in PATCHES}
    return {name: own - own[0] for name, own in found.items()}


@pytest.fixture
def observed(planted):
    """observed(values, rate, noise_jy, scale): the path of a set in which patches have these values."""

    def observe(values, rate, noise_jy, scale=1.0, jones=lambda _: np.eye(2), slots=SLOTS, **how):
        def of_patch(antenna, patch):
            phase = values[patch][antenna][:, None] * rate
            return np.exp(1j * phase)[..., None, None] * np.eye(2)

        grid = {"slots": slots, "channels": CHANNELS, "middle_hz": MIDDLE_HZ, "width_hz": WIDTH_HZ}
        return planted(jones, sky(scale), of_patch, noise_jy=noise_jy, **grid, **how)

    return observe


def solve(path, terms, out, scale=1.0, **options):
    options = CalibrationOptions(overwrite=True, reference="ANT-0", **options)
    report = calibration.calibrate(path, sky(scale), parse_terms(terms), out, options)
    return report, {term.name: term for term in report.solutions[0].terms}


@pytest.mark.parametrize(
    ("kind", "quantity", "rate", "size"),
    [
        ("tec", "tec", TEC_RAD_HZ / FREQUENCY_HZ, 0.01),
        ("tec", "tec", TEC_RAD_HZ / FREQUENCY_HZ, 0.1),  # some turns
        ("delay, scalar", "clock", 2 * np.pi * FREQUENCY_HZ, 5e-10),
        ("phase, scalar", "phase", np.ones(CHANNELS), 0.4),
    ],
)
def test_planes_are_found_with_their_errors(observed, tmp_path, kind, quantity, rate, size):
    values = planes(np.random.default_rng(1), size)
    path = observed(values, rate, noise_jy=5.0)
    report, terms = solve(path, [f"D: {kind}, 1slot, plane, per patch"], tmp_path / "s.h5")
    found = terms["D"]
    assert report.converged == SLOTS and not found.flag.any() and found.text.endswith("plane, per patch")
    for d, name in enumerate(found.directions):
        value, sigma = found.value[quantity][:, 0, 1:, d, 0], found.sigma[quantity][:, 0, 1:, d, 0] * 5.0
        pulls = (value - values[name][1:].T) / sigma
        assert 0.5 < np.sqrt((pulls**2).mean()) < 1.5
        assert (found.value[quantity][:, 0, 0, d] == 0).all() and (found.sigma[quantity][:, 0, 0, d] == 0).all()


def test_a_plane_is_told_where_antennas_are_not(observed, tmp_path):
    """Noise of 0.7 to 1.8 times the signal of each direction in a visibility: two unknowns instead of six."""
    values, rate = planes(np.random.default_rng(2), 0.05, slots=2), TEC_RAD_HZ / FREQUENCY_HZ
    path = observed(values, rate, noise_jy=45.0, slots=2)
    worst = {}
    for option in ("plane", ""):
        term = ", ".join(filter(None, ["D: tec, 1slot", option, "per patch"]))
        _, terms = solve(path, [term], tmp_path / "s.h5")
        found = terms["D"]
        error = [found.value["tec"][:, 0, :, d, 0] - values[name].T for d, name in enumerate(found.directions)]
        worst[option] = np.where(found.flag[:, 0, :, :, 0], np.inf, np.abs(np.stack(error, axis=-1))).max()
    assert worst["plane"] < 0.05 and worst[""] > 3 * worst["plane"]


def test_beside_phases_of_the_whole_sky(observed, tmp_path):
    """What all directions have in common those take; the brightest direction is held."""
    rng = np.random.default_rng(3)
    values, own = planes(rng, 0.3, slots=2), rng.uniform(-3, 3, (7, 2))
    own[0] = 0

    def jones(antenna):
        return np.exp(1j * own[antenna])[:, None, None, None] * np.eye(2)

    path = observed(values, np.ones(CHANNELS), noise_jy=1.0, jones=jones, slots=2)
    terms = ["P: phase, scalar, 1slot", "D: phase, scalar, 1slot, plane, per patch"]
    report, found = solve(path, terms, tmp_path / "s.h5")
    assert report.converged == 2 and not found["D"].flag.any()
    got = {name: found["D"].value["phase"][:, 0, :, d, 0].T for d, name in enumerate(found["D"].directions)}
    assert (got["middle"] == 0).all()
    for name in ("north", "east"):
        np.testing.assert_allclose(got[name], values[name] - values["middle"], atol=0.1)
    phases = found["P"].value["phase"][:, 0, :, 0, 0].T - own - values["middle"]
    assert np.abs(np.angle(np.exp(1j * phases))).max() < 0.1


def test_one_solution_of_the_whole_sky_and_a_start(observed, tmp_path):
    """A shift of the whole field; and once more from the solutions, which are of antennas in the file."""
    one = planes(np.random.default_rng(4), 3e-9, slots=1)["middle"]
    values = {name: np.repeat(one, SLOTS, axis=1) for name in PATCHES}
    path = observed(values, 2 * np.pi * FREQUENCY_HZ, noise_jy=2.0)
    _, found = solve(path, ["D: delay, scalar, plane"], tmp_path / "s.h5")
    np.testing.assert_allclose(found["D"].value["clock"][0, 0, :, 0, 0], one[:, 0], atol=2e-11)
    begun, _ = solve(
        path, ["D: delay, scalar, plane"], tmp_path / "t.h5", start=calibration.read_h5parm(tmp_path / "s.h5")
    )
    (chunk,) = begun.chunks
    assert chunk.chi_square[0] == pytest.approx(chunk.chi_square[-1], rel=1e-4)  # the scale is fitted anew
