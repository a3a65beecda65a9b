"""Nodes that are written at once by indices are those that loops make: names, children, state, script lines, errors."""

import numpy as np
import pytest

import rimetree as rt

BASELINES = [(0, 1), (0, 2), (1, 2)]
N_SOURCE = 4
RNG = np.random.default_rng(3)
LMN = np.column_stack([RNG.uniform(-0.01, 0.01, (N_SOURCE, 2)), np.ones(N_SOURCE)])
LMN[:, 2] = np.sqrt(1 - (LMN[:, :2] ** 2).sum(axis=1))
UVW_M = RNG.normal(0, 1000, (len(BASELINES), 3))
FLUX_JY = RNG.uniform(1, 2, N_SOURCE)


def by_indices(ns):
    p, q = rt.each(BASELINES)
    s = rt.each(range(N_SOURCE))
    ns.lmn(s) << rt.Constant(s.of(LMN))
    ns.B(s) << rt.Constant(s.of(FLUX_JY)) * np.eye(2)
    ns.uvw(p, q) << rt.Constant(p.of(UVW_M))
    ns.K(p, q, s) << rt.VisPhaseShift(lmn=ns.lmn(s), uvw=ns.uvw(p, q))
    ns.V(p, q) << rt.Add(*rt.over(s, ns.K(p, q, s) * ns.B(s)))
    ns.total << rt.Add(*rt.over(s, ns.B(s) * rt.Constant(s.of(FLUX_JY))))
    return ns


def by_loops(ns):
    for s in range(N_SOURCE):
        ns.lmn(s) << rt.Constant(LMN[s])
        ns.B(s) << rt.Constant(FLUX_JY[s]) * np.eye(2)
    for i, (p, q) in enumerate(BASELINES):
        ns.uvw(p, q) << rt.Constant(UVW_M[i])
        for s in range(N_SOURCE):
            ns.K(p, q, s) << rt.VisPhaseShift(lmn=ns.lmn(s), uvw=ns.uvw(p, q))
        ns.V(p, q) << rt.Add(*(ns.K(p, q, s) * ns.B(s) for s in range(N_SOURCE)))
    ns.total << rt.Add(*(ns.B(s) * rt.Constant(FLUX_JY[s]) for s in range(N_SOURCE)))
    return ns


def nodes_of(ns):
    """Everything but the script lines, which the two spellings cannot share."""
    return {
        name: (
            node.classname,
            {field: np.asarray(value).tolist() for field, value in node.definition.state.items()},
            [(label, child.name) for label, child in node.children],
        )
        for name, node in ns.AllNodes().items()
    }


def test_the_nodes_are_those_of_loops():
    fast, slow = by_indices(rt.NodeScope()), by_loops(rt.NodeScope())
    assert nodes_of(fast) == nodes_of(slow)
    cells = rt.Cells([0.0], [1e9, 1.1e9])
    for p, q in BASELINES:
        got, expected = (rt.Forest(ns).evaluate(f"V:{p}:{q}", cells) for ns in (fast, slow))
        np.testing.assert_array_equal(got, expected)


def test_scopes_with_qualifiers_and_keywords_take_indices_too():
    p, q = rt.each(BASELINES)
    s = rt.each(["north", "south"])
    ns = rt.NodeScope()
    ns(s).flux << rt.Constant(s.of([1.0, 2.0]))
    ns.Subscope("sky").phase(p, q, src=s) << rt.Constant(p.of([1.0, 2.0, 3.0])) + ns.flux(s)
    assert [name for name in ns.AllNodes() if "{" not in name][:3] == [
        "flux:north",
        "flux:south",
        "sky::phase:0:1:src=north",
    ]
    assert rt.Forest(ns).evaluate("sky::phase:1:2:src=south").ravel() == [5.0]


def test_the_order_of_indices_is_free():
    s, a, p = rt.each(["x", "y"]), rt.each([7, 8, 9]), rt.each([1, 2])
    ns = rt.NodeScope()
    ns.x(s, a) << rt.Constant(a.of([1.0, 2.0, 3.0])) + s.of([10.0, 20.0])
    ns.y(a, p, s) << ns.x(s, a) * 2.0 + p.of([0.25, 0.5])
    forest = rt.Forest(ns)
    assert forest.evaluate("y:9:1:y").ravel() == [46.25]
    assert forest.evaluate("y:7:2:x").ravel() == [22.5]


