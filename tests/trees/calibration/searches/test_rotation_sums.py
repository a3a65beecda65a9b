"""Rotations beside gains of feeds, as sums over data without noise tell them."""

import numpy as np
import pytest
from chain_scene import BASELINES, FREQUENCY_HZ, N_CHANNEL, N_TIME, Intervals, N, sums_of

from rimetree.calibration import parse_terms
from rimetree.calibration.data.hands import ALL_HANDS, TURNS
from rimetree.calibration.searches.gains_around_rotations import GainsAroundRotation
from rimetree.calibration.searches.rotation_search import angle_of, common_inside_gains, search_rotation_inside_gains
from rimetree.calibration.searches.rotations_inside_gains import (
    circular_hands_inside,
    continued,
    rotations_by,
    with_turned_model,
)
from rimetree.calibration.searches.rotations_outside_gains import search_rotation_outside_gains, without_rotation

ROTATIONS = {"R: rotation": 1.2, "R: rotation, 1slot": 1.2, "F: faraday": 0.15, "F: faraday, 1slot": 0.15}


def brightness(rng, polarised):
    """[baseline, time, freq, 2, 2] of a sky that is resolved."""
    n = len(BASELINES)
    size = rng.uniform(0.5, 1.5, (n, N_TIME, N_CHANNEL)) * np.exp(1j * rng.uniform(-1, 1, n))[:, None, None]
    stokes = np.eye(2) + polarised * np.array([[0.2, 0.1 + 0.05j], [0.1 - 0.05j, -0.2]])
    return size[..., None, None] * stokes


class Scene:
    """A rotation and gains of each feed, or of both `alike`, `outside` of it or inside; `polarised`: 0 or 1, whether
    the sky is."""

    def __init__(self, text, *, outside, polarised=0, alike=False):
        rng = np.random.default_rng(5)
        self.term, self.gain = parse_terms([text, "G: diag"])
        self.intervals = Intervals({self.term.name: text.replace(" ", "").split(","), "G": []})
        model, shape = brightness(rng, polarised), (N, N_TIME, N_CHANNEL)
        empty = sums_of(np.ones((len(BASELINES), N_TIME, N_CHANNEL, 4, 1), complex), np.ones(1))
        most = ROTATIONS.get(text, 1.2)
        self.angle = rng.uniform(-most, most, (1, *self.intervals.intervals_of(self.term, None), N))
        self.turned = self.intervals.phasors(self.term, self.angle, empty)[..., 0]
        feeds = 1 if alike else 2
        gains = rng.uniform(0.7, 1.4, (N, 1, 1, feeds)) * np.exp(1j * rng.uniform(-1.5, 1.5, (N, 1, 1, feeds)))
        self.gains = np.broadcast_to(gains, (*shape, 2))
        diagonal, turned = self.gains[..., None] * np.eye(2), rotations_by(self.turned)
        jones = diagonal @ turned if outside else turned @ diagonal
        p, q = BASELINES.T
        seen = jones[p] @ model @ np.conj(np.swapaxes(jones[q], -1, -2))
        intensity = 0.5 * (model[..., 0, 0] + model[..., 1, 1])
        own = np.stack([np.stack([intensity, model[..., i, j]], axis=-1) for i, j in ALL_HANDS], axis=-2)
        data = np.stack([seen[..., i, j] for i, j in ALL_HANDS], axis=-1)
        self.sums = sums_of(data[..., None] * own.conj(), own.conj()[..., :, None] * own[..., None, :])


def off(found, planted):
    """The largest difference of angles relative to those of the reference, but for half turns."""
    off = (found - found[..., :1]) - (planted - planted[..., :1])
    return np.abs(off - np.pi * np.round(off / np.pi)).max()


def test_rotations_are_matrices():
    angle = np.array([0.3, -2.0])
    wanted = [[[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]] for a in angle]
    np.testing.assert_allclose(rotations_by(np.exp(1j * angle)), wanted)


@pytest.mark.parametrize("text", [*ROTATIONS, "R: rotation, 4chan", "R: rotation, 1slot, 4chan"])
def test_inside_of_gains(text):
    """But for the sign of all."""
    scene = Scene(text, outside=True)
    found = search_rotation_inside_gains(scene.intervals, scene.term, scene.sums)
    assert np.abs(found[..., 0]).max() < 1e-12
    assert min(off(sign * found, scene.angle) for sign in (1, -1)) < 1e-3


@pytest.mark.parametrize("text", ROTATIONS)
def test_a_polarised_sky_tells_the_sign_and_what_all_are_turned_by(text):
    scene = Scene(text, outside=True, polarised=1)
    relative = scene.angle - scene.angle[..., :1]
    (sign, common), (other, _) = common_inside_gains(scene.intervals, scene.term, relative, scene.gains, scene.sums)
    assert (sign, other) == (1.0, -1.0)
    turn = np.pi / scene.intervals.rate(scene.term, scene.sums).mean()
    left = common - scene.angle[0, ..., 0]
    np.testing.assert_allclose(left - turn * np.round(left / turn), 0, atol=1e-6 * turn)


