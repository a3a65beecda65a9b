"""`rimetree calibrate`, `apply` and `plot-solutions`: what they print and write; a run that is killed loses nothing."""

import os
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration


@pytest.fixture
def observed(command, kat7, sky_file):
    """The set of KAT-7 with the sky in DATA, and noise of 0.05 Jy."""
    command("simulate", kat7, "--sky", sky_file, "--column", "DATA", "--noise", 0.05)
    return kat7


def visibilities(path, column):
    (tile,) = rt.ms.tiles(path, [column], time_slots=100)
    return tile, tile["columns"][column]


def test_solve_apply_and_subtract(command, observed, sky_file, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/bin/rimetree", "calibrate", "--term", "G: diag, 2min, 2chan"])
    out = tmp_path / "sol.h5"
    result = command(
        *("calibrate", observed, "--sky", sky_file, "--term", "G: diag, 2min, 2chan", "--out", out),
        *("--apply", "--subtract"),
    )
    assert "[1/3] G: field 0, window 0" in result.stderr and "chi-square" in result.stderr
    assert "6 of 6 solves converged (6 converged)" in result.stdout
    assert "noise of data of weight 1, from the residuals: 0.05" in result.stdout  # the weights are 1
    assert "ANT-6" in result.stdout and "G flagged/%" in result.stdout
    (found,) = calibration.read_h5parm(out)
    assert found["G"].shape == (3, 2, 7, 1, 2)
    assert found.provenance["command"] == "rimetree calibrate --term 'G: diag, 2min, 2chan'"
    assert found.provenance["sky_model"] == str(sky_file)
    assert found.provenance["uvw_family"] == "p-q"
    _, residual = visibilities(observed, "CORRECTED_DATA")
    assert residual.std() == pytest.approx(0.05 * 2**0.5, rel=0.1)
    # The same from the file, into another column.
    command("apply", observed, "--solutions", out, "--sky", sky_file, "--subtract", "--output-column", "AGAIN")
    np.testing.assert_array_equal(visibilities(observed, "AGAIN")[1], residual)
    command("apply", observed, "--solutions", out, "--interpolation", "linear", "--output-column", "LINE")
    assert np.abs(visibilities(observed, "LINE")[1] - visibilities(observed, "DATA")[1]).max() < 1


def test_dry_run_solves_and_writes_nothing(command, observed, sky_file, tmp_path):
    out = tmp_path / "sol.h5"
    result = command(
        *("calibrate", observed, "--sky", sky_file, "--out", out, "--dry-run"),
        *("--term", "G: diag, 1slot", "--term", "D: leakage, 2chan"),
    )
    assert "G: diag, 1slot: 5 x 1 solutions" in result.stdout and "D: leakage, 2chan: 1 x 2" in result.stdout
    assert "nothing was solved or written" in result.stdout
    assert not list(tmp_path.glob("sol*"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--term", "G: diagonal"], "did you mean diag?"),
        (["--term", "G: diag", "--term", "G: phase"], "two terms are named 'G'"),
        (["--term", "dE: diag, per patch"], "in no patch of the sky model: a, b, c"),
        (["--term", "G: diag", "--reference", "XYZ"], "no antenna 'XYZ' with data"),
        (["--term", "G: diag", "--data-column", "NONE"], "NONE"),
        (["--term", "G: diag", "--resume"], None),
    ],
)
def test_errors_are_one_message(command, observed, sky_file, tmp_path, arguments, says):
    out = tmp_path / "sol.h5"
    result = command("calibrate", observed, "--sky", sky_file, "--out", out, *arguments, code=1 if says else 0)
    if says:
        assert result.stderr.count("error:") == 1 and says in result.stderr
        assert not out.exists()
    else:  # with nothing to resume it begins
        assert out.exists()


def test_solutions_are_not_overwritten_unasked(command, observed, sky_file, tmp_path):
    out = tmp_path / "sol.h5"
    arguments = ("calibrate", observed, "--sky", sky_file, "--term", "G: diag", "--out", out)
    command(*arguments)
    before = out.read_bytes()
    assert "give --overwrite" in command(*arguments, code=1).stderr
    assert out.read_bytes() == before
    command(*arguments, "--overwrite")


def test_uv_limits_leave_data_out(command, observed, sky_file, tmp_path):
    counts = {}
    for limit in ([], ["--uvmin", "60m"], ["--uvmin", "0.4klambda"], ["--uvmax", "100m"]):
        out = tmp_path / "sol.h5"
        command(*("calibrate", observed, "--sky", sky_file, "--term", "G: diag", "--out", out, "--overwrite"), *limit)
        (tile,) = rt.ms.tiles(observed, [], time_slots=100)
        counts[tuple(limit)] = int((~calibration.read_h5parm(out)[0]["G"].flag).sum())
    assert counts[()] == 14  # all antennas, both feeds
    assert all(count > 0 for count in counts.values())
    length = np.hypot(*np.moveaxis(tile["uvw_m"][..., :2], -1, 0))
    assert (length < 60).any() and (length > 100).any()


def test_where_nothing_is_solved_the_command_fails(command, observed, sky_file, tmp_path):
    out = tmp_path / "none.h5"
    result = command(
        *("calibrate", observed, "--sky", sky_file, "--term", "G: diag", "--out", out, "--apply"),
        *("--uvmin", "10km"),
        code=3,
    )
    assert "0 of" in result.stdout
    assert f"no solve converged: all solutions in {out} are flagged (" in result.stderr
    assert "; the set is left as it is" in result.stderr
    assert calibration.read_h5parm(out)[0]["G"].flag.all()
    assert "CORRECTED_DATA" not in [column["name"] for column in rt.ms.inspect(observed)["columns"]]


def test_terms_that_share_a_scale(command, observed, sky_file, tmp_path):
    """Bandpass times gain: solutions come, the command says by which convention, and data are corrected with them."""
    out = tmp_path / "sol.h5"
    terms = ("--term", "B: diag, 1chan", "--term", "G: diag, 1slot")
    result = command("calibrate", observed, "--sky", sky_file, *terms, "--out", out, "--apply", "--subtract")
    assert "values flagged: none" in result.stdout and "normalised: B (" in result.stdout
    _, residual = visibilities(observed, "CORRECTED_DATA")
    assert residual.std() == pytest.approx(0.05 * 2**0.5, rel=0.1)


def test_where_all_solutions_are_flagged_the_command_fails(command, kat7, sky_file, tmp_path):
    """One baseline has data: two gains cannot be told apart on it."""
    pairs = rt.ms.baselines(kat7)
    ns = rt.NodeScope()
    for p, q in pairs:
        data = rt.Spigot(station_1_index=p, station_2_index=q)
        bad = data if (p, q) == pairs[0] else rt.MergeFlags(data, rt.ZeroFlagger(rt.Constant(1.0), oper="NE"))
        ns.sink(p, q) << rt.Sink(bad, station_1_index=p, station_2_index=q, write_flags=True)
    command("simulate", kat7, "--sky", sky_file, "--column", "DATA", "--noise", 0.05)
    rt.Forest(ns).run(kat7)
    out = tmp_path / "sol.h5"
    result = command("calibrate", kat7, "--sky", sky_file, "--term", "G: diag", "--out", out, "--apply", code=3)
    assert "nothing usable came out" in result.stderr and "undetermined" in result.stderr
    assert "left as it is" in result.stderr and out.exists()


def test_phases_alone_in_raw_data(command, kat7, sky_file, tmp_path):
    """Data in another unit: their scale is found, printed and noted."""
    out = tmp_path / "sol.h5"
    command("simulate", kat7, "--sky", sky_file, "--column", "DATA", "--noise", 0.05)
    ns = rt.NodeScope()
    for p, q in rt.ms.baselines(kat7):
        data = rt.Spigot(station_1_index=p, station_2_index=q)
        ns.sink(p, q) << rt.Sink(data * 123.0, station_1_index=p, station_2_index=q, output_column="DATA")
    rt.Forest(ns).run(kat7)
    result = command("calibrate", kat7, "--sky", sky_file, "--term", "P: phase, 1slot", "--out", out)
    assert "data over model: 123" in result.stdout and "5 of 5 solves converged" in result.stdout
    assert "(found with P: no amplitude there to hold it)" in result.stdout
    (found,) = calibration.read_h5parm(out)
    assert found.provenance["data_over_model"] == pytest.approx(123, rel=0.01)
    assert np.abs(found["P"].value["phase"]).max() < 0.1


def test_apply_needs_what_belongs_together(command, observed, sky_file, tmp_path):
    assert "--subtract and --sky" in command("apply", observed, "--solutions", "x.h5", "--subtract", code=2).stderr
    assert "nothing to do" in command("apply", observed, "--solutions", "x.h5", "--no-correct", code=2).stderr
    assert "no such file" in command("apply", observed, "--solutions", tmp_path / "x.h5", code=1).stderr


def test_devices_reach_the_forests(command, observed, sky_file, tmp_path):
    out = tmp_path / "sol.h5"
    what = ("calibrate", observed, "--sky", sky_file, "--term", "G: diag", "--out", out)
    assert "there is no device" in command(*what, "--device", "warp", code=1).stderr
    assert "1 of 1 solves converged" in command(*what, "--device", "simulated").stdout
    on_host = tmp_path / "host.h5"
    command(*what[:-1], on_host, "--device", "none")
    found, expected = (calibration.read_h5parm(path)[0]["G"].gain() for path in (out, on_host))
    np.testing.assert_allclose(found, expected, atol=1e-7)
    assert "there is no device" in command("apply", observed, "--solutions", out, "--device", "warp", code=1).stderr


def test_plots(command, observed, sky_file, tmp_path):
    out = tmp_path / "sol.h5"
    command("calibrate", observed, "--sky", sky_file, "--term", "G: diag, 1slot", "--out", out)
    result = command("plot-solutions", out, "-o", tmp_path / "g.png", "-o", tmp_path / "g.html", "--antenna", "ANT-2")
    assert "g.png (2 pages)" in result.stderr and (tmp_path / "g-2.png").exists()
    assert (
        "no antenna ANT-9"
        in command("plot-solutions", out, "-o", tmp_path / "g.pdf", "--antenna", "ANT-9", code=1).stderr
    )


def tables(path):
    """All numbers of a file of solutions."""
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.update({name: item[:]}) if isinstance(item, h5py.Dataset) else None)
    return found


