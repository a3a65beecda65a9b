"""A set that is removed and made anew while something of the process still has the old one open."""

import shutil

import numpy as np
import pytest

import rimetree as rt


def write(path, value, column="DATA"):
    """Every visibility of a column of a set."""
    for group in rt.ms.groups(path):
        ns = rt.NodeScope()
        ns.V << rt.Constant(np.full((2, 2), value))
        for p, q in group.baselines:
            ns.s(p, q) << rt.Sink(ns.V, station_1_index=p, station_2_index=q, output_column=column)
        rt.Forest(ns).run(path, **group.selection)


def data(path, column="DATA"):
    (tile,) = rt.ms.tiles(path, [column])
    return set(tile["columns"][column].ravel().tolist())


@pytest.mark.parametrize("holds", ["read", "written since"])
def test_what_is_read_is_the_new_set(small_ms, holds):
    """The old one had been read, without a word, and where this process had written to it, closing it damaged the new
    one."""
    path = small_ms()
    write(path, 1.0)
    held = rt.ms.OpenSet(path)
    assert data(held) == {1.0}
    if holds == "written since":
        write(path, 3.0, "MORE_DATA")
    shutil.rmtree(path)
    assert small_ms(n_time=4) == path
    write(path, 2.0)
    assert data(path) == {2.0}
    assert rt.ms.inspect(path)["n_row"] == 24
    del held
    assert data(path) == {2.0}
    write(path, 4.0, "MORE_DATA")
    assert data(path, "MORE_DATA") == {4.0} and data(path) == {2.0}


def test_what_was_held_is_still_the_old_set(small_ms):
    path = small_ms()
    write(path, 1.0)
    held = rt.ms.OpenSet(path)
    assert data(held) == {1.0}
    shutil.rmtree(path)
    small_ms(n_time=4)
    write(path, 2.0)
    assert data(held) == {1.0} and data(path) == {2.0}
