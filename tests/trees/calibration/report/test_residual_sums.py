"""Sums over many baselines at a time are those of the formula, visibility by visibility."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from rimetree.calibration import CalibrationOptions, Solutions
from rimetree.calibration.model.predicted_tiles import KeptValues
from rimetree.calibration.report import residual_sums

N_TIME, N_CHANNEL, PARTS = 3, 4, ("north", "south", "west")
ELEMENT = {"XX": (0, 0), "XY": (0, 1), "YX": (1, 0), "YY": (1, 1)}


def planted(names, rng):
    """A tile of five antennas, of which one has no solutions, and models of three parts; where something is flagged
    data and models may be anything. One baseline has no model."""
    group = SimpleNamespace(
        antennas=[0, 2, 3, 5, 7], antenna_names={a: f"A{k}" for k, a in enumerate((0, 2, 3, 5, 7))}, correlations=names
    )
    pairs = list(itertools.combinations(group.antennas, 2))
    shape = (len(pairs), N_TIME, N_CHANNEL, len(names))

    def noise(*shape):
        return rng.normal(size=shape) + 1j * rng.normal(size=shape)

    data, models = noise(*shape).astype(np.complex64), noise(len(pairs), 3, 2, 2, N_TIME, N_CHANNEL)
    flag, weight = (rng.random(shape) < 0.2).astype(np.uint8), (rng.random(shape) < 0.9).astype(np.float32)
    row = np.arange(len(pairs) * N_TIME).reshape(len(pairs), N_TIME)
    row[4, 1] = -1
    data[3, 0, 0, 0], weight[3, 0, 1, 0] = np.nan, np.inf
    for b, t, f in itertools.product(range(len(pairs)), range(N_TIME), range(N_CHANNEL)):
        if flag[b, t, f].all():
            models[b, :, :, :, t, f] = np.nan
    tile = {
        "baselines": pairs,
        "time_s": 5e9 + 20 + 60.0 * np.arange(N_TIME),
        "frequency_hz": 1.3995e9 + 1e6 * np.arange(N_CHANNEL),
        "columns": {"DATA": data},
        "flag": flag,
        "weight": weight,
        "row": row,
    }
    order = rng.permutation(len(pairs))  # models may come in another order
    places = {pairs[k]: place for place, k in enumerate(order)}
    there = np.ones(len(pairs), bool)
    there[places[pairs[6]]] = False
    return group, tile, models, KeptValues(places, models[order], there)


@pytest.mark.parametrize("names", [("XX", "XY", "YX", "YY"), ("YY", "XX"), ("XX",)])
@pytest.mark.parametrize(
    "terms", [[], [{}], [{"kind": "full", "elements": ("00", "01", "10", "11")}]], ids=["directions", "diag", "full"]
)
@pytest.mark.parametrize("together", [1, 1 << 20])
def test_sums_are_those_of_the_formula(made_term, monkeypatch, names, terms, together):
    monkeypatch.setattr(residual_sums, "_TOGETHER_BYTES", together)
    rng = np.random.default_rng(5)
    group, tile, models, kept = planted(names, rng)
    of_directions = made_term("phase", quantities=("phase",), name="P", directions=PARTS[:2], seed=4)
    found = Solutions((*(made_term(**term) for term in terms), of_directions), provenance={"data_over_model": 2.0})
    sums = residual_sums.ResidualSums(group, PARTS, found, CalibrationOptions())
    sums.add_tile(tile, kept)

    n, power, number = len(names), {}, {a: k for k, a in enumerate(group.antennas)}
    antennas, times, channels = (np.zeros((3, size, n)) for size in (5, N_TIME, N_CHANNEL))
    cross, gram, after, own = np.zeros((3, n)), np.zeros((3, 3, n)), np.zeros(3), np.zeros(3)
    missing, flagged = np.zeros((2, 5), int)
    axes = (tile["time_s"], tile["frequency_hz"])
    jones = {
        (a, j): found.jones(group.antenna_names[a], *axes, direction=part if j < 2 else None)
        for a in group.antennas
        for j, part in enumerate(PARTS)
    }
    for b, (p, q) in enumerate(tile["baselines"]):
        if (p, q) not in kept:
            continue
        for t, f, c in itertools.product(range(N_TIME), range(N_CHANNEL), range(n)):
            if tile["row"][b, t] < 0:
                continue
            value, weight, (i, k) = tile["columns"]["DATA"][b, t, f, c], tile["weight"][b, t, f, c], ELEMENT[names[c]]
            ends, finite = [number[p], number[q]], np.isfinite(value) and math.isfinite(weight)
            if tile["flag"][b, t, f, c] or weight <= 0 or not finite:
                flagged[ends] += 1
                continue
            if any(jones[p, j][1][t, f, i] or jones[q, j][1][t, f, k] for j in range(3)):
                missing[ends] += 1
                continue
            plain = [2 * models[b, j, :, :, t, f] for j in range(3)]
            seen = [(jones[p, j][0][t, f] @ x @ jones[q, j][0][t, f].conj().T)[i, k] for j, x in enumerate(plain)]
            plain, residual = [x[i, k] for x in plain], value - sum(seen)
            squares = np.array([abs(complex(value)) ** 2, abs(residual) ** 2, 1])
            for of, at in ((antennas, ends[0]), (antennas, ends[1]), (times, t), (channels, f)):
                of[:, at, c] += squares
            power[b, t, f, c] = complex(value)
            cross[:, c] += [(value * np.conj(x)).real for x in plain]
            gram[:, :, c] += np.outer(plain, np.conj(plain)).real
            if names[c] in ("XX", "YY"):
                after += [(residual * np.conj(x)).real for x in seen]
                own += np.abs(seen) ** 2

    def same(one, other):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)

    for got, expected in ((sums.antennas, antennas), (sums.times[0][1], times), (sums.channels, channels)):
        for key, values in zip(("data", "residual", "count"), expected, strict=True):
            same(getattr(got, key), values)
    assert missing.any() and sums.missing.tolist() == missing.tolist() and sums.flagged.tolist() == flagged.tolist()
    overlaps = sums.overlaps
    for got, expected in ((overlaps.cross, cross), (overlaps.gram, gram), (overlaps.after, after), (overlaps.own, own)):
        same(got, expected)
    differences = np.zeros((2, 2, n))
    for (b, t, f, c), value in power.items():
        for which, other in enumerate(((b, t, f + 1, c), (b, t + 1, f, c))):
            if other in power:
                differences[which, :, c] += abs(power[other] - value) ** 2 / 2, 1
    same(sums.differences, differences)
