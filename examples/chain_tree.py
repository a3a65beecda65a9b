"""A tree script that makes data to calibrate: DATA = J_p (sky of a file) J_q^H + noise of 0.05 Jy.

    rimetree run examples/chain_tree.py SET.ms [--field NUMBER] -- FILE.skymodel EFFECT...

J is the product of the effects named, from the left to the right: delay, band, gain, drift, leakage, tec (the last of
each patch of the sky its own). They are the same at each call, whatever the field.
"""

import sys

import numpy as np

import rimetree as rt

NOISE_JY = 0.05
TEC_PHASE_HZ = -8.44797245e9


def feeds(ns, gain):
    """The matrix of what each feed does."""
    return rt.Matrix22(gain(0), 0.0, 0.0, gain(1))


def effect(ns, name, p, begin_s, patch=None):
    """The matrix of an antenna; random numbers are those of the effect, antenna and patch."""
    random = np.random.default_rng([sum(map(ord, name + (patch or ""))), p])
    middle_hz, width_hz = 1.3e9, 32e6
    if name == "delay":
        return feeds(ns, lambda _: rt.Polar(1.0, 2 * np.pi * random.uniform(-10e-9, 10e-9) * rt.Freq()))
    if name == "band":
        x = (rt.Freq() - middle_hz) / width_hz
        return feeds(ns, lambda _: rt.Polar(1.0 - random.uniform(0.1, 0.4) * x * x, random.uniform(-0.3, 0.3) * x * x))
    if name == "gain":
        return feeds(ns, lambda _: rt.Polar(random.uniform(0.7, 1.3), random.uniform(-3.0, 3.0)))
    if name == "drift":
        turn = rt.Parm([random.uniform(-3, 3), random.uniform(-1, 1)], time_0_s=begin_s, time_scale_s=300.0)
        return feeds(ns, lambda _: rt.Polar(1.0, turn))
    if name == "leakage":
        d = 0.03 * (random.normal(size=2) + 1j * random.normal(size=2))
        return rt.Matrix22(1.0, complex(d[0]), complex(d[1]), 1.0)
    if name == "tec":
        tec = random.uniform(-0.05, 0.05)
        return feeds(ns, lambda _: rt.Polar(1.0, TEC_PHASE_HZ * tec / rt.Freq()))
    raise ValueError(f"there is no effect {name!r}")


def define_forest(ns, ms):
    if len(sys.argv) < 3:
        raise ValueError("a sky model and effects are missing, behind the set: -- FILE.skymodel EFFECT...")
    file, *effects = sys.argv[1:]
    sky = rt.sky.read(file)
    begin_s = rt.ms.slot_times(ms.path)[0][2]
    patches = sky.patches if "tec" in effects else [None]
    effects = [name for name in effects if name != "tec"]
    parts = []
    for patch in patches:
        own = sky if patch is None else sky.select(patches=[patch])
        seen = rt.sky_nodes(ns.Subscope(patch or "sky"), own, ms.phase_centre_rad, feed=ms.feed)
        parts.append((patch, seen))
    for p in ms.antennas:
        for name in effects:
            ns[name](p) << effect(ns, name, p, begin_s)
        for patch, _ in parts:
            if patch is not None:
                ns.tec(p, patch) << effect(ns, "tec", p, begin_s, patch)
    for p, q in ms.baselines:
        ns.uvw(p, q) << rt.Spigot(station_1_index=p, station_2_index=q, input_column="UVW", include_deriv=True)
        terms = []
        for patch, seen in parts:
            node = rt.PSV(seen.lmn, seen.brightness, ns.uvw(p, q), seen.shape)
            terms.append(node if patch is None else ns.tec(p, patch) @ node @ ns.tec(q, patch).H)
        ns.model(p, q) << rt.Add(*terms)
        value = ns.model(p, q)
        for name in reversed(effects):
            value = ns[name](p) @ value @ ns[name](q).H
        noise = rt.GaussNoise(stddev=NOISE_JY, seed=1, dims=[2, 2], complex=True)
        ns.V(p, q) << value + noise
        ns.sink(p, q) << rt.Sink(ns.V(p, q), station_1_index=p, station_2_index=q, output_column="DATA")
