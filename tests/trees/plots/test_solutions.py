"""Plots of solutions: files of the kind asked for, with what they should show."""

import dataclasses

import numpy as np
import pytest

import rimetree as rt
from rimetree import plots
from rimetree.calibration import Solutions, TermSolutions
from rimetree.plots.solutions import _lines, _pages


def term(n_antenna=3, n_time=4, n_freq=3, quantities=("amplitude", "phase"), kind="diag", elements=("0", "1")):
    shape = (n_time, n_freq, n_antenna, 1, len(elements))
    rng = np.random.default_rng(0)
    return TermSolutions(
        "G", kind, elements, 5e9 + 60.0 * np.arange(n_time), np.full(n_time, 60.0),
        1e9 + 1e6 * np.arange(n_freq), np.full(n_freq, 1e6), tuple(f"A{i}" for i in range(n_antenna)), ("",),
        {q: rng.normal(size=shape) for q in quantities}, {q: np.full(shape, 0.1) for q in quantities},
        np.zeros(shape, bool),
    )  # fmt: skip


def test_formats(tmp_path):
    sets = [Solutions((term(20),))]
    assert plots.plot_solutions(sets, tmp_path / "a.png") == 4  # 2 quantities, 16 + 4 antennas
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a-2.png", "a-3.png", "a-4.png", "a.png"]
    assert (tmp_path / "a-4.png").read_bytes().startswith(b"\x89PNG")
    assert plots.plot_solutions(sets, tmp_path / "a.pdf", against="freq") == 4
    content = (tmp_path / "a.pdf").read_bytes()
    assert (content.startswith(b"%PDF") and content.count(b"/Type /Page\n") == 4) or b"/Count 4" in content
    assert plots.plot_solutions(sets, tmp_path / "a.html", antennas=["A1"]) == 2
    text = (tmp_path / "a.html").read_text()
    assert text.count("<img ") == 2 and "G: amplitude" in text and "phase (deg)" in text


def test_pages_have_few_artists_and_ticks():
    """They had one for each line and error bar, and ticks everywhere, and took some seconds each."""
    (_, figure), *_ = _pages([Solutions((term(16, n_freq=8),))], "time", None, None, None, None)
    panels = figure.axes
    assert len(panels) == 16
    for place in panels:
        assert len(place.lines) == 4 and not place.collections  # feeds: lines, and error bars
        x, y = place.lines[0].get_data()
        assert len(x) == len(y) == 8 * 5 and np.isnan(y[4::5]).all() and np.isfinite(y).sum() == 8 * 4
        assert np.isfinite(place.lines[1].get_ydata()).sum() == 2 * 8 * 4
    assert sum(place.xaxis.get_visible() for place in panels) == sum(place.yaxis.get_visible() for place in panels) == 4


def test_a_page_shows_nothing_of_the_page_before():
    """Pages with as many panels are drawn on the same axes."""
    one = term(20)
    sigma = {q: np.full(one.shape, 1e-5) for q in one.sigma}
    small = dataclasses.replace(one, value={q: 1e-3 * v for q, v in one.value.items()}, sigma=sigma)
    limits, figures = [], set()
    for title, figure in _pages([Solutions((one,)), Solutions((small,))], "time", None, None, None, None):
        places = [place for place in figure.axes if place.get_visible()]
        assert all(len(place.lines) == 4 for place in places) and len(places[0].get_legend().get_texts()) == 2
        limits.append((title, places[0].get_ylim(), [place.get_title() for place in places]))
        figures.add(id(figure))
    assert len(limits) == 8 and len(figures) == 2
    assert limits[2][1] == limits[6][1] == (-190, 190)
    assert limits[0][1][1] > 0.5 and 1e-4 < limits[4][1][1] < 0.01  # amplitudes: after phases limits are free again
    assert limits[0][2] == [f"A{k}" for k in range(16)] and limits[1][2] == [f"A{k}" for k in range(16, 20)]


