"""run, draw, explain, info, sky: scripts and their errors, pictures, plans, documentation, conversions."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest

import rimetree as rt

SCRIPT = """import sys
import rimetree as rt

FLUX = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0

def define_forest(ns, ms):
    assert __name__ == "__rimetree__"
    ns.flux << rt.Constant(FLUX)
    if ms is None:
        return
    for p, q in ms.baselines:
        ns.sink(p, q) << rt.Sink(ns.flux, station_1_index=p, station_2_index=q, output_column="OUT")
"""


@pytest.fixture
def script(tmp_path):
    file = tmp_path / "tree.py"
    file.write_text(SCRIPT)
    return file


def test_a_script_is_run_over_every_field(command, script, small_ms):
    path = small_ms(n_field=2)
    done = command("run", script, path, "--", "2.5")
    assert done.stdout.count("written to OUT") == 2
    for field in (0, 1):
        (tile,) = rt.ms.tiles(path, ["OUT"], field_id=field, time_slots=99)
        np.testing.assert_array_equal(tile["columns"]["OUT"][tile["row"] >= 0][..., 0], 2.5)


def test_arguments_of_scripts_without_a_set(command, script, small_ms, tmp_path):
    """What stands after "--" is the script's, also where options or no set stand before."""
    assert "2.5" in command("run", script, "--evaluate", "flux", "--", "2.5").stdout
    assert "-2.5" in command("run", "--evaluate", "flux", script, "--", "-2.5").stdout
    assert "1 nodes" in command("run", script, "--dry-run", "--", "2.5", "--dry-run").stdout
    path = small_ms()
    for name, *options in (("draw", "-o", tmp_path / "tree.svg"), ("explain",)):
        for arguments in ([script], [script, path]):
            command(name, *arguments, *options, "--", "3.5")
            assert "could not convert" in command(name, *arguments, *options, "--", "x", code=1).stderr


def test_a_scope_at_module_level(command, tmp_path, small_ms):
    file = tmp_path / "module.py"
    file.write_text(
        "import rimetree as rt\nns = rt.NodeScope()\nfor p, q in ms.baselines:\n"
        "    ns.sink(p, q) << rt.Sink(rt.Constant(1.0 + ms.field_id), station_1_index=p, station_2_index=q)\n"
    )
    path = small_ms(n_field=2)
    command("run", file, path)
    (tile,) = rt.ms.tiles(path, ["MODEL_DATA"], field_id=1, time_slots=99)
    assert (tile["columns"]["MODEL_DATA"][tile["row"] >= 0][..., 0] == 2).all()


def test_without_a_set_the_forest_is_checked_and_nodes_can_be_evaluated(command, tmp_path, script):
    assert "1 nodes in 1 batches" in command("run", script).stdout
    file = tmp_path / "f.py"
    file.write_text("import rimetree as rt\nns = rt.NodeScope()\nns.y << rt.Freq() * 2.0 + rt.Time()\n")
    shown = command("run", file, "--evaluate", "y", "--freq", "1MHz", "--freq", "2MHz", "--time", "7").stdout
    assert "[1, 2]" in shown
    assert "2000007" in shown
    assert "4000007" in shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import rimetree as rt\n\ndef define_forest(ns, ms):\n    ns.x << 1 / 0\n", "bad.py:4: ZeroDivisionError"),
        ("def define_forest(ns, ms:\n", "bad.py:1: SyntaxError"),
        ("import no_such_module\n", "bad.py:1: ModuleNotFoundError"),
        ("x = 1\n", "neither a function define_forest(ns, ms) nor a NodeScope ns"),
        ("def define_forest(ns, ms):\n    pass\n", "defines no nodes"),
        ("\ndef define_forest(ns):\n    pass\n", "bad.py:2: define_forest(ns) must take two arguments, the scope"),
        ("import rimetree as rt\nns = rt.NodeScope()\nns.x << rt.Ad(1, 2)\n", "bad.py:3: AttributeError"),
        (
            "import rimetree as rt\nns = rt.NodeScope()\nns.x << rt.Add(ns.a, 2)\nns.y << rt.LMN(ns.x)\n",
            "bad.py:4: node 'y'",
        ),
        ("import rimetree as rt\nns = rt.NodeScope()\nns.x << rt.Constant(2.0)\n", "no Sink"),
    ],
)
def test_mistakes_in_scripts_are_named_with_their_line(command, tmp_path, small_ms, text, message):
    file = tmp_path / "bad.py"
    file.write_text(text)
    result = command("run", file, small_ms(), code=1)
    assert message in result.stderr
    assert result.stdout == ""


