"""A tree script with primary beams: dishes of alt-azimuth mounts, whose beams and feeds turn on the sky.

    rimetree run examples/beam_tree.py SET.ms -- FILE.skymodel

DATA = sum over sources of E_p P_p B P_q^H E_q^H. P turns the feeds by the parallactic angle. E are voltages of each
feed at the place of the source in the frame of the dish: Gaussians, whose widths follow the wavelength, a tenth wider
along the feed than across it.
"""

import sys

import numpy as np

import rimetree as rt

DISH_M = 12.0
WIDTH = 1.2  # full width at half maximum of the power, in wavelengths over DISH_M
LONGER = 1.1


def voltage(along, across):
    """Of a feed, [source]: `along` and `across` it, direction cosines from the middle of the beam."""
    per_width = rt.Freq() * (DISH_M / (WIDTH * 299792458.0))
    return rt.Exp(-2 * np.log(2) * rt.Sqr(per_width) * (rt.Sqr(along / LONGER) + rt.Sqr(across)))


def define_forest(ns, ms):
    if len(sys.argv) != 2:
        raise ValueError("a sky model is missing, behind the set: -- FILE.skymodel")
    sky = rt.sky.read(sys.argv[1])
    seen = rt.sky_nodes(ns, sky, ms.phase_centre_rad, feed=ms.feed)
    ns.l << seen.lmn[:, 0]
    ns.m << seen.lmn[:, 1]
    of_first, of_second = (np.tile(np.diag(one), (len(sky), 1, 1)) for one in ([1.0, 0.0], [0.0, 1.0]))
    for p in ms.antennas:
        ns.chi(p) << rt.parallactic_angle(ms.phase_centre_rad, ms.antenna_xyz_m[p])
        ns.P(p) << rt.feed_rotation(ns.chi(p), feed=ms.feed)
        ns.x(p) << ns.m * rt.Cos(ns.chi(p)) + ns.l * rt.Sin(ns.chi(p))  # along the first feed
        ns.y(p) << ns.l * rt.Cos(ns.chi(p)) - ns.m * rt.Sin(ns.chi(p))  # along the second
        ns.E(p) << voltage(ns.x(p), ns.y(p)) @ of_first + voltage(ns.y(p), ns.x(p)) @ of_second
    for p, q in ms.baselines:
        ns.uvw(p, q) << rt.Spigot(station_1_index=p, station_2_index=q, input_column="UVW", include_deriv=True)
        terms = [ns.P(p), ns.P(q).H, ns.E(p), ns.E(q).H]  # pairs of both antennas, the innermost first
        ns.V(p, q) << rt.PSV(seen.lmn, seen.brightness, ns.uvw(p, q), seen.shape, *terms)
        ns.sink(p, q) << rt.Sink(ns.V(p, q), station_1_index=p, station_2_index=q, output_column="DATA")
