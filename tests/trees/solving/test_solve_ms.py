"""Solvers in runs over Measurement Sets: data, weights and flags from Spigots, corrected data to Sinks."""

import itertools

import numpy as np
import pytest

import rimetree as rt

CENTRE = (0.9, -0.5)
N = 4
N_TIME = 6
START_S = 5e9


def predicted(ns, path):
    """ns.M(p, q): visibilities of two sources on the set's baselines."""
    ns.radec_0 << rt.Constant(CENTRE)
    ns.lmn << rt.LMN(rt.Constant([[0.9, -0.5], [0.9008, -0.4995]]), ns.radec_0)
    ns.B << rt.Stokes(rt.Constant([[4.0, 0.3, 0.5, 0.1], [2.0, 0.0, 0.0, 0.0]]))
    baselines = rt.ms.baselines(path)
    for p, q in baselines:
        ns.uvw(p, q) << rt.Spigot(station_1_index=p, station_2_index=q, input_column="UVW")
        ns.M(p, q) << rt.PSV(ns.lmn, ns.B, ns.uvw(p, q))
    return baselines


def jones(ns, gains, **parm):
    """ns.G(p) = diag of [time tile or nothing, antenna, 2] complex gains, and its Parms' names."""
    names = []
    for p in range(N):
        parts = []
        for i in range(2):
            for part in (gains[..., p, i].real, gains[..., p, i].imag):
                value = part[:, None, None, None] if part.ndim else float(part)
                parts.append(ns.g(p, len(parts)) << rt.Parm(value, **parm))
                names.append(parts[-1].name)
        ns.G(p) << rt.Matrix22(rt.ToComplex(*parts[:2]), 0.0, 0.0, rt.ToComplex(*parts[2:]))
    return names


def simulate(path, gains, noise_jy=0.0):
    """Fills DATA with G_p M G_q^H; gains [time slot, antenna, 2]."""
    ns = rt.NodeScope()
    baselines = predicted(ns, path)
    jones(ns, gains, time_edges_s=START_S - 5 + 10.0 * np.arange(len(gains) + 1))
    for p, q in baselines:
        v = ns.G(p) @ ns.M(p, q) @ ns.G(q).H
        if noise_jy:
            v = v + rt.GaussNoise(stddev=noise_jy, seed=3, dims=[2, 2], complex=True)
        ns.sink(p, q) << rt.Sink(v, station_1_index=p, station_2_index=q, output_column="DATA")
    rt.Forest(ns).run(path)


def calibrating(path, *, sinks=True, solver=None, start=1.0, device=None, equation=lambda d, v: (d, v), **parm):
    """A forest that solves for G on DATA and writes corrected data."""
    ns = rt.NodeScope()
    baselines = predicted(ns, path)
    jones(ns, np.full((N, 2), start + 0j), solvable=True, **parm)
    for p, q in baselines:
        station = {"station_1_index": p, "station_2_index": q}
        ns.D(p, q) << rt.Spigot(**station, input_column="DATA")
        ns.W(p, q) << rt.Spigot(**station, input_column="WEIGHT")
        ns.c(p, q) << rt.Condeq(*equation(ns.D(p, q), ns.G(p) @ ns.M(p, q) @ ns.G(q).H), ns.W(p, q))
        corrected = rt.MatrixInvert22(ns.G(p)) @ ns.D(p, q) @ rt.MatrixInvert22(ns.G(q).H)
        if sinks:
            ns.sink(p, q) << rt.Sink(corrected, **station, output_column="CORRECTED_DATA")
    ns.solver << rt.Solver(*(ns.c(p, q) for p, q in baselines), **(solver or {}))
    ns.mux << rt.VisDataMux(ns.solver, None, *((ns.sink(p, q) for p, q in baselines) if sinks else ()))
    return rt.Forest(ns, device=device)


def planted(seed=1):
    random = np.random.default_rng(seed)
    return 1 + 0.3 * (random.normal(size=(N_TIME, N, 2)) + 1j * random.normal(size=(N_TIME, N, 2)))


