"""Tables of Parms: what was solved for in one forest, applied by another one or its starting values."""

import h5py
import numpy as np
import pytest

import rimetree as rt
from rimetree.evaluation.parm_tiles import Layouts, Pieces, Polynomials, edges_of, moved
from rimetree.evaluation.solving import SolutionFlag

START_S = 5e9
N_TIME = 6
EDGES_S = START_S - 5 + 10.0 * np.arange(N_TIME + 1)


def gains(ns, antennas, solvable, **parm):
    for p in antennas:
        parts = [ns[f"g_{part}"](p) << rt.Parm(x, solvable=solvable, **parm) for part, x in (("re", 1.0), ("im", 0.0))]
        ns.G(p) << rt.ToComplex(*parts)


def over_data(path, solvable, column, **parm):
    """A forest that corrects DATA by gains of antennas, which it solves for (against 1 Jy) or is to be given."""
    ns = rt.NodeScope()
    baselines = rt.ms.baselines(path)
    gains(ns, range(4), solvable, **parm)
    for p, q in baselines:
        station = {"station_1_index": p, "station_2_index": q}
        ns.D(p, q) << rt.Spigot(**station, input_column="DATA")
        ns.c(p, q) << rt.Condeq(ns.D(p, q), ns.G(p) * np.eye(2) * rt.Conj(ns.G(q)), [[1, 0], [0, 1]])
        ns.sink(p, q) << rt.Sink(ns.D(p, q) / (ns.G(p) * rt.Conj(ns.G(q))), **station, output_column=column)
    solver = ns.solver << rt.Solver(*(ns.c(p, q) for p, q in baselines)) if solvable else None
    ns.mux << rt.VisDataMux(*(ns.sink(p, q) for p, q in baselines), pre=solver)
    return rt.Forest(ns)


def plant(path, of_time):
    """DATA of gains of which a function of time makes the phases."""
    ns = rt.NodeScope()
    for p, q in rt.ms.baselines(path):
        phase = rt.PyNode(evaluate=lambda cells, k=q - p: k * of_time(cells.time_s)[:, None], version=0)
        value = rt.Polar(rt.Constant(1.0 + 0.1 * p) * (1.0 + 0.1 * q), phase) * np.eye(2)
        ns.s(p, q) << rt.Sink(value, station_1_index=p, station_2_index=q, output_column="DATA")
    rt.Forest(ns).run(path)


@pytest.fixture
def observed(small_ms):
    path = small_ms(n_time=N_TIME)
    plant(path, lambda time_s: 0.1 * np.sin((time_s - START_S) / 7))
    return path


def column(path, name):
    (tile,) = rt.ms.tiles(path, [name], time_slots=1000)
    return tile["columns"][name]


