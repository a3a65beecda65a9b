"""Opinions on sums, means and extremes over cells, and on residuals, their sums of squares and likelihoods."""

from __future__ import annotations

import numpy as np

from .elementwise import together
from .leaves import tiled_value
from .registry import Call, opinion
from .values import AXES, MEMBERS, RefusedError, Value, merged_by_element, moved


def in_one_form(call: Call, extents: tuple[int, ...]) -> list[Value]:
    """The children on cells of `extents`."""
    children = call.children
    if len({child.dims for child in children}) > 1:
        raise RefusedError(f"children of dimensions {[child.dims for child in children]}")
    dims = children[0].dims
    return [
        Value(
            np.broadcast_to(child.x, (MEMBERS, *dims, *extents)),
            np.broadcast_to(child.flags, (*dims, *extents)),
            np.broadcast_to(child.doubt, (*dims, *extents)),
        )
        for child in children
    ]


def extents_of(call: Call, reduced: list[int]) -> tuple[int, ...]:
    """Lengths of the axes: where they are reduced all cells of the request count, also where nothing varies."""
    shapes = [one for child in call.children for one in (child.extents, child.flags.shape[-4:])]
    together = np.broadcast_shapes(*shapes)
    return tuple(call.extents[i] if i in reduced else together[i] for i in range(4))


@opinion("Sum", "Mean", "Min", "Max")
def reduction(call: Call) -> Value:
    kind, tensor_axis = call.class_name, int(call.state["tensor_axis"])
    extreme = kind in ("Min", "Max")
    reduced = [AXES.index(axis) for axis in call.state["reduction_axes"]]
    if extreme and len(call.children) > 1:
        reduced = []
    children = in_one_form(call, extents_of(call, reduced))
    if extreme and any(child.is_complex for child in children):
        raise RefusedError(f"{kind} of complex numbers")
    dims = children[0].dims
    if tensor_axis >= len(dims):
        raise RefusedError(f"tensor_axis {tensor_axis} of {dims}")
    axes = (0, *([1 + tensor_axis] if tensor_axis >= 0 else []), *(1 + len(dims) + axis for axis in reduced))
    x = np.stack([child.x for child in children])  # [child, member, dims..., axes]
    flags, doubt = (np.stack([getattr(child, part) for child in children]) for part in ("flags", "doubt"))
    value = reduced_value(call, x, flags, doubt, axes, (1 + tensor_axis) if tensor_axis >= 0 else None)
    value.missing = kind != "Sum" and tensor_axis >= 0 and dims[tensor_axis] == 0  # there is nothing to begin with
    return value


def reduced_value(call: Call, x, flags, doubt, axes: tuple[int, ...], gone: int | None) -> Value:
    """Over `axes` of arrays [child, dims..., axes]; `gone`: the dimension of the tensor that is no more."""
    dropped = (0,) if gone is None else (0, gone)
    good = np.broadcast_to((flags == 0)[:, None], x.shape)
    where = (axes[0], *(axis + 1 for axis in axes[1:]))  # in x, behind whose first axis that of members comes
    count = np.sum(good, axis=where, keepdims=True)
    used = np.where(good, x, 0)
    total = np.sum(used, axis=where, keepdims=True)
    scale = np.sum(np.abs(used), axis=where, keepdims=True)
    scale = scale * (1 + count / 32)  # sums one after the other may be off by an eps for each term
    if call.class_name == "Mean":
        total, scale = total / np.maximum(count, 1), scale / np.maximum(count, 1)
    elif call.class_name in ("Min", "Max"):
        sign = 1.0 if call.class_name == "Max" else -1.0
        total = sign * np.max(np.where(good, sign * x, -np.inf), axis=where, keepdims=True, initial=-np.inf)
        scale = np.zeros_like(total)
    nothing = count == 0
    total = np.where(nothing, 0, total)
    shape_x = tuple(0 if axis == 0 else axis + 1 for axis in dropped)
    merged = np.bitwise_or.reduce(flags, axis=axes, keepdims=True) if len(axes) else flags
    merged = np.where(np.all(nothing, axis=1), merged, 0)
    unsure = np.any(doubt, axis=axes, keepdims=True)
    return Value(
        moved(np.squeeze(total, shape_x), np.squeeze(np.where(nothing, 0, scale), shape_x), call.rng),
        np.squeeze(merged, dropped),
        np.squeeze(unsure, dropped),
    )


