"""Solves through nodes that look at several cells, where a cell depends on many solution tiles of a Parm."""

import numpy as np
import pytest
from scipy.optimize import least_squares

import rimetree as rt

TIME, FREQ = np.arange(4.0), 1e8 * np.arange(1.0, 7.0)
CELLS = rt.Cells(TIME, FREQ, time_width_s=1.0, freq_width_hz=1e8)
FREQ_EDGES = [0.5e8, 2.5e8, 4.5e8, 6.5e8]  # three tiles of two channels
TIME_EDGES = [-0.5, 1.5, 3.5]  # two tiles of two slots


def by_tile(values, axis):
    """Values of solution tiles on the cells, two cells each."""
    return np.repeat(np.asarray(values), 2, axis=axis)


class Problem:
    """A tree, and the same model in NumPy: `tiles` of each Parm by name, as (time tiles, freq tiles)."""

    def __init__(self, tiles, tree, model, data=None):
        self.tiles, self.tree, self.model = tiles, tree, model
        rng = np.random.default_rng(5)
        self.start = {name: 1 + 0.3 * rng.normal(size=shape) for name, shape in tiles.items()}
        truth = {name: 1 + 0.3 * rng.normal(size=shape) for name, shape in tiles.items()}
        clean = np.broadcast_to(self.model(**self.on_cells(truth)), (4, 6))
        self.data = clean + 0.05 * rng.normal(size=(4, 6)) if data is None else data

    def on_cells(self, values):
        """[time, freq], of length 1 along an axis without tiles."""
        grids = {}
        for name, grid in values.items():
            for axis in (0, 1):
                grid = by_tile(grid, axis) if grid.shape[axis] > 1 else grid
            grids[name] = grid
        return grids

    def forest(self, **options):
        ns = rt.NodeScope()
        parms = {}
        for name, (n_time, n_freq) in self.tiles.items():
            edges = {"time_edges_s": TIME_EDGES} if n_time > 1 else {}
            edges |= {"freq_edges_hz": FREQ_EDGES} if n_freq > 1 else {}
            value = self.start[name][..., None, None] if edges else self.start[name].item()
            # Weak priors hold what data do not determine, in both solves.
            parms[name] = ns[name] << rt.Parm(value, solvable=True, prior_mean=1.0, prior_sigma=10.0, **edges)
        ns.model << self.tree(**parms)
        ns.condeq << rt.Condeq(rt.Constant(self.data, cells_rank=2), ns.model)
        ns.chi2 << rt.ChiSquare(ns.condeq)
        ns.solver << rt.Solver(ns.condeq, iterations=100, **options)
        return ns

    def residuals(self, x):
        values, at = {}, 0
        for name, shape in self.tiles.items():
            values[name] = x[at : at + np.prod(shape)].reshape(shape)
            at += np.prod(shape)
        model = np.broadcast_to(self.model(**self.on_cells(values)), (4, 6))
        return np.concatenate([(self.data - model).ravel(), (x - 1) / 10])

    def minimum(self):
        x = np.concatenate([self.start[name].ravel() for name in self.tiles])
        return least_squares(self.residuals, x, xtol=1e-15, ftol=1e-15, gtol=1e-15)


def running_mean(x):
    return (x + np.roll(x, 1, axis=-1)) / 2


