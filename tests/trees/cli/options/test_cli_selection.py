"""Rows and channels are chosen by the same options of all commands that read or write a set, with the same errors."""

import click
import numpy as np
import pytest

import rimetree as rt
from rimetree.cli import cli

ROWS = {"--field", "--ddid", "--scan", "--time", "--antenna", "--baseline"}
BANDS = [rt.ms.Band.regular(1.3e9, 8e6, 4), rt.ms.Band.regular(1.4e9, 8e6, 4)]
CENTRE = (0.9, -0.5)
SKY = "Format = Name, Type, Ra, Dec, I\na, POINT, 03:26:15.9, -28.38.52, 2.0\n"
CHOICE = ["--scan", "1,3", "--time", "0s~70s", "--antenna", "!ANT-4", "--baseline", "ANT-0&*,ANT-1&*", "--ddid", "1"]


@pytest.fixture
def observed(tmp_path):
    """(a set of two fields, in three scans of a minute each, and two windows; a sky model)."""
    path, sky = tmp_path / "a.ms", tmp_path / "a.skymodel"
    scans = [rt.ms.Scan(CENTRE, 60.0, "A"), rt.ms.Scan((1.0, -0.5), 60.0, "B"), rt.ms.Scan(CENTRE, 60.0, "A")]
    rt.ms.create(path, "kat-7", integration_s=20.0, bands=BANDS, scans=scans)
    sky.write_text(SKY)
    return path, sky


def rows_with_data(path, column, but=None):
    """{(window, antennas, time from the beginning in s)} of rows with anything but zeros in a column, or but what
    another one holds."""
    found = set()
    begin_s = rt.ms.inspect(path)["first_time_s"]
    for group in rt.ms.groups(path):
        for tile in rt.ms.tiles(path, [column] if but is None else [column, but], **group.selection):
            other = 0 if but is None else tile["columns"][but]
            for k, t in np.argwhere((tile["columns"][column] != other).any(axis=(2, 3))):
                at_s = round(float(tile["time_s"][t]) - begin_s)
                found.add((tile["data_desc_id"], tile["baselines"][k], at_s))
    return found


def chosen():
    pairs = [(p, q) for p in (0, 1) for q in range(p + 1, 7) if q != 4]
    return {(1, pair, time_s) for pair in pairs for time_s in (0, 20, 40)}


@pytest.mark.parametrize("name", ["calibrate", "apply", "simulate", "run", "image", "draw", "explain"])
def test_commands_have_the_same_options(name):
    options = {text for one in cli.get_command(None, name).params for text in one.opts}
    assert options >= ROWS
    if name in ("apply", "simulate", "run"):
        assert "all channels are written" in " ".join(cli.get_command(None, name).help.split())
    elif name in ("calibrate", "image"):
        assert "--channels" in options


def test_commands_that_write_keep_other_rows(command, observed, tmp_path):
    path, sky = observed
    command("simulate", path, "--sky", sky, *CHOICE)
    assert rows_with_data(path, "MODEL_DATA") == chosen()
    script = tmp_path / "tree.py"
    script.write_text(
        "import rimetree as rt\n"
        "def define_forest(ns, ms):\n"
        "    for p, q in ms.baselines:\n"
        "        ns.sink(p, q) << rt.Sink(rt.Constant(1.0), station_1_index=p, station_2_index=q, "
        "output_column='WRITTEN')\n"
    )
    command("run", script, path, *CHOICE)
    assert rows_with_data(path, "WRITTEN") == chosen()


@pytest.mark.parametrize(
    "times, chosen_s",
    [("0s~40s", {0, 20}), ("40s~60s", {40}), ("20s~21s", set()), ("140s~", {140, 160}), ("~40s", {0, 20})],
)
def test_ranges_from_the_beginning_hold_whole_slots(command, observed, times, chosen_s):
    """A slot of 20 s is in one of two ranges that meet."""
    path, sky = observed
    said = command("simulate", path, "--sky", sky, "--column", "A", "--time", times, code=0 if chosen_s else 1)
    assert ("no rows are left" in said.output) == (not chosen_s)
    if chosen_s:
        assert {at_s for _, _, at_s in rows_with_data(path, "A")} == chosen_s


def test_apply_corrects_what_is_chosen(command, observed, tmp_path):
    path, sky = observed
    command("simulate", path, "--sky", sky, "--column", "DATA", "--noise", "0.01")
    out = tmp_path / "sol.h5"
    command("calibrate", path, "--sky", sky, "--field", "A", "--term", "G: diag", "--out", out)
    command("apply", path, "--solutions", out, *CHOICE)
    assert rows_with_data(path, "CORRECTED_DATA", but="DATA") == chosen()


def test_images_of_what_is_chosen(command, observed, tmp_path):
    pytest.importorskip("ducc0")
    path, sky = observed
    command("simulate", path, "--sky", sky)
    said = command("image", path, "--column", "MODEL_DATA", "--size", "64", "-o", tmp_path / "a.png", *CHOICE).output
    assert f"field A, {4 * len(chosen())} visibilities" in said
    some = ["--field", "A", "--ddid", "0,1", "--channels", "1~2"]
    said = command("image", path, "--column", "MODEL_DATA", "--size", "64", "-o", tmp_path / "a.png", *some).output
    assert f"field A, {21 * 6 * 2 * 2} visibilities" in said


