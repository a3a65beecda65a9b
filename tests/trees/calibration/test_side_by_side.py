"""Windows and fields are solved at the same time, with the same bits and in the same order."""

from types import SimpleNamespace

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, parse_terms
from rimetree.calibration.side_by_side import at_a_time, in_order

CENTRE = (0.93, -0.485)
SKY = rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (20.0, 0.0, 0.0, 0.0))])
WINDOWS, CHANNELS = 5, 4


@pytest.fixture
def windows(tmp_path, observe):
    """Five windows of four channels and six slots, with gains and delays."""
    path = str(tmp_path / "a.ms")
    bands = [rt.ms.Band.regular(1.3e9 + 50e6 * k, 8e6, CHANNELS) for k in range(WINDOWS)]
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=60.0, integration_s=10.0, bands=bands)
    rng = np.random.default_rng(2)
    delay_s = rng.uniform(-20e-9, 20e-9, 7)
    for k in range(WINDOWS):
        gain = rng.uniform(0.7, 1.3, (7, 6, 1, 1, 1))

        def jones(antenna, patch, time_s, frequency_hz, gain=gain):
            if patch is None:
                return gain[antenna] * np.exp(2j * np.pi * delay_s[antenna] * frequency_hz)[:, None, None] * np.eye(2)
            return np.eye(2)

        observe(path, SKY, CENTRE, jones, noise_jy=1.0, seed=k, data_desc_id=k)
    return path


def solve(path, out, terms, on_chunk=None, **options):
    return calibration.calibrate(
        path, SKY, parse_terms(terms), out, CalibrationOptions(reference="ANT-0", **options), on_chunk=on_chunk
    )


def bits(report):
    return [
        {q: (term.value[q].tobytes(), term.sigma[q].tobytes()) for q in term.value}
        for solutions in report.solutions
        for term in solutions.terms
    ]


@pytest.mark.parametrize("terms", [["G: diag, 1slot"], ["K: delay", "A: amplitude, 1slot"]])
def test_the_same_for_any_number_of_threads(windows, tmp_path, terms):
    """The chunks are told of one window after the other."""
    seen, reports = [], []
    for threads in (1, 2, 4):
        reports.append(solve(windows, tmp_path / f"{threads}.h5", terms, threads=threads, on_chunk=seen.append))
        assert [chunk.index for chunk in reports[-1].chunks] == list(range(len(reports[-1].chunks)))
    assert bits(reports[0]) == bits(reports[1]) == bits(reports[2])
    assert reports[0].converged == reports[0].solves and not reports[0].flagged
    order = [chunk.data_desc_ids[0] for chunk in seen[: len(reports[0].chunks)]]
    assert order == sorted(order) and set(order) == set(range(WINDOWS))


def test_a_run_that_ended_between_windows_goes_on(windows, tmp_path):
    whole = solve(windows, tmp_path / "whole.h5", ["G: diag, 1slot"], threads=3)

    def stop(report):
        if report.index == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(windows, tmp_path / "part.h5", ["G: diag, 1slot"], threads=3, on_chunk=stop)
    again = solve(windows, tmp_path / "part.h5", ["G: diag, 1slot"], threads=3, resume=True)
    assert [chunk.resumed for chunk in again.chunks[:5]] == [True] * 4 + [False]
    assert bits(again) == bits(whole)


def test_few_chunks_of_many_windows(windows):
    """Work of its own for each chunk was most of the work: there were as many as intervals."""
    (stage,) = calibration.plan_stages(windows, parse_terms(["G: diag, 1slot"]), CalibrationOptions())
    assert [len(plan.chunks) for plan in stage.plans] == [2] * WINDOWS
    (stage,) = calibration.plan_stages(windows, parse_terms(["G: diag, 1slot"]), CalibrationOptions(data_desc_id=0))
    assert [len(plan.chunks) for plan in stage.plans] == [6]


class FakeSession:
    """A session of three chunks, the second of which may fail."""

    def __init__(self, name, fails=False, total=1 << 20):
        self.name, self.fails, self.kept, self.released = name, fails, [], False
        self.plan = SimpleNamespace(chunks=[0, 1, 2])
        self.need = SimpleNamespace(total=total, search=0)

    def keep(self, arrays):
        self.kept.append(arrays)

    def release(self):
        self.released = True


def answer(session, number, index):
    if session.fails and number == 1:
        raise rt.Error("disk is full")
    return index, (session.name, number)


@pytest.mark.parametrize("workers", [1, 3])
def test_order_and_numbers(workers):
    sessions = [FakeSession(name) for name in "abcd"]
    found = list(in_order(sessions, 7, workers, answer))
    assert [(session.name, number, index) for session, number, index, _ in found] == [
        (name, number, 7 + 3 * k + number) for k, name in enumerate("abcd") for number in range(3)
    ]
    assert all(one.released and one.kept == [(one.name, n) for n in range(3)] for one in sessions)


@pytest.mark.parametrize("workers", [1, 3])
def test_what_fails_in_one_is_raised_in_its_turn(workers):
    sessions = [FakeSession(name, fails=name == "b") for name in "abc"]
    found = []
    with pytest.raises(rt.Error, match="disk is full"):
        for session, number, *_ in in_order(sessions, 0, workers, answer):
            found.append((session.name, number))
    assert found == [("a", 0), ("a", 1), ("a", 2), ("b", 0)]


def test_how_many_at_a_time():
    small = [FakeSession(k) for k in range(6)]
    assert at_a_time(small, CalibrationOptions(threads=4)) == 4
    assert at_a_time(small[:3], CalibrationOptions(threads=4)) == 3
    assert at_a_time(small[:1], CalibrationOptions(threads=4)) == 1
    assert at_a_time(small, CalibrationOptions(threads=4, device="auto")) == 1
    assert at_a_time([*small, FakeSession("large", total=1 << 30)], CalibrationOptions(threads=4)) == 1
    assert at_a_time(small, CalibrationOptions(threads=4, memory_bytes=1 << 20)) == 1
