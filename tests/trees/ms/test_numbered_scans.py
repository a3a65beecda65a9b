"""Scans of sets that were put together: their numbers return."""

import rimetree as rt
from rimetree import ms
from rimetree.calibration import CalibrationOptions, parse_terms, plan_groups


def test_scans_of_other_observations_are_others(small_ms, monkeypatch):
    """Two of the number 1, of different days, had been one interval."""
    path = small_ms(n_time=6)
    slots = rt.ms.slot_scans(path)
    assert {scan for _, scan in slots} == {1}
    assert [number for _, number in ms.numbered_scans(path)] == [0] * 6

    def plan():
        (found,) = plan_groups(path, parse_terms(["G: diag, 1scan"]), CalibrationOptions())
        return sum(len(chunk.times["G"].centre) for chunk in found.chunks)

    assert plan() == 1
    keys = ms.Tiles.keys

    def of_three_observations(tiles):
        return [{**key, "observation": (key["first_time_s"] - slots[0][0]) // 20} for key in keys(tiles)]

    monkeypatch.setattr(ms.Tiles, "keys", of_three_observations)
    assert [number for _, number in ms.numbered_scans(path)] == [0, 0, 1, 1, 2, 2]
    assert {scan for _, scan in ms.slot_scans(path)} == {1}
    assert plan() == 3
