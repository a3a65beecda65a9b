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
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def excerpts():
    for document in DOCUMENTS:
        for source, text in EXCERPT.findall(document.read_text(encoding="utf-8")):
            yield pytest.param(source, text, id=f"{document.name}-{source}-{text.split()[0]}")


@pytest.mark.parametrize("source, text", list(excerpts()))
def test_excerpts_are_verbatim(source, text):
    assert text in (ROOT / source).read_text(encoding="utf-8")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_files(document):
    targets = [link for link in LINK.findall(document.read_text(encoding="utf-8")) if "://" not in link]
    missing = [link for link in targets if not (document.parent / link).exists()]
    assert not missing


def test_the_program_in_the_readme_runs():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (expected,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected
