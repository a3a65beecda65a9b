"""Data that are infinite or not a number, or that are as large as numbers go, among good ones and not flagged."""

import numpy as np
import pytest
from planted_columns import write_column

import rimetree as rt
from rimetree.calibration import read_h5parm

CENTRE = (0.9003, -0.5002)
SKY = rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (5.0, 0.1, 0.0, 0.0))])


@pytest.fixture
def gains(command, tmp_path):
    """A function: gains(values, options) -> how far from 1 amplitudes are at most that `calibrate` finds for data of
    which one in fifty is one of these values. True are 1, with noise that makes errors of about 0.004."""

    def found(values, options) -> float:
        path, sky, out = tmp_path / "a.ms", tmp_path / "a.skymodel", tmp_path / "g.h5"
        band = rt.ms.Band.regular(1.4e9, 8e6, 8)
        rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=300.0, integration_s=30.0, bands=band)
        rt.sky.write(SKY, sky)
        command("simulate", path, "--sky", sky, "--noise", "0.5", "--column", "DATA")
        (tile,) = rt.ms.tiles(path, ["DATA"], time_slots=100)
        data = tile["columns"]["DATA"].reshape(*tile["flag"].shape[:3], 2, 2).copy()
        rng = np.random.default_rng(1)
        odd = rng.random(data.shape) < 0.02
        data[odd] = rng.choice(values, odd.sum())
        write_column(path, tile, data)
        command("calibrate", path, "--sky", sky, "--term", "G: diag", "--out", out, *options)
        (solutions,) = read_h5parm(out)
        assert not any(term.flag.any() for term in solutions.terms)
        term = solutions.terms[0]
        return abs(term.value["amplitude"] - 1).max()

    return found


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--robust", "2"],
        ["--noise-per", "baseline"],
        ["--flag-data", "5"],
        ["--average-time", "2"],
        ["--average-channels", "2"],
        ["--report", "-"],
        ["--apply"],
        ["--subtract"],
        ["--term", "K: delay"],
        ["--scale-errors"],
    ],
    ids=" ".join,
)
def test_infinite_data_are_left_out(gains, options):
    """Comparing what was left of neighbours ended in "warning: invalid value encountered in multiply"."""
    assert gains([np.inf, complex(1, -np.inf), np.nan, complex(0, np.nan)], options) < 0.02


@pytest.mark.parametrize("options", [["--robust", "2"], ["--flag-data", "5"]], ids=" ".join)
def test_data_of_any_size_stand_out(gains, options):
    assert gains([100.0, -1e4, 1e8j, 1e15], options) < 0.02
