"""The same sky as one PSV node per baseline and as a tree of many small nodes: equal visibilities.

Run it: python examples/many_nodes.py [new.ms]

Makes a small Measurement Set (a temporary one unless a path is given), evaluates both trees over it at once, and writes
the difference of the two into a column of its own.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import rimetree as rt

PHASE_CENTRE = np.radians([40.0, -30.0])
ARCSEC = np.radians(1 / 3600)


def source(name, east_arcmin, north_arcmin, stokes_jy, **more):
    ra, dec = PHASE_CENTRE + np.radians([east_arcmin / 60 / np.cos(PHASE_CENTRE[1]), north_arcmin / 60])
    return rt.sky.Source(name, ra, dec, stokes_jy, **more)


SKY = rt.sky.SkyModel(
    (
        source("polarised", 0.0, 0.0, (2.0, 0.3, -0.1, 0.05)),
        source("gaussian", 12.0, -7.0, (1.5, 0.0, 0.0, 0.0), gaussian=(300 * ARCSEC, 120 * ARCSEC, 0.5)),
        source("spectrum", -20.0, 25.0, (0.8, 0.0, 0.0, 0.0), ref_freq_hz=1.4e9, spectrum=(-0.7, 0.1)),
    )
)


def main(path: Path) -> None:
    rt.ms.create(path, "kat-7", phase_centre_rad=PHASE_CENTRE, duration_s=600.0, integration_s=60.0)
    baselines = rt.ms.baselines(path)

    ns = rt.NodeScope()
    one, many = ns.Subscope("one"), ns.Subscope("many")
    rt.psv_tree(one, SKY, PHASE_CENTRE, baselines, column="ONE_NODE")
    rt.many_node_tree(many, SKY, PHASE_CENTRE, baselines, column="MANY_NODES")
    for p, q in baselines:
        ns.difference(p, q) << one.V(p, q) - many.V(p, q)
        ns.sink(p, q) << rt.Sink(ns.difference(p, q), station_1_index=p, station_2_index=q, output_column="DIFFERENCE")
    ns.VisDataMux << rt.VisDataMux(None, None, *(ns.sink(p, q) for p, q in baselines))

    forest = rt.Forest(ns)
    print(forest.run(path))
    print(f"{len(forest.nodes())} nodes")
    largest = {"ONE_NODE": 0.0, "DIFFERENCE": 0.0}
    for tile in rt.ms.tiles(path, largest):
        for column, values in tile["columns"].items():
            largest[column] = max(largest[column], np.abs(values).max())
    print(f"largest visibility {largest['ONE_NODE']:.3f} Jy, largest difference {largest['DIFFERENCE']:.1e} Jy")
    if not largest["DIFFERENCE"] <= 1e-12 * SKY.total_flux_jy:
        sys.exit("the two trees differ")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder) / "many_nodes.ms")
