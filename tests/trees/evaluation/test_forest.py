"""Building, evaluating and asking forests from Python."""

import contextlib
import os
import signal
import threading
import time

import numpy as np
import pytest

import rimetree as rt
from rimetree.writing.script_lines import script_line


def line_of(text: str) -> int:
    """The line of this file that holds `text` (its last occurrence is the call itself)."""
    with open(__file__) as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


def test_all_errors_come_at_once_with_their_script_lines():
    ns = rt.NodeScope()
    ns.lonely << rt.Sqr(ns.never_defined)  # first mistake
    ns.matrix << rt.MatrixInvert22(rt.Constant(np.ones((3, 3))))  # second mistake
    ns.bad << rt.Constant(1.0, colour="red")  # third mistake
    with pytest.raises(rt.ForestError) as caught:
        rt.Forest(ns)
    errors = {node: (origin, message) for node, origin, message in caught.value.errors}
    assert set(errors) == {"lonely", "matrix", "bad"}
    for node, remark in (("lonely", "# first"), ("matrix", "# second"), ("bad", "# third")):
        assert errors[node][0] == f"{__file__}:{line_of(remark + ' mistake')}"
    assert "never_defined" in errors["lonely"][1]
    assert "[3,3]" in errors["matrix"][1]
    assert "colour" in errors["bad"][1] and "value" in errors["bad"][1]


def test_the_same_mistake_of_many_nodes_is_one_line():
    ns = rt.NodeScope()
    for p in range(1000):
        ns.a(p) << rt.Sqr(ns.never_defined)
    for q in range(50):
        ns.b(q) << rt.Sqr(ns.missing(q))
    with pytest.raises(rt.ForestError) as caught:
        rt.Forest(ns)
    lines = str(caught.value).splitlines()
    assert lines[0] == "1050 errors in the forest:" and len(caught.value.errors) == 1050
    assert "node 'a:0' and 999 others: " in lines[1] and "never_defined" in lines[1]
    assert "missing:0" in lines[2] and len(lines) == 42
    assert lines[-1] == "  and 11 more (`errors` of this exception has all)"


def test_a_cycle_is_an_error():
    ns = rt.NodeScope()
    ns.a << rt.Sqr(ns.b)
    ns.b << rt.Sqr(ns.a)
    with pytest.raises(rt.ForestError, match="its own ancestor"):
        rt.Forest(ns)


def test_results_are_views_on_the_cells():
    ns = rt.NodeScope()
    ns.t << rt.Time()
    ns.f << rt.Freq()
    ns.x << ns.t * ns.f
    forest = rt.Forest(ns)
    cells = rt.Cells([10.0, 20.0, 30.0], [1.0, 2.0])
    np.testing.assert_array_equal(forest.evaluate(ns.x, cells), np.outer([10, 20, 30], [1, 2]))
    assert forest.evaluate(ns.t, cells).shape == (3, 1)
    value = forest.evaluate(ns.f, cells)
    assert not value.flags.owndata and not value.flags.writeable


def test_results_outlive_the_forest():
    ns = rt.NodeScope()
    ns.x << rt.Constant(np.arange(1000.0))
    value = rt.Forest(ns).evaluate(ns.x)
    np.testing.assert_array_equal(value[:, 0, 0], np.arange(1000.0))


def test_states_can_be_read_and_changed():
    ns = rt.NodeScope()
    ns.a << rt.Parm(2.0)
    ns.b << rt.Constant(10.0)
    ns.c << rt.Exp(ns.b)
    ns.d << ns.a * ns.c
    forest = rt.Forest(ns)
    assert forest.evaluate(ns.d).item() == 2.0 * np.exp(10.0)
    forest.reset_timing()
    forest.set_state(ns.a, value=3.0)
    assert forest.evaluate("d").item() == 3.0 * np.exp(10.0)
    assert forest.get_state("a")["value"] == 3.0
    # The exponential does not depend on the parameter: its result was still valid.
    assert forest.timing().classes["Exp"]["evaluations"] == 0
    assert forest.timing().classes["Exp"]["reused"] == 1
    with pytest.raises(rt.Error, match="unknown state field"):
        forest.set_state(ns.a, colour="red")
    with pytest.raises(rt.Error, match=f'node "{ns.a.name}": .*"value" must be a number'):
        forest.set_state(ns.a, value=np.zeros((3, 1, 1, 1)))


