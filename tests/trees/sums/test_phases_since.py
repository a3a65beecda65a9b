"""Phases by the time since a moment keep the digits of the difference, however they are written and whatever is beside
them: the time itself is 5e9 s, and multiplied out such a phase would be billions of turns less others."""

import numpy as np
import pytest

import rimetree as rt

MOMENT_S, RATE = 5.2427e9 + 59.0, 3.123e-11
CELLS = rt.Cells(time_s=5.2427e9 + 2.0 * np.arange(60), freq_hz=np.linspace(4.9e9, 4.95e9, 16))
SINCE = {
    "a number": lambda _: rt.Time() - MOMENT_S,
    "a constant": lambda _: rt.Subtract(rt.Time(), rt.Constant(MOMENT_S)),
    "a parameter": lambda ns: rt.Subtract(rt.Time(), ns.moment),
    "added": lambda ns: rt.Add(rt.Negate(ns.moment), rt.Time()),
    "backwards": lambda ns: -(ns.moment - rt.Time()),
    "of two": lambda ns: rt.Time() - (ns.moment - 10.0) - 10.0,
}


def scope():
    ns = rt.NodeScope()
    ns.moment << rt.Parm(MOMENT_S)
    ns.rate << rt.Parm(RATE, solvable=True)
    return ns


def phasor(ns, since):
    return rt.Polar(1.0, rt.Multiply(2 * np.pi, rt.Freq(), rt.Multiply(ns.rate, since)))


def expected():
    return np.exp(2j * np.pi * CELLS.freq_hz * (RATE * (CELLS.time_s - MOMENT_S))[:, None])


@pytest.mark.parametrize("written", list(SINCE))
def test_alone_and_in_a_matrix(written):
    ns = scope()
    ns.gain << phasor(ns, SINCE[written](ns))
    ns.jones << rt.Matrix22(ns.gain, 0.0, 0.0, ns.gain)
    forest = rt.Forest(ns)
    np.testing.assert_allclose(forest.evaluate(ns.gain, CELLS), expected(), atol=1e-12)
    np.testing.assert_allclose(forest.evaluate(ns.jones, CELLS)[0, 0], expected(), atol=1e-12)


@pytest.mark.parametrize("written", list(SINCE))
def test_around_sources(written):
    """Of a sum over sources that is taken together."""
    ns = scope()
    uvw = np.array([800.0, -300.0, 50.0])
    lmn = [np.array([x, 2e-3, np.sqrt(1 - x * x - 4e-6)]) for x in (1e-3, -3e-3, 5e-3)]
    for s, direction in enumerate(lmn):
        ns.K(s) << rt.VisPhaseShift(lmn=rt.Constant(direction), uvw=rt.Constant(uvw))
        ns.B(s) << rt.Stokes(rt.Constant([1.0 + s, 0.0, 0.0, 0.0]))
    ns.gain << phasor(ns, SINCE[written](ns))
    ns.jones << rt.Matrix22(ns.gain, 0.0, 0.0, ns.gain)
    ns.seen << ns.jones @ rt.Add(*(ns.K(s) * ns.B(s) for s in range(3)))
    seen = rt.Forest(ns).evaluate(ns.seen, CELLS)[0, 0]
    turns = [uvw @ (direction - [0, 0, 1]) * CELLS.freq_hz / 299792458.0 for direction in lmn]
    model = sum((1.0 + s) * np.exp(2j * np.pi * own) for s, own in enumerate(turns))
    np.testing.assert_allclose(seen, model * expected(), atol=1e-11)
