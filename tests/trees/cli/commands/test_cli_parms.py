"""`rimetree run --save-parms` and `--parms`."""

import numpy as np
import pytest

import rimetree as rt

TREE = """
import sys
import rimetree as rt

def define_forest(ns, ms):
    solve = sys.argv[1] == "solve"
    column = "CORRECTED_DATA" if solve else "OTHER_DATA"
    for p in ms.antennas if ms else range(2):
        ns.a(p) << rt.Parm(1.0, solvable=solve)
    ns.fixed << rt.Parm(1.0)
    for p, q in ms.baselines if ms else ():
        station = dict(station_1_index=p, station_2_index=q)
        ns.d(p, q) << rt.Spigot(**station, input_column="DATA")
        model = ns.a(p) * ns.a(q) * ns.fixed * rt.Constant([[1, 0], [0, 1]])
        ns.c(p, q) << rt.Condeq(ns.d(p, q), model, [[1, 0], [0, 1]])
        ns.sink(p, q) << rt.Sink(ns.d(p, q) / (ns.a(p) * ns.a(q)), **station, output_column=column)
    if ms:
        solver = ns.solver << rt.Solver(*(ns.c(p, q) for p, q in ms.baselines)) if solve else None
        ns.mux << rt.VisDataMux(*(ns.sink(p, q) for p, q in ms.baselines), pre=solver)
"""
PLANT = """
import rimetree as rt

def define_forest(ns, ms):
    for p, q in ms.baselines:
        v = (1 + 0.1 * p) * (1 + 0.1 * q) * (1 + (rt.Time() - 5e9) / 1000) * rt.Constant([[1, 0], [0, 1]])
        ns.s(p, q) << rt.Sink(v, station_1_index=p, station_2_index=q, output_column="DATA")
"""


@pytest.fixture
def scripts(tmp_path):
    (tmp_path / "tree.py").write_text(TREE)
    (tmp_path / "plant.py").write_text(PLANT)
    return tmp_path


def column(path, name):
    return [tile["columns"][name] for tile in rt.ms.tiles(path, [name], time_slots=1000)]


def test_a_run_applies_what_another_has_solved_for(command, scripts, small_ms):
    """Of two fields by turns, each solved for in groups of two time slots: one table has the tiles of both."""
    path = small_ms(n_time=8, n_field=2)
    command("run", scripts / "plant.py", path)
    solved = command(
        "run", scripts / "tree.py", path, "--time-slots", "1", "--save-parms", scripts / "a.h5", "--", "solve"
    )
    assert "a.h5: 4 Parms\n" in solved.stderr
    assert len(rt.ParmTable.read(scripts / "a.h5")["a:2"].value) == 8
    applied = command("run", scripts / "tree.py", path, "--parms", scripts / "a.h5", "--", "apply")
    assert f"4 Parms from {scripts / 'a.h5'}; as the script has them: fixed" in applied.stderr
    for other, corrected in zip(column(path, "OTHER_DATA"), column(path, "CORRECTED_DATA"), strict=True):
        np.testing.assert_array_equal(other, corrected)
        np.testing.assert_allclose(other[..., 0, 0], 1, rtol=1e-5)


def test_tables_of_two_runs(command, scripts, small_ms):
    path = small_ms(n_time=6)
    command("run", scripts / "plant.py", path)
    for name, times in (("a.h5", "~30s"), ("b.h5", "30s~")):
        command("run", scripts / "tree.py", path, "--time", times, "--save-parms", scripts / name, "--", "solve")
    both = [one for name in ("a.h5", "b.h5") for one in ("--parms", scripts / name)]
    command("run", scripts / "tree.py", path, *both, "--", "apply")
    np.testing.assert_array_equal(column(path, "OTHER_DATA"), column(path, "CORRECTED_DATA"))
    values = command(
        "run", scripts / "tree.py", "--evaluate", "a:1", "--time", "5e9", "--freq", "1.4GHz", *both, "--", "apply"
    )
    found = rt.ParmTable.read(scripts / "a.h5")["a:1"].value.item()
    assert f"{found:.6f}"[:6] in values.stdout


def test_what_cannot_be_saved_is_said_before_the_run(command, scripts, small_ms):
    path = small_ms()
    result = command("run", scripts / "tree.py", path, "--save-parms", scripts / "a.h5", "--", "apply", code=2)
    assert "the tree has no Solver" in result.stderr
    result = command("run", scripts / "tree.py", "--save-parms", scripts / "a.h5", "--", "solve", code=2)
    assert "for runs over a Measurement Set" in result.stderr
    result = command("run", scripts / "tree.py", path, "--save-parms", scripts / "no" / "a.h5", "--", "solve", code=1)
    assert "no/a.h5" in result.stderr
    result = command("run", scripts / "tree.py", path, "--parms", scripts / "tree.py", "--", "solve", code=1)
    assert "no table of Parms" in result.stderr
    assert not (scripts / "a.h5").exists()


def test_a_run_that_ends_early_leaves_what_it_has_found(command, scripts, small_ms, monkeypatch):
    path = small_ms(n_time=4)
    command("run", scripts / "plant.py", path)
    run = rt.Forest.run

    def interrupted(self, *arguments, **options):
        def stop(tiles_done, *_):
            if tiles_done == 2:
                raise KeyboardInterrupt

        return run(self, *arguments, **{**options, "progress": stop})

    monkeypatch.setattr(rt.Forest, "run", interrupted)
    save = ("--time-slots", "1", "--save-parms", scripts / "a.h5")
    result = command("run", scripts / "tree.py", path, *save, "--", "solve", code=None)
    assert result.exit_code != 0 and "a.h5: 4 Parms of what was solved before" in result.stderr
    assert 2 <= len(rt.ParmTable.read(scripts / "a.h5")["a:0"].value) <= 3
