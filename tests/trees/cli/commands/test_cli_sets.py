"""make-ms, inspect-ms, simulate, image: from nothing to a picture, and what goes wrong on the way."""

import json

import numpy as np
import pytest

import rimetree as rt

CENTRE = np.radians([53.125, -27.8])
C_M_S = 299792458.0


def read(path, column, **options):
    (tile,) = rt.ms.tiles(path, [column], time_slots=1000, **options)
    return tile


def test_from_nothing_to_a_picture(command, tmp_path, sky_file):
    ms, png, fits = tmp_path / "a.ms", tmp_path / "a.png", tmp_path / "a.fits"
    made = command(
        *("make-ms", ms, "--telescope", "vla-d", "--phase-centre", "3h32m30s", "-27d48m", "--duration", "10min"),
        *("--integration", "60s", "--freq", "1.4GHz", "--bandwidth", "4MHz", "--channels", "2"),
    )
    assert "27 antennas, 351 baselines, 10 times, 3510 rows" in made.stdout
    done = command("simulate", ms, "--sky", sky_file, "--report", tmp_path / "report.json")
    assert "3510 written to MODEL_DATA" in done.stdout
    assert "framework overhead" in done.stdout
    assert "100 % (3510 of 3510 rows)" in done.stderr
    (report,) = json.loads((tmp_path / "report.json").read_text())
    assert report["rows_written"] == 3510
    assert 0 <= report["overhead_fraction"] < 1
    assert report["timing"]["classes"]["PSV"]["evaluations"] == 351
    shown = command("image", ms, "--column", "MODEL_DATA", "--sky", sky_file, "-o", png, "-o", fits, "--size", "256")
    lines = {line.split()[0]: line.split() for line in shown.stdout.splitlines() if line[:2] in ("a ", "b ", "c ")}
    for name, flux in (("a", 2.0), ("b", 1.0)):
        assert float(lines[name][1]) == pytest.approx(flux)
        assert float(lines[name][3]) == pytest.approx(float(lines[name][2]), rel=0.05)
        assert float(lines[name][6]) < 0.05  # of the beam
    assert png.stat().st_size > 10000
    assert fits.stat().st_size > 256 * 256 * 4


def test_some_patches(command, kat7, tmp_path):
    """Names and patterns choose the same patches wherever a sky model is given: here, those whose sum is the whole."""
    file, lines = (
        tmp_path / "patches.skymodel",
        ["FORMAT = Name, Type, Patch, Ra, Dec, I", " , , north, 03:32:30, -27.40.00"],
    )
    lines += [" , , south, 03:32:30, -27.50.00", " , , east, 03:33:00, -27.48.00"]
    lines += ["a, POINT, north, 03:32:30, -27.40.00, 2", "b, POINT, south, 03:32:30, -27.50.00, 1"]
    file.write_text("\n".join([*lines, "c, POINT, east, 03:33:00, -27.48.00, 0.5"]) + "\n")
    some = {"A": "north", "B": "*st", "C": "!north,!east"}
    for column, patches in some.items():
        command("simulate", kat7, "--sky", file, "--patch", patches, "--column", column)
    command("simulate", kat7, "--sky", file)
    tile = read(kat7, "MODEL_DATA")
    (parts,) = rt.ms.tiles(kat7, list(some), time_slots=1000)
    total = sum(parts["columns"].values())
    np.testing.assert_allclose(total, tile["columns"]["MODEL_DATA"], atol=1e-6)
    for column, flux in zip(some, (2.0, 0.5, 1.0), strict=True):
        np.testing.assert_allclose(np.abs(parts["columns"][column][..., 0]), flux, rtol=1e-3)
    for arguments in (("simulate", kat7), ("image", kat7, "-o", "a.png"), ("explain", kat7), ("sky", "show")):
        which = (file,) if arguments[0] == "sky" else ("--sky", file)
        wrong = command(*arguments, *which, "--patch", "west", code=1)
        assert "there is no patch 'west'; there are north, south, east" in wrong.stderr
    assert "1 sources" in command("sky", "convert", file, tmp_path / "b.skymodel", "--patch", "so*").stdout
    assert [source.name for source in rt.sky.read(tmp_path / "b.skymodel")] == ["b"]
    assert "--patch goes with --sky" in command("image", kat7, "-o", "a.png", "--patch", "north", code=2).stderr


