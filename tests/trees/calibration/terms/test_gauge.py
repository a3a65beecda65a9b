"""What is held for the reference: exactly as much as visibilities cannot tell.

The oracle is the rank of the derivative of visibilities J_p B J_q^H with respect to all parts of all J, by differences.
"""

import itertools

import numpy as np
import pytest

import rimetree as rt
from rimetree.calibration import parse_term
from rimetree.calibration.terms.gauge import (
    Polarisation,
    has_two_sides,
    held_parameters,
    polarisation_of,
    reference_antenna,
    reference_direction,
)
from rimetree.calibration.terms.kinds import jones_of
from rimetree.calibration.terms.term_trees import parts_of

# Skies: Stokes parameters of their sources.
SKIES = {
    "unpolarised": [(1.0, 0, 0, 0), (0.5, 0, 0, 0)],
    "one Q": [(1.0, 0.3, 0, 0)],
    "many Q": [(1.0, 0.3, 0, 0), (0.5, -0.1, 0, 0)],
    "one QUV": [(1.0, 0.2, 0.3, 0.1)],
    "one QU of two": [(1.0, 0.2, 0.3, 0), (0.5, 0, 0, 0)],
    "V of two": [(1.0, 0, 0, 0.3), (0.5, 0, 0, 0)],
    "QUV along a line": [(1.0, 0.2, 0.05, -0.3), (0.5, -0.1, -0.025, 0.15), (0.7, 0, 0, 0)],
    "two ways": [(1.0, 0.2, 0.3, 0.1), (0.5, 0.1, -0.1, 0.05)],
    "two ways of four": [(1.0, 0.2, 0.3, 0.1), (0.5, 0.1, -0.1, 0.05), (1.5, 0.3, 0.2, 0.15), (0.5, 0.1, 0.4, 0.05)],
    "many QUV": [(1.0, 0.2, 0.3, 0.1), (0.5, 0, 0.1, 0.0), (0.7, 0.3, 0, 0.2)],
}
FREQUENCY = np.array([1.0e9, 1.1e9, 1.25e9])


def brightness(stokes):
    i, q, u, v = stokes
    return np.array([[i + q, u + 1j * v], [u - 1j * v, i - q]])


def matrices_of(term, row):
    """[frequency, 2, 2] of a term with parameters `row`."""
    parts = parts_of(term)
    if parts[0][0] == "re":
        gain = np.ones(len(term.elements), complex)
        for (part, e, _), value in zip(parts, row, strict=True):
            gain[e] = complex(value, gain[e].imag) if part == "re" else complex(gain[e].real, value)
        values = {"amplitude": np.abs(gain), "phase": np.angle(gain)}
    else:
        values = {parts[0][0]: np.array(row)}
    values = {q: np.broadcast_to(v, (len(FREQUENCY), len(v))) for q, v in values.items()}
    return jones_of(values, term.elements, FREQUENCY)


def visibilities(terms, x, sky):
    """Of each source (they are told apart by their fringes) on all baselines of antennas with parameters x [antenna,
    part], as real numbers."""
    matrices = []
    for row in x:
        product, at = np.eye(2), 0
        for term in terms:
            count = len(parts_of(term))
            product = product @ matrices_of(term, row[at : at + count])
            at += count
        matrices.append(product)
    v = [
        matrices[p] @ brightness(stokes) @ matrices[q].conj().swapaxes(-1, -2)
        for stokes in sky
        for p, q in itertools.combinations(range(len(x)), 2)
    ]
    v = np.array(v).ravel()
    return np.concatenate([v.real, v.imag])


@pytest.mark.parametrize("name", SKIES)
@pytest.mark.parametrize(
    "texts",
    [[f"G: {kind}"] for kind in ("scalar", "diag", "full", "phase", "phase, scalar", "amplitude", "delay", "tec")]
    + [["G: leakage"], ["G: rotation"], ["G: diag", "D: leakage"]]
    + [["P: phase", "A: amplitude", "D: leakage"], ["A: amplitude", "P: phase", "D: leakage"]]
    + [["P: phase", "D: leakage"], ["A: amplitude", "D: leakage"], ["S: scalar", "D: leakage"]],
    ids=" ".join,
)
def test_the_rest_is_determined(texts, name):
    terms = [parse_term(text) for text in texts]
    parts = [(term, part) for term in terms for part in parts_of(term)]
    rng = np.random.default_rng(5)
    unit = {"clock": 1e-10, "tec": 1e-2}.get(parts[0][1][0], 1.0)
    start = np.array([value for _, (_, _, value) in parts])
    x = start + 0.2 * unit * rng.normal(size=(6, len(parts)))
    polarisation = polarisation_of(model(SKIES[name]), "linear")
    held = {term.name: held_parameters(term, terms, polarisation) for term in terms}
    free = np.array([[a > 0 or (p, t.elements[e]) not in held[t.name] for t, (p, e, _) in parts] for a in range(6)])

    def rank(which):
        columns = []
        for a, k in np.argwhere(which):
            step = np.zeros_like(x)
            step[a, k] = 1e-6 * unit
            difference = visibilities(terms, x + step, SKIES[name]) - visibilities(terms, x - step, SKIES[name])
            columns.append(difference / 2e-6)
        return np.linalg.matrix_rank(np.array(columns), tol=1e-6)

    # What is solved for is determined, but for rotations around the axis of polarisation.
    open_ones = int(texts == ["G: full"] and bool(polarisation.turned) and not polarisation.uniform)
    assert rank(free) == free.sum() - open_ones
    kinds = {term.kind.name for term in terms}
    # Beside less than any gains of feeds the ambiguity of leakages is one of first order only: nothing need be lost.
    if "leakage" not in kinds or "diag" in kinds or {"amplitude", "phase"} <= kinds:
        assert rank(np.ones_like(free)) == free.sum() - open_ones  # and nothing that could be told is held


