"""Rows that a baseline has twice in a time slot (several receivers, sub-arrays) are more data of it."""

import itertools

import numpy as np
import pytest

import rimetree as rt
from rimetree.calibration import CalibrationOptions, calibrate, parse_terms

PAIRS = list(itertools.combinations(range(4), 2))
SKY = rt.sky.SkyModel(
    [rt.sky.Source("a", 0.9, -0.5, (3.0, 0.0, 0.0, 0.0)), rt.sky.Source("b", 0.901, -0.5, (1, 0, 0, 0))]
)


@pytest.fixture
def observed(small_ms):
    """A function: a set with these baselines, of gains that differ, and noise of 0.05 that no two rows share."""
    rng = np.random.default_rng(3)
    gain = rng.uniform(0.7, 1.3, 4) * np.exp(1j * rng.uniform(-3, 3, 4))

    def noise(cells):
        shape = (2, 2, len(cells.time_s), len(cells.freq_hz))
        return 0.05 * (rng.normal(size=shape) + 1j * rng.normal(size=shape))

    def make(name, pairs):
        path = small_ms(name, pairs=pairs, n_time=12)
        ns = rt.NodeScope()
        (group,) = rt.ms.groups(path)
        seen = rt.sky_nodes(ns, SKY, group.phase_centre_rad)
        for p, q in group.baselines:
            ns.uvw(p, q) << rt.Spigot(station_1_index=p, station_2_index=q, input_column="UVW", include_deriv=True)
            ns.model(p, q) << rt.PSV(seen.lmn, seen.brightness, ns.uvw(p, q), seen.shape)
            ns.noise(p, q) << rt.PyNode(evaluate=noise, dims=(2, 2), depends_on=["domain", "data"])
            ns.V(p, q) << ns.model(p, q) * complex(gain[p] * np.conj(gain[q])) + ns.noise(p, q)
            ns.sink(p, q) << rt.Sink(ns.V(p, q), station_1_index=p, station_2_index=q, output_column="DATA")
        rt.Forest(ns).run(path)
        return path

    return make


def solved(path, tmp_path, term="G: scalar", **options):
    report = calibrate(path, SKY, parse_terms([term]), tmp_path / "s.h5", CalibrationOptions(overwrite=True, **options))
    (chunk,), (solutions,) = report.chunks, report.solutions
    return chunk, solutions["G"], report


def test_all_rows_are_solved_on(observed, tmp_path):
    """Only the first of each was, and the power left was that part of the power of all."""
    once, one, _ = solved(observed("once.ms", PAIRS), tmp_path)
    twice, two, report = solved(observed("twice.ms", [pair for pair in PAIRS for _ in (0, 1)]), tmp_path)
    assert twice.equations == 2 * once.equations
    assert twice.chi_square[-1] == pytest.approx(2 * once.chi_square[-1], rel=0.1)
    assert report.left == pytest.approx(once.left, rel=0.1) and report.noise_ratio == pytest.approx(0.05, rel=0.05)
    for name in ("amplitude", "phase"):
        known = one.sigma[name] > 0
        np.testing.assert_allclose(two.sigma[name][known], one.sigma[name][known] / np.sqrt(2), rtol=0.01)


def test_some_rows_that_repeat(observed, tmp_path):
    """Of baselines of one antenna: its gain is known better."""
    _, one, _ = solved(observed("once.ms", PAIRS), tmp_path, reference="A0")
    _, two, _ = solved(observed("some.ms", PAIRS + [pair for pair in PAIRS if 3 in pair]), tmp_path, reference="A0")
    ratio = (two.sigma["amplitude"] / one.sigma["amplitude"]).ravel()
    assert ratio[3] < 0.8 and (ratio[1:3] > ratio[3]).all()


@pytest.mark.parametrize("options", [{"noise_per": "baseline"}, {"noise_per": "channel"}])
def test_noise_of_rows_that_repeat(observed, tmp_path, options):
    """The larger residual of two counted, which is a third more in the median."""
    path = observed("twice.ms", [pair for pair in PAIRS for _ in (0, 1)])
    _, _, report = solved(path, tmp_path, **options)
    assert report.noise_ratio == pytest.approx(1, rel=0.08)
