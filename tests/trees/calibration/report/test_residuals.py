"""What is left of data of known noise; antennas, times and windows in which there is no signal are named."""

import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, parse_terms
from rimetree.calibration.report.powers import Powers
from rimetree.calibration.report.residual_report import residual_rows, signal_lines, worst_antennas
from rimetree.plots.residual_page import write_residual_page

CENTRE = (0.93, -0.485)
N_ANTENNA, QUIET, DEAD = 7, 4, 2
SKY = rt.sky.SkyModel(
    [
        rt.sky.Source("a", *CENTRE, (60.0, 0.0, 0.0, 0.0), patch="middle"),
        rt.sky.Source("b", 0.94, -0.481, (25.0, 0.0, 0.0, 0.0), patch="side"),
    ]
)


@pytest.fixture
def observed(tmp_path, observe):
    """Two windows of 8 channels, 16 times; gains, noise of 2 Jy; one antenna hears nothing, one is flagged, and at two
    times of window 0 there is nothing but noise, as in all of window 1."""
    path, rng = str(tmp_path / "a.ms"), np.random.default_rng(1)
    bands = [rt.ms.Band.regular(centre, 16e6, 8) for centre in (1.3e9, 1.4e9)]
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=160.0, integration_s=10.0, bands=bands)
    size = rng.uniform(0.7, 1.4, N_ANTENNA) * np.exp(1j * rng.uniform(-3, 3, N_ANTENNA))
    size[QUIET] = 0

    def jones(antenna, patch, time_s, frequency_hz):
        if patch is not None:
            return np.eye(2)
        there = np.ones(len(time_s))
        there[5:7] = 0
        return there[:, None, None, None] * np.broadcast_to(size[antenna] * np.eye(2), (len(time_s), 8, 2, 2))

    flag = np.zeros((21, 16, 8), bool)
    flag[[k for k, pair in enumerate(rt.ms.baselines(path)) if DEAD in pair]] = True
    truth = observe(path, SKY, CENTRE, jones, noise_jy=2.0, flag=flag, data_desc_id=0)
    observe(path, SKY, CENTRE, lambda *_: np.zeros((2, 2)), noise_jy=2.0, flag=flag, data_desc_id=1, seed=2)
    return path, truth, ~flag


def solved(path, tmp_path, *terms, sky=SKY, **options):
    out = tmp_path / "sol.h5"
    report = calibration.calibrate(path, sky, parse_terms(terms), out, CalibrationOptions(overwrite=True, **options))
    return report, calibration.residuals(path, sky, [calibration.read_h5parm(out)], CalibrationOptions(**options))


def test_residuals_are_the_noise_and_what_has_no_signal_is_named(observed, tmp_path):
    path, truth, good = observed
    report, (one, other) = solved(path, tmp_path, "G: diag")
    power = one.of_correlations
    assert one.correlations == ("XX", "XY", "YX", "YY")
    # The times without signal spoil the fit a little: compare where there is one.
    with_signal = np.delete(np.arange(16), [5, 6])
    left = one.of_times.residual[with_signal].sum(axis=0) / one.of_times.count[with_signal].sum(axis=0)
    np.testing.assert_allclose(left[[1, 2]], 8.0, rtol=0.1)  # 2 Jy in the real and in the imaginary part
    expected = (np.abs(truth[..., 0, 0]) ** 2)[good].mean() + 8.0
    assert power.data[0] / power.count[0] == pytest.approx(expected, rel=0.05)
    noise = one.noise_by_channels
    np.testing.assert_allclose(noise[[1, 2]], 8.0, rtol=0.1)
    assert (one.left_before > 5 * power.left)[[0, 3]].all()
    assert one.flagged[DEAD] > 0 and power.count[0] == one.of_antennas.count[:, 0].sum() / 2
    quiet = calibration.without_signal([one, other])
    assert quiet.windows == [(0, (1,))] and quiet.empty == ["ANT-2"]
    assert quiet.antennas == [f"ANT-{QUIET}"]
    times = [t for field, window, t in quiet.times if window == (0,)]
    np.testing.assert_allclose(times, one.time_s[5:7])
    assert {window for _, window, _ in quiet.times} == {(0,)}
    # However much louder a window without signal is.
    many = [(name, getattr(other, name)) for name in ("of_antennas", "of_times", "of_channels")]
    louder = replace(other, **{name: Powers(1e4 * x.data, 1e4 * x.residual, x.count) for name, x in many})
    assert calibration.without_signal([one, louder]) == quiet
    text = "\n".join(signal_lines([one, other]))
    assert "windows without signal: field 0 window 1" in text and "antennas without good data: ANT-2" in text
    assert worst_antennas([one])[0][0] == f"ANT-{QUIET}"
    assert report.left == pytest.approx(
        sum(chunk.chi_square[-1] for chunk in report.chunks) / sum(chunk.data_power for chunk in report.chunks)
    )
    # Weights are 1: what the fit says is the sum over correlations.
    total = one.of_correlations.residual.sum() / one.of_correlations.data.sum()
    assert report.chunks[0].left == pytest.approx(total, rel=1e-6)


