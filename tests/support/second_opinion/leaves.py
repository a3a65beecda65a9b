"""Opinions on nodes without children, on flags, and on what passes values on."""

from __future__ import annotations

import operator

import numpy as np

from .registry import Call, opinion
from .values import MEMBERS, RefusedError, Value, exact, merged_all, merged_by_element


@opinion("Constant")
def constant(call: Call) -> Value:
    array, rank = np.asarray(call.state["value"]), int(call.state["cells_rank"])
    extents = array.shape[array.ndim - rank :] + (1,) * (4 - rank)
    for own, asked in zip(extents, call.extents, strict=True):
        if own not in (1, asked):
            raise RefusedError(f"a constant on {extents} cells for a request of {call.extents}")
    value = exact(array.reshape(array.shape[: array.ndim - rank] + extents))
    value.zeros = np.all(value.x[0] == 0, axis=(-4, -3, -2, -1)) if array.size else None
    return value


@opinion("Time", "Freq", "Grid")
def centres(call: Call) -> Value:
    axis = call.state["axis"] if call.class_name == "Grid" else call.class_name.lower()
    return exact(call.axis(axis))


def tiled_value(state: dict) -> np.ndarray:
    """A Parm's value as [time tile, freq tile, time term, freq term]."""
    value = np.asarray(state["value"], float)
    n_tiles = [max(1, np.size(state[name]) - 1) for name in ("time_edges_s", "freq_edges_hz")]
    if np.prod(n_tiles) > 1 and value.shape in (tuple(n_tiles), (np.prod(n_tiles),)):
        raise RefusedError(f"a value of shape {value.shape} could be one per tile, or a polynomial")
    if value.ndim < 2:
        value = value.reshape(-1, 1)
    if value.ndim == 2:
        value = np.broadcast_to(value, (*n_tiles, *value.shape))
    if value.ndim != 4 or list(value.shape[:2]) != n_tiles:
        raise RefusedError(f"a value of shape {value.shape} for {n_tiles} tiles")
    return value


@opinion("Parm")
def parm(call: Call) -> Value:
    state, value = call.state, tiled_value(call.state)
    n_tiles = value.shape[:2]
    powers, tiles = [], []
    for name, edges, zero, scale, terms, count in (
        ("time", "time_edges_s", "time_0_s", "time_scale_s", value.shape[2], n_tiles[0]),
        ("freq", "freq_edges_hz", "freq_0_hz", "freq_scale_hz", value.shape[3], n_tiles[1]),
    ):
        varies = terms > 1 or count > 1
        centre = call.axis(name).ravel() if varies else np.zeros(1)
        powers.append(((centre - state[zero]) / state[scale])[:, None] ** np.arange(terms))
        tile = np.searchsorted(np.asarray(state[edges]), centre, side="right") - 1 if count > 1 else np.zeros(1, int)
        tiles.append(np.clip(np.broadcast_to(tile, centre.shape), 0, count - 1))
    own = value[tiles[0][:, None], tiles[1][None, :]]  # [time, freq, time term, freq term]
    terms = own * powers[0][:, None, :, None] * powers[1][None, :, None, :]
    x, scale = (np.sum(one, axis=(2, 3))[:, :, None, None] for one in (terms, np.abs(terms)))
    degree = value.shape[2] + value.shape[3] - 2
    return call.result(exact(x).x, exact(scale * degree).x)


@opinion("GaussNoise")
def gauss_noise(call: Call) -> Value:
    """Which numbers come is not documented, what they look like is: these are held to that, and then believed."""
    state, x = call.state, call.outside[call.name]
    dims = tuple(int(n) for n in np.atleast_1d(state["dims"]))
    if x.shape[:-4] != dims or x.shape[-4:-2] != call.extents[:2] or np.iscomplexobj(x) != state["complex"]:
        raise AssertionError(f"noise of shape {x.shape}, expected {dims} on {call.extents} cells")
    deviations = np.stack([np.real(x) - state["mean"], np.imag(x)]).ravel()
    # Beyond 7.5 standard deviations lies one number in 1e13.
    assert np.all(np.abs(deviations) <= 7.5 * state["stddev"] * (1 + 1e-12)), "noise is too large"
    return exact(x)


