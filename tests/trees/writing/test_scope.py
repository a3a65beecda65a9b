"""Names, qualifiers, definitions and operators of tree scripts."""

import copy
import inspect

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


@pytest.mark.parametrize(("one", "two"), [(-4.0, -4 + 0j), ([1.0, 2.0], [1.0, 2 + 0j])])
def test_a_complex_number_is_no_real_one(one, two):
    """Sqrt(-4) is no number, and Sqrt(-4 + 0j) is 2j: the first of them had counted, whichever came."""
    ns = rt.NodeScope()
    ns.x << rt.Constant(one)
    ns.x << rt.Constant(one)
    rt.Forest(ns)
    ns.x << rt.Constant(two)
    with pytest.raises(rt.ForestError, match="defined again and differently"):
        rt.Forest(ns)


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
    assert names == ["x", "{5}"]


def test_automatic_names_are_out_of_a_scripts_way():
    """Whatever is written first: what a script names is its own."""
    ns = rt.NodeScope()
    ns.y << rt.Sqr(2 * rt.Freq()) + np.array([0.3, 1e9]) + 0.3 + (1 - 2j)
    ns << rt.Negate(ns.y)
    (ns << rt.Negate(ns.y)) << rt.Negate(ns.y)
    for name in ("c2", "c0.3", "c", "2", "y/Sqr", "Negate", "Add"):
        ns[name] << rt.Constant(3e8)
    forest = rt.Forest(ns)
    names = [node["name"] for node in forest.nodes()]
    assert {"{2}", "{0.3}", "{[0.3, 1000000000]}", "{(1-2j)}", "{Negate}", "{Negate 2}", "c2", "Negate"} < set(names)
    assert {"y/{Add}", "y/{Add 2}", "y/{Sqr}", "y/{Multiply}", "y/{Freq}"} < set(names)
    assert forest.evaluate(ns.c2).item() == 3e8
    for name in ("{3}", "x{", "}"):
        with pytest.raises(rt.Error, match="braces are for automatic nodes"):
            _ = ns[name]
    with pytest.raises(rt.Error, match="braces"):
        ns.x("{p}")


def test_constants_that_look_alike_are_told_apart():
    ns = rt.NodeScope()
    values = [
        0.1,
        np.float64(0.1),
        np.nextafter(0.1, 1),
        0.0,
        -0.0,
        5,
        52,
        [5.0],
        [[5.0]],
        np.arange(5.0),
        np.arange(5.0) + 1,
    ]
    names = [ns.MakeConstant(value).name for value in values]
    assert names[0] == names[1] and len(set(names)) == len(values) - 1
    forest = rt.Forest(ns)
    for name, value in zip(names, values, strict=True):
        np.testing.assert_array_equal(forest.evaluate(name)[..., 0, 0], value)


def test_long_sums_are_not_too_deep():
    ns = rt.NodeScope()
    for _ in range(2):  # the same again is harmless
        ns.y << sum(ns.x * float(k) for k in range(1500))
    ns.x << 2.0
    assert rt.Forest(ns).evaluate(ns.y).item() == 1500 * 1499
    assert max(map(len, ns.AllNodes())) < 25


def test_arrays_on_the_left_leave_the_operation_to_the_node():
    ns = rt.NodeScope()
    ns.x << rt.Constant([1.0, 2.0])
    ns.y << np.array([10.0, 20.0]) * ns.x
    np.testing.assert_array_equal(rt.Forest(ns).evaluate(ns.y)[:, 0, 0], [10.0, 40.0])


def test_powers_are_powers_of_nodes_and_definitions_too():
    ns = rt.NodeScope()
    ns.x << 3.0
    ns.al << 0.7
    cases = {
        "negated": (ns.x ** (-ns.al), 3**-0.7),
        "definition": (ns.x ** rt.Constant(2.0), 9.0),
        "square": (ns.x**2, 9.0),
        "square of a definition": ((ns.x * 2) ** 2.0, 36.0),
        "numpy's square": (ns.x ** np.float64(2), 9.0),
        "inverse": (ns.x**-1, 1 / 3),
        "node": (ns.x**ns.al, 3**0.7),
        "of_definition": (rt.Sqr(ns.x) ** rt.Constant(0.5), 3.0),
        "reflected": (2**ns.x, 8.0),
        "numpy": (np.float64(2) ** ns.x, 8.0),
    }
    for name, (definition, _) in cases.items():
        ns[name] << definition
    forest = rt.Forest(ns)
    for name, (_, expected) in cases.items():
        assert forest.evaluate(ns[name]).item() == pytest.approx(expected, rel=1e-15), name


