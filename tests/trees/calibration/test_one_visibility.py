"""A set of one baseline, one time and one channel: whatever is solved for ends with solutions, or says why not."""

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, parse_terms

CENTRE = (0.93, -0.485)
SKY = rt.sky.SkyModel(
    [
        rt.sky.Source("a", *CENTRE, (5.0, 0.2, 0.1, 0.0), patch="a"),
        rt.sky.Source("b", 0.934, -0.48, (2.0, 0.0, -0.1, 0.0), patch="b"),
    ]
)


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    layout = folder / "two.csv"
    layout.write_text(
        "name,x,y,z,diameter\nA0,5109270.0,2006780.0,-3239050.0,12\nA1,5109200.0,2007300.0,-3238900.0,12\n"
    )
    how = {"phase_centre_rad": CENTRE, "duration_s": 10.0, "integration_s": 10.0}
    rt.ms.create(folder / "one.ms", layout, bands=rt.ms.Band.regular(1.4e9, 1e6, 1), **how)
    (group,) = rt.ms.groups(folder / "one.ms")
    ns = rt.NodeScope()
    rt.psv_tree(ns, SKY, group.phase_centre_rad, group.baselines, column="DATA")
    rt.Forest(ns).run(group.path)
    return folder / "one.ms"


@pytest.mark.filterwarnings("ignore:term .* its intervals have one channel each")
@pytest.mark.parametrize(
    "terms",
    [
        ["P: phase"],
        ["K: delay"],
        ["K: delay, per patch"],
        ["T: tec, per patch"],
        ["K: delay, scalar, per patch", "T: tec, per patch"],
        ["P: phase", "T: tec, per patch"],
        ["F: faraday", "P: phase, scalar"],
    ],
    ids="+".join,
)
def test_phases_of_one_visibility(one, tmp_path, terms):
    """Delays and TEC per patch had ended in an IndexError: there are no whole turns to choose."""
    report = calibration.calibrate(one, SKY, parse_terms(terms), tmp_path / "s.h5", CalibrationOptions())
    assert report.usable and not report.flagged and report.converged == 1
    for term in report.solutions[0].terms:
        assert all(np.isfinite(value).all() for value in term.value.values())


@pytest.mark.parametrize("n_channel", [1, 8])
@pytest.mark.filterwarnings("error", "ignore:term .* its intervals have one channel each")
def test_delays_per_patch_of_one_feed(tmp_path, n_channel):
    """Numbers of the feed without data were divided by, and NumPy's warnings told the user so."""
    bands = rt.ms.Band.regular(1.4e9, 1e6, n_channel)
    how = {"phase_centre_rad": CENTRE, "duration_s": 60.0, "integration_s": 10.0, "correlations": "XX"}
    rt.ms.create(tmp_path / "a.ms", "kat-7", bands=bands, **how)
    (group,) = rt.ms.groups(tmp_path / "a.ms")
    ns = rt.NodeScope()
    rt.psv_tree(ns, SKY, group.phase_centre_rad, group.baselines, column="DATA")
    rt.Forest(ns).run(group.path)
    terms = parse_terms(["K: delay, per patch"])
    report = calibration.calibrate(tmp_path / "a.ms", SKY, terms, tmp_path / "s.h5", CalibrationOptions())
    assert report.usable and report.converged == 1


@pytest.mark.parametrize("term", ["G: diag", "S: scalar", "F: full", "A: amplitude, per patch", "D: leakage"])
def test_gains_of_one_visibility_are_undetermined(one, tmp_path, term):
    report = calibration.calibrate(one, SKY, parse_terms([term]), tmp_path / "s.h5", CalibrationOptions())
    assert not report.usable and set(report.flagged) == {"undetermined"}


def test_a_sky_without_sources_is_an_error(one, tmp_path):
    for sky in (rt.sky.SkyModel([]), {0: rt.sky.SkyModel([])}):
        with pytest.raises(calibration.CalibrationError, match="the sky model has no sources"):
            calibration.calibrate(one, sky, parse_terms(["G: diag"]), tmp_path / "out.h5")
