"""What applying solutions does to flags: refused, counted, saved before, restored."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import Solutions, TermSolutions
from rimetree.ms import flags

NAMES = tuple(f"A{i}" for i in range(4))


def diagonal(antennas=NAMES, flag=None) -> TermSolutions:
    """Gains of 2 in one interval that covers `small_ms`."""
    shape = (1, 1, len(antennas), 1, 2)
    flags = np.zeros(shape, bool)
    for a, element in flag or ():
        flags[0, 0, a, 0, element] = True
    return TermSolutions(
        "G", "diag", ("0", "1"), np.array([5e9 + 10]), np.array([40.0]), np.array([1.4035e9]), np.array([8e6]),
        antennas, ("",), {"amplitude": np.full(shape, 2.0), "phase": np.zeros(shape)},
        {q: np.zeros(shape) for q in ("amplitude", "phase")}, flags,
    )  # fmt: skip


@pytest.fixture
def solved(tmp_path):
    """A function: write solutions of a diagonal term -> path of the file."""

    def write(*terms):
        calibration.write_h5parm(tmp_path / "sol.h5", Solutions(terms))
        return tmp_path / "sol.h5"

    return write


@pytest.fixture
def filled(small_ms):
    """A function: a set whose DATA hold 4, those of baseline 0-1 in the last channel `last`."""

    def make(last=4.0, **changes):
        path = small_ms(**changes)
        ns = rt.NodeScope()
        for p, q in rt.ms.baselines(path):
            values = np.full((2, 2, 1, 8), 4.0 + 0j)
            if (p, q) == (0, 1):
                values[..., 7] = last
            ns.V(p, q) << rt.Constant(values, cells_rank=2)
            ns.sink(p, q) << rt.Sink(ns.V(p, q), station_1_index=p, station_2_index=q, output_column="DATA")
        rt.Forest(ns).run(path)
        return path

    return make


def flags_of(path):
    (tile,) = rt.ms.tiles(path, [], time_slots=99)
    return tile["flag"].copy() != 0


@pytest.mark.parametrize("dry", [False, True])
def test_solutions_that_are_all_flagged_change_nothing(command, filled, solved, dry):
    path = filled()
    file = solved(diagonal(flag=[(a, e) for a in range(4) for e in range(2)]))
    done = command("apply", path, "--solutions", file, *["--dry-run"] * dry, code=3)
    assert "nothing of the solutions can be used" in done.stderr and "solution flagged" in done.stderr
    assert not flags_of(path).any()
    assert "CORRECTED_DATA" not in [column["name"] for column in rt.ms.inspect(path)["columns"]]
    assert not rt.ms.flag_versions(path)


def test_solutions_of_another_telescope_change_nothing(command, filled, solved):
    path = filled()
    file = solved(diagonal(antennas=("ea01", "ea02", "ea03")))
    done = command("apply", path, "--solutions", file, code=3)
    assert "other antennas (ea01, ea02, ea03) than the set has (A0, A1, A2, A3)" in done.stderr
    assert not flags_of(path).any()


def test_one_good_antenna_is_no_baseline(command, filled, solved):
    path = filled()
    command("apply", path, "--solutions", solved(diagonal(antennas=("A0", "B1"))), code=3)
    assert not flags_of(path).any()


def test_what_is_newly_flagged_is_printed_and_can_be_taken_back(command, filled, solved, tmp_path):
    path = Path(filled()).rename(tmp_path / "a set.ms")
    file = solved(diagonal(antennas=NAMES[:3], flag=[(1, 0)]))
    dry = command("apply", path, "--solutions", file, "--dry-run").stdout
    assert not rt.ms.flag_versions(path)
    done = command("apply", path, "--solutions", file)
    # Of 6 baselines 3 have A3; of the other 3, two have A1, whose feed 0 is in 3 of 4 correlations as it is in 2 of XX,
    # XY, YX: one feed of a baseline is in 2 of 4 correlations. 3/6 + 2/6 * 2/4 = 2/3.
    for text in (dry, done.stdout):
        assert "0 % of the data were flagged before, 66.67 % are newly flagged" in text
        rows = [line.split(maxsplit=2) for line in text.splitlines() if line.startswith("A")]
        # A1's own: 1/2 of the data of its three baselines.
        assert rows == [["A3", "100", "no solutions for this antenna"], ["A1", "50", "solution flagged"]]
    flags = flags_of(path)
    assert flags.mean() == pytest.approx(2 / 3)
    (version,) = rt.ms.flag_versions(path)
    assert version.name == "before_apply_1" and "before rimetree apply" in version.comment
    assert f"`rimetree flags restore '{path}' before_apply_1`" in done.stderr
    assert "before_apply_1" in command("flags", "list", path).stdout
    restored = command("flags", "restore", path, "before_apply_1").stdout
    assert "flagged were 66.67 %" in restored and "now are 0 %" in restored
    assert not flags_of(path).any()
    command("apply", path, "--solutions", file)
    command("apply", path, "--solutions", file, "--no-flag-version")
    assert [one.name for one in rt.ms.flag_versions(path)] == ["before_apply_1", "before_apply_2"]
    # Nothing is left to flag the second time.
    assert (
        "66.67 % of the data were flagged before, 0 % are newly flagged"
        in command("apply", path, "--solutions", file, "--no-flag-version").stdout
    )


@pytest.mark.parametrize("last", [np.nan, np.inf, 1e39], ids=["nan", "inf", "beyond single precision"])
def test_results_that_are_not_finite_are_flagged(command, filled, solved, last):
    path = filled(last)
    done = command("apply", path, "--solutions", solved(diagonal()))
    flags = flags_of(path)
    expected = np.zeros_like(flags)
    expected[rt.ms.baselines(path).index((0, 1)), :, 7] = True
    np.testing.assert_array_equal(flags, expected)
    assert "not finite" in done.stdout
    assert f"{100 / 6 / 8:.4g} % are newly flagged" in done.stdout


def test_versions_as_casa_keeps_them(command, filled):
    path = filled()
    assert command("flags", "list", path).stdout == "no flag versions\n"
    command("flags", "save", path, "first", "--comment", "by hand : twice")
    command("flags", "save", path, "second")
    folder = f"{path}.flagversions"
    with open(f"{folder}/FLAG_VERSION_LIST") as stream:
        assert stream.read() == "first : by hand : twice\nsecond : \n"
    assert os.path.exists(f"{folder}/flags.first/table.dat")
    assert [one.comment for one in rt.ms.flag_versions(path)] == ["by hand : twice", ""]
    assert "already; choose another name" in command("flags", "save", path, "first", code=1).stderr
    assert "cannot be called 'a/b'" in command("flags", "save", path, "a/b", code=1).stderr
    wrong = command("flags", "restore", path, "third", code=1).stderr
    assert "no flag version 'third'; there are first, second" in wrong
    assert "which version of the flags is restored" in command("flags", "restore", path, code=2).stderr
    assert f"{path} has first, second" in command("flags", "restore", path, code=2).stderr
    assert "no Measurement Set" in command("flags", "list", "none.ms", code=1).stderr


def test_what_cannot_be_saved_leaves_no_folder(filled, monkeypatch):
    from rimetree.ms import flags

    def fails(*_):
        raise OSError(28, "No space left on device")

    path = filled()
    with monkeypatch.context() as patched:
        patched.setattr(flags._core, "save_flags", fails)
        with pytest.raises(rt.Error, match=r"cannot be saved in .*: No space left"):
            rt.ms.save_flags(path, "mine")
        assert not os.path.exists(f"{path}.flagversions")
    rt.ms.save_flags(path, "mine")
    with monkeypatch.context() as patched:
        patched.setattr(flags._core, "save_flags", fails)
        with pytest.raises(rt.Error, match="No space left"):
            rt.ms.save_flags(path, "other")
    assert [one.name for one in rt.ms.flag_versions(path)] == ["mine"]


def test_versions_of_others_without_a_table_are_passed_over(filled):
    path = filled()
    rt.ms.save_flags(path, "mine")
    with open(f"{path}.flagversions/FLAG_VERSION_LIST", "a") as stream:
        stream.write("lost : its table is gone\n\n")
    assert [one.name for one in rt.ms.flag_versions(path + "/")] == ["mine"]


def test_a_window_without_solutions_is_named_and_the_rest_goes_on(command, small_ms, solved, tmp_path):
    path = small_ms(n_field=2, n_time=2)
    term = diagonal()
    early = TermSolutions(**{**term.__dict__, "time_s": np.array([5e9]), "time_width_s": np.array([1.0])})
    late = TermSolutions(
        **{**term.__dict__, "time_s": np.array([5e9 + 10]), "time_width_s": np.array([1.0]), "flag": ~term.flag}
    )
    both = {
        key: np.concatenate([getattr(early, key), getattr(late, key)]) for key in ("time_s", "time_width_s", "flag")
    }
    value = {q: np.concatenate([v, v]) for q, v in term.value.items()}
    sigma = {q: np.concatenate([v, v]) for q, v in term.sigma.items()}
    file = solved(TermSolutions(**{**term.__dict__, **both, "value": value, "sigma": sigma}))
    done = command("apply", path, "--solutions", file)
    said = "warning: nothing can be used for field 1, window 0: all its data "
    assert said + "are flagged now, solution flagged" in done.stderr
    # It had been said in the same words of what is flagged already.
    assert said + "were flagged before" in command("apply", path, "--solutions", file).stderr
    (first,) = rt.ms.tiles(path, [], field_id=0, time_slots=99)
    (second,) = rt.ms.tiles(path, [], field_id=1, time_slots=99)
    assert not first["flag"][first["row"] >= 0].any() and second["flag"][second["row"] >= 0].all()


def test_a_set_that_is_flagged_already_is_no_reason_to_refuse(command, filled, solved):
    path = filled()
    ns = rt.NodeScope()
    for p, q in rt.ms.baselines(path):
        ns.V(p, q) << rt.MergeFlags(rt.Constant(1.0), rt.ZeroFlagger(rt.Constant(0.0), oper="EQ"))
        ns.sink(p, q) << rt.Sink(
            ns.V(p, q), station_1_index=p, station_2_index=q, output_column="OTHER", write_flags=True
        )
    rt.Forest(ns).run(path)
    assert flags_of(path).all()
    assert (
        "100 % of the data were flagged before, 0 % are newly"
        in command("apply", path, "--solutions", solved(diagonal())).stdout
    )


def test_versions_that_are_saved_at_the_same_time_are_all_listed(kat7, monkeypatch):
    """Each had written a list without the others, which could not be restored then."""
    save = flags._core.save_flags

    def slowly(*given):
        time.sleep(0.1)
        save(*given)

    monkeypatch.setattr(flags._core, "save_flags", slowly)
    with ThreadPoolExecutor(4) as pool:
        own = [pool.submit(rt.ms.save_flags, kat7, name) for name in ("a", "b")]
        own += [pool.submit(rt.ms.save_flags_before, kat7, "apply") for _ in range(2)]
        saved = {one.result().name for one in own}
    assert saved == {"a", "b", "before_apply_1", "before_apply_2"}
    assert {version.name for version in rt.ms.flag_versions(kat7)} == saved


def test_versions_of_a_set_under_another_name(command, filled, solved, tmp_path):
    """A link to a set is the set: its versions had been beside the link, where the set did not find them."""
    path, link = filled(), tmp_path / "elsewhere" / "link.ms"
    link.parent.mkdir()
    link.symlink_to(path)
    command("apply", link, "--solutions", solved(diagonal(flag=[(1, 0)])))
    assert os.listdir(link.parent) == ["link.ms"]
    assert [one.name for one in flags.flag_versions(path)] == [one.name for one in flags.flag_versions(link)] != []
    assert "restored" in command("flags", "restore", link, "before_apply_1").output
