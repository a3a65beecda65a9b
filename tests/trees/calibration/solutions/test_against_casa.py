"""Data that CASA has corrected with tables of each kind, against the same of `apply`.

RIMETREE_CASA_PYTHON names a Python that has casatasks and its data; without it these tests are skipped.
"""

import os
import subprocess

import numpy as np
import pytest
from casa_kinds import KINDS, make, rows_of

import rimetree as rt
from rimetree import calibration

APPLYCAL = """
import sys
from casatasks import applycal
ms, *tables = sys.argv[1:]
how = dict(interp=["nearest"] * len(tables), applymode="calonly", calwt=False, flagbackup=False)
applycal(ms, gaintable=tables, **how)
"""

pytestmark = pytest.mark.skipif("RIMETREE_CASA_PYTHON" not in os.environ, reason="RIMETREE_CASA_PYTHON is not set")

#: Largest difference, of the largest value: of what CASA takes out to first order (D), and by the middle frequency
#: (rates of fringes), as much as that leaves; else of single precision.
EXACT = 1e-6
ALLOWED = {"D": 2e-2, "Df": 2e-2, "Fringe": 5e-3}


@pytest.fixture
def observed(tmp_path):
    """A set with data of any size in all correlations; four antennas, three times of 10 s, eight channels."""
    path, rng = tmp_path / "obs.ms", np.random.default_rng(5)
    band = rt.ms.Band.regular(1.4035e9, 8e6, 8)
    layout = tmp_path / "four.csv"
    kat7 = rt.telescopes.get("kat-7")
    lines = [f"A{k},{','.join(map(str, kat7.ecef_m[k]))},12" for k in range(4)]
    layout.write_text("# feed: linear\nname,x,y,z,diameter\n" + "\n".join(lines) + "\n")
    start = {"phase_centre_rad": (0.9, -0.5), "start_mjd_s": 5e9 - 5, "duration_s": 30, "integration_s": 10}
    rt.ms.create(path, str(layout), bands=band, **start)
    ns = rt.NodeScope()
    (group,) = rt.ms.groups(path)
    for p, q in group.baselines:
        value = rng.normal(size=(2, 2, 3, 8)) + 1j * rng.normal(size=(2, 2, 3, 8))
        ns.sink(p, q) << rt.Sink(
            rt.Constant(value, cells_rank=2), station_1_index=p, station_2_index=q, output_column="DATA"
        )
    rt.Forest(ns).run(path, time_slots=3)
    return path


def corrected(path, column):
    (tile,) = rt.ms.tiles(path, [column], time_slots=100)
    return tile["columns"][column]


def by_casa(path, tables):
    subprocess.run(
        [os.environ["RIMETREE_CASA_PYTHON"], "-c", APPLYCAL, str(path), *map(str, tables)],
        check=True, capture_output=True, timeout=300, cwd=path.parent,
    )  # fmt: skip
    return corrected(path, "CORRECTED_DATA")


@pytest.mark.parametrize(("kind", "version"), [*((kind, "6.7.0-31") for kind in KINDS), ("K", ""), ("Fringe", "")])
def test_applycal(observed, tmp_path, kind, version):
    (group,) = rt.ms.groups(observed, by_window=True)
    table = make(tmp_path / f"obs.{kind}", observed, kind, [rows_of(kind, group.some_times_s)], version=version)
    if kind in ("D", "Df"):
        rows = rows_of(kind, group.some_times_s)
        rows["values"] *= np.float32(1e-2)
        table = make(tmp_path / f"small.{kind}", observed, kind, [rows])
    expected = by_casa(observed, [table])
    calibration.correct(group, calibration.chain_for([calibration.read_casa_table(table)], group), column="OURS")
    found = corrected(observed, "OURS")
    assert abs(expected - corrected(observed, "DATA")).max() > 1e-3
    np.testing.assert_allclose(found, expected, atol=ALLOWED.get(kind, EXACT) * abs(expected).max())


def test_written_tables(observed, tmp_path, made_term):
    """Of a delay and a gain, and of a full matrix, as far as CASA's first order goes."""
    (group,) = rt.ms.groups(observed, by_window=True)
    first = group.some_times_s[0] - 5 + 30
    terms = [made_term("delay", ("0", "1"), ("clock",), name="K"), made_term(name="G", seed=8)]
    terms = [rt.calibration.TermSolutions(**{**vars(term), "time_s": first + 60.0 * np.arange(4)}) for term in terms]
    for term in terms:
        term.flag[:] = False
    solutions = calibration.Solutions(tuple(terms))
    expected = by_casa(observed, calibration.write_casa_tables(tmp_path / "out", [[solutions]], observed))
    calibration.correct(group, calibration.chain_for([[solutions]], group), column="OURS")
    np.testing.assert_allclose(corrected(observed, "OURS"), expected, atol=EXACT * abs(expected).max())