def model(path):
    ns = rt.NodeScope()
    baselines = predicted(ns, path)
    for p, q in baselines:
        ns.sink(p, q) << rt.Sink(ns.M(p, q), station_1_index=p, station_2_index=q, output_column="MODEL_DATA")
    rt.Forest(ns).run(path)
    (tile,) = rt.ms.tiles(path, ["MODEL_DATA", "CORRECTED_DATA"], time_slots=1000)
    return tile["columns"]["MODEL_DATA"], tile["columns"]["CORRECTED_DATA"]


@pytest.mark.parametrize("method", ["auto", "generic"])
def test_each_group_of_time_slots_is_solved_and_corrected(small_ms, method):
    """A Parm of one tile is solved anew in each time-slot group, from the values of the one before."""
    path, gains = small_ms(n_time=N_TIME), planted()
    simulate(path, gains)
    report = calibrating(path, solver={"method": method}).run(path, time_slots=1)
    assert len(report.solves) == N_TIME and all(solve.converged for solve in report.solves)
    for t, solve in enumerate(report.solves):
        (group,) = solve.groups
        assert group.time_s == (START_S + 10 * t - 5, START_S + 10 * t + 5)
        found = float(solve.parms["g:2:0"].value) + 1j * float(solve.parms["g:2:1"].value)
        assert abs(found) == pytest.approx(abs(gains[t, 2, 0]), rel=1e-5)  # DATA are in single precision
    wanted, corrected = model(path)
    # The common phase of all gains cancels in diagonal elements and between feeds.
    np.testing.assert_allclose(corrected, wanted, atol=1e-5)