def test_circular_hands_without_gains_are_turned_by_differences_of_angles():
    scene = Scene("R: rotation, 1slot", outside=True)
    hands = circular_hands_inside(scene.sums, scene.gains)
    p, q = BASELINES.T
    for hand, times in enumerate(TURNS):
        wanted = (scene.turned[p] * np.conj(scene.turned[q])) ** times
        np.testing.assert_allclose(hands[..., hand] / np.abs(hands[..., hand]), wanted, rtol=1e-9)


@pytest.mark.parametrize("polarised", [0, 1])
def test_gains_see_the_turned_model(polarised):
    scene = Scene("F: faraday, 1slot", outside=True, polarised=polarised)
    told = with_turned_model(scene.sums, scene.turned, polarised=polarised > 0)
    p, q = BASELINES.T
    gains = np.stack([scene.gains[p, ..., i] * np.conj(scene.gains[q, ..., j]) for i, j in ALL_HANDS], axis=-1)
    np.testing.assert_allclose(told.product[..., 0], gains * told.power[..., 0, 0], rtol=1e-9)


@pytest.mark.parametrize("text", ROTATIONS)
@pytest.mark.parametrize("polarised", [0, 1])
def test_gains_around_a_rotation(text, polarised):
    """Both are found from anywhere, with the size of gains."""
    scene = Scene(text, outside=True, polarised=polarised)
    found = GainsAroundRotation(scene.intervals, scene.term, [scene.gain], scene.sums, origins=3).run()
    turned = scene.intervals.phasors(scene.term, found[scene.term.name], scene.sums)[..., 0]
    told = with_turned_model(scene.sums, turned, polarised=polarised > 0)
    gains = np.moveaxis(found["G"], (3, 0), (0, 3))
    gains = np.broadcast_to(gains, (N, N_TIME, N_CHANNEL, gains.shape[-1]))
    p, q = BASELINES.T
    seen = np.stack([gains[p, ..., i] * np.conj(gains[q, ..., j]) for i, j in ALL_HANDS], axis=-1)
    agree, all_of_it = (told.product[..., 0] * np.conj(seen)).real.sum(), np.abs(told.product[..., 0] * seen).sum()
    assert agree > 0.999 * all_of_it
    size = np.abs(told.product[..., 0]).sum() / (np.abs(seen) * told.power[..., 0, 0]).sum()
    assert size == pytest.approx(1, abs=0.3)


@pytest.mark.parametrize("text", ROTATIONS)
def test_outside_of_gains(text):
    """With what the reference is turned by, but for quarters of a turn, which exchange feeds."""
    scene = Scene(text, outside=False)
    found = search_rotation_outside_gains(scene.intervals, scene.term, scene.sums, origins=3)
    rate = scene.intervals.rate(scene.term, scene.sums).mean()
    assert off(found * rate, scene.angle * rate) < 1e-6
    quarter = np.pi / 2 / rate
    left = found - scene.angle
    np.testing.assert_allclose(left - quarter * np.round(left / quarter), 0, atol=1e-6 * quarter)


def test_where_gains_of_feeds_are_alike_nothing_tells_what_the_reference_is_turned_by():
    scene = Scene("R: rotation", outside=False, alike=True)
    product = scene.sums.product
    noise = 1e-3 * np.random.default_rng(1).normal(size=(*product.shape, 2)) @ [1, 1j]
    sums = sums_of(product + noise, scene.sums.power)
    found = search_rotation_outside_gains(scene.intervals, scene.term, sums, origins=3)
    assert not found[..., 0].any()


def test_without_a_rotation_outside_gains_are_left():
    scene = Scene("F: faraday, 1slot", outside=False)
    left = without_rotation(scene.intervals, scene.term, scene.angle, scene.sums)
    p, q = BASELINES.T
    for hand, feed in enumerate((0, 1)):
        wanted = scene.gains[p, ..., feed] * np.conj(scene.gains[q, ..., feed]) * left.power[:, :, :, 0, 0, 0]
        np.testing.assert_allclose(left.product[..., hand, 0], wanted, rtol=1e-9)
    np.testing.assert_allclose(left.product[..., 2:, 0], 0, atol=1e-9)


def test_channels_are_continued_with_the_nearest_sign():
    angle = np.linspace(0.5, 3, 12)[:, None] * np.array([0.0, 1.0, -0.7, 1.3])
    phasor = np.exp(1j * angle) * np.linspace(1, 3, 12)[:, None]
    signs = np.where(np.arange(12) % 3 == 1, -1, 1)
    seen = np.where(signs[:, None] < 0, np.conj(phasor), phasor)
    seen[5] = phasor[5] = 0  # a channel without data
    np.testing.assert_allclose(continued(seen), phasor)


@pytest.mark.parametrize("times", [2, 4])
def test_angles_of_spectra(times):
    rotation, faraday = parse_terms(["R: rotation", "F: faraday"])
    assert angle_of(rotation, np.exp(0.2j * times) * np.ones(8), FREQUENCY_HZ, times=times) == pytest.approx(0.2)
    spectrum = np.exp(0.3j * times * (299792458.0 / FREQUENCY_HZ) ** 2)
    assert angle_of(faraday, spectrum, FREQUENCY_HZ, times=times) == pytest.approx(0.3, rel=1e-6)