def places_of(places: list[Value]) -> tuple[np.ndarray, tuple[int, ...]]:
    """[index, member, source, axes] of all indices in one child, or of each in its own; and () or how many sources."""
    if any(place.is_complex for place in places):
        raise RefusedError("a place is complex")
    all_dims = [place.dims for place in places]
    if len(places) == 1 and all_dims[0]:
        (place,) = places
        if len(place.dims) > 2:
            raise RefusedError(f"a place of dimensions {place.dims}")
        return np.moveaxis(place.x.reshape(len(place.x), -1, place.dims[-1], *place.extents), 2, 0), place.dims[:-1]
    sources = {dims for dims in all_dims if dims}
    if any(len(dims) > 1 for dims in sources) or len(sources) > 1:
        raise RefusedError(f"places of dimensions {all_dims}")
    one_by_one = [place.x.reshape(len(place.x), -1, *place.extents) for place in places]
    return np.stack(np.broadcast_arrays(*one_by_one)), next(iter(sources), ())


def entry_weights(at: np.ndarray, n: int, method: str) -> np.ndarray:
    """[..., entry]: what each of n entries counts for at places [...] of a table.

    By lines: hats of height 1 and half width 1. By cubics: Hermite's polynomials, with slopes that are half of the
    difference of both neighbours, and at the ends those of parabolas.
    """
    if n < 3 or method == "linear":
        return np.clip(1 - np.abs(at[..., None] - np.arange(n)), 0, None)
    entries, slopes = np.eye(n), (np.eye(n, k=1) - np.eye(n, k=-1)) / 2
    slopes[0, :3], slopes[-1, -3:] = [-1.5, 2, -0.5], [0.5, -2, 1.5]
    known = np.where(np.isnan(at), 0, at)
    i = np.clip(np.floor(known).astype(int), 0, n - 2)
    t = (known - i)[..., None]
    return (
        (1 + 2 * t) * (1 - t) ** 2 * entries[i]
        + t * (1 - t) ** 2 * slopes[i]
        + t**2 * (3 - 2 * t) * entries[i + 1]
        - t**2 * (1 - t) * slopes[i + 1]
    )


@opinion("Interpolate")
def interpolate(call: Call) -> Value:
    table = call.child("table")
    p, sources = places_of([child for child, own in zip(call.children, call.labels, strict=True) if own == "place"])
    k = len(p)
    if not 1 <= k <= 3 or len(table.dims) < k or 0 in table.dims[:k]:
        raise RefusedError(f"places of {k} indices in a table of {table.dims}")
    last = np.array(table.dims[:k]).reshape(k, *[1] * (p.ndim - 1)) - 1
    inside = np.all((p >= -1e-6) & (p <= last + 1e-6), axis=0)
    grid = table.x.reshape(len(table.x), *table.dims[:k], -1, *table.extents)
    # [member, source, entries.., axes] times [member, entries.., numbers, axes]
    weight = np.ones((*p.shape[1:3], *[1] * k, *p.shape[3:]))
    for d in range(k):
        own = entry_weights(np.clip(p[d], 0, last[d]), table.dims[d], call.state["method"])
        own = np.moveaxis(own, -1, 2)  # [member, source, entry, axes]
        weight = weight * own.reshape(*own.shape[:2], *[-1 if e == d else 1 for e in range(k)], *own.shape[3:])
    weight, grid = weight[(slice(None),) * (2 + k) + (None,)], grid[:, None]
    with np.errstate(invalid="ignore"):
        terms = np.where(weight == 0, 0, weight * grid)
    y = terms.sum(axis=tuple(range(2, 2 + k)))  # [member, source, numbers, axes]
    scale = np.abs(terms).sum(axis=tuple(range(2, 2 + k))) + 100 * np.abs(np.where(weight == 0, 0, grid)).max(
        axis=tuple(range(2, 2 + k))
    )
    outside = {"nan": np.nan, "zero": 0.0}.get(call.state["outside"])
    if outside is not None:
        y = np.where(inside[:, :, None], y, outside)
        scale = np.where(inside[:, :, None], scale, 0)
    y = np.where(np.isnan(p).any(axis=0)[:, :, None], np.nan, y)
    shape = (*sources, *table.dims[k:])
    return call.result(y.reshape(len(y), *shape, *y.shape[-4:]), scale.reshape(len(y), *shape, *y.shape[-4:]))


@opinion("Identity")
def identity(call: Call) -> Value:
    return call.children[0]


