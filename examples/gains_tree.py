"""A tree script that makes data to calibrate: DATA = G_p (sky of calibrate.skymodel) G_q^H + noise.

    rimetree run examples/gains_tree.py SET.ms

The gains have amplitudes between 0.7 and 1.3, and phases that drift by up to 0.2 radians in ten minutes.
"""

from pathlib import Path

import numpy as np

import rimetree as rt

NOISE_JY = 0.1


def define_forest(ns, ms):
    sky = rt.sky.read(Path(__file__).with_name("calibrate.skymodel"))
    seen = rt.sky_nodes(ns, sky, ms.phase_centre_rad, feed=ms.feed)
    begin_s = rt.ms.slot_times(ms.path)[0][2]
    random = np.random.default_rng(1)
    for p in ms.antennas:
        gains = []
        for feed in (0, 1):
            drift = rt.Parm([random.uniform(-3, 3), random.uniform(-0.2, 0.2)], time_0_s=begin_s, time_scale_s=600.0)
            gains.append(rt.Polar(random.uniform(0.7, 1.3), ns.phase(p, feed) << drift))
        ns.G(p) << rt.Matrix22(gains[0], 0.0, 0.0, gains[1])
    for p, q in ms.baselines:
        ns.uvw(p, q) << rt.Spigot(station_1_index=p, station_2_index=q, input_column="UVW", include_deriv=True)
        ns.model(p, q) << rt.PSV(seen.lmn, seen.brightness, ns.uvw(p, q), seen.shape)
        ns.noise(p, q) << rt.GaussNoise(stddev=NOISE_JY, seed=1, dims=[2, 2], complex=True)
        ns.V(p, q) << ns.G(p) @ ns.model(p, q) @ ns.G(q).H + ns.noise(p, q)
        ns.sink(p, q) << rt.Sink(ns.V(p, q), station_1_index=p, station_2_index=q, output_column="DATA")
