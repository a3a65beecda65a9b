"""Which cells share a solution."""

import numpy as np
import pytest

from rimetree.calibration import parse_term
from rimetree.calibration.terms.grid import channels_of, chunks_of


def times_of(chunk, name):
    axis = chunk.times[name]
    assert (np.diff(axis.edges) > 0).all() and len(axis.edges) == len(axis.centre) + 1
    # Every slot lies in exactly one interval.
    assert np.histogram(chunk.slot_s, axis.edges)[0].sum() == len(chunk.slot_s)
    return np.histogram(chunk.slot_s, axis.edges)[0].tolist()


def test_chunks_hold_whole_intervals_of_every_term():
    terms = [parse_term("A: diag, 50s"), parse_term("B: phase, 20s"), parse_term("C: tec, 1slot")]
    chunks = chunks_of(5e9 + 10.0 * np.arange(12), 10.0, terms)
    assert [len(chunk.slot_s) for chunk in chunks] == [5, 5, 2]
    assert times_of(chunks[0], "A") == [5]
    assert times_of(chunks[0], "B") == [2, 2, 1]
    assert times_of(chunks[1], "C") == [1] * 5
    assert chunks[1].times["A"].centre[0] == pytest.approx(5e9 + 70, abs=1e-6)
    assert chunks[1].times["A"].width[0] == pytest.approx(50, abs=1e-6)


@pytest.mark.parametrize("most", [1, 30, 1000])
def test_intervals_that_are_solved_side_by_side_are_the_same_as_apart(most):
    """With a gap, jitter and a last interval that is not full: as many slots as allowed, at least eight chunks."""
    rng = np.random.default_rng(most)
    slots = np.concatenate([10.0 * np.arange(100), 5000 + 10.0 * np.arange(98)]) + rng.uniform(-1e-3, 1e-3, 198)
    scans = np.repeat([1, 2, 3], [60, 100, 38])
    terms = [parse_term("A: diag, 50s"), parse_term("B: phase, 2slots"), parse_term("C: tec, 30s")]
    apart, found = (chunks_of(slots, 10.0, terms, scans, n) for n in (1, most))
    assert np.concatenate([chunk.slot_s for chunk in found]).tolist() == slots.tolist()
    assert max(len(chunk.slot_s) for chunk in found) == {1: 5, 30: 25, 1000: 25}[most]
    for name in "ABC":
        counts = [[count for chunk in some for count in times_of(chunk, name)] for some in (apart, found)]
        assert counts[0] == counts[1]
        for field in ("centre", "width"):
            one, other = (np.concatenate([getattr(c.times[name], field) for c in some]) for some in (apart, found))
            assert one.tolist() == other.tolist()


def test_a_term_without_an_interval_makes_one_chunk():
    terms = [parse_term("A: diag"), parse_term("B: phase, 1slot")]
    (chunk,) = chunks_of(np.arange(7.0), 1.0, terms)
    assert times_of(chunk, "A") == [7] and times_of(chunk, "B") == [1] * 7


def test_jitter_does_not_move_slots_into_other_intervals():
    rng = np.random.default_rng(1)
    slots = 5e9 + 10.0 * np.arange(60) + rng.uniform(-1e-3, 1e-3, 60)
    chunks = chunks_of(slots, 10.0, [parse_term("A: diag, 1min")])
    assert [len(chunk.slot_s) for chunk in chunks] == [6] * 10


@pytest.mark.parametrize(
    ("interval", "counts"), [("60s", [4, 5]), ("20s", [2, 2, 2, 2, 1]), ("3slots", [3, 1, 3, 2]), ("9slots", [4, 5])]
)
def test_intervals_begin_anew_after_a_gap_that_is_longer_than_they_are(interval, counts):
    """As where a field is left and returned to: one interval had held slots of two scans."""
    slots = np.concatenate([np.arange(0, 40, 10.0), np.arange(1000, 1050, 10.0)])
    assert [len(chunk.slot_s) for chunk in chunks_of(slots, 10.0, [parse_term(f"A: diag, {interval}")])] == counts
    (whole,) = chunks_of(slots, 10.0, [parse_term("A: diag"), parse_term(f"B: diag, {interval}")])
    assert times_of(whole, "B") == counts