def test_simulated_values(command, kat7, sky_file):
    command("simulate", kat7, "--sky", sky_file, "--no-smearing", "--column", "DATA")
    sky_file.write_text("\n".join(sky_file.read_text().splitlines()[:3]) + "\n")  # the points only
    command("simulate", kat7, "--sky", sky_file, "--no-smearing")
    tile = read(kat7, "MODEL_DATA")
    expected = 0
    for ra, dec, flux in ((53.125, -27.8, 2.0), (53.25, -27 - 53 / 60, 1.0)):
        ra, dec = np.radians([ra, dec])
        l_cosine = np.cos(dec) * np.sin(ra - CENTRE[0])
        m_cosine = np.sin(dec) * np.cos(CENTRE[1]) - np.cos(dec) * np.sin(CENTRE[1]) * np.cos(ra - CENTRE[0])
        n_less_1 = np.sqrt(1 - l_cosine**2 - m_cosine**2) - 1
        path_m = tile["uvw_m"] @ [l_cosine, m_cosine, n_less_1]
        expected = expected + flux * np.exp(2j * np.pi * path_m[..., None] * tile["frequency_hz"] / C_M_S)
    values = tile["columns"]["MODEL_DATA"]
    np.testing.assert_allclose(values[..., 0], expected, atol=2e-6)  # the column is complex64
    np.testing.assert_allclose(values[..., 3], expected, atol=2e-6)
    assert np.abs(values[..., 1:3]).max() < 1e-6


def test_both_trees_and_precisions_agree(command, kat7, sky_file):
    command("simulate", kat7, "--sky", sky_file)
    command(
        "simulate", kat7, "--sky", sky_file, "--many-node", "--column", "MANY", "--time-slots", "2", "--threads", "1"
    )
    command("simulate", kat7, "--sky", sky_file, "--precision", "single", "--column", "SINGLE", "--memory", "64MiB")
    one = read(kat7, "MODEL_DATA")["columns"]["MODEL_DATA"]
    assert np.abs(one).max() > 2
    np.testing.assert_allclose(read(kat7, "MANY")["columns"]["MANY"], one, atol=1e-6)
    np.testing.assert_allclose(read(kat7, "SINGLE")["columns"]["SINGLE"], one, atol=5e-6)


def test_noise_is_added_and_reproducible(command, kat7, sky_file):
    command("simulate", kat7, "--sky", sky_file)
    for column, seed in (("N1", 1), ("N2", 2), ("N3", 1)):
        command("simulate", kat7, "--sky", sky_file, "--noise", "0.5", "--seed", seed, "--column", column)
    model = read(kat7, "MODEL_DATA")["columns"]["MODEL_DATA"]
    noise = [read(kat7, column)["columns"][column] - model for column in ("N1", "N2", "N3")]
    # 21 baselines x 5 times x 4 channels x 4 correlations: the standard deviation is known to 1.7 %, 5 sigma are 9 %.
    assert noise[0].real.std() == pytest.approx(0.5, rel=0.09)
    assert noise[0].imag.std() == pytest.approx(0.5, rel=0.09)
    assert (noise[0] == noise[2]).all()
    assert abs(np.vdot(noise[0], noise[1])) < 0.2 * np.vdot(noise[0], noise[0]).real


def test_circular_feeds_get_circular_visibilities(command, tmp_path):
    sky = tmp_path / "v.skymodel"
    sky.write_text("# (Name, Type, Ra, Dec, I, Q, U, V) = format\na, POINT, 3h0m0s, 20.00.00, 1, 0, 0, 0.25\n")
    command("make-ms", tmp_path / "c.ms", "--telescope", "vla-d", "--phase-centre", "3h0m0s", "20d", "--duration", "60")
    command("simulate", tmp_path / "c.ms", "--sky", sky, "--no-smearing")
    values = read(tmp_path / "c.ms", "MODEL_DATA")["columns"]["MODEL_DATA"]
    np.testing.assert_allclose(values[..., 0], 1.25, atol=1e-6)  # RR = I + V
    np.testing.assert_allclose(values[..., 3], 0.75, atol=1e-6)  # LL = I - V


