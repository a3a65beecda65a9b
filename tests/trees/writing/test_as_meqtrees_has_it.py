"""What users of MeqTrees write by habit: it is taken, or told what it is called here."""

import re

import numpy as np
import pytest
from astropy import units

import rimetree as rt
from rimetree import nodes


@pytest.mark.parametrize("places", [(), (None, None)])
def test_children_before_repeated_ones_may_have_their_names(places):
    """As MeqTrees writes a VisDataMux: the sinks, and pre= or post=."""
    ns = rt.NodeScope()
    ns.first << rt.Constant(3.0)
    sinks = [ns.a << rt.Constant(1.0), ns.b << rt.Constant(2.0), ns.c << rt.Constant(4.0)]
    ns.mux << rt.VisDataMux(*places, *sinks, pre=ns.first)
    ns.last << rt.VisDataMux(*places, *sinks, post=ns.first)
    forest = rt.Forest(ns)
    assert [forest.evaluate(node, rt.Cells(0.0, 1e9)).item() for node in (ns.mux, ns.last)] == [3, 3]


@pytest.mark.parametrize(
    "qualifier",
    [(i for i in "ab"), object(), 3 * units.m, lambda: 1],
    ids=["generator", "object", "quantity", "function"],
)
def test_what_has_no_text_of_its_own_is_no_qualifier(qualifier):
    with pytest.raises(rt.Error, match=r"is no qualifier: .*expected text"):
        rt.NodeScope().V(qualifier)


def test_fields_have_other_names_in_meqtrees():
    ns = rt.NodeScope()
    ns.s << rt.Solver(rt.Condeq(1.0, ns.p << rt.Parm(1.0, solvable=True, reset_funklet=True)), num_iter=3)
    with pytest.raises(rt.ForestError) as caught:
        rt.Forest(ns)
    assert "did you mean 'iterations'?" in str(caught.value)
    assert "did you mean 'use_previous'?" in str(caught.value)


def test_unknown_classes_suggest_similar_ones():
    with pytest.raises(AttributeError, match=r"no node class.*for what it is in MeqTrees write rt.parallactic_angle"):
        _ = rt.ParAngle
    with pytest.raises(AttributeError, match=r"no node class.*did you mean VisPhaseShift"):
        _ = rt.VisPhaseShfit


def test_what_stands_for_classes_of_meqtrees_is_there():
    for text in nodes._OF_MEQTREES.values():
        for name in re.findall(r"rt\.(\w+)", text):
            assert callable(getattr(rt, name)), text
    ns = rt.NodeScope()
    ns.x << rt.Constant([0.3, -0.4])
    for name, expected in (("Cosh", np.cosh), ("Sinh", np.sinh), ("Tanh", np.tanh), ("Invert", np.reciprocal)):
        ns[name] << eval(nodes._OF_MEQTREES[name], {"rt": rt, "x": ns.x})
        np.testing.assert_allclose(
            rt.Forest(ns).evaluate(ns[name]).ravel(), expected(np.array([0.3, -0.4])), rtol=1e-14
        )
