"""Data that are moved to another phase centre on reading."""

import warnings

import numpy as np
import pytest
from click.testing import CliRunner

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationOptions, parse_terms
from rimetree.cli import cli

HERE, THERE = (0.93, -0.485), (1.02, -0.43)  # 5.6 deg apart
C_M_S = 299792458.0
N_TIME, N_CHANNEL = 12, 16
SOURCES = [("old", HERE, 20.0), ("new", THERE, 60.0), ("beside", (THERE[0] + 0.004, THERE[1] - 0.003), 15.0)]
SKY = rt.sky.SkyModel([rt.sky.Source(name, *at, (flux, 0, 0, 0), patch=name) for name, at, flux in SOURCES])
NEAR = rt.sky.SkyModel([source for source in SKY if source.name != "old"])
MOVED = rt.ms.Selection(phase_centre_rad=THERE)


@pytest.fixture
def made(tmp_path):
    """made(name, centre, channel_hz): a set of KAT-7 with slots of 1 s and 16 channels at 1.3 GHz."""

    def make(name, centre, channel_hz=1e4, start_mjd_s=5.2425e9, columns=("DATA",)):
        path = str(tmp_path / name)
        band = rt.ms.Band.regular(1.3e9, channel_hz * N_CHANNEL, N_CHANNEL)
        rt.ms.create(
            path,
            "kat-7",
            phase_centre_rad=centre,
            duration_s=1.0 * N_TIME,
            integration_s=1.0,
            start_mjd_s=start_mjd_s,
            bands=band,
            columns=columns,
        )
        return path

    return make


def gains(antenna):
    rng = np.random.default_rng(antenna)
    return rng.uniform(0.7, 1.3, 2) * np.exp(1j * rng.uniform(-1, 1, 2) * (antenna > 0))


def with_gains(antenna, patch, time_s, frequency_hz):
    matrix = np.eye(2) if patch is not None else np.diag(gains(antenna))
    return np.broadcast_to(matrix, (len(time_s), len(frequency_hz), 2, 2))


def read(path, **options):
    (tile,) = rt.ms.tiles(path, ["DATA"], time_slots=100, **options)
    return tile


def test_they_are_those_of_a_set_made_there(made, observe):
    """UVW, their rates and visibilities of the same sky: in the set of the other centre they are what the correlator
    would have given, but for smearing, which is small here."""
    one, other = made("here.ms", HERE), made("there.ms", THERE)
    for path, centre in ((one, HERE), (other, THERE)):
        observe(path, NEAR, centre, with_gains)
    moved, wanted = read(one, phase_centre_rad=THERE), read(other)
    np.testing.assert_allclose(moved["uvw_m"], wanted["uvw_m"], atol=2e-3)  # aberration differs between the centres
    np.testing.assert_allclose(moved["uvw_rate_m_s"], wanted["uvw_rate_m_s"], atol=1e-6)
    assert np.abs(moved["columns"]["DATA"] - wanted["columns"]["DATA"]).max() < 1e-4 * 75


def test_the_phase_is_that_of_the_change_of_w(made, observe):
    path = made("a.ms", HERE)
    observe(path, SKY, HERE, with_gains)
    stored, moved = read(path), read(path, phase_centre_rad=THERE)
    delay_s = (stored["uvw_m"] - moved["uvw_m"])[..., 2] / C_M_S
    phasor = np.exp(2j * np.pi * delay_s[..., None] * stored["frequency_hz"])
    np.testing.assert_allclose(
        moved["columns"]["DATA"], stored["columns"]["DATA"] * phasor[..., None], atol=1e-5 * 95, rtol=0
    )
    np.testing.assert_allclose(
        np.linalg.norm(moved["uvw_m"], axis=-1), np.linalg.norm(stored["uvw_m"], axis=-1), rtol=1e-12
    )
    assert (moved["flag"] == stored["flag"]).all() and (moved["weight"] == stored["weight"]).all()


def test_the_same_centre_changes_no_bit(made, observe):
    path = made("a.ms", HERE)
    observe(path, SKY, HERE, with_gains, noise_jy=1.0)
    (group,) = rt.ms.groups(path)
    stored, same = read(path), read(path, phase_centre_rad=group.phase_centre_rad)
    for key in ("uvw_m", "uvw_rate_m_s"):
        assert (stored[key] == same[key]).all()
    assert (stored["columns"]["DATA"] == same["columns"]["DATA"]).all()


def solve(path, tmp_path, selection=MOVED, terms=("G: diag",), model=SKY, **options):
    chosen = CalibrationOptions(reference="ANT-0", overwrite=True, selection=selection, **options)
    return calibration.calibrate(path, model, parse_terms(list(terms)), tmp_path / "sol.h5", chosen)


def gain_errors(report):
    term = report.solutions[0]["G"]
    assert not term.flag.any()
    found = (term.value["amplitude"] * np.exp(1j * term.value["phase"]))[0, 0, :, 0]
    return np.abs(found / np.array([gains(antenna) for antenna in range(7)]) - 1)


