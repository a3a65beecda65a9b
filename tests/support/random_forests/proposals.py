"""For each class children and state that suit it: arithmetic, matrices, reductions, flags and leaves."""

from __future__ import annotations

import numpy as np
from second_opinion import FORMULAS

from .growing import Growth, proposal

SMALL = {"Tan": 10.0}


@proposal("Abs", "Arg", "Conj", "Imag", "Real", "Norm", "Identity")
def of_anything(g: Growth, _):
    return [("x", g.any_node())], {}


@proposal(*SMALL)
def of_small_numbers(g: Growth, class_name: str):
    name = g.any_node()
    return ([("x", name)], {}) if g.inside(name, lambda x: np.abs(x) < SMALL[class_name]) else None


@proposal(*FORMULAS)
def of_a_known_formula(g: Growth, class_name: str):
    name, formula = g.any_node(), FORMULAS[class_name]
    inside = g.inside(name, lambda x: (np.abs(x) < 20) & formula.is_defined(x))
    return ([(formula.label, name)], {}) if inside else None


@proposal("Log")
def of_positive_numbers(g: Growth, _):
    name = g.any_node()
    return ([("x", name)], {}) if g.inside(name, lambda x: x != 0 if np.iscomplexobj(x) else x > 0) else None


@proposal("Acos", "Asin")
def of_cosines(g: Growth, _):
    dims = g.dims()
    name = g.find(lambda v: not v.is_complex, lambda: g.random_constant(dims, real=True, low=-0.99, high=0.99), 0.3)
    return ([("x", name)], {}) if g.inside(name, lambda x: np.abs(x) < 1) else None


def partner(g: Growth, first: str, real: bool | None = None) -> str:
    """What may stand beside a node element by element: a scalar or a tensor of its dimensions."""
    dims = g.value(first).dims
    return g.of_dims(*((dims, ()) if dims else (g.dims(), ())), real=real)


@proposal("Atan2", "ToComplex", "Polar")
def of_two_reals(g: Growth, class_name: str):
    labels = {"Atan2": ("y", "x"), "ToComplex": ("re", "im"), "Polar": ("ampl", "phase")}[class_name]
    real = None if g.chance(0.03) else True
    first = g.of_dims(g.dims(), real=real)
    return list(zip(labels, (first, partner(g, first, real)), strict=True)), {}


@proposal("Add", "Multiply")
def of_any_number(g: Growth, class_name: str):
    label = {"Add": "term", "Multiply": "factor"}[class_name]
    names = [g.any_node()]
    for _ in range(int(g.rng.integers(0, 4))):
        tensors = [name for name in names if g.value(name).dims]
        names.append(partner(g, tensors[0] if tensors else names[0]))
    small = all(g.inside(name, lambda x: np.abs(x) < 1e30) for name in names)
    return ([(label, name) for name in names], {}) if small else None


@proposal("Subtract", "Divide", "Pow")
def of_two(g: Growth, class_name: str):
    first = g.any_node()
    second = partner(g, first)
    if class_name == "Divide" and not g.inside(second, lambda x: np.abs(x) > 1e-3):
        return None
    if class_name == "Pow":
        base = (
            (lambda x: np.abs(x) > 1e-3)
            if g.value(first).is_complex or g.value(second).is_complex
            else (lambda x: x > 0)
        )
        largest = np.max(np.abs(np.log(np.abs(g.value(first).x[0]) + 1e-300)), initial=0.0)
        if not (g.inside(first, base) and g.inside(second, lambda x: np.abs(x) * largest < 30)):
            return None
    return [("a", first), ("b", second)], {}


# Matrices ---------------------------------------------------------------------------------------------------------


@proposal("Matrix22")
def matrix22(g: Growth, _):
    return [(label, g.of_dims(())) for label in ("xx", "xy", "yx", "yy")], {}


def matrices(g: Growth):
    s = max(g.sources, 1)
    return ((2, 2), (s, 2, 2), (), (s,), (2, 3), (3, 2))


@proposal("MatrixInvert22", "ConjTranspose", "Transpose")
def of_a_matrix(g: Growth, class_name: str):
    dims = matrices(g)[: 4 if class_name == "MatrixInvert22" else 6]
    name = g.of_dims(*dims)
    if class_name == "MatrixInvert22" and not g.inside(name, lambda x: np.abs(x) > 1e-3):
        return None
    return [("x", name)], {"conj": g.chance(0.5)} if class_name == "Transpose" else {}


