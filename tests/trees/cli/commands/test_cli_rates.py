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
