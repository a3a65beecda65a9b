"""Delays, TEC and rotation measures of which intervals have one channel are said to be phases and rotations."""

import warnings

import pytest

import rimetree as rt
from rimetree.calibration import CalibrationOptions, parse_terms, plan_groups
from rimetree.ms import Selection

CENTRE = (0.93, -0.485)


@pytest.fixture
def said(tmp_path):
    """said(term, bands, **options): the warnings of planning it on windows of these numbers of channels."""

    def plan(term, *n_channel, **options):
        bands = [rt.ms.Band.regular(1.4e9 + 1e8 * k, 1e6, n) for k, n in enumerate(n_channel)]
        how = {"phase_centre_rad": CENTRE, "duration_s": 60.0, "integration_s": 30.0, "overwrite": True}
        rt.ms.create(tmp_path / "a.ms", "kat-7", bands=bands, **how)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            plan_groups(tmp_path / "a.ms", parse_terms([term]), CalibrationOptions(**options))
        return [str(one.message) for one in caught]

    return plan


@pytest.mark.parametrize(
    ("term", "is_what"),
    [
        ("K: delay", "a delay is a phase"),
        ("K: delay, scalar, per patch", "a delay is a phase"),
        ("T: tec", "TEC is a phase"),
        ("F: faraday", "a Faraday rotation is a rotation"),
    ],
)
def test_one_channel(said, term, is_what):
    (text,) = said(term, 1)
    assert text.startswith(f'term "{term}": its intervals have one channel each, where {is_what}, but for whole turns')


def test_more_channels(said):
    for term in ("K: delay", "K: delay, 2chan", "K: delay, 3chan"):  # of 3, 3 and 1 channels
        assert said(term, 7) == []
    assert said("P: phase", 1) == said("K: delay, all windows", 1, 1) == []


def test_channels_that_are_left(said):
    for options in (
        {"selection": Selection(channels=[(2, 3)])},
        {"selection": Selection(average_channels=4)},
        {"selection": Selection(average_hz=4e6)},
    ):
        assert "its intervals have one channel each" in said("K: delay", 4, **options)[0]
    assert "its intervals have one channel each" in said("K: delay, 1chan", 4)[0]


def test_some_windows(said):
    (text,) = said("K: delay", 4, 1, 1)
    assert "have one channel each in field 0 window 1, field 0 window 2, where" in text
