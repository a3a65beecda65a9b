"""Modules of calibration are loaded when they are used."""

import subprocess
import sys

from rimetree import calibration


def test_every_name_is_there_and_no_module_hides_a_function():
    from rimetree.calibration import calibrating, residual_data

    assert all(getattr(calibration, name) is not None for name in calibration.__all__)
    assert set(calibration.__all__) <= set(dir(calibration)) and not hasattr(calibration, "nonsense")
    assert calibration.calibrate is calibrating.calibrate and calibration.residuals is residual_data.residuals


def test_who_applies_solutions_loads_nothing_that_solves():
    script = "import sys, rimetree.cli.apply; from rimetree import calibration as c; c.correct, c.read_h5parm; "
    script += "print(*(name for name in sys.modules if name.startswith('rimetree.calibration.')))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "rimetree.calibration.correction" in loaded
    assert not {f"rimetree.calibration.{name}" for name in ("calibrating", "session", "starting_values")} & set(loaded)
