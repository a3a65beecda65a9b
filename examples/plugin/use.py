"""A node class that was built outside RimeTree, used like one of its own.

Run it: python examples/plugin/use.py build/plugin/cos3_beam.so

Two equal sources, one at the centre of the beam and one half a degree off, seen by one baseline.
"""

import sys

import numpy as np

import rimetree as rt

plugin = rt.load_plugin(sys.argv[1])
print(f"plugin {plugin.name} brought {', '.join(plugin.classes)}")

ns = rt.NodeScope()
north = np.sin(np.radians(0.5))
ns.lmn << rt.Constant([[0.0, 0.0, 1.0], [0.0, north, np.sqrt(1 - north**2)]])
ns.uvw << rt.Constant([0.0, 0.0, 0.0])
ns.fluxes << rt.Constant([1.0, 1.0])
ns.E << rt.Cos3Beam(ns.lmn)
ns.V << rt.PSV(ns.lmn, ns.fluxes, ns.uvw, None, ns.E, ns.E)

forest = rt.Forest(ns)
cells = rt.Cells(freq_hz=[1.2e9, 1.4e9, 1.6e9])
print("voltage beam half a degree off:", np.round(forest.evaluate(ns.E, cells)[1, 0], 4))
print("XX of both sources together, Jy:", np.round(forest.evaluate(ns.V, cells)[0, 0, 0].real, 4))
