"""Sums over sources, however a script writes them: taken together by default, node by node where that is asked for."""

import numpy as np
import pytest

import rimetree as rt

N_SOURCE = 5
STATION_M = np.array([[0.0, 0.0, 0.0], [900.0, -300.0, 40.0], [-1500.0, 2200.0, -75.0]])
BASELINES = [(0, 1), (0, 2), (1, 2)]
CELLS = rt.Cells(10.0 * np.arange(4), np.linspace(1.0e9, 1.2e9, 6), time_width_s=10, freq_width_hz=4e7)


def sky_of(ns):
    rng = np.random.default_rng(11)
    lm = rng.uniform(-0.03, 0.03, (N_SOURCE, 2))
    ns.lmn << rt.Constant(np.column_stack([lm, np.sqrt(1 - (lm**2).sum(axis=1))]))
    ns.brightness << rt.Stokes(rt.Constant(rng.normal([1, 0, 0, 0], 0.2, (N_SOURCE, 4))))
    for s in range(N_SOURCE):
        ns.lmn(s) << rt.Selector(ns.lmn, index=[s, -1])
        ns.B(s) << rt.Selector(ns.brightness, index=[s, -1, -1])
    for p in range(len(STATION_M)):
        ns.uvw(p) << rt.Constant(STATION_M[p])
        for s in range(N_SOURCE):
            ns.K(p, s) << rt.VisPhaseShift(ns.lmn(s), ns.uvw(p))
    for p, q in BASELINES:
        ns.uvw(p, q) << ns.uvw(p) - ns.uvw(q)


def one_node_per_source(ns, p, q):
    for s in range(N_SOURCE):
        ns.V(p, q, s) << ns.B(s) * rt.VisPhaseShift(ns.lmn(s), ns.uvw(p, q))
    return rt.Add(*(ns.V(p, q, s) for s in range(N_SOURCE)))


def one_term(ns, p, q, s):
    return rt.VisPhaseShift(ns.lmn(s), ns.uvw(p, q)) * ns.B(s)


def operators(ns, p, q):
    total = rt.VisPhaseShift(ns.lmn(0), ns.uvw(p, q)) * ns.B(0)
    for s in range(1, N_SOURCE):
        total = ns.B(s) * rt.VisPhaseShift(ns.lmn(s), ns.uvw(p, q)) + total
    return total


def station_phases(ns, p, q):
    return rt.Add(*(rt.MatrixMultiply(ns.K(p, s), ns.B(s), rt.Conj(ns.K(q, s))) for s in range(N_SOURCE)))


def tensors(ns, p, q):
    return rt.Sum(
        rt.MatrixMultiply(rt.VisPhaseShift(ns.lmn, ns.uvw(p, q)), ns.brightness), reduction_axes=[], tensor_axis=0
    )


def elements(ns, p, q):
    def element(s, i, j):
        return rt.VisPhaseShift(ns.lmn(s), ns.uvw(p, q)) * ns.B(s)[i, j]

    return rt.Add(*(rt.Matrix22(*(element(s, i, j) for i in (0, 1) for j in (0, 1))) for s in range(N_SOURCE)))


def elements_of_sums(ns, p, q):
    def total(i):
        return rt.Add(*(rt.VisPhaseShift(ns.lmn(s), ns.uvw(p, q)) * ns.B(s)[i, i] for s in range(N_SOURCE)))

    return rt.Matrix22(total(0), 0, 0, total(1))


SPELLINGS = [one_node_per_source, operators, station_phases, tensors, elements, elements_of_sums]


def tree(spelling, **options):
    ns = rt.NodeScope()
    sky_of(ns)
    for p, q in BASELINES:
        ns.model(p, q) << spelling(ns, p, q)
    return rt.Forest(ns, **options)


def values(forest):
    return np.stack([forest.evaluate(f"model:{p}:{q}", CELLS) for p, q in BASELINES])


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_each_spelling_is_taken_together_and_means_the_same(spelling):
    together, written = tree(spelling), tree(spelling, as_written=True)
    got, expected = values(together), values(written)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12 * N_SOURCE)
    assert np.abs(got - expected).max() > 0, "two different computations"
    (note,) = (note for note in together.notes() if note.startswith("sum over sources"))
    assert f"{N_SOURCE} sources each taken together" in note and '"model:0:1" and 2 like it' in note
    assert not any("sum over sources" in note for note in written.notes())
    assert "PSV" in together.timing().classes and "PSV" not in written.timing().classes


