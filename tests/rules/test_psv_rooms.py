"""nodes/psv: a namespace per room, one file per name, and few kinds of type that are about the same thing."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PSV = ROOT / "nodes" / "psv"
FILES = sorted(p for p in PSV.rglob("*") if p.suffix in {".h", ".cc", ".cu"})
ROOMS = sorted(p.name for p in PSV.iterdir() if p.is_dir())
COMMENT = re.compile(r"//[^\n]*")
TYPE = re.compile(r"^\s*(?:struct|class)\s+(\w+)[^;{()]*\{", re.MULTILINE)
FEW = 9  # types that are what a launch is told, one for each kind of launch


def types() -> set[str]:
    return {name for path in FILES for name in TYPE.findall(COMMENT.sub("", path.read_text(encoding="utf-8")))}


def own_text(path: Path) -> str:
    """A file's text; for one that only instantiates another (kernel_double.cc, say) that of the other one too."""
    text = path.read_text(encoding="utf-8")
    beside = re.findall(r'#include "(nodes/psv/\w+/[\w.-]+-inl\.h)"', text)
    return text + "".join((ROOT / other).read_text(encoding="utf-8") for other in beside)


def stem_of(path: Path) -> str:
    return path.stem.removesuffix("-inl")


def test_there_is_something_to_check():
    assert {"direct", "delay", "matrix", "adjoint", "device", "planner"} <= set(ROOMS)
    assert {"Problem", "DirectJob", "AdjointJob"} <= types()


def test_each_room_has_its_namespace():
    outside = []
    for path in FILES:
        room = path.relative_to(PSV).parts[0]
        if room in ROOMS and f"namespace rimetree::psv::{room}" not in own_text(path):
            outside.append(str(path.relative_to(ROOT)))
    assert not outside


def test_no_two_files_have_one_name():
    """A header, its source and what is included for each instruction set stand together and share one."""
    folders = {stem: {p.parent for p in FILES if stem_of(p) == stem} for stem in map(stem_of, FILES)}
    assert not [stem for stem, where in folders.items() if len(where) > 1]


def test_kinds_of_type_are_few():
    names = types()
    assert len([name for name in names if name.endswith("Job")]) <= FEW
    assert len([name for name in names if name.endswith("Place")]) <= 1
    assert not [name for name in names if name.endswith(("Level", "Part", "Lane")) and name != "PlanePart"]