def test_every_field_gets_its_own_phase_centre(command, small_ms, tmp_path):
    path = small_ms(n_field=2, n_time=4)
    sky = tmp_path / "f.skymodel"
    sky.write_text("# (Name, Type, Ra, Dec, I) = format\na, POINT, 1.0rad, -0.5rad, 3\n")  # the centre of field 1
    done = command("simulate", path, "--sky", sky, "--no-smearing")
    assert done.stdout.count("written to MODEL_DATA") == 2
    np.testing.assert_allclose(read(path, "MODEL_DATA", field_id=1)["columns"]["MODEL_DATA"][..., 0], 3, atol=1e-5)
    assert np.ptp(read(path, "MODEL_DATA", field_id=0)["columns"]["MODEL_DATA"][..., 0].real) > 0.1
    assert rt.ms.inspect(path)["progress"] == []
    only = command("simulate", path, "--sky", sky, "--field", "1", "--column", "ONE")
    assert only.stdout.count("written to ONE") == 1
    assert not read(path, "ONE", field_id=0)["columns"]["ONE"].any()


def test_a_dry_run_writes_nothing(command, kat7, sky_file):
    done = command("simulate", kat7, "--sky", sky_file, "--dry-run")
    assert "results take at most" in done.stdout
    assert [column["name"] for column in rt.ms.inspect(kat7)["columns"]] == ["DATA"]


@pytest.mark.parametrize(
    ("sky", "options", "message"),
    [
        ("a, POINT, 0h0m0s, 0.0.0, nan", [], "field.skymodel:2:26: I is 'nan', expected a finite number"),
        ("a, DISK, 0h0m0s, 0.0.0, 1", [], "field.skymodel:2:"),
        ("", [], "no sources"),
        ("a, POINT, 3h32m0s, -27.0.0, 1", ["--column", "UVW"], "column UVW"),
        ("a, POINT, 3h32m0s, -27.0.0, 1", ["--column", "MY DATA"], "cannot be called 'MY DATA'"),
        ("a, POINT, 3h32m0s, -27.0.0, 1", ["--field", "3"], "there is no field '3'"),
        ("a, POINT, 3h32m0s, -27.0.0, 1", ["--ddid", "3"], "no DATA_DESC_ID 3"),
    ],
)
def test_bad_input_is_one_message(command, kat7, sky_file, sky, options, message):
    sky_file.write_text(f"# (Name, Type, Ra, Dec, I) = format\n{sky}\n")
    result = command("simulate", kat7, "--sky", sky_file, *options, code=1)
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1].startswith("error: ")
    assert message in result.stderr
    assert [column["name"] for column in rt.ms.inspect(kat7)["columns"]] == ["DATA"]


def test_what_is_skipped_is_listed(command, kat7, sky_file):
    sky_file.write_text(
        "# (Name, Type, Ra, Dec, I) = format\na, POINT, 3h32m0s, -27.0.0, 1\nb, SHAPELET, 3h, -27.0.0, 1\n"
    )
    assert "SHAPELET" in command("simulate", kat7, "--sky", sky_file, code=1).stderr.upper()
    assert "left out source 'b'" in command("simulate", kat7, "--sky", sky_file, "--skip-unsupported").stderr


def test_missing_and_wrong_files(command, tmp_path, kat7, sky_file):
    assert "there is no Measurement Set" in command("simulate", "none.ms", "--sky", sky_file, code=1).stderr
    assert "none.skymodel" in command("simulate", kat7, "--sky", "none.skymodel", code=1).stderr
    assert "there is no Measurement Set" in command("inspect-ms", "none.ms", code=1).stderr
    assert "error: " in command("inspect-ms", sky_file, code=1).stderr
    assert "must end in .png or .fits" in command("image", kat7, "-o", "a.jpg", code=2).stderr
    nowhere = tmp_path / "nowhere" / "a.png"
    assert "no folder" in command("image", kat7, "-o", nowhere, "--size", "64", code=1).stderr
    assert (
        "no column of visibilities CORRECTED_DATA"
        in command("image", kat7, "-o", tmp_path / "a.png", "--column", "CORRECTED_DATA", code=1).stderr
    )
    assert not (tmp_path / "a.png").exists()


def test_make_ms_refuses(command, tmp_path):
    centre = ["--phase-centre", "3h", "-30d"]
    path = tmp_path / "a.ms"
    assert "did you mean" in command("make-ms", path, "--telescope", "meercat", *centre, code=1).stderr
    assert "--phase-centre" in command("make-ms", path, "--telescope", "kat-7", code=2).stderr
    both = ["--spw", "1GHz:1MHz:2", "--freq", "1GHz"]
    assert "not both" in command("make-ms", path, "--telescope", "kat-7", *centre, *both, code=2).stderr
    assert not path.exists()
    below = command("make-ms", path, "--telescope", "kat-7", "--phase-centre", "3h", "80d", "--duration", "60s")
    assert "warning: the phase centre is below the horizon" in below.stderr
    assert "it exists" in command("make-ms", path, "--telescope", "kat-7", *centre, code=1).stderr
    assert "meerkat64" in command("make-ms", "--list-telescopes").stdout


