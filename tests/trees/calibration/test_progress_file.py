"""The file that makes a killed run lose nothing: whatever is cut off it, what was complete comes back."""

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationError
from rimetree.calibration.progress_file import ProgressFile

TASK = {"terms": ["G: diag"], "rows": [[0, 0, 18]]}


@pytest.fixture
def three(tmp_path):
    """A progress file with three chunks, and the file's length after each."""
    progress = ProgressFile(tmp_path / "sol.h5", TASK)
    progress.begin()
    lengths = [(tmp_path / "sol.h5.progress").stat().st_size]
    for k in range(3):
        progress.add({"index": k}, {"G:value": np.full((2, k + 1), k / 3)})
        lengths.append((tmp_path / "sol.h5.progress").stat().st_size)
    return progress, tmp_path / "sol.h5.progress", lengths


def test_everything_comes_back(three):
    progress, file, _ = three
    found = progress.resume()
    assert [summary["index"] for summary, _ in found] == [0, 1, 2]
    np.testing.assert_array_equal(found[2][1]["G:value"], np.full((2, 3), 2 / 3))
    progress.remove()
    assert not file.exists()
    progress.remove()


def test_cut_anywhere_the_complete_chunks_come_back_and_more_can_follow(three):
    progress, file, lengths = three
    content = file.read_bytes()
    for cut in [*range(lengths[0], lengths[3], 37), lengths[1], lengths[2] - 1, lengths[2], lengths[3]]:
        file.write_bytes(content[:cut])
        complete = sum(length <= cut for length in lengths[1:])
        assert len(progress.resume()) == complete
        progress.add({"index": 99}, {})
        assert [s["index"] for s, _ in progress.resume()] == [*range(complete), 99]


def test_a_damaged_chunk_ends_what_is_taken(three):
    progress, file, lengths = three
    content = bytearray(file.read_bytes())
    content[lengths[1] + 50] ^= 1
    file.write_bytes(content)
    assert len(progress.resume()) == 1
    assert file.stat().st_size == lengths[1]


@pytest.mark.parametrize("left", [0, 5, 30, -3])
def test_cut_before_the_task_was_written_it_begins_anew(three, left):
    """On a full disk the file may even be empty."""
    progress, file, lengths = three
    file.write_bytes(file.read_bytes()[: lengths[0] + left if left < 0 else left])
    assert progress.resume() == [] and file.stat().st_size == lengths[0]


def test_another_task_is_refused(three, tmp_path):
    other = ProgressFile(tmp_path / "sol.h5", {**TASK, "terms": ["G: full"]})
    with pytest.raises(
        CalibrationError, match=r"other terms \(G: diag then, G: full now\); resume it with the same options"
    ):
        other.resume()
    # Fewer chunks, as --memory can make them, would be taken for others; where terms differ they follow from these.
    for more, told in (
        ({"chunks": [2]}, r"other chunks \(3 then, 2 now\)"),
        ({"terms": [], "chunks": [2]}, r"other terms \(G: diag then, none now\)"),
    ):
        progress = ProgressFile(tmp_path / "y.h5", {**TASK, "chunks": [3]})
        progress.begin()
        with pytest.raises(CalibrationError, match=told + "; resume it with"):
            ProgressFile(tmp_path / "y.h5", {**TASK, "chunks": [3], **more}).resume()
    (tmp_path / "x.h5.progress").write_bytes(b"something else")
    with pytest.raises(CalibrationError, match="not written by a calibration"):
        ProgressFile(tmp_path / "x.h5", TASK).resume()


def test_one_run_at_a_time(three, tmp_path):
    """A second run took what the first was writing for what an interrupted run had left, and offered to resume it."""
    progress, file, _ = three
    with progress.alone() as exists:
        assert exists
        with (
            pytest.raises(CalibrationError, match=r"another calibration is writing .*sol.h5: wait"),
            ProgressFile(tmp_path / "sol.h5", TASK).alone(),
        ):
            pass
        assert len(progress.resume()) == 3
    with ProgressFile(tmp_path / "sol.h5", TASK).alone() as exists:
        assert exists
    with ProgressFile(tmp_path / "b.h5", TASK).alone() as exists:
        assert not exists
    assert file.exists() and not (tmp_path / "b.h5.progress").exists()