def test_the_environment_decides_where_the_script_does_not(monkeypatch):
    for value, is_together in (("1", False), ("0", True), ("", True)):
        monkeypatch.setenv("RIMETREE_AS_WRITTEN", value)
        for option, expected in ((None, is_together), (True, False), (False, True)):
            forest = tree(tensors, as_written=option)
            values(forest)
            assert ("PSV" in forest.timing().classes) == expected, (value, option)
    monkeypatch.setenv("RIMETREE_AS_WRITTEN", "no")
    with pytest.raises(rt.Error, match='the environment variable RIMETREE_AS_WRITTEN is "no"; expected 1 or 0'):
        tree(tensors)


def test_a_term_that_is_asked_for_by_name_is_what_the_script_wrote():
    forest = tree(one_node_per_source)
    total = forest.evaluate("model:0:2", CELLS)
    terms = [forest.evaluate(f"V:0:2:{s}", CELLS) for s in range(N_SOURCE)]
    np.testing.assert_allclose(sum(terms), total, rtol=0, atol=1e-12 * N_SOURCE)


def test_a_change_of_one_source_is_seen():
    together, written = tree(one_node_per_source), tree(one_node_per_source, as_written=True)
    before = values(together)
    for forest in (together, written):
        lmn = forest.evaluate("lmn")[..., 0, 0].copy()
        lmn[3] = [0.0, 0.0, 1.0]
        forest.set_state("lmn", value=lmn)
    after = values(together)
    assert np.abs(after - before).max() > 0.1
    np.testing.assert_allclose(after, values(written), rtol=0, atol=1e-12 * N_SOURCE)


def test_what_keeps_a_term_out_is_named_and_the_rest_is_taken_together():
    ns = rt.NodeScope()
    sky_of(ns)
    odd = ns.odd << rt.Sqrt(rt.Abs(rt.Freq() * 1e-9)) * ns.B(0)
    known = (rt.VisPhaseShift(ns.lmn(s), ns.uvw(0, 1)) * ns.B(s) for s in range(N_SOURCE))
    ns.model << rt.Add(*known, odd)
    forest, plain = rt.Forest(ns), rt.Forest(ns, as_written=True)
    np.testing.assert_allclose(
        forest.evaluate("model", CELLS), plain.evaluate("model", CELLS), rtol=0, atol=1e-12 * N_SOURCE
    )
    assert any("and 1 term as written" in note for note in forest.notes())
    taken, kept_out = (one["text"] for one in forest.describe(CELLS) if "sum over sources" in one["text"])
    assert f"{N_SOURCE} sources taken together" in taken
    assert "is evaluated as written" in kept_out and 'node "odd"' in kept_out, kept_out


@pytest.mark.parametrize("flagged", [False, True])
def test_scalar_equations_are_elements_of_one_sum(flagged):
    def write():
        ns = rt.NodeScope()
        sky_of(ns)
        ns.is_bad << rt.Constant(1.0)
        for i in (0, 1):
            numbers = [ns.B(s)[i, i] for s in range(N_SOURCE)]
            if flagged and i == 0:
                numbers[1] = rt.MergeFlags(numbers[1], rt.ZeroFlagger(ns.is_bad, oper="GT"))
            ns.V(i) << rt.Add(*(rt.VisPhaseShift(ns.lmn(s), ns.uvw(0, 1)) * numbers[s] for s in range(N_SOURCE)))
        return ns

    forest, written = rt.Forest(write()), rt.Forest(write(), as_written=True)
    for roots in (["V:1"], ["V:0", "V:1"]):
        forest.reset_timing()
        got, expected = forest.results(roots, CELLS), written.results(roots, CELLS)
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_allclose(one.value, other.value, rtol=0, atol=1e-12 * N_SOURCE)
            flags = [np.broadcast_to(0 if x.flags is None else x.flags, (4, 6)) for x in (one, other)]
            np.testing.assert_array_equal(*flags)
        assert flagged or forest.timing().classes["PSV"]["evaluations"] == 1, "both at once"