@pytest.mark.parametrize("right", [rt.Constant(2.0), 2.0, 2, np.ones(2)], ids=lambda right: type(right).__name__)
def test_a_power_of_what_is_not_defined_says_how_to_define(right):
    """MeqTrees scripts bind by `**`: neither taken for a power nor lost."""
    ns = rt.NodeScope()
    with pytest.raises(rt.Error, match=r"test_scope.py:\d+: node 'x:1' has no definition.*ns.x << .*rt.Pow"):
        ns.x(1) ** right
    assert not ns.x(1).initialized()


def test_transposes_and_indices_follow_numpy():
    cube = np.arange(12.0).reshape(2, 3, 2)
    ns = rt.NodeScope()
    ns.x << rt.Constant(cube)
    cases = {
        "T": (rt.Constant(cube[0]).T, cube[0].T),
        "row": (ns.x[1], cube[1]),
        "numpy_integer": (ns.x[np.int64(1)], cube[1]),
        "element": (ns.x[1, 2, 0], cube[1, 2, 0]),
        "slice": (ns.x[:, 1], cube[:, 1]),
        "last": (ns.x[1, :, 1], cube[1, :, 1]),
        "whole": (ns.x[:], cube),
        "list": (ns.x[[1, 0, 1]], cube[[1, 0, 1]]),
        "twice": (ns.x[1][2], cube[1][2]),
    }
    for name, (definition, _) in cases.items():
        ns[name] << definition
    forest = rt.Forest(ns)
    for name, (_, expected) in cases.items():
        np.testing.assert_array_equal(forest.evaluate(ns[name])[..., 0, 0], expected, err_msg=name)
    for index in (-1, 1.0, True, "a", slice(0, 1), None, ..., [[0]], [0.5]):
        with pytest.raises((TypeError, IndexError), match="index"):
            _ = ns.x[index]
    ns.out << ns.x[0, 3]
    with pytest.raises(rt.ForestError, match=r"holds 3, but the child has dimensions \[2,3,2\]"):
        rt.Forest(ns)


def test_nodes_are_no_sequences():
    """An index does not make Python or NumPy walk over a node for ever."""
    ns = rt.NodeScope()
    for use in (list, iter, lambda x: 3 in x, lambda x: rt.Add(*x), np.sort):
        with pytest.raises(TypeError):
            use(ns.x)
    with pytest.raises(TypeError):
        iter(ns)
    assert np.asarray([ns.x, ns.y]).shape == (2,)


def test_scopes_within_scopes_keep_all_qualifiers():
    ns = rt.NodeScope()
    assert ns(7).Subscope("sky").x.name == "sky:7::x"
    assert ns.Subscope("sky", 1).Subscope("patch")(3).x.name == "sky:1::patch::x:3"
    assert ns(1, a=2)(b=3).x(4).name == "x:1:4:a=2:b=3"
    assert ns.Subscope("sky", band=2).x.name == "sky:band=2::x"
    assert rt.NodeScope("p_", (1,)).x.name == "p_x:1"


def test_qualifiers_are_text_numbers_lists_and_things_with_names():
    ns = rt.NodeScope()
    pairs = [(None, "None"), ((1, 2), "1,2"), (np.arange(2), "0,1"), (np.int64(3), "3"), ("ñ", "ñ"), (1.5, "1.5")]
    for qualifier, text in pairs:
        assert ns.x(qualifier).name == f"x:{text}"
    with pytest.raises(rt.Error, match="is no qualifier"):
        ns.x(object())
    ns.x("ñ") << 1.0
    assert rt.Forest(ns).evaluate("x:ñ").item() == 1.0


def test_names_that_could_be_mistaken_are_refused():
    ns = rt.NodeScope()
    ns["_x"] << 1.0  # in brackets any name is one
    with pytest.raises(AttributeError, match="begin with _"):
        ns._x = 1.0
    for name in ("", "a\nb"):
        with pytest.raises(rt.Error, match="name"):
            _ = ns[name]
    with pytest.raises(TypeError, match="is no name"):
        _ = ns[3]
    ns.errors << ns.specs + 1  # names that methods might have
    ns.specs << 2.0
    assert rt.Forest(ns).evaluate(ns.errors).item() == 3


