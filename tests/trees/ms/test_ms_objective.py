"""Chi-square of a whole Measurement Set with its gradient, against sums in NumPy over the rows of the set."""

import itertools
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

import rimetree as rt

LIGHT_M_S = 299792458.0
CENTRE = (0.9, -0.5)
N_ANTENNA = 7
PAIRS = list(itertools.combinations(range(N_ANTENNA), 2))
EDGE_S = 45.0  # the flux has a solution tile before, and one after so many seconds
# flux in Jy before and after the edge; l of the source in rad; gains of the antennas
START = np.array([2.0, 1.5, 3e-4, *np.linspace(0.8, 1.2, N_ANTENNA)])
TRUTH = START * np.concatenate([[1.2, 0.9, 0.8], np.linspace(1.05, 0.95, N_ANTENNA)])


@pytest.fixture
def observed(tmp_path):
    """A set of two windows of 3 and 5 channels, 9 times of 10 s, with a seventh of the data flagged and noise."""
    path = str(tmp_path / "obs.ms")
    bands = [rt.ms.Band.regular(1.3e9, 6e6, 3), rt.ms.Band.regular(1.5e9, -10e6, 5)]
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=90, integration_s=10, bands=bands)
    rng = np.random.default_rng(3)
    for data_desc_id in (0, 1):
        (tile,) = rt.ms.tiles(path, [], time_slots=100, data_desc_id=data_desc_id)
        value = model(tile, TRUTH)
        value = value + 0.1 * (rng.normal(size=value.shape) + 1j * rng.normal(size=value.shape))
        ns = rt.NodeScope()
        for k, (p, q) in enumerate(tile["baselines"]):
            bad = rt.Constant((rng.random(value.shape[1:3]) < 1 / 7).astype(float), cells_rank=2)
            data = rt.Constant(np.einsum("tf,ij->ijtf", value[k], np.eye(2)), cells_rank=2)
            flagged = rt.MergeFlags(data, rt.ZeroFlagger(bad, oper="NE"))
            ns.sink(p, q) << rt.Sink(
                flagged, station_1_index=p, station_2_index=q, output_column="DATA", write_flags=True
            )
        rt.Forest(ns).run(path, time_slots=100, data_desc_id=data_desc_id)
    return path


def model(tile, x):
    """[baseline, time, channel]: of each parallel hand. The formula of the measurement equation, without smearing."""
    flux = np.where(early(tile), x[0], x[1])
    u, _, w = np.moveaxis(tile["uvw_m"], -1, 0)
    path_m = u * x[2] + w * (np.sqrt(1 - x[2] ** 2) - 1)
    phase = 2 * np.pi * path_m[..., None] * tile["frequency_hz"] / LIGHT_M_S
    gain = np.array([x[3 + p] * x[3 + q] for p, q in tile["baselines"]])
    return (gain[:, None] * flux)[..., None] * np.exp(1j * phase)


def early(tile):
    return tile["time_s"] < tile["time_s"][0] // 10 * 10 + EDGE_S


def tree(path, *, pairs=PAIRS, posterior=False, memory_bytes=None):
    """A forest with `chi2` and `likelihood` of DATA against the model."""
    first_s = rt.ms.slot_times(path)[0][2] // 10 * 10
    ns = rt.NodeScope()
    ns.flux << rt.Parm(
        START[:2, None, None, None],
        time_edges_s=[first_s - 5, first_s + EDGE_S, first_s + 100],
        prior_mean=2.0,
        prior_sigma=0.5,
        solvable=True,
    )
    ns.l << rt.Parm(START[2], solvable=True)
    for p in range(N_ANTENNA):
        ns.g(p) << rt.Parm(START[3 + p], solvable=True)
    ns.lmn << rt.Composer(ns.l, 0.0, rt.Sqrt(1 - ns.l * ns.l), dims=[1, 3])
    ns.B << rt.Composer(ns.flux)
    for p, q in pairs:
        station = {"station_1_index": p, "station_2_index": q}
        seen = rt.PSV(ns.lmn, ns.B, rt.Spigot(**station, input_column="UVW"))
        ns.V(p, q) << rt.Multiply(ns.g(p), ns.g(q), seen)
        ns.r(p, q) << rt.Condeq(rt.Spigot(**station), ns.V(p, q), rt.Spigot(**station, input_column="WEIGHT"))
    ns.chi2 << rt.ChiSquare(*(ns.r(p, q) for p, q in pairs))
    ns.likelihood << rt.LogLikelihood(*(ns.r(p, q) for p, q in pairs), posterior=posterior)
    return rt.Forest(ns, memory_bytes=memory_bytes)


