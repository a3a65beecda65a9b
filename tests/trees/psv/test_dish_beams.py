"""Skies seen through a primary beam, written in every way, against sums in NumPy with SciPy's Bessel function; and a
beam's width and pointing found from data."""

import numpy as np
import pytest
from direction_cosines import direction_cosines
from scipy.special import j1

import rimetree as rt

LIGHT_M_S = 299792458.0
CENTRE = (1.0, -0.5)
FREQUENCY_HZ = np.array([1.2e9, 1.5e9])
UVW_M = np.array([[120.0, -40.0, 30.0], [-200.0, 310.0, 15.0]])
SKY = rt.sky.SkyModel(
    [
        rt.sky.Source("a", 1.0, -0.5, (2.0, 0.4, -0.3, 0.1)),
        rt.sky.Source("b", 1.004, -0.503, (3.0, -0.2, 0.5, 0.2), ref_freq_hz=1.4e9, spectrum=(-0.7,)),
        rt.sky.Source("c", 0.99, -0.49, (1.0, 0.1, 0.2, -0.3)),
    ]
)
BEAMS = {
    "gaussian": rt.Beam("gaussian", 0.0167, 1.5e9),
    "cosine": rt.Beam("cosine", 0.0167, 1.5e9),
    "airy": rt.Beam.of_dish(13.5),
    "shadowed": rt.Beam.of_dish(12.0, 3.0),
    "elsewhere": rt.Beam("gaussian", 0.0167, 1.5e9, pointing_rad=(1.003, -0.497)),
}


def airy(x):
    return np.where(x == 0, 1, 2 * j1(x) / np.where(x == 0, 1, x))


def voltage(name):
    """[source, channel]"""
    l, m, _ = direction_cosines(SKY.radec_rad, (1.003, -0.497) if name == "elsewhere" else CENTRE)  # noqa: E741
    sine = np.hypot(l, m)[:, None]
    if name in ("airy", "shadowed"):
        diameter_m, b = (13.5, 0.0) if name == "airy" else (12.0, 0.25)
        x = np.pi * diameter_m * sine * FREQUENCY_HZ / LIGHT_M_S
        return (airy(x) - b**2 * airy(b * x)) / (1 - b**2)
    y = sine * FREQUENCY_HZ / (0.0167 * 1.5e9)
    if name == "cosine":
        return np.cos(1.1889647809329456 * np.pi * y) / (1 - (2 * 1.1889647809329456 * y) ** 2)
    return 2.0 ** (-2 * y**2)


def visibilities(name):
    """[baseline, channel, 2, 2]"""
    l, m, n = direction_cosines(SKY.radec_rad, CENTRE)  # noqa: E741
    turns = (UVW_M @ [l, m, n - 1])[:, :, None] * FREQUENCY_HZ / LIGHT_M_S
    i, q, u, v = SKY.stokes_jy.T
    brightness = np.array([[i + q, u + 1j * v], [u - 1j * v, i - q]])  # [2, 2, source]
    slope = np.where(np.arange(3)[:, None] == 1, (FREQUENCY_HZ / 1.4e9) ** -0.7, 1)
    through = np.exp(2j * np.pi * turns) * voltage(name) ** 2 * slope
    return np.einsum("bsf,ijs->bfij", through, brightness)


def psv(ns, sky):
    seen = rt.sky_nodes(ns, sky, CENTRE)
    return lambda uvw: rt.PSV(seen.lmn, seen.brightness, uvw, seen.shape)


def small_nodes(ns, sky):
    seen = rt.sky_nodes(ns, sky, CENTRE)
    return lambda uvw: rt.Add(
        *(rt.VisPhaseShift(lmn=seen.lmn[s], uvw=uvw) * seen.brightness[s, :, :] for s in range(len(sky)))
    )