PROBLEMS = {
    "over its own mean": Problem(
        {"g": (1, 1), "b": (1, 3)}, lambda g, b: g * b / rt.Mean(b), lambda g, b: g * b / np.mean(b)
    ),
    "over its mean along freq, tiles in time too": Problem(
        {"g": (2, 1), "b": (2, 3)},
        lambda g, b: g * b / rt.Mean(b, reduction_axes=["freq"]),
        lambda g, b: g * b / np.mean(b, axis=1, keepdims=True),
    ),
    "along time only, tiles in freq": Problem(
        {"b": (1, 3)},
        lambda b: b * rt.Mean(b * rt.Time(), reduction_axes=["time"]),
        lambda b: b * np.mean(b * TIME[:, None], axis=0, keepdims=True),
    ),
    "one mixing above another": Problem(
        {"a": (2, 1), "b": (1, 3)},
        lambda a, b: a + b + rt.Mean(a * rt.Sum(b * b, reduction_axes=["freq"]), reduction_axes=["time"]),
        lambda a, b: a + b + np.mean(a * np.sum(b * b), axis=0),
    ),
    "a mean of what has a mean in it": Problem(
        {"b": (2, 3), "g": (1, 1)},
        lambda b, g: b + g * rt.Mean(b * rt.Mean(b, reduction_axes=["freq"]) * rt.Time()),
        lambda b, g: b + g * np.mean(b * np.mean(b, axis=1, keepdims=True) * TIME[:, None]),
    ),
    "the largest": Problem(
        {"b": (1, 3), "t": (2, 1)}, lambda b, t: t * b - rt.Max(b) * 0.3, lambda b, t: t * b - np.max(b) * 0.3
    ),
    "a PyNode": Problem(
        {"b": (1, 3), "t": (2, 1)},
        lambda b, t: t * rt.PyNode(b * b, evaluate=lambda cells, x: running_mean(x)),
        lambda b, t: t * running_mean(b * b),
    ),
}