COMPARISONS = {
    "EQ": operator.eq,
    "NE": operator.ne,
    "GE": operator.ge,
    "LE": operator.le,
    "GT": operator.gt,
    "LT": operator.lt,
}


@opinion("ZeroFlagger")
def zero_flagger(call: Call) -> Value:
    (child,) = call.children
    oper = call.state["oper"]
    if child.is_complex and oper not in ("EQ", "NE"):
        raise RefusedError(f"complex values compared by {oper}")
    hit = COMPARISONS[oper](child.x, 0)
    differ = np.any(hit != hit[:1], axis=0) | np.any(np.isnan(child.x), axis=0)
    return Value(child.x, child.flags | np.where(hit[0], int(call.state["flag_bit"]), 0), child.doubt | differ)


@opinion("MergeFlags")
def merge_flags(call: Call) -> Value:
    first, mask = call.children[0], int(call.state["flag_mask"])
    flags, doubt = first.flags, first.doubt
    for child in call.children[1:]:
        if child.missing:
            continue
        merge = merged_by_element if child.dims == first.dims else merged_all
        flags = flags | (merge([child], first.dims, child.flags.shape[-4:], "flags") & mask)
        doubt = doubt | merge([child], first.dims, child.doubt.shape[-4:], "doubt")
    return Value(first.x, flags, doubt, first.missing)


@opinion("PyNode")
def py_node(call: Call) -> Value:
    """The function itself, on each member."""
    rank = call.cells.rank

    def trimmed(x):
        return x.reshape(x.shape[: x.ndim - 4 + rank])

    x = [
        np.asarray(call.state["evaluate"](call.cells, *(trimmed(c.x[m]) for c in call.children)))
        for m in range(MEMBERS)
    ]
    dims = tuple(int(n) for n in np.atleast_1d(call.state["dims"]))
    full = np.stack([one.reshape(one.shape + (1,) * (len(dims) + 4 - one.ndim)) for one in x])
    return call.result(full, np.abs(full))


@opinion("DeviceMemory")
def device_memory(call: Call) -> Value:
    """Statistics, of which nothing follows from the tree: believed once they look like such."""
    x = call.outside[call.name]
    assert x.shape[:1] == (8,) and np.all(x >= 0), f"statistics {x}"
    value = exact(x)
    value.doubt = np.ones(x.shape, bool)
    return value


@opinion("Spigot")
def spigot(call: Call) -> Value:
    """What a Measurement Set holds, in the form that the documentation says; missing where it has no row."""
    if "tile" not in call.outside:
        raise RefusedError("no Measurement Set")
    tile, state = call.outside["tile"], call.state
    pair = (state["station_1_index"], state["station_2_index"])
    row = tile["baselines"].index(pair) if pair in tile["baselines"] else None
    column = state["input_column"]
    if column == "UVW":
        x = tile["uvw_m"][row or 0].T  # [3, time]
        if state["include_deriv"]:
            width_s = call.cells.time_width_s
            x = np.stack([x, tile["uvw_rate_m_s"][row or 0].T * tile["exposure_s"][row or 0] / width_s])
        value = exact(x[..., None, None, None])
    else:
        four = tile["weight" if column == "WEIGHT" else "columns"]
        four = four if column == "WEIGHT" else four[column]
        value = exact(as_matrices(four[row or 0]))
        value.flags = np.where(as_matrices(tile["flag"][row or 0]), int(state["flag_bit"]), 0)
    value.missing = row is None
    return value


def as_matrices(four: np.ndarray) -> np.ndarray:
    """[time, freq, correlation] as [2, 2, time, freq, 1, 1]."""
    return np.moveaxis(four, -1, 0).reshape(2, 2, *four.shape[:2], 1, 1)


@opinion("Sink")
def sink(call: Call) -> Value:
    (child,) = call.children
    if child.dims not in ((), (2, 2)):
        raise RefusedError(f"Sink of {child.dims}")
    return exact(np.full((1, 1, 1, 1), float(len(call.axis("time").ravel()))))


@opinion("VisDataMux")
def vis_data_mux(call: Call) -> Value:
    sinks = [child for child, label in zip(call.children, call.labels, strict=True) if label == "sink"]
    return exact(np.full((1, 1, 1, 1), float(sum(not child.missing for child in sinks))))
