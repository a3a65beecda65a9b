"""Chains of terms with one command: in turn, on several fields, on top of others; and what is reported."""

import json
import re

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration


def test_chain_with_transfer_and_reports(command, tmp_path):
    """Two fields, terms in turn, the flux of the second from the first, both corrected; three reports."""
    path = tmp_path / "two.ms"
    command(
        *("make-ms", path, "--telescope", "kat-7", "--integration", "20s", "--freq", "1.4GHz", "--bandwidth", "16MHz"),
        *(
            "--channels",
            4,
            "--scan",
            "FLUX",
            "3h0m0s",
            "-30d0m",
            "2min",
            "--scan",
            "PHASE",
            "3h20m0s",
            "-31d0m",
            "1min",
        ),
    )
    files = []
    for k, (name, place, flux) in enumerate([("FLUX", "03:00:00, -30.00.00", 10), ("PHASE", "03:20:00, -31.00.00", 2)]):
        for kind, own in (("true", flux), ("guess", flux if k == 0 else 1)):
            file = tmp_path / f"{kind}{k}.skymodel"
            file.write_text(f"# (Name, Type, Ra, Dec, I) = format\n{name}, POINT, {place}, {own}\n")
        command("simulate", path, "--sky", tmp_path / f"true{k}.skymodel", "--column", "DATA", "--field", k)
        files += ["--sky", f"{name}={tmp_path / f'guess{k}.skymodel'}"]
    chain = ["--in-turn", "--term", "K: delay, on FLUX", "--term", "B: diag, 1chan, on FLUX", "--term", "G: diag, 1min"]
    out = tmp_path / "sol.h5"
    page, said = tmp_path / "r.html", tmp_path / "r.json"
    transfer = ["--flux-from", "FLUX", "--apply", "--apply-to", "all", "--from-field", "PHASE"]
    reports = ["--report", "-", "--report", page, "--report", said]
    done = command("calibrate", path, *files, *chain, *transfer, *reports, "--out", out)
    assert "[1/5] K: field 0" in done.stderr and "[5/5] G: field 1" in done.stderr
    assert "(found with K: no amplitude there to hold it)" in done.stdout
    assert re.search(r"1 +PHASE +0 +2 ", done.stdout) and "residual/data before" in done.stdout
    assert page.stat().st_size > 10000 and {w["field"] for w in json.loads(said.read_text())["windows"]} == {0, 1}
    for k, flux in enumerate((10, 2)):
        (tile,) = rt.ms.tiles(path, ["CORRECTED_DATA"], field_id=k)
        np.testing.assert_allclose(np.abs(tile["columns"]["CORRECTED_DATA"][..., 0]), flux, rtol=1e-4)
    # What no solution can carry is found out before anything is solved.
    terms = ["--in-turn", "--term", "K: delay", "--term", "G: diag, on FLUX", "--term", "D: leakage"]
    done = command("calibrate", path, *files, *terms, *transfer[:2], "--out", tmp_path / "no.h5", code=1)
    assert "no term of the whole sky has amplitudes both there" in done.stderr and "[1/" not in done.stderr
    assert "the flux scale of field 0 (FLUX) cannot" in done.stderr
    given = ("--flux-from", "PHASE", "--field", "FLUX", "--out", tmp_path / "no.h5")
    done = command("calibrate", path, *files, "--term", "G: diag", *given, code=1)
    assert "--flux-from 1 (PHASE): " in done.stderr and "solved on are the fields 0 (FLUX)" in done.stderr
    held = tmp_path / "again.h5"
    command("calibrate", path, *files, "--hold", out, "--term", "P: phase", "--out", held, "--field", "PHASE")
    (found,) = calibration.read_h5parm(held)
    assert np.abs(found["P"].value["phase"]).max() < 1e-6
    command("apply", path, "--solutions", out, "--solutions", held, "--field", 1, "--output-column", "BOTH")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--apply-to", "0"], 2, "--apply-to goes with --apply or --subtract"),
        (["--flux-from", "0"], 1, "from one field that is solved on to others"),
        (["--field", "NONE"], 1, "there is no field 'NONE'"),
        (["--field", "5~3"], 2, "the smaller number comes first"),
        (["--ddid", "x"], 2, "'x' is no number"),
        (["--report", "a.pdf"], 2, "must end in .html, .json, .txt"),
        (["--term", "P: phase, on J0332-2748"], 1, "only terms that are solved for in turn"),
        (["--hold", "none.h5"], 1, "none.h5"),
    ],
)
def test_errors_of_chains(command, kat7, sky_file, tmp_path, arguments, code, says):
    out = tmp_path / "sol.h5"
    result = command("calibrate", kat7, "--sky", sky_file, "--term", "G: diag", "--out", out, *arguments, code=code)
    assert says in result.stderr and not out.exists()


def test_fields_without_solutions_are_refused(command, tmp_path, sky_file):
    """They had been passed over: all solutions were taken."""
    scans = "--scan A 53.125 -27.8 20s --scan B 53.125 -27.9 20s --scan C 53.125 -28 20s --integration 10s --channels 2"
    command("make-ms", tmp_path / "a.ms", "--telescope", "kat-7", *scans.split())
    command("simulate", tmp_path / "a.ms", "--sky", sky_file, "--column", "DATA")
    solve = ("calibrate", tmp_path / "a.ms", "--sky", sky_file, "--term", "G: diag", "--out", tmp_path / "s.h5")
    says = "--from-field 2 (C): no term has solutions there; there are some of the fields 0 (A), 1 (B)"
    early = command(*solve, "--field", "A,B", "--apply", "--apply-to", "C", "--from-field", "C", code=1)
    assert says in early.stderr and not (tmp_path / "s.h5").exists()
    command(*solve, "--field", "A,B")
    use = ("apply", tmp_path / "a.ms", "--solutions", tmp_path / "s.h5", "--field", "C", "--from-field")
    assert says in command(*use, "C", code=1).stderr
    command(*use, "B,C")
    command(*use, "all")
