"""Values of nodes beside the data of a Measurement Set, tile by tile."""

import numpy as np
import pytest

import rimetree as rt
from rimetree.tile_values import columns_read, tile_values

CENTRE = (0.93, -0.485)


@pytest.fixture
def path(tmp_path):
    path = str(tmp_path / "a.ms")
    band = rt.ms.Band.regular(1.3e9, 4e6, 4)
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=50, integration_s=10, bands=band)
    return path


def test_they_are_those_of_the_tile(path):
    """Slots in tiles of two, the last one of one; constants stand on all cells, real numbers as complex ones."""
    (group,) = rt.ms.groups(path)
    ns = rt.NodeScope()
    for p, q in group.baselines:
        ns.uvw(p, q) << rt.Spigot(station_1_index=p, station_2_index=q, input_column="UVW")
        ns.length(p, q) << rt.Multiply(1.0, rt.Selector(ns.uvw(p, q), index=2))
    ns.one << rt.Constant(1.0)
    forest = rt.Forest(ns)
    assert columns_read(forest) == []
    tiles = rt.ms.Tiles(path, columns_read(forest), rt.ms.run_options(time_slots=2))
    nodes = [ns.length(p, q) for p, q in group.baselines] + [ns.one]
    for index, n_slot in enumerate((2, 2, 1)):
        values, there = tile_values(forest, tiles, index, nodes)
        assert values.shape == (22, n_slot, 4) and there.all()
        w = tiles[index]["uvw_m"][..., 2]
        np.testing.assert_array_equal(values[:-1], np.repeat(w[..., None], 4, axis=-1))
        assert (values[-1] == 1).all()


def test_a_baseline_without_rows_has_none(path):
    ns = rt.NodeScope()
    ns.here << rt.Spigot(station_1_index=0, station_2_index=1)
    ns.nowhere << rt.Spigot(station_1_index=0, station_2_index=99)
    forest = rt.Forest(ns)
    assert columns_read(forest) == ["DATA"]
    tiles = rt.ms.Tiles(path, ["DATA"], rt.ms.run_options())
    values, there = tile_values(forest, tiles, 0, [ns.here, ns.nowhere])
    assert values.shape == (2, 2, 2, 5, 4) and there.tolist() == [True, False]
    assert (values[0] == 0).all()


def test_what_cannot_be(path):
    ns = rt.NodeScope()
    ns.data << rt.Spigot(station_1_index=0, station_2_index=1)
    ns.one << rt.Constant(1.0)
    forest = rt.Forest(ns)
    tiles = rt.ms.Tiles(path, [], rt.ms.run_options())
    with pytest.raises(rt.Error, match='"DATA" was not read'):
        tile_values(forest, tiles, 0, [ns.data])
    tiles = rt.ms.Tiles(path, ["DATA"], rt.ms.run_options())
    with pytest.raises(rt.Error, match="different tensor dimensions"):
        tile_values(forest, tiles, 0, [ns.data, ns.one])
    with pytest.raises(rt.Error, match="there is no tile 1; there are 1"):
        tile_values(forest, tiles, 1, [ns.data])
    with pytest.raises(rt.Error, match="tiles must be"):
        tile_values(forest, path, 0, [ns.data])
    values, there = tile_values(forest, tiles, 0, [])
    assert values.shape[0] == 0 and there.shape == (0,)