def test_ctrl_c_says_how_to_go_on(command, observed, sky_file, tmp_path, monkeypatch):
    from rimetree.cli.commands import calibrate

    shown = calibrate.Progress.chunk

    def chunk(self, report):
        shown(self, report)
        if report.index == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(calibrate.Progress, "chunk", chunk)
    arguments = ("calibrate", observed, "--sky", sky_file, "--term", "G: diag, 1slot", "--out", tmp_path / "sol.h5")
    assert "2 of 5 chunks are solved: --resume goes on" in command(*arguments, code=130).stderr
    monkeypatch.undo()
    assert command(*arguments, "--resume").stderr.count("solved before") == 2


@pytest.mark.parametrize("chunks_before", [1, 3])
def test_a_killed_run_is_resumed_with_the_same_result(command, process, observed, sky_file, tmp_path, chunks_before):
    """SIGKILL after some chunks; what was solved is not solved again, and the file is that of an unbroken run."""
    arguments = ["--sky", str(sky_file), "--term", "G: diag, 1slot, 1chan"]
    command("calibrate", observed, *arguments, "--out", tmp_path / "whole.h5")
    out = tmp_path / "sol.h5"
    program, environment = process
    script = (
        "import sys, time\n"
        "from rimetree import calibration\n"
        "from rimetree.cli.commands import calibrate\n"
        "shown = calibrate.Progress.chunk\n"
        "def chunk(self, report):\n"
        "    shown(self, report)\n"
        f"    time.sleep(600 if report.index + 1 == {chunks_before} else 0)\n"
        "calibrate.Progress.chunk = chunk\n"
        "from rimetree.cli import main\n"
        "main()\n"
    )
    command_line = [program[0], "-c", script, "calibrate", str(observed), *arguments, "--out", str(out)]
    with subprocess.Popen(command_line, env=environment, stderr=subprocess.PIPE, text=True) as run:
        for line in run.stderr:
            if line.startswith(f"[{chunks_before}/5]"):
                break
        os.kill(run.pid, signal.SIGKILL)
    assert not out.exists() and (tmp_path / "sol.h5.progress").exists()
    refused = command("calibrate", observed, *arguments, "--out", out, code=1)
    assert "give --resume, or --overwrite" in refused.stderr
    other = command("calibrate", observed, *arguments, "--term", "P: phase", "--out", out, "--resume", code=1)
    assert "other terms" in other.stderr
    result = command("calibrate", observed, *arguments, "--out", out, "--resume")
    assert result.stderr.count("solved before") == chunks_before
    assert result.stdout == command("calibrate", observed, *arguments, "--out", out, "--overwrite").stdout
    assert not (tmp_path / "sol.h5.progress").exists()
    whole, resumed = tables(tmp_path / "whole.h5"), tables(out)
    assert whole.keys() == resumed.keys()
    for name, values in whole.items():
        np.testing.assert_array_equal(values, resumed[name])


