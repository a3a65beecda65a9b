"""Files are short, finished and formatted."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = {".h", ".cc", ".cu", ".py", ".sh"}
MAXIMUM_LINES = 400
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX|HACK|TBD|WIP)\b|raise NotImplementedError|not (?:yet )?implemented yet")
VAGUE_NAMES = re.compile(r"(?:^|_)(?:utils?|common|misc|helpers?)(?:_|$)")


def tracked() -> list[Path]:
    """The files of the repository: what git does not ignore, or, where there is no git, everything in its folders."""
    git = ["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(git, capture_output=True, text=True) if shutil.which("git") else None
    if done is not None and done.returncode == 0:
        return [ROOT / name for name in done.stdout.splitlines() if (ROOT / name).is_file()]
    folders = ("memory", "runtime", "nodes", "trees", "tests", "examples", "scripts")
    return [p for folder in folders for p in (ROOT / folder).rglob("*") if p.is_file()]


FILES = sorted(p for p in tracked() if p.suffix in CODE)
CPP = [p for p in FILES if p.suffix in {".h", ".cc", ".cu"}]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_there_is_something_to_check():
    assert len(CPP) > 100


def test_nothing_lies_beside_the_house():
    """Folders, and what builds and describes the project; the outcome of a trial had been committed once."""
    folders = {"nodes", "runtime", "memory", "trees", "tests", "examples", "docs", "scripts", ".ci"}
    files = {"CMakeLists.txt", "CMakePresets.json", "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE"}
    done = (
        subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True) if shutil.which("git") else None
    )
    names = done.stdout.splitlines() if done is not None and done.returncode == 0 else []
    assert {name.split("/")[0] for name in names} <= folders | files | {".clang-format", ".gitignore"}


def test_files_stay_short():
    lengths = {relative(p): len(p.read_text(encoding="utf-8").splitlines()) for p in FILES}
    assert {name: lines for name, lines in lengths.items() if lines > MAXIMUM_LINES} == {}


def test_nothing_is_left_unfinished():
    marks = [
        f"{relative(p)}:{number}: {line.strip()}"
        for p in FILES
        if p != Path(__file__).resolve()
        for number, line in enumerate(p.read_text(encoding="utf-8").splitlines(), 1)
        if UNFINISHED.search(line)
    ]
    assert not marks


def test_names_say_what_is_inside():
    assert not [relative(p) for p in FILES if VAGUE_NAMES.search(p.stem)]


def test_headers_are_guarded():
    missing = [
        relative(p)
        for p in CPP
        if p.suffix == ".h" and not p.stem.endswith("-inl") and "#pragma once" not in p.read_text(encoding="utf-8")
    ]
    assert not missing


def clang_format() -> str:
    """clang-format 14, whose output the files follow; other versions format differently."""
    for name in ("clang-format-14", "clang-format"):
        if program := shutil.which(name):
            version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
            if re.search(r"version 14\.", version):
                return program
    pytest.skip("clang-format 14 is not installed")


def test_cpp_is_formatted():
    done = subprocess.run([clang_format(), "--dry-run", "-Werror", *CPP], capture_output=True, text=True, cwd=ROOT)
    complaints = [line for line in done.stderr.splitlines() if "error:" in line]
    assert done.returncode == 0, "\n".join(complaints[:20])


@pytest.mark.parametrize("arguments", [["check"], ["format", "--check"]], ids=["lint", "format"])
def test_python_passes_ruff(arguments):
    ruff = [sys.executable, "-m", "ruff"]
    if subprocess.run([*ruff, "--version"], capture_output=True).returncode != 0:
        pytest.skip("ruff is not installed (pip install ruff)")
    done = subprocess.run([*ruff, *arguments, "--no-cache", "."], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("text", ["// TODO: later", "# FIXME", "    raise NotImplementedError", "XXX"])
def test_a_mark_is_noticed(text):
    assert UNFINISHED.search(text)


@pytest.mark.parametrize("text", ["/tmp/rimetree_ms_XXXXXX", "type stubs", "hacksaw"])
def test_what_is_no_mark_passes(text):
    assert not UNFINISHED.search(text)
