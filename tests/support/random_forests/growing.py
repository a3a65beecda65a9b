"""Random trees of all classes: a pool of nodes, to which nodes on top of some of them are added."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from second_opinion import Interpreter, RefusedError, Value

import rimetree as rt

from .comparing import BELIEVED, placeholder
from .tree import Node, Tree

PROPOSALS: dict[str, Callable] = {}
OUT_OF_DOMAIN = 0.03  # how often a node may get children outside of where its function is defined


def proposal(*names: str):
    """The decorated function proposes a node of one of these classes: (children, state), or None."""

    def register(function):
        for name in names:
            PROPOSALS[name] = function
        return function

    return register


def random_cells(rng: np.random.Generator) -> rt.Cells:
    """Grids with any of their axes, of one or of several cells, equally spaced or not."""
    n_time, n_freq = (int(rng.choice([0, 1, 1, 2, 3, 5, 17])) for _ in range(2))
    axes = {}
    if n_time:
        axes["time_s"] = 5.0e9 + np.sort(rng.choice(1000, n_time, replace=False)) * 7.5
        axes["time_width_s"] = rng.uniform(1, 10, n_time)
    if n_freq:
        step = rng.choice([1e6, -1e6])
        axes["freq_hz"] = 1.4e9 + step * (np.arange(n_freq) + (rng.random() < 0.5) * rng.uniform(0, 0.5, n_freq))
        axes["freq_width_hz"] = rng.choice([1e6, 2.5e5])
    if rng.random() < 0.05:
        axes["l"] = rng.uniform(-0.1, 0.1, rng.integers(1, 4))
        axes["m"] = rng.uniform(-0.1, 0.1, rng.integers(1, 3))
    return rt.Cells(**axes)


class Growth:
    """A tree that grows; the second opinion's values say what fits where."""

    def __init__(self, rng: np.random.Generator, cells: rt.Cells):
        self.rng, self.cells, self.nodes = rng, cells, []
        self.interpreter = Interpreter(cells, seed=int(rng.integers(2**31)))
        self.refused: Node | None = None
        self.extents = tuple(1 if axis is None else len(axis[0]) for axis in cells.to_runtime())
        self.sources = int(rng.choice([0, 1, 2, 3, 7], p=[0.03, 0.27, 0.3, 0.3, 0.1]))

    # Choices ----------------------------------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def one_of(self, *items):
        return items[int(self.rng.integers(len(items)))]

    def value(self, name: str) -> Value:
        return self.interpreter.values[name]

    def dims(self) -> tuple[int, ...]:
        s = max(self.sources, 1)
        return self.one_of((), (), (2,), (3,), (2, 2), (2, 2), (1,), (2, 3), (s,), (s, 2, 2), (s, 3), (2, 1))

    # Nodes ------------------------------------------------------------------------------------------------------

    def new_name(self) -> str:
        k = len(self.nodes)
        return self.one_of(f"x{k}", f"x:{k}", f"x:{k}:1", f"part:{k}::y", f"y:a{k}")

    def add(self, class_name: str, children, state) -> str | None:
        """The name of the new node; None where the second opinion refuses it."""
        inline = self.chance(0.3) and class_name not in (*BELIEVED, "Parm")  # noise depends on the node's name
        node = Node(self.new_name(), class_name, tuple(children), state, inline)
        if class_name in BELIEVED:
            self.interpreter.outside[node.name] = placeholder(node, self.cells)
        try:
            self.interpreter.add(node)
        except RefusedError:
            self.refused = node
            return None
        self.nodes.append(node)
        return node.name

    def constant(self, array, cells_rank: int = 0) -> str:
        state = {"value": np.asarray(array), **({"cells_rank": cells_rank} if cells_rank else {})}
        return self.add("Constant", (), state)

    def random_constant(self, dims=(), *, real: bool | None = None, low=-2.0, high=2.0) -> str:
        """Numbers, the same on all cells or varying along time, frequency or both."""
        shape = tuple(dims)
        rank = int(self.rng.choice([0, 0, 1, 2]))
        shape += tuple(n if self.chance(0.7) else 1 for n in self.extents[:rank])
        array = self.rng.uniform(low, high, shape)
        if self.chance(0.1):
            array = np.where(self.rng.random(shape) < 0.3, 0.0, array)
        if real is False or (real is None and self.chance(0.4)):
            array = array + 1j * self.rng.uniform(low, high, shape)
        return self.constant(array, rank)

    def find(self, fits, otherwise: Callable[[], str], reuse: float = 0.8) -> str:
        """A node of the pool whose value fits, or another."""
        found = [node.name for node in self.nodes if fits(self.value(node.name))] if self.chance(reuse) else []
        return self.one_of(*found) if found else otherwise()

    def any_node(self) -> str:
        return self.find(lambda v: True, lambda: self.random_constant(self.dims()))

    def of_dims(self, *dims: tuple[int, ...], real: bool | None = None) -> str:
        """A node with one of these dimensions."""
        return self.find(
            lambda v: v.dims in dims and (not real or not v.is_complex),
            lambda: self.random_constant(self.one_of(*dims), real=True if real else None),
        )

    def inside(self, name: str, domain: Callable[[np.ndarray], np.ndarray]) -> bool:
        """Whether a node's values are where a function is defined (sometimes that does not matter)."""
        with np.errstate(all="ignore"):
            return bool(np.all(domain(self.value(name).x))) or self.chance(OUT_OF_DOMAIN)

    def propose(self, class_name: str) -> str | None:
        proposed = PROPOSALS[class_name](self, class_name)
        return None if proposed is None else self.add(class_name, *proposed)


def grow(rng: np.random.Generator, classes: list[str] | None = None) -> tuple[Tree, rt.Cells]:
    """A random tree and cells for it. Its roots are the last node and some others."""
    growth = Growth(rng, random_cells(rng))
    wanted = int(rng.integers(2, 12))
    classes = classes or sorted(PROPOSALS)
    added = []
    for _ in range(10 * wanted):
        name = growth.propose(str(rng.choice(classes)))
        if name is None and growth.refused is not None:
            if growth.chance(0.5):  # what has to be refused is a case too
                return Tree([*growth.nodes, growth.refused], [growth.refused.name]).pruned(), growth.cells
            growth.refused = None
        added += [name] if name else []
        if len(added) >= wanted:
            break
    others = [str(name) for name in rng.choice(added[:-1], min(2, len(added) - 1), replace=False)] if added else []
    roots = list(dict.fromkeys([*(added[-1:] or [growth.random_constant()]), *others]))
    return Tree(growth.nodes, roots).pruned(), growth.cells


def random_options(rng: np.random.Generator) -> dict:
    """How exactly monolithic sums are asked for: mostly in double precision."""
    kind = rng.random()
    if kind < 0.8:
        return {}
    return {"precision": "single"} if kind < 0.9 else {"tolerance": float(10.0 ** rng.uniform(-11, -3))}
