"""Python's collector of garbage rests while large trees are made, and is as it was afterwards."""

import gc

import pytest

import rimetree as rt
from rimetree.writing.collector import paused_collector


@pytest.fixture
def collections():
    """Generations that were collected so far."""
    seen = []

    def note(phase, info):
        if phase == "start":
            seen.append(info["generation"])

    gc.callbacks.append(note)
    yield seen
    gc.callbacks.remove(note)


@pytest.mark.parametrize("enabled", [True, False])
def test_it_is_as_it_was(enabled):
    try:
        gc.enable() if enabled else gc.disable()
        with paused_collector():
            assert not gc.isenabled()
        assert gc.isenabled() == enabled
        with pytest.raises(ZeroDivisionError), paused_collector():
            _ = 1 / 0
        assert gc.isenabled() == enabled
    finally:
        gc.enable()


def test_none_while_a_family_is_written(collections):
    ns = rt.NodeScope()
    i = rt.each(range(20000))
    gc.collect()
    collections.clear()
    ns.x(i) << rt.Constant(2.0)
    ns.y(i) << ns.x(i) * ns.x(i)
    assert len(collections) <= 4, "one may come after each definition"
