"""Phases of chains of terms, as sums over data without noise tell them."""

import numpy as np
import pytest
from chain_scene import BASELINES, FREQUENCY_HZ, N_CHANNEL, N_TIME, Intervals, N, sums_of

from rimetree.calibration import parse_terms
from rimetree.calibration.data.hands import ALL_HANDS
from rimetree.calibration.searches import chain_phases as chain_phases_module
from rimetree.calibration.searches.chain_phases import chain_phases, with_sizes
from rimetree.calibration.searches.chain_turns import with_best_chain_turns
from rimetree.calibration.searches.chain_unknowns import ChainUnknowns

MOST = {"delay": 30e-9, "tec": 0.2}  # some turns


def scene(texts, hands=2, seed=0):
    """(intervals, terms, sums, {name: planted values})."""
    rng, terms = np.random.default_rng(seed), parse_terms(texts)
    intervals = Intervals(
        {term.name: text.replace(" ", "").split(",") for term, text in zip(terms, texts, strict=True)}
    )
    planted, gains = {}, np.ones((N, N_TIME, N_CHANNEL, 2), complex)
    empty = sums_of(np.ones((len(BASELINES), N_TIME, N_CHANNEL, hands, 1), complex), np.ones(1))
    for term in terms:
        most = MOST.get(term.kind.name, 3.0)
        own = rng.uniform(-most, most, (len(term.elements), *intervals.intervals_of(term, None), N))
        planted[term.name] = own
        gains = gains * intervals.phasors(term, own, empty)
    p, q = BASELINES.T
    seen = np.stack([gains[p, ..., i] * np.conj(gains[q, ..., j]) for i, j in ALL_HANDS[:hands]], axis=-1)
    power = rng.uniform(0.5, 2, seen.shape)
    return intervals, terms, sums_of((seen * power)[..., None], power[..., None, None]), planted


def left_by(intervals, terms, sums, values):
    """The largest phase (rad) of data without what is found."""
    gains = 1.0
    for term in terms:
        gains = gains * intervals.phasors(term, values[term.name], sums)
    p, q = BASELINES.T
    seen = np.stack([gains[p, ..., i] * np.conj(gains[q, ..., j]) for i, j in ALL_HANDS[: sums.product.shape[3]]], -1)
    return np.abs(np.angle(sums.product[..., 0] * np.conj(seen))).max()


CHAINS = pytest.mark.parametrize(
    "texts",
    [
        ["S: scalar, 1slot", "K: delay"],
        ["S: scalar, 1slot", "K: delay, 2slots"],
        ["P: phase, 1slot", "K: delay, scalar"],
        ["B: phase, 1chan", "K: delay, 1slot"],
        ["B: phase, 1chan", "K: delay, 1slot", "G: diag, 2slots"],
        ["T: tec", "K: delay, 2slots", "P: phase, 1slot, 4chan"],
    ],
    ids="*".join,
)


@CHAINS
@pytest.mark.parametrize("hands", [2, 4])
def test_chains_leave_nothing_of_data_without_noise(texts, hands):
    """Of crossed hands neither what the reference has of one feed against the other."""
    intervals, terms, sums, _ = scene(texts, hands)
    found = chain_phases(intervals, terms, sums)
    assert left_by(intervals, terms, sums, found) < 1e-6
    assert found.keys() == {term.name for term in terms}


@CHAINS
def test_that_is_so_before_turns_are_tried(monkeypatch, texts):
    """These would make up for what a search of differences to one bin of each interval had not found."""
    monkeypatch.setattr(chain_phases_module, "is_small", lambda *_: False)
    monkeypatch.setattr(chain_phases_module, "with_best_chain_turns", lambda terms, seen, values: list(values))
    intervals, terms, sums, _ = scene(texts)
    assert left_by(intervals, terms, sums, chain_phases(intervals, terms, sums)) < 1e-3