@pytest.mark.parametrize("time_slots", [1, 2, 4, 6])
@pytest.mark.parametrize("parm", [{}, {"time_edges_s": EDGES_S}], ids=["one value", "tiles"])
def test_what_one_run_has_solved_for_another_applies(observed, tmp_path, time_slots, parm):
    """A Parm without tiles has one for each group of time slots in the table; to the last bit the same correction."""
    solving = over_data(observed, True, "CORRECTED_DATA", **parm)
    report = solving.run(observed, time_slots=time_slots)
    rt.ParmTable.of(solving, report.solves).write(tmp_path / "g.h5")
    table = rt.ParmTable.read(tmp_path / "g.h5")
    assert len(table) == 8 and len(table["g_re:3"].value) == (N_TIME if parm else -(-N_TIME // time_slots))
    assert not table["g_im:2"].flag.any() and (table["g_im:2"].sigma > 0).all()
    applying = over_data(observed, False, "OTHER_DATA")
    assert set(table.put_into(applying)) == set(table)
    applying.run(observed)
    np.testing.assert_array_equal(column(observed, "OTHER_DATA"), column(observed, "CORRECTED_DATA"))
    if parm or time_slots == 1:
        np.testing.assert_allclose(column(observed, "OTHER_DATA")[..., 0, 0], 1, rtol=1e-5)


def test_solves_that_were_finished_before_a_run_failed_are_kept(observed):
    class StopError(Exception):
        pass

    def stop(tiles_done, *_):
        if tiles_done == 2:
            raise StopError

    solving = over_data(observed, True, "CORRECTED_DATA")
    with pytest.raises(StopError):
        solving.run(observed, time_slots=1, progress=stop)
    table = rt.ParmTable.of(solving, solving.solves)
    assert 2 <= len(table["g_re:0"].value) < N_TIME
    assert table["g_re:0"].time_s[0].tolist() == EDGES_S[:2].tolist()


def test_a_solvable_parm_starts_with_the_table_and_keeps_its_tiles(observed):
    solving = over_data(observed, True, "CORRECTED_DATA", time_edges_s=EDGES_S)
    table = rt.ParmTable.of(solving, solving.run(observed).solves)
    again = over_data(observed, True, "CORRECTED_DATA", time_edges_s=EDGES_S[::2])
    table.put_into(again)
    value = np.array(again.get_state("g_im:2")["value"])
    assert value.shape == (3, 1, 1, 1)
    assert set(value.ravel()) <= set(table["g_im:2"].value.ravel())
    one = over_data(observed, True, "CORRECTED_DATA", minimum=-0.5, maximum=1.05)
    with pytest.warns(UserWarning, match="outside of their bounds"):
        table.put_into(one)
    assert one.get_state("g_re:3")["value"] == 1.05 < table["g_re:3"].value[0, 0, 0, 0]
    assert one.get_state("g_im:3")["value"] == table["g_im:3"].value[0, 0, 0, 0]


def test_values_that_something_else_has_found(observed):
    """Without reports: all solvable Parms as they are, also of polynomials and of tiles with one value for all."""
    ns = rt.NodeScope()
    ns.a << rt.Parm([1.0, 2.0], solvable=True, time_0_s=3.0, time_scale_s=4.0)
    ns.b << rt.Parm(5.0, solvable=True, freq_edges_hz=[1.0, 2.0, 3.0])
    ns.c << rt.Parm(7.0)
    forest = rt.Forest(ns)
    forest.set_parameters(forest.parameter_vector() + 0.5)
    table = rt.ParmTable.of(forest)
    assert list(table) == ["a", "b"] and repr(table) == "<ParmTable of a, b>"
    assert table["a"].value.tolist() == [[[[1.5], [2.5]]]] and table["a"].place == (3.0, 4.0, 0.0, 1.0)
    assert table["b"].value.tolist() == [[[[5.5]], [[5.5]]]]
    other = rt.Forest(ns)
    table.put_into(other)
    assert other.parameter_vector().tolist() == forest.parameter_vector().tolist()


POLYNOMIALS = [
    (terms, place) for terms in ((1, 1), (2, 1), (3, 2)) for place in ((0.0, 1.0, 0.0, 1.0), (9.0, 3.0, 4.0, 2.0))
]


@pytest.mark.parametrize(("terms", "place"), POLYNOMIALS)
@pytest.mark.parametrize("own", [(3, 2), (4, 3)])
def test_polynomials_of_another_origin_and_degree_start_with_the_same_values(terms, place, own):
    value = np.random.default_rng(3).normal(size=terms)
    zero = {"time_0_s": place[0], "time_scale_s": place[1], "freq_0_hz": place[2], "freq_scale_hz": place[3]}
    edges = {"time_edges_s": [0.0, 10.0, 20.0], "freq_edges_hz": [0.0, 5.0]}
    ns = rt.NodeScope()
    ns.p << rt.Parm(np.tile(value, (2, 1, 1, 1)), solvable=True, **zero, **edges)
    table = rt.ParmTable.of(rt.Forest(ns))
    there = rt.NodeScope()
    there.p << rt.Parm(np.zeros(own), solvable=True, time_0_s=5.0, time_scale_s=10.0, freq_0_hz=2.0)
    cells = rt.Cells(time_s=np.arange(1.0, 20.0, 2.5), freq_hz=[1.0, 2.0, 4.5])
    wanted, started = rt.Forest(ns).evaluate("p", cells), rt.Forest(there)
    table.put_into(started)
    np.testing.assert_allclose(*np.broadcast_arrays(started.evaluate("p", cells), wanted), rtol=1e-9, atol=1e-9)
    domain = np.array([[0.0, 10.0]]), np.array([[0.0, 5.0]])
    piece = Pieces(*domain, value[None], np.abs(value)[None], np.zeros((1, *terms), int))
    to = (7.0, 0.5, -3.0, 20.0)
    turned = moved(piece, place, to, own)
    assert turned.value.shape == (1, *own)
    at = cells.time_s, cells.freq_hz
    values = [
        Polynomials(one.value[None], (np.zeros(0),) * 2, where).at(*at) for one, where in ((piece, place), (turned, to))
    ]
    np.testing.assert_allclose(*values, rtol=1e-9, atol=1e-9)
    if terms == (1, 1):
        np.testing.assert_array_equal(turned.sigma[0, 0, 0], np.abs(value[0, 0]))


def test_tables_are_joined(observed):
    """Polynomials of two runs, each about its own origin."""
    tables = []
    for first in (0, 3):
        ns = rt.NodeScope()
        value = [float(first), 2.0] if first else 1.0
        ns.p << rt.Parm(
            value,
            solvable=True,
            time_0_s=10.0 * first,
            time_scale_s=5.0,
            time_edges_s=[10.0 * first, 10.0 * first + 20.0],
        )
        tables.append(rt.ParmTable.of(rt.Forest(ns)))
    joined = tables[0].joined(tables[1])
    assert joined["p"].time_s.tolist() == [[0.0, 20.0], [30.0, 50.0]]
    there = rt.NodeScope()
    there.p << rt.Parm(0.0)
    forest = rt.Forest(there)
    joined.put_into(forest)
    assert forest.get_state("p")["time_edges_s"].tolist() == [0.0, 25.0, 50.0]  # a gap goes half to each
    values = forest.evaluate("p", rt.Cells(time_s=[5.0, 24.0, 26.0, 35.0])).ravel()
    np.testing.assert_allclose(values, [1.0, 1.0, 3 + 2 * (26 - 30) / 5, 5.0], rtol=1e-12)


def test_pieces_make_tiles():
    """Random rectangles of time and frequency, some on top of others: in the middle of each the last one counts."""
    rng = np.random.default_rng(11)
    for _ in range(30):
        edges = np.cumsum(rng.uniform(0.5, 2, size=(2, 7)), axis=1)
        pieces = []
        for number in range(int(rng.integers(1, 9))):
            (i, k), (j, m) = (np.sort(rng.choice(7, 2, replace=False)) for _ in range(2))
            numbers = (np.array([[x]]) for x in (number, 1.0, 0))
            pieces.append(((edges[0, i], edges[0, k]), (edges[1, j], edges[1, m]), *numbers))
        arrays = (np.array(one) for one in zip(*pieces, strict=True))
        (value, sigma, flag, *tiles), _ = Layouts().joined(Pieces(*arrays))
        edges_there = tuple(edges_of(one) for one in tiles)
        assert value.shape[:2] == tuple(len(one) for one in tiles)
        found = Polynomials(value, edges_there, (0.0, 1.0, 0.0, 1.0))
        for t in (edges[0, 1:] + edges[0, :-1]) / 2:
            for f in (edges[1, 1:] + edges[1, :-1]) / 2:
                owners = [k for k, one in enumerate(pieces) if one[0][0] < t < one[0][1] and one[1][0] < f < one[1][1]]
                if owners:
                    assert found.at(np.array([t]), np.array([f])).item() == owners[-1]
        lacks = flag[..., 0, 0] == SolutionFlag.NOT_SOLVED
        assert np.array_equal(np.isnan(sigma[..., 0, 0]), lacks)


def test_what_is_for_all_times_stands_under_what_is_for_some():
    def stored(*values, time_s):
        value = np.array(values)[:, None, None, None]
        return rt.StoredParm(value, value, np.zeros(value.shape, int), np.array(time_s), np.array([[-np.inf, np.inf]]))

    always = rt.ParmTable({"p": stored(1.0, time_s=[[-np.inf, np.inf]])})
    once = rt.ParmTable({"p": stored(2.0, 3.0, time_s=[[0.0, 10.0], [20.0, 30.0]])})
    assert always.joined(once)["p"].value.ravel().tolist() == [1.0, 2.0, 1.0, 3.0, 1.0]
    found = always.joined(once)
    assert found["p"].time_s.tolist() == [[-np.inf, 0.0], [0.0, 10.0], [10.0, 20.0], [20.0, 30.0], [30.0, np.inf]]
    ns = rt.NodeScope()
    ns.p << rt.Parm(0.0)
    forest = rt.Forest(ns)
    found.put_into(forest)
    assert forest.evaluate("p", rt.Cells(time_s=[-9.0, 5.0, 15.0, 25.0, 99.0])).ravel().tolist() == [1, 2, 1, 3, 1]
    assert set(once.joined(always)["p"].value.ravel()) == {1.0}


def test_solves_on_cells_without_widths():
    """Each is for its time."""
    ns = rt.NodeScope()
    ns.p << rt.Parm(0.0, solvable=True)
    ns.solver << rt.Solver(rt.Condeq(rt.Time(), ns.p))
    forest = rt.Forest(ns)
    solves = [forest.solve(ns.solver, rt.Cells(time_s=[at], freq_hz=1e9)) for at in (1.0, 2.0, 10.0)]
    table = rt.ParmTable.of(forest, solves)
    several = forest.solve(ns.solver, rt.Cells(time_s=[1.0, 2.0, 10.0], freq_hz=1e9, time_width_s=0.0))
    assert several.groups[0].time_s == (1.0, 10.0) and several.groups[0].time_ranges_s == []
    there = rt.NodeScope()
    there.p << rt.Parm(0.0)
    given = rt.Forest(there)
    table.put_into(given)
    found = given.evaluate("p", rt.Cells(time_s=[1.2, 1.7, 5.0, 9.0])).ravel()
    np.testing.assert_allclose(found, [1.0, 2.0, 2.0, 10.0])
    rt.ParmTable.of(forest, solves[:1]).put_into(given)
    assert given.evaluate("p", rt.Cells(time_s=[99.0])).item() == pytest.approx(1.0)


def test_tiles_without_data_take_the_nearest_and_others_are_warned_of():
    flags = [0, SolutionFlag.NO_DATA, SolutionFlag.NO_DATA, 0]
    value, flag = np.array([1.0, -1.0, -2.0, 4.0]), np.array(flags)
    tile = (slice(None), None, None, None)
    times, all_freqs = np.array([[0.0, 10.0], [10.0, 20.0], [20.0, 30.0], [30.0, 40.0]]), np.array([[-np.inf, np.inf]])
    table = rt.ParmTable({"p": rt.StoredParm(value[tile], value[tile], flag[tile], times, all_freqs)})
    ns = rt.NodeScope()
    ns.p << rt.Parm(0.0)
    forest = rt.Forest(ns)
    with pytest.warns(UserWarning, match="tiles without data, which take the nearest in time that has some: p 2 of 4"):
        table.put_into(forest)
    assert forest.get_state("p")["value"].ravel().tolist() == [1.0, 1.0, 4.0, 4.0]
    flag[:] = SolutionFlag.UNDETERMINED
    with pytest.warns(UserWarning, match=r"not to be trusted .*: p"):
        table.put_into(forest)


def solved_on(value, *times):
    """A forest, and what it solves for: a number on cells of 10 s."""
    ns = rt.NodeScope()
    ns.g << rt.Parm(1.0, solvable=True)
    ns.s << rt.Solver(rt.Condeq(value, ns.g))
    forest = rt.Forest(ns)
    return forest, forest.solve(ns.s, rt.Cells(time_s=times, time_width_s=[10.0] * len(times), freq_hz=1.4e9))


def test_fields_by_turns_have_tiles_between_each_other():
    """A solve of two scans had a tile from the first to the last, which another field's took a part of."""
    (forest, calibrator), (_, target) = solved_on(1.0, 5, 15, 65, 75), solved_on(9.0, 25, 35, 45, 55, 85, 95)
    assert calibrator.groups[0].time_ranges_s == [(0.0, 20.0), (60.0, 80.0)]
    assert calibrator.groups[0].time_s == (0.0, 80.0)
    for order in ([calibrator, target], [target, calibrator]):
        table = rt.ParmTable.of(forest, order)
        assert table["g"].time_s[:, 0].tolist() == [0.0, 20.0, 60.0, 80.0]
        np.testing.assert_allclose(table["g"].value.ravel(), [1, 9, 1, 9])
    apart = [rt.ParmTable.of(forest, [one]) for one in (calibrator, target)]
    assert apart[0].joined(apart[1]) == rt.ParmTable.of(forest, [calibrator, target])


def test_a_part_that_another_takes_is_warned_of():
    (forest, first), (_, second) = solved_on(1.0, 5, 15, 25), solved_on(2.0, 25, 35)
    with pytest.warns(UserWarning, match=r"parts of tiles are replaced .*: g"):
        table = rt.ParmTable.of(forest, [first, second])
    np.testing.assert_allclose(table["g"].value.ravel(), [1, 2, 2])


def test_what_has_no_data_replaces_nothing():
    forest, good = solved_on(5.0, 5)
    table = rt.ParmTable.of(forest, [good])
    bad = rt.StoredParm(**{**vars(table["g"]), "value": 0 * table["g"].value, "flag": table["g"].flag | 2})
    assert table.joined(rt.ParmTable({"g": bad}))["g"].value.item() == pytest.approx(5.0)
    assert rt.ParmTable({"g": bad}).joined(table)["g"].flag.item() == 0


def test_one_tile_is_warned_of_outside_of_it():
    forest, solve = solved_on(5.0, 5, 15)
    ns = rt.NodeScope()
    ns.g << rt.Parm(1.0)
    there = rt.Forest(ns)
    rt.ParmTable.of(forest, [solve]).put_into(there)
    there.evaluate("g", rt.Cells(time_s=[5.0], freq_hz=1.4e9))
    assert not there.warnings()
    assert there.evaluate("g", rt.Cells(time_s=[99.0], freq_hz=1.4e9)).item() == pytest.approx(5.0)
    assert "outside of its solution tiles" in there.warnings()[0]


def test_tables_that_cannot_be(tmp_path):
    value, flag, all_of = np.ones((2, 1, 1, 1)), np.zeros((2, 1, 1, 1), int), np.array([[-np.inf, np.inf]])
    for times in ([[0.0, 10.0], [5.0, 20.0]], [[10.0, 20.0], [0.0, 10.0]]):
        with pytest.raises(rt.Error, match="time_s must be tiles"):
            rt.StoredParm(value, value, flag, np.array(times), all_of)
    times = np.array([[0.0, 10.0], [10.0, 20.0]])
    with pytest.raises(rt.Error, match="finite"):
        rt.StoredParm(value * np.nan, value, flag, times, all_of)
    with pytest.raises(rt.Error, match="StoredParm for each name"):
        rt.ParmTable({"a": 3})
    stored = rt.StoredParm(value, value * np.nan, flag, times, all_of)
    assert rt.ParmTable({"a": stored}) == rt.ParmTable({"a": rt.StoredParm(**vars(stored))})
    other, _ = solved_on(1.0, 5)
    _, solve = solved_on(2.0, 5)
    ns = rt.NodeScope()
    ns.h << rt.Parm(1.0)
    with pytest.raises(rt.Error, match="not of this forest"):
        rt.ParmTable.of(rt.Forest(ns), [solve])
    ns = rt.NodeScope()
    ns.g << rt.Parm(0.0, solvable=True, maximum=1.0)
    with pytest.warns(UserWarning, match="outside of their bounds, which take these: g"):
        rt.ParmTable.of(other, [solve]).put_into(rt.Forest(ns))


def test_a_file_that_is_no_table(tmp_path):
    ns = rt.NodeScope()
    ns.p << rt.Parm(1.0, solvable=True)
    forest = rt.Forest(ns)
    table = rt.ParmTable.of(forest)
    file = tmp_path / "p.h5"
    with pytest.raises(FileNotFoundError):
        rt.ParmTable.read(file)
    file.write_bytes(b"no HDF5")
    with pytest.raises(rt.Error, match="no table of Parms"):
        rt.ParmTable.read(file)
    table.write(file)
    with h5py.File(file, "r+") as changed:
        changed.attrs["rimetree_parm_table"] = 99
    with pytest.raises(rt.Error, match="version 99"):
        rt.ParmTable.read(file)
    with h5py.File(file, "w") as changed:
        changed["x"] = 1.0
    with pytest.raises(rt.Error, match="no table of Parms"):
        rt.ParmTable.read(file)
    table.write(file)
    with h5py.File(file, "r+") as changed:
        del changed["p/sigma"]
    with pytest.raises(rt.Error, match="damaged"):
        rt.ParmTable.read(file)
    other = rt.NodeScope()
    other.q << rt.Parm(1.0)
    with pytest.raises(rt.Error, match="none of the Parms of the table: it has q, and the table p"):
        table.put_into(rt.Forest(other))
    with pytest.raises(TypeError, match="solves"):
        rt.ParmTable.of(forest, ["x"])


def test_names_that_are_alike_in_the_file(tmp_path):
    ns = rt.NodeScope()
    names = ["a/b", "a|b"]
    for k, name in enumerate(names):
        ns[name] << rt.Parm(float(k), solvable=True)
    rt.ParmTable.of(rt.Forest(ns)).write(tmp_path / "p.h5")
    table = rt.ParmTable.read(tmp_path / "p.h5")
    assert [table[name].value.item() for name in names] == [0.0, 1.0]


def test_names_with_strokes(tmp_path):
    """Those of Parms without a name of their own."""
    ns = rt.NodeScope()
    ns.y << 2.0 * rt.Parm(3.0, solvable=True)
    forest = rt.Forest(ns)
    (name,) = rt.ParmTable.of(forest)
    assert "/" in name
    forest.set_parameters(np.array([5.0]))
    rt.ParmTable.of(forest).write(tmp_path / "p.h5")
    assert list(rt.ParmTable.read(tmp_path / "p.h5")) == [name]
