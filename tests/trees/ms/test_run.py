"""Trees over Measurement Sets: the two ready-made trees, and what runs do with real sets' oddities."""

import os
import signal

import numpy as np
import pytest

import rimetree as rt

CENTRE = (0.9, -0.5)


def model(path, column="MODEL_DATA", **options):
    """(rows of uvw, frequencies, visibilities [row, channel, correlation]) of a whole set, in one tile."""
    (tile,) = rt.ms.tiles(path, [column], time_slots=1000, **options)
    return tile, tile["columns"][column]


def simulate(path, sky, tree=rt.psv_tree, centre=CENTRE, run=None, **options):
    ns = rt.NodeScope()
    tree(ns, sky, centre, rt.ms.baselines(path), **options)
    forest = rt.Forest(ns)
    return forest.run(path, **(run or {}))


def test_psv_and_many_nodes_agree(small_ms, small_sky):
    ns = rt.NodeScope()
    path = small_ms(n_time=5)
    baselines = rt.ms.baselines(path)
    # Both in one forest over the same Spigots, compared in double precision before the set rounds them to complex64.
    rt.psv_tree(ns, small_sky, CENTRE, baselines)
    many = ns.Subscope("many")
    rt.many_node_tree(many, small_sky, CENTRE, baselines, column="CHECK")
    for p, q in baselines:
        ns.difference(p, q) << rt.Abs(ns.V(p, q) - many.V(p, q))
        ns.difference_sink(p, q) << rt.Sink(
            rt.Composer(*[rt.Selector(ns.difference(p, q), index=[i, j]) for i in (0, 1) for j in (0, 1)], dims=[2, 2]),
            station_1_index=p,
            station_2_index=q,
            output_column="DIFFERENCE",
        )
    # A run evaluates what VisDataMux nodes name: give this tree's sinks one of their own.
    ns.differences << rt.VisDataMux(None, None, *(ns.difference_sink(p, q) for p, q in baselines))
    rt.Forest(ns, as_written=True).run(path)
    _, difference = model(path, "DIFFERENCE")
    _, psv = model(path)
    flux = small_sky.total_flux_jy
    assert np.abs(psv).max() > 0.3 * flux
    # 1e-12 as agreed; differences this small survive the rounding to complex64.
    assert np.abs(difference).max() < 1e-12 * flux
    assert np.abs(difference).max() > 0  # two different computations


def test_model_is_what_predict_says(small_ms, small_sky):
    path = small_ms()
    report = simulate(path, small_sky, smearing=True)
    assert report.rows_written == report.rows == 18 and report.missing == 0
    tile, got = model(path)
    ns = rt.NodeScope()
    nodes = rt.sky_nodes(ns, small_sky, CENTRE)
    forest = rt.Forest(ns)
    cells = rt.Cells(freq_hz=tile["frequency_hz"])
    lmn = forest.evaluate(nodes.lmn)[..., 0, 0]
    stokes = np.moveaxis(np.broadcast_to(forest.evaluate("stokes", cells)[..., 0, :], (3, 4, 8)), 1, 2)
    expected = rt.predict(
        tile["uvw_m"].reshape(-1, 3),
        tile["frequency_hz"],
        lmn,
        stokes,
        duvw_m_s=tile["uvw_rate_m_s"].reshape(-1, 3),
        exposure_s=tile["exposure_s"].ravel(),
        channel_width_hz=tile["channel_width_hz"],
        gaussian=small_sky.shape_axes(CENTRE),
    )
    np.testing.assert_allclose(got.reshape(-1, 8, 4), expected.reshape(-1, 8, 4), atol=1e-6)


@pytest.mark.parametrize("types,elements", [((9, 12), (0, 3)), ((9,), (0,)), ((5, 6, 7, 8), (0, 1, 2, 3))])
def test_one_two_and_four_correlations(small_ms, small_sky, types, elements):
    feed = rt.ms.feed_of(types)
    full = small_ms("full.ms", correlation_type=(5, 6, 7, 8) if feed == "circular" else (9, 10, 11, 12))
    part = small_ms("part.ms", correlation_type=types)
    simulate(full, small_sky, feed=feed)
    simulate(part, small_sky, feed=feed)
    np.testing.assert_array_equal(model(part)[1], model(full)[1][..., elements])


def test_circular_feeds_see_circular_brightness(small_ms):
    sky = rt.sky.SkyModel([rt.sky.Source("s", *CENTRE, (3.0, 0.5, 0.25, 1.0), ref_freq_hz=1.4e9)])
    path = small_ms(correlation_type=(5, 6, 7, 8))
    simulate(path, sky, feed="circular")
    _, got = model(path)
    # At the phase centre: RR = I+V, RL = Q+iU, LR = Q-iU, LL = I-V.
    np.testing.assert_allclose(got[0, 0, 0], [4.0, 0.5 + 0.25j, 0.5 - 0.25j, 2.0], rtol=1e-6)


