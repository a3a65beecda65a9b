"""Solutions without signal are flagged where that is asked for, and others are not."""

from dataclasses import replace

import numpy as np
import pytest
from planted_chains import N_ANTENNA, SKY, diagonal

from rimetree import calibration
from rimetree.calibration import CalibrationError, CalibrationOptions, parse_terms
from rimetree.calibration.solutions.faint_solutions import faint

SILENT = 4


@pytest.mark.parametrize("noise_jy", [1.0, 30.0])  # weights say 1
@pytest.mark.parametrize(
    "terms",
    [["G: diag"], ["K: delay", "R: rate", "G: diag"], ["T: tec", "G: scalar"]],
    ids=lambda terms: " ".join(terms),
)
def test_an_antenna_without_signal(planted, tmp_path, terms, noise_jy):
    rng = np.random.default_rng(3)
    gains = np.exp(1j * rng.uniform(-3, 3, (N_ANTENNA, 1, 1, 1)))
    gains[SILENT] = 0
    path = planted(lambda a: diagonal(gains[a]), noise_jy=noise_jy)
    (found,) = _solutions(path, terms, tmp_path, min_snr=7.0)
    (every,) = _solutions(path, terms, tmp_path)
    for term in found.terms:
        others = np.delete(np.arange(N_ANTENNA), SILENT)
        assert term.flag[:, :, SILENT].all(), term.name
        assert not term.flag[:, :, others].any(), term.name
        assert not every[term.name].flag[:, :, SILENT].all()


def _solutions(path, terms, tmp_path, **options):
    out = tmp_path / "s.h5"
    calibration.calibrate(path, SKY, parse_terms(terms), out, CalibrationOptions(overwrite=True, **options))
    return calibration.read_h5parm(out)


def test_phases_alone_do_not_say_how_much_signal_there_is(planted, tmp_path):
    with pytest.raises(CalibrationError, match="min_snr wants a term with amplitudes"):
        _solutions(planted(lambda _: np.eye(2)), ["K: delay", "P: phase"], tmp_path, min_snr=3.0)


def test_what_turns_phases_is_judged_by_gains_of_the_same_data(made_term):
    """One gain of 4 minutes with 20 times its error: half of its signal in each half of that, by squares."""
    gain = made_term("diag").at_times(np.array([True, False, False, False]))
    whole = {"time_s": np.array([5e9 + 120.0]), "time_width_s": np.array([240.0])}
    gain = replace(gain, **whole, flag=np.zeros_like(gain.flag))
    gain.value["amplitude"][...], gain.sigma["amplitude"][...] = 1.0, np.sqrt(3) / 20  # 3 frequencies
    halves = {
        "time_s": 5e9 + np.array([60.0, 180.0, 400.0, 500.0]),
        "time_width_s": np.array([120.0, 120.0, 60.0, 60.0]),
    }
    phase = replace(made_term("phase", quantities=("phase",), name="P"), **halves)
    band = {"frequency_hz": 1.401e9 + 1e7 * np.arange(3), "frequency_width_hz": np.array([3e6, 1e6, 1e6])}
    delay = replace(made_term("delay", ("",), ("clock",), name="K"), **halves, **band)
    terms = {"G": gain, "P": phase, "K": delay}
    one = 20 / np.sqrt(3)  # of a feed, in one of three frequencies
    assert not faint(terms, 0.99 * one)["G"].any() and faint(terms, 1.01 * one)["G"].all()
    least = one / np.sqrt(2)
    np.testing.assert_array_equal(faint(terms, 0.99 * least)["P"].all(axis=(1, 2, 3, 4)), [False, False, True, True])
    assert not faint(terms, 0.99 * least)["P"][:2].any() and faint(terms, 1.01 * least)["P"].all()
    least = 20.0 / np.sqrt(2) * np.sqrt(2)  # of half the time, and of both feeds
    assert not faint(terms, 0.99 * least)["K"][:2, 0].any() and faint(terms, 1.01 * least)["K"].all()
    assert faint(terms, 0.99 * least)["K"][:, 1:].all()  # no gains there
    both = replace(gain, kind="scalar", elements=("",), flag=gain.flag[..., :1],
                   value={q: table[..., :1] for q, table in gain.value.items()},
                   sigma={q: table[..., :1] for q, table in gain.sigma.items()})  # fmt: skip
    least = one / 2  # half of the time, and of what both feeds tell together
    assert not faint({"G": both, "P": phase}, 0.99 * least)["P"][:2].any()
    assert faint({"G": both, "P": phase}, 1.01 * least)["P"].all()
    # Errors that are off by a factor of 2.
    assert not faint(terms, 0.49 * one, 4.0)["G"].any() and faint(terms, 0.51 * one, 4.0)["G"].all()


def test_what_is_not_known_held_or_off_the_diagonal_is_not_faint(made_term):
    term = made_term("full", ("00", "01", "10", "11"), name="F")
    term.sigma["amplitude"][0] = np.nan
    term.sigma["amplitude"][2] = 0.0
    term.sigma["amplitude"][3] = 10.0
    leakage = made_term("leakage", ("00", "01", "10", "11"), name="D")
    leakage.sigma["amplitude"][...] = 10.0
    found = faint({"F": term, "D": leakage, "P": made_term("phase", quantities=("phase",), name="P")}, 3.0)
    good = ~term.flag.any(axis=-1)
    assert not found["F"][[0, 2]][good[[0, 2]]].any() and not found["F"][..., [1, 2]].any()
    assert found["F"][3][..., [0, 3]].all() and not found["D"].any()
    assert not found["P"][[0, 2]][good[[0, 2]]].any() and found["P"][3].all()


def test_phases_of_directions_are_not_judged_by_gains_of_the_whole_sky(made_term):
    gain = made_term("diag")
    gain.sigma["amplitude"][...] = 10.0
    phase = made_term("phase", quantities=("phase",), name="P", directions=("north", "south"))
    found = faint({"G": gain, "P": phase}, 3.0)
    assert found["G"].all() and not found["P"].any()