def test_intervals_count_on_over_gaps_that_are_shorter_than_they_are():
    """And slots that are missing here and there move none."""
    slots = 5e9 + 10.0 * np.array([0, 1, 3, 4, 8, 9, 10, 11])
    assert [len(c.slot_s) for c in chunks_of(slots, 10.0, [parse_term("A: diag, 50s")])] == [4, 2, 2]
    assert [len(c.slot_s) for c in chunks_of(slots, 10.0, [parse_term("A: diag, 3slots")])] == [3, 3, 2]


@pytest.mark.parametrize("descending", [False, True])
def test_channels_by_number_and_width(descending):
    frequency = 1e9 + 1e6 * np.arange(10)
    width = np.full(10, 1e6)
    if descending:
        frequency, width = frequency[::-1], -width
    one = channels_of(frequency, width, None)
    assert len(one.centre) == 1 and one.edges.tolist() == [1e9 - 5e5, 1.0095e9]
    axis = channels_of(frequency, width, parse_term("A: diag, 4chan").frequency)
    counts = np.histogram(frequency, axis.edges)[0].tolist()
    assert counts == ([2, 4, 4] if descending else [4, 4, 2])
    wide = channels_of(frequency, width, parse_term("A: diag, 2.5MHz").frequency)
    assert np.histogram(frequency, wide.edges)[0].tolist() == [2, 3, 2, 3]
    assert wide.centre[0] == pytest.approx(1.0005e9) and wide.width[0] == pytest.approx(2e6)


def test_channels_may_come_in_any_order():
    """As those of windows one above the other that a set has from the highest to the lowest: edges had not ascended."""
    frequency = 1e8 + 1e6 * np.arange(12)
    windows = frequency.reshape(3, 4)
    orders = [windows[::-1].ravel(), windows[:, ::-1].ravel(), np.random.default_rng(1).permutation(frequency)]
    for text in ("4chan", "5chan", "3MHz"):
        interval = parse_term(f"B: diag, {text}").frequency
        for order in orders:
            begins_high = order[0] > order[-1]
            expected = channels_of(frequency[::-1] if begins_high else frequency, np.full(12, 1e6), interval)
            found = channels_of(order, np.full(12, 1e6), interval)
            for part in ("edges", "centre", "width"):
                np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))


def test_an_interval_wider_than_the_band_is_one():
    assert len(channels_of([1e9, 1.1e9], [1e6, 1e6], parse_term("A: diag, 99GHz").frequency).centre) == 1


def test_scans():
    """A number that comes again is another scan; what else is solved for may have intervals of any length."""
    slots, scans = 5e9 + 10.0 * np.arange(9), [1, 1, 1, 4, 4, 1, 1, 7, 7]
    one = chunks_of(slots, 10.0, [parse_term("A: diag, 1scan"), parse_term("B: phase, 20s")], scans)
    assert [len(chunk.slot_s) for chunk in one] == [3, 2, 2, 2] and times_of(one[0], "B") == [2, 1]
    two = chunks_of(slots[::-1], 10.0, [parse_term("A: diag, 2scans")], scans[::-1])
    assert [len(chunk.slot_s) for chunk in two] == [5, 4]
    (whole,) = chunks_of(slots, 10.0, [parse_term("A: diag"), parse_term("B: diag, scan")], scans)
    assert times_of(whole, "B") == [3, 2, 2, 2]


@pytest.mark.parametrize("term", ["G: diag, 5slots, 6chan", "P: phase, 5slots, 6chan", "J: full, 5slots, 6chan"])
def test_blocks_of_the_fit_are_no_smaller_than_intervals(solved, term):
    """What is held of the reference antenna has the intervals of the others: each channel had been summed by itself."""
    report, _, _ = solved([term], lambda _: np.eye(2))
    assert all(chunk.method.endswith(", 1 x 2 blocks") for chunk in report.chunks)