def jones_terms(ns, sky):
    """The beam as what it is: a Jones matrix of either antenna."""
    seen = rt.sky_nodes(ns, sky.seen_through(None), CENTRE)
    sky.beam.power(ns, ns.radec, ns.radec_0)
    ns.E << ns.beam @ np.tile(np.eye(2), (len(sky), 1, 1))
    return lambda uvw: rt.PSV(seen.lmn, seen.brightness, uvw, seen.shape, ns.E, ns.E.H)


@pytest.mark.parametrize("write", [psv, small_nodes, jones_terms])
@pytest.mark.parametrize("name", BEAMS)
def test_all_spellings_see_through_the_beam(name, write):
    ns = rt.NodeScope()
    of = write(ns, SKY.seen_through(BEAMS[name]))
    for b, uvw in enumerate(UVW_M):
        ns.V(b) << of(rt.Constant(uvw))
    cells = rt.Cells(freq_hz=FREQUENCY_HZ, time_s=[5e9])
    forest, expected = rt.Forest(ns), visibilities(name)
    for b in range(len(UVW_M)):
        found = forest.evaluate(ns.V(b), cells)[:, :, 0]
        np.testing.assert_allclose(np.moveaxis(found, 2, 0), expected[b], rtol=0, atol=1e-11)


def test_a_beam_goes_along_with_its_sky():
    seen = SKY.seen_through(BEAMS["airy"])
    assert seen.select(names="b").beam == seen[1:].beam == seen.without_patches().beam == BEAMS["airy"]
    assert seen.seen_through(None).beam is None and SKY.beam is None
    # What a source has is not changed; what is seen of it is.
    assert seen.total_flux_jy == SKY.total_flux_jy


def test_a_beam_says_what_is_wrong():
    for text, make in {
        "there": lambda: rt.Beam("top hat", 0.01, 1e9),
        "width": lambda: rt.Beam("gaussian", 0.0, 1e9),
        "frequency": lambda: rt.Beam("gaussian", 0.01, -1e9),
        "blockage": lambda: rt.Beam.of_dish(12.0, 12.0),
        "diameter": lambda: rt.Beam.of_dish(0.0),
    }.items():
        with pytest.raises(rt.Error, match="a beam is" if text == "there" else text):
            make()


@pytest.mark.parametrize("profile", ["gaussian", "cosine", "airy"])
def test_width_and_pointing_are_found_from_data(profile):
    """Solved for from a dish that seems to point at a source, where a distance has no derivative but its square has."""

    def tree(width, offset, solvable):
        ns = rt.NodeScope()
        ns.width << rt.Parm(width, solvable=solvable)
        ns.x << rt.Parm(offset[0], solvable=solvable)
        ns.y << rt.Parm(offset[1], solvable=solvable)
        lmn = np.array([[0, 0, 1], [0.004, 0.003, 1], [-0.006, 0.002, 1], [0.001, -0.005, 1]])
        ns.lmn << rt.Constant(lmn) - rt.Composer(*(rt.Composer(ns.x, ns.y, 0.0) for _ in lmn), dims=[4, 3])
        ns.E << rt.DishBeam(ns.lmn, ns.width, profile=profile, ref_freq_hz=1.4e9)
        return ns

    cells = rt.Cells(freq_hz=np.array([1.3e9, 1.4e9, 1.5e9]), time_s=[5e9])
    truth = tree(0.0167, (4e-4, -2e-4), False)
    data = rt.Forest(truth).evaluate(truth.E, cells)
    ns = tree(0.018, (0.0, 0.0), True)
    ns.solve << rt.Solver(rt.Condeq(rt.Constant(data, cells_rank=2), ns.E))
    forest = rt.Forest(ns)
    ns.chi << rt.ChiSquare(rt.Condeq(rt.Constant(data, cells_rank=2), ns.E))
    assert rt.Forest(ns).check_derivatives(ns.chi, cells).good(1e-6)
    forest.evaluate(ns.solve, cells)
    found = [float(forest.get_state(node)["value"]) for node in ("width", "x", "y")]
    np.testing.assert_allclose(found, [0.0167, 4e-4, -2e-4], rtol=1e-6)