def test_a_missing_script(command):
    assert "there is no script none.py" in command("run", "none.py", code=1).stderr


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz's program dot is not installed")
def test_draw(command, script, kat7, sky_file, tmp_path):
    assert "22 nodes" in command("draw", script, kat7, "-o", tmp_path / "a.svg").stderr
    assert "sink:0:1" in (tmp_path / "a.svg").read_text()
    psv = command("draw", kat7, "--sky", sky_file, "-o", tmp_path / "b.svg", "--max-nodes", "20")
    assert "drawn by batch" in psv.stderr
    assert "21 x PSV" in (tmp_path / "b.svg").read_text()
    command("draw", kat7, "--sky", sky_file, "--many-node", "--root", "V:0:1", "-o", tmp_path / "c.svg")
    assert "K:0:1:0" in (tmp_path / "c.svg").read_text()
    wrong = command("draw", kat7, "--sky", sky_file, "--root", "v:0", "-o", tmp_path / "d.svg", code=1)
    assert "similar are V:0:1" in wrong.stderr
    assert not (tmp_path / "d.svg").exists()


def test_explain_executes_nothing(command, script, kat7, sky_file):
    plan = command("explain", kat7, "--sky", sky_file, "--time-slots", "3").stdout
    assert [line.split()[:3] for line in plan.splitlines() if " PSV " in line] == [["3", "PSV", "21"]]
    assert "for 3 time slots of 4 channels" in plan
    assert "estimated time" in plan
    assert [column["name"] for column in rt.ms.inspect(kat7)["columns"]] == ["DATA"]
    assert "21" in command("explain", script, kat7).stdout
    assert "--sky" in command("explain", kat7, code=2).stderr


def test_explain_of_a_tree_as_it_is_written(command, kat7, sky_file):
    asked = ["explain", kat7, "--sky", sky_file, "--many-node"]
    assert " PSV " in command(*asked).stdout
    plan = command(*asked, "--as-written").stdout
    assert " PSV " not in plan and " VisPhaseShift " in plan


def test_explain_says_which_method_meets_the_tolerance(command, kat7, sky_file):
    asked = ["explain", kat7, "--sky", sky_file]
    assert "to 1e-12 of the total flux: direct in double precision" in command(*asked).stdout
    assert "to 1e-06 of the total flux: direct in " in command(*asked, "--precision", "single").stdout
    plan = command(*asked, "--tolerance", "1e-7", "--channels", "32768").stdout
    assert "to 1e-07 of the total flux" in plan and "direct in single precision: not exact enough" in plan
    assert "delay method" in plan and "32768 channels" in plan
    assert "--tolerance" in command(*asked, "--tolerance", "1e-13", code=2).stderr


def test_runs_verify(command, script, kat7, sky_file):
    done = command("simulate", kat7, "--sky", sky_file, "--tolerance", "1e-7", "--verify", "20")
    assert "20 visibilities computed again in extended precision" in done.stdout
    assert "within the tolerance of 1e-07" in done.stdout and "PSV: 3 sources" in done.stdout


