"""A measurement-equation tree: two sources seen by three antennas with gains, evaluated without a Measurement Set.

Run it: python examples/tree_script.py
"""

import itertools

import numpy as np

import rimetree as rt

ANTENNAS = range(3)
SOURCES = {"centre": (0.0, 0.0, 2.0), "north": (0.0, 30.0, 1.0)}  # offsets east and north (arcmin), Stokes I (Jy)
PHASE_CENTRE = np.radians([60.0, -30.0])

ns = rt.NodeScope()
ns.radec_0 << rt.Constant(PHASE_CENTRE)

# Antennas of an array near the Karoo, turning with the Earth.
for p, xyz in enumerate([[5109270.0, 2006780.0, -3239050.0], [5109200.0, 2007300.0, -3238900.0],
                         [5108800.0, 2006300.0, -3240100.0]]):  # fmt: skip
    ns.uvw(p) << rt.UVW(ns.radec_0, xyz, [5109270.0, 2006780.0, -3239050.0])
    ns.G(p) << rt.Matrix22(1.0 + 0.1 * p, 0.0, 0.0, 0.9)

# Directions and brightness matrices of the sources.
for name, (east, north, flux) in SOURCES.items():
    radec = PHASE_CENTRE + np.radians([east / 60 / np.cos(PHASE_CENTRE[1]), north / 60])
    ns.lmn(name) << rt.LMN(rt.Constant(radec), ns.radec_0)
    ns.B(name) << rt.Stokes(rt.Constant([flux, 0.0, 0.0, 0.0]))

# V_pq = G_p (sum_s K_spq B_s) G_q^H
for p, q in itertools.combinations(ANTENNAS, 2):
    ns.uvw(p, q) << ns.uvw(p) - ns.uvw(q)
    for s in SOURCES:
        ns.K(p, q, s) << rt.VisPhaseShift(lmn=ns.lmn(s), uvw=ns.uvw(p, q))
    ns.sky(p, q) << rt.Add(*(ns.K(p, q, s) * ns.B(s) for s in SOURCES))
    ns.V(p, q) << ns.G(p) @ ns.sky(p, q) @ ns.G(q).H

forest = rt.Forest(ns)
cells = rt.Cells(time_s=5.24e9 + 60.0 * np.arange(4), freq_hz=np.linspace(1.0e9, 1.2e9, 3))
for p, q in itertools.combinations(ANTENNAS, 2):
    visibility = forest.evaluate(ns.V(p, q), cells)  # [2, 2, time, freq]
    print(f"V:{p}:{q}  |XX| of the first time:", np.round(np.abs(visibility[0, 0, 0]), 4))
print(forest.timing())
