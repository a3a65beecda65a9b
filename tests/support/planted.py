"""Planted solutions: data made with NumPy from known parameters, and forests that solve for them."""

import itertools

import numpy as np

import rimetree as rt

TIMES_S = 5e9 + 10.0 * np.arange(6)
FREQS_HZ = 1.4e9 + 1e6 * np.arange(4)


def cells(times=TIMES_S, freqs=FREQS_HZ) -> rt.Cells:
    return rt.Cells(times, freqs)


def complex_gaussian(random, shape) -> np.ndarray:
    """Standard deviation 1 of the real and of the imaginary part."""
    return random.normal(size=shape) + 1j * random.normal(size=shape)


def fixed_sky(random, n_antenna: int, shape=(6, 4)) -> dict:
    """Model visibilities [2, 2, time, freq] by baseline: a polarised source of 3 Jy at the centre and others."""
    sky = {}
    for p, q in itertools.combinations(range(n_antenna), 2):
        rest = 0.3 * complex_gaussian(random, (2, 2, *shape))
        sky[p, q] = rest + np.array([[3.2, 1.0 + 0.9j], [1.0 - 0.9j, 2.8]])[..., None, None]
    return sky


def apply(gains: np.ndarray, sky: dict) -> dict:
    """G_p M G_q^H; gains [antenna, 2, 2] or [antenna, 2, 2, time, freq]."""
    gains = gains.reshape(gains.shape + (1,) * (5 - gains.ndim))
    gains = np.moveaxis(gains, (1, 2), (-2, -1))
    moved = {pq: np.moveaxis(m, (0, 1), (-2, -1)) for pq, m in sky.items()}
    result = {(p, q): gains[p] @ m @ np.conj(np.swapaxes(gains[q], -1, -2)) for (p, q), m in moved.items()}
    return {pq: np.ascontiguousarray(np.moveaxis(v, (-2, -1), (0, 1))) for pq, v in result.items()}


def with_noise(random, visibilities: dict, sigma: float) -> dict:
    return {pq: v + sigma * complex_gaussian(random, v.shape) for pq, v in visibilities.items()}


def jones_parms(ns, kind: str, p: int, start: np.ndarray, name: str = "G", **parm) -> None:
    """Defines ns.<name>(p), a Jones matrix of the kind, with Parms at `start` [2, 2]."""
    node = ns[name](p)

    def real(part, value):
        node(part) << rt.Parm(float(value), solvable=True, **parm)
        return node(part)

    def number(part, value):
        return rt.ToComplex(real(part + "r", value.real), real(part + "i", value.imag))

    if kind == "full":
        node << rt.Matrix22(*(number(f"{i}{j}", start[i, j]) for i in range(2) for j in range(2)))
    elif kind == "diag":
        node << rt.Matrix22(number("xx", start[0, 0]), 0.0, 0.0, number("yy", start[1, 1]))
    elif kind == "scalar":
        node << number("s", start[0, 0])
    elif kind == "phase":
        node << rt.Matrix22(
            rt.Polar(1.0, real("xp", np.angle(start[0, 0]))), 0.0, 0.0, rt.Polar(1.0, real("yp", np.angle(start[1, 1])))
        )
    elif kind == "amplitude":
        node << rt.Matrix22(real("xa", abs(start[0, 0])), 0.0, 0.0, real("ya", abs(start[1, 1])))
    else:
        raise ValueError(kind)


def gains_of(random, kind: str, n_antenna: int, spread: float = 0.2) -> np.ndarray:
    """Planted Jones matrices [antenna, 2, 2] of the kind, around the unit matrix."""
    wanted = np.eye(2) + spread * complex_gaussian(random, (n_antenna, 2, 2))
    diagonal = wanted * np.eye(2)
    if kind == "full":
        return wanted
    if kind == "scalar":
        return wanted[:, :1, :1] * np.eye(2)
    if kind == "phase":
        return np.exp(1j * np.angle(diagonal)) * np.eye(2)
    if kind == "amplitude":
        return np.abs(diagonal).astype(complex)
    return diagonal


def gain_forest(kind, data, sky, start, *, weight=None, flags=None, parm=None, solver=None, **forest):
    """A forest with `ns.solver` over Condeqs of data against G_p M G_q^H. `flags`: booleans like the data."""
    ns = rt.NodeScope()
    product = rt.Multiply if kind == "scalar" else rt.MatrixMultiply
    for p in range(len(start)):
        jones_parms(ns, kind, p, start[p], **(parm or {}))
        ns.GH(p) << (rt.Conj(ns.G(p)) if kind == "scalar" else rt.ConjTranspose(ns.G(p)))
    for (p, q), m in sky.items():
        ns.M(p, q) << rt.Constant(m, cells_rank=2)
        ns.D(p, q) << rt.Constant(data[p, q], cells_rank=2)
        observed = ns.D(p, q)
        if flags is not None:
            ns.bad(p, q) << rt.Constant(flags[p, q].astype(float), cells_rank=2)
            observed = rt.MergeFlags(ns.D(p, q), rt.ZeroFlagger(ns.bad(p, q), oper="NE"))
        model = product(ns.G(p), ns.M(p, q), ns.GH(q))
        weights = [] if weight is None else [rt.Constant(weight[p, q], cells_rank=2)]
        ns.condeq(p, q) << rt.Condeq(observed, model, *weights)
    ns.solver << rt.Solver(*(ns.condeq(p, q) for p, q in sky), **(solver or {}))
    return rt.Forest(ns, **forest)


def solved_gains(report, kind: str, n_antenna: int, name: str = "G") -> np.ndarray:
    """Jones matrices [antenna, 2, 2] of a solve with one solution tile."""

    def value(p, part):
        return float(report.parms[f"{name}:{p}:{part}"].value)

    gains = np.zeros((n_antenna, 2, 2), complex)
    for p in range(n_antenna):
        for i in range(2):
            for j in range(2):
                corner = "xy"[i] if i == j else None
                if kind == "full":
                    gains[p, i, j] = value(p, f"{i}{j}r") + 1j * value(p, f"{i}{j}i")
                elif kind == "scalar" and i == j:
                    gains[p, i, j] = value(p, "sr") + 1j * value(p, "si")
                elif kind == "diag" and i == j:
                    gains[p, i, j] = value(p, corner * 2 + "r") + 1j * value(p, corner * 2 + "i")
                elif kind == "phase" and i == j:
                    gains[p, i, j] = np.exp(1j * value(p, corner + "p"))
                elif kind == "amplitude" and i == j:
                    gains[p, i, j] = value(p, corner + "a")
    return gains


def in_gauge(gains: np.ndarray, kind: str) -> np.ndarray:
    """Free of what G_p M G_q^H leaves open: one phase common to all elements of all antennas."""
    return gains if kind == "amplitude" else gains * np.exp(-1j * np.angle(gains[0, 0, 0]))