def test_info(command):
    about = command("info").stdout
    assert f"rimetree {rt.__version__}" in about
    assert "PSV on" in about
    assert "CUDA: " in about and "simulated:BYTES" in about
    listed = command("info", "--nodes").stdout
    for info in rt.nodes.class_infos():
        assert info["name"] in listed
    about = command("info", "--node", "psv").stdout
    assert "lmn ([S,3] or [3], dimensionless)" in about
    assert "n_minus (int, 0 to 1, default 1)" in about
    assert "similar are PSV" in command("info", "--node", "PS", code=1).stderr


def test_info_of_lesser_instruction_sets(process):
    program, environment = process

    def told(name: str) -> subprocess.CompletedProcess:
        there = {**environment, "RIMETREE_INSTRUCTION_SET": name}
        return subprocess.run([*program, "info"], env=there, capture_output=True, text=True, check=True)

    message = told("none").stderr
    assert "RIMETREE_INSTRUCTION_SET is none, and has no effect; there are " in message
    least = message.split()[-1]
    assert f"PSV on {least}" in told(least).stdout and not told(least).stderr


def test_sky_show_of_tables_as_json(command, tmp_path):
    """It had ended in a traceback."""
    table = rt.sky.FluxTable([1e8, 2e8], [1.0, 3.0])
    source = rt.sky.Source("t", 1.0, 0.5, (1.0, 0.0, 0.0, 0.0), ref_freq_hz=1e8, table=table)
    rt.sky.write(rt.sky.SkyModel([source]), tmp_path / "a.skyh5")
    (found,) = json.loads(command("sky", "show", tmp_path / "a.skyh5", "--json").stdout)
    assert found["table"] == {"frequency_hz": [1e8, 2e8], "stokes_jy": [1.0, 3.0], "power_laws": False}


def test_sky_show_and_convert(command, sky_file, tmp_path):
    shown = command("sky", "show", sky_file, "--freq", "700MHz").stdout
    assert "3 sources (1 of shape gaussian, 1 with a spectrum, 0 polarised" in shown
    assert f"{0.5 * 2**0.7:.6g}" in shown
    assert len(json.loads(command("sky", "show", sky_file, "--json").stdout)) == 3
    assert (
        "--freq does not go with --json" in command("sky", "show", sky_file, "--json", "--freq", "1GHz", code=2).output
    )
    assert "30 x 20 45 in (l, m)" in shown
    sky_file.write_text(sky_file.read_text().replace("Orientation)", "Orientation, OrientationIsAbsolute='true')"))
    assert re.search(r"30 x 20 45 *$", command("sky", "show", sky_file).stdout, re.MULTILINE)
    target = tmp_path / "out-sources.txt"
    assert "3 sources, as wsclean" in command("sky", "convert", sky_file, target).stdout
    assert rt.sky.read(target).names == ["a", "b", "c"]
    assert "1 sources" in command("sky", "convert", sky_file, target, "--min-flux", "1.5").stdout
    assert "left to write" in command("sky", "convert", sky_file, target, "--min-flux", "9", code=1).stderr


def test_sky_convert_lists_what_the_target_cannot_hold(command, tmp_path):
    source, target = tmp_path / "p.skymodel", tmp_path / "p-sources.txt"
    source.write_text("# (Name, Type, Patch, Ra, Dec, I, Q) = format\n, , p, 1:0:0, 1.0.0\na, POINT, p, 1:0:0, 1.0.0, 1, 0\nb, POINT, p, 1:0:0, 1.0.0, 1, 0.5\n")  # fmt: skip # noqa: E501
    refused = command("sky", "convert", source, target, code=1)
    assert "error: " in refused.stderr
    assert not target.exists()
    done = command("sky", "convert", source, target, "--drop-patches", "--skip-unsupported")
    assert "left out source 'b'" in done.stderr
    assert rt.sky.read(target).names == ["a"]