def chi_square_of_rows(path, x, pairs=PAIRS, **rows):
    """(chi-square, number of real data): a plain sum over what is not flagged."""
    total, count = 0.0, 0
    for tile in rt.ms.tiles(path, ["DATA"], time_slots=100, **rows):
        residual = np.zeros(tile["flag"].shape, complex)
        residual[..., (0, 3)] = model(tile, x)[..., None]
        residual = tile["columns"]["DATA"].astype(complex) - residual
        wanted = np.array([tuple(pair) in pairs for pair in tile["baselines"]])
        good = (tile["flag"] == 0) & (tile["row"] >= 0)[..., None, None] & wanted[:, None, None, None]
        total += (np.abs(residual) ** 2 * tile["weight"])[good].sum()
        count += 2 * int(good.sum())
    return total, count


def gradient_of_rows(path, x, **options):
    """Central differences of the plain sum; it is smooth enough for an error of 1e-7."""
    steps = 1e-4 * np.abs(x) * np.eye(len(x))
    return np.array(
        [
            (chi_square_of_rows(path, x + h, **options)[0] - chi_square_of_rows(path, x - h, **options)[0])
            / (2 * np.abs(h).sum())
            for h in steps
        ]
    )


def test_value_and_gradient_are_those_of_all_rows(observed):
    """Two windows, groups of 4 time slots, flags, a solution tile that begins within a group."""
    forest = tree(observed)
    objective = rt.MsObjective(forest, observed, "chi2", time_slots=4)
    assert len(objective) == 6
    for x in (START, TRUTH):
        wanted, count = chi_square_of_rows(observed, x)
        value, gradient = objective(x)
        # Data and model have about 2 Jy of either hand, in doubles from single precision data on both sides.
        assert value == pytest.approx(wanted, rel=1e-11)
        assert objective.value(x) == value
        slope = gradient_of_rows(observed, x)
        assert (np.abs((gradient - slope) * x) < 1e-6 * np.abs(slope * x).max()).all()
    # Noise of 0.1 Jy in the parallel hands, none in the others, which the model has not either; weights are 1.
    assert value / count == pytest.approx(0.005, rel=0.1)


def test_division_into_groups_does_not_matter(observed):
    forest = tree(observed)
    wanted = rt.MsObjective(forest, observed, "chi2", time_slots=100)(TRUTH)
    for slots in (None, 1, 2, 5):
        value, gradient = rt.MsObjective(forest, observed, "chi2", time_slots=slots)(TRUTH)
        assert value == pytest.approx(wanted[0], rel=1e-12)
        np.testing.assert_allclose(gradient, wanted[1], rtol=1e-9, atol=1e-9 * np.abs(wanted[1]).max())


def test_it_is_the_objective_of_data_in_memory(observed):
    """One window as Constants in a tree: the same number and the same gradient."""
    (tile,) = rt.ms.tiles(observed, ["DATA"], time_slots=100, data_desc_id=1)
    ns = rt.NodeScope()
    first_s = tile["time_s"][0] // 10 * 10
    ns.flux << rt.Parm(
        START[:2, None, None, None], time_edges_s=[first_s - 5, first_s + EDGE_S, first_s + 100], solvable=True
    )
    ns.l << rt.Parm(START[2], solvable=True)
    for p in range(N_ANTENNA):
        ns.g(p) << rt.Parm(START[3 + p], solvable=True)
    ns.lmn << rt.Composer(ns.l, 0.0, rt.Sqrt(1 - ns.l * ns.l), dims=[1, 3])
    for k, (p, q) in enumerate(tile["baselines"]):
        uvw = rt.Constant(np.ascontiguousarray(tile["uvw_m"][k].T)[:, :, None], cells_rank=2)
        data = np.ascontiguousarray(np.moveaxis(tile["columns"]["DATA"][k].astype(complex), -1, 0))
        bad = np.ascontiguousarray(np.moveaxis(tile["flag"][k].astype(float), -1, 0))
        shape = (2, 2, *data.shape[1:])
        observed_value = rt.MergeFlags(
            rt.Constant(data.reshape(shape), cells_rank=2),
            rt.ZeroFlagger(rt.Constant(bad.reshape(shape), cells_rank=2), oper="NE"),
        )
        seen = rt.Multiply(ns.g(p), ns.g(q), rt.PSV(ns.lmn, rt.Composer(ns.flux), uvw))
        ns.r(p, q) << rt.Condeq(observed_value, seen)
    ns.chi2 << rt.ChiSquare(*(ns.r(p, q) for p, q in PAIRS))
    cells = rt.Cells(tile["time_s"], tile["frequency_hz"])
    value, gradient = rt.Forest(ns).chi_square("chi2", cells, TRUTH)
    found, slope = tree(observed).chi_square(ms=observed, node="chi2", x=TRUTH, data_desc_id=1)
    assert found == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(slope, gradient, rtol=1e-10, atol=1e-10 * np.abs(gradient).max())


