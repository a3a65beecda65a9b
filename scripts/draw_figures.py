#!/usr/bin/env python3
"""Draws the figures of the documents: docs/figures/NAME.svg from NAME.dot, by Graphviz (apt install graphviz).

    python scripts/draw_figures.py

Each drawing names the text that it was made from by a fingerprint, by which tests/rules/test_figures.py finds drawings
that are out of date.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

FIGURES = Path(__file__).resolve().parent.parent / "docs" / "figures"


def mark(text: str) -> str:
    """The comment in a drawing that says which text it was made from."""
    return f"<!-- drawn by scripts/draw_figures.py, text sha256:{hashlib.sha256(text.encode()).hexdigest()} -->"


def draw(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    svg = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, check=True).stdout
    svg = re.sub(r"<!--.*?-->\n?", "", svg, flags=re.DOTALL)  # names of nodes, and of the version that drew it
    path.with_suffix(".svg").write_text(svg.replace("<svg ", f"{mark(text)}\n<svg ", 1), encoding="utf-8")


def main() -> int:
    try:
        for path in sorted(FIGURES.glob("*.dot")):
            draw(path)
    except FileNotFoundError:
        print("draw_figures.py: there is no program dot; it comes with Graphviz", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"draw_figures.py: {path.name}: {error.stderr.strip()}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