def test_a_source_that_moves_leaves_the_others_together():
    """A sum in one pass would evaluate all sources cell by cell, for the sake of one."""

    def write(ns, p, q):
        def lmn(s):
            moved = ns.lmn(s)[0] + 1e-4 * rt.Time()
            return ns.lmn(s) if s else rt.Composer(moved, ns.lmn(s)[1], ns.lmn(s)[2])

        return rt.Add(*(rt.VisPhaseShift(lmn(s), ns.uvw(p, q)) * ns.B(s) for s in range(N_SOURCE)))

    together, written = tree(write), tree(write, as_written=True)
    np.testing.assert_allclose(values(together), values(written), rtol=0, atol=1e-12 * N_SOURCE)
    notes = "\n".join(together.notes())
    assert f"{N_SOURCE - 1} sources each taken together, and 1 term as written" in notes
    assert "it is a direction that varies in time" in notes
    assert "cell by cell" not in notes


def test_factors_of_the_coordinates_are_evaluated_where_they_are_written():
    """As Jones terms they would be written to memory for each source, cell and baseline."""

    def write(ns, p, q):
        uvw = ns.moving(p, q) << ns.uvw(p, q) * (1 + 1e-3 * rt.Time())

        def gaussian(s):
            u, v = uvw[0], uvw[1]
            return rt.Exp(-1e-8 * (1 + s) * (u * u + v * v) * rt.Sqr(rt.Freq() / 299792458.0))

        def sinc(s):
            x = 1e-4 * (1 + s) * uvw[0]
            return rt.Sin(x) / x

        def term(s):
            return rt.VisPhaseShift(ns.lmn(s), uvw) * ns.B(s) * (sinc(s) if s else gaussian(s))

        return rt.Add(*(term(s) for s in range(N_SOURCE)))

    together, written = tree(write), tree(write, as_written=True)
    np.testing.assert_allclose(values(together), values(written), rtol=0, atol=1e-12 * N_SOURCE)
    notes = "\n".join(together.notes())
    assert f"{N_SOURCE - 1} sources each taken together, and 1 term as written" in notes
    assert "it is made of the baseline's coordinates and varies in time and frequency" in notes


@pytest.mark.parametrize("n_moving", [15, 16])
def test_many_sources_that_move_are_a_sum_of_their_own(n_moving):
    """PSV does these at one time after the other."""

    def write(ns, p, q):
        ns.time << rt.Time()
        lm = [(1e-3 * s - 0.01, 2e-3 * s) for s in range(n_moving + 1)]

        def lmn(s):
            fixed = rt.Composer(*(rt.Constant(x) for x in (*lm[s], np.sqrt(1 - lm[s][0] ** 2 - lm[s][1] ** 2))))
            return fixed + rt.Composer(1e-5 * ns.time, 0.0, 0.0) if s else fixed

        return rt.Add(*(rt.VisPhaseShift(lmn(s), ns.uvw(p, q)) * ns.B(0) for s in range(n_moving + 1)))

    together, written = tree(write), tree(write, as_written=True)
    np.testing.assert_allclose(values(together), values(written), rtol=0, atol=1e-12 * n_moving)
    notes = "\n".join(together.notes())
    if n_moving == 16:
        assert f"{n_moving + 1} sources each taken together" in notes
        assert together.timing().classes["PSV"]["evaluations"] == 2 * len(BASELINES)
    else:
        assert f"and {n_moving} terms as written" in notes


def test_sums_that_begin_with_zero():
    """As Python's sum() does; inside of a product, too."""

    def write(ns, p, q):
        ns.G << rt.Matrix22(1.5, 0.1j, 0, 2)
        total = sum(one_term(ns, p, q, s) for s in range(N_SOURCE))
        return total + ns.G @ sum(one_term(ns, p, q, s) for s in range(1, N_SOURCE))

    together, written = tree(write), tree(write, as_written=True)
    np.testing.assert_allclose(values(together), values(written), rtol=0, atol=2e-12 * N_SOURCE)
    assert not any("as written" in note for note in together.notes()), together.notes()
    assert together.timing().classes["PSV"]["evaluations"] == 2 * len(BASELINES)


