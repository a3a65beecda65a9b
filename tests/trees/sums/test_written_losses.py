"""Smearing that scripts write by hand, as sin(x)/x, is taken together like that of a class."""

import numpy as np
import pytest
from written_scene import (
    CELLS,
    LMN,
    N_SOURCE,
    TURN,
    WIDTH_HZ,
    C,
    across,
    along,
    check,
    path,
    phase,
    roots_of,
    sinc,
    total,
)

import rimetree as rt

SMEARED = {
    "channels": lambda ns, p, q, s: phase(ns, p, q, s) * sinc(across(ns, p, q, s)) * ns.B(s),
    "exposures": lambda ns, p, q, s: phase(ns, p, q, s) * sinc(along(ns, p, q, s)) * ns.B(s),
    "both": lambda ns, p, q, s: phase(ns, p, q, s) * sinc(along(ns, p, q, s)) * (ns.B(s) * sinc(across(ns, p, q, s))),
    "in a row": lambda ns, p, q, s: (
        (phase(ns, p, q, s) * rt.Sin(across(ns, p, q, s)) / across(ns, p, q, s) * rt.Sin(along(ns, p, q, s)) * ns.B(s))
        / along(ns, p, q, s)
    ),
    "one quotient": lambda ns, p, q, s: (
        (phase(ns, p, q, s) * rt.Sin(across(ns, p, q, s)) * rt.Sin(along(ns, p, q, s)))
        / (across(ns, p, q, s) * along(ns, p, q, s))
        * ns.B(s)
    ),
    "phases by class": lambda ns, p, q, s: (
        rt.VisPhaseShift(ns.lmn(s), ns.uvw(p, q)) * sinc(across(ns, p, q, s)) * ns.B(s) * sinc(along(ns, p, q, s))
    ),
    "phases of stations": lambda ns, p, q, s: rt.MatrixMultiply(
        rt.VisPhaseShift(ns.lmn(s), ns.uvw(p)),
        sinc(across(ns, p, q, s)) * ns.B(s),
        rt.Conj(rt.VisPhaseShift(ns.lmn(s), ns.uvw(q))),
    ),
    "one by class": lambda ns, p, q, s: (
        phase(ns, p, q, s)
        * rt.TFSmearFactor(ns.lmn(s), ns.uvw(p, q), smear_frequency=False)
        * sinc(across(ns, p, q, s))
        * ns.B(s)
    ),
    "two by class": lambda ns, p, q, s: (
        phase(ns, p, q, s)
        * rt.TFSmearFactor(ns.lmn(s), ns.uvw(p, q), smear_frequency=False)
        * rt.TFSmearFactor(ns.lmn(s), ns.uvw(p, q), smear_time=False, freq_width_hz=WIDTH_HZ)
        * ns.B(s)
    ),
    "phases of a baseline that is turned round": lambda ns, p, q, s: (
        rt.Conj(phase(ns, p, q, s)) * sinc(across(ns, p, q, s)) * sinc(-1 * along(ns, p, q, s)) * ns.B(s)
    ),
    "never zero": lambda ns, p, q, s: phase(ns, p, q, s) * sinc(across(ns, p, q, s) + 1e-20) * ns.B(s),
    "elements": lambda ns, p, q, s: rt.Matrix22(
        phase(ns, p, q, s) * sinc(across(ns, p, q, s)) * ns.B(s)[0, 0],
        0,
        0,
        phase(ns, p, q, s) * ns.B(s)[1, 1] * sinc(across(ns, p, q, s)),
    ),
}


@pytest.mark.parametrize("spelling", SMEARED)
def test_smearing_by_hand(spelling):
    term = SMEARED[spelling]
    forest = check(lambda ns, p, q: total(lambda s: term(ns, p, q, s)))
    assert not {"Divide", "TFSmearFactor"} & set(forest.timing().classes)


