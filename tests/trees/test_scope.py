"""Names, qualifiers, definitions and operators of tree scripts."""

import numpy as np
import pytest

import rimetree as rt


class Antenna:
    """Something with a name, as MeqTrees scripts use for qualifiers."""

    name = "RT0"


def test_names_carry_qualifiers_as_in_meqtrees():
    ns = rt.NodeScope()
    assert ns.x.name == "x"
    assert ns.x(0, 1).name == "x:0:1"
    assert ns.x(Antenna()).name == "x:RT0"
    assert ns.x([1, 2]).name == "x:1,2"
    assert ns.x(0, b=2, a=1).name == "x:0:a=1:b=2"
    assert ns["V"](0)(1) is ns.V(0, 1)
    assert ns.Subscope("sky", 3).lmn.name == "sky:3::lmn"
    assert ns(7).lmn.name == "lmn:7"


def test_binding_the_same_again_is_harmless_and_differently_is_reported():
    ns = rt.NodeScope()
    for _ in range(2):
        ns.a << rt.Constant([1.0, 2.0])
        ns.b << rt.Sqr(ns.a) + 1
    rt.Forest(ns)
    ns.a << rt.Constant([1.0, 3.0])
    with pytest.raises(rt.ForestError, match="defined again and differently") as caught:
        rt.Forest(ns)
    assert caught.value.errors[0][0] == "a"
    assert __file__ in caught.value.errors[0][1]


def test_operators_compute_what_they_say():
    ns = rt.NodeScope()
    a, b = 3.0, 1.5 - 2.0j
    ns.a << a
    ns.b << b
    expressions = {
        "sum": (ns.a + ns.b, a + b),
        "rsum": (1.0 + ns.b, 1.0 + b),
        "difference": (ns.a - ns.b, a - b),
        "rdifference": (2 - ns.b, 2 - b),
        "product": (ns.a * ns.b * 2, a * b * 2),
        "quotient": (ns.a / ns.b, a / b),
        "rquotient": (1 / ns.b, 1 / b),
        "power": (ns.a**2.0, a**2),
        "negative": (-ns.b, -b),
        "modulus": (abs(ns.b), abs(b)),
        "conjugate": (ns.b.H, np.conj(b)),
    }
    for name, (definition, _) in expressions.items():
        ns[name] << definition
    forest = rt.Forest(ns)
    for name, (_, expected) in expressions.items():
        np.testing.assert_allclose(forest.evaluate(ns[name]).item(), expected, rtol=1e-15, err_msg=name)


def test_matrix_products_and_adjoint():
    rng = np.random.default_rng(1)
    matrices = rng.normal(size=(3, 2, 2)) + 1j * rng.normal(size=(3, 2, 2))
    ns = rt.NodeScope()
    for i, matrix in enumerate(matrices):
        ns.J(i) << rt.Constant(matrix)
    ns.V << ns.J(0) @ ns.J(1) @ ns.J(2).H
    value = rt.Forest(ns).evaluate(ns.V)[..., 0, 0]
    np.testing.assert_allclose(value, matrices[0] @ matrices[1] @ matrices[2].conj().T, rtol=1e-14)


def test_numbers_become_shared_constants():
    ns = rt.NodeScope()
    ns.x << 2.0
    ns.y << ns.x + 5
    ns.z << ns.x * 5.0
    names = [node.name for node in ns.Search(class_name="Constant")]
    assert names.count("c5") == 1 and len(names) == 2


def test_arrays_on_the_left_leave_the_operation_to_the_node():
    ns = rt.NodeScope()
    ns.x << rt.Constant([1.0, 2.0])
    ns.y << np.array([10.0, 20.0]) * ns.x
    np.testing.assert_array_equal(rt.Forest(ns).evaluate(ns.y)[:, 0, 0], [10.0, 40.0])


def test_bind_unless_bound():
    ns = rt.NodeScope()
    ns.x ** rt.Constant(1.0)
    ns.x ** rt.Constant(2.0)
    assert rt.Forest(ns).evaluate(ns.x).item() == 1.0


def test_children_from_another_tree_are_reported():
    ns, other = rt.NodeScope(), rt.NodeScope()
    other.x << 1.0
    ns.y << rt.Sqr(other.x)
    with pytest.raises(rt.ForestError, match="belongs to another tree"):
        rt.Forest(ns)


def test_wrong_children_say_what_is_expected():
    ns = rt.NodeScope()
    with pytest.raises(TypeError, match="as a child: expected a node, a definition or numbers"):
        ns.y << rt.Sqr(object())


def test_unknown_classes_suggest_similar_ones():
    with pytest.raises(AttributeError, match=r"no node class.*did you mean VisPhaseShift"):
        _ = rt.VisPhaseShfit


def test_help_says_children_state_units_and_result():
    text = rt.PSV.__doc__
    for part in ("lmn", "[S,3]", "Jy", "uvw", "m/s", "n_minus", "default 1", "Result:"):
        assert part in text
    assert "lmn" in str(__import__("inspect").signature(rt.PSV))
