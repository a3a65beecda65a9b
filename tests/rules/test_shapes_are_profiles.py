"""What docs/adding-a-shape.md says that a shape costs is what the last one that was added does cost."""

import re
from pathlib import Path

from rimetree.sky import READERS

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("memory", "runtime", "nodes", "trees")
HYPERDRIVE = "trees/rimetree/sky/hyperdrive.py"  # its reader is loaded when it is used
GENERATED = {"trees/rimetree/nodes.pyi"}
MOST_FILES_OF_THE_FIRST = (
    9  # beside those of beams, which may be Gaussian, too, and readers of files that have the word
)


def files_that_name(pattern: str) -> set[str]:
    found = set()
    for folder in PRODUCT:
        for path in (ROOT / folder).rglob("*"):
            code = path.suffix in {".h", ".cc", ".cu", ".cuh", ".py", ".pyi"}
            if code and re.search(pattern, path.read_text(encoding="utf-8"), re.IGNORECASE):
                found.add(str(path.relative_to(ROOT)))
    return found


def listed() -> list[str]:
    """The product's files in the table of the guide, with the profile's name put in."""
    text = (ROOT / "docs/adding-a-shape.md").read_text(encoding="utf-8")
    names = re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
    return [name.replace("<name>", "exponential_disk") for name in names if name.split("/")[0] in PRODUCT]


def test_a_shape_is_named_where_the_guide_says():
    # A profile may speak of another one.
    names = [*listed(), "runtime/math/profiles/*.h"]
    patterns = [re.compile(re.escape(name).replace(r"\*", "[^/]*")) for name in names]
    assert len(patterns) >= 4
    named = files_that_name("exponential.?disk") - GENERATED
    assert "runtime/math/profiles/exponential_disk.h" in named
    assert not [name for name in named if not any(p.fullmatch(name) for p in patterns)]


def test_the_first_shape_is_no_special_one():
    readers = {f"trees/rimetree/sky/{reader.__module__.split('.')[-1]}.py" for reader in READERS.values()} | {
        HYPERDRIVE
    }
    named = {name for name in files_that_name("gaussian") if "beam" not in name} - readers
    assert len(named) <= MOST_FILES_OF_THE_FIRST