def test_killed_anywhere_the_file_is_whole_or_absent(process, command, observed, sky_file, tmp_path):
    program, environment = process
    out = tmp_path / "sol.h5"
    arguments = ["calibrate", str(observed), "--sky", str(sky_file), "--term", "G: full, 1slot, 1chan"]
    for pause in (0.4, 0.7, 1.0, 1.4):
        with subprocess.Popen(
            [*program, *arguments, "--out", str(out), "--resume"], env=environment, stderr=subprocess.DEVNULL
        ) as run:
            time.sleep(pause)
            run.kill()
        if out.exists():
            assert calibration.read_h5parm(out)[0]["G"].shape == (5, 4, 7, 1, 4)
            break
    else:
        command(*arguments, "--out", out, "--resume")
    assert not calibration.read_h5parm(out)[0]["G"].flag.any()


def test_columns_as_the_model(command, observed, sky_file, tmp_path):
    """Predicted into a column, the sky gives the solutions that it gives itself; two columns are two directions."""
    command("simulate", observed, "--sky", sky_file, "--column", "MODEL_DATA")
    term = ("--term", "G: diag, 2min", "--reference", "ANT-1")
    command("calibrate", observed, "--sky", sky_file, *term, "--out", tmp_path / "sky.h5")
    result = command(
        *("calibrate", observed, "--model-column", "MODEL_DATA", *term, "--out", tmp_path / "col.h5"),
        *("--apply", "--subtract"),
    )
    assert "mean magnitude of the parallel hands of the model: MODEL_DATA" in result.stderr
    (one,), (other,) = (calibration.read_h5parm(tmp_path / name) for name in ("sky.h5", "col.h5"))
    np.testing.assert_allclose(other["G"].gain(), one["G"].gain(), atol=1e-6)
    assert visibilities(observed, "CORRECTED_DATA")[1].std() == pytest.approx(0.05 * 2**0.5, rel=0.1)
    both = ("--model-column", "MODEL_DATA", "--model-column", "raw=DATA")
    text = command(
        *("calibrate", observed, *both, "--term", "dE: scalar, per patch", "--out", tmp_path / "x.h5", "--dry-run")
    )
    assert "MODEL_DATA" in text.stderr and "raw" in text.stderr and "a chunk takes about" in text.stdout
    again = ("apply", observed, "--solutions", tmp_path / "col.h5", "--subtract", "--model-column", "MODEL_DATA")
    command(*again, "--output-column", "AGAIN")
    np.testing.assert_array_equal(visibilities(observed, "AGAIN")[1], visibilities(observed, "CORRECTED_DATA")[1])
    assert "no direction 'b'; there are MODEL_DATA" in command(*again, "--keep", "b", code=1).stderr
    assert "nothing is left of the model" in command(*again, "--keep", "MODEL_DATA", code=1).stderr


