"""Comments and documents name files that there are."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("memory", "runtime", "nodes", "trees", "tests", "examples", "scripts", "docs")
CODE = {".h", ".cc", ".cu", ".cuh", ".py", ".sh"}
NAMED = re.compile(r"(?<![\w./<*{}$-])((?:[\w-]+/)*[\w-]+\.(?:h|cc|cu|cuh|py|md))(?![\w/*({-])")
COMMENT = re.compile(r"//([^\n]*)")
PYTHON_COMMENT = re.compile(r'(?:^|\s)#([^\n]*)|"""(.*?)"""', re.DOTALL | re.MULTILINE)
# Headers of libraries, and sources of other programs that formats are known from.
ELSEWHERE = {
    "Python.h",
    "erfa.h",
    "highway.h",
    "hwy/highway.h",
    "parmdb/SkymodelToSourceDB.cc",
    "base/PointSource.cc",
    "define_sky_scale_flux_with_frequency.h",
    "Tigger/Models/ModelClasses.py",
    "Tigger/Models/Formats/ASCII.py",
    "ModelHTML.py",
    "Meow/PointSource.py",
    "model/powerlawsed.h",
    "DP3.py",
}


def files() -> list[Path]:
    found = [p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.is_file() and "build" not in p.parts]
    return found + [p for p in ROOT.iterdir() if p.is_file()]


FILES = files()
PATHS = {str(p.relative_to(ROOT)) for p in FILES}


def exists(name: str) -> bool:
    """A path, from the root or from some folder on."""
    return name in ELSEWHERE or name in PATHS or any(path.endswith("/" + name) for path in PATHS)


def prose(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    if path.suffix in {".py", ".sh"}:
        return "\n".join(a or b for a, b in PYTHON_COMMENT.findall(text))
    return "\n".join(COMMENT.findall(text))


def test_comments_and_documents_name_files_that_exist():
    here = Path(__file__).resolve()
    read = [p for p in FILES if (p.suffix in CODE or p.suffix == ".md") and p.name != "CHANGELOG.md" and p != here]
    assert len(read) > 300
    dead = [
        f"{path.relative_to(ROOT)}: {name}" for path in read for name in NAMED.findall(prose(path)) if not exists(name)
    ]
    assert not dead


def test_dead_names_would_be_found():
    assert NAMED.findall("see runtime/core/no_such.h, and `gone.cc`; not <vector.h> nor *_test.cc") == [
        "runtime/core/no_such.h",
        "gone.cc",
    ]
    assert not exists("runtime/core/no_such.h")
    assert exists("node/node.h")
