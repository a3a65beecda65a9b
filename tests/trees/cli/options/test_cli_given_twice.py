"""Options that take one value and are given more often: of two sky models, or two frequencies, one was dropped."""


def test_options_that_are_given_twice_are_named(command, kat7, sky_file):
    twice = command("simulate", kat7, "--sky", sky_file, "--column", "A", "--column", "B", "--dry-run", "--dry-run")
    assert "warning: --column is given 2 times: only the last one counts" in twice.stderr
    assert "is given" not in command("simulate", kat7, "--sky", sky_file, "--dry-run").stderr
    bands = ("--spw", "1.4GHz:8MHz:8", "--spw", "1.8GHz:8MHz:4")  # an option of several values
    where = ("--telescope", "kat-7", "--phase-centre", "4h", "-30d", "--duration", "1min")
    assert "is given" not in command("make-ms", kat7.parent / "b.ms", *where, *bands).stderr
    inner = command("sky", "show", sky_file, "--freq", "1GHz", "--freq", "2GHz")  # a command in a command
    assert inner.stderr.count("--freq is given 2 times") == 1 and "1 GHz" not in inner.stdout
