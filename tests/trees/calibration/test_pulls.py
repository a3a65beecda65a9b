"""Errors of chains of terms: the mean square of (solution - planted value) / error is 1 +- 0.1 for each term.

Each case has some tens of solution intervals, solved for apart: of the hundreds of pulls of each many share what is
common to them (the reference, the normalisation), but intervals share nothing. With other noise the mean square differs
by less than 0.033 (one standard deviation).
"""

import numpy as np
import pytest
from planted_chains import N_ANTENNA, SKY, diagonal, gains
from planted_pulls import (
    CHANNELS,
    PATCHES,
    PATCHES_SLOT_S,
    POLARISED,
    POLARISED_PATCHES,
    SLOTS,
    normalised,
    pulls,
    slots,
)


@pytest.fixture
def recovered(solved):
    """recovered(terms, product, sky, of_patch): report and solutions of data with noise, of antennas with matrices
    product [antenna, time, freq, 2, 2] for the whole sky and of_patch {patch: [antenna, time, freq, 2, 2]}; freq has
    CHANNELS or 1 entries. Where patches have terms of their own intervals are longer: as the sky turns, seven antennas
    tell patches apart."""

    def solve(terms, product, sky=SKY, of_patch=None):
        def in_patch(antenna, patch):
            return of_patch[patch][antenna] if of_patch else np.eye(2)

        data = {"slots": product.shape[1], "slot_s": PATCHES_SLOT_S if of_patch else 10.0, "channels": CHANNELS}
        report, found, _ = solved(terms, lambda antenna: product[antenna], sky, in_patch, **data)
        assert report.converged == report.solves == product.shape[1] // SLOTS and not report.flagged
        assert report.noise_ratio == pytest.approx(1, abs=0.01)
        return report, found

    return solve


def assert_within_errors(*of_terms, each=0.3):
    """Each quantity of each term by itself (`each`: how far from 1), and all together."""
    every = {name: values for found in of_terms for name, values in found.items()}
    means = {name: np.mean(values**2) for name, values in every.items()}
    together = np.mean(np.concatenate(list(every.values())) ** 2)
    assert together == pytest.approx(1, abs=0.1), means
    assert all(mean == pytest.approx(1, abs=each) for mean in means.values()), means


def random_gains(rng, n_time, n_freq, n_feed=2):
    return gains(rng, n_time, n_freq, n_feed, phase=1.0)


def unit_matrices(intervals):
    """[antenna, time, 1, 2, 2]"""
    return np.eye(2) * np.ones((N_ANTENNA, SLOTS * intervals, 1, 1, 1))


BANDPASS, GAIN = f"diag, {SLOTS}slots, 1chan", "diag, 1slot"


@pytest.mark.parametrize("order", ["BG", "GB"])
def test_bandpass_and_gain(recovered, order):
    intervals = 10
    rng = np.random.default_rng(1)
    b, g = random_gains(rng, intervals, CHANNELS), random_gains(rng, SLOTS * intervals, 1)
    terms = {"B": f"B: {BANDPASS}", "G": f"G: {GAIN}"}
    report, found = recovered([terms[name] for name in order], diagonal(slots(b) * g))
    assert report.normalised == ["B"]
    left, taken = normalised(b, axis=2)
    assert_within_errors(pulls(found["B"], left), pulls(found["G"], g * slots(taken)))


def test_bandpass_and_gain_of_each_patch(recovered):
    intervals = 10
    rng = np.random.default_rng(2)
    b = {p: random_gains(rng, intervals, CHANNELS) for p in PATCHES.patches}
    g = {p: random_gains(rng, SLOTS * intervals, 1) for p in PATCHES.patches}
    of_patch = {p: diagonal(slots(b[p]) * g[p]) for p in PATCHES.patches}
    report, found = recovered(
        [f"B: {BANDPASS}, per patch", f"G: {GAIN}, per patch"], unit_matrices(intervals), of_patch=of_patch
    )
    assert report.normalised == ["B"]
    of_terms = []
    for p in PATCHES.patches:
        left, taken = normalised(b[p], axis=2)
        at = found["B"].directions.index(p)
        of_terms += [pulls(found["B"], left, at), pulls(found["G"], g[p] * slots(taken), at)]
    assert_within_errors(*of_terms)