@pytest.mark.parametrize("name", SKIES)
@pytest.mark.parametrize("text", ["G: scalar", "G: diag", "G: full", "G: amplitude", "G: phase"])
def test_the_rest_is_determined_where_baselines_join_two_sides(text, name, monkeypatch):
    """Baselines from antennas 0 to 2 to antennas 3 to 5 only."""
    sides = [(p, q) for p in range(3) for q in range(3, 6)]
    assert has_two_sides(sides) and not has_two_sides([*sides, (0, 1)])
    monkeypatch.setattr(itertools, "combinations", lambda *_: sides)
    term = parse_term(text)
    parts = parts_of(term)
    x = np.array([value for _, _, value in parts]) + 0.2 * np.random.default_rng(5).normal(size=(6, len(parts)))
    held = held_parameters(term, [term], polarisation_of(model(SKIES[name]), "linear"), two_sides=True)
    free = np.array([[a > 0 or (p, term.elements[e]) not in held for p, e, _ in parts] for a in range(6)])
    columns = []
    for a, k in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[a, k] = 1e-6
        columns.append(visibilities([term], x + step, SKIES[name]) - visibilities([term], x - step, SKIES[name]))
    columns = np.array(columns) / 2e-6
    polarisation = polarisation_of(model(SKIES[name]), "linear")
    # Rotations around the axis of polarisation are open, and boosts along it: what one side gains the other one loses.
    open_ones = 2 * int(text == "G: full" and bool(polarisation.turned) and not polarisation.uniform)
    assert np.linalg.matrix_rank(columns[free.ravel()], tol=1e-6) == free.sum() - open_ones
    assert np.linalg.matrix_rank(columns, tol=1e-6) == free.sum() - open_ones


def test_two_sides():
    assert not has_two_sides([(0, 1)])  # one baseline tells no gain
    assert has_two_sides([(0, 1), (1, 2)])
    assert not has_two_sides([(0, 1), (1, 2), (0, 2)])
    assert has_two_sides([(0, 1), (2, 3)])


def model(sources):
    return rt.sky.SkyModel([rt.sky.Source(f"s{k}", 0, 0, stokes) for k, stokes in enumerate(sources)])


def test_polarisation_of_skies():
    def of(second, feed="linear"):
        return polarisation_of(model([(1.0, 0, 0, 0), second]), feed)

    assert of((1.0, 0, 0, 0)) == Polarisation("none", True)
    parallel = of((1.0, 0.1, 0, 0))
    assert (parallel.hands, parallel.uniform) == ("parallel", False)
    np.testing.assert_allclose(parallel.axis, (1, 0, 0), atol=1e-9)
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


@pytest.mark.parametrize(
    "terms, is_held",
    [
        (["G: diag", "H: diag, per patch"], True),
        (["G: diag", "X: crosshand", "H: diag, per patch"], True),
        (["G: diag", "L: leakage", "H: diag, per patch"], False),
        (["G: diag", "R: rotation", "H: diag, per patch"], False),
        (["G: diag", "F: full", "H: phase, per patch"], True),  # F does it
        (["G: diag, 1slot", "F: full", "H: phase, 1slot, per patch"], False),
        (["G: diag", "L: leakage", "H: scalar, per patch"], True),
        (["L: leakage", "G: diag", "H: diag, per patch"], True),
        (["F: full, 1slot", "L: leakage", "H: diag, 1slot, per patch"], True),
        (["F: full, 1slot", "L: leakage, 1chan", "H: diag, 1slot, per patch"], False),
        (["G: diag", "L: leakage, per patch", "H: diag, per patch"], False),
    ],
)
def test_no_direction_is_held_past_what_mixes_feeds(terms, is_held):
    """G L H is no G' L, unless H is a number. Of H the brightest direction had been held all the same: 3 to 4 times the
    noise, some "converged"."""
    chain = [parse_term(text) for text in terms]
    assert (reference_direction(chain[-1], chain, {"faint": 1.0, "bright": 3.0}) == "bright") == is_held


def test_reference_antenna():
    good = np.array([10, 40, 100, 0])
    assert reference_antenna(good, None) == 2
    assert reference_antenna(good, 1) == 2
    assert reference_antenna(np.array([10, 60, 100, 0]), 1) == 1
    assert reference_antenna(good, 3) == 2
