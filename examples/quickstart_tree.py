"""The tree of the quickstart: the sources of quickstart.skymodel as seen by a Measurement Set.

Run it: rimetree run examples/quickstart_tree.py SOME.ms

Points are summed by one PSV node per baseline, Gaussians by a chain of small nodes; both kinds mix freely. Every
antenna has a Jones matrix G, here a unit matrix, in which to put a gain, a beam or the ionosphere.
"""

from pathlib import Path

import rimetree as rt

SKY = rt.sky.read(Path(__file__).parent / "quickstart.skymodel")


def define_forest(ns, ms):
    """The tree for the rows of one field. `ns`: an empty scope; `ms`: what is known of these rows."""
    points = SKY.select(lambda source: source.gaussian is None)
    gaussians = SKY.select(lambda source: source.gaussian is not None)

    point = rt.sky_nodes(ns.Subscope("points"), points, ms.phase_centre_rad, feed=ms.feed)
    gaussian = rt.sky_nodes(ns.Subscope("gaussians"), gaussians, ms.phase_centre_rad, feed=ms.feed)
    for s in range(len(gaussians)):
        ns.lmn(s) << rt.Selector(gaussian.lmn, index=[s, -1])
        ns.B(s) << rt.Selector(gaussian.brightness, index=[s, -1, -1])
        ns.shape(s) << rt.Selector(gaussian.shape, index=[s, -1])
    for p in ms.antennas:
        ns.G(p) << rt.Matrix22(1.0, 0.0, 0.0, 1.0)

    for p, q in ms.baselines:
        uvw = ns.uvw(p, q) << rt.Spigot(station_1_index=p, station_2_index=q, input_column="UVW", include_deriv=True)
        terms = [ns.points(p, q) << rt.PSV(point.lmn, point.brightness, uvw)]
        for s in range(len(gaussians)):
            ns.K(p, q, s) << rt.VisPhaseShift(lmn=ns.lmn(s), uvw=uvw)
            ns.smear(p, q, s) << rt.TFSmearFactor(lmn=ns.lmn(s), uvw=uvw)
            ns.taper(p, q, s) << rt.SourceShape(ns.shape(s), uvw)
            terms.append(
                ns.gaussian(p, q, s) << rt.MatrixMultiply(ns.K(p, q, s), ns.smear(p, q, s), ns.taper(p, q, s), ns.B(s))
            )
        ns.V(p, q) << ns.G(p) @ rt.Add(*terms) @ ns.G(q).H
        ns.sink(p, q) << rt.Sink(ns.V(p, q), station_1_index=p, station_2_index=q, output_column="DATA")
