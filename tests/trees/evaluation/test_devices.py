"""Where forests are evaluated: devices by name, what is copied to and from them, and what reports say of it."""

import numpy as np
import planted
import pytest
import scipy.optimize

import rimetree as rt
from rimetree.bench.trees import SPELLINGS, sky_tree

CENTRE = (0.9, -0.5)
VISIBILITY_BYTES = 4 * 16  # four correlations in double precision
ROW_BYTES = 72  # UVW, rates, exposure, Jones terms
N_BASELINE, N_TIME, N_CHANNEL = 6, 5, 8  # of small_ms


def forest_on(path, sky, device=None, node=None, **options):
    ns = rt.NodeScope()
    rt.psv_tree(ns, sky, CENTRE, rt.ms.baselines(path), smearing=True)
    if node:
        ns.device << rt.DeviceMemory(device=node, **options)
    return rt.Forest(ns, device=device)


def model(path):
    (tile,) = rt.ms.tiles(path, ["MODEL_DATA"], time_slots=1000)
    return tile["columns"]["MODEL_DATA"]


@pytest.mark.parametrize("device", ["simulated", "host", "simulated,simulated:1000000"])
def test_a_run_gives_the_same_on_any_device(small_ms, small_sky, device):
    on_host, on_device = small_ms("a.ms", n_time=N_TIME), small_ms("b.ms", n_time=N_TIME)
    forest_on(on_host, small_sky, "none").run(on_host)
    forest_on(on_device, small_sky, device).run(on_device)
    # The column is complex64.
    np.testing.assert_allclose(model(on_device), model(on_host), atol=1e-7 * small_sky.total_flux_jy)
    assert np.abs(model(on_device)).max() > 0.3 * small_sky.total_flux_jy


def test_a_run_copies_the_sky_once_and_reports_it(small_ms, small_sky):
    path = small_ms(n_time=N_TIME)
    whole, parts = (forest_on(path, small_sky, node="simulated") for _ in range(2))
    whole.run(path, time_slots=N_TIME)
    report = parts.run(path, time_slots=1)
    (once,), (often,) = whole.device_statistics(), parts.device_statistics()
    for one in (once, often):
        assert one["name"] == "simulated device"
        assert one["bytes_down"] == N_BASELINE * N_TIME * N_CHANNEL * VISIBILITY_BYTES
    # Rows go up once in either case, and so does all else.
    assert often["bytes_up"] == once["bytes_up"] > N_BASELINE * N_TIME * ROW_BYTES
    assert often["uploads"] == once["uploads"] and often["hits"] > once["hits"]
    assert often["evictions"] == 0 and often["copy_seconds"] > 0
    assert "simulated device:" in str(report.timing) and "0 evicted" in str(report.timing)
    assert any("on simulated device" in note for note in report.notes)


def jones_forest(path, sky, device):
    """V = G_p M G_q^H + leak M, with M from PSV: visibilities that three nodes on top of PSV work on."""
    ns = rt.NodeScope()
    baselines = rt.ms.baselines(path)
    seen = rt.sky_trees.sky_nodes(ns, sky, CENTRE)
    rt.sky_trees.uvw_nodes(ns, baselines, smearing=True)
    for antenna in sorted({one for pair in baselines for one in pair}):
        ns.G(antenna) << rt.Constant(np.diag([1 + 0.1j * antenna, 1 - 0.2 * antenna]))
    for p, q in baselines:
        ns.M(p, q) << rt.PSV(seen.lmn, seen.brightness, ns.uvw(p, q), seen.shape)
        ns.V(p, q) << ns.G(p) @ ns.M(p, q) @ ns.G(q).H + 0.01 * ns.M(p, q)
    rt.sky_trees.sink_nodes(ns, baselines)
    return rt.Forest(ns, device=device)


