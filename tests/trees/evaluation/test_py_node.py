"""Nodes written in Python."""

import numpy as np
import pytest

import rimetree as rt


def test_arrays_in_and_out_with_cells_and_broadcasting():
    seen = {}

    def evaluate(cells, matrix, t):
        seen.update(matrix=matrix.shape, t=t.shape, freq=cells.freq_hz.copy(), width=cells.time_width_s.copy())
        return matrix * t * cells.freq_hz

    ns = rt.NodeScope()
    ns.m << rt.Constant([[1.0, 2.0], [3.0, 4.0]])
    ns.y << rt.PyNode(ns.m, rt.Time(), evaluate=evaluate, dims=[2, 2])
    ns.z << ns.y @ ns.m
    cells = rt.Cells([1.0, 2.0, 3.0], [10.0, 20.0], time_width_s=0.5)
    value = rt.Forest(ns).evaluate(ns.z, cells)
    matrix = np.array([[1.0, 2.0], [3.0, 4.0]])
    expected = np.einsum("ij,t,f->ijtf", matrix @ matrix, [1, 2, 3], [10, 20])
    np.testing.assert_allclose(value, expected, rtol=1e-15)
    assert seen["matrix"] == (2, 2, 1, 1) and seen["t"] == (3, 1)
    np.testing.assert_array_equal(seen["freq"], [10, 20])
    np.testing.assert_array_equal(seen["width"], [0.5, 0.5, 0.5])


def test_objects_with_evaluate_and_complex_results():
    class Rotator:
        def __init__(self, turns):
            self.turns = turns

        def evaluate(self, cells, x):
            return x * np.exp(2j * np.pi * self.turns)

    ns = rt.NodeScope()
    ns.y << rt.PyNode(ns.x << 2.0, evaluate=Rotator(0.25))
    assert rt.Forest(ns).evaluate(ns.y).item() == pytest.approx(2j)


def test_exceptions_name_the_node_the_script_and_the_place_in_the_function():
    def evaluate(cells):
        raise ValueError("no beam for this antenna")

    ns = rt.NodeScope()
    ns.beam << rt.PyNode(evaluate=evaluate)
    ns.y << rt.Sqr(ns.beam)
    message = (
        r"test_py_node.py:\d+: node 'beam' \(PyNode\): .*ValueError: no beam for this antenna \(.*test_py_node.py:\d+\)"
    )
    with pytest.raises(rt.Error, match=message):
        rt.Forest(ns).evaluate(ns.y)


def test_results_of_the_wrong_shape_are_errors():
    ns = rt.NodeScope()
    ns.y << rt.PyNode(evaluate=lambda cells: np.zeros((3, 1, 1)), dims=[2])
    with pytest.raises(rt.Error, match=r"does not have the node's dimensions \[2\]"):
        rt.Forest(ns).evaluate(ns.y)


def test_numbers_that_may_be_for_times_or_for_channels_are_refused():
    """They were taken for times, where NumPy's rules make channels of them."""
    ns = rt.NodeScope()
    ns.y << rt.PyNode(evaluate=lambda cells: cells.freq_hz)
    forest = rt.Forest(ns)
    with pytest.raises(rt.Error, match=r"could be for 2 times or for 2 channels: give both axes, \[2, 1\] or \[1, 2\]"):
        forest.evaluate(ns.y, rt.Cells([1.0, 2.0], [10.0, 20.0]))
    assert forest.evaluate(ns.y, rt.Cells(freq_hz=[10.0])).item() == 10.0
    ns.z << rt.PyNode(evaluate=lambda cells: cells.time_s)
    assert rt.Forest(ns).evaluate(ns.z, rt.Cells([1.0, 2.0], [10.0])).shape == (2, 1)


def test_derivatives_by_differences():
    ns = rt.NodeScope()
    ns.p << rt.Parm(0.4, solvable=True)
    ns.q << rt.Constant(2.0)
    ns.y << rt.PyNode(ns.p, ns.q, evaluate=lambda cells, p, q: np.sin(p * q) + 1j * p**2)
    result = rt.Forest(ns).result(ns.y, derivatives=True)
    # Central differences with a step of eps^(1/3): accurate to about eps^(2/3) = 4e-11.
    assert result.derivatives[("p", 0)].item() == pytest.approx(2 * np.cos(0.8) + 0.8j, rel=1e-9)


def test_it_is_evaluated_again_only_when_it_must():
    calls = []

    def evaluate(cells, x):
        calls.append(1)
        return x + 1

    ns = rt.NodeScope()
    ns.x << rt.Parm(1.0)
    ns.y << rt.PyNode(ns.x, evaluate=evaluate, depends_on=[], version=0)
    forest = rt.Forest(ns)
    forest.evaluate(ns.y, rt.Cells([1.0], [1.0]))
    forest.evaluate(ns.y, rt.Cells([2.0], [1.0]))
    assert len(calls) == 1
    forest.set_state(ns.x, value=5.0)
    assert forest.evaluate(ns.y).item() == 6.0
    assert len(calls) == 2
    forest.set_state(ns.y, version=1)
    assert forest.evaluate(ns.y).item() == 6.0
    assert len(calls) == 3


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def evaluate(self, cells, x):
        return self.factor * x


def test_changes_of_an_object_are_seen_by_the_next_call():
    scale, tables = Scale(2.0), {"offset": 1.0}
    ns = rt.NodeScope()
    ns.x << rt.Parm(3.0, solvable=True)
    ns.scaled << rt.PyNode(ns.x, evaluate=scale, depends_on=[])
    ns.moved << rt.PyNode(ns.scaled, evaluate=lambda cells, x: x + tables["offset"], depends_on=[])
    ns.above << ns.moved * 10.0
    ns.chi2 << rt.ChiSquare(rt.Condeq(rt.Constant(0.0), ns.moved))
    ns.solver << rt.Solver(rt.Condeq(rt.Constant(10.0), ns.moved))
    forest = rt.Forest(ns)
    assert forest.evaluate(ns.above).item() == 70.0
    scale.factor = 4.0
    assert forest.evaluate(ns.above).item() == 130.0
    tables["offset"] = 2.0
    assert forest.evaluate(ns.above).item() == 140.0
    value, _ = forest.value_and_gradient(ns.chi2)
    scale.factor = 1.0
    assert value == pytest.approx(14.0**2)
    assert forest.value_and_gradient(ns.chi2)[0] == pytest.approx(25.0)
    forest.solve(ns.solver)
    assert forest.get_state(ns.x)["value"].item() == pytest.approx(8.0)


def test_a_version_is_a_promise():
    scale = Scale(2.0)
    ns = rt.NodeScope()
    ns.y << rt.PyNode(rt.Constant(3.0), evaluate=scale, version=np.int64(1), mixes="time")
    ns.above << ns.y + 1.0
    forest = rt.Forest(ns)
    assert forest.evaluate(ns.above).item() == 7.0
    scale.factor = 5.0
    assert forest.evaluate(ns.above).item() == 7.0  # nothing was said
    forest.set_state(ns.y, version=2)
    assert forest.evaluate(ns.above).item() == 16.0
    with pytest.raises(TypeError, match="version must be a number from 0 on, not -1"):
        rt.PyNode(evaluate=scale, version=-1)


