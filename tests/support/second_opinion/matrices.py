"""Opinions on matrices, stacks of matrices, and classes that put elements in order."""

from __future__ import annotations

import functools

import numpy as np

from .registry import Call, opinion
from .values import MEMBERS, RefusedError, Value


def elements_last(x: np.ndarray) -> np.ndarray:
    """[member, dims..., axes] as [member, axes, dims...]."""
    return np.moveaxis(x, (-4, -3, -2, -1), (1, 2, 3, 4))


def elements_first(x: np.ndarray) -> np.ndarray:
    return np.moveaxis(x, (1, 2, 3, 4), (-4, -3, -2, -1))


def arranged(call: Call, arrange) -> Value:
    """The children's elements in another order: `arrange` takes a list of arrays [axes, dims...] to such an array.

    Flags go with their elements.
    """
    kind = complex if any(child.is_complex for child in call.children) else float
    members = [in_order(arrange, [child.x[m].astype(kind) for child in call.children]) for m in range(MEMBERS)]
    parts = [in_order(arrange, [getattr(child, part) for child in call.children]) for part in ("flags", "doubt")]
    has = in_order(arrange, [child.has[..., None, None, None, None] for child in call.children])
    return Value(np.stack(members), *parts, zeros=~has[..., 0, 0, 0, 0])


def in_order(arrange, parts: list[np.ndarray]) -> np.ndarray:
    """`arrange` for arrays [dims..., axes]."""
    extents = np.broadcast_shapes(*(part.shape[-4:] for part in parts))
    full = [np.broadcast_to(part, (*part.shape[:-4], *extents)) for part in parts]
    result = arrange([np.moveaxis(part, (-4, -3, -2, -1), (0, 1, 2, 3)) for part in full])
    return np.moveaxis(result, (0, 1, 2, 3), (-4, -3, -2, -1))


@opinion("Matrix22")
def matrix22(call: Call) -> Value:
    if any(child.dims for child in call.children):
        raise RefusedError("Matrix22 of tensors")
    return arranged(call, lambda parts: np.stack(parts, axis=-1).reshape(*parts[0].shape, 2, 2))


@opinion("ConjTranspose", "Transpose")
def transpose(call: Call) -> Value:
    (child,) = call.children
    if len(child.dims) > 3:
        raise RefusedError("transpose of more than a stack of matrices")
    conj = call.class_name == "ConjTranspose" or call.state["conj"]
    value = arranged(call, lambda parts: np.swapaxes(parts[0], -2, -1) if len(child.dims) >= 2 else parts[0])
    value.x = np.conj(value.x) if conj else value.x
    return value


@opinion("Composer")
def composer(call: Call) -> Value:
    dims = [int(n) for n in np.atleast_1d(call.state["dims"])]
    children = [child.dims for child in call.children]
    if dims == [0]:
        if len(set(children)) > 1:
            raise RefusedError(f"a stack of {children}")
        dims = [len(children), *children[0]]
    count = sum(int(np.prod(one)) for one in children)
    if not dims:
        dims = [count]
    if len(dims) > 4:
        raise RefusedError(f"{len(dims)} dimensions")
    if int(np.prod(dims)) != count:
        raise RefusedError(f"{count} elements as {dims}")

    def arrange(parts):
        return np.concatenate([p.reshape(*p.shape[:4], -1) for p in parts], axis=-1).reshape(*parts[0].shape[:4], *dims)

    return arranged(call, arrange)


@opinion("Selector")
def selector(call: Call) -> Value:
    index = np.atleast_1d(np.asarray(call.state["index"])).astype(int)
    if not call.state["multi"]:
        return arranged(call, lambda parts: selected(parts[0], index))
    return arranged(call, lambda parts: np.stack([selected(parts[0], np.atleast_1d(one)) for one in index], axis=-1))


