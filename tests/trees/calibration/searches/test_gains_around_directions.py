"""Signs of gains around rotations of directions, where terms outside have none."""

from types import SimpleNamespace

import numpy as np

from rimetree.calibration import parse_terms
from rimetree.calibration.searches.gains_around_directions import GainsAroundDirections
from rimetree.calibration.searches.gains_around_rotations import GainsOutside
from rimetree.calibration.searches.rotated_directions import Turned


def test_antennas_are_turned_by_half_a_turn_until_none_helps(monkeypatch):
    """The first pass over them left the last two apart."""
    agree = np.array([[0.0, 1.0, 1.0, 1.0], [1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0, 3.0], [1.0, 1.0, 3.0, 0.0]])

    def of(_intervals, _terms, angle):
        sign = np.cos(angle[0, 0, 0])
        return GainsOutside({}, np.ones(1), 1.0, np.array([sign @ agree @ sign + 100.0]))

    monkeypatch.setattr(GainsOutside, "of", of)
    (delay, rotation) = parse_terms(["K: delay", "R: rotation, per patch"])
    search = SimpleNamespace(seen=lambda angle: angle)
    around = GainsAroundDirections(None, rotation, [delay], None, ["a", "b"], ())
    turned, found = around._outside(search, Turned(np.array([0, 0, 0, np.pi]) * np.ones((2, 1, 1, 1)), None, 0.0))
    assert found.explained.sum() == agree.sum() + 100
    assert np.ptp(np.cos(turned.angle)) < 1e-12
