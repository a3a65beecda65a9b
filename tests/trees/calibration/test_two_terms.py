"""A bandpass and a gain together explain data no worse than one of them does, and every antenna that has data has both:
on sets that are as ragged as those that telescopes write."""

import itertools

import numpy as np
import pytest
from planted_chains import N_CHANNEL, SKY

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, parse_terms

N_TIME = 8


def none(rng, pairs):
    return np.zeros((len(pairs), N_TIME, N_CHANNEL), bool)


def few_rows(rng, pairs):
    """3 to 21 baselines in a slot, as of antennas that arrive one after the other."""
    flag = none(rng, pairs)
    for t in range(N_TIME):
        flag[rng.permutation(len(pairs))[max(3, 3 * t) :], t] = True
    return flag


def channels_and_baselines(rng, pairs):
    """A third of the channels, in blocks, and single data; 14 of 21 baselines."""
    flag = rng.random((len(pairs), N_TIME, N_CHANNEL)) < 0.1
    flag[:, :, [0, 1, 6, 11]] = True
    flag[[(q - p) % 7 in (3, 4) for p, q in pairs]] = True
    return flag


def an_antenna_now_and_then(rng, pairs):
    """One antenna has two slots, another half of the channels."""
    flag = none(rng, pairs)
    of = np.array(pairs)
    flag[(of == 2).any(axis=1), 2:] = True
    flag[(of == 5).any(axis=1), :, ::2] = True
    return flag


@pytest.mark.parametrize("flags", [none, few_rows, channels_and_baselines, an_antenna_now_and_then])
@pytest.mark.parametrize("dead", [False, True], ids=["", "dead"])
def test_no_worse_than_one_term_and_each_antenna_has_both(tmp_path, planted, flags, dead):
    """`dead`: an antenna that has data, but no signal."""
    rng = np.random.default_rng(2)
    band, gain = (
        rng.uniform(0.6, 1.4, (7, *shape, 2)) * np.exp(1j * rng.uniform(-1, 1, (7, *shape, 2)))
        for shape in ((1, N_CHANNEL), (N_TIME, 1))
    )
    size = np.where(np.arange(7) == 3, 1e-3 if dead else 1.0, 1.0)

    jones = (size[:, None, None, None] * band * gain)[..., None] * np.eye(2)
    pairs = list(itertools.combinations(range(7), 2))
    flag = flags(rng, pairs)
    path = planted(lambda antenna: jones[antenna], slots=N_TIME, flag=flag)
    assert rt.ms.baselines(path) == pairs
    left = {}
    for terms in (["B: diag, 1chan"], ["G: diag, 1slot"], ["B: diag, 1chan", "G: diag, 1slot"]):
        options = CalibrationOptions(overwrite=True, reference="ANT-0")
        report = calibration.calibrate(path, SKY, parse_terms(terms), tmp_path / "s.h5", options)
        assert report.converged + report.statuses.get("no equations", 0) == report.solves
        left["".join(term[0] for term in terms)] = sum(chunk.chi_square[-1] for chunk in report.chunks)
    assert left["BG"] < 1.001 * min(left["B"], left["G"])
    assert report.noise_ratio == pytest.approx(1, abs=0.05)
    pairs = np.array(pairs)
    for antenna in range(7):
        own = ~flag[(pairs == antenna).any(axis=1)]
        for name, along in (("B", 1), ("G", 2)):
            term = report.solutions[0][name]
            good = ~term.flag[:, :, antenna, 0].any(axis=-1).ravel()
            # Four baselines of an interval, at any time or in any channel, tell its number from those of others.
            enough = own.any(axis=along).sum(axis=0) >= 4
            assert enough.any() and good[enough].all(), (antenna, name)
            values = np.array([term.value[quantity][:, :, antenna, 0].reshape(-1, 2) for quantity in term.value])
            assert np.isfinite(values[:, good]).all()


@pytest.mark.parametrize("data", ["XX alone", "YY alone", "an antenna without Y"])
@pytest.mark.parametrize("terms", [["B: diag, 1chan", "G: scalar, 1slot"], ["B: scalar, 1chan", "G: diag, 1slot"]])
def test_numbers_of_one_feed_and_of_both_where_there_are_data_of_one(solved, terms, data):
    """What a scalar takes from a feed of which there are no data is nothing that data would tell: all had been flagged
    as ambiguous."""
    rng = np.random.default_rng(4)
    band, gain = (
        rng.uniform(0.6, 1.4, (7, *shape, 1)) * np.exp(1j * rng.uniform(-1, 1, (7, *shape, 1)))
        for shape in ((1, N_CHANNEL), (N_TIME, 1))
    )
    jones = (band * gain)[..., None] * np.eye(2)
    pairs = list(itertools.combinations(range(7), 2))
    flag = np.zeros((len(pairs), N_TIME, N_CHANNEL, 2, 2), bool)
    how = {"correlations": (data[:2],)} if data.endswith("alone") else {}
    for k, pair in enumerate(pairs):
        if not how and 3 in pair:
            flag[k, :, :, *(slice(None), 1) if pair[1] == 3 else (1, slice(None))] = True
    report, found, _ = solved(terms, lambda antenna: jones[antenna], slots=N_TIME, flag=flag, noise_jy=0.1, **how)
    assert report.converged == report.solves and report.noise_ratio == pytest.approx(0.1, rel=0.1)
    feed = 1 if data.startswith("YY") else 0
    for name in "BG":
        term = found[name]
        assert not term.flag[..., min(feed, len(term.elements) - 1)].any()
    assert sum("normalised" in found[name].convention for name in "BG") == 1