@pytest.mark.parametrize("device", ["none", "simulated"])
def test_nodes_of_one_batch_keep_to_their_own_function_and_version(device):
    """What the contract test shows of other classes: fields that may differ within a batch are each node's own."""
    scales = [Scale(2.0), Scale(3.0), Scale(5.0)]
    ns = rt.NodeScope()
    ns.x << rt.Parm(2.0, solvable=True)
    for k, scale in enumerate(scales):
        ns.y(k) << rt.PyNode(ns.x, evaluate=scale, depends_on=[], version=k)
        ns.chi2(k) << rt.ChiSquare(rt.Condeq(rt.Constant(0.0), ns.y(k)))
    ns.all << rt.Composer(*(ns.y(k) for k in range(3)))
    forest = rt.Forest(ns, device=device)
    np.testing.assert_array_equal(forest.evaluate(ns.all).ravel(), [4.0, 6.0, 10.0])
    assert forest.timing().classes["PyNode"]["batches"] == 1
    assert forest.timing().classes["PyNode"]["evaluations"] == 3
    for k, scale in enumerate(scales):
        value, gradient = forest.value_and_gradient(ns.chi2(k))
        assert value == (2 * scale.factor) ** 2
        assert gradient == pytest.approx([4 * scale.factor**2], rel=1e-8)  # of a function without pull_back
    # All functions give something else now, but only one node says so.
    roots = [ns.y(k) for k in range(3)]
    assert [forest.evaluate(root).item() for root in roots] == [4.0, 6.0, 10.0]
    for scale in scales:
        scale.factor += 1
    forest.set_state(ns.y(1), version=7)
    assert [forest.evaluate(root).item() for root in roots] == [4.0, 8.0, 10.0]


def test_within_a_solve_it_is_asked_once():
    calls = []

    def beam(cells):
        calls.append(1)
        return np.exp(-cells.freq_hz[None, :] / 1e8)

    ns = rt.NodeScope()
    ns.p << rt.Parm(1.0, solvable=True)
    ns.model << rt.Exp(ns.p) * rt.PyNode(evaluate=beam)
    ns.solver << rt.Solver(rt.Condeq(rt.Constant([[0.5, 0.2]], cells_rank=2), ns.model), method="generic")
    report = rt.Forest(ns).solve(ns.solver, rt.Cells([1.0], [1e8, 2e8]))
    assert report.groups[0].iterations > 2
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("returned", "what"),
    [(None, r"nothing \(None\)"), ("text", "str of"), ([None, 1.0], "list of object"), ({}, "dict of object")],
)
def test_what_is_no_array_of_numbers_is_an_error(returned, what):
    ns = rt.NodeScope()
    ns.y << rt.PyNode(evaluate=lambda cells: returned)
    with pytest.raises(rt.Error, match=rf"test_py_node.py:\d+: node 'y' .*returned {what}.*expected an array"):
        rt.Forest(ns).evaluate(ns.y, rt.Cells([1.0], [1e8]))


def test_more_axes_than_there_are_is_an_error():
    # Two values of dims [2] each, as a tuple: an array [2, 2, time, freq], of which the second 2 would be times.
    ns = rt.NodeScope()
    ns.y << rt.PyNode(ns.x << rt.Constant([1.0, 2.0]), evaluate=lambda cells, x: (x, x), dims=[2])
    with pytest.raises(rt.Error, match=r"several arrays of shape \[2, 2, 1, 1\]; expected at most 3 axes"):
        rt.Forest(ns).evaluate(ns.y, rt.Cells([1.0, 2.0], [1e8]))


def test_lines_of_this_package_are_not_those_of_the_user():
    ns = rt.NodeScope()
    ns.y << rt.PyNode(evaluate=lambda cells: cells.l)
    ns.z << rt.PyNode(evaluate=lambda: 1.0)
    with pytest.raises(rt.Error, match=r"these cells have no l axis \(\S*test_py_node.py:\d+\)$"):
        rt.Forest(ns).evaluate(ns.y, rt.Cells([1.0], [1e8]))
    with pytest.raises(rt.Error, match=r"takes 0 positional arguments but 1 was given$"):
        rt.Forest(ns).evaluate(ns.z, rt.Cells([1.0], [1e8]))


def test_mistakes_in_the_definition():
    with pytest.raises(TypeError, match="needs evaluate="):
        rt.PyNode()
    with pytest.raises(TypeError, match="expected a function"):
        rt.PyNode(evaluate=3)


CELLS = rt.Cells([1.0, 2.0, 3.0], [1e8, 1.1e8])


def objective(node, dims=()):
    """A chi-square of a node against numbers that it is not close to."""
    data = np.full((*dims, 1, 1), 0.3 - 0.2j)
    return rt.ChiSquare(rt.Condeq(rt.Constant(data, cells_rank=2), node))


