"""A node whose mathematics is Python: ionospheric phases, in a tree whose other nodes are C++.

Run it: python examples/python_node.py

Such a node is for trying something out. `docs/adding-a-node.md` tells how to write one in C++.
"""

import numpy as np

import rimetree as rt

ELECTRONS_PER_TECU = 1e16
PHASE_RAD_HZ_PER_ELECTRON_M2 = -8.44797245e-7  # of a plane wave: phase = constant * TEC / frequency


def ionosphere(cells, tec):
    """2x2 Jones matrix of a phase screen of `tec` TECU, [2,2,time,freq]."""
    phase = PHASE_RAD_HZ_PER_ELECTRON_M2 * ELECTRONS_PER_TECU * tec / cells.freq_hz
    return np.einsum("ij,tf->ijtf", np.eye(2), np.exp(1j * phase))


ns = rt.NodeScope()
for p, tec in enumerate([0.00, 0.05]):
    ns.tec(p) << rt.Parm(tec)
    ns.Z(p) << rt.PyNode(ns.tec(p), evaluate=ionosphere, dims=[2, 2])
ns.B << rt.Stokes(rt.Constant([1.0, 0.0, 0.0, 0.0]))
ns.V << ns.Z(0) @ ns.B @ ns.Z(1).H

forest = rt.Forest(ns)
cells = rt.Cells(time_s=[0.0, 10.0], freq_hz=[120e6, 150e6, 180e6])
xx = forest.evaluate(ns.V, cells)[0, 0]
print("phase of XX in degrees:", np.round(np.degrees(np.angle(xx[0])), 3))

forest.set_state(ns.tec(1), value=0.10)
xx = forest.evaluate(ns.V, cells)[0, 0]
print("with twice the electrons:", np.round(np.degrees(np.angle(xx[0])), 3))
