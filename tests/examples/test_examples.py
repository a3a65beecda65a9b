"""The programs in examples/ run and show what they promise."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rimetree as rt

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def run(*arguments) -> str:
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def numbers(line: str) -> np.ndarray:
    """Those in the last brackets of a line."""
    return np.array(line[line.rindex("[") + 1 : line.rindex("]")].split(), dtype=float)


def test_predict():
    rows = run(EXAMPLES / "predict.py").splitlines()
    assert len(rows) == 3
    fluxes = np.array([[float(word) for word in row.split()[2::2]] for row in rows])
    assert fluxes.shape == (3, 5)
    assert (fluxes <= 4.0).all()  # no more than both sources together


def test_tree_script():
    lines = run(EXAMPLES / "tree_script.py").splitlines()
    gains = {"V:0:1": 1.0 * 1.1, "V:0:2": 1.0 * 1.2, "V:1:2": 1.1 * 1.2}
    for name, gain in gains.items():
        (line,) = (line for line in lines if line.startswith(name))
        amplitude = numbers(line)
        # Sources of 2 and 1 Jy: between difference and sum.
        assert ((gain * 1.0 <= amplitude + 1e-4) & (amplitude <= gain * 3.0 + 1e-4)).all()


def test_python_node():
    one, two, (chi_square, *gradient) = (numbers(line) for line in run(EXAMPLES / "python_node.py").splitlines())
    # Phase 8.44797245e-7 * 5e14 / frequency, and twice that, in turns.
    degrees = np.degrees(8.44797245e-7 * 5e14 / np.array([120e6, 150e6, 180e6]))
    for factor, got in ((1, one), (2, two)):
        difference = (got - factor * degrees + 180) % 360 - 180
        np.testing.assert_allclose(difference, 0, atol=6e-4)  # printed to 3 decimals
    # |1 - exp(i phase)|^2 at three channels of XX and YY, once for all times, which are the same, and its slope by 0.1
    # TECU.
    phases = 2 * np.radians(degrees)
    assert chi_square == pytest.approx(2 * np.sum(2 - 2 * np.cos(phases)), abs=6e-4)
    np.testing.assert_allclose(gradient, np.array([-1, 1]) * 2 * np.sum(2 * np.sin(phases) * phases / 0.1), atol=6e-4)


def test_many_nodes(tmp_path):
    text = run(EXAMPLES / "many_nodes.py", tmp_path / "many.ms")
    assert "largest difference" in text.splitlines()[-1]


def test_infer_sky():
    """In short form: the Gaussian is found out, and every unknown within its errors."""
    pytest.importorskip("dynesty", reason="an optional extra: rimetree[inference]")
    lines = run(EXAMPLES / "infer_sky.py", "--short").splitlines()
    assert float(lines[-1].split()[-1]) > 100  # ln evidence ratio: certain
    gaussian = lines[next(i for i, line in enumerate(lines) if line.startswith("Gaussian:")) :]
    pulls = []
    for line in gaussian[1:-1]:
        words = line.split()
        best, sigma, drawn, spread, true = (float(words[i]) for i in (1, 3, 5, 7, 9))
        pulls.append((best - true) / sigma)
        assert abs(drawn - best) < sigma and 0.4 < spread / sigma < 2.5, line
    assert len(pulls) == 9
    # Of 9 squared normal deviates the sum is below 27.9 but for one case in 1000; the noise is always the same.
    assert np.sum(np.square(pulls)) < 27.9
    laplace, sampled = (
        float(gaussian[0].split("Laplace ")[1].rstrip(")")),
        float(gaussian[0].split("ln evidence ")[1].split()[0]),
    )
    assert abs(laplace - sampled) < 6  # 50 live points leave an error of about 1


def test_plugin(tmp_path):
    rimetree_dir = run("-m", "rimetree.cmake_dir").strip()
    if not (Path(rimetree_dir).parent / "include").is_dir():
        pytest.skip("needs an installed RimeTree: this one runs from its source folder")
    build = tmp_path / "build"
    for command in (
        ["cmake", "-S", EXAMPLES / "plugin", "-B", build, f"-Drimetree_DIR={rimetree_dir}"],
        ["cmake", "--build", build],
    ):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
    brought, beam, visibility = run(EXAMPLES / "plugin" / "use.py", build / "cos3_beam.so").splitlines()
    assert brought == "plugin cos3_beam brought Cos3Beam"
    distance = np.sin(np.radians(0.5))
    expected = np.cos(65e-9 * np.array([1.2e9, 1.4e9, 1.6e9]) * distance) ** 3
    np.testing.assert_allclose(numbers(beam), expected, atol=6e-5)  # printed to 4 decimals
    np.testing.assert_allclose(numbers(visibility), 1 + expected**2, atol=6e-5)


def test_quickstart_tree(tmp_path):
    """The tree of the quickstart, on a small set, gives what `rimetree simulate` gives for the same sky."""
    path = tmp_path / "small.ms"
    sky = EXAMPLES / "quickstart.skymodel"
    command = ["-m", "rimetree.cli"]
    centre = ["--phase-centre", "04:00:00", "-30.00.00"]
    run(*command, "make-ms", path, "--telescope", "kat-7", *centre, "--duration", "5min", "--channels", "4")
    run(*command, "run", EXAMPLES / "quickstart_tree.py", path)
    run(*command, "simulate", path, "--sky", sky, "--column", "MODEL_DATA")
    largest = 0.0
    for tile in rt.ms.tiles(path, ["DATA", "MODEL_DATA"]):
        tree, simulated = tile["columns"]["DATA"], tile["columns"]["MODEL_DATA"]
        largest = max(largest, np.abs(simulated).max())
        # Columns hold single precision.
        np.testing.assert_allclose(tree, simulated, atol=4 * np.finfo(np.float32).eps * 12)
    assert largest > 3.0


def test_quickstart_tree_of_points_alone(tmp_path):
    """A sky without Gaussians in the place of the example's."""
    path, script = tmp_path / "small.ms", tmp_path / "quickstart_tree.py"
    rt.ms.create(path, "kat-7", phase_centre_rad=(1.05, -0.52), duration_s=20, integration_s=10)
    script.write_text((EXAMPLES / "quickstart_tree.py").read_text())
    (tmp_path / "quickstart.skymodel").write_text("FORMAT = Name, Type, Ra, Dec, I\na, POINT, 04:00:00, -30.00.00, 2\n")
    run("-m", "rimetree.cli", "run", script, path)
    (tile,) = rt.ms.tiles(path, ["DATA"])
    assert np.abs(tile["columns"]["DATA"][..., 0]).max() == pytest.approx(2, rel=1e-3)