def test_visibilities_come_down_once_at_the_sinks(small_ms, small_sky):
    on_host, on_device = small_ms("a.ms", n_time=N_TIME), small_ms("b.ms", n_time=N_TIME)
    jones_forest(on_host, small_sky, "none").run(on_host)
    forest = jones_forest(on_device, small_sky, "simulated")
    report = forest.run(on_device, time_slots=2)
    np.testing.assert_allclose(model(on_device), model(on_host), atol=1e-7 * small_sky.total_flux_jy)
    (device,) = forest.device_statistics()
    assert device["bytes_down"] == N_BASELINE * N_TIME * N_CHANNEL * VISIBILITY_BYTES
    for name in ("MatrixMultiply", "Multiply", "Add"):
        timing = report.timing.classes[name]
        assert timing["on_devices"] == timing["evaluations"] >= 3 * N_BASELINE, name  # of three groups
    assert any(note == "Add: on simulated device" for note in report.notes)


def test_many_nodes_on_a_device(small_ms, small_sky):
    on_host, on_device = small_ms("a.ms", n_time=N_TIME), small_ms("b.ms", n_time=N_TIME)
    for path, device in ((on_host, "none"), (on_device, "simulated")):
        ns = rt.NodeScope()
        rt.many_node_tree(ns, small_sky, CENTRE, rt.ms.baselines(path), smearing=True)
        forest = rt.Forest(ns, device=device, as_written=True)
        forest.run(path, time_slots=2)
    # Stored in single precision; the host runs programs, whose functions differ from the device's by rounding.
    np.testing.assert_allclose(model(on_device), model(on_host), rtol=0, atol=1e-6 * np.abs(model(on_host)).max())
    described = forest.describe(rt.Cells([5e9], [1.4e9, 1.5e9]))
    assert any("on simulated device" in one["text"] and "VisPhaseShift" in one["text"] for one in described)
    (statistics,) = forest.device_statistics()
    visibilities = N_BASELINE * N_TIME * N_CHANNEL * VISIBILITY_BYTES
    assert visibilities <= statistics["bytes_down"] < 1.1 * visibilities


def test_the_device_memory_node_gives_statistics_as_a_result(small_ms, small_sky):
    path = small_ms(n_time=N_TIME)
    forest = forest_on(path, small_sky, node="simulated", budget_bytes=10**6)
    forest.run(path)
    budget, resident, peak, up, down, hits, evictions, seconds = forest.evaluate("device").ravel()
    (device,) = forest.device_statistics()
    assert budget == 10**6 and peak == device["peak_bytes"] <= budget
    assert (resident, up, down) == (device["resident_bytes"], device["bytes_up"], device["bytes_down"])
    assert (hits, evictions, seconds) == (device["hits"], 0, device["copy_seconds"])


def test_who_chooses_the_device(small_ms, small_sky, monkeypatch):
    path = small_ms()

    def names(*arguments):
        return [one["name"] for one in forest_on(path, small_sky, *arguments).device_statistics()]

    monkeypatch.setenv("RIMETREE_DEVICE", "simulated")
    assert names() == ["simulated device"]
    assert names("none") == []
    assert names("host", "simulated,simulated") == ["simulated device"] * 2
    monkeypatch.delenv("RIMETREE_DEVICE")
    assert names() == []
    with pytest.raises(rt.Error, match=r'"warp" cannot be used.*simulated:BYTES'):
        names("warp")


def test_the_method_is_foretold(small_ms, small_sky):
    path = small_ms()
    cells = rt.Cells([5e9], [1.4e9, 1.5e9])
    (described,) = forest_on(path, small_sky, "simulated").describe(cells, tolerance=1e-5)
    assert "single precision on simulated device" in described["text"]
    (described,) = forest_on(path, small_sky, "none").describe(cells)
    assert "device" not in described["text"]


def test_too_little_memory_is_said_and_the_host_does_it(small_ms, small_sky):
    path, other = small_ms("a.ms"), small_ms("b.ms")
    report = forest_on(path, small_sky, "simulated:100").run(path)
    assert any("evaluated on the host" in warning for warning in report.warnings)
    forest_on(other, small_sky, "none").run(other)
    np.testing.assert_array_equal(model(path), model(other))