def test_derivatives_are_exact():
    ns = rt.NodeScope()
    ns.p << rt.Parm(0.3, solvable=True)
    ns.q << rt.Parm(1.7, solvable=True)
    ns.y << rt.Sin(ns.p * ns.q) + ns.p
    ns.z << rt.Sqr(ns.q)
    forest = rt.Forest(ns)
    result = forest.result(ns.y, derivatives=True)
    assert result.derivatives[("p", 0)].item() == pytest.approx(1.7 * np.cos(0.51) + 1, rel=1e-14)
    assert result.derivatives[("q", 0)].item() == pytest.approx(0.3 * np.cos(0.51), rel=1e-14)
    # A result carries derivatives only for the parameters it depends on.
    assert list(forest.result(ns.z, derivatives=True).derivatives) == [("q", 0)]
    assert forest.result(ns.y).derivatives == {}


def test_a_failing_node_is_named_with_its_script_line():
    ns = rt.NodeScope()
    ns.x << rt.Grid(axis="l")  # no such axis in the cells
    ns.y << rt.Sqr(ns.x)
    with pytest.raises(rt.Error, match=r"test_forest.py:\d+: node 'x' \(Grid\): .* no l axis"):
        rt.Forest(ns).evaluate(ns.y, rt.Cells(freq_hz=1.0))


def test_unknown_node_names_similar_ones():
    ns = rt.NodeScope()
    ns.V(0, 1) << 1.0
    with pytest.raises(rt.Error, match=r'no node "V:0:2"; it has V:0:1'):
        rt.Forest(ns).evaluate("V:0:2")


def test_timing_report_adds_up():
    ns = rt.NodeScope()
    ns.x << rt.Exp(rt.Time() * rt.Freq())
    forest = rt.Forest(ns)
    forest.evaluate(ns.x, rt.Cells(np.arange(100.0), np.arange(1.0, 100.0) * 1e-4))
    report = forest.timing()
    inside = sum(one["seconds"] for one in report.classes.values())
    assert report.total_seconds == pytest.approx(inside + report.overhead_seconds, rel=1e-9)
    assert report.classes["Exp"]["evaluations"] == 1
    assert "framework overhead" in str(report)


def test_processor_time_of_gradients_and_solves_is_counted_once():
    ns = rt.NodeScope()
    data = rt.Constant(np.full((300, 300), 2.0), cells_rank=2)
    ns.model << rt.Exp(rt.Parm(0.1, solvable=True) * rt.Sin(rt.Time() * rt.Freq()))
    ns.chi2 << rt.ChiSquare(ns.condeq << rt.Condeq(data, ns.model))
    ns.solver << rt.Solver(ns.condeq)
    cells = rt.Cells(np.arange(300.0), np.arange(1.0, 301.0) * 1e-4)
    for ask in (lambda f: f.value_and_gradient(ns.chi2, cells), lambda f: f.solve(ns.solver, cells)):
        forest = rt.Forest(ns, threads=1)
        before = time.process_time()
        ask(forest)
        taken, report = time.process_time() - before, forest.timing()
        assert 0.02 * taken < report.processor_seconds <= taken + 0.01
        inside = sum(one["seconds"] for one in report.classes.values())
        assert report.total_seconds == pytest.approx(inside + report.overhead_seconds, rel=1e-9)


def test_plan_says_batches_and_bytes_without_evaluating():
    ns = rt.NodeScope()
    for p in range(10):
        ns.x(p) << rt.Sqr(ns.t << rt.Time())
    forest = rt.Forest(ns)
    plan = forest.plan(n_time=7, n_freq=3)
    (squares,) = [batch for batch in plan["batches"] if batch[0] == "Sqr"]
    assert squares[4] == 10 and squares[5] == 10 * 7 * 16
    assert plan["peak_bytes"] >= squares[5]
    assert forest.timing().total_seconds == 0


def test_plan_counts_what_nodes_leave_in_memory():
    """Nodes that are evaluated as parts of their consumers leave nothing."""
    ns = rt.NodeScope()
    phase = rt.Time() * rt.Freq()
    ns.x << rt.Add(*(rt.Sin(phase * k) for k in range(1, 9)))
    forest = rt.Forest(ns)
    forest.evaluate(ns.x, rt.Cells(np.arange(50.0), np.arange(1.0, 41.0)))
    assert forest.timing().peak_result_bytes <= forest.plan(n_time=50, n_freq=40)["peak_bytes"] <= 2 * 50 * 40 * 16


def test_a_small_memory_budget_gives_the_same_bits():
    def values(memory_bytes):
        ns = rt.NodeScope()
        ns.g << rt.GaussNoise(seed=3)
        for p in range(20):
            ns.x(p) << rt.Exp(ns.g * (0.1 * p))
        ns.y << rt.Add(*(ns.x(p) for p in range(20)))
        forest = rt.Forest(ns, memory_bytes=memory_bytes)
        return forest.evaluate(ns.y, rt.Cells(np.arange(50.0), 1e9 + np.arange(60.0)))

    np.testing.assert_array_equal(values(None), values(1))


def test_ctrl_c_stops_an_evaluation_and_the_forest_stays_usable():
    ns = rt.NodeScope()
    for p in range(400):
        ns.x(p) << rt.Exp(rt.Sin(rt.Time() + 0.001 * p) * rt.Freq())
    ns.y << rt.Add(*(ns.x(p) for p in range(400)))
    forest = rt.Forest(ns, threads=2)
    cells = rt.Cells(np.linspace(0, 1, 400), np.linspace(0.1, 1, 400))
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(1000):
            forest.forget()
            forest.evaluate(ns.y, cells)
    assert time.monotonic() - start < 30
    timer.join()
    small = rt.Cells([0.5], [0.2])
    assert np.isfinite(forest.evaluate(ns.y, small)).all()


def test_the_interpreter_runs_while_a_forest_is_evaluated():
    ns = rt.NodeScope()
    ns.x << rt.Exp(rt.Sin(rt.Time() * rt.Freq()))
    forest = rt.Forest(ns, threads=1)
    cells = rt.Cells(np.linspace(0, 1, 3000), np.linspace(0.1, 1, 3000))
    ticks = 0
    done = threading.Event()

    def evaluate():
        forest.evaluate(ns.x, cells)
        done.set()

    worker = threading.Thread(target=evaluate)
    worker.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0.001)
    worker.join()
    assert ticks > 3  # one or two, if it were to wait


def test_one_forest_is_not_evaluated_twice_at_once():
    ns = rt.NodeScope()
    second = []

    def evaluate(cells):
        if not second:
            second.append("tried")
            with pytest.raises(rt.Error, match="another thread"):
                forest.evaluate(ns.x)
        return 1.0

    ns.x << rt.PyNode(evaluate=evaluate)
    forest = rt.Forest(ns)
    assert forest.evaluate(ns.x).item() == 1.0


def test_the_line_of_a_script_is_not_that_of_a_decorator():
    """Where a function of this package is called through a context that decorates it, the user's line counts."""
    file = os.path.join(os.path.dirname(rt.__file__), "inside.py")
    names = {"script_line": script_line}
    exec(compile("def inside():\n    return script_line()\n", file, "exec"), names)
    decorated = contextlib.contextmanager(lambda: iter([None]))()(names["inside"])
    assert decorated().startswith(f"{__file__}:")


def test_several_nodes_are_asked_of_results():
    ns = rt.NodeScope()
    ns.a << 1.0
    ns.b << 2.0
    forest = rt.Forest(ns)
    for several in ([ns.a, ns.b], (ns.a, ns.b)):
        with pytest.raises(rt.Error, match=r"not .*: forest.results\(nodes\) evaluates several at once"):
            forest.evaluate(several)
        assert [float(one.value.item()) for one in forest.results(several)] == [1.0, 2.0]
