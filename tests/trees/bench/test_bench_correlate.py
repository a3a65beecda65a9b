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
    """C2: eight operations for a product and sample."""
    monkeypatch.setattr(correlator, "_fastest", lambda *_: (2.0, 4.0))
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


@pytest.mark.parametrize(("format", "width"), [("chime", 1), ("int8", 2)])
def test_bytes_are_those_of_all_inputs(monkeypatch, format, width):
    """C11: as many bytes come in for a sample of a channel as there are inputs, beside the operations on them."""
    monkeypatch.setattr(correlator, "_fastest", lambda *_: (2.0, 4.0))
    case = bench.measure_correlator(format, 48, seconds=0.01)
    assert case["bytes_per_second"] == width * 48 * case["channel_samples_per_second"]
    assert case["operations_per_second"] / case["bytes_per_second"] == 4 * 49 / width
    printed = CliRunner().invoke(cli, ["bench", "correlate", "--inputs", "48", "--format", format, "--seconds", "0.05"])
    columns, line = [one.split() for one in printed.output.splitlines()[-2:]]
    assert columns[-2:] == ["samples/s", "bytes/s"]
    assert float(line[-1]) == pytest.approx(width * 48 * float(line[-2]), rel=0.01)


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """The record of `bench correlate --chain` on one core."""
    file = tmp_path_factory.mktemp("chain") / "figures.json"
    options = ["--chain", "--seconds", "0.3", "--threads", "1", "--json", str(file)]
    done = CliRunner().invoke(cli, ["bench", "correlate", *options])
    assert done.exit_code == 0, done.output
    return json.loads(file.read_text())


def test_the_chain_is_the_mwa_s(chain):
    """M12: 64 inputs, 1.28 MHz, 128 channels: 21.3e9 and 2.9e9 operations and 163.84 MB a second."""
    plain, bank = chain["cases"]
    assert (plain["inputs"], plain["channels"], plain["taps"], bank["taps"]) == (64, 128, 1, 4)
    operations = plain["operations_per_second_of_data"]
    assert operations["products"] == pytest.approx(2.66e9 * 8, rel=0.002)
    assert operations["transforms"] == pytest.approx(2.9e9, rel=0.02)
    assert plain["bytes_per_second"] == pytest.approx(plain["times_real_time"] * 163.84e6)


def test_a_core_is_used_well_enough_for_real_time(chain):
    """M12: a core whose peak is 1.2e11 operations a second keeps up, even without dot products of bytes.

    Peak and chain are of the same run and by processor time, so that neighbours slow both down.
    """
    plain, bank = chain["cases"]
    peak = chain["machine"]["peak_operations_per_second_of_a_core"]["single"]
    for case, share in ((plain, 0.2), (bank, 0.14)):
        done = case["times_real_time_per_core"] * sum(case["operations_per_second_of_data"].values())
        assert done > share * peak, f"{case['taps']} taps: {done / peak:.2f} of the peak"