def test_lists_of_nodes_point_to_composer():
    ns = rt.NodeScope()
    ns.a << 1.0
    ns.x << rt.Add([ns.a, 2.0])
    ns.y << [ns.a, 2.0]
    with pytest.raises(rt.ForestError, match="Composer") as caught:
        rt.Forest(ns)
    assert {name for name, *_ in caught.value.errors} == {"x", "y"}


def test_misspelt_labels_and_fields_get_the_nearest_name():
    ns = rt.NodeScope()
    ns.child << rt.VisPhaseShift(lnm=ns.nothing, uvw=[1.0, 2.0, 3.0])
    ns.field << rt.GaussNoise(sed=3)
    ns.twice << rt.Constant(1.0, value=2.0)
    ns.solver << rt.Solver(rt.Condeq(1.0, ns.p << rt.Parm(1.0, solvable=True)), parms=ns.p, iteration=3)
    with pytest.raises(rt.ForestError) as caught:
        rt.Forest(ns)
    said = {name: message for name, _, message in caught.value.errors}
    assert len(caught.value.errors) == 4  # nothing that only follows from them
    assert "did you mean 'lmn'?" in said["child"] and "lnm" in said["child"]
    assert "did you mean 'seed'?" in said["field"]
    assert "given twice" in said["twice"]
    assert "did you mean 'iterations'?" in said["solver"]


def test_a_child_by_name_and_by_place_is_told_how_to_be_written():
    ns = rt.NodeScope()
    ns.v << rt.VisPhaseShift(rt.Constant([0.1, 0.0, 0.99]), rt.Constant([1.0, 2.0, 3.0]), lmn=rt.Constant([0.0, 0, 1]))
    with pytest.raises(rt.ForestError, match=r'"lmn" is given twice: children are lmn .*None'):
        rt.Forest(ns)


def test_scopes_and_definitions_can_be_copied_and_shown():
    ns = rt.NodeScope()
    ns.x << 2.0
    other = copy.deepcopy(ns)
    other.y << other.x + 1
    assert rt.Forest(other).evaluate(other.y).item() == 3 and "y" not in ns.AllNodes()
    with pytest.raises(rt.Error, match="belongs to another tree"):
        rt.Forest(other).evaluate(ns.x)
    assert repr(ns) == "<NodeScope *: 1 nodes in the tree>"
    assert repr(ns.Subscope("sky")(1)) == "<NodeScope sky::*:1: 1 nodes in the tree>"
    assert repr(rt.Forest(other)) == "<Forest of 3 nodes of 2 classes>"
    assert repr(rt.Cells([1.0, 2.0], 1.4e9)) == "<Cells: 2 time 1 to 2 s, 1 freq at 1400 MHz>"


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


def test_a_refused_definition_leaves_the_name_without_one():
    ns = rt.NodeScope()
    ns.one << rt.Constant(1.0)
    with pytest.raises(TypeError, match="cannot have <object"):
        ns.y << rt.Add(ns.one, 2.0, object())
    assert not ns.y.initialized()
    ns.y << rt.Add(ns.one, 2.0)
    assert rt.Forest(ns).evaluate("y") == 3


def test_nodes_share_what_is_alike():
    ns = rt.NodeScope()
    for i in range(2):
        ns.x(i) << rt.Constant(float(i))
        ns.y(i) << rt.Sqr(ns.x(i))
        ns.phase(i) << rt.VisPhaseShift(lmn=ns.x(i), uvw=ns.y(i))
    one, two = ns.phase(0).definition, ns.phase(1).definition
    assert one.labels is two.labels and one.state is two.state and one.origin is two.origin
    assert ns.x(0).kwquals is ns.x(1).kwquals
    assert one.children == [("lmn", ns.x(0)), ("uvw", ns.y(0))]
    assert ns.x(0).definition.state != ns.x(1).definition.state


def test_help_shows_defaults():
    signature = str(inspect.signature(rt.PSV))
    assert "n_minus=1" in signature and "shape=None" in signature and "Ellipsis" not in signature
    assert str(inspect.signature(rt.Parm)).startswith("(value, *, time_0_s=0.0,")


def test_help_says_children_state_units_and_result():
    text = rt.PSV.__doc__
    for part in ("lmn", "[S,3]", "Jy", "uvw", "m/s", "n_minus", "default 1", "Result:"):
        assert part in text
    assert "lmn" in str(inspect.signature(rt.PSV))
