"""What is held for the reference: exactly as much as visibilities cannot tell.

The oracle is the rank of the derivative of visibilities J_p B J_q^H with respect to all parts of all J, by differences.
"""

import itertools

import numpy as np
import pytest

import rimetree as rt
from rimetree.calibration import parse_term
from rimetree.calibration.gauge import (
    Polarisation,
    held_parameters,
    polarisation_of,
    reference_antenna,
    reference_direction,
)
from rimetree.calibration.kinds import jones_of
from rimetree.calibration.term_trees import parts_of

# Skies: Stokes parameters of their sources.
SKIES = {
    "unpolarised": [(1.0, 0, 0, 0), (0.5, 0, 0, 0)],
    "one Q": [(1.0, 0.3, 0, 0)],
    "many Q": [(1.0, 0.3, 0, 0), (0.5, -0.1, 0, 0)],
    "one QUV": [(1.0, 0.2, 0.3, 0.1)],
    "many QUV": [(1.0, 0.2, 0.3, 0.1), (0.5, 0, 0.1, 0.0), (0.7, 0.3, 0, 0.2)],
}
FREQUENCY = np.array([1.0e9, 1.1e9, 1.25e9])


def brightness(stokes):
    i, q, u, v = stokes
    return np.array([[i + q, u + 1j * v], [u - 1j * v, i - q]])


def visibilities(term, x, sky):
    """Of each source (they are told apart by their fringes) on all baselines of antennas with parameters x [antenna,
    part], as real numbers."""
    parts = parts_of(term)
    matrices = []
    for row in x:
        values = {}
        if parts[0][0] == "re":
            gain = np.ones(len(term.elements), complex)
            for (part, e, _), value in zip(parts, row, strict=True):
                gain[e] = complex(value, gain[e].imag) if part == "re" else complex(gain[e].real, value)
            values = {"amplitude": np.abs(gain), "phase": np.angle(gain)}
        else:
            values = {parts[0][0]: np.array(row)}
        values = {q: np.broadcast_to(v, (len(FREQUENCY), len(v))) for q, v in values.items()}
        matrices.append(jones_of(values, term.elements, FREQUENCY))
    v = [
        matrices[p] @ brightness(stokes) @ matrices[q].conj().swapaxes(-1, -2)
        for stokes in sky
        for p, q in itertools.combinations(range(len(x)), 2)
    ]
    v = np.array(v).ravel()
    return np.concatenate([v.real, v.imag])


@pytest.mark.parametrize("name", SKIES)
@pytest.mark.parametrize(
    "text",
    [f"G: {kind}" for kind in ("scalar", "diag", "full", "phase", "phase, scalar", "amplitude", "delay", "tec")]
    + [f"G: {kind}" for kind in ("leakage", "rotation")],
)
def test_the_rest_is_determined(text, name):
    term = parse_term(text)
    parts = parts_of(term)
    rng = np.random.default_rng(5)
    unit = {"clock": 1e-10, "tec": 1e-2}.get(parts[0][0], 1.0)
    start = np.array([value for _, _, value in parts])
    x = start + 0.2 * unit * rng.normal(size=(6, len(parts)))
    held = held_parameters(term, polarisation_of(model(SKIES[name]), "linear"))
    free = np.array([[a > 0 or (p, term.elements[e]) not in held for p, e, _ in parts] for a in range(6)])

    def rank(which):
        columns = []
        for a, k in np.argwhere(which):
            step = np.zeros_like(x)
            step[a, k] = 1e-6 * unit
            difference = visibilities(term, x + step, SKIES[name]) - visibilities(term, x - step, SKIES[name])
            columns.append(difference / 2e-6)
        return np.linalg.matrix_rank(np.array(columns), tol=1e-6)

    everything = np.ones_like(free)
    assert rank(free) == free.sum()  # what is solved for is determined
    if text != "G: leakage":  # its ambiguity is one of first order only: nothing need be lost
        assert rank(everything) == free.sum()  # and nothing that could be told is held


def model(sources):
    return rt.sky.SkyModel([rt.sky.Source(f"s{k}", 0, 0, stokes) for k, stokes in enumerate(sources)])


def test_polarisation_of_skies():
    def of(second, feed="linear"):
        return polarisation_of(model([(1.0, 0, 0, 0), second]), feed)

    assert of((1.0, 0, 0, 0)) == Polarisation("none", True)
    assert of((1.0, 0.1, 0, 0)) == Polarisation("parallel", False)
    assert of((1.0, 0.1, 0, 0), "circular").hands == "crossed"
    assert of((1.0, 0, 0, 0.1), "circular").hands == "parallel"
    assert of((1.0, 0, 0, 0.1)).hands == "crossed"
    assert polarisation_of(model([(2.0, 0.2, 0, 0), (1.0, 0.1, 0, 0)]), "linear").uniform
    rotated = rt.sky.SkyModel([rt.sky.Source("a", 0, 0, (1.0, 0.1, 0, 0), ref_freq_hz=1e9, rm_rad_m2=5.0)])
    assert polarisation_of(rotated, "linear") == Polarisation("crossed", False)


def test_a_direction_is_held_where_a_term_of_the_whole_sky_takes_its_part():
    gain, phase, toward = parse_term("G: diag"), parse_term("P: phase"), parse_term("dE: scalar, per patch")
    fluxes = {"faint": 1.0, "bright": 3.0}
    assert reference_direction(toward, [gain, toward], fluxes) == "bright"
    assert reference_direction(toward, [phase, toward], fluxes) is None
    assert reference_direction(toward, [toward], fluxes) is None
    assert reference_direction(gain, [gain, toward], fluxes) is None


def test_reference_antenna():
    good = np.array([10, 40, 100, 0])
    assert reference_antenna(good, None) == 2
    assert reference_antenna(good, 1) == 2
    assert reference_antenna(np.array([10, 60, 100, 0]), 1) == 1
    assert reference_antenna(good, 3) == 2
