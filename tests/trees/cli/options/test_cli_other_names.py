"""Options by the names that they have in other programs: the message says what does the same here."""

import pytest


@pytest.mark.parametrize(
    "name, option, says",
    [
        ("calibrate", "--spw", "Did you mean '--ddid'?"),
        ("calibrate", "--refant", "Did you mean '--reference'?"),
        ("calibrate", "--uvrange", "(Did you mean one of: '--uvmax', '--uvmin'?)"),
        ("calibrate", "--max_iterations", "Did you mean '--iterations'?"),
        ("calibrate", "--solint", "an interval is part of a term, e.g. --term"),
        ("calibrate", "--gaintype", "a kind is part of a term, e.g. --term"),
        ("calibrate", "--datacolumn", "Did you mean '--data-column'?"),
        ("image", "--datacolumn", "Did you mean '--column'?"),
        ("apply", "--gaintable", "Did you mean '--solutions'?"),
        ("calibrate", "--skie", "'--sky'"),  # as ever
    ],
)
def test_what_does_the_same_is_said(command, name, option, says):
    result = command(name, "x.ms", option, "1", code=2)
    assert f"No such option '{option}'" in " ".join(result.output.split())
    assert says in " ".join(result.output.split())


def test_options_that_a_command_does_not_have_are_not_offered(command):
    assert "--ddid" not in command("info", "--spw", "1", code=2).output
    assert "part of a term" not in command("apply", "x.ms", "--solint", "1", code=2).output
