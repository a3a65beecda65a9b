"""Files made from the registry of node classes are what the registry would make of them now."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STUBS = ROOT / "trees" / "rimetree" / "nodes.pyi"


def test_reference_page_and_type_stubs_are_up_to_date():
    # In a process of its own: plugins that other tests load add classes to this one's registry.
    script = ROOT / "scripts" / "generate_node_docs.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_type_stubs_are_python_and_name_every_class():
    tree = ast.parse(STUBS.read_text(encoding="utf-8"))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    code = "import rimetree.nodes; print(*rimetree.nodes.__all__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= functions


def test_what_type_stubs_import_is_there():
    tree = ast.parse(STUBS.read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    code = "__package__ = 'rimetree'; import rimetree\n" + "\n".join(map(ast.unparse, imports))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_readme_counts_the_classes_of_the_page():
    page = (ROOT / "docs" / "nodes.md").read_text(encoding="utf-8")
    n_class = sum(line.startswith("## ") for line in page.splitlines())
    assert f" {n_class} node classes," in (ROOT / "README.md").read_text(encoding="utf-8")
