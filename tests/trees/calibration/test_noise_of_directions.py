"""When a direction of which no more is found than in noise is said to be without signal, and when it is not."""

import numpy as np
import pytest

from rimetree.calibration.coherence import Coherence
from rimetree.calibration.collected import WITHOUT_SIGNAL, flag_absent
from rimetree.calibration.phase_search import best_phases
from rimetree.calibration.several_directions import SeveralDirections
from rimetree.calibration.term_trees import Parameter
from rimetree.calibration.terms import parse_term
from rimetree.solving import SolutionFlag

N, N_SAMPLE = 6, 40
BASELINES = np.array([(p, q) for p in range(N) for q in range(p + 1, N)])


def sums_of(errors):
    """Of a bright direction in the data and a faint one that is not, with noise of 1; `errors`: of the bright one's
    amplitude, by baseline, which no antenna makes."""
    rng = np.random.default_rng(3)

    def noise(*shape):
        return rng.normal(size=(*shape, 2)) @ [1, 1j]

    models = noise(len(BASELINES), 1, 1, 2, N_SAMPLE, 2) * [5.0, 0.02]
    phase = np.exp(1j * rng.uniform(-np.pi, np.pi, N))
    factor = phase[BASELINES[:, 0]] * np.conj(phase[BASELINES[:, 1]])
    factor = factor * (1 + errors * rng.normal(size=len(BASELINES)))
    data = factor[:, None, None, None, None] * models[..., 0] + noise(*models.shape[:-1])
    return Coherence(
        list(range(N)),
        BASELINES,
        np.array([1.4e9]),
        np.einsum("btfesk,btfes->btfek", models.conj(), data),
        np.einsum("btfesk,btfesl->btfekl", models.conj(), models),
        (np.abs(data) ** 2).sum(axis=-1),
        np.full(data.shape[:-1], N_SAMPLE),
    )


@pytest.mark.parametrize(("errors", "absent"), [(0.0, ["faint"]), (0.3, [])])
def test_noise_counts_only_where_the_rest_fits(errors, absent):
    """What is wrong with others is no noise, beside which a direction could be said to be none."""
    sums = sums_of(errors)

    def search(product):
        return best_phases(sums.matrix(product.sum(axis=-1)), 0)

    def phasors(phase):
        turned = np.exp(1j * np.moveaxis(phase, -1, 0))[..., None]
        return turned[BASELINES[:, 0]] * np.conj(turned[BASELINES[:, 1]])

    found = SeveralDirections(sums, ["bright", "faint"], ["bright", "faint"])
    found.run(search, phasors)
    assert not found.absent  # of so faint a model noise is many times as much
    found.leave_noise(["bright", "faint"], search, phasors)
    assert found.absent == absent


@pytest.mark.parametrize("doubtful", [False, True])
def test_where_the_minimum_may_not_be_the_lowest_nothing_is_without_signal(doubtful):
    parameters = [
        Parameter(f"{name}", "dE", "phase", 0, 0, name, 0.0, fixed=False, referred=True) for name in ("a", "b")
    ]
    arrays = {"dE:flag": np.array([0, SolutionFlag.NO_DATA], np.int32).reshape(2, 1, 1)}  # it was not solved for
    flag_absent([parse_term("dE: phase, per patch")], parameters, arrays, ["b"], doubtful=doubtful)
    why = SolutionFlag.NOT_CONVERGED if doubtful else WITHOUT_SIGNAL | SolutionFlag.NO_DATA
    assert arrays["dE:flag"].ravel().tolist() == [0, why]