@proposal("MatrixMultiply")
def matrix_multiply(g: Growth, _):
    s = max(g.sources, 1)
    chains = (
        [(2, 2), (2, 2)],
        [(s, 2, 2), (s, 2, 2), (s, 2, 2)],
        [(s, 2, 2), (2, 2)],
        [(2, 2), (s, 2, 2)],
        [(), (2, 2)],
        [(2, 2), ()],
        [(s,), (s, 2, 2), (s,)],
        [(2,), (2, 2), (2,)],
        [(2, 2), (2,)],
        [(2, 3), (3, 2), (2, 2)],
        [(3,), (3,)],
        [(2,), (2, 3)],
        [(2,), (2,), (2, 2)],
        [(), ()],
        [(2, 2)],
        [(2, 3), (2, 2)],  # does not fit
    )
    return [("factor", g.of_dims(dims)) for dims in chains[int(g.rng.integers(len(chains)))]], {}


@proposal("Composer")
def composer(g: Growth, _):
    first = g.any_node()
    if g.chance(0.5):
        dims = g.value(first).dims
        return [("x", first), *(("x", g.of_dims(dims)) for _ in range(int(g.rng.integers(0, 3))))], {"dims": [0]}
    names = [first, *(g.any_node() for _ in range(int(g.rng.integers(0, 3))))]
    count = sum(int(np.prod(g.value(name).dims)) for name in names)
    dims = g.one_of([], [count], [1, count], [2, count // 2] if count % 2 == 0 else [count, 1])
    return [("x", name) for name in names], {"dims": dims} if dims or g.chance(0.5) else {}


@proposal("Selector")
def selector(g: Growth, _):
    name = g.any_node()
    dims = g.value(name).dims
    if not dims or 0 in dims:
        return None

    def element(multi=False):
        if len(dims) > 1 and (multi or g.chance(0.2)):
            return int(g.rng.integers(np.prod(dims)))
        return [int(g.rng.integers(n)) for n in dims]

    if g.chance(0.3):
        index = [element(True) for _ in range(int(g.rng.integers(1, 4)))]
        if len({np.ndim(one) for one in index}) > 1:
            return None
        return [("x", name)], {"index": index, "multi": True}
    index = element()
    if not np.ndim(index):
        return [("x", name)], {"index": index}
    return [("x", name)], {"index": [-1 if g.chance(0.3) else i for i in index]}


# Reductions -------------------------------------------------------------------------------------------------------


@proposal("Sum", "Mean", "Min", "Max")
def reduction(g: Growth, class_name: str):
    first = g.any_node()
    if class_name in ("Min", "Max") and g.value(first).is_complex and not g.chance(0.03):
        return None
    dims, real = g.value(first).dims, class_name in ("Min", "Max")
    names = [first, *(g.of_dims(dims, real=real) for _ in range(int(g.rng.choice([0, 0, 1, 2]))))]
    state = {}
    if g.chance(0.7):
        axes = [axis for axis in ("time", "freq", "l", "m") if g.chance(0.4)]
        state["reduction_axes"] = axes
    if dims and g.chance(0.4):
        state["tensor_axis"] = int(g.rng.integers(len(dims)))
    return [("x", name) for name in names], state


@proposal("Condeq")
def condeq(g: Growth, _):
    data = g.any_node()
    children = [("data", data), ("model", partner(g, data))]
    if g.chance(0.6):
        dims = max((g.value(name).dims for _, name in children), key=len)
        weight = g.find(
            lambda v: v.dims in ((), dims) and not v.is_complex,
            lambda: g.random_constant(g.one_of((), dims), real=True, low=-0.2, high=3.0),
            0.3,
        )
        children.append(("weight", weight))
    return children, {"weight_factor": float(g.rng.uniform(0.1, 3))} if g.chance(0.4) else {}


@proposal("ChiSquare", "LogLikelihood")
def of_residuals(g: Growth, class_name: str):
    condeqs = [node.name for node in g.nodes if node.class_name == "Condeq"]
    names = [
        g.one_of(*condeqs) if condeqs and g.chance(0.8) else g.any_node() for _ in range(int(g.rng.integers(1, 4)))
    ]
    if not all(g.inside(name, lambda x: np.abs(x) < 1e30) for name in names):
        return None
    if any(g.value(name).extents != g.extents for name in names):
        return None
    posterior = {"posterior": True} if class_name == "LogLikelihood" and g.chance(0.5) else {}
    return [("residual", name) for name in names], posterior


# Flags ------------------------------------------------------------------------------------------------------------


@proposal("ZeroFlagger")
def zero_flagger(g: Growth, _):
    name = g.any_node()
    oper = (
        g.one_of("EQ", "NE")
        if g.value(name).is_complex and not g.chance(0.03)
        else g.one_of("EQ", "GE", "LE", "GT", "LT")
    )
    return [("x", name)], {"oper": oper, **({"flag_bit": int(g.one_of(1, 2, 4, 64))} if g.chance(0.7) else {})}


@proposal("MergeFlags")
def merge_flags(g: Growth, _):
    names = [g.any_node() for _ in range(int(g.rng.integers(1, 4)))]
    children = [("x", names[0]), *(("flags", name) for name in names[1:])]
    return children, {"flag_mask": int(g.one_of(1, 2, 7))} if g.chance(0.4) else {}


# Leaves -----------------------------------------------------------------------------------------------------------


@proposal("Constant")
def constant(g: Growth, _):
    dims = g.dims()
    kind = complex if g.chance(0.3) else float
    array = g.rng.uniform(-2, 2, dims) + (1j * g.rng.uniform(-2, 2, dims) if kind is complex else 0)
    return [], {"value": array}


@proposal("Time", "Freq")
def centres(g: Growth, _):
    return [], {}


@proposal("Grid")
def grid(g: Growth, _):
    return [], {"axis": g.one_of("time", "freq", "l", "m") if g.chance(0.3) else g.one_of("time", "freq")}


@proposal("GaussNoise")
def gauss_noise(g: Growth, _):
    dims = list(g.one_of((), (2,), (2, 2)))
    if len(g.extents) == 4 and g.extents[2:] != (1, 1):
        return None
    state = {"stddev": float(g.rng.uniform(0.1, 2)), "mean": float(g.rng.uniform(-1, 1)), "dims": dims}
    return [], {**state, "complex": g.chance(0.4), "seed": int(g.rng.integers(1000))}


@proposal("DeviceMemory")
def device_memory(g: Growth, _):
    if any(node.class_name == "DeviceMemory" for node in g.nodes) or g.chance(0.8):
        return None
    return [], {"device": "none"}


@proposal("Parm")
def parm(g: Growth, _):
    if g.chance(0.3):
        return [], {"value": float(g.rng.uniform(-2, 2)), "solvable": g.chance(0.5), **prior(g, ())}
    terms = tuple(int(n) for n in g.rng.integers(1, 4, 2))
    state = {"time_0_s": 5.0e9 + 3000.0, "time_scale_s": 5000.0, "freq_0_hz": 1.4e9, "freq_scale_hz": 2e7}
    tiles = []
    for name, axis in (("time_edges_s", 0), ("freq_edges_hz", 1)):
        own = g.cells.to_runtime()[axis]
        if own is None or g.chance(0.5):
            tiles.append(1)
            continue
        centre = np.sort(own[0])
        inner = (centre[1:] + centre[:-1]) / 2
        inner = inner[g.rng.random(len(inner)) < 0.5]
        state[name] = np.concatenate([[centre[0] - 1e6], inner, [centre[-1] + 1e6]])
        tiles.append(len(state[name]) - 1)
    shape = g.one_of(terms, terms[:1]) if tiles == [1, 1] or g.chance(0.3) else (*tiles, *terms)
    state |= prior(g, (*shape[-2:], 1)[:2])
    return [], {**state, "value": g.rng.uniform(-2, 2, shape), "solvable": g.chance(0.5)}


def prior(g: Growth, terms: tuple[int, ...]) -> dict:
    """No prior, one of the constant term, or one of each coefficient of `terms`."""
    if g.chance(0.6):
        return {}
    shape = terms if g.chance(0.5) else ()
    state = {"prior_sigma": g.rng.uniform(0.1, 3, shape)}
    return {**state, "prior_mean": g.rng.uniform(-2, 2, shape)} if g.chance(0.7) else state


class Blend:
    """A function of the kind that a user writes: on arrays [dims..., time, freq], with a text for scripts."""

    text = "lambda cells, *x: sum(np.cos(abs(one)) for one in x)"

    def __call__(self, cells, *x):
        return sum(np.cos(np.abs(one)) for one in x)


@proposal("PyNode")
def py_node(g: Growth, _):
    first = g.any_node()
    names = [first, *(partner_of_same_dims(g, first) for _ in range(int(g.rng.integers(0, 2))))]
    if not all(g.inside(name, lambda x: np.abs(x) < 30) for name in names):
        return None
    return [("child", name) for name in names], {"evaluate": Blend(), "dims": list(g.value(first).dims)}


def partner_of_same_dims(g: Growth, first: str) -> str:
    return g.of_dims(g.value(first).dims)
