"""What a chunk takes in memory: the estimate grows as the problem does, and is that of the arrays that there are."""

import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationError, CalibrationOptions, parse_terms
from rimetree.machine import free_memory_bytes, memory_bytes

SKY = rt.sky.SkyModel(
    [
        rt.sky.Source("a", 0.93, -0.485, (60.0, 0.0, 0.0, 0.0), patch="middle"),
        rt.sky.Source("b", 0.935, -0.482, (25.0, 0.0, 0.0, 0.0), patch="side"),
    ]
)


@pytest.fixture
def needs(tmp_path):
    """A function: the need of the largest chunk for slots, channels and terms, on 21 baselines."""

    def need(slots, channels, *terms, **options):
        path = tmp_path / f"{slots}-{channels}.ms"
        if not path.exists():
            bands = rt.ms.Band.regular(1.3e9, 1e6 * channels, channels)
            rt.ms.create(
                path, "kat-7", phase_centre_rad=(0.93, -0.485), duration_s=10 * slots, integration_s=10, bands=bands
            )
        parsed, options = parse_terms(terms), CalibrationOptions(**options)
        (found,) = calibration.check(SKY, parsed, options, calibration.plan_groups(path, parsed, options))
        return found

    return need


def test_data_and_results_are_those_of_the_largest_chunk(needs):
    one = needs(8, 16, "G: diag")
    cells = 21 * 8 * 16
    assert one.data == cells * 4 * (8 + 4 + 1)  # column, weight and flag of four correlations
    assert one.results == cells * 4 * (16 + 4 + 8 + 4 + 16)  # data, weight, their flags, model
    for more in (needs(16, 16, "G: diag"), needs(8, 32, "G: diag")):
        assert (more.data, more.results) == (2 * one.data, 2 * one.results)
    divided = needs(16, 16, "G: diag, 8slots")
    assert (divided.data, divided.results) == (one.data, one.results)
    assert needs(8, 16, "G: diag", "dE: diag, per patch").results == cells * 4 * (16 + 4 + 8 + 4 + 2 * 16)
    assert one.total == one.data + one.results + one.equations


def test_results_of_some_baselines_at_a_time_suffice(needs, monkeypatch):
    one = needs(8, 16, "G: diag")
    monkeypatch.setattr("rimetree.calibration.memory._PORTION", one.results // 3)
    assert needs(8, 16, "G: diag").results == one.results // 3
    monkeypatch.setattr("rimetree.calibration.memory._PORTION", 1000)
    assert needs(8, 16, "G: diag").results == one.results // 21  # one baseline at least
    assert needs(8, 16, "G: diag").data == one.data


def test_equations_are_those_of_what_is_connected(needs):
    # 28 unknowns of 7 antennas; in 4 intervals apart, or connected by a term that has one.
    apart, connected = needs(8, 16, "G: diag, 2slots"), needs(8, 16, "G: diag, 2slots", "D: leakage")
    assert apart.equations < connected.equations
    unknowns = 4 * 28 + 28
    assert connected.equations > 3 * 8 * unknowns**2 > apart.equations
    whole, channels = (needs(8, 16, "G: diag", f"A: amplitude, {n}chan") for n in (16, 1))
    assert whole.equations < channels.equations


def test_matrices_that_are_mostly_empty_are_kept_so(needs):
    """A leakage connects the gains of 64 slots, which have nothing to do with each other: not a matrix of all pairs."""
    gains, both = needs(64, 4, "G: diag, 1slot"), needs(64, 4, "G: diag, 1slot", "D: leakage")
    unknowns = 64 * 28 + 28
    assert gains.equations < both.equations < 0.2 * 3 * 8 * unknowns**2
    elements = 64 * (28**2 / 2 + 28 * 28) + 28**2 / 2
    assert both.equations > 80 * elements


def test_what_is_too_much_is_refused(needs):
    need = needs(8, 16, "G: diag")
    needs(8, 16, "G: diag", memory_bytes=2 * need.total)
    with pytest.raises(CalibrationError, match="8 time slots of 21 baselines and 16 channels are solved together"):
        needs(8, 16, "G: diag", memory_bytes=need.total)
    assert needs(8, 16, "G: diag, 1slot", memory_bytes=need.total).total < need.total / 4


def test_free_memory_is_some_of_the_memory():
    assert 0 < free_memory_bytes() <= memory_bytes()