def test_baselines_without_rows_and_rows_without_nodes(small_ms, observed):
    """The tree has a baseline more than the set, and the set one that the tree leaves out."""
    pairs = [pair for pair in PAIRS if pair != (1, 4)]
    value, gradient = rt.MsObjective(tree(observed, pairs=pairs), observed, "chi2")(TRUTH)
    wanted, _ = chi_square_of_rows(observed, TRUTH, pairs)
    assert value == pytest.approx(wanted, rel=1e-11)
    path = small_ms(pairs=[(0, 1), (1, 2), (2, 3)], n_time=9)
    value, gradient = rt.MsObjective(tree(path), path, "chi2")(TRUTH)
    wanted, count = chi_square_of_rows(path, TRUTH)
    assert count == 2 * 3 * 9 * 8 * 4 and value == pytest.approx(wanted, rel=1e-11)
    assert (gradient[7:] == 0).all() and (gradient[3:7] != 0).all()


def test_fields_are_summed_or_chosen(small_ms):
    path = small_ms(n_time=6, n_field=2)
    forest = tree(path)
    with pytest.warns(UserWarning, match="different phase centres"):
        both = rt.MsObjective(forest, path, "chi2")(TRUTH)
    parts = [rt.MsObjective(forest, path, "chi2", field_id=field)(TRUTH) for field in (0, 1)]
    assert both[0] == pytest.approx(parts[0][0] + parts[1][0], rel=1e-13)
    np.testing.assert_allclose(both[1], parts[0][1] + parts[1][1], rtol=1e-10)


def test_one_tree_for_fields_with_other_phase_centres_is_warned_of(small_ms):
    path = small_ms(n_time=6, n_field=2)
    forest = tree(path)
    with pytest.warns(UserWarning, match=r"phase centres, 0 \(.*\), 1 \(.*\): directions in it are relative to one"):
        rt.MsObjective(forest, path, "chi2")
    with warnings.catch_warnings(action="error"):
        rt.MsObjective(forest, path, "chi2", field_id=1)
        rt.MsObjective(forest, path, "chi2", phase_centre_rad=(0.9, -0.5))
    for uses_uvw in (True, False):
        ns = rt.NodeScope()
        station = {"station_1_index": 0, "station_2_index": 1}
        vis = rt.PSV([0.0, 0.0, 1.0], 2.0, rt.Spigot(**station, input_column="UVW")) if uses_uvw else rt.Constant(2.0)
        ns.sink << rt.Sink(vis, **station, output_column="DATA")
        assert any("phase centres" in text for text in rt.Forest(ns).run(path).warnings) == uses_uvw