def test_a_calibration_refuses_what_another_one_writes(tmp_path):
    path = str(tmp_path / "a.ms")
    centre = (0.93, -0.485)
    rt.ms.create(path, "kat-7", phase_centre_rad=centre, duration_s=20.0, integration_s=10.0)
    sky = rt.sky.SkyModel([rt.sky.Source("a", *centre, (1.0, 0, 0, 0))])
    terms = calibration.parse_terms(["G: diag"])
    for options in ({}, {"overwrite": True}, {"resume": True}):
        with (
            ProgressFile(tmp_path / "s.h5", TASK).alone(),
            pytest.raises(CalibrationError, match="another calibration is writing"),
        ):
            calibration.calibrate(path, sky, terms, tmp_path / "s.h5", calibration.CalibrationOptions(**options))
    assert not list(tmp_path.glob("s.h5*"))


class StoppedError(Exception):
    pass


@pytest.fixture
def interrupted(tmp_path):
    """A function that goes on, with terms and options, with a run that has ended after the first of its chunks."""
    path, out = str(tmp_path / "a.ms"), tmp_path / "s.h5"
    centre = (0.93, -0.485)
    scans = [rt.ms.Scan(centre, 20.0, name) for name in ("A", "B")]
    rt.ms.create(path, "kat-7", scans=scans, integration_s=10.0, bands=rt.ms.Band.regular(1.3e9, 4e6, 4))
    sky = rt.sky.SkyModel([rt.sky.Source("a", *centre, (1.0, 0, 0, 0))])
    for group in rt.ms.groups(path):
        scope = rt.NodeScope()
        rt.psv_tree(scope, sky, centre, group.baselines, column="DATA")
        rt.Forest(scope).run(path, **group.selection)

    def stop(report):
        raise StoppedError

    with pytest.raises(StoppedError):
        calibration.calibrate(path, sky, calibration.parse_terms(["G: diag"]), out, on_chunk=stop)

    def go_on(terms=("G: diag",), sky=sky, **options):
        chosen = calibration.CalibrationOptions(resume=True, **options)
        return calibration.calibrate(path, sky, calibration.parse_terms(terms), out, chosen)

    return go_on


def test_what_differs_is_told(interrupted):
    """Solutions that stand out were flagged as the first run did where its chunks were done, and as the second in what
    was solved with these held."""
    brighter = rt.sky.SkyModel([rt.sky.Source("a", 0.93, -0.485, (2.0, 0, 0, 0))])
    for changed, told in (
        ({"terms": ["G: scalar"]}, r"terms \(G: diag then, G: scalar now\)"),
        ({"sky": brighter}, "sky model"),
        ({"reference": "ANT-3"}, r"reference antenna \(none then, ANT-3 now\)"),
        ({"solver": calibration.SolverOptions(iterations=7)}, r"solver options: iterations \(100 then, 7 now\)"),
        ({"selection": rt.ms.Selection(antennas=["!ANT-6"])}, r"selection: antennas \(\(\) then, \['!ANT-6'\] now\)"),
        ({"field_id": 0}, "rows"),
        ({"flag_solutions": 5.0}, r"outliers of solutions \(0.0 then, 5.0 now\)"),
        ({"in_turn": True}, r"order of solving \(together then, in turn now\)"),
    ):
        with pytest.raises(CalibrationError, match=f"with other .*{told}.*; resume it with the same"):
            interrupted(**changed)
    report = interrupted(threads=1, memory_bytes=1 << 30)
    assert [chunk.resumed for chunk in report.chunks] == [True, False]