def test_tile_size_and_budget_change_nothing(small_ms, small_sky):
    values = []
    for index, (slots, budget) in enumerate([(None, None), (2, None), (None, 200_000)]):
        path = small_ms(f"{index}.ms", n_time=50)
        ns = rt.NodeScope()
        rt.psv_tree(ns, small_sky, CENTRE, rt.ms.baselines(path))
        report = rt.Forest(ns, memory_bytes=budget).run(path, time_slots=slots)
        assert report.tiles > 1 if slots or budget else report.tiles == 1
        values.append(model(path)[1])
    # The kernel groups rows by vectors, so other tiles may differ in the last bits of double precision.
    np.testing.assert_allclose(values[1], values[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(values[2], values[0], rtol=1e-6, atol=1e-6)


def test_a_sky_that_all_baselines_need_decides_the_size_of_tiles(small_ms):
    # Of each time slot and channel: 300 sources have 154 kB in a time slot.
    values, tiles = [], []
    for index, budget in enumerate([None, 1_000_000]):
        path = small_ms(f"{index}.ms", n_time=20)
        ns = rt.NodeScope()
        lm = np.random.default_rng(3).uniform(-0.01, 0.01, (300, 2))
        ns.lmn << rt.Constant(np.column_stack([lm, np.sqrt(1 - (lm**2).sum(axis=1))]))
        ns.beam << 1 + 0.1 * rt.Cos(1e-2 * rt.Time()) * rt.Cos(1e-8 * rt.Freq())
        ns.B << rt.Stokes(rt.Constant(np.tile([1.0, 0.1, 0.0, 0.0], (300, 1)))) * ns.beam
        for p, q in rt.ms.baselines(path):
            ns.V(p, q) << rt.PSV(ns.lmn, ns.B, rt.Spigot(station_1_index=p, station_2_index=q, input_column="UVW"))
            ns.sink(p, q) << rt.Sink(ns.V(p, q), station_1_index=p, station_2_index=q, output_column="MODEL_DATA")
        ns.all << rt.VisDataMux(None, None, *(ns.sink(p, q) for p, q in rt.ms.baselines(path)))
        tiles.append(rt.Forest(ns, memory_bytes=budget).run(path).tiles)
        values.append(model(path)[1])
    assert tiles[0] == 1 and tiles[1] > 4
    np.testing.assert_allclose(values[1], values[0], rtol=1e-6, atol=1e-6)


def test_baselines_without_a_sink_keep_their_values(small_ms, small_sky):
    path = small_ms(columns=("DATA", "MODEL_DATA"))
    simulate(path, small_sky)
    before = model(path)[1].copy()
    ns = rt.NodeScope()
    brighter = rt.sky.SkyModel([rt.sky.Source("s", *CENTRE, (100.0, 0, 0, 0), ref_freq_hz=1.4e9)])
    rt.psv_tree(ns, brighter, CENTRE, [(0, 1), (7, 8)])
    report = rt.Forest(ns).run(path)
    assert report.rows_written == 3 and report.missing == 1
    after = model(path)[1]
    assert after[0, 0, 0, 0] == pytest.approx(100)
    np.testing.assert_array_equal(after[1:], before[1:])


def test_data_go_through_spigots_and_python_nodes_to_another_column(small_ms, small_sky):
    path = small_ms()
    simulate(path, small_sky, column="DATA")
    ns = rt.NodeScope()
    for p, q in rt.ms.baselines(path):
        ns.data(p, q) << rt.Spigot(station_1_index=p, station_2_index=q)
        ns.doubled(p, q) << rt.PyNode(ns.data(p, q), evaluate=lambda cells, x: 2 * x, dims=[2, 2], depends_on=["data"])
        ns.sink(p, q) << rt.Sink(ns.doubled(p, q), station_1_index=p, station_2_index=q, output_column="DOUBLED")
    rt.Forest(ns).run(path, time_slots=2)
    np.testing.assert_array_equal(model(path, "DOUBLED")[1], 2 * model(path, "DATA")[1])


def test_weights_are_flagged_whatever_else_is_read(small_ms):
    """FLAG is read for weights alone too."""
    path = small_ms(columns=("DATA", "MODEL_DATA"))
    (tile,) = rt.ms.tiles(path, ["DATA"], time_slots=100)
    mark = np.zeros((2, 2, len(tile["time_s"]), 1))
    mark[0, 0, 0] = 1.0
    ns = rt.NodeScope()
    flagged = rt.ZeroFlagger(rt.Constant(mark, cells_rank=2), oper="NE")
    ns.sink << rt.Sink(flagged, station_1_index=0, station_2_index=1, output_column="DATA", write_flags=True)
    rt.Forest(ns).run(path)

    def weight_sum(*others):
        ns = rt.NodeScope()
        weight = rt.Spigot(station_1_index=0, station_2_index=1, input_column="WEIGHT")
        for i, column in enumerate(others):
            ns.other(i) << rt.Spigot(station_1_index=0, station_2_index=1, input_column=column)
        ns.sink << rt.Sink(rt.Sum(weight), station_1_index=0, station_2_index=1)
        rt.Forest(ns).run(path)
        (tile,) = rt.ms.tiles(path, ["MODEL_DATA"], time_slots=100)
        return tile["columns"]["MODEL_DATA"][tile["baselines"].index((0, 1)), 0, 0]

    n_time, n_freq = len(tile["time_s"]), len(tile["frequency_hz"])
    for others in ((), ("UVW",), ("DATA",)):
        every = n_time * n_freq
        np.testing.assert_array_equal(weight_sum(*others), [every - n_freq, every, every, every])


def test_a_failing_node_ends_the_run_and_the_set_says_how_far_it_came(small_ms):
    path = small_ms(n_time=6)

    def evaluate(cells):
        if cells.time_s[0] > 5.0e9 + 25:
            raise ValueError("bad beam")
        return np.ones((1, 1))

    ns = rt.NodeScope()
    ns.x << rt.PyNode(evaluate=evaluate)
    for p, q in rt.ms.baselines(path):
        ns.sink(p, q) << rt.Sink(ns.x, station_1_index=p, station_2_index=q)
    with pytest.raises(rt.Error, match=r"(?s)evaluation failed.*test_run.py:\d+: node \"x\" \(PyNode\).*bad beam"):
        rt.Forest(ns).run(path, time_slots=1)
    (unfinished,) = rt.ms.inspect(path)["progress"]
    assert unfinished["column"] == "MODEL_DATA"
    _, got = model(path)
    assert (got[:, :3, :, 0] == 1).all() and not got[:, 3:].any()


def test_ctrl_c_during_a_run(small_ms, small_sky):
    path = small_ms(n_time=50)
    ns = rt.NodeScope()
    rt.psv_tree(ns, small_sky, CENTRE, rt.ms.baselines(path))

    def progress(tiles_done, *_):
        if tiles_done == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        rt.Forest(ns).run(path, time_slots=1, progress=progress)
    assert rt.ms.inspect(path)["progress"]
    simulate(path, small_sky)  # a complete run puts it right
    assert not rt.ms.inspect(path)["progress"]


def test_what_cannot_be_run_is_said(small_ms, tmp_path, small_sky):
    ns = rt.NodeScope()
    ns.x << 1.0
    with pytest.raises(rt.Error, match="no Sink"):
        rt.Forest(ns).run(small_ms())
    ns = rt.NodeScope()
    rt.psv_tree(ns, small_sky, CENTRE, [(0, 1)])
    with pytest.raises(rt.Error, match=r"nowhere\.ms"):
        rt.Forest(ns).run(tmp_path / "nowhere.ms")
    ns.data << rt.Spigot(station_1_index=0, station_2_index=1, input_column="NO_SUCH")
    ns.sink_2 << rt.Sink(ns.data, station_1_index=0, station_2_index=1, output_column="OUT")
    with pytest.raises(rt.Error, match="NO_SUCH"):
        rt.Forest(ns).run(small_ms("b.ms"))


def twos(ns, baselines, name="sink", swapped=False):
    """Sinks that write 2 into the column TWO."""
    for p, q in baselines:
        first, second = (q, p) if swapped else (p, q)
        ns[name](p, q) << rt.Sink(2.0, station_1_index=first, station_2_index=second, output_column="TWO")


def test_two_sinks_do_not_write_the_same(small_ms):
    path = small_ms()
    ns = rt.NodeScope()
    twos(ns, [(0, 1), (0, 2)])
    twos(ns, [(0, 2)], name="other")
    with pytest.raises(rt.Error, match='Sinks "sink:0:2" and "other:0:2" both write TWO of baseline 0-2'):
        rt.Forest(ns).run(path)
    # One of them that is not evaluated does no harm.
    ns.mux << rt.VisDataMux(None, None, ns.sink(0, 1), ns.sink(0, 2))
    report = rt.Forest(ns).run(path)
    assert report.rows_written > 0
    assert report.warnings == ['1 Sink ("other:0:2") left out: no VisDataMux has them as child']


def test_sinks_of_baselines_that_are_not_there_are_said(small_ms):
    path = small_ms()
    ns = rt.NodeScope()
    twos(ns, rt.ms.baselines(path), swapped=True)
    report = rt.Forest(ns).run(path)
    assert report.rows_written == 0
    (warning,) = report.warnings
    assert f"{len(rt.ms.baselines(path))} Sinks" in warning and "wrote nothing" in warning
    ns = rt.NodeScope()
    twos(ns, rt.ms.baselines(path))
    assert rt.Forest(ns).run(path).warnings == []


def test_solvers_that_nothing_asks_for_are_said(small_ms):
    path = small_ms()
    ns = rt.NodeScope()
    ns.a << rt.Parm(0.0, solvable=True)
    ns.solver << rt.Solver(rt.Condeq(3.0, ns.a))
    twos(ns, rt.ms.baselines(path))
    forest = rt.Forest(ns)
    (warning,) = forest.run(path).warnings
    assert warning.startswith('1 Solver ("solver") left out') and forest.get_state(ns.a)["value"] == 0
    ns.mux << rt.VisDataMux(ns.solver, None, *ns.Search("sink:"))
    forest = rt.Forest(ns)
    assert forest.run(path).warnings == [] and forest.get_state(ns.a)["value"] == pytest.approx(3)
