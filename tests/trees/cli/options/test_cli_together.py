"""Options that would be ignored without a word, as they mean something only with others, are refused."""

import numpy as np
import pytest

import rimetree as rt

USELESS = {
    "calibrate": [
        ("--output-column X", "--output-column goes with --apply or --subtract"),
        ("--no-flag-version", "--no-flag-version goes with --apply or --subtract"),
        ("--direction a", "--direction goes with --apply or --subtract"),
        ("--interpolation linear", "--interpolation goes with --apply, --subtract or --hold"),
        ("--apply-to 0", "--apply-to goes with --apply or --subtract"),
    ],
    "apply": [
        ("--keep a", "--keep goes with --subtract"),
        ("--patch a", "--patch goes with --subtract"),
        ("--sky-format bbs", "--sky-format goes with --subtract"),
        ("--no-smearing", "--no-smearing goes with --subtract"),
    ],
    "image": [("--patch a", "--patch goes with --sky"), ("--skip-unsupported", "--skip-unsupported goes with --sky")],
    "explain": [("--many-node", "--many-node goes with --sky"), ("--column X", "--column goes with --sky")],
}


@pytest.mark.parametrize("name, given, message", [(name, *one) for name, useless in USELESS.items() for one in useless])
def test_options_that_would_do_nothing(command, kat7, sky_file, tmp_path, name, given, message):
    script = tmp_path / "tree.py"
    words = {
        "calibrate": [kat7, "--sky", sky_file, "--term", "G: diag", "--out", tmp_path / "sol.h5", "--dry-run"],
        "apply": [kat7, "--solutions", tmp_path / "sol.h5"],
        "image": [kat7, "-o", tmp_path / "a.png"],
        "explain": [script],
    }
    script.write_text("import rimetree as rt\nns = rt.NodeScope()\nns.a << rt.Constant(1.0)\n")
    assert message in command(name, *words[name], *given.split(), code=2).stderr


def test_models_that_are_not_predicted(command, kat7, tmp_path):
    words = ("calibrate", kat7, "--model-column", "DATA", "--term", "G: diag", "--out", tmp_path / "sol.h5")
    assert "--no-smearing goes with --sky" in command(*words, "--no-smearing", code=2).stderr


def test_settings_may_be_for_other_runs_too(command, kat7, sky_file, tmp_path):
    settings = tmp_path / "all.toml"
    settings.write_text('output-column = "X"\n')
    words = ("calibrate", kat7, "--sky", sky_file, "--term", "G: diag", "--out", tmp_path / "sol.h5", "--dry-run")
    command(*words, "--settings", settings)


def test_windows_have_channels_of_their_own(command, tmp_path):
    words = ("make-ms", tmp_path / "a.ms", "--telescope", "kat-7", "--phase-centre", "4h", "-30d")
    done = command(*words, "--spw", "1.4GHz:64MHz:4", "--channels", 8, code=2)
    assert "--channels goes with --freq and --bandwidth" in done.stderr


def test_models_without_smearing_are_subtracted_as_they_were_solved_for(command, kat7, sky_file, tmp_path):
    """`apply` had always smeared."""
    out = tmp_path / "sol.h5"
    command("simulate", kat7, "--sky", sky_file, "--column", "DATA", "--no-smearing")
    words = ("--sky", sky_file, "--no-smearing")
    command("calibrate", kat7, *words, "--term", "G: diag", "--out", out)
    left = {}
    for name, more in (("WITHOUT", words), ("WITH", words[:2])):
        said = ("apply", kat7, "--solutions", out, *more, "--subtract", "--no-correct", "--output-column", name)
        warned = "seen without a primary beam, without smearing; what is subtracted is seen" in command(*said).stderr
        assert warned == (name == "WITH")
        left[name] = max(np.abs(tile["columns"][name]).max() for tile in rt.ms.tiles(kat7, [name]))
    assert left["WITHOUT"] < 1e-5 and left["WITH"] > 100 * left["WITHOUT"]


@pytest.mark.parametrize(
    "given, message",
    [
        ("--channels 0 --taps 8", "--taps goes with channels that are made"),
        ("--channels 0 --window hann", "--window goes with channels that are made"),
        ("--file-channels 4 --gain 2", "--gain goes with channels that are made"),
        ("--file-channels 4 --channel-format int4", "--channel-format goes with channels that are made"),
        ("--timeout 3s", "--timeout goes with streams"),
    ],
)
def test_options_of_channels_that_are_not_made_and_of_streams(command, tmp_path, given, message):
    (tmp_path / "v.dat").write_bytes(bytes(1 << 16))
    words = ["correlate", tmp_path / "v.dat", "-o", tmp_path / "a.ms", "--format", "int8", "--layout", "atca-6a"]
    words += ["--phase-centre", "0h", "-30d", "--start", "2025-01-01T08:00:00", "--sample-rate", "1MHz"]
    assert message in command(*words, *given.split(), code=2).stderr
    assert not (tmp_path / "a.ms").exists()
