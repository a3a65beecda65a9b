"""Directions, baselines and sources as random trees have them, on their own and below PSV."""

from __future__ import annotations

import numpy as np

from .growing import Growth, proposal

RADIUS = 0.02  # of most skies, in direction cosines


def directions(g: Growth, shape: tuple[int, ...]) -> np.ndarray:
    """Points of the sphere [..., 3]: most near the phase centre, at times at it or all over the sky."""
    radius = g.one_of(RADIUS, RADIUS, 1e-4, 0.6)
    angle, size = g.rng.uniform(0, 2 * np.pi, shape), radius * np.sqrt(g.rng.random(shape))
    if g.chance(0.1):
        size = np.zeros(shape)
    lm = np.stack([size * np.cos(angle), size * np.sin(angle)], axis=-1)
    return np.concatenate([lm, np.sqrt(1 - np.sum(lm**2, axis=-1, keepdims=True))], axis=-1)


def lmn(g: Growth, sources: int | None, *, steady: float = 0.85) -> str:
    """Directions [3] or [source,3]: constant, varying in time, or those that LMN finds."""
    dims = () if sources is None else (sources,)
    if g.chance(0.2):
        centre = np.array([g.rng.uniform(0, 2 * np.pi), g.rng.uniform(-1.2, 1.2)])
        near = centre + g.rng.uniform(-RADIUS, RADIUS, (*dims, 2))
        return g.add("LMN", (("radec", g.constant(near)), ("radec_0", g.constant(centre))), {})
    if g.chance(steady) or g.extents[0] == 1:
        return g.constant(directions(g, dims))
    return g.constant(np.moveaxis(directions(g, (*dims, g.extents[0])), -1, -2), 1)


def uvw(g: Growth, rates: bool, *, longest_m: float = 5000.0) -> str:
    """A baseline [3], or with rates [2,3]: constant or varying in time."""
    varies = g.chance(0.7)
    shape = (3, g.extents[0]) if varies else (3,)
    x = g.rng.uniform(-1, 1, shape) * g.one_of(longest_m, longest_m, 10.0, 0.0)
    if rates:
        x = np.stack([x, 7.3e-5 * g.rng.uniform(-1, 1, shape) * longest_m])
    return g.constant(x, 1 if varies else 0)


def shapes(g: Growth, sources: int | None) -> str:
    dims = () if sources is None else (sources,)
    major = g.rng.uniform(0, 3e-4, dims)
    shape = np.stack([major, g.rng.uniform(0, 1, dims) * major, g.rng.uniform(-4, 4, dims)], axis=-1)
    if g.chance(0.4):  # axes as vectors
        shape = 3e-4 * g.rng.normal(size=(*dims, 6))
    point = g.rng.random(dims) < 0.4
    shape = np.where(point[..., None], 0.0, shape)
    if g.chance(0.4):  # with the number of the profile
        shape = np.concatenate([shape, 1.0 * g.rng.integers(0, 3, (*dims, 1))], axis=-1)
    return g.constant(shape)


def stokes(g: Growth, sources: int | None) -> str:
    dims = () if sources is None else (sources,)
    x = g.rng.uniform(-1, 1, (*dims, 4))
    x[..., 0] = g.rng.uniform(0.1, 3, dims)
    if g.chance(0.3):
        x[..., 1:] = 0
    return g.constant(x)


def some_sources(g: Growth) -> int | None:
    return g.one_of(None, max(g.sources, 1))


@proposal("LMN")
def propose_lmn(g: Growth, _):
    sources = some_sources(g)
    dims = (2,) if sources is None else (sources, 2)
    radec = g.random_constant(dims, real=True, low=-1.5, high=1.5)
    return [("radec", radec), ("radec_0", g.random_constant((2,), real=True, low=-1.5, high=1.5))], {}


