"""What modules of the package import of each other is there: also where they do so inside of a function."""

import ast
import importlib
from pathlib import Path

import pytest

import rimetree

PACKAGE = Path(rimetree.__file__).parent
# All but what runs when it is imported, and headers for plugins.
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__main__.py" and "include" not in path.parts)


def imported(path: Path):
    """(module, name) of everything that a module imports of the package, wherever in it."""
    parts = ("rimetree", *path.relative_to(PACKAGE).with_suffix("").parts)
    folder = parts[:-1]  # of a package's own module as well
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom):
            continue
        base = folder[: len(folder) - node.level + 1] if node.level else ()
        module = ".".join([*base, *([node.module] if node.module else [])])
        if module.split(".")[0] == "rimetree":
            yield from ((module, alias.name) for alias in node.names if alias.name != "*")


def is_there(module: str, name: str) -> bool:
    if hasattr(importlib.import_module(module), name):
        return True
    try:
        importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError:
        return False
    return True


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_what_is_imported_is_there(path):
    missing = [f"{module}.{name}" for module, name in imported(path) if not is_there(module, name)]
    assert not missing


def test_errors_of_the_package_are_its_error():
    """Whoever catches `rimetree.Error` has them all. (Those of the command line are click's.)"""
    others = set()
    for path in MODULES:
        module = ".".join(("rimetree", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        for one in vars(importlib.import_module(module)).values():
            own = isinstance(one, type) and issubclass(one, Exception) and one.__module__.startswith("rimetree")
            if own and not issubclass(one, rimetree.Error) and not module.startswith("rimetree.cli"):
                others.add(f"{one.__module__}.{one.__name__}")
    assert not others
