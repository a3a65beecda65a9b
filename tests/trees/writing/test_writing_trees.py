"""The programs of docs/writing-trees.md and of other pages print what the page says they print."""

import contextlib
import io
import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).resolve().parents[3] / "docs").glob("*.md"))
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", re.DOTALL)


def sections():
    """The pages in parts that stand for themselves, from one heading to the next."""
    for page in PAGES:
        for part in re.split(r"\n## ", page.read_text(encoding="utf-8"))[1:]:
            if programs := BLOCK.findall(part):
                yield pytest.param(programs, id=f"{page.stem}: {part.splitlines()[0]}")


@pytest.mark.parametrize("programs", list(sections()))
def test_programs_print_what_the_page_says(programs):
    import numpy as np

    import rimetree as rt

    names = {"np": np, "rt": rt, "__name__": "page"}
    for program, expected in programs:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(program, "page", "exec"), names)
        assert printed.getvalue() == expected
