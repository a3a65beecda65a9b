"""Slope and curvature of fits of all directions, beside differences of what they are of."""

from dataclasses import replace

import numpy as np
import pytest
from factors import chi_square_of, factors_seen

import rimetree as rt
from rimetree.calibration.directions.joint_fit import DirectionSums, JointFit, Unknowns

N, N_TIME, N_CHANNEL, DIRECTIONS = 4, 2, 3, 3


def problem(rng, *, whole, shared):
    """A fit to phases and slopes of directions, a scale of each, and, if `whole`, gains of each feed; antennas may have
    `shared` phases in one direction."""
    p, q = np.triu_indices(N, 1)

    def noise(*shape):
        return rng.normal(size=(*shape, 2)) @ [1, 1j]

    model = noise(len(p), N_TIME, N_CHANNEL, 2, 5, DIRECTIONS)
    data = model.sum(axis=-1) + noise(*model.shape[:-1])
    product = np.einsum("btfesk,btfes->btfek", model.conj(), data)
    power = np.einsum("btfesk,btfesl->btfekl", model.conj(), model)
    sums = DirectionSums(np.stack([p, q], axis=1), product, power, float((np.abs(data) ** 2).sum()), N)
    one, slots = np.zeros((N_TIME, N_CHANNEL), int), np.arange(N_TIME)[:, None] + np.zeros((1, N_CHANNEL), int)
    flat, slope = np.ones(N_CHANNEL), np.linspace(-1, 1, N_CHANNEL)
    both, every, found, count = np.ones(2, bool), np.ones(DIRECTIONS, bool), [], 0

    def add(rate, turns, directions, feeds, cells, index):
        nonlocal count
        index = np.where(np.array(index) < 0, -1, np.array(index) + count)
        count = index.max() + 1
        found.append(Unknowns(rate, turns, directions, feeds, cells, index))

    for k in range(DIRECTIONS):
        own = np.arange(DIRECTIONS) == k
        numbers = np.arange(2 * N).reshape(2, N)
        add(flat, True, own, both, slots, numbers // 2 if shared and k == 1 else numbers)
        add(slope, True, own, both, one, [[-1, 0, 1, 2]])
        add(flat, False, own, both, one, [[0] * N])
    for feed in range(2 if whole else 0):
        add(flat, False, every, np.arange(2) == feed, one, [np.arange(N)])
        add(flat, True, every, np.arange(2) == feed, slots, np.arange(2 * N).reshape(2, N))
    # As a rotation is of the hands of circular feeds.
    turned, number = np.arange(DIRECTIONS) == 0, np.arange(N)[None] + count
    found += [
        Unknowns(sign * flat, True, turned, np.arange(2) == feed, one, number) for feed, sign in ((0, 1), (1, -1))
    ]
    return sums, found


@pytest.mark.parametrize(("whole", "shared"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("held", [(), (0, 5)])
def test_slope_and_curvature(whole, shared, held):
    rng = np.random.default_rng(1)
    sums, unknowns = problem(rng, whole=whole, shared=shared)
    fit = JointFit(sums, unknowns)
    place = rng.normal(0, 0.3, (2, fit.count))
    np.testing.assert_allclose(fit.chi_square(place), chi_square_of(sums, factors_seen(sums, unknowns, place)))
    slope, curvature = fit.normal(place, held)
    step = 1e-5 * np.eye(fit.count)
    for k, one in enumerate(place):
        up, down = (factors_seen(sums, unknowns, one + sign * step) for sign in (1, -1))
        jacobian = (up - down) / 2e-5  # [time, freq, feed, direction, baseline, unknown]
        jacobian[..., list(held)] = 0.0
        wanted = np.einsum("tfekbi,btfekl,tfelbj->ij", jacobian.conj(), sums.power, jacobian, optimize=True).real
        np.testing.assert_allclose(curvature[k], wanted, rtol=1e-7, atol=1e-7 * np.abs(wanted).max())
        downwards = (chi_square_of(sums, down) - chi_square_of(sums, up)) / 4e-5
        downwards[list(held)] = 0.0
        np.testing.assert_allclose(slope[k], downwards, rtol=1e-6, atol=1e-6 * np.abs(downwards).max())


def test_units_of_unknowns_do_not_matter():
    """A delay's are seconds, whose curvature is 1e20 times that of a phase: phases beside delays had not moved."""
    rng = np.random.default_rng(3)
    sums, unknowns = problem(rng, whole=True, shared=False)
    sloped = [np.ptp(one.rate) > 0 for one in unknowns]
    seconds = [replace(one, rate=1e10 * one.rate) if own else one for one, own in zip(unknowns, sloped, strict=True)]
    fit, other = JointFit(sums, unknowns), JointFit(sums, seconds)
    place, factor = rng.normal(0, 1.0, (16, fit.count)), np.ones(fit.count)
    for one, own in zip(unknowns, sloped, strict=True):
        factor[one.index[(one.index >= 0) & own]] = 1e-10
    _, chi_square = fit.climbed(place.copy(), 4)
    _, least = other.climbed(place * factor, 4)
    np.testing.assert_allclose(least, chi_square, rtol=1e-4)  # after more steps rounding leads them apart


def test_few_steps_are_too_long():
    """Damping that fell tenfold after each good step had the next one rejected: every second was in vain."""
    rng = np.random.default_rng(2)
    sums, unknowns = problem(rng, whole=True, shared=False)
    fit = JointFit(sums, unknowns)
    place = rng.normal(0, 1.0, (16, fit.count))
    found, chi_square, tried, good = fit._fit.climb(place, 80, [])
    assert (np.asarray(chi_square) < 0.6 * fit.chi_square(place)).all()
    assert good > 0.75 * tried
    slope, curvature = fit.normal(np.array(found))
    told = np.einsum("si,sij,sj->s", slope, np.linalg.pinv(curvature, rcond=1e-9, hermitian=True), slope)
    assert np.median(told / chi_square) < 1e-4


def test_what_is_held_stays():
    rng = np.random.default_rng(4)
    sums, unknowns = problem(rng, whole=True, shared=True)
    fit, held = JointFit(sums, unknowns), [1, 3]
    place = rng.normal(0, 0.3, (3, fit.count))
    before = place.copy()
    found, chi_square = fit.climbed(place, 10, held)
    np.testing.assert_array_equal(place, before)  # which the caller keeps
    np.testing.assert_array_equal(found[:, held], before[:, held])
    np.testing.assert_allclose(chi_square, fit.chi_square(found), rtol=1e-12)
    assert (chi_square < fit.chi_square(before)).all() and not np.isclose(found, before).all(axis=0)[4:].any()


def test_sizes_that_do_not_fit_are_told():
    sums, unknowns = problem(np.random.default_rng(1), whole=False, shared=False)
    with pytest.raises(rt.Error, match="products are not"):
        JointFit(replace(sums, baselines=sums.baselines[1:]), unknowns)
    with pytest.raises(rt.Error, match="a baseline has an unknown antenna"):
        JointFit(replace(sums, baselines=sums.baselines + 1), unknowns)
    with pytest.raises(rt.Error, match="unknowns do not fit to the sums"):
        JointFit(sums, [replace(unknowns[0], rate=np.ones(2))])
    with pytest.raises(rt.Error, match=r"places are not \[start, unknown\]"):
        JointFit(sums, unknowns).chi_square(np.zeros((2, 3)))
