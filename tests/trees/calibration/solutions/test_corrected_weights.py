"""Weights of corrected data are those of their noise."""

import numpy as np
import pytest

import rimetree as rt
from rimetree.calibration import Solutions, TermSolutions
from rimetree.calibration.solutions.corrected_weights import _corrected, weights_tree
from rimetree.evaluation.cells import Cells


def test_variances_of_products_of_matrices():
    """Many draws of noise, for matrices that mix and weights that differ."""
    rng = np.random.default_rng(1)
    a, b = (rng.normal(size=(2, 2)) + 1j * rng.normal(size=(2, 2)) for _ in range(2))
    weight = np.array([[1.0, 4.0], [0.25, 2.0]])
    noise = (rng.normal(size=(200_000, 2, 2)) + 1j * rng.normal(size=(200_000, 2, 2))) / np.sqrt(weight)
    seen = a @ noise @ np.conj(b.T)
    powers = [np.abs(x)[..., None, None] ** 2 for x in (a, b)]
    found = _corrected(Cells([0.0], [1.0]), weight[..., None, None], *powers)[..., 0, 0]
    np.testing.assert_allclose(found, 1 / seen.real.var(axis=0), rtol=0.02)
    weight[0, 1] = 0  # of which all elements have a part
    assert (_corrected(Cells([0.0], [1.0]), weight[..., None, None], *powers) == 0).all()
    diagonal = [power * np.eye(2)[..., None, None] for power in powers]
    one = _corrected(Cells([0.0], [1.0]), weight[..., None, None], *diagonal)[..., 0, 0]
    assert one[0, 1] == 0 and (np.delete(one.ravel(), 1) > 0).all()
    # Gains of 1e30: no number of the column can be that large, and infinity was written.
    tiny = [power * 1e-60 for power in diagonal]
    assert (_corrected(Cells([0.0], [1.0]), weight[..., None, None], *tiny) == 0).all()


@pytest.mark.parametrize("kind", ["diag", "full"])
def test_weights_are_written(tmp_path, kind):
    path, rng = str(tmp_path / "a.ms"), np.random.default_rng(2)
    bands = [rt.ms.Band.regular(1.3e9, 4e6, 2)]
    what = {"phase_centre_rad": (0.9, -0.5), "duration_s": 20.0, "integration_s": 10.0, "bands": bands}
    rt.ms.create(path, "kat-7", **what, weight_spectrum=True)
    (group,) = rt.ms.groups(path)
    elements = ("0", "1") if kind == "diag" else ("00", "01", "10", "11")
    shape = (1, 1, 7, 1, len(elements))
    flag = np.zeros(shape, bool)
    flag[0, 0, 6] = True
    value = {"amplitude": rng.uniform(0.5, 2, shape), "phase": rng.uniform(-3, 3, shape)}
    (tile,) = rt.ms.tiles(path, [], time_slots=100)
    names = tuple(group.antenna_names[a] for a in group.antennas)
    term = TermSolutions(
        "G", kind, elements, tile["time_s"][:1], np.array([1e4]), tile["frequency_hz"][:1], np.array([1e9]),
        names, ("",), value, {q: np.zeros(shape) for q in value}, flag,
    )  # fmt: skip
    ns = rt.NodeScope()
    weights_tree(ns, group, Solutions((term,)))
    rt.Forest(ns).run(path, **group.selection)
    (after,) = rt.ms.tiles(path, [], time_slots=100)
    gain = term.gain()[0, 0, :, 0]
    for k, (p, q) in enumerate(tile["baselines"]):
        if 6 in (p, q):
            assert (after["weight"][k] == 0).all()
            continue
        left, right = (np.abs(np.linalg.inv(gain[a])) ** 2 for a in (p, q))
        variance = 1 / tile["weight"][k].reshape(*tile["weight"].shape[1:3], 2, 2).astype(float)
        np.testing.assert_allclose(
            after["weight"][k].reshape(variance.shape), 1 / (left @ variance @ right.T), rtol=1e-5
        )


def test_without_the_column(tmp_path):
    path = str(tmp_path / "a.ms")
    rt.ms.create(path, "kat-7", phase_centre_rad=(0.9, -0.5), duration_s=20.0, integration_s=10.0)
    (group,) = rt.ms.groups(path)
    ns = rt.NodeScope()
    weights_tree(ns, group, Solutions(()))
    with pytest.raises(rt.Error, match="WEIGHT_SPECTRUM"):
        rt.Forest(ns).run(path, **group.selection)