@pytest.mark.parametrize("device", ["none", "simulated"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_minimum_is_that_of_scipy(name, device):
    problem = PROBLEMS[name]
    ns = problem.forest()
    forest = rt.Forest(ns, device=device)
    report = forest.solve(ns.solver, CELLS)
    expected = problem.minimum()
    chi_square = sum(group.chi_square + group.prior_chi_square for group in report.groups)
    assert report.converged
    assert chi_square == pytest.approx(2 * expected.cost, rel=1e-9)  # quadratic about the minimum
    solved = forest.parameter_vector()
    np.testing.assert_allclose(problem.residuals(solved), expected.fun, atol=1e-5)
    assert forest.evaluate(ns.chi2, CELLS).item() == pytest.approx(report.chi_square[-1], rel=1e-9)


@pytest.mark.parametrize("name", PROBLEMS)
def test_derivatives_are_compared_tile_by_tile(name):
    problem = PROBLEMS[name]
    ns = problem.forest()
    forest = rt.Forest(ns)
    check = forest.check_derivatives(ns.chi2, CELLS)
    assert len(check.forward) == sum(np.prod(shape) for shape in problem.tiles.values())
    tolerance = 1e-6 if "PyNode" in name else 1e-10  # its derivatives are differences
    assert check.reverse_difference < tolerance
    x, h = forest.parameter_vector(), 1e-6
    for i, ((_, k), forward) in enumerate(check.forward.items()):
        above, below = (np.sum(problem.residuals(x + s * h * np.eye(len(x))[i])[:24] ** 2) for s in (1, -1))
        assert forward == pytest.approx((above - below) / (2 * h), rel=1e-6, abs=1e-7), k


def test_zero_is_reached_where_it_can_be():
    ns = rt.NodeScope()
    ns.g << rt.Parm(1.0, solvable=True)
    ns.b << rt.Parm(1.0, solvable=True, freq_edges_hz=FREQ_EDGES)
    ns.condeq << rt.Condeq(rt.Constant(by_tile([[1.0, 2.0, 6.0]], 1), cells_rank=2), ns.g * ns.b / rt.Mean(ns.b))
    ns.solver << rt.Solver(ns.condeq)
    report = rt.Forest(ns).solve(ns.solver, CELLS)
    (group,) = report.groups
    assert group.converged
    assert group.chi_square < 1e-20
    assert (group.unknowns, group.rank) == (4, 3)  # a factor of all b changes nothing


def test_a_mean_of_tiles_determines_one_combination():
    ns = rt.NodeScope()
    ns.p << rt.Parm(1.0, solvable=True, freq_edges_hz=FREQ_EDGES)
    ns.solver << rt.Solver(ns.condeq << rt.Condeq(rt.Constant(2.0), rt.Mean(ns.p)))
    forest = rt.Forest(ns)
    report = forest.solve(ns.solver, CELLS)
    (group,) = report.groups
    assert (group.unknowns, group.rank, group.equations) == (3, 1, 1)
    assert (report.parms["p"].flag == rt.SolutionFlag.UNDETERMINED).all()
    assert forest.evaluate("p", CELLS).mean() == pytest.approx(2.0)


def test_a_factor_that_mixes_is_no_jones_term_on_blocks():
    """Gains over their mean: tiles have different numbers of cells, so that one cell of each does not give the mean."""
    edges = [0.5e8, 1.5e8, 6.5e8]
    rng = np.random.default_rng(8)
    pairs = [(0, 1), (0, 2), (1, 2)]

    def residuals(x):
        g, a = x[:6].reshape(3, 2), x[6:]
        on_cells = g[:, [0, 1, 1, 1, 1, 1]]
        gain = a[:, None] * on_cells / on_cells.mean(axis=1, keepdims=True)
        r = [data[k] - gain[p] * (1 + 1j) * gain[q] for k, (p, q) in enumerate(pairs)]
        return np.concatenate([np.ravel(r).real, np.ravel(r).imag])

    data = np.zeros((3, 4, 6))
    planted = residuals(np.array([1.0, 1.5, 1.2, 0.8, 1.0, 2.0, 1.1, 0.9, 1.3])).reshape(2, 3, 4, 6)
    data = -planted[0] - 1j * planted[1] + 0.05 * (rng.normal(size=(3, 4, 6)) + 1j * rng.normal(size=(3, 4, 6)))
    ns = rt.NodeScope()
    for p in range(3):
        ns.g(p) << rt.Parm(1.0 + 0.1 * p, solvable=True, freq_edges_hz=edges)
        ns.G(p) << rt.ToComplex(ns.g(p) / rt.Mean(ns.g(p)) * (ns.a(p) << rt.Parm(1.0, solvable=True)), 0.0)
    for k, (p, q) in enumerate(pairs):
        ns.condeq(p, q) << rt.Condeq(
            rt.Constant(data[k], cells_rank=2), ns.G(p) * rt.Constant(1 + 1j) * rt.Conj(ns.G(q))
        )
    ns.solver << rt.Solver(*[ns.condeq(p, q) for p, q in pairs], iterations=200)
    ns.chi2 << rt.ChiSquare(*[ns.condeq(p, q) for p, q in pairs])
    forest = rt.Forest(ns)
    report = forest.solve(ns.solver, CELLS)
    assert report.method == "derivatives of every Condeq"
    start = np.concatenate([np.repeat([1.0, 1.1, 1.2], 2), np.ones(3)])
    expected = least_squares(residuals, start, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    assert report.groups[0].chi_square == pytest.approx(2 * expected.cost, rel=1e-9)
    assert forest.evaluate(ns.chi2, CELLS).item() == pytest.approx(report.groups[0].chi_square, rel=1e-9)


def test_a_py_node_that_says_it_does_not_mix_but_does_is_found():
    def tree(**says):
        ns = rt.NodeScope()
        ns.b << rt.Parm([[[[1.0]], [[1.5]], [[0.7]]]], solvable=True, freq_edges_hz=FREQ_EDGES)
        ns.y << rt.PyNode(ns.b, evaluate=lambda cells, x: running_mean(x), **says)
        ns.chi2 << rt.ChiSquare(rt.Condeq(rt.Constant(np.arange(24.0).reshape(4, 6), cells_rank=2), ns.y))
        return rt.Forest(ns).check_derivatives(ns.chi2, CELLS)

    assert tree().good(1e-8)
    assert not tree(mixes=["time"]).good(1e-2)
    assert not tree(mixes=[]).good(1e-2)


def test_a_py_node_of_each_cell_needs_no_derivative_for_each_tile():
    calls = []

    def evaluate(cells, x):
        calls.append(1)
        return x**2

    def n_calls(**says):
        ns = rt.NodeScope()
        ns.b << rt.Parm(1.0, solvable=True, freq_edges_hz=FREQ_EDGES)
        ns.y << rt.PyNode(ns.b, evaluate=evaluate, **says)
        calls.clear()
        result = rt.Forest(ns).result(ns.y, CELLS, derivatives=True)
        return len(calls), set(result.derivatives)

    # The value, and two for each derivative.
    assert n_calls(mixes=[]) == (3, {("b", 0)})
    assert n_calls() == (7, {("b", 0, -1, tile) for tile in range(3)})
