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
        return [{**key, "scans": [((key["first_time_s"] - slots[0][0]) // 20, 1, 6)]} for key in keys(tiles)]

    monkeypatch.setattr(ms.Tiles, "keys", of_three_observations)
    assert [number for _, number in ms.numbered_scans(path)] == [0, 0, 1, 1, 2, 2]
    assert {scan for _, scan in ms.slot_scans(path)} == {1}
    assert plan() == 3


def test_scans_of_sub_arrays_at_one_time(small_ms, monkeypatch):
    """Only those of the rows that come first had been there: intervals went on where another sub-array began a scan."""
    path = small_ms(n_time=6)
    slots = rt.ms.slot_scans(path)
    keys = ms.Tiles.keys

    def of_two_sub_arrays(tiles):
        half = [int(key["first_time_s"] - slots[0][0] >= 30) for key in keys(tiles)]
        return [{**key, "scans": [(0, 1, 4), (1, 7 + k, 2)]} for key, k in zip(keys(tiles), half, strict=True)]

    monkeypatch.setattr(ms.Tiles, "keys", of_two_sub_arrays)
    assert [number for _, number in ms.numbered_scans(path)] == [0, 0, 0, 1, 1, 1]
    assert {scan for _, scan in ms.slot_scans(path)} == {1, 7, 8}
    listed = [(one["observation"], one["scan"], one["n_slot"], one["n_row"]) for one in ms.scans(path)]
    assert sorted(listed) == [(0, 1, 6, 24), (1, 7, 3, 6), (1, 8, 3, 6)]


def test_scans_are_listed(tmp_path):
    path, centre = tmp_path / "a.ms", (0.9, -0.5)
    scans = [ms.Scan(centre, 30.0, "CAL"), ms.Scan((0.95, -0.5), 20.0, "TARGET"), ms.Scan(centre, 10.0, "CAL")]
    bands = [ms.Band.regular(1e9, 4e6, 4), ms.Band.regular(2e9, 1e6, 1)]
    made = ms.create(path, "kat-7", scans=scans, integration_s=10.0, bands=bands)
    found = ms.scans(path)
    assert [(one["scan"], one["field_id"], one["n_slot"]) for one in found] == [(1, 0, 3), (2, 1, 2), (3, 0, 1)]
    assert [one["n_row"] for one in found] == [2 * 21 * slots for slots in (3, 2, 1)]
    assert all(one["data_desc_ids"] == [0, 1] and one["observation"] == 0 for one in found)
    assert found[0]["first_time_s"] == made.first_time_s and found[1]["last_time_s"] - found[1]["first_time_s"] == 10.0
    assert [one["scan"] for one in ms.scans(path, field_id=1)] == [2]