@pytest.mark.parametrize("scale", [1e-6, 3.0])
def test_smearing_by_hand_of_coordinates_in_other_units(scale):
    """In units that a phase is scaled by, and smearing as well."""

    def term(ns, p, q, s):
        other = path(ns.uvw(p, q), ns.lmn(s)) * scale
        k = rt.Polar(1, TURN / scale / 1.1 * ns.nu * other)
        return k * sinc(np.pi / C / scale * WIDTH_HZ * other) * ns.B(s)

    check(lambda ns, p, q: total(lambda s: term(ns, p, q, s)))


def test_smearing_by_hand_of_stacks():
    def write(ns, p, q):
        ll, m, n = (rt.Selector(ns.lmn, index=[-1, i]) for i in range(3))
        uvw = ns.uvw(p, q)
        way = uvw[0, 0] * ll + uvw[0, 1] * m + uvw[0, 2] * (n - 1)
        flux = rt.Composer(*(ns.flux(s) for s in range(N_SOURCE)))
        k = rt.Exp(1j * TURN * ns.nu * way) * sinc(np.pi / C * WIDTH_HZ * way) * flux
        return rt.Sum(k, reduction_axes=[], tensor_axis=0)

    check(write)


def test_a_source_at_the_phase_centre_is_not_smeared():
    """Where 0/0 is no number smearing is one."""
    ns = rt.NodeScope()
    ns.uvw << rt.Constant([100.0, 50.0, 10.0])
    ns.lmn(0) << rt.Constant([0.0, 0.0, 1.0])
    ns.lmn(1) << rt.Constant(LMN[1])

    def term(s):
        lmn = ns.lmn(s)
        way = ns.uvw[0] * lmn[0] + ns.uvw[1] * lmn[1] + ns.uvw[2] * (lmn[2] - 1)
        return rt.VisPhaseShift(ns.lmn(s), ns.uvw) * sinc(np.pi / C * WIDTH_HZ * way) * rt.Constant(np.eye(2))

    ns.V << term(0) + term(1)
    wanted = np.exp(1j * TURN * CELLS.freq_hz * ([100, 50, 10] @ (LMN[1] - [0, 0, 1])))
    wanted = 1 + wanted * np.sinc(WIDTH_HZ / C * ([100, 50, 10] @ (LMN[1] - [0, 0, 1])))
    got = rt.Forest(ns).evaluate("V", CELLS)
    np.testing.assert_allclose(got[0, 0], np.broadcast_to(wanted, got[0, 0].shape), rtol=0, atol=1e-12)


NO_SMEARING = {
    "a part of it varies with frequency": lambda ns, p, q, s: across(ns, p, q, s) + across(ns, p, q, s) * ns.nu / 1e9,
    "rates are not those of coordinates": lambda ns, p, q, s: across(ns, p, q, s) * (ns.nu / 1e9),
    "not just one factor": lambda ns, p, q, s: across(ns, p, q, s) * ns.uvw(p, q)[0, 0] * 1e-3,
}


@pytest.mark.parametrize("reason", NO_SMEARING)
def test_what_is_no_smearing_is_said(reason):
    x = NO_SMEARING[reason]
    forest, roots = roots_of(lambda ns, p, q: total(lambda s: phase(ns, p, q, s) * sinc(x(ns, p, q, s)) * ns.B(s)))
    written = roots_of(
        lambda ns, p, q: total(lambda s: phase(ns, p, q, s) * sinc(x(ns, p, q, s)) * ns.B(s)), as_written=True
    )[0]
    for got, wanted in zip(forest.results(roots, CELLS), written.results(roots, CELLS), strict=True):
        np.testing.assert_allclose(got.value, wanted.value, rtol=0, atol=1e-12 * N_SOURCE)
    (note,) = (note for note in forest.notes() if "is no smearing of a source" in note)
    assert reason in note


def test_what_keeps_a_term_from_a_sum_is_named_as_it_is_written():
    def write(ns, p, q):
        return total(lambda s: phase(ns, p, q, s) * sinc(across(ns, p, q, s)) * sinc(across(ns, p, q, s)) * ns.B(s))

    forest, roots = roots_of(write)
    forest.results(roots, CELLS)
    (note,) = (note for note in forest.notes() if "two factors of this kind" in note)
    assert "(Divide)" in note
