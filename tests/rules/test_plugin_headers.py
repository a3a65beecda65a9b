"""What is installed for plugins is what docs/adding-a-node.md names, with what that includes: no room above nodes."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
ROOMS = {"memory", "runtime/core", "runtime/math", "runtime/cell", "runtime/program", "runtime/device"}
MOST = 60  # files, with all that they include


def listed() -> set[str]:
    """In CMake, from where they are installed."""
    (text,) = re.findall(r"set\(plugin_headers ([^)]*)\)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
    return set(text.split())


def documented() -> set[str]:
    text = (ROOT / "docs/adding-a-node.md").read_text(encoding="utf-8").partition("\n## Outside the tree")[2]
    return set(re.findall(r"^\| `(runtime/[\w/.]+)` \|", text, re.MULTILINE))


def installed() -> set[str]:
    found, unread = set(), listed()
    while unread:
        found |= unread
        text = "".join((ROOT / header).read_text(encoding="utf-8") for header in unread)
        unread = set(INCLUDE.findall(text)) - found
    return found


def test_the_guide_names_them():
    assert listed() == documented()


def test_they_reach_no_higher():
    headers = installed()
    assert not [header for header in headers if not ROOMS & {str(folder) for folder in Path(header).parents}]
    assert len(listed()) < len(headers) <= MOST


def test_nothing_else_is_installed():
    cmake = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    assert cmake.count("DESTINATION rimetree/include") == 1
    assert not re.search(r"install\(DIRECTORY", cmake)


def test_plugins_include_nothing_else():
    sources = [*(ROOT / "examples/plugin").glob("*.cc"), *(ROOT / "tests/runtime/core/plugins").glob("*.cc")]
    assert sources
    assert not [source.name for source in sources if set(INCLUDE.findall(source.read_text("utf-8"))) - listed()]
