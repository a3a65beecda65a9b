"""What modules of the package import of each other is there: also where they do so inside of a function."""

import ast
import importlib
import subprocess
import sys
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


@pytest.mark.skipif(not Path("/proc/self/maps").is_file(), reason="the system does not tell which libraries are loaded")
def test_what_makes_new_sets_is_loaded_where_one_is_made(tmp_path):
    """It takes 5 MB of memory, of which `rimetree apply` should have none."""
    script = f"""
from pathlib import Path
import rimetree as rt

def loaded():
    return sorted({{name for name in ("libcasa_tables", "libcasa_ms") if name in Path("/proc/self/maps").read_text()}})

print(*loaded())
rt.ms.create({str(tmp_path / "new.ms")!r}, "kat-7", integration_s=10, duration_s=20, phase_centre_rad=(1.0, -0.5))
print(*loaded())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["libcasa_tables", "libcasa_ms libcasa_tables"]
