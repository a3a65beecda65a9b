"""Plain rows of BBS and WSClean files are the sources that the long way gives, and the others are left to it."""

import pytest

from rimetree import sky
from rimetree.sky.columns import find_header, parse_header
from rimetree.sky.plain_rows import PlainRows
from rimetree.sky.reading import Reading, numbered_lines

HEADER = (
    "format = Name, Type, Patch, Ra, Dec, I, Q, U, V, ReferenceFrequency='150e6', SpectralIndex='[]', LogarithmicSI, "
    "MajorAxis, MinorAxis, Orientation, OrientationIsAbsolute, RotationMeasure"
)
PLAIN = [
    "a, POINT, P, 01:02:03.5, -00.10.20.25, 1.5, 0.1, -.2, 3e-2, 151e6, [-0.7, 0.1], true",
    "a,point,,1:2:3,+10.20.30,2.,,,,,-0.8,",
    "  a , , P , 1:2:3 , 10.20.30 , 2 , , , , 1e8 , [ 0.5 , 0 ] , false ,,,,, ",
    "a, Gaussian, P, 1:2:3, 10.20.30, 2, , , , , [], , 30, 20, 45, yes",
    "a, GAUSSIAN, P, 1:2:3, 10.20.30, 2, , , , , [], , 30, 30, , F",
    "a, , , 1:2:3, 10.20.30, 2\r",
]
OTHERS = [
    "'a', POINT, P, 1:2:3, 10.20.30, 2",  # quotes
    "a, POINT, P, 15.5deg, 10.20.30, 2",  # another unit
    "a, POINT, P, 1:2:60.0, 10.20.30, 2",
    "a, POINT, P, 1:2:3, 90.00.01, 2",  # outside the sphere
    "a, POINT, P, 1:2:3, 10.20.30, 1e999",  # not finite
    "a, POINT, P, 1:2:3, 10.20.30, 2, , , , 0, -0.7",  # a spectrum from nowhere
    "a, POINT, P, 1:2:3, 10.20.30, 2, , , , , , perhaps",
    "a, GAUSSIAN, P, 1:2:3, 10.20.30, 2, , , , , , , 30, 20",  # elliptical without a direction
    "a, GAUSSIAN, P, 1:2:3, 10.20.30, 2, , , , , , , 30, -20, 5",
    "a, GAUSSIAN, P, 1:2:3, 10.20.30, 2, , , , , , , 30, 30, 5, perhaps",
    "a, DISK, P, 1:2:3, 10.20.30, 2",
    "a, POINT, P, 1:2:3, 10.20.30, 2, , , , , , , , , , , 1.5",  # a rotation measure
    "a, POINT, P, 1:2:3, 10.20.30, , 2",  # a flux that is missing, and not the next one
    ", , P, 1:2:3, 10.20.30",
    "#a, POINT, P, 1:2:3, 10.20.30, 2",
]


def plain_rows(header=HEADER):
    reading = Reading("a file")
    return PlainRows(parse_header(reading, *find_header(numbered_lines(header))), False)


def read(tmp_path, *lines, format="bbs"):
    file = tmp_path / "a.skymodel"
    file.write_text("\n".join(lines), newline="")
    return sky.read(file, format=format)


@pytest.mark.parametrize("row", PLAIN)
def test_plain_rows(tmp_path, row):
    """A quoted name takes the long way, and changes nothing else."""
    found = plain_rows().source(row)
    (other,) = read(tmp_path, HEADER, row.replace("a", "'a'", 1))
    assert repr(found) == repr(other)
    assert repr(read(tmp_path, HEADER, row)[0]) == repr(found)


@pytest.mark.parametrize("row", OTHERS)
def test_other_rows(row):
    assert plain_rows().source(row) is None


@pytest.mark.parametrize(
    ("header", "row", "plain"),
    [
        ("format = Name, Ra, Dec, I, Q=fixed'0.5', LogarithmicSI='false'", "a, 1:2:3, 4.5.6, 2", True),
        ("format = Name, Type='GAUSSIAN', Ra, Dec, I, MajorAxis='9', MinorAxis='9'", "a, , 1:2:3, 4.5.6, 2", True),
        ("format = Name, Category, Ra, Dec, dummy, I", "a, 2, 1:2:3, 4.5.6, x, 2", True),
        ("format = Name Ra Dec I", "a 1:2:3 4.5.6 2", False),
        ("format = Name, Ra, Dec, I='1'", "a, 1:2:3, 4.5.6, 2", False),
        ("format = Name, Ra, Dec, I, RotationMeasure='2', ReferenceFrequency='1e8'", "a, 1:2:3, 4.5.6, 2", False),
    ],
)
def test_columns_decide(tmp_path, header, row, plain):
    found = plain_rows(header).source(row)
    assert (found is not None) == plain
    if plain:
        (other,) = read(tmp_path, header, row.replace("a", "'a'", 1))
        assert repr(found) == repr(other)


def test_what_a_row_before_said_is_forgotten(tmp_path):
    values = [
        ("", "", ""),
        ("1e8", "", ""),
        ("1e8", "[-0.7, 0.1]", ""),
        ("1e8", "[-0.7, 0.1]", "false"),
        ("2e8", "[-0.7, 0.1]", "false"),
        ("2e8", "", "false"),
        ("", "[-0.7, 0.1]", ""),
        ("", "", ""),
    ]
    rows = [
        f"s{k}, POINT, P{k // 4}, 1:2:3, 4.5.6, 1, , , , {frequency}, {index}, {logarithmic}"
        for k, (frequency, index, logarithmic) in enumerate(values)
    ]
    plain = plain_rows()
    found = [plain.source(row) for row in rows]
    assert repr(found) == repr(
        [*read(tmp_path, HEADER, *[row.replace("s", "'s", 1).replace(",", "',", 1) for row in rows])]
    )


def test_lines_count_over_plain_rows(tmp_path):
    row = "{}, POINT, P, 1:2:3, 10.20.30, {}"
    with pytest.raises(sky.SkyModelError, match=r"skymodel:4:31: I is 'x', expected a number") as problem:
        read(tmp_path, HEADER, row.format("a", 1), row.format("b", 1), row.format("c", "x"))
    assert problem.value.line == 4
    with pytest.raises(sky.SkyModelError, match=r"skymodel:4:1: a source named 'a' was already given in line 2"):
        read(tmp_path, HEADER, row.format("a", 1), row.format("b", 1), row.format("a", 1))
