"""The command line as a whole: help, versions, exit statuses."""

import importlib
import pkgutil
import re
import subprocess
import time

import click
import pytest

import rimetree as rt
from rimetree.cli import _COMMANDS, commands


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


@pytest.mark.parametrize("name", [*_COMMANDS, "sky show", "sky convert", "sky calibrators"])
def test_every_command_explains_itself(command, name):
    assert "Usage: rimetree" in command(*name.split(), "--help").stdout


@pytest.mark.parametrize("name", ["calibrate", "apply"])
def test_every_option_has_its_section(command, name):
    said = command(name, "--help").stdout
    assert "Other options" not in said and "The run:" in said
    module = importlib.import_module(f"rimetree.cli.commands.{name}")
    options = [one.opts[-1] for one in module.command.params if isinstance(one, click.Option)]
    assert [option for option in options if len(re.findall(rf"^  {option}(?: [A-Z[]|  |$)", said, re.M)) != 1] == []


def test_every_module_of_commands_is_the_command_of_its_name():
    modules = {module.name for module in pkgutil.iter_modules(commands.__path__)}
    assert modules == {module for module, _ in _COMMANDS.values()}
    assert modules == {name.replace("-", "_") for name in _COMMANDS}


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
