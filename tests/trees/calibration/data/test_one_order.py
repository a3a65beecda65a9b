"""Sets in which some rows have their antennas exchanged: they are calibrated as if none had."""

import numpy as np
import pytest
from click.testing import CliRunner
from planted_chains import CENTRE, POLARISED

import rimetree as rt
from rimetree import _core, calibration
from rimetree.calibration import CalibrationOptions, parse_terms
from rimetree.cli import cli

N_TIME, N_CHANNEL = 6, 8
ONE = np.eye(2)


def copied(path, column, columns_of):
    """Fills a column with [time, channel, 2, 2] of columns_of[p, q], whichever order rows have."""
    (tile,) = rt.ms.tiles(path, [], time_slots=100)
    ns = rt.NodeScope()
    for p, q in tile["baselines"]:
        value = columns_of[p, q] if (p, q) in columns_of else np.conj(np.swapaxes(columns_of[q, p], -1, -2))
        ns.V(p, q) << rt.Constant(np.ascontiguousarray(np.moveaxis(value, (2, 3), (0, 1))), cells_rank=2)
        ns.sink(p, q) << rt.Sink(ns.V(p, q), station_1_index=p, station_2_index=q, output_column=column)
    rt.Forest(ns).run(path, time_slots=100)


@pytest.fixture
def both(tmp_path, observe, monkeypatch):
    """The same observation in rows of one order, and in rows of which some are exchanged."""
    rng = np.random.default_rng(4)
    jones = ONE + 0.2 * (rng.normal(size=(7, 2, 2)) + 1j * rng.normal(size=(7, 2, 2)))
    stored = _core.create_ms

    def seen(antenna, _patch, time_s, frequency_hz):
        return np.broadcast_to(jones[antenna], (len(time_s), len(frequency_hz), 2, 2))

    def perfect(_antenna, _patch, time_s, frequency_hz):
        return np.broadcast_to(ONE, (len(time_s), len(frequency_hz), 2, 2))

    def make(n_time=N_TIME, turned=None):
        turned = rng.random((n_time, 21)) < 0.4 if turned is None else turned
        paths = [str(tmp_path / name) for name in ("straight.ms", "turned.ms")]
        for path, own in zip(paths, (np.zeros_like(turned), turned), strict=True):
            create = lambda to, about, own=own: stored(to, {**about, "turned": own.ravel().astype(int).tolist()})  # noqa: E731
            monkeypatch.setattr(_core, "create_ms", create)
            rt.ms.create(
                path,
                "kat-7",
                phase_centre_rad=CENTRE,
                duration_s=10.0 * n_time,
                integration_s=10.0,
                bands=rt.ms.Band.regular(1.3e9, 2e6 * N_CHANNEL, N_CHANNEL),
                columns=["DATA", "MODEL_DATA"],
            )
        observe(paths[0], POLARISED, CENTRE, seen, noise_jy=1.0)
        observe(paths[0], POLARISED, CENTRE, perfect, column="MODEL_DATA")
        (tile,) = rt.ms.tiles(paths[0], ["DATA", "MODEL_DATA"], time_slots=100)
        for column in ("DATA", "MODEL_DATA"):
            values = tile["columns"][column].reshape(21, n_time, N_CHANNEL, 2, 2)
            copied(paths[1], column, dict(zip(tile["baselines"], values, strict=True)))
        return paths

    return make


def solved(path, folder, terms, model=POLARISED, **options):
    options = CalibrationOptions(reference="ANT-0", overwrite=True, **options)
    return calibration.calibrate(path, model, parse_terms(terms), folder / "sol.h5", options), options


