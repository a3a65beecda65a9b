"""When a direction of which no more is found than in noise is said to be without signal, and when it is not."""

import numpy as np
import pytest

from rimetree.calibration.collected import NOT_DETECTED, WITHOUT_SIGNAL, flag_absent
from rimetree.calibration.data.coherence import Coherence
from rimetree.calibration.data.coherence_bins import CoherenceBins
from rimetree.calibration.directions.several_directions import SeveralDirections
from rimetree.calibration.directions.significance import explained_of_noise, is_hidden
from rimetree.calibration.searches.phase_search import best_phases
from rimetree.calibration.starts.fewer_directions import BestFit
from rimetree.calibration.starts.starting_values import StartingValues
from rimetree.calibration.terms.grid import Chunk
from rimetree.calibration.terms.term_trees import Parameter
from rimetree.calibration.terms.terms import parse_term
from rimetree.evaluation.solving import SolutionFlag

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
        CoherenceBins(Chunk(np.zeros(1), {}), np.array([0.0, 1.0]), None),
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


@pytest.mark.parametrize(
    ("doubtful", "hidden", "why"),
    [
        (True, (), SolutionFlag.NOT_CONVERGED),  # the minimum may not be the lowest
        (False, (), WITHOUT_SIGNAL | SolutionFlag.NO_DATA),
        (False, ("b",), NOT_DETECTED | SolutionFlag.NO_DATA),
    ],
)
def test_why_a_direction_is_flagged(doubtful, hidden, why):
    parameters = [
        Parameter(f"{name}", "dE", "phase", 0, 0, name, 0.0, fixed=False, referred=True) for name in ("a", "b")
    ]
    arrays = {"dE:flag": np.array([0, SolutionFlag.NO_DATA], np.int32).reshape(2, 1, 1)}  # it was not solved for
    fitted = BestFit(StartingValues({}, absent=("b",)), None, doubtful, hidden)
    flag_absent([parse_term("dE: phase, per patch")], parameters, arrays, fitted)
    assert arrays["dE:flag"].ravel().tolist() == [0, why]


@pytest.mark.parametrize("turns", [False, True])
def test_what_noise_hides(turns):
    """A signal of unknown phases, as large as 3 standard deviations more than what a search finds in noise, is found
    in all of 300 data; in noise alone, in none."""
    n, rng = 40, np.random.default_rng(1)
    mean = explained_of_noise(phases=0 if turns else n, turns=n if turns else 0)
    least = next(sigma for sigma in np.arange(1, 100, 0.1) if not is_hidden(sigma**2, mean))
    found = (least + rng.normal(size=300)) ** 2  # at the right phases alone: a search finds more
    assert (found > mean + 4 * np.sqrt(mean)).all() and is_hidden((least - 3) ** 2, mean)
