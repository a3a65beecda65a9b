"""What changes of gains cannot do in place of a model, beside least squares over all visibilities."""

import numpy as np
import pytest

from rimetree.calibration.data.coherence import Coherence
from rimetree.calibration.data.coherence_bins import CoherenceBins
from rimetree.calibration.starts.small_changes import left_of, numbered
from rimetree.calibration.starts.solved_directions import SolvedDirections
from rimetree.calibration.terms.grid import Chunk

N, N_TIME, N_SAMPLE = 5, 4, 3
BASELINES = np.array([(p, q) for p in range(N) for q in range(p + 1, N)])
NAMES = ["a", "b", "c"]


def complex_noise(rng, *shape):
    return rng.normal(size=(*shape, 2)) @ [1, 1j]


@pytest.fixture
def models():
    """[baseline, time, freq, feed, sample, direction]: two that resemble each other, and another."""
    found = complex_noise(np.random.default_rng(5), len(BASELINES), N_TIME, 1, 2, N_SAMPLE, len(NAMES))
    found[..., 1] = found[..., 0] + 0.3 * found[..., 1]
    return found


@pytest.fixture
def directions(models):
    """Sums over the samples; no antenna 4 in the second half."""
    models[BASELINES[:, 1] == 4, 2:] = 0
    power = np.einsum("btfesk,btfesl->btfekl", models.conj(), models)
    edges_s = np.arange(N_TIME + 1.0)
    bins = CoherenceBins(Chunk(np.arange(N_TIME) + 0.5, {}), edges_s, None)
    shape = power.shape[:-2]
    sums = Coherence(
        list(range(N)),
        BASELINES,
        np.array([1.4e9]),
        np.zeros((*shape, len(NAMES)), complex),
        power,
        np.zeros(shape),
        np.full(shape, N_SAMPLE),
        bins,
    )
    return SolvedDirections(None, [], sums, {}, NAMES, {})


def by_least_squares(k, values, cells, changed):
    """What is left of the k-th of values [baseline, time, freq, feed, sample, seen] without what the others do."""
    n_seen, total = values.shape[-1], 0.0
    ends = [np.eye(N)[own][:, None] for own in BASELINES.T]
    kinds = [1j * (ends[0] - ends[1]), ends[0] + ends[1]]
    for cell in range(cells.max() + 1):
        here = values[:, cells == cell].reshape(len(BASELINES), -1, n_seen)
        others = [
            kind * here[..., m, None]
            for m in range(n_seen)
            for kind, may in zip(kinds, changed[m], strict=True)
            if m != k and may
        ]
        own = here[..., k].ravel()
        left, columns = np.append(own.real, own.imag), np.zeros((2 * own.size, 0))
        if others:
            columns = np.concatenate(others, axis=-1).reshape(own.size, -1)
            columns = np.concatenate([columns.real, columns.imag])
        total += np.sum((left - columns @ np.linalg.lstsq(columns, left, rcond=None)[0]) ** 2)
    return total


@pytest.mark.parametrize("feeds_apart", [False, True])
@pytest.mark.parametrize("amplitudes", [False, True])
def test_as_least_squares_over_visibilities(models, directions, feeds_apart, amplitudes):
    rng = np.random.default_rng(7)
    cells = numbered([(np.array([0, 0, 1, 1]), np.zeros(1, int))], (N_TIME, 1, 2), feeds_apart=feeds_apart)
    assert cells.max() + 1 == (4 if feeds_apart else 2)
    factors = complex_noise(rng, len(NAMES), *directions.sums.data.shape)
    seen = [(name, own) for name, own in zip(NAMES, factors, strict=True)]
    changed = np.full((len(NAMES), 2), amplitudes)
    changed[:, 0] = changed[0, 1] = True
    which = [0, 2] if amplitudes else [0]
    values = models * np.moveaxis(factors, 0, -1)[..., None, :]
    expected = [by_least_squares(k, values, cells, changed) for k in which]
    found = left_of(which, seen, directions, cells, changed)
    assert found == pytest.approx(expected, rel=1e-5)
    assert (found < [np.sum(np.abs(values[..., k]) ** 2) for k in which]).all()


def test_what_another_direction_is_too_others_can_make(directions):
    """Two that are the same: nothing is left of either; alone, all of it."""
    one = np.ones(directions.sums.data.shape, complex)
    cells = np.zeros((N_TIME, 1, 2), int)
    power = directions.power("a").sum()
    assert left_of([0], [("a", one), ("a", 2 * one)], directions, cells, np.ones((2, 2), bool)) < 1e-6 * power
    assert left_of([0], [("a", one)], directions, cells, np.ones((1, 2), bool)) == pytest.approx(power)


def test_terms_that_change_at_other_times_are_numbered_together():
    cells = numbered(
        [(np.array([0, 0, 1, 1]), np.zeros(2, int)), (np.array([0, 1, 1, 1]), np.arange(2))],
        (4, 2, 2),
        feeds_apart=False,
    )
    assert len(np.unique(cells)) == 6 and (cells[..., 0] == cells[..., 1]).all()
    assert (cells[2] == cells[3]).all() and (cells[0] != cells[1]).all()