def test_snapshots_are_plotted_against_antennas():
    one = term(20, n_time=1, n_freq=1)
    flag = one.flag.copy()
    flag[0, 0, 3, 0, 1] = True
    pages = list(_pages([Solutions((dataclasses.replace(one, flag=flag),))], None, None, None, None, None))
    assert [len(figure.axes) for _, figure in pages] == [1, 1]  # amplitude, phase
    (place,) = pages[0][1].axes
    assert [text.get_text() for text in place.get_xticklabels()] == [f"A{k}" for k in range(20)]
    x, y = place.lines[0].get_data()
    np.testing.assert_allclose(y[:20], one.value["amplitude"][0, 0, :, 0, 0])
    assert np.abs(x[:20] - np.arange(20)).max() < 0.5
    assert np.flatnonzero(np.isnan(place.lines[2].get_ydata()[:20])).tolist() == [3]


@pytest.mark.parametrize(("n_time", "n_freq", "along"), [(4, 3, "minutes"), (1, 3, "frequency"), (4, 1, "minutes")])
def test_by_default_plots_are_against_what_varies(n_time, n_freq, along):
    (_, figure), *_ = _pages([Solutions((term(4, n_time, n_freq),))], None, None, None, None, None)
    assert figure.axes[0].get_xlabel().startswith(along)


def test_lines_leave_out_what_is_flagged_and_are_relative_to_the_reference():
    one = term()
    flag = one.flag.copy()
    flag[2, 1, 0, 0, 0] = True
    one = dataclasses.replace(one, flag=flag)
    value, sigma = _lines(one, "phase", (0, 0, 0), "time", None)
    assert value.shape == (4, 3) and np.argwhere(np.isnan(value)).tolist() == [[2, 1]]
    wrapped = np.angle(np.exp(1j * one.value["phase"][:, :, 0, 0, 0]))
    np.testing.assert_allclose(value[0], np.degrees(wrapped[0]))
    np.testing.assert_allclose(sigma[0], np.degrees(0.1))
    relative, _ = _lines(one, "phase", (0, 0, 0), "freq", "A0")
    assert relative.shape == (3, 4) and np.nanmax(np.abs(relative)) == 0


def test_many_lines_become_their_mean():
    one = term(n_freq=20, quantities=("tec",), kind="tec", elements=("",))
    value, sigma = _lines(one, "tec", (1, 0, 0), "time", None)
    np.testing.assert_allclose(value[:, 0], one.value["tec"][:, :, 1, 0, 0].mean(axis=1))
    np.testing.assert_allclose(sigma[:, 0], 0.1 / np.sqrt(20))
    phases = dataclasses.replace(one, value={"phase": np.full(one.shape, np.pi)}, sigma={"phase": one.sigma["tec"]})
    assert np.abs(_lines(phases, "phase", (1, 0, 0), "time", None)[0]) == pytest.approx(180)


def test_a_direction_need_not_be_of_all_terms():
    whole = term(n_antenna=2, quantities=("phase",), kind="phase")
    north, south = (dataclasses.replace(whole, name=name, directions=(name,)) for name in ("north", "south"))
    titles = [title for title, _ in _pages([Solutions((whole, north, south))], None, None, None, ["north"], None)]
    assert [title.split(":")[0] for title in titles] == ["G", "north"]
    for terms, there in ((None, "north, south"), (["G"], "none")):
        with pytest.raises(rt.Error, match=f"there is no direction east; there are {there}"):
            list(_pages([Solutions((whole, north, south))], None, terms, None, ["east"], None))


def test_errors(tmp_path):
    sets = [Solutions((term(),))]
    for options, says in (
        ({"path": tmp_path / "a.gif"}, "must end in .png, .pdf, .html"),
        ({"against": "space"}, "time, freq or antenna"),
        ({"terms": ["X"]}, "no solutions of X"),
        ({"antennas": ["B9"]}, "no antenna B9"),
        ({"reference": "B9"}, "no antenna B9"),
    ):
        with pytest.raises(rt.Error, match=says):
            plots.plot_solutions(sets, **{"path": tmp_path / "a.png", **options})
    assert not list(tmp_path.iterdir())
