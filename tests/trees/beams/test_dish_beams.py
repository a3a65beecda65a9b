"""Skies seen through a primary beam, written in every way, against sums in NumPy with SciPy's Bessel function; and a
beam's width and pointing found from data."""

import numpy as np
import pytest
from direction_cosines import direction_cosines
from scipy.special import j1

import rimetree as rt
from rimetree.beams import Place, jones_nodes

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
    return visibilities_of(voltage(name) ** 2)


def visibilities_of(power):
    """The same of a power [source, channel] that is let through."""
    l, m, n = direction_cosines(SKY.radec_rad, CENTRE)  # noqa: E741
    turns = (UVW_M @ [l, m, n - 1])[:, :, None] * FREQUENCY_HZ / LIGHT_M_S
    i, q, u, v = SKY.stokes_jy.T
    brightness = np.array([[i + q, u + 1j * v], [u - 1j * v, i - q]])  # [2, 2, source]
    slope = np.where(np.arange(3)[:, None] == 1, (FREQUENCY_HZ / 1.4e9) ** -0.7, 1)
    through = np.exp(2j * np.pi * turns) * power * slope
    return np.einsum("bsf,ijs->bfij", through, brightness)


def psv(ns, sky):
    seen = rt.sky_nodes(ns, sky, CENTRE)
    return lambda uvw: seen.psv(0, 1, uvw)


def small_nodes(ns, sky):
    seen = rt.sky_nodes(ns, sky, CENTRE)
    return lambda uvw: rt.Add(
        *(rt.VisPhaseShift(lmn=seen.lmn[s], uvw=uvw) * seen.brightness[s, :, :] for s in range(len(sky)))
    )


def jones_terms(ns, sky):
    """The beam as what it is: a Jones matrix of either antenna."""
    seen = rt.sky_nodes(ns, sky.seen_through(None), CENTRE)
    (voltage,) = jones_nodes(ns, [sky.beam], Place(ns.radec, ns.radec_0, ns.lmn, len(sky)))
    ns.E << voltage @ np.tile(np.eye(2), (len(sky), 1, 1))
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


def of_three_antennas(write):
    """[baseline 0-1, 0-2, 1-2; channel, 2, 2]: antennas whose beams are two of those above, and one that points
    elsewhere."""
    kinds = ["airy", "shadowed", "elsewhere"]
    ns = rt.NodeScope()
    seen = rt.sky_nodes(ns, SKY.seen_through([BEAMS[kind] for kind in kinds]), CENTRE)
    pairs = [(0, 1), (0, 2), (1, 2)]
    for p, q in pairs:
        ns.uvw(p, q) << rt.Constant(UVW_M[0])
    write(ns, seen, pairs)
    forest, cells = rt.Forest(ns), rt.Cells(freq_hz=FREQUENCY_HZ, time_s=[5e9])
    found = np.array([forest.evaluate(ns.V(p, q), cells)[:, :, 0] for p, q in pairs])
    each = {kind: voltage(kind) for kind in kinds}
    expected = [visibilities_of(each[kinds[p]] * each[kinds[q]])[0] for p, q in pairs]
    return np.moveaxis(found, 3, 1), np.array(expected)


def by_index(ns, seen, pairs):
    p, q = rt.each(pairs)
    ns.V(p, q) << seen.psv(p, q, ns.uvw(p, q))


def by_small_nodes(ns, seen, pairs):
    """With directions as nodes that depend on an antenna and a source."""
    for p, q in pairs:
        ns.V(p, q) << rt.Add(
            *(
                rt.VisPhaseShift(lmn=seen.lmn[s], uvw=ns.uvw(p, q))
                * seen.voltage(p)[s]
                * seen.voltage(q)[s]
                * seen.inner_brightness[s, :, :]
                for s in range(len(SKY))
            )
        )


def by_number(ns, seen, pairs):
    for p, q in pairs:
        ns.V(p, q) << seen.psv(p, q, ns.uvw(p, q))


@pytest.mark.parametrize("write", [by_index, by_number, by_small_nodes])
def test_beams_of_antennas_may_differ(write):
    found, expected = of_three_antennas(write)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


def test_there_is_no_brightness_that_all_see():
    """A script that knows of no beams that differ does not lose them without a word."""
    seen = rt.sky_nodes(rt.NodeScope(), SKY.seen_through([BEAMS["airy"], BEAMS["cosine"]]), CENTRE)
    with pytest.raises(rt.Error, match="the beams of antennas differ"):
        rt.PSV(seen.lmn, seen.brightness, rt.Constant(UVW_M[0]))


def test_beams_that_are_all_alike_are_one():
    assert SKY.seen_through([BEAMS["airy"]] * 3).beam == BEAMS["airy"]
    mixed = SKY.seen_through([BEAMS["airy"], BEAMS["cosine"]])
    assert mixed.select(names="b").beam == (BEAMS["airy"], BEAMS["cosine"])
    with pytest.raises(rt.Error, match="there must be a beam for each antenna"):
        SKY.seen_through([])
    seen = rt.sky_nodes(rt.NodeScope(), mixed, CENTRE)
    for antenna in (2, -1, rt.each([0, 2])):
        with pytest.raises(rt.Error, match="has no beam: the sky is seen through 2, those of antennas from 0 on"):
            seen.psv(antenna, 1, None)


def test_what_is_seen_of_fluxes_is_the_mean_of_pairs():
    from rimetree.sky_fluxes import stokes_i_at

    kinds = ["airy", "shadowed", "elsewhere"]
    a, b, c = (voltage(kind)[:, 0] for kind in kinds)
    seen = SKY.seen_through([BEAMS[kind] for kind in kinds])
    slope = np.array([1, (1.2e9 / 1.4e9) ** -0.7, 1])
    expected = (a * b + a * c + b * c) / 3 * slope * SKY.stokes_jy[:, 0]
    np.testing.assert_allclose(stokes_i_at(seen, 1.2e9, CENTRE), expected, rtol=1e-12)


@pytest.mark.parametrize("sky", [SKY[:0], SKY[:1]])
def test_skies_of_no_source_and_of_one(sky):
    ns = rt.NodeScope()
    seen = rt.sky_nodes(ns, sky.seen_through([BEAMS["airy"], BEAMS["shadowed"]]), CENTRE)
    ns.V << seen.psv(0, 1, rt.Constant(UVW_M[0]))
    found = rt.Forest(ns).evaluate(ns.V, rt.Cells(freq_hz=FREQUENCY_HZ, time_s=[5e9]))
    assert np.abs(found).max() == pytest.approx(2.4 * len(sky))  # which is where both antennas point


def test_a_beam_says_what_is_wrong():
    for text, make in {
        "there": lambda: rt.Beam("top hat", 0.01, 1e9),
        "width": lambda: rt.Beam("gaussian", 0.0, 1e9),
        "frequency": lambda: rt.Beam("gaussian", 0.01, -1e9),
        "blockage": lambda: rt.Beam.of_dish(12.0, 12.0),
        "1500 Hz, is below what reaches the ground; is it in MHz": lambda: rt.Beam("cosine", 0.01, 1500.0),
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
