"""After a calibration nothing keeps the set open: another program may lock it, or this one write it anew."""

import contextlib
import gc
import os

import numpy as np
import pytest
from planted_chains import CENTRE, SKY

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, parse_terms


def still_open(path):
    found = set()
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # that of the listing itself
            found.add(os.readlink(f"/proc/self/fd/{number}"))
    return sorted(name for name in found if name.startswith(path))


@pytest.fixture
def uncollected():
    """Objects go when nothing refers to them any more, not when Python looks for circles."""
    gc.disable()
    yield
    gc.enable()


TWO_SLOTS = rt.ms.Selection(average_slots=2)
CASES = [
    (["G: diag"], {}),
    (["P: phase"], {}),
    (["K: delay", "G: diag"], {}),
    (["P: phase, per patch", "G: diag"], {}),
    (["D: leakage"], {}),
    (["G: diag"], {"flag_data": 6.0}),
    (["G: diag"], {"flag_data": 6.0, "selection": TWO_SLOTS}),
    (["G: diag"], {"noise_per": "baseline"}),
]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="files that are open are not told")
@pytest.mark.parametrize(("terms", "given"), CASES)
def test_after_solving(tmp_path, observe, uncollected, terms, given):
    """Phases, which are searched for beside the data, had left the set open as long as the process ran; outliers that
    are left out before data are averaged until Python looked for circles of objects. A set that was written anew in
    the meantime was then damaged by what casacore still had of the old one."""
    path = str(tmp_path / "a.ms")
    band = rt.ms.Band.regular(1.3e9, 24e6, 12)
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=40, integration_s=10, bands=band)
    observe(path, SKY, CENTRE, lambda *_: np.broadcast_to(np.eye(2), (4, 12, 2, 2)))
    assert not still_open(path)
    options = CalibrationOptions(overwrite=True, reference="ANT-0", **given)
    calibration.calibrate(path, SKY, parse_terms(terms), tmp_path / "sol.h5", options)
    assert not still_open(path)