def run_script(name, tmp_path):
    """Run a shell script of the examples in a folder of its own, with the package that is tested."""
    rimetree = tmp_path / "rimetree"
    rimetree.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rimetree.cli "$@"\n')
    rimetree.chmod(0o755)
    environment = {**os.environ, "RIMETREE": str(rimetree)}
    folder = str(Path(rt.__file__).parents[1])
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [EXAMPLES / name, tmp_path / "out"], capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_calibrate(tmp_path):
    """The calibration example recovers the gains that its tree script plants, and the sky."""
    done = run_script("calibrate.sh", tmp_path)
    assert "10 of 10 solves converged" in done.stdout
    assert {"sol.h5", "gains.png", "gains-2.png", "corrected.png"} <= {p.name for p in (tmp_path / "out").iterdir()}
    (term,) = rt.calibration.read_h5parm(tmp_path / "out" / "sol.h5")[0].terms
    assert (term.value["amplitude"] > 0.65).all() and (term.value["amplitude"] < 1.35).all()
    core = next(line.split() for line in done.stdout.splitlines() if line.startswith("core"))
    expected, peak = float(core[2]), float(core[3])
    assert abs(peak / expected - 1) < 0.02
    page = (ROOT / "docs" / "calibration.md").read_text(encoding="utf-8")
    shown = page.partition("and at the end a table:\n\n")[2].partition("\n\n")[0].splitlines()
    printed = "\n".join(done.stdout.splitlines())
    for line in shown[:5]:  # as the page shows it, which leaves out what is in brackets
        assert line.strip().removesuffix("(...)").partition("(weights")[0] in printed


def test_chains(tmp_path):
    """The target comes out with its flux, the second calibrator's is found, and what is left is the noise."""
    done = run_script("chains.sh", tmp_path)
    folder = tmp_path / "out"
    (line,) = (line.split() for line in done.stdout.splitlines() if line.startswith("1      GAIN"))
    assert abs(float(line[3]) - 3) < 5 * float(line[4]) + 0.01
    for name, field, flux in (("fields", 2, 2.0), ("mwa", 0, 15.0), ("alma", 0, 15.0)):
        (tile,) = rt.ms.tiles(folder / f"{name}.ms", ["CORRECTED_DATA"], field_id=field, time_slots=100)
        middle = tile["columns"]["CORRECTED_DATA"][:, :, 2:6].mean(axis=(0, 1, 2))
        np.testing.assert_allclose(middle[[0, 3]], flux, rtol=0.01)
        np.testing.assert_allclose(middle[[1, 2]], 0, atol=0.02)
    (tile,) = rt.ms.tiles(folder / "lofar.ms", ["CORRECTED_DATA"], time_slots=100)
    assert tile["columns"]["CORRECTED_DATA"].std() == pytest.approx(0.05 * 2**0.5, rel=0.1)
    assert (folder / "fields.html").exists() and "without_signal" in json.loads((folder / "alma.json").read_text())


def test_voltages_to_image(tmp_path):
    """The sources of the sky are found again in the image of their voltages."""
    done = run_script("voltages_to_image.sh", tmp_path)
    found = [line.split() for line in done.stdout.splitlines() if line[:2] in ("A ", "B ", "C ")]
    assert len(found) == 3
    for _, _, expected, peak, _, _, beams in found:
        assert abs(float(peak) / float(expected) - 1) < 0.05
        assert float(beams) < 0.05
