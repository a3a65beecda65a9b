"""A node whose mathematics is Python: ionospheric phases, in a tree whose other nodes are C++.

Run it: python examples/python_node.py

Such a node is for trying something out. `docs/adding-a-node.md` tells how to write one in C++.
"""

import numpy as np

import rimetree as rt

ELECTRONS_PER_TECU = 1e16
PHASE_RAD_HZ_PER_ELECTRON_M2 = -8.44797245e-7  # of a plane wave: phase = constant * TEC / frequency


class Ionosphere:
    """2x2 Jones matrix of a phase screen of `tec` TECU, [2,2,time,freq]."""

    def evaluate(self, cells, tec):
        phase = self.per_tecu(cells) * tec
        return np.einsum("ij,tf->ijtf", np.eye(2), np.exp(1j * phase))

    def pull_back(self, cells, adjoint, tec):
        """For gradients; without it they come from differences."""
        slope = 1j * self.per_tecu(cells) * self.evaluate(cells, tec)  # d result / d tec
        return np.sum(np.real(np.conj(adjoint) * slope), axis=(0, 1))

    @staticmethod
    def per_tecu(cells):
        return PHASE_RAD_HZ_PER_ELECTRON_M2 * ELECTRONS_PER_TECU / cells.freq_hz


ns = rt.NodeScope()
for p, tec in enumerate([0.00, 0.05]):
    ns.tec(p) << rt.Parm(tec, solvable=True)
    ns.Z(p) << rt.PyNode(ns.tec(p), evaluate=Ionosphere(), dims=[2, 2])
ns.B << rt.Stokes(rt.Constant([1.0, 0.0, 0.0, 0.0]))
ns.V << ns.Z(0) @ ns.B @ ns.Z(1).H

ns.chi2 << rt.ChiSquare(rt.Condeq(rt.Constant(np.eye(2, dtype=complex)), ns.V))
forest = rt.Forest(ns)
cells = rt.Cells(time_s=[0.0, 10.0], freq_hz=[120e6, 150e6, 180e6])
xx = forest.evaluate(ns.V, cells)[0, 0]
print("phase of XX in degrees:", np.round(np.degrees(np.angle(xx[0])), 3))

forest.set_state(ns.tec(1), value=0.10)
xx = forest.evaluate(ns.V, cells)[0, 0]
print("with twice the electrons:", np.round(np.degrees(np.angle(xx[0])), 3))

value, gradient = forest.value_and_gradient("chi2", cells)
print("chi-square against no ionosphere, and its derivatives:", np.round([value, *gradient], 3))
