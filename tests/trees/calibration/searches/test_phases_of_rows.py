"""Phases that rows have in common are found whatever phase each row has by itself."""

import numpy as np
import pytest

from rimetree.calibration.searches.phases_of_rows import Rows

N_ROW, N_TIME = 30, 12


def rows(phase, noise=0.3, cells=None):
    """Rows of any phase, turned by a phase [time, freq]; rows have others where `cells` [time, freq] differ."""
    cells = np.zeros(phase.shape, int) if cells is None else cells
    rng = np.random.default_rng(3)
    own = np.exp(2j * np.pi * rng.random((N_ROW, cells.max() + 1)))[:, cells]
    real, imaginary = rng.normal(size=(2, N_ROW, *phase.shape)) * noise
    return Rows(own * np.exp(1j * phase) + real + 1j * imaginary)


def one_cell(n_freq):
    return np.zeros(N_TIME, int), np.zeros(n_freq, int)


@pytest.mark.parametrize("n_freq", [8, 1500])
def test_slopes(n_freq):
    """Also where neighbours are added, as there are many channels."""
    rate = 2 * np.pi * np.linspace(1.30e9, 1.36e9, n_freq)
    seen = rows(np.ones((N_TIME, 1)) * 20e-9 * rate)
    found = seen.found(one_cell(n_freq), (1, 1), [], rate, absolute=False)
    assert found[0, 0] == pytest.approx(20e-9, abs=0.1e-9)
    left = seen.without(one_cell(n_freq), found, rate).seen.mean(axis=1)
    assert np.abs(np.angle(left * np.conj(left.mean(axis=1, keepdims=True)))).max() < 0.7


def test_slopes_where_rows_differ_along_frequency():
    rate = 2 * np.pi * np.linspace(1.30e9, 1.36e9, 16)
    steady = np.zeros(N_TIME, int), np.repeat([0, 1], 8)
    seen = rows(np.ones((N_TIME, 1)) * 20e-9 * rate, cells=np.tile(steady[1], (N_TIME, 1)))
    assert seen.found(one_cell(16), (1, 1), [steady], rate, absolute=False)[0, 0] == pytest.approx(20e-9, abs=0.3e-9)


def test_phases_of_cells():
    """But for one of all cells."""
    true = np.random.default_rng(5).uniform(-np.pi, np.pi, N_TIME)
    cells = np.arange(N_TIME), np.zeros(4, int)
    found = rows(true[:, None] * np.ones(4)).found(cells, (N_TIME, 1), [], None, absolute=False)[:, 0]
    assert np.abs(np.angle(np.exp(1j * (found - true)) * np.exp(1j * true[0]))).max() < 0.2


def test_phases_of_which_none_is_open():
    true = np.random.default_rng(5).uniform(-np.pi, np.pi, N_TIME)
    cells = np.arange(N_TIME), np.zeros(4, int)
    seen = Rows(np.exp(1j * true[None, :, None]) * np.ones((1, 1, 4)))
    assert seen.found(cells, (N_TIME, 1), [], None, absolute=True)[:, 0] == pytest.approx(true)


@pytest.mark.parametrize("rate", [None, 2 * np.pi * np.linspace(1.30e9, 1.36e9, 16)])
def test_noise_has_nothing(rate):
    cells = (np.arange(N_TIME), np.zeros(16, int)) if rate is None else one_cell(16)
    real, imaginary = np.random.default_rng(5).normal(size=(2, N_ROW, N_TIME, 16))
    found = Rows(real + 1j * imaginary).found(cells, (cells[0].max() + 1, 1), [], rate, absolute=False)
    assert not found.any()


@pytest.mark.parametrize("rate", [None, 2 * np.pi * np.linspace(1.30e9, 1.36e9, 4)])
@pytest.mark.parametrize("absolute", [False, True])
def test_cells_without_data(rate, absolute):
    """Of two in time, of which the second has no bins and the first none with data."""
    found = Rows(np.zeros((N_ROW, N_TIME, 4), complex)).found(one_cell(4), (2, 1), [], rate, absolute=absolute)
    assert found.shape == (2, 1) and not found.any()