def test_predict_on_a_device():
    rng = np.random.default_rng(3)
    lm = rng.uniform(-0.1, 0.1, (50, 2))
    lmn = np.column_stack([lm, np.sqrt(1 - (lm**2).sum(axis=1))])
    stokes = rng.uniform(0, 1, (50, 4))
    arguments = (rng.normal(scale=1e4, size=(40, 3)), 1.4e9 + 1e5 * np.arange(100), lmn, stokes)
    on_cpu = rt.predict(*arguments, device="cpu")
    flux = np.abs(stokes).sum()
    assert np.abs(rt.predict(*arguments, device="simulated") - on_cpu).max() < 2e-12 * flux
    single = rt.predict(*arguments, device="simulated", precision="single", verify=50)
    assert 1e-12 * flux < np.abs(single - on_cpu).max() < 1e-6 * flux


@pytest.mark.parametrize("noise, robust_dof", [(0.1, 0.0), (0.1, 3.0), (0.0, 0.0)])
def test_a_solve_sends_data_once_and_then_coefficients_at_most(noise, robust_dof):
    random = np.random.default_rng(4)
    n, shape = 6, (5, 4)
    sky, gains = planted.fixed_sky(random, n, shape), planted.gains_of(random, "full", n)
    data = planted.with_noise(random, planted.apply(gains, sky), noise)
    weight = {pq: random.uniform(0.5, 2, v.shape) for pq, v in data.items()}
    times, start = 5e9 + 10.0 * np.arange(shape[0]), np.broadcast_to(np.eye(2, dtype=complex), (n, 2, 2))
    reports = {}
    for device in ("none", "simulated"):
        options = {"robust_dof": robust_dof}
        forest = planted.gain_forest("full", data, sky, start, weight=weight, solver=options, device=device)
        reports[device] = forest.solve("solver", planted.cells(times))
    host, report = reports["none"], reports["simulated"]
    assert report.converged and report.chi_square == host.chi_square  # to the last bit
    for name, parm in host.parms.items():
        np.testing.assert_array_equal(report.parms[name].value, parm.value)
    assert host.bytes_to_devices == 0 and "bytes to devices" not in str(host)
    assert f"{report.bytes_to_devices} bytes to devices, {report.bytes_to_host} bytes back" in str(report)
    n_sum, n_cell = 4 * len(sky), shape[0] * len(planted.cells(times).freq_hz)
    assert len(report.chi_square) >= 2
    passes = len(report.chi_square) if robust_dof else 1
    exact = noise == 0  # then chi-square is summed up once more at the end, from residuals
    # Data, model and weight of each cell; four coefficients of each sum. Descriptions are small.
    arrays, coefficients = n_sum * n_cell * (16 + 16 + 8), (passes * bool(robust_dof) + exact) * n_sum * 4 * 16
    assert 0 < report.bytes_to_devices - arrays - coefficients < 1500 * len(sky)
    assert report.bytes_to_host == n_sum * 8 * (passes * (8 + 2 * (4 + 10)) + exact * 8)
    (statistics,) = forest.device_statistics()
    assert (statistics["bytes_up"], statistics["bytes_down"]) == (report.bytes_to_devices, report.bytes_to_host)
    assert any(note.startswith("Solver: sums over data on simulated device") for note in forest.notes())