@pytest.mark.parametrize(
    ("terms", "model", "selection"),
    [
        (["G: scalar"], "sky", {}),
        (["G: diag, 1slot"], "column", {}),
        (["J: full"], "sky", {"average_slots": 3, "average_channels": 2}),
        (["J: full"], "column", {"average_slots": 3}),
        (["G: diag", "D: leakage"], "sky", {}),
        (["G: diag", "X: crosshand"], "column", {}),
        (["K: delay", "G: diag"], "sky", {"baselines": ["!ANT-1&ANT-2"]}),
    ],
)
def test_solutions_are_those_of_rows_in_one_order(both, tmp_path, terms, model, selection):
    model = POLARISED if model == "sky" else calibration.ModelColumns({"": "MODEL_DATA"})
    selection = rt.ms.Selection(**selection)
    (one, options), (other, _) = (solved(path, tmp_path, terms, model, selection=selection) for path in both())
    assert other.groups[0].baselines == one.groups[0].baselines
    assert sum(c.equations for c in other.chunks) == sum(c.equations for c in one.chunks)
    for term in one.solutions[0].terms:
        own = other.solutions[0][term.name]
        np.testing.assert_array_equal(own.flag, term.flag)
        for name, value in term.value.items():
            scale = np.abs(value[~term.flag]).max()
            np.testing.assert_allclose(own.value[name], value, rtol=1e-5, atol=1e-5 * scale)
    left = [
        calibration.residuals(str(tmp_path / name), model, [one.solutions], options)[0].of_correlations.residual
        for name in ("straight.ms", "turned.ms")
    ]
    np.testing.assert_allclose(left[1], left[0], rtol=1e-5)


def test_solutions_are_applied_to_rows_as_they_are_stored(both, tmp_path):
    sky = tmp_path / "a.skymodel"
    rt.sky.write(POLARISED, sky)
    paths = both()
    for path in paths:
        arguments = ["calibrate", path, "--sky", str(sky), "--term", "J: full", "--out", f"{path}.h5", "--reference"]
        shown = CliRunner().invoke(cli, [*arguments, "ANT-0", "--apply", "--subtract"])
        assert shown.exit_code == 0, shown.output
    columns = ["CORRECTED_DATA"]
    one, other = (next(rt.ms.tiles(path, columns, time_slots=100, one_order=True)) for path in paths)
    found, expected = (tile["columns"]["CORRECTED_DATA"] for tile in (other, one))
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())
    assert next(rt.ms.tiles(paths[1], columns, time_slots=100))["baselines"] != one["baselines"]


def test_turned_rows_are_not_written(both):
    ns = rt.NodeScope()
    ns.sink << rt.Sink(rt.Constant(ONE), station_1_index=0, station_2_index=1, output_column="DATA")
    with pytest.raises(rt.Error, match="for reading only, but DATA"):
        rt.Forest(ns).run(both()[1], one_order=True)


def test_a_set_of_the_other_order_alone_stays_as_it_is(both, tmp_path):
    (one, _), (other, _) = (solved(path, tmp_path, ["G: diag"]) for path in both(turned=np.ones((N_TIME, 21), bool)))
    assert other.groups[0].baselines == sorted((q, p) for p, q in one.groups[0].baselines)
    for name, value in one.solutions[0]["G"].value.items():
        np.testing.assert_allclose(other.solutions[0]["G"].value[name], value, atol=1e-5)


def test_an_interrupted_run_goes_on_with_rows_turned(both, tmp_path):
    path = both()[1]
    terms, out = parse_terms(["J: full, 2slots"]), tmp_path / "sol.h5"
    options = {"reference": "ANT-0", "overwrite": True}
    whole = calibration.calibrate(path, POLARISED, terms, out, CalibrationOptions(**options))

    def stop(chunk):
        if chunk.index == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        calibration.calibrate(path, POLARISED, terms, out, CalibrationOptions(**options), on_chunk=stop)
    again = calibration.calibrate(path, POLARISED, terms, out, CalibrationOptions(reference="ANT-0", resume=True))
    assert sum(chunk.resumed for chunk in again.chunks) > 0
    for name, value in whole.solutions[0]["J"].value.items():
        np.testing.assert_allclose(again.solutions[0]["J"].value[name], value, atol=1e-6)
