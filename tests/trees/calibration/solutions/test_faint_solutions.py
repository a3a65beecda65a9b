"""Solutions without signal are flagged where that is asked for, and others are not."""

import numpy as np
import pytest
from planted_chains import N_ANTENNA, SKY, diagonal

from rimetree import calibration
from rimetree.calibration import CalibrationError, CalibrationOptions, parse_terms
from rimetree.calibration.solutions.faint_solutions import signal_over_noise, without_faint

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


def test_a_delay_has_the_signal_of_the_gain_that_the_same_data_tell(made_term):
    """Of phases with errors of 0.1 rad in n channels or times: the error of a slope by least squares."""
    n, error = 400, 0.1
    for kind, quantity, axis in (("delay", "clock", "frequency"), ("rate", "rate", "time")):
        term = made_term(kind, quantities=(quantity,), name="K")
        width = term.frequency_width_hz[0] if axis == "frequency" else term.time_width_s[0]
        place = width * ((np.arange(n) + 0.5) / n - 0.5)
        per_unit = 2 * np.pi * place * (1.0 if axis == "frequency" else 1.4e9)
        term.sigma[quantity][...] = error / np.sqrt((per_unit**2).sum())
        expected = np.sqrt(n) / error  # of the phase
        assert signal_over_noise(term)[0, 0, 0, 0] == pytest.approx(expected, rel=1e-4)


def test_what_is_not_known_or_held_is_not_flagged(made_term):
    term = made_term("full", ("00", "01", "10", "11"), name="F")
    term.sigma["amplitude"][0] = np.nan
    term.sigma["amplitude"][2] = 0.0
    term.sigma["amplitude"][3] = 10.0
    flag = without_faint(term, 3.0).flag
    np.testing.assert_array_equal(flag[[0, 2]], term.flag[[0, 2]])
    assert flag[3][..., [0, 3]].all()  # amplitudes of about 1
    np.testing.assert_array_equal(flag[3][..., [1, 2]], term.flag[3][..., [1, 2]])
    # Errors that are off by a factor of 20.
    assert without_faint(term, 5.0, 400.0).flag[1][..., [0, 3]].sum() > term.flag[1][..., [0, 3]].sum()