def phases(cells, delay, amplitude):
    phase = 2e-8 * cells.freq_hz * delay * (1 + cells.time_s[:, None])
    return np.stack([amplitude * np.exp(1j * phase), amplitude**2 * np.conj(amplitude) + 0 * phase])


def phases_back(cells, adjoint, delay, amplitude):
    per_delay = 2e-8 * cells.freq_hz * (1 + cells.time_s[:, None])
    fringe = np.exp(1j * per_delay * delay)
    of_delay = np.real(np.conj(adjoint[0]) * 1j * per_delay * amplitude * fringe)
    # The second is no analytic function of the amplitude: d(a^2 a*) = 2 |a|^2 da + a^2 da*.
    of_amplitude = np.conj(fringe) * adjoint[0] + 2 * np.abs(amplitude) ** 2 * adjoint[1]
    return of_delay, of_amplitude + amplitude**2 * np.conj(adjoint[1])


class Phases:
    """Has the mistake that is asked for."""

    def __init__(self, factor=1.0):
        self.factor = factor

    evaluate = staticmethod(phases)

    def pull_back(self, cells, adjoint, *children):
        of_delay, of_amplitude = phases_back(cells, adjoint, *children)
        return of_delay, self.factor * of_amplitude


def phase_forest(**functions):
    ns = rt.NodeScope()
    ns.delay << rt.Parm(0.4, solvable=True)
    ns.amplitude << rt.ToComplex(rt.Parm(1.2, solvable=True), rt.Parm(-0.3, solvable=True))
    ns.y << rt.PyNode(ns.delay, ns.amplitude, dims=[2], **functions)
    ns.chi2 << objective(ns.y, [2])
    return rt.Forest(ns)


def chi_square_of_phases(x):
    """In extended precision."""
    time, freq = np.array([1, 2, 3], np.longdouble), np.array([1e8, 1.1e8], np.longdouble)
    amplitude = x[1] + 1j * x[2]
    phase = 2e-8 * freq * x[0] * (1 + time[:, None])
    model = np.stack([amplitude * np.exp(1j * phase), np.full((3, 2), amplitude**2 * np.conj(amplitude))])
    return np.sum(np.abs(np.longdouble(0.3) - np.longdouble(0.2) * 1j - model) ** 2)


@pytest.mark.parametrize(
    ("functions", "error"),
    [
        ({"evaluate": Phases()}, 1e-12),
        ({"evaluate": phases, "pull_back": phases_back}, 1e-12),
        ({"evaluate": phases}, 1e-8),
    ],
)
def test_gradients(functions, error):
    forest = phase_forest(**functions)
    value, gradient = forest.value_and_gradient("chi2", CELLS)
    x, h = forest.parameter_vector().astype(np.longdouble), np.longdouble(1e-5)
    assert value == pytest.approx(float(chi_square_of_phases(x)), rel=1e-14)
    for i, step in enumerate(h * np.eye(3)):
        at = [chi_square_of_phases(x + k * step) for k in (-2, -1, 1, 2)]
        slope = (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * h)  # right to h^4
        assert gradient[i] == pytest.approx(float(slope), rel=error)
    check = forest.check_derivatives("chi2", CELLS)
    assert check.good()
    assert check.reverse_difference < 1e-8  # forward mode is by differences


def test_check_derivatives_finds_a_wrong_pull_back():
    assert not phase_forest(evaluate=Phases(1.001)).check_derivatives("chi2", CELLS).good()


def smoothed(cells, x):
    """Each time sees its neighbours."""
    return x**2 + np.roll(x, 1, axis=-2) * x


def test_gradients_where_cells_depend_on_each_other():
    ns = rt.NodeScope()
    ns.x << rt.Parm(1.0, solvable=True) + rt.Parm(0.3, solvable=True) * rt.Time() * rt.Time()
    ns.y << rt.PyNode(ns.x, evaluate=smoothed)
    ns.chi2 << objective(ns.y)
    check = rt.Forest(ns).check_derivatives("chi2", CELLS)
    assert len(check.forward) == 2
    assert check.reverse_difference < 1e-8