def test_bandpasses_of_patches_and_gains_of_the_whole_sky(recovered):
    """Those of the brightest patch are normalised, those of the other are relative to it."""
    intervals = 16
    rng = np.random.default_rng(3)
    b, g = {p: random_gains(rng, intervals, CHANNELS) for p in PATCHES.patches}, random_gains(rng, SLOTS * intervals, 1)
    of_patch = {p: diagonal(slots(b[p])) for p in PATCHES.patches}
    report, found = recovered([f"G: {GAIN}", f"B: {BANDPASS}, per patch"], diagonal(g), sky=PATCHES, of_patch=of_patch)
    assert report.normalised == ["B"]
    left, taken = normalised(b["middle"], axis=2)
    places = {p: found["B"].directions.index(p) for p in PATCHES.patches}
    assert_within_errors(
        pulls(found["B"], left, places["middle"]),
        pulls(found["B"], b["side"] / taken, places["side"]),
        pulls(found["G"], g * slots(taken)),
    )


def without_lines(b, frequency):
    """(what is left, what goes to the gain, what goes to the delay in s) of bandpasses: weighted lines are taken out of
    their phases."""
    amplitude = np.abs(b)
    offset = np.broadcast_to((frequency - 1.3e9)[:, None], amplitude.shape)
    centre = (amplitude * offset).sum(axis=2, keepdims=True) / amplitude.sum(axis=2, keepdims=True)
    phase = np.unwrap(np.angle(b), axis=2)
    slope = (amplitude * (offset - centre) * phase).sum(axis=2, keepdims=True)
    slope = slope / (amplitude * (offset - centre) ** 2).sum(axis=2, keepdims=True)
    constant = (amplitude * phase).sum(axis=2, keepdims=True) / amplitude.sum(axis=2, keepdims=True) - slope * centre
    mean = amplitude.mean(axis=2, keepdims=True)
    left = b / mean * np.exp(-1j * (constant + slope * offset))
    return left, mean * np.exp(1j * (constant - slope * 1.3e9)), slope / (2 * np.pi)


@pytest.mark.parametrize("per", ["", ", per patch"])
def test_delay_bandpass_and_gain(recovered, per):
    intervals = 2 if per else 20  # a search for delays of patches beside bandpasses takes seconds
    rng = np.random.default_rng(4)
    patches = PATCHES.patches if per else [""]
    frequency = 1.3e9 + 2e6 * (np.arange(CHANNELS) - (CHANNELS - 1) / 2)
    delay_s, b, g, of_patch = {}, {}, {}, {}
    for p in patches:
        b[p], g[p] = gains(rng, intervals, CHANNELS, phase=0.5), random_gains(rng, SLOTS * intervals, 1)
        delay_s[p] = rng.uniform(-100e-9, 100e-9, (N_ANTENNA, intervals, 1, 2))
        delay_s[p][0] = 0
        turned = np.exp(2j * np.pi * frequency[:, None] * delay_s[p])
        of_patch[p] = diagonal(slots(turned * b[p]) * g[p])
    lines = [f"K: delay, {SLOTS}slots{per}", f"B: {BANDPASS}{per}", f"G: {GAIN}{per}"]
    report, found = recovered(lines, *([unit_matrices(intervals), PATCHES, of_patch] if per else [of_patch[""]]))
    assert report.normalised == ["B"]
    of_terms = []
    for p in patches:
        left, taken, more_s = without_lines(b[p], frequency)
        at = found["K"].directions.index(p)
        wanted = np.moveaxis(delay_s[p] + more_s, 0, 2)
        clock, sigma = (x["clock"][:, :, 1:, at] for x in (found["K"].value, found["K"].sigma))
        of_terms += [
            {f"K clock {at}": ((clock - wanted[:, :, 1:]) / sigma).ravel()},
            pulls(found["B"], left, at),
            pulls(found["G"], g[p] * slots(taken), at),
        ]
    assert_within_errors(*of_terms, each=0.6 if per else 0.3)


@pytest.mark.parametrize("per", ["", ", per patch"])
def test_amplitude_and_phase(recovered, per):
    intervals = 20
    rng = np.random.default_rng(5)
    patches = PATCHES.patches if per else [""]
    a = {p: np.abs(random_gains(rng, intervals, CHANNELS)) for p in patches}
    phase = {p: np.exp(1j * np.angle(random_gains(rng, SLOTS * intervals, 1))) for p in patches}
    of_patch = {p: diagonal(slots(a[p]) * phase[p]) for p in patches}
    lines = [f"P: phase, 1slot{per}", f"A: amplitude, {SLOTS}slots, 1chan{per}"]
    report, found = recovered(lines, *([unit_matrices(intervals), PATCHES, of_patch] if per else [of_patch[""]]))
    assert not report.normalised
    of_terms = []
    for p in patches:
        at = found["A"].directions.index(p)
        of_terms += [pulls(found["A"], a[p], at), pulls(found["P"], phase[p], at)]
    assert_within_errors(*of_terms)


