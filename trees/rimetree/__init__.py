"""RimeTree: measurement-equation trees for radio interferometry.

    import rimetree as rt

    ns = rt.NodeScope()
    ns.lmn << rt.LMN(rt.Constant([0.51, 0.30]), rt.Constant([0.50, 0.30]))
    ns.uvw << rt.Constant([100.0, 20.0, 3.0])
    ns.K << rt.VisPhaseShift(lmn=ns.lmn, uvw=ns.uvw)
    forest = rt.Forest(ns)
    forest.evaluate(ns.K, rt.Cells(freq_hz=[1.4e9]))

A tree script names nodes in a `NodeScope` and says with `<<` what they compute; `Forest` compiles them; `evaluate`
gives NumPy arrays and `run` fills a Measurement Set. Node classes are functions of this module (`help(rt.PSV)`);
`predict` is the same computation for arrays without a tree. Command line: `rimetree --help`.
"""

from typing import TYPE_CHECKING

from . import starting  # isort: skip # noqa: F401 - before NumPy
from . import nodes, plugins  # noqa: F401 - plugins brings the node classes
from ._core import Error, ForestError
from .evaluation.cells import Cells
from .evaluation.parameters import DerivativeCheck, Parameter
from .evaluation.result import Result
from .evaluation.solving import SolutionFlag, SolveReport
from .evaluation.verification import Verification
from .forest import Forest
from .loading import when_used
from .ms.objective import MsObjective
from .nodes import *  # noqa: F403 - the node classes; their names are in nodes.__all__
from .nodes import PyNode
from .plugins import load_plugin
from .predict import predict
from .voltages.correlate import correlate, product_inputs
from .voltages.product_integers import integers_from_order, integers_to_order
from .voltages.product_orders import from_order, product_order, to_order
from .voltages.sample_orders import samples_from_order, samples_to_order
from .writing.families import over
from .writing.indices import each
from .writing.recording import record
from .writing.scope import NodeDef, NodeScope, NodeStub

if TYPE_CHECKING:  # what is loaded when it is used
    from . import calibration, ms, plots, sky, telescopes  # noqa: F401
    from .beams import Beam, BeamPattern, PolynomialBeam, StandingPattern, StationBeam, lofar_beams
    from .evaluation.parm_table import ParmTable, StoredParm
    from .observing.mounts import azimuth_elevation, feed_rotation, parallactic_angle
    from .receiver_noise import ReceiverNoise
    from .sky_trees import SkyNodes, many_node_tree, psv_tree, sky_nodes

__version__ = "0.1.0"

__getattr__, __dir__ = when_used(
    __name__,
    {
        "beams": "Beam BeamPattern PolynomialBeam StandingPattern StationBeam lofar_beams",
        "evaluation.parm_table": "ParmTable StoredParm",
        "observing.mounts": "azimuth_elevation feed_rotation parallactic_angle",
        "receiver_noise": "ReceiverNoise",
        "sky_trees": "SkyNodes many_node_tree psv_tree sky_nodes",
    },
    modules=("calibration", "ms", "plots", "sky", "telescopes"),
    otherwise=nodes,  # has classes that a plugin registered after this module was imported
)

__all__ = [
    "Beam",
    "BeamPattern",
    "Cells",
    "DerivativeCheck",
    "Error",
    "Forest",
    "ForestError",
    "MsObjective",
    "NodeDef",
    "NodeScope",
    "NodeStub",
    "Parameter",
    "ParmTable",
    "PolynomialBeam",
    "PyNode",
    "ReceiverNoise",
    "Result",
    "SkyNodes",
    "SolutionFlag",
    "SolveReport",
    "StandingPattern",
    "StationBeam",
    "StoredParm",
    "Verification",
    "azimuth_elevation",
    "correlate",
    "each",
    "feed_rotation",
    "from_order",
    "integers_from_order",
    "integers_to_order",
    "load_plugin",
    "lofar_beams",
    "many_node_tree",
    "ms",
    "nodes",
    "over",
    "parallactic_angle",
    "predict",
    "product_inputs",
    "product_order",
    "psv_tree",
    "record",
    "samples_from_order",
    "samples_to_order",
    "sky",
    "sky_nodes",
    "telescopes",
    "to_order",
    *nodes.__all__,
]