def test_there_is_one_model(command, observed, sky_file, tmp_path):
    what = ("calibrate", observed, "--term", "G: diag", "--out", tmp_path / "sol.h5")
    assert "either --sky or --model-column" in command(*what, code=2).stderr
    both = ("--sky", sky_file, "--model-column", "DATA")
    assert "either --sky or --model-column" in command(*what, *both, code=2).stderr
    assert "no column 'NONE' to take the model from" in command(*what, "--model-column", "NONE", code=1).stderr
    assert not list(tmp_path.glob("sol*"))


def test_what_does_not_fit_into_memory_is_refused(command, observed, sky_file, tmp_path):
    what = ("calibrate", observed, "--sky", sky_file, "--term", "G: diag", "--out", tmp_path / "sol.h5")
    result = command(*what, "--dry-run")
    assert "field 0, window 0: a chunk takes about" in result.stdout and "results of nodes" in result.stdout
    for more in ((), ("--dry-run",)):
        refused = command(*what, "--memory", "20KiB", *more, code=1)
        assert "'G: diag' on 5 time slots, 21 baselines and 4 channels takes about" in refused.stderr
        assert "there may be 20 KiB" in refused.stderr and "interval a shorter one" in refused.stderr
    assert not list(tmp_path.glob("sol*"))
    few = ("--memory", "64KiB")
    assert "of 5 time slots at a time" in command(*what, *few, "--dry-run").stdout
    command(*what, *few)