@pytest.mark.parametrize(
    "choice, message",
    [
        (["--field", "C"], "there is no field 'C'; there are 0 A, 1 B"),
        (["--field", "A,7"], "there is no field '7'; there are 0 A, 1 B"),
        (["--ddid", "2"], "has no DATA_DESC_ID 2; it has 0 to 1"),
        (["--scan", "3,9"], "has no scan 9; it has 1, 2, 3"),
        (["--time", "10s~30s", "--time", "1h~2h"], "has no data between"),
        (["--antenna", "CS*"], "there is no antenna 'CS*'"),
        (["--baseline", "ANT-0"], "expected two antennas"),
        (["--antenna", "ANT-1", "--baseline", "ANT-0&ANT-2"], "no baseline is left"),
        (["--time", "~"], "expected FROM~TO"),
    ],
)
def test_what_is_not_there_is_refused_alike(command, observed, tmp_path, choice, message):
    path, sky = observed
    command("simulate", path, "--sky", sky, "--column", "DATA", "--field", "A")
    term = ["--term", "G: diag", "--sky", sky, "--out", tmp_path / "sol.h5"]
    command("calibrate", path, *term, "--field", "A")
    script = tmp_path / "tree.py"
    script.write_text("import rimetree as rt\ndef define_forest(ns, ms):\n    ns.a << rt.Constant(1.0)\n")
    for arguments in (
        ["calibrate", path, *term, "--overwrite"],
        ["apply", path, "--solutions", tmp_path / "sol.h5"],
        ["simulate", path, "--sky", sky],
        ["run", script, path],
        ["image", path, "--size", "64", "-o", tmp_path / "a.png"],
        ["explain", path, "--sky", sky],
        ["draw", path, "--sky", sky, "-o", tmp_path / "a.svg"],
    ):
        failed = command(*arguments, *choice, code=None)
        assert failed.exit_code != 0 and message in failed.output, (arguments, failed.output)


def test_windows_without_the_channels_are_named_once(command, tmp_path):
    """An image could not be made, and what several steps of a command warn of was said by each."""
    path = tmp_path / "a.ms"
    bands = [rt.ms.Band.regular(1.3e9, 16e6, 8), BANDS[1]]
    rt.ms.create(path, "kat-7", phase_centre_rad=CENTRE, duration_s=60.0, integration_s=20.0, bands=bands)
    (tmp_path / "a.skymodel").write_text(SKY)
    command("simulate", path, "--sky", tmp_path / "a.skymodel")
    files = ["-o", tmp_path / "a.png", "--size", "64"]
    done = command("image", path, "--column", "MODEL_DATA", *files, "--channels", "5~6")
    assert f"{21 * 3 * 2} visibilities" in done.stdout
    said = "channels 5 to 6 are selected, but data description 1 has the channels 0 to 3: of it none is taken"
    assert done.stderr.count(f"warning: {said}") == done.stderr.count("warning") == 1


@pytest.mark.parametrize("averaged", [["--average-time", "2"], ["--average-loss", "0.01"]])
def test_outliers_among_means_are_warned_of(command, observed, tmp_path, averaged):
    path, sky = observed
    what = ("calibrate", path, "--sky", sky, "--term", "G: diag", "--out", tmp_path / "s.h5", "--dry-run")
    assert "warning: --robust finds outliers among means" in command(*what, *averaged, "--robust", "5").stderr
    found_before = [*averaged, "--flag-data", "6"]
    for one in (["--robust", "5"], averaged, found_before, [*found_before, "--robust", "5"]):
        assert "among means" not in command(*what, *one).stderr


@pytest.mark.parametrize(
    ("option", "texts", "wanted"),
    [
        ("average_time", ["4", "4slots", "4 slot"], (4, 0.0)),
        ("average_time", ["10s", "10 s"], (1, 10.0)),
        ("average_channels", ["4", "4chan", "4 channels"], (4, 0.0)),
        ("average_channels", ["200kHz"], (1, 2e5)),
    ],
)
def test_averages_are_told_as_intervals_of_terms_are(option, texts, wanted):
    (kind,) = (one.type for one in cli.get_command(None, "calibrate").params if one.name == option)
    assert {kind.convert(text, None, None) for text in texts} == {wanted}
    for text in ("0slots", "-1", "4bars", "slots"):
        with pytest.raises(click.BadParameter):
            kind.convert(text, None, None)


def test_one_phase_centre_for_several_fields_is_doubted(command, observed, tmp_path):
    """UVW are for one direction each: gains of the other field were 30 times their errors off, without a word."""
    path, sky = observed
    centre = ("--phase-centre", *(f"{angle}rad" for angle in CENTRE))
    for words in (
        ("simulate", path, "--sky", sky, "--dry-run"),
        ("calibrate", path, "--sky", sky, "--term", "G: diag", "--out", tmp_path / "s.h5", "--dry-run"),
    ):
        said = command(*words, *centre).stderr
        assert "warning: the UVW of field 1 (B) are for a direction" in said and "of field 0" not in said
        assert "the UVW" not in command(*words, *centre, "--field", "A").stderr
        assert "the UVW" not in command(*words).stderr