@proposal("UVW")
def propose_uvw(g: Growth, _):
    if g.cells.to_runtime()[0] is None:
        return None
    centre = g.constant(np.array([g.rng.uniform(0, 6), g.rng.uniform(-1.5, 1.5)]))
    array = np.array([5109224.0, 2006790.0, -3238922.0])
    stations = [g.constant(array + g.rng.normal(scale=1000.0, size=3)), g.constant(array)]
    state = {"include_deriv": g.chance(0.5), "dut1_s": float(g.one_of(0.0, -0.3, 0.5))}
    return [("radec_0", centre), ("xyz", stations[0]), ("xyz_0", stations[1])], state


@proposal("VisPhaseShift", "TFSmearFactor")
def propose_phase(g: Growth, class_name: str):
    # Both kinds of axes must be there for both to make sense; without them it is to be refused.
    state = {"n_minus": int(g.one_of(0, 1))} if g.chance(0.5) else {}
    if class_name == "TFSmearFactor":
        state |= {name: g.chance(0.7) for name in ("smear_time", "smear_frequency") if g.chance(0.5)}
    if g.cells.to_runtime()[1] is None:
        return None
    if class_name == "TFSmearFactor" and g.cells.to_runtime()[0] is None:
        return None
    return [("lmn", lmn(g, some_sources(g))), ("uvw", uvw(g, g.chance(0.5)))], state


@proposal("SourceShape")
def propose_shape(g: Growth, _):
    if g.cells.to_runtime()[1] is None:
        return None
    return [("shape", shapes(g, some_sources(g))), ("uvw", uvw(g, g.chance(0.5)))], {}


@proposal("Shapelets")
def propose_shapelets(g: Growth, _):
    if g.cells.to_runtime()[1] is None:
        return None
    sources = some_sources(g)
    dims = () if sources is None else (sources,)
    coefficients = g.random_constant((*dims, *(int(n) for n in g.rng.integers(1, 7, 2))), real=True)
    axes = np.stack([g.rng.uniform(0, 3e-4, dims), g.rng.uniform(0, 3e-4, dims), g.rng.uniform(-4, 4, dims)], axis=-1)
    children = [("coefficients", coefficients), ("axes", g.constant(axes)), ("uvw", uvw(g, g.chance(0.5)))]
    if g.chance(0.5):
        vectors = np.linalg.qr(g.rng.normal(size=(*g.one_of(dims, ()), 3, 3)))[0]
        children.append(("directions", g.constant(vectors[..., :2, :])))
    return children, {}


@proposal("DishBeam")
def propose_dish_beam(g: Growth, _):
    if g.cells.to_runtime()[1] is None:
        return None
    profile = g.one_of("gaussian", "cosine", "airy")
    state = {"profile": profile, "ref_freq_hz": float(g.rng.uniform(1e9, 1.6e9))}
    if profile == "airy" and g.chance(0.5):
        state["blockage"] = float(g.rng.uniform(0, 0.9))
    return [("lmn", lmn(g, some_sources(g))), ("width", g.constant(g.rng.uniform(0.01, 1)))], state


def horizon(g: Growth):
    """Of a place from which the centre is above the horizon; now and then of none."""
    axes = np.linalg.qr(g.rng.normal(size=(3, 3)))[0]
    return g.constant(axes * np.sign(axes[2, 2]) if g.chance(0.8) else g.rng.normal(size=(3, 3)))


@proposal("ArrayFactor")
def propose_array_factor(g: Growth, _):
    if g.cells.to_runtime()[1] is None:
        return None
    n = int(g.rng.integers(1, 6))
    children = [("lmn", lmn(g, some_sources(g))), ("horizon", horizon(g)), ("elements", g.constant(
        g.rng.normal(scale=5.0, size=(n, 3))))]  # fmt: skip
    weights = [("weights", g.random_constant((n,), real=True))] if g.chance(0.5) else []
    return children + weights, {}


