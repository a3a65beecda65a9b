"""rimetree bench correlate: figures that go with products that are right."""

import json

import pytest
from click.testing import CliRunner

from rimetree import bench
from rimetree.bench import correlator
from rimetree.cli import cli


def test_it_prints_and_writes_figures(tmp_path):
    file = tmp_path / "figures.json"
    options = ["--inputs", "3", "--inputs", "20", "--format", "chime", "--seconds", "0.05", "--json", str(file)]
    done = CliRunner().invoke(cli, ["bench", "correlate", *options])
    assert done.exit_code == 0, done.output
    record = json.loads(file.read_text())
    assert record["format"] == "rimetree bench correlate 1"
    assert [case["inputs"] for case in record["cases"]] == [3, 20]
    assert all(case["operations_per_second"] > 0 for case in record["cases"])
    assert len([line for line in done.output.splitlines() if line.startswith("chime")]) == 2


def test_operations_are_those_of_all_products(monkeypatch):
    monkeypatch.setattr(correlator, "_best", lambda *_: (2.0, 4.0))
    case = bench.measure_correlator("int8", 5, seconds=0.01)
    # 15 products, each four multiplications and four additions a sample.
    assert case["operations_per_second"] * 2 == 15 * 8 * case["samples"]
    assert case["operations_per_processor_second"] * 4 == 15 * 8 * case["samples"]


def test_wrong_products_have_no_speed(monkeypatch):
    right = correlator.correlate
    wrong = lambda *a, strategy, **k: right(*a, strategy=strategy, **k) + (strategy != "pairs")  # noqa: E731
    monkeypatch.setattr(correlator, "correlate", wrong)
    with pytest.raises(bench.WrongAnswerError, match="chime, 4 inputs"):
        bench.measure_correlator("chime", 4, seconds=0.01)


def test_an_unknown_format_is_said():
    done = CliRunner().invoke(cli, ["bench", "correlate", "--format", "int9", "--inputs", "2"])
    assert done.exit_code != 0 and "format is 'int9'" in f"{done.output}{done.exception}"


def test_the_chain_is_held_against_real_time(tmp_path):
    """M12, C11: 64 inputs, 1.28 MHz, 128 channels, channelised and correlated; what comes out is NumPy's."""
    file = tmp_path / "figures.json"
    options = ["--chain", "--seconds", "0.01", "--threads", "1", "--json", str(file)]
    done = CliRunner().invoke(cli, ["bench", "correlate", *options])
    assert done.exit_code == 0, done.output
    plain, bank = json.loads(file.read_text())["cases"]
    assert (plain["inputs"], plain["channels"], plain["taps"], bank["taps"]) == (64, 128, 1, 4)
    assert plain["times_real_time"] > 0 and plain["bytes_per_second"] == pytest.approx(
        plain["times_real_time"] * 64 * 2 * 1.28e6
    )
