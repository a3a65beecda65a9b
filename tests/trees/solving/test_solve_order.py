"""Several Solvers in one request run in the order of the children of their parents."""

import numpy as np

import rimetree as rt

CELLS = rt.Cells([1.0], [1e8])


def deeper(node, times):
    for _ in range(times):
        node = rt.Identity(node)
    return node


def solved(order, depth):
    """Two Solvers for the same Parm, whose data are 1 and 2: the last one counts."""
    ns = rt.NodeScope()
    ns.p << rt.Parm(0.0, solvable=True)
    for name, datum in (("one", 1.0), ("two", 2.0)):
        ns[name] << rt.Solver(ns.condeq(name) << rt.Condeq(rt.Constant(datum), deeper(ns.p, depth[name])))
    children = [deeper(ns[name], depth[name]) for name in order]
    ns.both << rt.Composer(*children, dims=[2, 5])
    forest = rt.Forest(ns)
    forest.evaluate(ns.both, CELLS)
    return forest.get_state("p")["value"].item()


def test_the_order_is_that_of_children_whatever_depth_and_definition_are():
    for depth in ({"one": 0, "two": 0}, {"one": 3, "two": 0}, {"one": 0, "two": 3}):
        assert np.isclose(solved(("one", "two"), depth), 2.0), depth
        assert np.isclose(solved(("two", "one"), depth), 1.0), depth


def test_nodes_that_are_asked_for_together_are_taken_in_that_order():
    ns = rt.NodeScope()
    ns.p << rt.Parm(0.0, solvable=True)
    ns.one << rt.Solver(rt.Condeq(rt.Constant(1.0), ns.p))
    ns.two << rt.Solver(rt.Condeq(rt.Constant(2.0), deeper(ns.p, 2)))
    forest = rt.Forest(ns)
    forest.results([ns.two, ns.one], CELLS)
    assert np.isclose(forest.get_state("p")["value"].item(), 1.0)
    forest.results([ns.one, ns.two], CELLS)
    assert np.isclose(forest.get_state("p")["value"].item(), 2.0)


def test_reports_that_nobody_takes_are_those_of_the_last_evaluation():
    """They piled up in programs that evaluate trees with Solvers many times."""
    ns = rt.NodeScope()
    ns.a << rt.Parm(0.0, solvable=True)
    ns.solver << rt.Solver(rt.Condeq(3.0, ns.a), parms=[ns.a])
    forest = rt.Forest(ns)
    for value in (0.0, 1.0, 2.0):
        forest.set_state(ns.a, value=value)
        forest.evaluate(ns.solver, rt.Cells(time_s=0.0, freq_hz=1e9))
    assert len(forest._core.take_solve_reports()) == 1
    assert forest.solve(ns.solver, rt.Cells(time_s=0.0, freq_hz=1e9)).converged