def test_raw_scale_before(observed, observe, tmp_path):
    """Data times 1e4: the model is scaled before it is compared, so that figures before are no giants."""
    path, _, _ = observed

    def raw(antenna, patch, time_s, frequency_hz):
        return np.eye(2) * (100 if patch is None else 1)

    observe(path, SKY, CENTRE, raw, noise_jy=2e4, data_desc_id=0)
    report, (one,) = solved(path, tmp_path, "G: diag", data_desc_id=0)
    assert one.factor == pytest.approx(1e4, rel=1e-2)
    assert (one.left_before[[0, 3]] < 1).all() and report.left < 1
    np.testing.assert_allclose(one.left_before[[0, 3]], one.of_correlations.left[[0, 3]], rtol=0.02)


def test_directions(tmp_path, observe):
    """A patch with a phase of its own: much of it is left before, nothing after."""
    path = str(tmp_path / "b.ms")
    bands = rt.ms.Band.regular(1.3e9, 16e6, 8)
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=160.0, integration_s=10.0, bands=bands)
    phase = np.random.default_rng(2).uniform(-2, 2, N_ANTENNA)

    def jones(antenna, patch, time_s, frequency_hz):
        return np.eye(2) * (np.exp(1j * phase[antenna]) if patch == "side" else 1.0)

    observe(path, SKY, CENTRE, jones, noise_jy=0.5)
    _, (one,) = solved(path, tmp_path, "P: phase, scalar, per patch side")
    before, after, share = one.directions["side"]
    assert abs(before) > 0.3 and abs(after) < 0.01 and 0.05 < share < 0.5
    assert abs(one.directions["middle"][1]) < 0.01


def test_json_and_page(observed, tmp_path):
    path, _, _ = observed
    _, found = solved(path, tmp_path, "G: diag")
    said = json.loads(json.dumps(calibration.residual_json(found), allow_nan=False))
    assert said["without_signal"]["windows"] == [{"field": 0, "window": [1]}]
    assert said["windows"][0]["correlations"]["XX"]["residual_after"] == pytest.approx(found[0].of_correlations.left[0])
    assert said["windows"][0]["antennas"]["residual_after"]["XX"][DEAD] is None
    page = tmp_path / "r.html"
    write_residual_page(page, found, title="a <b>", summary="1 & 2")
    text = page.read_text()
    assert "a &lt;b&gt;" in text and "1 &amp; 2" in text and text.count("data:image/png;base64,") == 2
    assert not re.search(r'(src|href)="(?!data:)', text)  # nothing from elsewhere
    headers, rows = residual_rows(found)
    assert len(rows) == 8 and len(rows[0]) == len(headers)


def test_limits_and_empty_selections(observed, tmp_path):
    path, _, _ = observed
    near = calibration.DataSelection(max_m=120.0)
    report, (one,) = solved(path, tmp_path, "G: diag", data_desc_id=0, data=near)
    every = calibration.residuals(path, SKY, [report.solutions], CalibrationOptions(data_desc_id=0))[0]
    assert 0 < one.of_correlations.count[0] < every.of_correlations.count[0]
    total = one.of_correlations.residual.sum() / one.of_correlations.data.sum()
    assert report.chunks[0].left == pytest.approx(total, rel=1e-6)
    nothing = calibration.DataSelection(min_m=1e6)
    (none,) = calibration.residuals(path, SKY, [report.solutions], CalibrationOptions(data_desc_id=0, data=nothing))
    assert none.of_correlations.count.sum() == 0 and np.isnan(none.of_correlations.left).all()
    assert calibration.without_signal([none]).empty == [f"ANT-{k}" for k in range(7)]
    assert calibration.residuals(path, {3: SKY}, [report.solutions]) == []


def test_how_much_is_looked_at_together_changes_nothing(observed, tmp_path, monkeypatch):
    """Some baselines at a time, and one time slot at a time (of which only differences of times are not there)."""
    path, *_ = observed
    _, (whole, _) = solved(path, tmp_path, "G: diag")
    held = [calibration.read_h5parm(tmp_path / "sol.h5")]
    for name, value in (("MODEL_BYTES", 1), ("_DATA_BYTES", 1)):
        monkeypatch.setattr(sys.modules["rimetree.calibration.report.residual_data"], name, value)
        some, _ = calibration.residuals(path, SKY, held, CalibrationOptions())
        np.testing.assert_array_equal(some.time_s, whole.time_s)
        for what in ("of_correlations", "of_antennas", "of_times", "of_channels"):
            for key in ("data", "residual", "count"):
                np.testing.assert_allclose(
                    getattr(getattr(some, what), key), getattr(getattr(whole, what), key), rtol=1e-10, atol=1e-6
                )
        np.testing.assert_allclose(some.noise_by_channels, whole.noise_by_channels, rtol=1e-10)
        np.testing.assert_allclose(some.before, whole.before, rtol=1e-9)
        assert some.missing.tolist() == whole.missing.tolist() and some.flagged.tolist() == whole.flagged.tolist()
