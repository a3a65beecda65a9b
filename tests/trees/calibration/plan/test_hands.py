"""Sets without all four correlations, and visibilities of which only some correlations are flagged."""

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, ModelColumns, parse_terms

CENTRE = (0.93, -0.485)
SKY = rt.sky.SkyModel(
    [rt.sky.Source("a", 0.93, -0.485, (60.0, 10.0, 0.0, 0.0)), rt.sky.Source("b", 0.935, -0.482, (25.0, 0.0, 0.0, 0.0))]
)


def gains(antenna):
    rng = np.random.default_rng(antenna)
    turned = rng.uniform(-1, 1, 2) * (antenna > 0)
    return rng.uniform(0.7, 1.3, 2) * np.exp(1j * turned)


@pytest.fixture
def observed(tmp_path, observe):
    """observed(correlations, flag): a set with gains in DATA and the model in MODEL_DATA."""

    def make(correlations, flag=None):
        path = str(tmp_path / "a.ms")
        band = rt.ms.Band.regular(1.3e9, 16e6, 4)
        rt.ms.create(
            path,
            "kat-7",
            phase_centre_rad=CENTRE,
            duration_s=60,
            integration_s=10,
            bands=band,
            correlations=correlations,
        )
        (group,) = rt.ms.groups(path)
        ns = rt.NodeScope()
        rt.psv_tree(ns, SKY, CENTRE, group.baselines, feed=group.feed, column="MODEL_DATA")
        rt.Forest(ns).run(path)

        def jones(antenna, patch, time_s, frequency_hz):
            return np.broadcast_to(np.diag(gains(antenna)), (len(time_s), len(frequency_hz), 2, 2))

        observe(path, SKY, CENTRE, jones, flag=flag)
        return path

    return make


def solve(path, model, tmp_path):
    options = CalibrationOptions(overwrite=True, reference="ANT-0")
    report = calibration.calibrate(path, model, parse_terms(["G: diag"]), tmp_path / "sol.h5", options)
    (chunk,) = report.chunks
    return chunk, report.solutions[0]["G"]


@pytest.mark.parametrize("correlations", ["XX XY YX YY", "XX YY", "YY XX", "XX", "YY"])
def test_a_column_is_as_good_as_a_sky(observed, tmp_path, correlations):
    """Diagonal gains of sets without crossed hands are found from model columns, too: all had been flagged."""
    path = observed(correlations)
    feeds = [f for f, name in enumerate(("XX", "YY")) if name in correlations]
    for model in (SKY, ModelColumns({"all": "MODEL_DATA"})):
        chunk, term = solve(path, model, tmp_path)
        assert chunk.equations == 21 * 6 * 4 * 2 * len(correlations.split())
        wanted = np.array([gains(antenna) for antenna in range(7)])
        found = term.value["amplitude"][0, 0, :, 0] * np.exp(1j * term.value["phase"][0, 0, :, 0])
        there = np.isin(term.elements, [str(f) for f in feeds])
        assert (term.flag[0, 0, :, 0] == ~there).all()
        np.testing.assert_allclose(found[:, there], wanted[:, feeds], atol=1e-5)


def test_a_flagged_correlation_takes_no_other_with_it(observed, tmp_path):
    """With a column as the model as well, whose flags are those of the data: a product of matrices had spread them."""
    flag = np.zeros((21, 6, 4, 2, 2), bool)
    flag[3, 1, :, 0, 0] = flag[:, 2, 1, 0, 1] = flag[5, :, :, 1, 1] = True
    path = observed("XX XY YX YY", flag)
    for model in (SKY, ModelColumns({"all": "MODEL_DATA"})):
        chunk, term = solve(path, model, tmp_path)
        assert chunk.equations == 2 * np.count_nonzero(~flag)
        assert not term.flag.any()


def test_a_feed_that_is_flagged_wholly_beside_directions(tmp_path, observe):
    """Its cells have no curvature: a search ended in "Singular matrix"."""
    path = tmp_path / "a.ms"
    bands, times = rt.ms.Band.regular(1.4e9, 8e6, 4), {"duration_s": 60, "integration_s": 20}
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, bands=bands, correlations="XX YY", **times)
    sky = rt.sky.SkyModel(
        [
            rt.sky.Source("a", 0.93, -0.485, (5.0, 0, 0, 0), patch="p"),
            rt.sky.Source("b", 0.932, -0.482, (2.0, 0, 0, 0), patch="q"),
        ]
    )
    flag = np.zeros((21, 3, 4, 2, 2), bool)
    flag[..., 1, 1] = True
    observe(path, sky, CENTRE, lambda *_: np.broadcast_to(np.eye(2), (3, 4, 2, 2)), noise_jy=0.05, flag=flag)
    terms = parse_terms(["G: diag", "A: amplitude, per patch"])
    options = CalibrationOptions(noise_per="baseline")
    report = calibration.calibrate(path, sky, terms, tmp_path / "s.h5", options)
    assert report.usable and set(report.flagged) == {"without data"}
    assert not report.solutions[0]["A"].flag[..., 0].any() and report.solutions[0]["A"].flag[..., 1, 1].all()


@pytest.mark.parametrize("correlations", ["XX YY", "YY", "XX"])
@pytest.mark.parametrize("term", ["K: delay", "P: phase", "G: diag"])
def test_a_polarised_sky_seen_without_crossed_hands(tmp_path, observe, correlations, term):
    """The phase between the feeds was not held, as crossed hands would have told it, and antennas were flagged as
    ambiguous by rounding errors."""
    path = tmp_path / "a.ms"
    rt.ms.create(
        path,
        "kat-7",
        phase_centre_rad=CENTRE,
        duration_s=40,
        integration_s=10,
        bands=rt.ms.Band.regular(1.8e9, 2e6, 1),
        correlations=correlations,
    )
    sky = rt.sky.SkyModel([rt.sky.Source("a", *CENTRE, (10.0, 0.5, -0.3, 0.1))])
    observe(path, sky, CENTRE, lambda *_: np.broadcast_to(np.eye(2), (4, 1, 2, 2)), noise_jy=0.1)
    options = CalibrationOptions(reference="ANT-0")
    report = calibration.calibrate(path, sky, parse_terms([term]), tmp_path / "s.h5", options)
    assert report.converged and not report.flagged
    (found,) = report.solutions
    seen = [1] if correlations == "YY" else [0] if correlations == "XX" else [0, 1]
    gain = found.jones("ANT-0", found.terms[0].time_s, found.terms[0].frequency_hz)[0][0, 0]
    np.testing.assert_allclose(np.angle(gain[seen, seen]), 0, atol=1e-12)
