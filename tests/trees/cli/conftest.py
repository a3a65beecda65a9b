"""Running commands, and what they run on."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from command_scene import CENTRE, MODEL

import rimetree as rt
from rimetree.cli import cli


@pytest.fixture(scope="session")
def command():
    """A function: run a command in this process -> click's result (exit_code, stdout, stderr, output)."""
    runner = CliRunner()

    def run(*arguments, code=0):
        result = runner.invoke(cli, [str(argument) for argument in arguments], prog_name="rimetree")
        if code is not None:
            assert result.exit_code == code, result.output + repr(result.exception)
        assert "Traceback" not in result.output
        return result

    return run


@pytest.fixture(scope="session")
def process():
    """(arguments, environment) with which `subprocess` runs the command line in a process of its own."""
    folder = str(Path(rt.__file__).parents[1])
    path = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
    return [sys.executable, "-m", "rimetree.cli"], {**os.environ, "PYTHONPATH": path}


@pytest.fixture
def sky_file(tmp_path):
    """Two points and a Gaussian within a quarter of a degree of `CENTRE`."""
    file = tmp_path / "field.skymodel"
    file.write_text(MODEL)
    return file


@pytest.fixture
def kat7(tmp_path):
    """A set of KAT-7: 21 baselines, 5 times of 60 s, 4 channels, at `CENTRE`."""
    rt.ms.create(
        tmp_path / "kat7.ms",
        "kat-7",
        phase_centre_rad=CENTRE,
        duration_s=300.0,
        integration_s=60.0,
        bands=rt.ms.Band.regular(1.4e9, 4e6, 4),
    )
    return tmp_path / "kat7.ms"


@pytest.fixture
def layout(tmp_path):
    """Two antennas: four inputs."""
    mwa = rt.telescopes.get("mwa")
    lines = ["# feed: linear", "# band_centre_hz: 154e6", "# band_width_hz: 1.28e6", "name,x,y,z,diameter"]
    lines += [f"{mwa.antenna_names[k]},{','.join(map(str, mwa.ecef_m[k]))},4" for k in (0, 1)]
    file = tmp_path / "two.csv"
    file.write_text("\n".join(lines) + "\n")
    return file
