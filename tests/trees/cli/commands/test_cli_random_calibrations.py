"""Random command lines of `calibrate`: each ends with solutions that are finite or flagged, and right where the terms
can be, or with a message that names what is wrong. RIMETREE_RANDOM_CALIBRATIONS says how many, always the same ones."""

import os
import random
import re
import shutil

import h5py
import numpy as np
import pytest
from planted_columns import predicted_by_psv, write_column

import rimetree as rt

CASES = int(os.environ.get("RIMETREE_RANDOM_CALIBRATIONS", "24"))
CENTRE = (0.93, -0.485)
KINDS = [
    "scalar",
    "diag",
    "diag",
    "full",
    "phase",
    "amplitude",
    "delay",
    "tec",
    "rotation",
    "faraday",
    "crosshand",
    "leakage",
    "parallactic",
]
TERM_OPTIONS = [
    "1slot",
    "3slots",
    "1min",
    "1scan",
    "1chan",
    "2chan",
    "1.5MHz",
    "per patch",
    "per source",
    "per patch n*",
]
TERM_OPTIONS += ["scalar", "all windows", "common *", "smooth 4MHz", "on 0"]
ROWS = ["--channels 1~3", "--antenna !ANT-2", "--antenna ANT-0,ANT-1", "--uvmin 30m", "--uvmax 1klambda"]
ROWS += ["--time 0s~40s", "--scan 1", "--scan 7", "--field all", "--ddid 0", "--patch north", "--patch !north"]
OPTIONS = [
    "--robust 3",
    "--scale-errors",
    "--successive",
    "--flag-data 6",
    "--flag-solutions 6",
    "--noise-per baseline",
]
OPTIONS += ["--noise-per channel", "--min-fraction 0.5", "--iterations 2", "--in-turn", "--average-time 2"]
OPTIONS += ["--average-channels 2", "--average-loss 0.01", "--average-radius 1deg", "--apply", "--subtract --report -"]
OPTIONS += ["--apply --direction north", "--apply --weights", "--reference ANT-3", "--memory 200MiB", "--flux-from 0"]
OPTIONS += ["--precision single", "--no-smearing", "--time-slots 3", "--dry-run", "--interpolation linear"]


def sky_of(middle, north):
    return rt.sky.SkyModel(
        [
            rt.sky.Source("a", *CENTRE, middle, patch="middle"),
            rt.sky.Source("b", CENTRE[0] + 0.01, CENTRE[1] + 0.01, north, patch="north"),
        ]
    )


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """Sets of four hands of linear and of circular feeds, and of two, with diagonal gains and noise of 1 Jy."""
    folder = tmp_path_factory.mktemp("random")
    sky = sky_of((60.0, 6.0, -9.0, 3.0), (25.0, 0, 5.0, 0))
    as_linear = sky_of((60.0, 3.0, 6.0, -9.0), (25.0, 0, 0, 5.0))  # brightness as circular feeds see that of the other
    rt.sky.write(sky, folder / "s.skymodel")
    rng = np.random.default_rng(1)
    for correlations in ("XX XY YX YY", "RR RL LR LL", "XX YY"):
        path = folder / f"{correlations.replace(' ', '')}.ms"
        band = rt.ms.Band.regular(1.3e9, 4e6, 4)
        options = {"duration_s": 60.0, "integration_s": 10.0, "bands": band, "correlations": correlations}
        rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, **options)
        (tile,) = rt.ms.tiles(path, [], time_slots=100)
        gain = rng.uniform(0.8, 1.2, (7, 2)) * np.exp(1j * rng.uniform(-1, 1, (7, 2)))
        data = predicted_by_psv(tile, as_linear if "RR" in correlations else sky, CENTRE)
        first, second = np.transpose(tile["baselines"])
        data = data * gain[first][:, None, None, :, None] * gain[second].conj()[:, None, None, None, :]
        noise = rng.normal(size=(2, *data.shape))
        flag = rng.random(data.shape[:3]) < 0.03
        write_column(path, tile, data + noise[0] + 1j * noise[1], "DATA", flag, {})
    return folder


def line(rng):
    """(set, terms, options) of one command line."""
    terms = []
    for name in "BGD"[: rng.choice([1, 1, 2, 2, 3])]:
        terms.append(
            ", ".join([f"{name}: {rng.choice(KINDS)}", *rng.sample(TERM_OPTIONS, rng.choice([0, 0, 1, 1, 2]))])
        )
    options = [*rng.sample(ROWS, rng.choice([0, 0, 1])), *rng.sample(OPTIONS, rng.choice([0, 1, 1, 2]))]
    return rng.choice(["XXXYYXYY.ms", "RRRLLRLL.ms", "XXYY.ms"]), terms, " ".join(options).split()


def is_enough(terms, options):
    """Whether the terms can do what the antennas do, and the options let them."""
    told = [term for term in terms if re.match(r".: (diag|full)", term) and "per " not in term and "common" not in term]
    against = {"--patch", "--iterations", "--dry-run", "--in-turn", "--no-smearing"}.intersection(options)
    return bool(told) and not against


def check_solutions(file):
    for tables in file.values():
        for table in tables.values():
            if not isinstance(table, h5py.Group) or "val" not in table:
                continue
            good = table["weight"][()] > 0
            assert np.isfinite(table["val"][()][good]).all(), table.name
            assert "sigma" not in table or np.isfinite(table["sigma"][()][good]).all(), table.name


@pytest.mark.parametrize("case", range(CASES))
def test_it_ends_with_solutions_or_with_a_reason(command, sets, tmp_path, case):
    name, terms, options = line(random.Random(case))
    path, out = tmp_path / name, tmp_path / "s.h5"
    shutil.copytree(sets / name, path)
    arguments = [*(word for term in terms for word in ("--term", term)), "--out", out, *options]
    done = command("calibrate", path, "--sky", sets / "s.skymodel", *arguments, code=None)
    assert done.exit_code in (0, 1, 2, 3) and (done.exception is None or isinstance(done.exception, SystemExit))
    if done.exit_code:
        assert re.search(r"^(error|Error): .{20}", done.stderr, re.MULTILINE), done.output
        return
    assert not re.search(r"\bnan\b", done.stdout, re.IGNORECASE)
    if "--dry-run" in options:
        return
    with h5py.File(out) as file:
        check_solutions(file)
    if is_enough(terms, options) and "1 exhausted" not in done.stdout:
        left = re.search(r"residual over data: ([\d.e+-]+) %", done.stdout)
        assert left is None or float(left[1]) < 1.0, done.stdout
