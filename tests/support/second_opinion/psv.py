"""The opinion on PSV: a plain sum over sources in extended precision, in the words of docs/conventions.md."""

from __future__ import annotations

import numpy as np

from .matrices import elements_first, elements_last
from .registry import Call, opinion
from .sky import checked_lmn, path_m, phasor, required, rows_of_uvw, smearing, taper
from .values import Value

#: So that members of the ensemble, which move by half of this to all of it, times the margin of comparisons (8), allow
#: for the documented bound.
BOUND = 0.2


def as_matrices(x: np.ndarray, sources: int, what: str) -> np.ndarray:
    """[member, axes, source, 2, 2] in extended precision, of numbers or matrices per source."""
    dims = x.shape[1:-4]
    required(dims in ((sources,), (sources, 2, 2)), f"{what} of dimensions {dims} for {sources} sources")
    last = elements_last(x).astype(np.clongdouble)
    return last if dims[1:] else last[..., None, None] * np.eye(2)


@opinion("PSV")
def psv(call: Call) -> Value:
    lmn = checked_lmn(call.child("lmn").x)
    required(lmn.ndim == 7, "lmn of one source must be [1,3]")
    sources = lmn.shape[1]
    uvw, rates = rows_of_uvw(call.child("uvw").x)
    nu = call.axis("freq")
    weight = phasor(path_m(lmn, uvw, int(call.state["n_minus"])), nu)
    if rates is not None:
        weight = weight * smearing(call, lmn, uvw, rates)
    shape = call.child("shape")
    if shape is not None:
        required(
            shape.dims in [(sources, n) for n in (3, 4, 6, 7)],
            f"shapes of dimensions {shape.dims} for {sources} sources",
        )
        weight = weight * taper(shape.x, uvw, nu)
    terms = as_matrices(call.child("brightness").x, sources, "brightness")
    size = np.linalg.norm(terms.astype(complex), axis=(-2, -1))
    jones = [child for child, label in zip(call.children, call.labels, strict=True) if label == "jones"]
    required(len(jones) % 2 == 0, "Jones terms come in pairs")
    for left, right in zip(jones[::2], jones[1::2], strict=True):
        j_p, j_q = (as_matrices(one.x, sources, "Jones terms") for one in (left, right))
        terms = product(product(j_p, terms), j_q)
        for one in (j_p, j_q):
            size = size * np.linalg.norm(one.astype(complex), axis=(-2, -1))
    vis = np.sum(elements_last(weight)[..., None, None] * terms, axis=-3)
    flux = np.sum(size, axis=-1)[..., None, None]
    x = elements_first(vis.astype(complex))
    scale = elements_first(np.max(flux, axis=(1, 2, 3, 4), keepdims=True))
    # conventions.md, Precision: this is a bound on the error, and not what it may typically be.
    return call.result(x, np.broadcast_to(scale, x.shape), rounding=BOUND * call.precision)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products of 2x2 matrices; `@` goes through object loops for extended precision."""
    return np.sum(a[..., :, :, None] * b[..., None, :, :], axis=-2)