def test_what_one_term_alone_tells_is_what_was_planted():
    """A delay of each slot beside a phase of all: relative to the reference, in each feed."""
    intervals, terms, sums, planted = scene(["K: delay, 1slot"])
    found = chain_phases(intervals, terms, sums)["K"]
    wanted = planted["K"] - planted["K"][..., :1]
    np.testing.assert_allclose(found * FREQUENCY_HZ.mean(), wanted * FREQUENCY_HZ.mean(), atol=1e-6)


def test_what_tells_no_phases_is_not_searched():
    intervals, terms, sums, _ = scene(["S: scalar, 1slot", "K: delay"])
    rng = np.random.default_rng(1)
    noise = sums_of(rng.normal(size=(*sums.product.shape, 2)) @ [1, 1j], sums.power)
    assert chain_phases(intervals, terms, noise) is None
    few = [k for k, (p, q) in enumerate(BASELINES) if p == 0 or (p, q) == (1, 2)]
    star = sums_of(sums.product[few], sums.power[few])
    object.__setattr__(star, "baselines", BASELINES[few])
    assert chain_phases(intervals, terms, star) is None


def test_turns_of_an_interval_are_found_where_another_term_ties_them():
    """A delay of each half that is a turn, or two, off, beside a phase of each feed."""
    intervals, terms, sums, planted = scene(["P: phase", "K: delay, 2slots"])
    own = [ChainUnknowns.of(term, intervals, sums) for term in terms]
    right = [np.moveaxis(planted[one.term.name], -1, 0).reshape(N, -1) for one in own]
    phases = sum(one.phases(values) for one, values in zip(own, right, strict=True))
    off = [right[0], right[1] + np.array([0, 1, 0, -2]) / FREQUENCY_HZ.mean()]
    found = with_best_chain_turns(own, np.exp(1j * phases), off)
    left = phases - sum(one.phases(values) for one, values in zip(own, found, strict=True))
    assert np.abs(np.angle(np.exp(1j * left))).max() < 1e-9
    assert np.abs(np.angle(np.exp(1j * (phases - own[0].phases(off[0]) - own[1].phases(off[1]))))).max() > 0.01


def test_unknowns_of_a_term():
    """Sums over the bins of each, and the bins that others are relative to: of most data in time, channel and feed."""
    intervals, (term,), sums, _ = scene(["G: phase, 2slots, 4chan"])
    own = ChainUnknowns.of(term, intervals, sums)
    assert own.shape == (2, 2, 2) and own.size == 8 and own.place == (0, 1)
    ones = own.sums(np.ones((N, N_TIME, N_CHANNEL, 2)))
    np.testing.assert_array_equal(ones, np.full((N, 8), N_TIME * N_CHANNEL / 4))
    strength = np.ones((N_TIME, N_CHANNEL, 2))
    strength[1], strength[2], strength[:, 3], strength[:, 6] = 2, 3, 4, 5
    time, channel, feed = np.unravel_index(own.origins(strength), strength.shape)
    np.testing.assert_array_equal(time[:, 0, 0], [1, 1, 2, 2])
    np.testing.assert_array_equal(channel[0, :, 0], [3] * 4 + [6] * 4)
    np.testing.assert_array_equal(feed[0, 0], [0, 1])


def test_the_first_gain_of_a_chain_has_the_size_of_the_data():
    _, terms, sums, _ = scene(["P: phase", "G: diag", "F: full"])
    sums = sums_of(9 * sums.product, sums.power)
    values = {term.name: np.full((len(term.elements), 1, 1, N), 0.5) for term in terms}
    found = with_sizes(terms, values, sums)
    assert found["P"] is values["P"]
    np.testing.assert_allclose(found["G"], 3 * np.exp(0.5j) * np.ones((2, 1, 1, N)))
    np.testing.assert_allclose(found["F"][[0, 3]], np.exp(0.5j) * np.ones((2, 1, 1, N)))
    assert not found["F"][[1, 2]].any()
