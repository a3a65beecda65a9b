"""What `calibrate` shows while it works."""

import time

from rimetree.cli.runs.calibrating_text import Progress


def test_signs_of_life_where_an_iteration_takes_long(capsys):
    """A robust solve of thousands of unknowns said nothing for minutes, and nothing at all where it went to a file."""
    show = Progress(False, every_s=0.1)
    with show:
        time.sleep(0.4)
        show.iteration(2, 12.5)
        time.sleep(0.4)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("  chunk 1: before the first iteration, ")
    assert lines[-1].startswith("  chunk 1: iteration 2: chi-square 12.5, ") and lines[-1].endswith(" s")
    assert 4 <= len(lines) <= 9
    time.sleep(0.3)
    assert not capsys.readouterr().err


def test_short_solves_say_no_more_than_before(capsys):
    with Progress(False) as show:
        show.iteration(1, 3.0)
    assert not capsys.readouterr().err
