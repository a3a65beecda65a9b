"""Columns of the set as the model: what a sky model gives, predicted beforehand, gives the same solutions."""

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationError, CalibrationOptions, ModelColumns, parse_terms
from rimetree.calibration.terms.gauge import Polarisation, polarisation_of

CENTRE = (0.93, -0.485)
NORTH = rt.sky.Source("north", 0.93, -0.480, (25.0, 0.0, 0.0, 0.0), patch="north")
MIDDLE = rt.sky.Source("middle", 0.9302, -0.485, (60.0, 0.0, 0.0, 0.0), patch="middle")
SKY = rt.sky.SkyModel([MIDDLE, NORTH])


@pytest.fixture
def kat7(tmp_path):
    """A set of KAT-7: 21 baselines, 6 times of 10 s, 4 channels of 4 MHz at 1.3 GHz."""
    path = str(tmp_path / "a.ms")
    band = rt.ms.Band.regular(1.3e9, 16e6, 4)
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=60.0, integration_s=10.0, bands=band)
    return path


def predict_into(path, sky, column):
    (group,) = rt.ms.groups(path)
    ns = rt.NodeScope()
    rt.psv_tree(ns, sky, group.phase_centre_rad, group.baselines, feed=group.feed, column=column)
    rt.Forest(ns).run(path)


def planted(antenna, patch, time_s, frequency_hz):
    """Diagonal gains of the whole sky, and smaller ones of the patch in the north."""
    del time_s
    rng = np.random.default_rng(100 * antenna + (0 if patch is None else 1))
    gain = rng.uniform(0.7, 1.3, 2) * np.exp(1j * rng.uniform(-1, 1, 2))
    if patch == "middle":
        gain = np.ones(2)
    return np.broadcast_to(np.diag(gain), (6, len(frequency_hz), 2, 2))


def solve(path, model, terms, tmp_path):
    options = CalibrationOptions(overwrite=True, reference="ANT-0")
    calibration.calibrate(path, model, parse_terms(terms), tmp_path / "sol.h5", options)
    (found,) = calibration.read_h5parm(tmp_path / "sol.h5")
    return found


@pytest.mark.parametrize("terms", [["G: diag, 20s"], ["G: full, 20s"], ["K: delay", "P: phase"]])
def test_a_predicted_column_is_as_good_as_its_sky(kat7, observe, tmp_path, terms):
    observe(kat7, SKY, CENTRE, planted, noise_jy=0.5)
    predict_into(kat7, SKY, "MODEL_DATA")
    one = solve(kat7, SKY, terms, tmp_path)
    other = solve(kat7, ModelColumns({"all": "MODEL_DATA"}), terms, tmp_path)
    for term in one.terms:
        assert not term.flag.any()
        # The column is in single precision, and fits end where a step is less than 1e-3 of the errors.
        for quantity, value in term.value.items():
            error = np.abs(other[term.name].value[quantity] - value)
            assert (error <= 1e-5 * np.abs(value) + 1e-3 * term.sigma[quantity] + 1e-15).all()
        assert other[term.name].directions == ("",)


def test_columns_as_directions(kat7, observe, tmp_path):
    """A term for each of two columns; what was planted is found, and the columns are subtracted with it."""
    data = observe(kat7, SKY, CENTRE, planted)
    predict_into(kat7, SKY.select(patches=["middle"]), "MODEL_MIDDLE")
    predict_into(kat7, SKY.select(patches=["north"]), "MODEL_NORTH")
    model = ModelColumns.parse(["MODEL_MIDDLE", "north=MODEL_NORTH"])
    found = solve(kat7, model, ["G: diag", "dE: diag, per patch"], tmp_path)
    assert found["dE"].directions == ("MODEL_MIDDLE", "north")
    assert (found["dE"].value["amplitude"][:, :, :, 0] == 1).all()  # the brighter one is held
    assert found.direction_radec_rad["north"] == pytest.approx(CENTRE)
    gain, own = found["G"].gain()[0, 0, :, 0], found["dE"].gain()[0, 0, :, 1]
    for term, patch in ((gain, None), (own, "north")):
        truth = np.array([planted(a, patch, None, [1.0])[0, 0] for a in range(7)])
        at = np.arange(2)
        value, truth = term[:, at, at], truth[:, at, at]
        turned = truth * np.exp(-1j * np.angle(truth[0]))
        np.testing.assert_allclose(value, turned, atol=1e-5)
    (group,) = rt.ms.groups(kat7)
    ns = rt.NodeScope()
    calibration.apply_tree(ns, group, found, correct=False, subtract=model, column="RESIDUAL")
    rt.Forest(ns).run(kat7)
    (tile,) = rt.ms.tiles(kat7, ["RESIDUAL"], time_slots=100)
    assert np.abs(tile["columns"]["RESIDUAL"]).max() < 1e-4 * np.abs(data).max()
    # Of one direction alone what is left is the other, with its terms.
    ns = rt.NodeScope()
    kept = model.select(lambda name: name == "north")
    calibration.apply_tree(ns, group, found, correct=False, subtract=kept, column="RESIDUAL")
    rt.Forest(ns).run(kat7)
    (tile,) = rt.ms.tiles(kat7, ["RESIDUAL"], time_slots=100)
    left = np.abs(tile["columns"]["RESIDUAL"].reshape(*data.shape)[..., 0, 0])
    gains = [abs(planted(a, None, None, [1.0])[0, 0, 0, 0]) for a in range(7)]
    wanted = np.array([60 * gains[p] * gains[q] for p, q in tile["baselines"]])
    np.testing.assert_allclose(left, np.broadcast_to(wanted[:, None, None], left.shape), rtol=1e-3)