def test_windows_of_a_field(command, sky_file, tmp_path):
    """Each window has its own delay unless "all windows" is asked for; the command says so."""
    path = tmp_path / "two.ms"
    bands = [rt.ms.Band.regular(1.4e9, 4e6, 4), rt.ms.Band.regular(1.5e9, 4e6, 4)]
    centre = (np.radians(53.125), np.radians(-27.8))
    rt.ms.create(path, "kat-7", phase_centre_rad=centre, duration_s=60, integration_s=20, bands=bands)
    command("simulate", path, "--sky", sky_file, "--column", "DATA")
    what = ("calibrate", path, "--sky", sky_file, "--overwrite", "--out", tmp_path / "sol.h5", "--term")
    alone = command(*what, "K: delay")
    assert "each spectral window (field 0: 0, 1) has a solution of its own of K" in alone.stderr
    assert '"K: delay, all windows"' in alone.stderr and "window 1" in alone.stderr
    assert len(calibration.read_h5parm(tmp_path / "sol.h5")) == 2
    together = command(*what, "K: delay, all windows")
    assert "note:" not in together.stderr and "window 0+1" in together.stderr
    (found,) = calibration.read_h5parm(tmp_path / "sol.h5")
    assert found.provenance["data_desc_ids"] == "0 1"
    assert "note:" not in command(*what, "G: diag").stderr  # nothing is amiss with gains of each window


PATCHES = """# (Name, Type, Patch, Ra, Dec, I, Q, U, V, ReferenceFrequency='1.4e9', SpectralIndex='[]') = format
, , near, 03:32:30.0, -27.48.00
, , far, 03:34:30.0, -27.20.00
a, POINT, near, 03:32:30.0, -27.48.00, 10.0, 0, 0, 0, , []
b, POINT, far, 03:34:30.0, -27.20.00, 6.0, 0, 0, 0, , []
"""


def test_one_direction_after_the_other(command, kat7, tmp_path):
    """--successive: gains that were planted for two patches are found, in turns, as they are together."""
    file = tmp_path / "patches.skymodel"
    file.write_text(PATCHES)
    sky = rt.sky.read(str(file))
    rng = np.random.default_rng(8)
    gain = {name: rng.uniform(0.8, 1.2, 7) * np.exp(1j * rng.uniform(-0.6, 0.6, 7)) for name in sky.patches}
    (group,) = rt.ms.groups(kat7)
    ns = rt.NodeScope()
    for name in sky.patches:
        rt.sky_nodes(ns.Subscope(name), sky.select(patches=[name]), group.phase_centre_rad)
    for p, q in group.baselines:
        uvw = rt.Spigot(station_1_index=p, station_2_index=q, input_column="UVW", include_deriv=True)
        seen = []
        for name in sky.patches:
            own = ns.Subscope(name)
            seen.append(rt.PSV(own.lmn, own.brightness, uvw) * complex(gain[name][p] * np.conj(gain[name][q])))
        ns.V(p, q) << rt.Add(*seen)
        ns.sink(p, q) << rt.Sink(ns.V(p, q), station_1_index=p, station_2_index=q, output_column="DATA")
    rt.Forest(ns).run(kat7)
    what = ("calibrate", kat7, "--sky", file, "--term", "dE: scalar, per patch", "--reference", "ANT-0", "--overwrite")
    found = {}
    for way in ((), ("--successive",)):
        result = command(*what, "--out", tmp_path / "sol.h5", *way)
        assert "1 of 1 solves converged" in result.stdout
        (solutions,) = calibration.read_h5parm(tmp_path / "sol.h5")
        found[way] = solutions["dE"].gain()[0, 0, :, :, 0, 0]
        assert ("turns" in result.stderr) == bool(way)
    for d, name in enumerate(solutions["dE"].directions):
        planted = gain[name] * np.exp(-1j * np.angle(gain[name][0]))
        np.testing.assert_allclose(found[("--successive",)][:, d], planted, atol=1e-4)
        np.testing.assert_allclose(found[()][:, d], planted, atol=1e-5)  # data are in single precision
    alone = command(*what[:4], "--term", "G: diag", "--out", tmp_path / "one.h5", "--successive")
    assert "--successive has no effect" in alone.stderr and "turns" not in alone.stderr
