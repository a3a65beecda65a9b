"""Between solutions phases go on as the antenna's do, however they are divided among phases, delays and rates."""

from dataclasses import replace

import numpy as np
import pytest

from rimetree.calibration import Solutions, TermSolutions
from rimetree.calibration.solutions.continued_phases import continued_phases

TIME_S = 5e9 + np.array([60.0, 300.0, 540.0, 780.0])
MIDDLE_HZ, WIDTH_HZ = 5e9, 16e6
ANTENNAS = ("A0", "A1", "A2")
at_s = 5e9 + np.linspace(0.0, 840.0, 57)


def term(name, kind, elements, tables, frequency_hz=(MIDDLE_HZ,), text="", flag=None):
    """Solutions of `tables` {quantity: [time, freq, antenna, element]}."""
    value = {q: np.asarray(table)[:, :, :, None] for q, table in tables.items()}
    shape = next(iter(value.values())).shape
    width = np.full(len(frequency_hz), WIDTH_HZ)
    return TermSolutions(
        name, kind, elements, TIME_S, np.full(4, 120.0), np.array(frequency_hz), width, ANTENNAS, ("",), value,
        {q: np.zeros(shape) for q in value}, np.zeros(shape, bool) if flag is None else flag, text,
    )  # fmt: skip


def delay_of(time_s):
    """[time, antenna, feed] of clocks that go as parabolas: by up to 5 turns at 5 GHz between solutions."""
    since = (time_s - 5e9)[:, None, None]
    rate = np.array([0.0, 2e-12, -1.5e-12])[:, None] * np.array([1.0, 1.1])
    return rate * since + np.array([0.0, 2e-15, -1.5e-15])[:, None] * since**2


def rate_of(time_s):
    return (
        np.array([0.0, 2e-12, -1.5e-12])[:, None] * np.array([1.0, 1.1])
        + 2 * np.array([0.0, 2e-15, -1.5e-15])[:, None] * ((time_s - 5e9)[:, None, None])
    )


def chain(*, flag=None, elements=("0", "1")):
    """Delays with errors of some turns at 5 GHz, rates, and what phases then are."""
    true = delay_of(TIME_S)[:, None]
    error = np.random.default_rng(1).normal(size=true.shape) * 0.4e-9
    phase = np.angle(np.exp(-2j * np.pi * MIDDLE_HZ * error))
    return Solutions(
        (
            term("K", "delay", ("0", "1"), {"clock": true + error}),
            term("R", "rate", ("0", "1"), {"rate": rate_of(TIME_S)[:, None]}),
            term("G", "diag", elements, {"amplitude": np.ones(phase.shape), "phase": phase}, flag=flag),
        )
    )


@pytest.mark.parametrize("antenna", [0, 1, 2])
def test_a_clock_that_goes_as_a_parabola(antenna):
    found, bad = chain().jones(ANTENNAS[antenna], at_s, [MIDDLE_HZ], method="linear")
    between = (at_s >= TIME_S[0]) & (at_s <= TIME_S[-1])
    expected = np.exp(2j * np.pi * MIDDLE_HZ * delay_of(at_s)[:, antenna])
    assert not bad.any()
    np.testing.assert_allclose(found[between, 0][:, [0, 1], [0, 1]], expected[between], atol=1e-6)


def test_over_a_solution_that_is_flagged():
    flag = np.zeros((4, 1, 3, 1, 2), bool)
    flag[1, :, 1] = True
    found, bad = chain(flag=flag).jones("A1", at_s, [MIDDLE_HZ], method="linear")
    late = at_s >= TIME_S[2]
    expected = np.exp(2j * np.pi * MIDDLE_HZ * delay_of(at_s)[:, 1])
    assert bad[np.abs(at_s - TIME_S[1]) < 100].all() and not bad[late].any()
    inside = late & (at_s <= TIME_S[-1])
    np.testing.assert_allclose(found[inside, 0][:, [0, 1], [0, 1]], expected[inside], atol=1e-6)