def test_numbers_of_an_index_in_the_state_of_nodes():
    p, q = rt.each(BASELINES)
    ns = rt.NodeScope()
    ns.data(p, q) << rt.Spigot(station_1_index=p, station_2_index=q, input_column="DATA")
    states = [node.definition.state for node in ns.AllNodes().values()]
    assert [(one["station_1_index"], one["station_2_index"]) for one in states] == BASELINES


def test_the_line_of_an_error_is_that_of_the_definition():
    s = rt.each(range(3))
    ns = rt.NodeScope()
    ns.x(s) << rt.Sqr(ns.missing(s))
    with pytest.raises(rt.ForestError) as caught:
        rt.Forest(ns)
    assert [name for name, *_ in caught.value.errors] == ["x:0", "x:1", "x:2"]
    assert all(f"{__file__}:" in line for _, line, _ in caught.value.errors)


def test_bound_twice_as_with_loops():
    s = rt.each(range(2))
    ns = rt.NodeScope()
    for _ in range(2):
        ns.x(s) << rt.Constant(s.of([1.0, 2.0]))
    rt.Forest(ns)
    ns.x(1) << rt.Constant(3.0)
    with pytest.raises(rt.ForestError, match="defined again and differently"):
        rt.Forest(ns)


def test_no_values_are_no_nodes_and_a_definition_without_indices_serves_all():
    ns = rt.NodeScope()
    none = rt.each([])
    ns.x(none) << rt.Constant(none.of([]))
    p, q = rt.each([], members=2)
    ns.x(p, q) << rt.Sqr(ns.y(p))
    assert ns.AllNodes() == {}
    a, b = rt.each(range(2)), rt.each(range(3))
    ns.one(a, b) << rt.Constant(1.0)
    ns.two(a, b) << 2.0
    assert len([name for name in ns.AllNodes() if name.startswith(("one", "two"))]) == 12


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda ns, s, t: ns.x(s) << ns.K(s, t) * 2, r"is not among the indices of .*rt\.over"),
        (lambda ns, s, t: ns.x << ns.K(t), r"is not among the indices of|cannot bind"),
        (lambda ns, s, t: ns.x << rt.Sqr(ns.K(t)), r"<nodes K:.*is not one node"),
        (
            lambda ns, s, t: ns.x << rt.Constant(s.of([1.0, 2.0])),
            "'value' of node 'x' has a value for each value of <index a, b>",
        ),
        (lambda ns, s, t: rt.over(s, ns.K(t)), "nodes must be written with <index a, b>, which <nodes K"),
        (lambda ns, s, t: rt.over(3, ns.K(t)), "index must be one that rt.each has made, not 3"),
        (lambda ns, s, t: s.of([1.0]), "1 values for an index that has 2"),
        (lambda ns, s, t: s.of("ab"), "values must be one for each value of the index"),
        (lambda ns, s, t: rt.each([1, 2, 1]), "each: 1 is there twice"),
        (lambda ns, s, t: rt.each([(0, 1), (0, 1)]), "each: 0:1 is there twice"),
        (lambda ns, s, t: rt.each([(0, 1), 2]), "single values, or tuples"),
        (lambda ns, s, t: rt.each([(0, 1)], members=3), r"each: expected values of 3 members, got \(0, 1\)"),
        (lambda ns, s, t: f"x{s}", "has no text of its own"),
        (lambda ns, s, t: ns.Subscope("sky", s), "has no text of its own"),
        (lambda ns, s, t: rt.each("abc"), "values must be a collection of qualifiers, not 'abc'"),
        (lambda ns, s, t: list(s), r"rt\.over\(index, nodes\)"),
        (lambda ns, s, t: ns.x(s) << rt.Constant(s.of(["red", "blue"])), "value"),
        (lambda ns, s, t: ns.x(s) << ns.y * s, "cannot have <index"),
    ],
)
def test_what_cannot_be_meant_is_refused(write, message):
    ns = rt.NodeScope()
    with pytest.raises((rt.Error, TypeError), match=message):
        write(ns, rt.each(["a", "b"]), rt.each([1, 2]))
        rt.Forest(ns)
