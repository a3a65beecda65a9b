"""The command line as a whole: help, versions, quantities, exit statuses."""

import importlib
import math
import re
import subprocess
import time

import click
import pytest

import rimetree as rt
from rimetree.cli import _COMMANDS, quantities
from rimetree.machine import size_text
from rimetree.utc import utc_text


def test_help_is_quick_and_lists_all_commands(process):
    arguments, environment = process
    begin = time.monotonic()
    result = subprocess.run([*arguments, "--help"], env=environment, capture_output=True, text=True, check=True)
    # 0.2 s on an idle machine; the limit is for busy ones.
    assert time.monotonic() - begin < 10
    for name in _COMMANDS:
        assert f"\n  {name} " in result.stdout


def test_help_imports_nothing_heavy(process):
    arguments, environment = process
    heavy = ("astropy.coordinates", "matplotlib", "rich")
    code = f"import sys, rimetree.cli; print(*[name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([arguments[0], "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""


@pytest.mark.parametrize("name", [*_COMMANDS, "sky show", "sky convert"])
def test_every_command_explains_itself(command, name):
    assert "Usage: rimetree" in command(*name.split(), "--help").stdout


@pytest.mark.parametrize("name", ["calibrate", "apply"])
def test_every_option_has_its_section(command, name):
    said = command(name, "--help").stdout
    assert "Other options" not in said and "The run:" in said
    module = importlib.import_module(f"rimetree.cli.{name}")
    options = [one.opts[-1] for one in module.command.params if isinstance(one, click.Option)]
    assert [option for option in options if len(re.findall(rf"^  {option}(?: [A-Z[]|  |$)", said, re.M)) != 1] == []


def test_version(command):
    assert command("--version").stdout == f"rimetree {rt.__version__}\n"


def test_wrong_usage_has_status_2(command):
    assert "there is no command 'simulat'" in command("simulat", code=2).stderr
    assert "--sky" in command("simulate", "a.ms", code=2).stderr
    assert "No such option" in command("info", "--nods", code=2).stderr


def test_debug_shows_the_traceback(process, tmp_path):
    arguments, environment = process
    for options, shown in (([], False), (["--debug"], True)):
        run = [*arguments, *options, "inspect-ms", str(tmp_path)]
        result = subprocess.run(run, env=environment, capture_output=True, text=True)
        assert result.returncode == 1
        assert ("Traceback" in result.stderr) is shown
        assert "error: " in result.stderr


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (quantities.FREQUENCY, "1.4GHz", 1.4e9),
        (quantities.FREQUENCY, "150 MHz", 150e6),
        (quantities.FREQUENCY, "1e9", 1e9),
        (quantities.BANDWIDTH, "-32MHz", -32e6),
        (quantities.DURATION, "1.5h", 5400.0),
        (quantities.DURATION, "90", 90.0),
        (quantities.DURATION, "2min", 120.0),
        (quantities.ANGLE, "2", math.radians(2 / 3600)),
        (quantities.ANGLE, "1arcmin", math.radians(1 / 60)),
        (quantities.BYTES, "4GiB", 4 * 2.0**30),
        (quantities.FLUX, "0.5Jy", 0.5),
        (quantities.FLUX, "12 mJy", 12e-3),
        (quantities.FLUX, "3", 3.0),
        (quantities.FLUX, "0", 0.0),
        (quantities.FLUX, "1e3 kJy", 1e6),
        (quantities.RA, "3h32m30s", math.radians(53.125)),
        (quantities.RA, "03:32:30", math.radians(53.125)),
        (quantities.RA, "53.125", math.radians(53.125)),
        (quantities.RA, "6h", math.pi / 2),
        (quantities.DEC, "-27d48m", math.radians(-27.8)),
        (quantities.DEC, "-27:48:00", math.radians(-27.8)),
        (quantities.DEC, "-27.48.00", math.radians(-27.8)),
        (quantities.DEC, "-27d", math.radians(-27)),
        (quantities.HourAngle(), "-3h", -math.pi / 4),
        (quantities.HourAngle(), "-2:30:00", -2.5 * math.pi / 12),
        (quantities.HourAngle(), "-0.5", -0.5 * math.pi / 12),
    ],
)
def test_quantities(kind, text, value):
    assert kind.convert(text, None, None) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (quantities.FREQUENCY, "1.4 GHx"),
        (quantities.FREQUENCY, "-1GHz"),
        (quantities.DURATION, "0s"),
        (quantities.DURATION, "soon"),
        (quantities.DEC, "-97"),
        (quantities.DEC, "nan"),
        (quantities.HourAngle(), "13h"),
        (quantities.BYTES, "4 apples"),
        (quantities.FLUX, "1MJy"),  # which must not be taken for mJy
        (quantities.FLUX, "-1Jy"),
    ],
)
def test_quantities_that_are_none(kind, text):
    with pytest.raises(click.BadParameter):
        kind.convert(text, None, None)


def test_texts_of_quantities():
    assert quantities.ra_text(math.radians(359.9999999)) == "00h00m00.00s"
    assert quantities.dec_text(-math.radians(0.5)) == "-00d30m00.0s"
    assert size_text(1536) == "1.5 KiB"
    assert quantities.frequency_text(1420405751.768) == "1.42040575 GHz"
    assert utc_text(60676.5 * 86400) == "2025-01-01T12:00:00.000"


def test_commands_start_no_threads_of_linear_algebra_and_programs_keep_theirs(process, tmp_path):
    script = tmp_path / "mine.py"
    script.write_text("import os, rimetree\nprint(os.environ.get('OPENBLAS_NUM_THREADS'))\n")
    say = "import os, runpy, sys\nfrom rimetree.starting import _is_command\n"
    (python, *_), environment = process
    environment = {key: value for key, value in environment.items() if key != "OPENBLAS_NUM_THREADS"}

    def run(*arguments):
        return subprocess.run([python, *arguments], env=environment, capture_output=True, text=True, check=True).stdout

    assert run(str(script)) == "None\n"
    assert run("-c", say + "print(_is_command(sys.orig_argv))") == "False\n"
    for arguments in (["python", "-m", "rimetree.cli", "info"], ["/usr/bin/python3", "/opt/bin/rimetree", "info"]):
        assert run("-c", say + f"print(_is_command({arguments}))") == "True\n"
    assert run("-c", say + "print(_is_command(['python', 'mine.py', '-m', 'rimetree.cli']))") == "False\n"
