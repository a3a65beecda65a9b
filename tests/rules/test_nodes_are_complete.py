"""Every node class has a test of its own and says what it is: summary, result, reference, units."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NODES = ROOT / "nodes"
REGISTERS = re.compile(r"^RIMETREE_REGISTER_NODE\(\w+\);", re.MULTILINE)
FLAT_FILES = sorted(p for p in NODES.iterdir() if p.suffix in {".cc", ".cu"} and p.name != "plugin.cc")
NODE_FOLDERS = sorted(p for p in NODES.iterdir() if p.is_dir())
# In a folder, what nodes share has files of its own; each class has one as elsewhere.
FOLDER_FILES = sorted(
    p for folder in NODE_FOLDERS for p in folder.rglob("*.cc") if REGISTERS.search(p.read_text(encoding="utf-8"))
)
NODE_FILES = FLAT_FILES + FOLDER_FILES

# Dimensions of children in such words as are checked, e.g. "[3] or [source,3]".
ALTERNATIVE = r"\[(?:(?:\d+|[A-Za-z]\w*)(?:,(?!\]))?)*\]"
CHECKED_DIMS = re.compile(rf"{ALTERNATIVE}(?:(?:, | or ){ALTERNATIVE})*")
# Labels of children that always carry a unit, and what it must mention.
UNITS = {"uvw": "m", "brightness": "Jy", "flux": "Jy", "stokes": "Jy", "shape": "rad", "freq": "Hz", "time": "s"}


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture(scope="module")
def classes():
    """What the project's own nodes say of themselves, from a process that has loaded no other plugin."""
    code = "import json, rimetree._core as core; print(json.dumps(core.node_classes(), default=str))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"rimetree is not installed here: {done.stderr.strip().splitlines()[-1]}")
    found = {info["name"]: info for info in json.loads(done.stdout)}
    found.pop("PyNode", None)  # of the extension module, not of nodes/
    if not found:
        pytest.skip("rimetree has been imported without its nodes")
    return found


@pytest.mark.parametrize("path", FLAT_FILES, ids=relative)
def test_node_has_a_test(path):
    assert (ROOT / "tests" / "nodes" / f"{path.stem}_test.cc").is_file()


@pytest.mark.parametrize("folder", NODE_FOLDERS, ids=relative)
def test_node_folder_has_tests(folder):
    assert list((ROOT / "tests" / "nodes" / folder.name).glob("*_test.cc"))


@pytest.mark.parametrize("path", NODE_FILES, ids=relative)
def test_node_file_begins_with_what_it_computes(path):
    comment = re.match(r"(?://[^\n]*\n)+", path.read_text(encoding="utf-8"))
    assert comment, "the file must begin with a comment"
    text = comment.group(0).lower()
    for part in ("child", "state", "result", "flag", "derivative"):
        assert part in text, f"the comment does not speak of: {part}"


@pytest.mark.parametrize("path", NODE_FILES, ids=relative)
def test_node_file_registers_one_class_and_shares_nothing(path):
    text = path.read_text(encoding="utf-8")
    assert len(REGISTERS.findall(text)) == 1
    assert re.search(r"^class \w+ final", text, re.MULTILINE)


def test_every_registered_class_is_described(classes):
    bad = []
    for name, info in classes.items():
        bad += [f"{name}: no {field}" for field in ("summary", "result", "reference") if not info[field].strip()]
        if "\n" in info["summary"] or not info["summary"].rstrip().endswith("."):
            bad.append(f"{name}: the summary is not one sentence on one line")
        for kind in ("children", "state"):
            for spec in info[kind]:
                label = spec.get("label", spec.get("name"))
                if not spec["doc"].strip():
                    bad.append(f"{name}: {kind} {label} has no doc")
    assert not bad


def test_children_with_dimensions_have_units_and_shapes(classes):
    bad = []
    for name, info in classes.items():
        for child in info["children"]:
            if not child["shape"].strip():
                bad.append(f"{name}: child {child['label']} has no shape")
            # What is not meant as prose is checked by the forest (runtime/core/classes/child_dims.h).
            prose = not child["shape"].startswith("[") or ";" in child["shape"]
            if not (prose or CHECKED_DIMS.fullmatch(child["shape"])):
                bad.append(f"{name}: child {child['label']} has shape {child['shape']!r}, which is not checked")
            wanted = UNITS.get(child["label"])
            # "unit of ..." and the like refer to another quantity, which carries it.
            if wanted and not re.search(rf"\b{wanted}\b|unit|any", child["unit"]):
                bad.append(f'{name}: child {child["label"]} has unit "{child["unit"]}", expected {wanted}')
    assert not bad


def test_files_and_classes_match(classes):
    registered = {re.sub(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z0-9])(?=[A-Z][a-z])", "_", name).lower() for name in classes}
    flat = {name.replace("_", "") for name in registered}
    assert flat == {path.stem.replace("_", "") for path in NODE_FILES}