@opinion("Condeq")
def condeq(call: Call) -> Value:
    data, model, weight = call.child("data"), call.child("model"), call.child("weight")
    pair = Call(**{**vars(call), "children": [data, model], "labels": ["data", "model"]})
    a, b = together(pair)
    difference = a - b
    if weight is not None:  # a residual varies where its weight does
        extents = np.broadcast_shapes(difference.shape[-4:], weight.extents)
        difference = np.broadcast_to(difference, (*difference.shape[:-4], *extents))
    value = pair.result(difference, by_element=True)
    factor = np.full((1, 1, 1, 1), float(call.state["weight_factor"]))
    value.weight = np.broadcast_to(factor, (MEMBERS, *factor.shape))
    if weight is not None:
        if weight.is_complex:
            raise RefusedError("complex weights")
        value.weight = weight.x * factor
        extents = np.broadcast_shapes(value.flags.shape[-4:], weight.flags.shape[-4:])
        for part in ("flags", "doubt"):
            merged = merged_by_element([data, model, weight], value.dims, extents, part)
            setattr(value, part, merged)
    return value


def weighted_squares(call: Call):
    """For each residual |r|^2, its weight and where both count, on the cells on which any of them varies."""
    for child in call.children:
        if child.missing:
            continue
        weight = getattr(child, "weight", np.ones((1,) * 5))
        if weight.ndim < child.x.ndim:
            weight = weight.reshape(weight.shape[:1] + (1,) * len(child.dims) + weight.shape[1:])
        shape = np.broadcast_shapes(child.x.shape, weight.shape, (MEMBERS, *child.flags.shape))
        x, weight = np.broadcast_to(child.x, shape), np.broadcast_to(weight, shape)
        good = np.broadcast_to(child.flags == 0, shape) & np.isfinite(weight) & (weight > 0) & np.isfinite(x)
        parts = 2 if child.is_complex else 1
        yield np.where(good, np.abs(x) ** 2, 0), np.where(good, weight, 1), good, parts


def total_value(call: Call, total: np.ndarray, scale: np.ndarray) -> Value:
    doubt = np.array(any(np.any(child.doubt) for child in call.children)).reshape(1, 1, 1, 1)
    members = moved(total.reshape(MEMBERS, 1, 1, 1, 1), scale.reshape(MEMBERS, 1, 1, 1, 1), call.rng)
    return Value(members, np.zeros((1, 1, 1, 1), int), doubt, all(child.missing for child in call.children))


@opinion("ChiSquare")
def chi_square(call: Call) -> Value:
    total, terms = np.zeros(MEMBERS), 0
    for square, weight, good, _ in weighted_squares(call):
        terms += good[0].size
        total = total + np.sum(np.where(good, square * weight, 0), axis=tuple(range(1, square.ndim)))
    return total_value(call, total, total * (1 + terms / 32))


@opinion("LogLikelihood")
def log_likelihood(call: Call) -> Value:
    total, scale, terms = np.zeros(MEMBERS), np.zeros(MEMBERS), 0
    for square, weight, good, parts in weighted_squares(call):
        terms += good[0].size
        axes = tuple(range(1, square.ndim))
        norms = np.where(good, 0.5 * parts * np.log(weight / (2 * np.pi)), 0)
        total = total + np.sum(norms - np.where(good, 0.5 * square * weight, 0), axis=axes)
        scale = scale + np.sum(np.abs(norms) + np.where(good, 0.5 * square * weight, 0), axis=axes)
    for state in call.parms if call.state["posterior"] else []:
        prior = log_prior(state) if state["solvable"] else 0.0
        total, scale = total + prior, scale + abs(prior)
    return total_value(call, total, scale * (1 + terms / 32))


def log_prior(state: dict) -> float:
    """Sum of the logarithms of the normalised Gaussian priors of a Parm's coefficients, in each of its tiles."""
    value = tiled_value(state)
    mean, sigma = (np.asarray(state[name], float) for name in ("prior_mean", "prior_sigma"))
    if sigma.size <= 1:  # of the constant term
        value = value[..., :1, :1]
    sigma, mean = (one.reshape(value.shape[2:]) if one.size > 1 else one.ravel() for one in (sigma, mean))
    mean = mean if mean.size else np.zeros(1)
    if not np.any(sigma):
        return 0.0
    return float(np.sum(-0.5 * ((value - mean) / sigma) ** 2 - np.log(sigma * np.sqrt(2 * np.pi))))