def test_data_stay_in_memory_as_far_as_they_may(observed):
    forest = tree(observed)
    whole = rt.MsObjective(forest, observed, "chi2", time_slots=3)
    nothing = dict.fromkeys(("n_tile_kept", "kept_bytes", "kept_result_bytes"), 0)
    assert whole.statistics() == {"n_tile": 6, "n_row": 2 * 9 * 21, "time_slots": 3, **nothing}
    wanted = whole(TRUTH)
    kept = whole.statistics()
    assert kept["n_tile_kept"] == 6
    some = rt.MsObjective(forest, observed, "chi2", time_slots=3, memory_bytes=kept["kept_bytes"] // 2)
    for _ in range(2):
        value, gradient = some(TRUTH)
        assert value == wanted[0] and (gradient == wanted[1]).all()  # the same bits
        assert 0 < some.statistics()["n_tile_kept"] < 6
        assert some.statistics()["kept_bytes"] <= kept["kept_bytes"] // 2
    # Groups are made so small that evaluating one fits as well: one slot takes 0.1 MB here.
    small = rt.MsObjective(tree(observed, memory_bytes=300_000), observed, "chi2")
    assert small.statistics()["time_slots"] < 9
    assert small(TRUTH)[0] == pytest.approx(wanted[0], rel=1e-12)


def gains_tree():
    """A forest with `chi2` of gains before a sky that is known."""
    ns = rt.NodeScope()
    for p in range(N_ANTENNA):
        ns.g(p) << rt.Parm(START[3 + p], solvable=True)
    ns.flux << rt.Parm(2.0)
    ns.lmn << rt.Composer(TRUTH[2], 0.0, np.sqrt(1 - TRUTH[2] ** 2), dims=[1, 3])
    ns.B << rt.Composer(ns.flux)
    for p, q in PAIRS:
        station = {"station_1_index": p, "station_2_index": q}
        ns.seen(p, q) << rt.PSV(ns.lmn, ns.B, rt.Spigot(**station, input_column="UVW"))
        ns.V(p, q) << rt.Multiply(ns.g(p), ns.g(q), ns.seen(p, q))
        ns.r(p, q) << rt.Condeq(rt.Spigot(**station), ns.V(p, q), rt.Spigot(**station, input_column="WEIGHT"))
    ns.chi2 << rt.ChiSquare(*(ns.r(p, q) for p, q in PAIRS))
    return rt.Forest(ns)


def test_what_no_unknown_changes_is_evaluated_once(observed):
    """Within the budget for it; values are the same bits however much is kept."""
    forest, times = gains_tree(), rt.ms.slot_times(observed)
    n_tile, n_baseline, n_visibility = 6, len(PAIRS), len(PAIRS) * 9 * (3 + 5) * 4
    assert len(times) == 18
    gains = [TRUTH[3:], START[3:], 1.1 * TRUTH[3:]]

    def called(memory_bytes):
        """Values and gradients, PSV and Spigots evaluated in each call, and what is kept at the end."""
        forest.forget()
        forest.reset_timing()
        objective = rt.MsObjective(forest, observed, time_slots=3, memory_bytes=memory_bytes)
        outcomes, counts = [], []
        for x in gains:
            outcomes.append((*objective(x), objective.value(x)))
            reached = forest.timing().classes
            counts.append(tuple(reached[name]["evaluations"] if name in reached else 0 for name in ("PSV", "Spigot")))
            forest.reset_timing()
        return outcomes, counts, objective.statistics()

    everything, counts, kept = called(None)
    assert counts == [(n_tile * n_baseline, 3 * n_tile * n_baseline), (0, 0), (0, 0)]
    assert kept["n_tile_kept"] == n_tile
    assert kept["kept_result_bytes"] > n_visibility * (16 + 16 + 8)  # model, data, weights
    assert all(value == alone for value, _, alone in everything)
    # Half of what results take: the models of all tiles, but not the data in double precision.
    models, counts, some = called(kept["kept_bytes"] + kept["kept_result_bytes"] // 2)
    assert [count[0] for count in counts] == [n_tile * n_baseline, 0, 0]
    assert all(count[1] > n_tile * n_baseline for count in counts)
    assert n_visibility * 16 <= some["kept_result_bytes"] <= kept["kept_result_bytes"] // 2
    nothing, counts, none = called(kept["kept_bytes"])
    assert none["kept_result_bytes"] == 0 and [count[0] for count in counts] == 3 * [2 * n_tile * n_baseline]
    for other in (models, nothing):
        for (a, slope_a, c), (b, slope_b, d) in zip(everything, other, strict=True):
            assert (a, c) == (b, d) and (slope_a == slope_b).all()


def test_what_is_kept_is_let_go_when_the_sky_changes(observed):
    forest = gains_tree()
    objective = rt.MsObjective(forest, observed, time_slots=3)
    for flux in (2.0, 3.0, 3.0):
        forest.set_state("flux", value=flux)
        wanted, _ = chi_square_of_rows(observed, [flux, flux, *TRUTH[2:]])
        assert objective.value(TRUTH[3:]) == pytest.approx(wanted, rel=1e-11)
        assert objective(TRUTH[3:])[0] == pytest.approx(wanted, rel=1e-11)


def test_a_prior_counts_once(observed):
    """Of a posterior the priors are in every tile's value, and once in the sum."""
    bare = rt.MsObjective(tree(observed), observed, "likelihood", time_slots=2)(TRUTH)
    value, gradient = rt.MsObjective(tree(observed, posterior=True), observed, "likelihood", time_slots=2)(TRUTH)
    pull = (TRUTH[:2] - 2.0) / 0.5
    prior = -0.5 * (pull**2).sum() - np.log(2 * np.pi * 0.25)
    assert value - bare[0] == pytest.approx(prior, abs=1e-9 * abs(value))
    np.testing.assert_allclose((gradient - bare[1])[:2], -pull / 0.5, atol=1e-9 * np.abs(gradient).max())
    np.testing.assert_allclose(gradient[2:], bare[1][2:], rtol=1e-9)


def test_what_depends_on_no_data_is_refused_where_it_would_count_in_each_tile(observed):
    ns = rt.NodeScope()
    ns.p << rt.Parm(1.0, solvable=True)
    ns.data << rt.Condeq(rt.Selector(rt.Spigot(station_1_index=0, station_2_index=1), index=[0, 0]), ns.p)
    ns.expected << rt.Condeq(rt.Constant(3.0), ns.p)
    ns.chi2 << rt.ChiSquare(ns.data, ns.expected)
    with pytest.raises(rt.Error, match=r'test_ms_objective.py:\d+: node "expected" .*depends neither on data nor'):
        rt.MsObjective(rt.Forest(ns), observed, "chi2", time_slots=2)


def test_scipy_finds_what_was_planted(observed):
    forest = tree(observed)
    objective = rt.MsObjective(forest, observed, "chi2")

    def scaled(x):
        value, gradient = objective(x * START)
        return value, gradient * START

    found = minimize(scaled, np.ones(len(START)), jac=True, method="BFGS").x * START
    # Flux and gains have one factor in common.
    scale = found[3:].mean() / TRUTH[3:].mean()
    np.testing.assert_allclose(found[3:] / scale, TRUTH[3:], rtol=0.01)
    np.testing.assert_allclose(found[:2] * scale**2, TRUTH[:2], rtol=0.01)
    assert found[2] == pytest.approx(TRUTH[2], rel=0.01)


def test_what_does_not_fit_is_said(observed, tmp_path):
    forest = tree(observed)
    with pytest.raises(rt.Error, match=r"say which node.*chi2, likelihood"):
        rt.MsObjective(forest, observed)
    with pytest.raises(rt.Error, match="is a Condeq; what is summed over a Measurement Set is a ChiSquare"):
        rt.MsObjective(forest, observed, "r:0:1")
    with pytest.raises(rt.Error, match="'likelihood' is no ChiSquare"):
        forest.chi_square("likelihood", ms=observed)
    with pytest.raises(rt.Error, match="not both"):
        forest.chi_square("chi2", rt.Cells(), ms=observed)
    with pytest.raises(rt.Error, match=r"no\.ms"):
        rt.MsObjective(forest, tmp_path / "no.ms", "chi2")
    with pytest.raises(rt.Error, match="no option 'verify'"):
        rt.MsObjective(forest, observed, "chi2", verify=3)
    with pytest.raises(rt.Error, match="unknowns"):
        rt.MsObjective(forest, observed, "chi2")(TRUTH[:3])
    with pytest.raises(rt.Error, match="no data in any of the 0 time-slot groups"):
        rt.MsObjective(forest, observed, "chi2", time_range_s=(0, 1))()


@pytest.mark.parametrize("flag_bit", [1, 0])
def test_data_that_are_all_flagged_are_said(tmp_path, flag_bit):
    """A likelihood of nothing is 0 wherever the unknowns are, and an optimiser takes that for an end."""
    path = str(tmp_path / "obs.ms")
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=20, integration_s=10)
    ns = rt.NodeScope()
    ns.data << rt.MergeFlags(rt.Constant(1.0), rt.ZeroFlagger(rt.Constant(0.0), oper="EQ"))
    for p, q in PAIRS:
        ns.sink(p, q) << rt.Sink(ns.data, station_1_index=p, station_2_index=q, write_flags=True)
    rt.Forest(ns).run(path)
    ns = rt.NodeScope()
    ns.flux << rt.Parm(3.0, solvable=True)
    for p, q in PAIRS:
        data = rt.Spigot(station_1_index=p, station_2_index=q, flag_bit=flag_bit)
        ns.equation(p, q) << rt.Condeq(data, rt.Matrix22(ns.flux, 0, 0, ns.flux))
    ns.chi2 << rt.ChiSquare(*(ns.equation(p, q) for p, q in PAIRS))
    objective = rt.MsObjective(rt.Forest(ns), path)
    if flag_bit == 0:
        assert objective.value() > 0
        return
    for call in (objective, objective.value):
        with pytest.raises(
            rt.Error, match=r"all data of .*obs.ms that node 'chi2' would sum are flagged or have weight"
        ):
            call()
