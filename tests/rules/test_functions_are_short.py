"""Functions of C++ are short: half of them have five lines or fewer between their braces, nine of ten at most 20."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("memory", "runtime", "nodes")
SOURCES = [p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.suffix in {".h", ".cc"}]
MEDIAN, NINETIETH = 5, 20
NO_FUNCTION = r"(?!(?:if|for|while|switch|else|do|namespace|struct|class|enum|union|extern|return)\b)"
BEGINS = re.compile(rf"^( *){NO_FUNCTION}[^\s#/}}].*\)[^;]*\{{$")
ON_ONE_LINE = re.compile(rf"^ *{NO_FUNCTION}[\w:~<>,&*\[\] ]+\(.*\).*\{{.*\}}$")


def lengths(text: str) -> list[int]:
    """Of all functions of a file as clang-format writes it: its closing brace stands below its first letter."""
    lines = text.split("\n")
    found = []
    for i, line in enumerate(lines):
        if ON_ONE_LINE.match(line):
            found.append(1)
        elif begin := BEGINS.match(line):
            ends = (j for j in range(i + 1, len(lines)) if lines[j].startswith(begin.group(1) + "}"))
            found.append(next(ends, i + 1) - i - 1)
    return found


def test_most_functions_are_short():
    found = sorted(length for path in SOURCES for length in lengths(path.read_text(encoding="utf-8")))
    assert len(found) > 3000
    assert found[len(found) // 2] <= MEDIAN
    assert found[len(found) * 9 // 10] <= NINETIETH


def test_lengths_are_counted():
    text = "int f() { return 1; }\nint g(int x) {\n  if (x) {\n    return 2;\n  }\n  return 3;\n}\n"
    text += "class C {\n  void h() {\n  }\n};\n"
    assert lengths(text) == [1, 4, 0]
