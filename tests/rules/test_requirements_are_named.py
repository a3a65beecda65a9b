"""Each requirement of the two published correlators is named by a test.

M1 to M15: Wayth, Greenhill & Briggs 2009, PASP 121, 857. C1 to C12: Klages et al. 2015, arXiv:1503.06203. What each
says stands beside the test that names it.
"""

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
REQUIREMENTS = {f"M{k}" for k in range(1, 16)} | {f"C{k}" for k in range(1, 13)}
# A comment before a test, or a test's docstring, which begin with what they show.
NAMES = re.compile(r'(?:^\s*//|""")\s*((?:[MC]\d+, )*[MC]\d+)[:.]', re.MULTILINE)


def test_all_are_named():
    named = set()
    for path in [*TESTS.rglob("*_test.cc"), *TESTS.rglob("test_*.py")]:
        for found in NAMES.findall(path.read_text(encoding="utf-8")):
            named |= set(found.split(", "))
    assert named >= REQUIREMENTS, sorted(REQUIREMENTS - named)