@pytest.mark.parametrize(
    "stokes",
    [
        [(5, 0, 0, 0), (2, 0, 0, 0)],
        [(5, 1, 0, 0), (2, 0, 0, 0)],
        [(5, 0, 1, 0)],
        [(5, 1, 0, 0)],
        [(5, 1, 1, 2), (2, 0, 0, 1)],
    ],
)
def test_polarisation_is_that_of_the_sky(kat7, stokes):
    sky = rt.sky.SkyModel([rt.sky.Source(f"s{k}", 0.93, -0.485 + 0.004 * k, s) for k, s in enumerate(stokes)])
    predict_into(kat7, sky, "MODEL_DATA")
    (group,) = rt.ms.groups(kat7)
    model = ModelColumns({"": "MODEL_DATA"})
    wanted = polarisation_of(sky, "linear")
    found = model.polarisation(group)
    assert (found.hands, found.uniform, found.turned) == (wanted.hands, wanted.uniform, wanted.turned)
    assert (found.axis is None) == (wanted.axis is None)
    if found.axis is not None:
        np.testing.assert_allclose(found.axis, wanted.axis, atol=1e-4)
    if len(stokes) == 1:
        hands = 0.5 * (stokes[0][0] + stokes[0][1]) + 0.5 * (stokes[0][0] - stokes[0][1])
        assert model.flux_jy(group) == pytest.approx(hands, rel=1e-3)


def test_an_empty_column_is_no_model(kat7, observe, tmp_path):
    """Zeros: nothing is determined, all is flagged, nothing fails."""
    observe(kat7, SKY, CENTRE, planted)
    rt.Forest(_zeros(kat7)).run(kat7)
    (group,) = rt.ms.groups(kat7)
    model = ModelColumns({"": "MODEL_DATA"})
    assert model.polarisation(group) == Polarisation("none", True)
    assert solve(kat7, model, ["G: diag"], tmp_path)["G"].flag.all()


def _zeros(path):
    ns = rt.NodeScope()
    for p, q in rt.ms.baselines(path):
        ns.sink(p, q) << rt.Sink(
            rt.Constant(np.zeros((2, 2), complex)), station_1_index=p, station_2_index=q, output_column="MODEL_DATA"
        )
    return ns


def test_mistakes(kat7, tmp_path):
    with pytest.raises(
        CalibrationError, match="no column 'MODELS' to take the model from; columns of visibilities are"
    ):
        solve(kat7, ModelColumns({"": "MODELS"}), ["G: diag"], tmp_path)
    with pytest.raises(CalibrationError, match='expected a column or "DIRECTION=COLUMN"'):
        ModelColumns.parse(["=A"])
    with pytest.raises(CalibrationError, match="two model columns are for the direction 'A'"):
        ModelColumns.parse(["A", "A=B"])


class StoppedError(Exception):
    pass


def test_a_run_is_not_resumed_on_other_data(kat7, observe, tmp_path):
    """On the same ones it is, with the same result as a run that was not interrupted."""
    observe(kat7, SKY, CENTRE, planted, noise_jy=0.5)
    predict_into(kat7, SKY, "MODEL_DATA")
    model, terms = ModelColumns({"all": "MODEL_DATA"}), ["G: diag, 20s"]
    whole = solve(kat7, model, terms, tmp_path)

    def stop(report):
        if report.index == 1:
            raise StoppedError

    def resume():
        return calibration.calibrate(
            kat7, model, parse_terms(terms), tmp_path / "part.h5", CalibrationOptions(resume=True, reference="ANT-0")
        )

    with pytest.raises(StoppedError):
        start = CalibrationOptions(reference="ANT-0")
        calibration.calibrate(kat7, model, parse_terms(terms), tmp_path / "part.h5", start, on_chunk=stop)
    predict_into(kat7, rt.sky.SkyModel([MIDDLE]), "MODEL_DATA")
    with pytest.raises(CalibrationError, match="a calibration with other visibilities in MODEL_DATA; resume it with"):
        resume()
    predict_into(kat7, SKY, "MODEL_DATA")
    observe(kat7, SKY, CENTRE, planted, noise_jy=0.5, seed=1)
    with pytest.raises(CalibrationError, match="a calibration with other visibilities in DATA; resume it with"):
        resume()
    observe(kat7, SKY, CENTRE, planted, noise_jy=0.5)
    progress = (tmp_path / "part.h5.progress").read_bytes()
    report = resume()
    assert [chunk.resumed for chunk in report.chunks] == [True, True, False]
    np.testing.assert_array_equal(report.solutions[0]["G"].gain(), whole["G"].gain())
    (tmp_path / "part.h5.progress").write_bytes(progress)
    flag = np.zeros((21, 6, 4), dtype=bool)
    flag[3, 4, 2] = True
    observe(kat7, SKY, CENTRE, planted, noise_jy=0.5, flag=flag)
    with pytest.raises(CalibrationError, match="a calibration with other flags"):
        resume()