def test_terms_that_stations_and_sources_have_in_common_are_stations():
    """A term that is written alike for other stations and sources is in as many sums as a brightness."""

    def write(ns, p, q):
        def term(station, s):
            return rt.Exp(1j * rt.Constant(0.1 * (station + s)) * 1e9 / rt.Freq())

        return rt.Add(*(term(p, s) * one_term(ns, p, q, s) * rt.Conj(term(q, s)) for s in range(N_SOURCE)))

    together, written = tree(write), tree(write, as_written=True)
    np.testing.assert_allclose(values(together), values(written), rtol=0, atol=1e-12 * N_SOURCE)
    assert together.timing().classes["PSV"]["evaluations"] == len(BASELINES), "all sources of a baseline in one"


def test_stations_have_one_stack_of_terms():
    """On both sides of their baselines."""

    def write(ns, p, q):
        def beam(station, s):
            return rt.Matrix22(rt.Exp((0.1j + 0.01 * station) * rt.Freq() / 1e9), 0.01 * (s + 1), 0.02j, 1 + station)

        return rt.Add(
            *(
                rt.MatrixMultiply(beam(p, s), one_term(ns, p, q, s), rt.ConjTranspose(beam(q, s)))
                for s in range(N_SOURCE)
            )
        )

    together, written = tree(write), tree(write, as_written=True)
    roots = [f"model:{p}:{q}" for p, q in BASELINES]
    for one, other in zip(together.results(roots, CELLS), written.results(roots, CELLS), strict=True):
        np.testing.assert_allclose(one.value, other.value, rtol=0, atol=1e-11 * N_SOURCE)
    # Stacks of directions and brightness, and one of each station.
    assert together.timing().classes["Composer"]["evaluations"] == 2 + len(STATION_M)


def test_rates_may_be_coordinates_of_their_own():
    """Phases of stations, and smearing of baselines that have the same coordinates with rates; until these differ."""

    def write(ns, p, q):
        def uvw(station, rates):
            name = ns.rates(station) if rates else ns.turning(station)
            return name << rt.UVW(
                rt.Constant([0.3, -0.5]), 5e6 + STATION_M[station], 5e6 + STATION_M[0], include_deriv=rates
            )

        def term(s):
            k = [rt.VisPhaseShift(ns.lmn(s), uvw(station, False)) for station in (p, q)]
            smearing = rt.TFSmearFactor(ns.lmn(s), uvw(p, True) - uvw(q, True))
            return rt.MatrixMultiply(k[0], rt.Conj(k[1]), smearing, ns.B(s))

        return rt.Add(*(term(s) for s in range(N_SOURCE)))

    cells = rt.Cells(4.9e9 + 10.0 * np.arange(2), np.linspace(1.0e9, 1.2e9, 3), time_width_s=10, freq_width_hz=4e6)
    together, written = tree(write), tree(write, as_written=True)
    for seconds in (0.0, 0.9):
        for forest in (together, written):
            forest.set_state("rates:1", dut1_s=seconds)
        got, expected = (
            [forest.evaluate(f"model:{p}:{q}", cells) for p, q in BASELINES] for forest in (together, written)
        )
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12 * N_SOURCE)
        assert any("not the baseline of the phases" in note for note in together.notes()) == (seconds > 0)


@pytest.mark.parametrize("tensor_axis", [1, 2])
def test_sums_over_rows_or_columns_are_none_over_sources(tensor_axis):
    """Of two sources they are a matrix, too: [source, column], or [source, row]."""
    ns = rt.NodeScope()
    ns.lmn << rt.Constant([[0.01, 0.02, 0.99975], [-0.02, 0.01, 0.99975]])
    ns.brightness << rt.Stokes(rt.Constant([[1.0, 0.1, 0.2, 0.3], [2.0, -0.3, 0.2, 0.1]]))
    ns.uvw << rt.Constant(STATION_M[1])
    ns.V << rt.Sum(
        rt.MatrixMultiply(rt.VisPhaseShift(ns.lmn, ns.uvw), ns.brightness), reduction_axes=[], tensor_axis=tensor_axis
    )
    found, written = (rt.Forest(ns, as_written=as_written).evaluate(ns.V, CELLS) for as_written in (False, True))
    assert found.shape[:2] == (2, 2)
    np.testing.assert_array_equal(found, written)