def test_differences_from_the_data_are_as_data_and_model(small_ms, monkeypatch):
    """`Condeq(D - V, 0)`, also where the set has no rows of a baseline."""
    path, gains = small_ms(n_time=N_TIME, pairs=[(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]), planted()
    simulate(path, gains, noise_jy=0.05)
    monkeypatch.setattr(rt.ms, "baselines", lambda _: list(itertools.combinations(range(N), 2)))
    parm = {"time_edges_s": START_S - 5 + 10.0 * np.arange(N_TIME + 1)}
    expected = calibrating(path, **parm).run(path, time_slots=4).solves
    for equation in (lambda d, v: (d - v, 0.0), lambda d, v: (0.0, v - d)):
        for device in (None, "simulated"):
            found = calibrating(path, equation=equation, device=device, **parm).run(path, time_slots=4).solves
            for one, other in zip(found, expected, strict=True):
                assert one.converged and one.method == other.method and "sums over the data" in one.method
                assert [group.equations for group in one.groups] == [group.equations for group in other.groups]
                np.testing.assert_allclose(
                    [group.chi_square for group in one.groups], [group.chi_square for group in other.groups], rtol=1e-9
                )


def test_tiles_of_parms_are_filled_group_by_group(small_ms):
    """One Parm for the whole set, with a tile per two slots; each time-slot group solves the tiles that it has."""
    path, gains = small_ms(n_time=N_TIME), np.repeat(planted()[::2], 2, axis=0)
    simulate(path, gains)
    edges = START_S - 5 + 20.0 * np.arange(4)
    forest = calibrating(path, time_edges_s=edges)
    report = forest.run(path, time_slots=2)
    assert len(report.solves) == 3
    value = forest.get_state("g:1:0")["value"].ravel() + 1j * forest.get_state("g:1:1")["value"].ravel()
    np.testing.assert_allclose(np.abs(value), np.abs(gains[::2, 1, 0]), rtol=1e-5)
    flags = np.array([solve.parms["g:1:0"].flag.ravel() for solve in report.solves])
    assert (flags == 0).tolist() == np.eye(3, dtype=bool).tolist()
    assert (flags[~np.eye(3, dtype=bool)] == rt.SolutionFlag.NOT_SOLVED).all()
    assert not any("reaches over" in warning for warning in report.warnings)
    divided = calibrating(path, time_edges_s=edges).run(path, time_slots=1)
    assert sum("reaches over" in warning for warning in divided.warnings) == 1


def test_values_that_are_found_anew_group_by_group_are_said(small_ms):
    """A Parm without solution tiles looks like one value for all data, but each time-slot group has its own."""
    path, gains = small_ms(n_time=N_TIME), planted()
    simulate(path, gains)
    (note,) = [one for one in calibrating(path).run(path, time_slots=2).notes if "anew" in one]
    assert "g:0:0, " in note and "in each of 3 groups" in note
    for how, slots in (({}, N_TIME), ({"time_edges_s": START_S - 5 + 20.0 * np.arange(4)}, 2)):
        assert not any("anew" in one for one in calibrating(path, **how).run(path, time_slots=slots).notes)


@pytest.mark.parametrize("slots", [1, 4])
@pytest.mark.parametrize("solver", [{}, {"method": "generic"}, {"robust_dof": 4.0}], ids=["sums", "generic", "robust"])
def test_tiles_that_are_looked_at_one_by_one_are_one_solve(small_ms, solver, slots):
    """Intervals of three slots that reach over tiles: what is found in one tile of all slots, and what was planted."""
    path, gains = small_ms(n_time=N_TIME), np.repeat(planted()[:2], 3, axis=0)
    simulate(path, gains, noise_jy=0.01)
    flag_some(path)
    reports, peaks, evaluations = [], [], []
    for n in (N_TIME, slots):
        forest = calibrating(path, sinks=False, solver=solver, time_edges_s=START_S - 5 + 30.0 * np.arange(3))
        tiles = rt.ms.Tiles(path, ["DATA"], rt.ms.run_options(time_slots=n))
        assert len(tiles) == -(-N_TIME // n)
        reports += forest.solve_tiles(tiles)
        peaks.append(forest.timing().peak_result_bytes)
        evaluations.append(forest.timing().classes["PSV"]["evaluations"] / len(tiles))
    whole, parts = reports
    assert parts.converged and len(parts.groups) == 2 and parts.method == whole.method
    for one, other in zip(whole.groups, parts.groups, strict=True):
        assert other.chi_square == pytest.approx(one.chi_square, rel=1e-10)
        for key in ("unknowns", "rank", "equations", "flagged", "iterations", "time_s", "freq_hz"):
            assert getattr(other, key) == getattr(one, key)
        assert one.flagged > 0
    for name, one in whole.parms.items():
        np.testing.assert_allclose(parts.parms[name].value, one.value, atol=1e-10)
        np.testing.assert_allclose(parts.parms[name].sigma, one.sigma, rtol=1e-8)
        np.testing.assert_array_equal(parts.parms[name].flag, one.flag)
    found = parts.parms["g:1:2"].value.ravel() + 1j * parts.parms["g:1:3"].value.ravel()
    np.testing.assert_allclose(np.abs(found), np.abs(gains[::3, 1, 1]), atol=0.02)
    if slots == 1:
        assert peaks[1] < 0.5 * peaks[0]
    if not solver:
        assert evaluations == [6, 6]  # each baseline once in each tile


@pytest.mark.parametrize("solver", [{}, {"method": "generic"}, {"robust_dof": 4.0}], ids=["sums", "generic", "robust"])
def test_tiles_one_by_one_on_a_device_are_those_of_the_host(small_ms, solver):
    path, gains = small_ms(n_time=N_TIME), np.repeat(planted()[:2], 3, axis=0)
    simulate(path, gains, noise_jy=0.01)
    flag_some(path)
    reports = []
    for device in ("none", "simulated"):
        forest = calibrating(
            path, sinks=False, solver=solver, time_edges_s=START_S - 5 + 30.0 * np.arange(3), device=device
        )
        reports += forest.solve_tiles(rt.ms.Tiles(path, ["DATA"], rt.ms.run_options(time_slots=2)))
    host, there = reports
    assert host.bytes_to_devices == 0 < there.bytes_to_devices
    assert there.converged and there.method == host.method
    for one, other in zip(host.groups, there.groups, strict=True):
        assert other.chi_square == pytest.approx(one.chi_square, rel=1e-9)
        assert (other.equations, other.flagged) == (one.equations, one.flagged)
    for name, one in host.parms.items():
        np.testing.assert_allclose(there.parms[name].value, one.value, atol=1e-8)
        np.testing.assert_array_equal(there.parms[name].flag, one.flag)


def flag_some(path):
    """Every fifth channel of the odd slots, by writing DATA again."""
    (tile,) = rt.ms.tiles(path, ["DATA"], time_slots=1000)
    bad = np.zeros(tile["flag"].shape[1:3])
    bad[1::2, ::5] = 1
    ns = rt.NodeScope()
    for p, q in tile["baselines"]:
        station = {"station_1_index": p, "station_2_index": q}
        flagged = rt.MergeFlags(rt.Spigot(**station), rt.ZeroFlagger(rt.Constant(bad, cells_rank=2), oper="NE"))
        ns.sink(p, q) << rt.Sink(flagged, **station, output_column="DATA", write_flags=True)
    rt.Forest(ns).run(path, time_slots=1000)


@pytest.mark.parametrize("method", ["auto", "generic"])
def test_what_depends_on_no_data_counts_once_in_a_solve_of_several_tiles(small_ms, method):
    path = small_ms(n_time=N_TIME)
    simulate(path, planted())
    ns = rt.NodeScope()
    ns.p << rt.Parm(1.0, solvable=True)
    ns.data << rt.Selector(rt.Spigot(station_1_index=0, station_2_index=1), index=[0, 0])
    ns.weak << rt.Condeq(ns.data, ns.p * rt.Constant(1.0), weight_factor=1e-3)
    ns.expected << rt.Condeq(rt.Constant(3.0), ns.p * rt.Constant(1.0))
    ns.solver << rt.Solver(ns.weak, ns.expected, method=method)
    found = []
    for slots in (N_TIME, 4, 1):
        (report,) = rt.Forest(ns).solve_tiles(rt.ms.Tiles(path, ["DATA"], rt.ms.run_options(time_slots=slots)))
        found.append((report.groups[0].equations, report.parms["p"].value.item()))
    assert found[1][0] == found[2][0] == found[0][0]
    np.testing.assert_allclose([value for _, value in found], found[0][1], rtol=1e-9)


def test_nodes_that_mix_times_are_refused_in_a_solve_of_several_tiles(small_ms):
    path = small_ms(n_time=2)
    simulate(path, planted()[:2])
    ns = rt.NodeScope()
    ns.p << rt.Parm(1.0, solvable=True)
    ns.data << rt.Selector(rt.Spigot(station_1_index=0, station_2_index=1), index=[0, 0])
    ns.mean << rt.Mean(ns.data, reduction_axes=["time"])
    ns.solver << rt.Solver(rt.Condeq(ns.data - ns.mean, ns.p))
    forest = rt.Forest(ns)
    tiles = {slots: rt.ms.Tiles(path, ["DATA"], rt.ms.run_options(time_slots=slots)) for slots in (1, 2)}
    with pytest.raises(rt.Error, match=r'test_solve_ms.py:\d+: node "mean" \(Mean\) looks at several times.* 2 parts'):
        forest.solve_tiles(tiles[1])
    assert forest.solve_tiles(tiles[2])[0].groups[0].equations > 0


def test_tiles_need_a_solver_and_one_only(small_ms):
    path = small_ms(n_time=2)
    tiles = rt.ms.Tiles(path, [], rt.ms.run_options(time_slots=1))
    ns = rt.NodeScope()
    ns.x << rt.Parm(1.0)
    with pytest.raises(rt.Error, match="by the Solver of a forest; this one has 0"):
        rt.Forest(ns).solve_tiles(tiles)
    ns.y << rt.Parm(1.0, solvable=True)
    for k in range(2):
        ns.solver(k) << rt.Solver(rt.Condeq(ns.x, ns.y))
    with pytest.raises(rt.Error, match='this one has 2, "solver:0" and others'):
        rt.Forest(ns).solve_tiles(tiles)


def test_what_fails_in_a_tile_is_said(small_ms):
    path = small_ms(n_time=2)
    forest = calibrating(path, sinks=False)
    with pytest.raises(rt.Error, match=r'tile of DATA_DESC_ID 0, FIELD_ID 0:\n.*"solver" .Solver.: .*"DATA" was not'):
        forest.solve_tiles(rt.ms.Tiles(path, [], rt.ms.run_options(time_slots=1)))


def test_several_groups_at_once_are_those_one_by_one(small_ms):
    path, gains = small_ms(n_time=N_TIME), planted()
    simulate(path, gains, noise_jy=0.2)
    edges = START_S - 5 + 10.0 * np.arange(N_TIME + 1)
    solutions = []
    for slots in (1, 6):
        forest = calibrating(path, time_edges_s=edges, solver={"sigma_tolerance": 1e-7})
        forest.run(path, time_slots=slots)
        solutions.append(
            np.abs(
                [
                    forest.get_state(f"g:{p}:0")["value"].ravel() + 1j * forest.get_state(f"g:{p}:1")["value"].ravel()
                    for p in range(N)
                ]
            )
        )
    np.testing.assert_allclose(solutions[0], solutions[1], rtol=1e-7)


def test_solving_alone_writes_nothing(small_ms):
    path = small_ms(n_time=2)
    simulate(path, planted()[:2])
    told = []
    report = calibrating(path, sinks=False).run(path, solve_progress=lambda *state: told.append(state))
    assert report.columns == [] and report.rows_written == 0
    assert len(report.solves) == 1 and told[0][0] == "solver"


def test_a_flagged_antenna(small_ms):
    """Rows of antenna 3 are flagged: they are left out, and the rest is solved."""
    path, gains = small_ms(n_time=N_TIME), planted()
    gains[:] = gains[0]
    simulate(path, gains, noise_jy=0.1)
    ns = rt.NodeScope()
    for p in range(3):
        d = rt.Spigot(station_1_index=p, station_2_index=3, input_column="DATA")
        ns.sink(p) << rt.Sink(
            rt.ZeroFlagger(d, oper="NE"), station_1_index=p, station_2_index=3, output_column="DATA", write_flags=True
        )
    rt.Forest(ns).run(path)
    solve = calibrating(path).run(path).solves[0]
    (group,) = solve.groups
    assert group.converged and group.flagged == 3 * N_TIME * 8 * 4
    assert group.equations == 2 * 3 * N_TIME * 8 * 4
    for k in range(4):
        assert solve.parms[f"g:3:{k}"].flag == rt.SolutionFlag.NO_DATA
        assert solve.parms[f"g:2:{k}"].flag == 0
    # weights are 1 in the set, the noise is 0.1: the reduced chi-square says so
    assert group.reduced_chi_square == pytest.approx(0.01, rel=0.2)


@pytest.mark.parametrize("names", [(9, 12), (9,)])
def test_correlations_that_a_set_lacks_have_no_part_in_what_diagonal_matrices_correct(small_ms, names):
    """They count as flagged; nothing that a set has is made of them."""
    path = small_ms(correlation_type=names)
    before = next(rt.ms.tiles(path, ["DATA"], time_slots=1000))
    ns = rt.NodeScope()
    for p in range(N):
        ns.G(p) << rt.Matrix22(2.0 + p, 0.0, 0.0, 1.0 + rt.Time() / START_S)
    for p, q in rt.ms.baselines(path):
        station = {"station_1_index": p, "station_2_index": q}
        corrected = rt.MatrixInvert22(ns.G(p)) @ rt.Spigot(**station) @ rt.MatrixInvert22(ns.G(q).H)
        ns.sink(p, q) << rt.Sink(corrected, **station, output_column="CORRECTED_DATA", write_flags=True)
    rt.Forest(ns).run(path)
    after = next(rt.ms.tiles(path, ["CORRECTED_DATA"], time_slots=1000))
    np.testing.assert_array_equal(after["flag"], before["flag"])
    gain = np.stack([2.0 + np.arange(N), np.full(N, 2.0)])
    for k, name in enumerate(names):
        for b, (p, q) in enumerate(after["baselines"]):
            of = gain[0 if name == 9 else 1]
            expected = before["columns"]["DATA"][b, ..., k] / (of[p] * of[q])
            np.testing.assert_allclose(after["columns"]["CORRECTED_DATA"][b, ..., k], expected, rtol=1e-5)


def test_a_flagged_correlation_takes_no_other_with_it_through_diagonal_matrices(small_ms):
    ns = rt.NodeScope()
    value = np.ma.array(np.ones((2, 2, 1, 1)), mask=np.array([[0, 1], [0, 0]]).reshape(2, 2, 1, 1))
    ns.d << rt.Constant(value, cells_rank=2)
    ns.diagonal << rt.Matrix22(2.0, 0.0, 0.0, 3.0) @ ns.d @ rt.Matrix22(2.0, 0.0, 0.0, 3.0).H
    ns.full << rt.Matrix22(2.0, 0.1, 0.0, 3.0) @ ns.d
    ns.mixed << rt.Matrix22(2.0, 0.1, 0.1, 3.0) @ ns.d @ rt.Matrix22(2.0, 0.1, 0.1, 3.0)
    forest = rt.Forest(ns)
    cells = rt.Cells(0.0, 1e9)
    flagged = {
        name: forest.result(name, cells).flags.reshape(-1, 1, 1).ravel() != 0 for name in ("diagonal", "full", "mixed")
    }
    assert flagged["diagonal"].tolist() == [False, True, False, False]
    assert flagged["full"].tolist() == [False, True, False, False]
    assert flagged["mixed"].all()


@pytest.mark.parametrize("use_previous", [True, False])
def test_a_bad_group_need_not_spoil_those_after_it(small_ms, use_previous):
    """From the start that is given all good groups are fitted; from where a fit of noise ended some are not."""
    path = small_ms(n_time=4)
    baselines = rt.ms.baselines(path)

    def source(ns, p, q, place, flux):
        ns.uvw(p, q) << rt.Spigot(station_1_index=p, station_2_index=q, input_column="UVW")
        lmn = rt.Composer(place, 0.0, rt.Sqrt(1 - rt.Sqr(place)))
        return flux * rt.VisPhaseShift(lmn, ns.uvw(p, q)) * np.eye(2)

    ns = rt.NodeScope()
    edges = START_S - 5 + 10.0 * np.arange(5)
    ns.place << rt.Parm(np.array([1.2e-3, 1e-3, 1e-3, 1e-3]).reshape(4, 1, 1, 1), time_edges_s=edges)
    for p, q in baselines:
        sink = rt.Sink(source(ns, p, q, ns.place, 1.0), station_1_index=p, station_2_index=q, output_column="DATA")
        ns.sink(p, q) << sink
    rt.Forest(ns).run(path)
    ns = rt.NodeScope()
    ns.l << rt.Parm(1.01e-3, solvable=True, use_previous=use_previous)
    ns.I << rt.Parm(1.0, solvable=True, use_previous=use_previous)
    equations = [
        rt.Condeq(rt.Spigot(station_1_index=p, station_2_index=q), source(ns, p, q, ns.l, ns.I)) for p, q in baselines
    ]
    ns.mux << rt.VisDataMux(rt.Solver(*equations))
    forest = rt.Forest(ns)
    solves = forest.run(path, time_slots=1).solves
    assert solves[0].groups[0].chi_square > 1  # another place
    good = [solve.groups[0].chi_square < 1e-6 for solve in solves[1:]]
    assert all(good) is not use_previous
    if not use_previous:
        again = forest.run(path, time_slots=1).solves  # begins with what Parms have by now
        assert float(again[1].parms["l"].value) == pytest.approx(1e-3, abs=1e-8)