def fitting_tree(device):
    """Two sources whose fluxes and places are unknown, seen by six baselines, and the data that they would give."""
    rng = np.random.default_rng(5)
    cells = rt.Cells(time_s=5.0e9 + 10 * np.arange(4.0), freq_hz=1.0e9 + 1e7 * np.arange(8.0))
    truth = np.array([0.01, -0.005, 2.0, -0.008, 0.012, 1.0])  # l, m and flux of each
    ns = rt.NodeScope()
    for s in range(2):
        ns.l(s) << rt.Parm(truth[3 * s], solvable=True)
        ns.m(s) << rt.Parm(truth[3 * s + 1], solvable=True)
        ns.flux(s) << rt.Parm(truth[3 * s + 2], solvable=True)
    ns.lmn << rt.Composer(*(node for s in range(2) for node in (ns.l(s), ns.m(s), 0.9999)), dims=[2, 3])
    ns.fluxes << rt.Composer(ns.flux(0), ns.flux(1))
    for b in range(6):
        ns.V(b) << rt.PSV(ns.lmn, ns.fluxes, rt.Constant(rng.normal(scale=200, size=(3, 4, 1)), cells_rank=2))
    model = rt.Forest(ns, device="none")
    for b in range(6):
        data = np.array(model.evaluate(f"V:{b}", cells))
        data += rng.normal(scale=0.1, size=data.shape) + 1j * rng.normal(scale=0.1, size=data.shape)
        ns.R(b) << rt.Condeq(rt.Constant(data, cells_rank=2), ns.V(b), weight_factor=100.0)
    ns.chi2 << rt.ChiSquare(*(ns.R(b) for b in range(6)))
    return rt.Forest(ns, device=device), cells, truth


def test_a_fit_with_scipy_sends_parameters_up_and_takes_chi_square_and_its_gradient_down():
    forest, cells, truth = fitting_tree("simulated")
    on_host, _, _ = fitting_tree("none")
    scale = np.array([1e-4, 1e-4, 0.05] * 2)
    n_call = 0

    def chi_square(z):
        nonlocal n_call
        n_call += 1
        value, gradient = forest.chi_square("chi2", cells, truth + scale * z)
        return value, gradient * scale

    rng = np.random.default_rng(1)
    start = chi_square(rng.normal(size=6))[0]
    (before,) = forest.device_statistics()
    n_call = 0
    while n_call < 200:
        fit = scipy.optimize.minimize(chi_square, rng.normal(size=6), jac=True, method="L-BFGS-B")
        # 6 x 4 x 8 cells of four complex data, each part of variance 1 / weight.
        assert fit.success and fit.fun < start and 0.8 < fit.fun / (6 * 4 * 8 * 8) < 1.2
        n_call += 1  # where the gradients are compared
        value, gradient = forest.chi_square("chi2", cells, truth + scale * fit.x + 1e-3 * scale)
        other, expected = on_host.chi_square("chi2", cells, truth + scale * fit.x + 1e-3 * scale)
        assert value == pytest.approx(other, rel=1e-12)
        np.testing.assert_allclose(gradient, expected, rtol=1e-9)
    (after,) = forest.device_statistics()
    # Two directions of 80 bytes, with room for axes, two fluxes;
    # the sum in two parts, and a flux and three coordinates for each source.
    assert after["bytes_up"] - before["bytes_up"] == n_call * (2 * 80 + 2 * 8)
    assert after["bytes_down"] - before["bytes_down"] == n_call * 8 * (2 + 2 * 4)


@pytest.mark.parametrize("extended", [False, True])
def test_a_sky_is_copied_once_however_it_is_written(extended):
    """Brightness and directions of single sources are put together where they are, not on the device and back."""
    cells = rt.Cells(5.2e9 + 10.0 * np.arange(4), 1.4e9 + 1e6 * np.arange(8))
    copied = {}
    for spelling in SPELLINGS:
        ns, roots = sky_tree(spelling, 30, 4, extended)
        forest = rt.Forest(ns, device="simulated")
        assert np.isfinite([one.value for one in forest.results(roots, cells)]).all()
        (device,) = forest.device_statistics()
        copied[spelling] = device["bytes_up"], device["bytes_down"]
    assert set(copied.values()) == {copied["PSV"]} and copied["PSV"][1] == 6 * 4 * 8 * VISIBILITY_BYTES