def test_make_ms_spectral_windows(command, tmp_path):
    spw = ["--spw", "1.4GHz:32MHz:8", "--spw", "1.5GHz:-16MHz:4"]
    command(
        *("make-ms", tmp_path / "a.ms", "--telescope", "kat-7", "--phase-centre", "3h", "-30d", "--start-ha", "-1h"),
        *("--duration", "60s", "--correlations", "XX,YY", *spw),
    )
    report = command("inspect-ms", tmp_path / "a.ms", "--antennas", "--scans").stdout
    (scan,) = [line.split() for line in report.splitlines() if line.endswith("0,1")]
    assert scan[1] == "1" and scan[-2] == str(2 * 21 * int(scan[-3])), "rows of two windows and 21 baselines"
    assert "1.498 GHz  1.506 GHz" in report.replace("    ", "  ") or "descending" in report
    assert "XX YY" in report
    assert "position(ANTENNA1) - position(ANTENNA2)" in report
    assert "spectral window 1: channels descend in frequency" in report
    assert report.count("\n") > 30


def test_make_ms_begins_when_it_is_asked_to(command, tmp_path):
    path, size = tmp_path / "a.ms", ("--duration", "60s", "--integration", "10s", "--channels", "2")
    made = ("make-ms", path, "--telescope", "kat-7", "--phase-centre", "3h", "-30d", *size, "--overwrite")
    begun = command(*made, "--start", "2019-03-05T18:30:00").stdout
    assert "2019-03-05T18:30:05.000 to 2019-03-05T18:30:55.000 UTC" in begun
    by_angle = command(*made, "--start", "2019-03-05T18:30:00", "--start-ha", "-1h").stdout
    assert "hour angle -1.00" in by_angle and "  2019-03-05T" in by_angle
    assert "widths not 0 Hz" in command(*made, "--bandwidth", "0", code=1).stderr


def test_inspect_ms_as_json(command, kat7):
    summary = json.loads(command("inspect-ms", kat7, "--json").stdout)
    assert summary["n_row"] == 105
    assert summary["uvw"]["family"] == "p-q"
    assert json.loads(command("inspect-ms", kat7, "--json", "--quick").stdout)["cells_scanned"] is False


def test_a_set_that_is_all_flagged(command, kat7, sky_file, tmp_path):
    """Simulating does not look at flags; an image of nothing is refused; inspect-ms says so."""
    ns = rt.NodeScope()
    for p, q in rt.ms.baselines(kat7):
        ns.data(p, q) << rt.Spigot(station_1_index=p, station_2_index=q)
        ns.flagged(p, q) << rt.ZeroFlagger(rt.Real(ns.data(p, q)), oper="EQ")
        ns.sink(p, q) << rt.Sink(ns.flagged(p, q), station_1_index=p, station_2_index=q, write_flags=True)
    rt.Forest(ns).run(kat7)
    report = command("inspect-ms", kat7).stdout
    assert "flagged 100.0 %" in report
    assert "every visibility is flagged" in report
    command("simulate", kat7, "--sky", sky_file)
    assert "every visibility is flagged" in command("image", kat7, "-o", tmp_path / "a.png", code=1).stderr


def test_simulate_on_a_device(command, kat7, sky_file):
    done = command("simulate", kat7, "--sky", sky_file, "--device", "simulated")
    assert "simulated device: " in done.stdout and "arrays sent" in done.stdout
    failed = command("simulate", kat7, "--sky", sky_file, "--device", "warp", code=1)
    assert "there is no device" in failed.stderr


def test_the_brightest_sources_of_an_image_are_listed(command, kat7, sky_file, tmp_path):
    """A model image of some thousand pixels had taken minutes, for as many lines."""
    command("simulate", kat7, "--sky", sky_file, "--column", "DATA")
    words = ("image", kat7, "--sky", sky_file, "-o", tmp_path / "a.png", "--size", 64)
    assert "fainter" not in command(*words).stdout
    listed = command(*words, "--limit", 1).stdout
    assert listed.endswith("... and 2 fainter ones (--limit)\n") and "\nb  " not in listed
    assert "--limit goes with --sky" in command(*words[:2], *words[4:], "--limit", 1, code=2).stderr