@pytest.mark.parametrize("ra_turn", [0, 2 * np.pi, -2 * np.pi])
def test_solutions_are_those_of_the_data_as_stored(made, observe, tmp_path, ra_turn):
    path = made("a.ms", HERE)
    observe(path, SKY, HERE, with_gains, noise_jy=1.0)
    stored = solve(path, tmp_path, rt.ms.Selection()).solutions[0]["G"]
    moved = solve(path, tmp_path, rt.ms.Selection(phase_centre_rad=(THERE[0] + ra_turn, THERE[1]))).solutions[0]["G"]
    # Smearing differs a little: the model's is that about the new centre.
    np.testing.assert_allclose(moved.gain(), stored.gain(), atol=2e-5)


def test_averaging_loses_nothing_at_the_new_centre(made, observe, tmp_path):
    """12 s and 6.4 MHz together: a source 5.6 deg from the centre loses some per cent, none at the new one."""
    path = made("a.ms", HERE, channel_hz=4e5)
    near = NEAR.select(names=["new"])
    observe(path, near, HERE, with_gains)
    averaged = {"average_slots": N_TIME, "average_channels": N_CHANNEL}
    power = [
        np.abs(read(path, **averaged, **more)["columns"]["DATA"]).max(axis=(1, 2, 3)) / 60
        for more in ({}, {"phase_centre_rad": THERE})
    ]
    wanted = [np.max(np.abs(gains(p)) * np.abs(gains(q))) for p, q in rt.ms.baselines(path)]
    np.testing.assert_allclose(power[1], wanted, rtol=3e-3)
    assert (power[0] < 0.98 * np.array(wanted)).sum() > 2
    report = solve(path, tmp_path, rt.ms.Selection(phase_centre_rad=THERE, **averaged), model=near)
    assert gain_errors(report).max() < 3e-3


def test_patches_columns_and_windows(made, observe, tmp_path):
    path = made("a.ms", HERE, columns=("DATA", "MODEL_DATA"))
    observe(path, SKY, HERE, with_gains)
    observe(path, SKY, HERE, lambda *cell: with_gains(*cell) * 0 + np.eye(2), column="MODEL_DATA")
    model = calibration.ModelColumns({"all": "MODEL_DATA"})
    assert gain_errors(solve(path, tmp_path, model=model)).max() < 1e-5  # both are moved
    report = solve(path, tmp_path, terms=("P: phase, per patch", "G: diag"), model=NEAR)
    assert all(chunk.index == 0 for chunk in report.chunks)


def test_what_cannot_be(made, tmp_path):
    path = made("a.ms", HERE)
    with pytest.raises(rt.Error, match="must be within 90 deg"):
        solve(path, tmp_path, rt.ms.Selection(phase_centre_rad=(HERE[0] + np.pi, HERE[1])))
    with pytest.raises(rt.Error, match=r"within \+-pi/2"):
        solve(path, tmp_path, rt.ms.Selection(phase_centre_rad=(0.1, 2.0)))
    with pytest.raises(rt.Error, match="from the phase centre in the FIELD table only"):
        solve(path, tmp_path, phase_centre_rad=THERE)
    ns = rt.NodeScope()
    ns.data << rt.Spigot(station_1_index=0, station_2_index=1)
    ns.sink << rt.Sink(ns.data, station_1_index=0, station_2_index=1, output_column="DATA")
    with pytest.raises(rt.Error, match="moved to another phase centre for reading only"):
        rt.Forest(ns).run(path, phase_centre_rad=THERE)


def test_what_the_correlator_has_smeared_is_warned_of(made, observe, tmp_path):
    path = made("a.ms", HERE, channel_hz=4e6)
    observe(path, SKY, HERE, with_gains)
    with pytest.warns(UserWarning, match="have lost up to .* % on the longest baselines"):
        solve(path, tmp_path)
    path = made("b.ms", HERE)
    observe(path, SKY, HERE, with_gains)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solve(path, tmp_path)


def test_on_the_command_line(made, observe, tmp_path):
    path = made("a.ms", HERE)
    observe(path, SKY, HERE, with_gains)
    sky = tmp_path / "a.skymodel"
    rt.sky.write(SKY, sky)
    command = [
        "calibrate",
        path,
        "--sky",
        str(sky),
        "--term",
        "G: diag",
        "--out",
        str(tmp_path / "a.h5"),
        "--overwrite",
    ]
    for centre in ((f"{THERE[0]}rad", f"{THERE[1]}rad"), (f"{np.degrees(THERE[0])}deg", f"{np.degrees(THERE[1])}deg")):
        done = CliRunner().invoke(cli, [*command, "--move-phase-centre", *centre])
        assert done.exit_code == 0, done.output
    (found,) = calibration.read_h5parm(tmp_path / "a.h5")
    wanted = np.array([gains(antenna) for antenna in range(7)])
    turned = wanted * np.exp(-1j * np.angle(wanted[:1]))
    matrices = found["G"].gain()[0, 0, :, 0]
    np.testing.assert_allclose(np.abs(matrices[:, [0, 1], [0, 1]]), np.abs(turned), atol=1e-4)
    done = CliRunner().invoke(cli, [*command, "--move-phase-centre", "200deg", "-28deg"])
    assert done.exit_code != 0 and "must be within 90 deg" in done.output
