"""Rates on the command line: solved for, applied with and without, and plotted."""

import numpy as np
from command_scene import CENTRE, MODEL
from planted_columns import predicted_by_psv, write_column

import rimetree as rt

RATE, DELAY = 1e-11, 20e-9


def planted(path, sky):
    """Data that antennas with delays and rates, the same for both feeds, see; the model."""
    (tile,) = rt.ms.tiles(path, [], time_slots=10000)
    rng, n = np.random.default_rng(2), 1 + max(max(pair) for pair in tile["baselines"])
    since = tile["time_s"] - tile["time_s"].mean()
    delay = DELAY * rng.uniform(-1, 1, (n, 1)) + RATE * rng.uniform(-1, 1, (n, 1)) * since
    gain = np.exp(2j * np.pi * tile["frequency_hz"] * delay[..., None])[..., None, None]
    model = predicted_by_psv(tile, sky, CENTRE)
    data = np.stack([gain[p] * model[k] * np.conj(gain[q]) for k, (p, q) in enumerate(tile["baselines"])])
    write_column(path, tile, data)
    return tile, model


def corrected(path, tile):
    (read,) = rt.ms.tiles(path, ["CORRECTED_DATA"], time_slots=10000)
    return read["columns"]["CORRECTED_DATA"].reshape(*tile["row"].shape, -1, 2, 2)


def test_rates_are_found_and_applied(command, tmp_path, sky_file):
    path, out = tmp_path / "a.ms", tmp_path / "s.h5"
    command("make-ms", path, "--telescope", "kat-7", "--phase-centre", f"{CENTRE[0]}rad", f"{CENTRE[1]}rad",
            "--duration", "2min", "--freq", "1.4GHz", "--bandwidth", "16MHz", "--channels", 8)  # fmt: skip
    sky_file.write_text("\n".join(MODEL.splitlines()[:3]))  # points
    sky = rt.sky.read(sky_file)
    tile, model = planted(str(path), sky)
    terms = [f"--term={text}" for text in ("K: delay", "R: rate", "P: phase")]
    solved = command("calibrate", path, "--sky", sky_file, *terms, "--out", out, "--apply")
    assert "1 of 1 solves converged" in solved.output
    np.testing.assert_allclose(corrected(str(path), tile), model, atol=2e-4)
    # Without rates the ends of the interval are out of phase; the middle is not.
    command("apply", path, "--solutions", out, "--terms", "!R")
    left = np.abs(corrected(str(path), tile) - model).max(axis=(0, 2, 3, 4))
    assert left[[0, -1]].min() > 3 * left[[5, 6]].max() > 0
    command("apply", path, "--solutions", out, "--terms", "K,P,R", "--interpolation", "linear")
    np.testing.assert_allclose(corrected(str(path), tile), model, atol=2e-4)
    refused = command("apply", path, "--solutions", out, "--terms", "K,Q", code=1)
    assert "there is no term Q; the solutions have K, R, P" in refused.output
    assert "no term is left" in command("apply", path, "--solutions", out, "--terms", "!*", code=1).output
    command("plot-solutions", out, "-o", tmp_path / "r.png", "--term", "R")
    assert (tmp_path / "r.png").stat().st_size > 1000


def clocks(path, flux_jy):
    """Data of fields with one source at the phase centre, as antennas with clocks that go as parabolas and windows with
    phases and amplitudes of their own see them, in raw units; noise leaves delays of a scan to 0.1 ns, half a turn."""
    rng, n = np.random.default_rng(5), 7
    delay, rate = rng.uniform(-1e-7, 1e-7, (n, 1)), rng.uniform(-1e-12, 1e-12, (n, 1))
    bent = rng.uniform(-1e-15, 1e-15, (n, 1))
    begin = next(rt.ms.tiles(path, [], time_slots=1))["time_s"][0]
    for window in (0, 1):
        gain = 1e-2 * rng.uniform(0.5, 2, n) * np.exp(1j * rng.uniform(-3, 3, n))
        for field, flux in enumerate(flux_jy):
            which = {"field_id": field, "data_desc_id": window}
            (tile,) = rt.ms.tiles(path, [], time_slots=10000, **which)
            since = tile["time_s"] - begin
            of_time = delay + rate * since + bent * since**2
            jones = gain[:, None, None] * np.exp(2j * np.pi * tile["frequency_hz"] * of_time[..., None])
            data = np.zeros((*tile["row"].shape, len(tile["frequency_hz"]), 2, 2), complex)
            for k, (p, q) in enumerate(tile["baselines"]):
                data[k] = (flux * jones[p] * np.conj(jones[q]))[..., None, None] * np.eye(2)
            noise = rng.normal(size=(2, *data.shape)) * 1e-5
            write_column(path, tile, data + noise[0] + 1j * noise[1], options=which)


def test_a_fringe_fit_of_a_calibrator_brings_its_target_into_phase(command, tmp_path):
    path, out = tmp_path / "a.ms", tmp_path / "s.h5"
    calibrator = ["--scan", "CAL", "4h00m00s", "-30d00m", "2min"]
    scans = 3 * [*calibrator, "--scan", "TGT", "4h02m00s", "-30d30m", "2min"] + calibrator
    windows = ["--spw", "5GHz:16MHz:8", "--spw", "5.016GHz:16MHz:8"]
    command(
        "make-ms", path, "--telescope", "kat-7", "--integration", "10s", *scans, *windows, "--correlations", "XX,YY"
    )
    clocks(str(path), [1.0, 0.1])
    sky = tmp_path / "cal.skymodel"
    sky.write_text("format = Name, Type, Ra, Dec, I\nc, POINT, 04:00:00, -30.00.00, 1.0\n")
    terms = ["K: delay, 1scan, all windows", "R: rate, 1scan, all windows", "P: phase, 1scan, all windows", "G: diag"]
    terms = [f"--term={text}" for text in terms]
    solved = command("calibrate", path, "--sky", sky, "--field", "CAL", *terms, "--scale-errors", "--min-snr", 5,
                     "--out", out, "--apply", "--apply-to", "all", "--interpolation", "linear")  # fmt: skip
    assert "1 of 1 solves converged" in solved.output and "values flagged: none" in solved.output
    assert "too little signal" not in solved.output
    for window in (0, 1):
        (tile,) = rt.ms.tiles(str(path), ["CORRECTED_DATA"], time_slots=10000, field_id=1, data_desc_id=window)
        seen = tile["columns"]["CORRECTED_DATA"].mean(axis=(1, 2, 3))  # of a baseline, with noise of up to 0.03
        assert abs(seen.mean() - 0.1) < 0.005 and np.abs(seen - 0.1).max() < 0.05
