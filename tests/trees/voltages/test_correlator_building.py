"""What can only go wrong with voltages is said when the tree is built, with the line of the script."""

import numpy as np
import pytest

import rimetree as rt


def refused(match, correlate=None, channelise=None, **voltages):
    """The message of a forest that must not be built; no file is looked at for it."""
    ns = rt.NodeScope()
    ns.voltages << rt.Voltages(**{"source": "/nowhere", "format": "chime", "n_input": 6} | voltages)
    source = ns.voltages
    if channelise is not None:
        source = ns.channels << rt.Channelise(ns.voltages, **channelise)
    ns.products << rt.Correlate(source, **{"integration": 100} | (correlate or {}))
    with pytest.raises(rt.Error, match=match) as caught:
        rt.Forest(ns)
    assert __file__.rpartition("/")[2] in str(caught.value)


def test_exactness_is_checked():
    """C4 and the bounds of all sums: what would not be exact is not built."""
    refused(
        '"packed" takes samples of at most 4 bits, not those of format "int8"', {"strategy": "packed"}, format="int8"
    )
    refused('"packed" takes whole numbers', {"strategy": "packed"}, format="float32")
    most = 2**53 // (2 * 128**2)
    refused(f'"int8" are exact over at most {most} samples', {"integration": most + 1}, format="int8")
    ns = rt.NodeScope()
    ns.voltages << rt.Voltages(source="/nowhere", format="int8", n_input=6)
    ns.products << rt.Correlate(ns.voltages, integration=most)
    rt.Forest(ns)


def test_what_does_not_divide_is_checked():
    """M9: groups of inputs; groups of words."""
    refused("groups of 4 inputs do not divide 6 inputs", {"strategy": "groups4"})
    groups = {"order": "groups", "format": "mwa32t"}
    refused("all receivers have as many inputs", source=["/a", "/b", "/c", "/d"], **groups)
    refused("groups are of one channel", n_channel=2, **groups)
    refused("of words of 16 bits", order="groups", format="chime")


def test_what_channelise_cannot_take_is_checked():
    refused("only one can be channelised", channelise={"n_channel": 4}, n_channel=2)
    refused("the samples are real: Channelise makes complex ones", format="real8")
    ns = rt.NodeScope()
    ns.voltages << rt.Voltages(source="/nowhere", format="chime", n_input=6)
    ns.channels << rt.Channelise(rt.Channelise(ns.voltages, n_channel=4), n_channel=2)
    ns.products << rt.Correlate(ns.channels, integration=2)
    with pytest.raises(rt.Error, match="the samples have 4 channels; only one can be channelised"):
        rt.Forest(ns)


def test_a_change_of_state_is_checked(tmp_path):
    np.zeros((8, 6), np.uint8).tofile(tmp_path / "v")
    ns = rt.NodeScope()
    ns.voltages << rt.Voltages(source=str(tmp_path / "v"), format="chime", n_input=6)
    ns.products << rt.Correlate(ns.voltages, integration=8)
    forest = rt.Forest(ns)
    with pytest.raises(rt.Error, match="groups of 4 inputs do not divide 6 inputs"):
        forest.set_state(ns.products, strategy="groups4")
    with pytest.raises(rt.Error, match='"packed" takes samples of at most 4 bits'):
        forest.set_state(ns.products, strategy="packed")
        forest.set_state(ns.voltages, format="int8")