@proposal("CrossedDipoles")
def propose_crossed_dipoles(g: Growth, _):
    if g.cells.to_runtime()[1] is None:
        return None
    state = {"length": g.one_of("short", "half-wave"), "height_m": g.one_of(0.0, 0.05)}
    if g.chance(0.5):
        state |= {"x_azimuth_rad": float(g.rng.uniform(-4, 4)), "y_azimuth_rad": float(g.rng.uniform(-4, 4))}
    centre = g.constant(np.array([g.rng.uniform(0, 6), g.rng.uniform(-1.5, 1.5)]))
    return [("lmn", lmn(g, some_sources(g))), ("radec_0", centre), ("horizon", horizon(g))], state


@proposal("Interpolate")
def propose_interpolation(g: Growth, _):
    k = int(g.rng.integers(1, 4))
    grid = tuple(int(n) for n in g.rng.integers(1, 5, k))
    table = g.rng.normal(size=(*grid, *g.one_of((), (2,), (3,)))) if k < 4 else None
    if g.chance(0.5):
        table = table + 1j * g.rng.normal(size=table.shape)
    sources = some_sources(g)
    places = g.rng.uniform(-0.3, 1.1, (*(() if sources is None else (sources,)), k)) * grid
    children = [("place", g.constant(places))]
    if g.chance(0.5):  # each index in a child of its own, of all sources or of each
        children = [("place", g.constant(g.one_of(index, index.flat[0]))) for index in np.moveaxis(places, -1, 0)]
    return [("table", g.constant(table)), *children], {
        "outside": g.one_of("nan", "zero", "edge"),
        "method": g.one_of("linear", "cubic"),
    }


@proposal("Stokes")
def propose_stokes(g: Growth, _):
    sources = some_sources(g)
    return [("stokes", stokes(g, sources))], {"feed": g.one_of("linear", "circular")} if g.chance(0.7) else {}


@proposal("Spectrum")
def propose_spectrum(g: Growth, _):
    if g.cells.to_runtime()[1] is None:
        return None
    sources = some_sources(g)
    dims = () if sources is None else (sources,)
    terms = int(g.rng.integers(0, 4))
    own = dims if g.chance(0.6) else ()
    coefficients = g.rng.uniform(-1, 1, (*own, terms)) * (g.rng.random((*own, 1)) < 0.8)
    children = [
        ("stokes", stokes(g, sources)),
        ("coefficients", g.constant(coefficients)),
        ("ref_freq_hz", g.constant(g.rng.uniform(1.2e9, 1.6e9, g.one_of(dims, ())))),
    ]
    if g.chance(0.5):
        children.append(("rotation_measure", g.constant(g.rng.uniform(-30, 30, g.one_of(dims, ())))))
    state = {}
    for name in ("logarithmic", "scale_polarisation"):
        if g.chance(0.5):
            state[name] = g.one_of(
                np.array(float(g.chance(0.5))), (g.rng.random(max(1, g.sources) if sources else 1) < 0.5) * 1.0
            )
    return children, state


@proposal("PSV")
def propose_psv(g: Growth, _):
    """With children from the tree: flags, values from other nodes, and shapes that do not fit."""
    if g.cells.to_runtime()[1] is None or g.cells.to_runtime()[0] is None:
        return None
    s = max(g.sources, 1)

    def fitting(*dims):
        return g.find(
            lambda v: v.dims in dims and np.all(np.abs(v.x) < 1e6), lambda: g.random_constant(g.one_of(*dims)), 0.6
        )

    children = [("lmn", lmn(g, s)), ("brightness", fitting((s,), (s, 2, 2))), ("uvw", uvw(g, g.chance(0.5)))]
    if g.chance(0.3):
        children.append(("shape", shapes(g, s)))
    for _ in range(int(g.rng.choice([0, 0, 2, 2, 4]))):
        children.append(("jones", fitting((s,), (s, 2, 2))))
    return children, {"n_minus": int(g.one_of(0, 1))} if g.chance(0.3) else {}
