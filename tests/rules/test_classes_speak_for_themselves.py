"""The runtime decides nothing by names of node classes: they say what they are and can. A Node stays small, and what is
kept for a batch belongs to the batch."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = sorted(p for p in (ROOT / "runtime").rglob("*") if p.suffix in {".h", ".cc", ".cu"})
NODES = sorted(p for p in (ROOT / "nodes").rglob("*") if p.suffix in {".h", ".cc", ".cu", ".cuh"})
MOST_VIRTUALS = 10
COMMENT = re.compile(r"//[^\n]*")
NAME = re.compile(r'\.name = "([A-Z]\w*)"')
COMPARED = re.compile(r"node_class(?:\(\)|_)?\.name\s*[!=]=|[!=]=\s*\S*node_class\(\)\.name")
COLUMNS = {"UVW"}  # of a Measurement Set, too


def code(path: Path) -> str:
    return COMMENT.sub("", path.read_text(encoding="utf-8"))


def class_names() -> set[str]:
    return {name for path in NODES for name in NAME.findall(code(path))}


def test_there_is_something_to_check():
    assert {"Add", "MatrixMultiply", "Parm", "Sink", "PSV"} <= class_names()


def test_runtime_names_no_class():
    """It goes by Algebra (runtime/core/classes/algebra.h) and Capabilities (runtime/core/node/capabilities.h)."""
    classes = class_names() - COLUMNS
    bad = []
    for path in RUNTIME:
        text = code(path)
        bad += [f"{path.relative_to(ROOT)}: {name}" for name in re.findall(r'"(\w+)"', text) if name in classes]
        bad += [f"{path.relative_to(ROOT)}: {found}" for found in COMPARED.findall(text)]
    assert not bad


def test_a_comparison_would_be_found():
    assert COMPARED.search('if (node.node_class().name == "Add") return;')
    assert COMPARED.search("return name != forest.node(i).node_class().name;")


def test_node_is_small():
    text = code(ROOT / "runtime/core/node/node.h")
    (node,) = re.findall(r"\nclass Node \{(.*?)\n\};", text, re.DOTALL)
    assert 3 < len(re.findall(r"\bvirtual\b", node)) <= MOST_VIRTUALS


def test_nodes_do_not_change_while_they_are_used():
    """What is kept for a batch belongs to its BatchKernel (runtime/core/node/batch_kernel.h). Locks are no state."""
    mutable = re.compile(r"^\s*mutable (?!std::mutex )[^\n]*", re.MULTILINE)
    paths = [*NODES, *RUNTIME]
    assert not [f"{path.relative_to(ROOT)}: {line}" for path in paths for line in mutable.findall(code(path))]