def leakages(rng, n_time):
    """[antenna, time, 1, 2, 2], none of which is near 0."""
    d = np.zeros((N_ANTENNA, n_time, 1, 2, 2), complex) + np.eye(2)
    shape = (N_ANTENNA, n_time, 1)
    for i, j in ((0, 1), (1, 0)):
        d[..., i, j] = rng.uniform(0.05, 0.15, shape) * np.exp(1j * rng.uniform(-np.pi, np.pi, shape))
    return d


def elements(matrices):
    """[antenna, time, freq, 4] of matrices."""
    return matrices.reshape(*matrices.shape[:-2], 4)


@pytest.mark.parametrize("sky", [SKY, POLARISED], ids=["unpolarised", "polarised"])
def test_gain_and_leakage(recovered, sky):
    intervals = 100
    rng = np.random.default_rng(6)
    g, d = random_gains(rng, SLOTS * intervals, 1), leakages(rng, intervals)
    if sky is SKY:  # of the reference one is held, as only differences are told
        d[0, ..., 0, 1] = 0
    report, found = recovered([f"G: {GAIN}", f"D: leakage, {SLOTS}slots"], diagonal(g) @ slots(d), sky)
    assert not report.normalised
    assert_within_errors(pulls(found["G"], g), pulls(found["D"], elements(d)))


@pytest.mark.parametrize("channels", [1, CHANNELS])
@pytest.mark.parametrize("order", ["GF", "FG"])
def test_gain_and_full_matrix(recovered, order, channels):
    """The diagonal of the matrices is normalised: rows, or columns, go to the gains."""
    intervals = 40 if channels == 1 else 15
    rng = np.random.default_rng(7)
    g, f = random_gains(rng, SLOTS * intervals, 1), leakages(rng, intervals)
    f = f * np.ones((channels, 1, 1)) + diagonal(random_gains(rng, intervals, channels)) - np.eye(2)
    lines = {"G": f"G: {GAIN}", "F": f"F: full, {SLOTS}slots{', 1chan' if channels > 1 else ''}"}
    product = diagonal(g) @ slots(f) if order == "GF" else slots(f) @ diagonal(g)
    report, found = recovered([lines[name] for name in order], product, POLARISED)
    assert report.normalised == ["F"]
    _, taken = normalised(np.diagonal(f, axis1=-2, axis2=-1), axis=2)
    left = f / (taken[..., None] if order == "GF" else taken[..., None, :])
    assert_within_errors(pulls(found["G"], g * slots(taken)), pulls(found["F"], elements(left)))


def test_gains_of_the_whole_sky_and_leakages_of_patches(recovered):
    intervals = 40
    rng = np.random.default_rng(8)
    g, d = random_gains(rng, SLOTS * intervals, 1), {p: leakages(rng, intervals) for p in POLARISED_PATCHES.patches}
    lines = [f"G: {GAIN}", f"D: leakage, {SLOTS}slots, per patch"]
    of_patch = {p: slots(d[p]) for p in d}
    report, found = recovered(lines, diagonal(g), POLARISED_PATCHES, of_patch)
    assert not report.normalised
    each = [pulls(found["D"], elements(d[p]), found["D"].directions.index(p)) for p in d]
    assert_within_errors(pulls(found["G"], g), *each)


def test_gain_and_full_matrix_of_each_patch(recovered):
    intervals = 15
    rng = np.random.default_rng(9)
    g, f = {}, {}
    for p in POLARISED_PATCHES.patches:
        g[p] = random_gains(rng, SLOTS * intervals, 1)
        f[p] = leakages(rng, intervals) + diagonal(random_gains(rng, intervals, 1)) - np.eye(2)
    of_patch = {p: diagonal(g[p]) @ slots(f[p]) for p in g}
    lines = [f"G: {GAIN}, per patch", f"F: full, {SLOTS}slots, per patch"]
    report, found = recovered(lines, unit_matrices(intervals), POLARISED_PATCHES, of_patch)
    assert report.normalised == ["F"]
    of_terms = []
    for p in g:
        _, taken = normalised(np.diagonal(f[p], axis1=-2, axis2=-1), axis=2)
        at = found["F"].directions.index(p)
        of_terms += [
            pulls(found["G"], g[p] * slots(taken), at),
            pulls(found["F"], elements(f[p] / taken[..., None]), at),
        ]
    assert_within_errors(*of_terms)
