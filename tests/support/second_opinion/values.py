"""What a node gives, as the second opinion holds it: an ensemble of values, flags, and what cannot be told.

A value is computed several times at once: the first member of the ensemble is the value, and in each of the others the
outcome of every node is moved by about what that node may round by. How far the members lie apart at the root is how
far two correct programs may lie apart there, whatever the tree does to rounding on the way (cancellation, wrapped
phases, steep functions). So each comparison has a tolerance of its own, and none is tuned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MEMBERS = 9
PAIRS = (MEMBERS - 1) // 2
AXES = ("time", "freq", "l", "m")
ROUNDING = 4 * np.finfo(float).eps  # what one operation may be off by, of its scale: two results, each 2 eps


class RefusedError(Exception):
    """The tree must not be built, or not be evaluated: what the documentation does not allow."""


@dataclass
class Value:
    """A tensor on cells: `x` [member, dims..., time, freq, l, m], `flags` and `doubt` [dims..., time, freq, l, m].

    `flags` are bits. `doubt` is true where documentation or rounding leaves open what comes out: behind infinities, and
    where moved members disagree on a comparison. `missing`: there are no data. `zeros` [dims...]: which elements are 0
    by how the tree is written (None: none).
    """

    x: np.ndarray
    flags: np.ndarray
    doubt: np.ndarray
    missing: bool = False
    zeros: np.ndarray | None = None

    @property
    def has(self) -> np.ndarray:
        """[dims...]: which elements are not 0 by how the tree is written."""
        return np.ones(self.dims, bool) if self.zeros is None else ~self.zeros

    @property
    def dims(self) -> tuple[int, ...]:
        return self.x.shape[1:-4]

    @property
    def extents(self) -> tuple[int, ...]:
        return self.x.shape[-4:]

    @property
    def is_complex(self) -> bool:
        return np.iscomplexobj(self.x)


def exact(array) -> Value:
    """A value that is known: `array` [dims..., time, freq, l, m], the same for all members."""
    array = np.asarray(array)
    array = array.astype(complex if np.iscomplexobj(array) else float)
    members = np.broadcast_to(array, (MEMBERS, *array.shape))
    return Value(members, np.zeros(array.shape, int), np.zeros(array.shape, bool))


def moved(x: np.ndarray, scale, rng: np.random.Generator, rounding: float = ROUNDING) -> np.ndarray:
    """`x` with all members but the first moved by about `rounding * scale`, half of them this way and half that.

    Opposite steps are to either side of whatever is sharp: a branch cut, a comparison.
    """
    x = np.array(x, dtype=complex if np.iscomplexobj(x) else float)
    size = rounding * np.abs(np.broadcast_to(scale, x.shape)[1 : 1 + PAIRS].astype(float))
    step = rng.uniform(0.5, 1.0, size.shape) * size
    if np.iscomplexobj(x):
        step = step * np.exp(2j * np.pi * rng.random(size.shape))
    x[1 : 1 + PAIRS] += step
    x[1 + PAIRS :] -= step
    return x


def lifted(array: np.ndarray, before: int, dims: tuple[int, ...]) -> np.ndarray:
    """A scalar's array [..., axes] with axes of length 1 for the dimensions of a tensor; a tensor's as it is."""
    have = array.ndim - before - 4
    if have == len(dims):
        return array
    return array.reshape(array.shape[:before] + (1,) * len(dims) + array.shape[before:])


def merged_by_element(children: list[Value], dims: tuple[int, ...], extents, part: str) -> np.ndarray:
    """Flags (or doubts) of children element by element: those of a scalar hold for all elements."""
    kind = int if part == "flags" else bool
    total = np.zeros((*dims, *extents), kind)
    for child in children:
        total = total | lifted(getattr(child, part), 0, dims)
    return total


def merged_all(children: list[Value], dims: tuple[int, ...], extents, part: str) -> np.ndarray:
    """Flags (or doubts) of all elements of all children, for all elements of a result."""
    total = np.zeros((1,) * 4, int if part == "flags" else bool)
    for child in children:
        bits = getattr(child, part)
        elements = bits.reshape(-1, *bits.shape[-4:])
        total = total | np.bitwise_or.reduce(elements, axis=0)
    return np.broadcast_to(total, (*dims, *np.broadcast_shapes(total.shape, extents))).copy()
