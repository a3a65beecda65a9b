"""No circles among the modules of the Python package: what a module stands on does not stand on it."""

import ast
import graphlib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "trees" / "rimetree"


def module_name(path: Path) -> str:
    """E.g. "cli.errors" of cli/errors.py; "cli" of cli/__init__.py, "" of the package's own."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(name: str, path: Path, modules: set[str]) -> set[str]:
    """Modules that one imports of the package, wherever in it, be it for names of types alone; the package for a name
    that a package gives."""
    folder = name.split(".") if name else []
    if path.name != "__init__.py":
        folder = folder[:-1]
    found = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom):
            continue
        if node.level == 0:
            if node.module.split(".")[0] != "rimetree":
                continue
            base = node.module.removeprefix("rimetree").removeprefix(".")
        else:
            base = ".".join([*folder[: len(folder) - node.level + 1], *([node.module] if node.module else [])])
        for alias in node.names:
            if alias.name == "_core":
                continue  # the extension module
            full = f"{base}.{alias.name}" if base else alias.name
            found.add(full if full in modules else base)
    return (found & modules) - {name}


def graph() -> dict[str, set[str]]:
    modules = {module_name(path): path for path in PACKAGE.rglob("*.py")}
    return {name: imported(name, path, set(modules)) for name, path in modules.items()}


def test_modules_stand_on_each_other_in_one_direction():
    found = graph()
    assert "forest" in found["predict"]  # there is something to check
    # The package gives its version to some of its modules; it is set whatever else is imported.
    for name in found:
        found[name].discard("")
    try:
        graphlib.TopologicalSorter(found).prepare()
    except graphlib.CycleError as error:
        pytest.fail(f"modules import each other: {' <- '.join(error.args[1])}")


#: Of the command line: each stands on those before it, and no command on another.
CLI_ROOMS = ("options", "runs", "commands")


def test_rooms_of_the_command_line_stand_on_each_other_one_way():
    """`errors` and `output`, beside the rooms, are for all of them."""
    looked_at = 0
    for name, stands_on in graph().items():
        package, room, *own = name.split(".")[:3] if name.count(".") > 1 else ("", "")
        if package != "cli":
            continue
        below = CLI_ROOMS[CLI_ROOMS.index(room) + 1 :]
        for other in stands_on:
            package, other_room, *others = other.split(".")[:3] if "." in other else ("", "")
            if package != "cli":
                continue
            assert other_room not in below, f"{name} imports {other}, which is in a room that stands on its own"
            assert not (room == other_room == "commands" and own != others), f"{name}, a command, imports {other}"
        looked_at += 1
    assert looked_at > 30


def test_folders_of_calibration_stand_on_each_other_one_way():
    """As docs/architecture.md has them. Modules beside the folders put them together, or are errors."""
    folders: dict[str, set[str]] = {}
    for name, stands_on in graph().items():
        if name.count(".") != 2 or not name.startswith("calibration."):
            continue
        own = name.split(".")[1]
        folders.setdefault(own, set()).update(
            other.split(".")[1] for other in stands_on if other.startswith("calibration.") and other.count(".") == 2
        )
    assert len(folders) > 5
    graphlib.TopologicalSorter({own: others - {own} for own, others in folders.items()}).prepare()


#: As docs/architecture.md has them: each stands on some of those before it. The command line stands on all.
_BELOW = ("writing", "evaluation", "ms", "telescopes", "observing", "beams", "sky")
ROOMS = (*_BELOW, "voltages", "calibration", "plots", "bench")


def test_rooms_of_the_package_stand_on_each_other_one_way():
    """What a package's `__init__` gives of other rooms is not looked at: that is for users."""
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert folders == {*ROOMS, "cli"}
    packages = {module_name(path) for path in PACKAGE.rglob("__init__.py")}
    looked_at = 0
    for name, stands_on in graph().items():
        room = name.split(".")[0]
        if name in packages or room not in ROOMS:
            continue
        below = {*ROOMS[ROOMS.index(room) + 1 :], "cli"}
        wrong = sorted(other for other in stands_on if other.split(".")[0] in below)
        assert not wrong, f"{name} imports {', '.join(wrong)}, which is in a room that stands on its own"
        looked_at += 1
    assert looked_at > 100