def test_solutions_themselves_stay_what_they_are():
    own = chain()
    at_solutions = [own.jones("A2", TIME_S, [MIDDLE_HZ - 5e6, MIDDLE_HZ], method=m)[0] for m in ("nearest", "linear")]
    np.testing.assert_allclose(*at_solutions, atol=1e-7)


def test_windows_that_are_solved_together_and_have_phases_of_their_own():
    """In each window its own gain counts, not one on the way to that of the next window; without a note of windows, or
    for a term of all windows, gains go over along frequency."""
    places = (MIDDLE_HZ, MIDDLE_HZ + 32e6)
    phase = np.zeros((4, 2, 3, 2))
    phase[:, 1] = 2.0
    tables = {"amplitude": np.ones(phase.shape), "phase": phase}
    near = [MIDDLE_HZ + 8e6, MIDDLE_HZ + 26e6]
    for text, windows, expected in (
        ("G: diag", "0 1", [0.0, 2.0]),
        ("G: diag, all windows", "0 1", [0.5, 1.625]),
        ("G: diag", "0", [0.5, 1.625]),
        ("", "", [0.5, 1.625]),
    ):
        gains = Solutions((term("G", "diag", ("0", "1"), tables, places, text),), provenance={"data_desc_ids": windows})
        found, _ = gains.jones("A1", at_s[:3], near, method="linear")
        np.testing.assert_allclose(np.angle(found[:, :, 0, 0]), np.broadcast_to(expected, (3, 2)), atol=1e-12)


def test_beside_delays_of_the_other_feed_alone():
    """As files of other programs may have them: they change nothing of the first feed."""
    gain = chain().terms[2]
    delay = term("K", "delay", ("1",), {"clock": np.full((4, 1, 3, 1), 1e-9)})
    both, alone = (Solutions(terms)._continued.get("G") for terms in ((delay, gain), (gain,)))
    assert alone is None
    np.testing.assert_array_equal(both[..., 0], np.unwrap(gain.value["phase"], axis=0)[..., 0])


def random_terms(directions, of_delays=None):
    """Delays and phases of some directions, or delays of others."""
    rng = np.random.default_rng(4)

    def one(name, kind, quantity, scale, own):
        value = scale * rng.normal(size=(4, 1, 3, len(own), 2))
        return TermSolutions(
            name, kind, ("0", "1"), TIME_S, np.full(4, 120.0), np.array([MIDDLE_HZ]), np.array([WIDTH_HZ]), ANTENNAS,
            own, {quantity: value}, {quantity: np.zeros(value.shape)}, np.zeros(value.shape, bool),
        )  # fmt: skip

    of_delays = directions if of_delays is None else of_delays
    return one("K", "delay", "clock", 1e-9, of_delays), one("G", "phase", "phase", 1.0, directions)


def of_direction(terms, d):
    return [
        replace(
            one, directions=("",), value={q: table[:, :, :, [d]] for q, table in one.value.items()},
            sigma={q: table[:, :, :, [d]] for q, table in one.sigma.items()}, flag=one.flag[:, :, :, [d]],
        )
        for one in terms
    ]  # fmt: skip


def test_phases_go_on_beside_delays_of_their_own_direction():
    terms = random_terms(("north", "south"))
    found = continued_phases(terms)["G"]
    for d in range(2):
        np.testing.assert_array_equal(found[:, :, :, [d]], continued_phases(of_direction(terms, d))["G"])
    assert not np.array_equal(found[:, :, :, 0], found[:, :, :, 1])


def test_phases_of_the_whole_sky_do_not_go_on_beside_delays_of_directions():
    assert continued_phases(random_terms(("",), of_delays=("north", "south"))) == {}


def test_delays_that_are_flagged_do_not_count():
    delays, phases = random_terms(("",))
    delays.flag[1, 0, 2] = delays.flag[3, 0, 1] = True
    values = []
    for flagged_s in (0.0, 1e-3):
        delays.value["clock"][delays.flag] = flagged_s
        values.append(continued_phases([delays, phases])["G"])
    np.testing.assert_array_equal(*values)