def test_gradients_where_a_node_averages():
    ns = rt.NodeScope()
    ns.p << rt.Parm(0.7, solvable=True)
    ns.y << rt.PyNode(ns.p * rt.Time(), evaluate=lambda cells, x: np.mean(x**3, axis=0, keepdims=True))
    ns.chi2 << objective(ns.y)
    _, gradient = rt.Forest(ns).value_and_gradient("chi2", CELLS)
    # |0.3 - 0.2i - 12 p^3|^2, once, as it varies along no axis; the mean of the cubes of 1, 2, 3 being 12.
    assert gradient[0] == pytest.approx(-2 * (0.3 - 12 * 0.343) * 36 * 0.49, rel=1e-9)


def test_gradients_through_too_many_numbers_that_depend_on_each_other():
    ns = rt.NodeScope()
    ns.y << rt.PyNode(rt.Parm(0.7, solvable=True) * rt.Time(), evaluate=smoothed)
    ns.chi2 << objective(ns.y)
    with pytest.raises(rt.Error, match=r'test_py_node.py:\d+: node "y" \(PyNode\): .*needs a pull_back'):
        rt.Forest(ns).value_and_gradient("chi2", rt.Cells(np.arange(5000.0), [1e8]))


def test_flagged_cells_do_not_spoil_gradients():
    def evaluate(cells, x):
        return np.sqrt(x - 2.5 * cells.time_s[:, None] + 5.0)  # not a number at the last time

    def pull_back(cells, adjoint, x):
        return np.conj(adjoint) / (2 * evaluate(cells, x))

    for functions in ({"evaluate": evaluate}, {"evaluate": evaluate, "pull_back": pull_back}):
        ns = rt.NodeScope()
        ns.p << rt.Parm(1.0, solvable=True)
        ns.flagged << rt.MergeFlags(rt.PyNode(ns.p, **functions), rt.ZeroFlagger(rt.Time() - 2.5, oper="GT"))
        ns.chi2 << objective(ns.flagged)
        with np.errstate(invalid="ignore"):
            _, gradient = rt.Forest(ns).value_and_gradient("chi2", CELLS)
        # At two times, of sqrt(p + 2.5) and sqrt(p): 2 (sqrt(x) - 0.3)/(2 sqrt(x)) each.
        assert gradient[0] == pytest.approx(sum(1 - 0.3 / np.sqrt(x) for x in (3.5, 1.0)), rel=1e-9)


def test_mistakes_in_pull_back():
    mistakes = {
        "returned 1 adjoints for 2 children": lambda cells, adjoint, a, b: [a],
        r"of shape \(5, 1, 1, 1\)": lambda cells, adjoint, a, b: (np.zeros(5), b),
    }
    for message, pull_back in mistakes.items():
        with pytest.raises(rt.Error, match=message):
            phase_forest(evaluate=phases, pull_back=pull_back).value_and_gradient("chi2", CELLS)
    with pytest.raises(TypeError, match="pull_back to be a function"):
        rt.PyNode(evaluate=phases, pull_back=3)


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_is_no_failure_of_the_node(ending):
    """Ctrl-C within a function of a user, on the way forward and back; the forest can be used again."""
    ends = {"forward": True, "back": False}

    def evaluate(cells, *children):
        if ends["forward"]:
            raise ending
        return phases(cells, *children)

    def pull_back(cells, adjoint, *children):
        if ends["back"]:
            raise ending
        return phases_back(cells, adjoint, *children)

    forest = phase_forest(evaluate=evaluate, pull_back=pull_back)
    for forward, back in ((True, False), (False, True)):
        ends |= {"forward": forward, "back": back}
        with pytest.raises(ending):
            forest.value_and_gradient("chi2", CELLS)
    ends["back"] = False
    assert np.isfinite(forest.value_and_gradient("chi2", CELLS)[0])
