"""What is loaded when it is used."""

import subprocess
import sys

import rimetree as rt


def loaded_by(script: str) -> set[str]:
    script = f"import sys; {script}; print(*sys.modules)"
    return set(
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    )


def test_every_name_is_there_and_no_module_hides_a_function():
    for module in (rt, rt.ms, rt.sky, rt.calibration):
        assert all(getattr(module, name) is not None for name in module.__all__)
        assert set(module.__all__) <= set(dir(module))
        assert not hasattr(module, "nonsense")
    assert callable(rt.correlate) and callable(rt.predict) and callable(rt.record)


def test_who_evaluates_a_tree_loads_no_skies_telescopes_or_calibration():
    loaded = loaded_by("import rimetree as rt; rt.Forest(rt.NodeScope())")
    assert "rimetree.forest" in loaded
    assert not {"yaml", "h5py", "rimetree.telescopes", "rimetree.sky.formats", "rimetree.calibration"} & loaded


def test_who_reads_a_measurement_set_makes_none():
    loaded = loaded_by("import rimetree as rt; rt.ms.inspect, rt.ms.groups")
    assert "rimetree.ms.group" in loaded and not {"rimetree.observing.measurement_set", "rimetree.telescopes"} & loaded
    assert "rimetree.observing.measurement_set" in loaded_by("import rimetree as rt; rt.ms.create")


def test_who_applies_solutions_loads_nothing_that_solves():
    loaded = loaded_by(
        "import rimetree.cli.commands.apply; from rimetree import calibration as c; c.correct, c.read_h5parm"
    )
    assert "rimetree.calibration.solutions.correction" in loaded
    assert not {f"rimetree.calibration.{name}" for name in ("calibrating", "session", "starting_search")} & loaded