def selected(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    """An element or slice of [axes, dims...]."""
    dims = x.shape[4:]
    if len(index) == 1 and len(dims) != 1:
        if not 0 <= index[0] < np.prod(dims):
            raise RefusedError(f"element {index} of {dims}")
        return x.reshape(*x.shape[:4], -1)[..., index[0]]
    if len(index) != len(dims) or any(not -1 <= i < n for i, n in zip(index, dims, strict=True)):
        raise RefusedError(f"index {index} of {dims}")
    return x[(..., *(slice(None) if i < 0 else int(i) for i in index))]


@opinion("MatrixInvert22")
def invert22(call: Call) -> Value:
    (child,) = call.children
    x = child.x.astype(complex)
    if len(child.dims) < 2:
        return call.result(1 / x)
    if child.dims[-2:] != (2, 2) or len(child.dims) > 3:
        raise RefusedError(f"inverse of {child.dims}")
    a, b, c, d = (x[..., i, j, :, :, :, :] for i in (0, 1) for j in (0, 1))
    det = a * d - b * c
    rows = [np.stack([d, -b], -5), np.stack([-c, a], -5)]
    inverse = np.stack(rows, -6) / det[..., None, None, :, :, :, :]
    # The determinant is off by rounding of its products.
    relative = (np.abs(a * d) + np.abs(b * c)) / np.abs(det)
    value = call.result(inverse, np.abs(inverse) * (1 + relative[..., None, None, :, :, :, :]))
    value.zeros = ~(child.has | np.eye(2, dtype=bool))
    return value


@opinion("MatrixMultiply")
def matrix_multiply(call: Call) -> Value:
    product, size = call.children[0].x, np.abs(call.children[0].x)
    for child in call.children[1:]:
        x = child.x
        product, size = multiplied(product, x), multiplied(size, np.abs(x))
    value = call.result(product, 4 * len(call.children) * size)
    return with_flags_of_parts(value, call.children)


def with_flags_of_parts(value: Value, children: list[Value]) -> Value:
    """A product with the flags, element by element, of what has a part in it, so that the product is not 0 if it alone
    counts. Where nothing has, of everything."""
    if any(np.size(child.has) > 64 for child in (value, *children)):
        return value
    counts = [child.has.astype(float)[None, ..., None, None, None, None] for child in children]
    of_all = {"flags": value.flags, "doubt": value.doubt}
    own = {name: np.zeros_like(bits) for name, bits in of_all.items()}
    for k, child in enumerate(children):
        for element in np.ndindex(child.dims):
            alone = np.zeros_like(counts[k])
            alone[(0, *element)] = counts[k][(0, *element)]
            product = functools.reduce(multiplied, [*counts[:k], alone, *counts[k + 1 :]])
            has_part = np.broadcast_to(product[0], (*value.dims, 1, 1, 1, 1)) > 0
            for name, bits in own.items():
                bits |= np.where(has_part, getattr(child, name)[element], 0).astype(bits.dtype)
    value.zeros = ~(functools.reduce(multiplied, counts)[0, ..., 0, 0, 0, 0] > 0)
    empty = value.zeros[..., None, None, None, None]
    value.flags, value.doubt = (np.where(empty, of_all[name], own[name]) for name in ("flags", "doubt"))
    return value


def multiplied(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product of two tensors by the rules of MatrixMultiply."""
    a, b = elements_last(a), elements_last(b)
    ranks = a.ndim - 5, b.ndim - 5
    if 0 in ranks:
        short, long = (a, b) if ranks[0] == 0 else (b, a)
        return elements_first(short.reshape(short.shape + (1,) * (long.ndim - 5)) * long)
    if 3 in ranks and 1 in ranks:  # one scalar for each matrix of a stack
        scalars, stack = (a, b) if ranks[0] == 1 else (b, a)
        if scalars.shape[5] != stack.shape[5]:
            raise RefusedError(f"{scalars.shape[5:]} scalars next to a stack {stack.shape[5:]}")
        return elements_first(scalars[..., None, None] * stack)
    left = a[..., None, :] if ranks[0] == 1 else a
    right = b[..., :, None] if ranks[1] == 1 else b
    if 3 in ranks:
        left, right = (m[..., None, :, :] if rank == 2 else m for m, rank in zip((left, right), ranks, strict=True))
    if max(ranks) > 3 or left.shape[-1] != right.shape[-2]:
        raise RefusedError(f"product of {a.shape[5:]} and {b.shape[5:]}")
    if ranks == (3, 3) and left.shape[5] != right.shape[5]:
        raise RefusedError(f"product of stacks {a.shape[5:]} and {b.shape[5:]}")
    product = left @ right
    if ranks[1] == 1:
        product = product[..., 0]
    if ranks[0] == 1:
        product = product[..., 0, :] if ranks[1] != 1 else product[..., 0]
    return elements_first(product)


@opinion("Norm")
def norm(call: Call) -> Value:
    (child,) = call.children
    tensor = tuple(range(1, 1 + len(child.dims)))
    return call.result(np.sqrt(np.sum(np.abs(child.x) ** 2, axis=tensor)))
