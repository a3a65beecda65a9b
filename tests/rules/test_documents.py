"""What the documents show is what the files hold: excerpts are verbatim, the README's program runs, links lead
somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
EXCERPT = re.compile(r"<!-- from (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```", re.DOTALL)


def excerpts():
    for document in DOCUMENTS:
        for source, text in EXCERPT.findall(document.read_text(encoding="utf-8")):
            yield pytest.param(source, text, id=f"{document.name}-{source}-{text.split()[0]}")


@pytest.mark.parametrize("source, text", list(excerpts()))
def test_excerpts_are_verbatim(source, text):
    assert text in (ROOT / source).read_text(encoding="utf-8")


def anchor(heading: str) -> str:
    """What a heading is called in links, as GitHub has it."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(document: Path) -> set[str]:
    text = CODE.sub("", document.read_text(encoding="utf-8"))
    return {anchor(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def dead_links(document: Path, text: str) -> list[str]:
    """Links to files that are not there, or to headings that a file has not."""
    dead = []
    for link in LINK.findall(CODE.sub("", text)):
        path, _, heading = link.partition("#")
        target = document.parent / path if path else document
        if "://" not in link and not (target.exists() and (not heading or heading in anchors(target))):
            dead.append(link)
    return dead


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    assert not dead_links(document, document.read_text(encoding="utf-8"))


def test_dead_links_would_be_found():
    readme = ROOT / "README.md"
    links = {"docs/nodes.md": True, "docs/nodes.md#psv": True, "#status": True, "https://x.org/y#z": True}
    links |= {"docs/none.md": False, "docs/nodes.md#none": False, "#none": False}
    text = "\n".join(f"[x]({link})" for link in links)
    assert dead_links(readme, text) == [link for link, alive in links.items() if not alive]
    assert anchor("`runtime/core`: what a tree is") == "runtimecore-what-a-tree-is"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_folders_that_are_named_exist(document):
    if document.name == "CHANGELOG.md":
        return
    named = re.findall(r"`((?:memory|runtime|nodes|trees|tests|examples|scripts|docs)/[\w/-]*)`", document.read_text())
    assert not [name for name in named if not (ROOT / name).exists()]


def test_the_program_in_the_readme_runs():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (expected,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected
