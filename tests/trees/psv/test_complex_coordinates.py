"""What must be real and is complex is refused by PSV as by small nodes: the imaginary part had been dropped."""

import numpy as np
import pytest

import rimetree as rt

CELLS = rt.Cells(freq_hz=[1.0e9, 1.1e9], time_s=[0.0, 1.0])
CHILDREN = {
    "lmn": np.array([[0.001, 0.002, np.sqrt(1 - 5e-6)]]),
    "uvw": np.array([100.0, 200.0, 10.0]),
    "shape": np.array([[1e-3, 1e-3, 0.0]]),
}


def forest_of(name: str, many: bool) -> tuple[rt.Forest, rt.NodeScope]:
    """Visibilities `ns.V` of one source, where the child of this name is complex."""
    ns = rt.NodeScope()
    values = {one: rt.Constant(value + (1e-3j if one == name else 0)) for one, value in CHILDREN.items()}
    if many:
        phase = rt.VisPhaseShift(lmn=values["lmn"], uvw=values["uvw"])
        ns.V << rt.Multiply(phase, rt.SourceShape(values["shape"], values["uvw"]), rt.Constant([1.0]))
    else:
        ns.V << rt.PSV(values["lmn"], rt.Constant([1.0]), values["uvw"], values["shape"])
    return rt.Forest(ns), ns


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("name", list(CHILDREN))
def test_complex_coordinates_are_refused(name, many):
    forest, ns = forest_of(name, many)
    with pytest.raises(rt.Error, match=r"must be real, but is complex|must be real, but one is complex"):
        forest.evaluate(ns.V, CELLS)


def test_gradients_are_refused_too():
    ns = rt.NodeScope()
    uvw = rt.Constant(CHILDREN["uvw"] + 1e-3j)
    ns.V << rt.PSV(CHILDREN["lmn"], rt.Composer(rt.Parm(1.0, solvable=True)), uvw)
    ns.r << rt.Condeq(rt.Constant(np.eye(2, dtype=complex)), ns.V)
    ns.chi << rt.ChiSquare(ns.r)
    with pytest.raises(rt.Error, match='child "uvw" must be real, but is complex'):
        rt.Forest(ns).value_and_gradient(ns.chi, CELLS)