def test_fluxes_at_several_reference_frequencies_are_not_added(command, tmp_path):
    text = "format = Name, Ra, Dec, I, ReferenceFrequency, SpectralIndex\na, 4:0:0, -30.0.0, 10, 1e8, [-1]\n"
    (tmp_path / "a.txt").write_text(text)
    assert "10 Jy in all at 100 MHz" in command("sky", "show", tmp_path / "a.txt").stdout
    (tmp_path / "a.txt").write_text(text + "b, 4:1:0, -30.0.0, 4, 1.4e9, [-0.7]\n")
    shown = command("sky", "show", tmp_path / "a.txt").stdout
    assert "fluxes at 100 MHz to 1.4 GHz (--freq: at one)" in shown and "in all" not in shown


def test_reports_of_solvers_have_their_values(command, tmp_path, kat7):
    file = tmp_path / "solve.py"
    file.write_text(
        "import rimetree as rt\n"
        "def define_forest(ns, ms):\n"
        "    ns.g << rt.Parm(1.0, solvable=True)\n"
        "    for p, q in ms.baselines:\n"
        "        data = rt.Spigot(station_1_index=p, station_2_index=q) + [[6.0, 0.0], [0.0, 6.0]]\n"
        "        ns.c(p, q) << rt.Condeq(data, ns.g * [[3.0, 0.0], [0.0, 3.0]])\n"
        "    ns.vdm << rt.VisDataMux(rt.Solver(*[ns.c(*b) for b in ms.baselines]))\n"
    )
    done = command("run", file, kat7, "--report", tmp_path / "r.json")
    assert "g = 2 +- " in done.stdout
    assert " written\n" in done.stdout  # to no column
    (report,) = json.loads((tmp_path / "r.json").read_text())
    (solve,) = report["solves"]
    assert solve["parms"]["g"]["value"] == pytest.approx(2.0)
    assert solve["parms"]["g"]["sigma"] > 0


def test_nodes_are_looked_at_beside_data(command, tmp_path, small_ms):
    """As bookmarks of MeqTrees show them: the first slots of the rows that are chosen."""
    path = small_ms(n_time=12)
    ns = rt.NodeScope()
    noise = rt.GaussNoise(stddev=1.0, seed=1, dims=[2, 2], complex=True)
    ns.sink << rt.Sink(noise, station_1_index=0, station_2_index=1, output_column="DATA")
    rt.Forest(ns).run(path)
    file = tmp_path / "look.py"
    file.write_text(
        "import rimetree as rt\n"
        "def define_forest(ns, ms):\n"
        "    ns.d << rt.Spigot(station_1_index=0, station_2_index=1)\n"
        "    ns.none << rt.Spigot(station_1_index=0, station_2_index=9)\n"
        "    ns.twice << 2 * ns.d[0, 0]\n"
        "    ns.w << rt.Spigot(station_1_index=0, station_2_index=1, input_column='UVW')\n"
        "    ns.one << rt.Parm(1.0)\n"
    )
    data = next(rt.ms.tiles(path, ["DATA"], time_slots=100))["columns"]["DATA"][0]
    shown = command("run", file, path, "--evaluate", "twice").stdout
    assert "twice: complex128 [10, 8] [tensor..., time, freq], field 0, data description 0, 10 time slots" in shown
    few = command("run", file, path, "--evaluate", "d", "--time-slots", "2", "--time", "100s~").stdout
    assert "d: complex128 [2, 2, 2, 8]" in few
    assert f"{data[10, 0, 0].real:.8f}"[:7] in few
    assert "w: float64 [3, 10, 1]" in command("run", file, path, "--evaluate", "w").stdout
    assert "one: float64 [1, 1]" in command("run", file, path, "--evaluate", "one").stdout
    assert "no rows of its baseline" in command("run", file, path, "--evaluate", "none").stdout
    assert "--time or --freq" in command("run", file, path, "--evaluate", "d", "--verify", "3", code=2).stderr
    assert "[[[1.]]]" not in command("run", file, path, "--evaluate", "one", "--freq", "1GHz").stdout
