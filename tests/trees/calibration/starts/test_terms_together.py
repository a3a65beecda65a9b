"""Terms in any chain, with values from anywhere, explain the data that they have made."""

import pytest
from planted_chains import POLARISED, SKY
from planted_pulls import PATCHES, PATCHES_SLOT_S, POLARISED_PATCHES

from rimetree.calibration.directions import joint_search
from rimetree.calibration.searches import chain_turns
from rimetree.calibration.starts.fewer_directions import BETTER_MAY_BE


@pytest.mark.parametrize("sky", [SKY, POLARISED], ids=["unpolarised", "polarised"])
@pytest.mark.parametrize(
    "terms",
    [
        ["K: delay"],
        ["K: delay, 1slot"],
        ["K: delay, 5slots", "P: phase"],
        ["S: scalar, 1slot", "K: delay"],
        ["G: diag, 1slot", "K: delay"],
        ["B: diag, 1chan", "K: delay", "G: diag, 1slot"],
        ["T: tec", "K: delay, 5slots"],
        ["S: scalar, 1slot, 4chan", "F: faraday"],
        ["S: scalar, 1slot", "R: rotation"],
        ["B: diag, 1chan", "K: delay, 1slot"],
        ["B: phase, 1chan", "T: tec, 5slots", "G: diag, 1slot"],
        ["K: delay, 5slots", "S: scalar, 1slot, 1chan"],
        ["S: scalar, 1chan", "T: tec, 1slot", "P: phase, 1slot"],
        ["G: diag", "R: rotation"],
        ["G: diag, 1slot", "R: rotation, 5slots, 4chans"],
        ["G: diag", "F: faraday, 1slot"],
        ["P: phase, 1chan", "F: faraday, 1slot"],
        ["K: delay, 1slot", "B: diag, 5slots, 1chan", "P: phase, 1slot, 4chans"],
        ["F: full, 1slot, 4chans", "T: tec, 5slots"],
        ["S: scalar, 5slots, 1chan", "K: delay", "T: tec"],
        ["D: leakage, 1slot, 1chan", "G: diag, 1slot", "K: delay"],
        ["R: rotation, 1slot", "G: diag"],
        ["F: faraday", "K: delay", "G: diag, 1slot"],
    ],
    ids="*".join,
)
def test_what_they_have_made(calibrated, terms, sky):
    """Delays of both feeds of a polarised sky had ended in wrong minima, "converged": what all antennas have of one
    feed against the other is told by crossed hands alone. Gains of slots had been taken for steady by the search, a
    bandpass for the same at all frequencies; of gains around a rotation the phase between the reference's feeds was
    held, which rotations tell. Delays and TEC beside several terms of any phases had not been found."""
    report = calibrated(terms, sky)
    assert report.converged == report.solves and not report.flagged
    assert report.noise_ratio == pytest.approx(1, abs=0.02)


def test_chains_of_too_many_unknowns_to_be_fitted_together(calibrated, monkeypatch):
    """As 64 antennas with a bandpass: what is found in turns is near enough for the fit itself."""
    monkeypatch.setattr(chain_turns, "_MOST_WORK", 0)
    monkeypatch.setattr(chain_turns, "_Antenna", None)
    report = calibrated(["B: diag, 1chan", "K: delay, 1slot"], SKY)
    assert report.converged == report.solves and report.noise_ratio == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(
    ("terms", "seed"),
    [
        (["T: tec", "K: delay, 1slot"], 4),
        (["T: tec, 5slots", "K: delay"], 1),
        (["K: delay, 5slots", "T: tec, 1slot"], 4),
    ],
)
def test_what_delays_and_tec_share(calibrated, terms, seed):
    """Each interval and feed by itself tells one of many pairs that differ by turns: with values of these seeds fits
    had ended with more than noise, "converged"."""
    report = calibrated(terms, SKY, seed)
    assert report.converged == report.solves and not report.flagged
    assert report.noise_ratio == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(
    ("terms", "sky", "seed"),
    [
        (["K: delay, 1slot", "S: scalar, 1slot", "G: diag, 4chans"], SKY, 0),
        (["K: delay", "T: tec, 5slots", "S: scalar, 4chans"], SKY, 0),
        (["T: tec, 1slot", "K: delay, 1slot", "P: phase, 1slot"], SKY, 0),
        (["T: tec, 1slot", "K: delay", "G: phase"], SKY, 1),
        (["K: delay, 1slot", "S: scalar, 4chans", "T: tec, 5slots"], POLARISED, 3),
    ],
    ids=lambda x: "*".join(x) if isinstance(x, list) else "",
)
def test_turns_beside_gains(calibrated, terms, sky, seed):
    """Gains take most of what a turn of a delay or a TEC changes; all unknowns of an antenna together tell the rest.
    Fits had ended 2 % above the noise and more, the first of these "converged". What all antennas have of one feed
    against the other is not what a TEC does."""
    report = calibrated(terms, sky, seed)
    assert report.converged == report.solves and not report.flagged
    assert report.noise_ratio == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(
    ("terms", "sky", "seed"),
    [
        (["G: diag", "F: faraday"], POLARISED, 2),
        (["P: phase, 5slots, 4chans", "F: faraday, 5slots"], POLARISED, 0),
        (["B: diag, 1chan", "F: faraday"], POLARISED, 0),
        (["K: delay", "F: faraday"], SKY, 1),
        (["K: delay", "F: faraday"], POLARISED, 0),
        (["T: tec, 5slots", "P: phase, 4chans", "F: faraday, 5slots"], POLARISED, 1),
        (["K: delay", "R: rotation, 1slot"], SKY, 0),
    ],
    ids=lambda x: "*".join(x) if isinstance(x, list) else "",
)
def test_diagonal_terms_outside_of_rotations(calibrated, terms, sky, seed):
    """Gains outside of rotations of a polarised sky had ended a turn off, 8 % above the noise and more, "converged":
    that of an antenna, or of the polarisation. Delays and TEC there had not been searched for: delays tell the sign of
    rotations."""
    report = calibrated(terms, sky, seed)
    assert report.converged == report.solves and not report.flagged
    assert report.noise_ratio == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(
    "terms",
    [
        ["D: leakage, 5slots, 4chans", "P: phase, 5slots, 1chan"],
        ["D: leakage", "K: delay"],
        ["P: phase, 1slot, 1chan", "D: leakage, 1slot, 4chans"],
        ["G: diag, 1slot", "D: leakage"],
        ["G: diag, 1slot", "D: leakage, 1chan"],
        ["K: delay", "G: diag, 1slot", "D: leakage, 1chan"],
        ["P: phase, 1slot", "F: full, 5slots, 1chan"],
    ],
    ids="*".join,
)
def test_leakages_beside_what_tells_the_reference(calibrated, terms):
    """What feeds do inside or outside of leakages changes within the intervals of these: no turn of all matrices
    leaves leakages what they are: those of the reference, or its phase between feeds, were held all the same, of an
    unpolarised sky; or a phase of leakages in each channel, where it is one for all that can be moved. Nor is there
    such a turn where phases that change stand outside of full matrices."""
    report = calibrated(terms, SKY)
    assert report.converged == report.solves and not report.flagged
    assert report.noise_ratio == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(
    "terms",
    [
        ["D: leakage", "G: diag, per patch"],
        ["D: leakage, 1chan", "P: phase, 1slot, per patch"],
        ["G: diag, 1slot", "D: leakage", "A: amplitude, per patch"],
    ],
    ids="*".join,
)
def test_leakages_of_the_whole_sky_around_terms_of_directions(calibrated, terms):
    """These are others in each direction, so that no turn of all matrices leaves leakages what they are: those of the
    reference were held all the same, of an unpolarised sky, and a fifth more than the noise was left, "converged"."""
    report = calibrated(terms, PATCHES, slot_s=PATCHES_SLOT_S)
    assert report.converged == report.solves and not report.flagged
    assert report.noise_ratio == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("correlations", ["XX XY YX YY", "RR RL LR LL"])
@pytest.mark.parametrize(
    "terms",
    [
        ["K: delay, per patch"],
        ["K: delay, 5slots, per patch"],
        ["S: scalar, 1slot", "K: delay, per patch"],
    ],
    ids="*".join,
)
def test_delays_of_both_feeds_of_polarised_directions(calibrated, terms, correlations):
    """What all antennas have of one feed against the other is told by crossed hands alone: it had been begun at 0, and
    fits had left ten times the noise, "converged"."""
    report = calibrated(terms, POLARISED_PATCHES, slot_s=PATCHES_SLOT_S, correlations=correlations)
    assert report.converged == report.solves and not report.flagged
    assert report.noise_ratio == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("seed", [1, 9])
def test_delays_of_directions_inside_gains(calibrated, seed):
    """Searches for all terms together had hardly moved gains' phases beside delays, and taken that for the lowest
    minimum: 10 % above the noise, "converged", in 15 of 72 of such data."""
    terms = ["G: diag", "K: delay, scalar, per patch"]
    report = calibrated(terms, POLARISED_PATCHES, seed, slot_s=PATCHES_SLOT_S, middle_hz=1.3e9)
    assert report.converged == report.solves and not report.flagged
    assert report.noise_ratio == pytest.approx(1, abs=0.02)


def test_phases_that_are_found_again_do_not_vouch_for_slopes(calibrated, monkeypatch):
    """Starts from random phases in part of the band, without slopes, end in one place: that counts once. It had counted
    as often as that was, and was "converged" for it."""
    search, often = joint_search._Search.from_anywhere, []

    def recorded(*what, **how):
        found = search(*what, **how)
        often.append(found.often)
        return found

    monkeypatch.setattr(joint_search._Search, "from_anywhere", recorded)
    calibrated(["G: diag", "K: delay, scalar, per patch"], PATCHES, slot_s=PATCHES_SLOT_S)
    assert often and max(often) == 1


@pytest.mark.parametrize(
    ("terms", "sky", "seed", "slot_s"),
    [
        (["K: delay", "R: rotation, 1slot"], SKY, 1, 10.0),
        (["K: delay, 1slot", "F: full, per patch"], PATCHES, 0, PATCHES_SLOT_S),
    ],
    ids=lambda x: "*".join(x) if isinstance(x, list) else "",
)
def test_no_more_than_noise_is_left_or_it_is_told(calibrated, terms, sky, seed, slot_s):
    """That neighbours are alike says it where chi-square says little; what parallel hands do not tell of feeds stays in
    doubt. These had "converged", 2 to 170 % above the noise."""
    report = calibrated(terms, sky, seed, slot_s=slot_s)
    assert report.noise_ratio < 1.012 or set(report.statuses) == {BETTER_MAY_BE}


@pytest.mark.parametrize("inside", ["T: tec, 1slot, per patch", "K: delay, scalar, 1slot, per patch"])
def test_directions_inside_a_bandpass(calibrated, inside):
    """Too many unknowns to be searched for together. Searches beside a bandpass that was not yet right had taken wrong
    turns in some slots, and another search was taken in all slots or in none: 3 to 7 % above the noise, "converged"."""
    report = calibrated(["B: diag, 1chan", inside], SKY, 1)
    assert report.converged == report.solves and not report.flagged
    assert report.noise_ratio == pytest.approx(1, abs=0.015)


def test_a_direction_is_not_without_signal_where_it_would_explain_the_data(calibrated):
    """It had not been found, and was said to be without signal, "converged", five times the noise."""
    report = calibrated(["B: diag, 1chan", "G: diag, 1slot", "T: tec, 5slots, per patch"], SKY, 2)
    assert "without signal" not in report.flagged
    assert report.noise_ratio < 1.02 or set(report.statuses) == {BETTER_MAY_BE}


@pytest.mark.parametrize("seed", [0, 1])
def test_turns_that_leakages_hide(calibrated, seed):
    """Crossed hands tell what all antennas have of one feed's delay against the other, and leakages are a large part of
    these: found some turns off, of which neighbouring channels tell little. Fits had ended 2 to 8 % above the noise."""
    report = calibrated(["T: tec, 5slots", "D: leakage, 4chans", "K: delay, 5slots"], POLARISED, seed)
    assert report.converged == report.solves and not report.flagged
    assert report.noise_ratio == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("seed", [13, 46])
def test_delays_of_two_feeds_with_a_phase_in_common(calibrated, seed):
    """Each feed had been searched for as if it had a phase of its own: in one slot of a hundred an antenna ended some
    turns off in both, "converged", and the noise of all was 2.6 and 3.1 times as large as it is."""
    report = calibrated(["S: scalar, 1slot", "K: delay, 1slot"], SKY, seed)
    assert report.converged == report.solves and not report.flagged
    assert report.noise_ratio == pytest.approx(1, abs=0.015)


@pytest.mark.parametrize("seed", [0, 5])
def test_quarters_of_a_turn_that_exchange_feeds(calibrated, seed):
    """By one more of all antennas amplitudes inside of a Faraday rotation look nearly the same with their feeds
    exchanged, of an unpolarised sky: 6 to 8 % above the noise, "converged"."""
    report = calibrated(["S: scalar", "F: faraday, 5slots", "A: amplitude, 1slot, 1chan"], SKY, seed)
    assert report.converged == report.solves and not report.flagged
    assert report.noise_ratio == pytest.approx(1, abs=0.015)


@pytest.mark.parametrize(
    ("terms", "sky", "seed"),
    [
        (["T: tec, per patch", "P: phase, 5slots, per patch"], PATCHES, 0),
        (["T: tec, per patch", "K: delay, scalar, 5slots, per patch"], POLARISED_PATCHES, 1),
        (["K: delay, scalar, 5slots, per patch", "P: phase, per patch"], PATCHES, 0),
        (["P: phase, scalar, per patch", "A: amplitude, 5slots, per patch"], PATCHES, 0),
    ],
    ids=lambda x: "*".join(x) if isinstance(x, list) else "",
)
def test_several_terms_of_directions(calibrated, terms, sky, seed):
    """Only the first had been searched for, on sums over the intervals of others: up to 30 times the noise, some
    "converged", and an IndexError."""
    report = calibrated(terms, sky, seed, slot_s=PATCHES_SLOT_S)
    assert report.converged == report.solves and not report.flagged
    assert report.noise_ratio == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("terms", [["D: leakage, 1slot", "F: full, per patch"], ["D: leakage, 1slot", "F: full"]])
def test_leakages_that_change_around_full_matrices(calibrated, terms):
    """No turn of all matrices of a slot leaves the others what they are: those of the reference were held in each slot
    all the same, of an unpolarised sky, with up to twice the noise, "converged"."""
    report = calibrated(terms, PATCHES, 1, slot_s=PATCHES_SLOT_S)
    assert report.converged == report.solves and not report.flagged
    assert report.noise_ratio == pytest.approx(1, abs=0.02)


def test_delays_of_polarised_directions_inside_leakages_are_in_doubt(calibrated):
    """Leakages of all channels are in the crossed hands by which these delays are searched for."""
    report = calibrated(["D: leakage", "K: delay, per patch"], POLARISED_PATCHES, 1, slot_s=PATCHES_SLOT_S)
    assert report.noise_ratio > 1.02
    assert {status for one in report.chunks for status in one.statuses} == {BETTER_MAY_BE}


@pytest.mark.parametrize(
    "terms",
    [["R: rotation", "G: diag"], ["T: tec, 1slot", "P: phase, 5slots, 4chans", "X: crosshand, 1chan"]],
    ids="*".join,
)
def test_searches_that_go_astray(calibrated, terms):
    """Gains inside of a rotation take each other's feed, which a polarised sky tells: a fit from unit matrices ends
    lower. What a crosshand turns is no phase of the reference."""
    report = calibrated(terms, POLARISED, seed=2)
    assert report.converged == report.solves and report.noise_ratio == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(
    ("terms", "seed"),
    [
        (["F: faraday", "A: amplitude, 1slot, 4chans"], 0),
        (["A: amplitude, 5slots, 1chan", "F: faraday, 5slots"], 0),
    ],
    ids=lambda x: "*".join(x) if isinstance(x, list) else "",
)
def test_amplitudes_of_feeds_are_not_taken_for_polarisation(calibrated, terms, seed):
    """By circular hands they look like it, and all antennas were found a turn off, 17 % above the noise,
    "converged"."""
    report = calibrated(terms, POLARISED, seed)
    assert report.converged == report.solves and not report.flagged
    assert report.noise_ratio == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("seed", [1, 3])
def test_amplitudes_do_not_end_negative(calibrated, seed):
    """Beside gains of a polarised sky some had, where the phase between the feeds was more than a quarter of a turn."""
    report = calibrated(["A: amplitude, 1slot, 1chan", "G: diag, 1slot"], POLARISED, seed)
    assert report.converged == report.solves and report.noise_ratio == pytest.approx(1, abs=0.02)


def test_a_crosshand_is_no_bandpass(calibrated):
    """It has a phase in each channel, but the same for all antennas: TEC is told by each time alone."""
    report = calibrated(["X: crosshand, 4chans", "T: tec, 5slots"], POLARISED)
    assert report.converged == report.solves and report.noise_ratio == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(
    "terms",
    [
        ["F: faraday, 1slot", "B: diag, 5slots, 4chans"],
        ["S: scalar, 1chan", "T: tec, 1slot", "R: rotation, 1slot"],
        ["A: amplitude, 5slots, 1chan", "T: tec", "F: faraday, 1slot"],
    ],
    ids="*".join,
)
def test_what_is_not_searched_for_is_in_doubt(calibrated, terms):
    """Gains of a polarised sky inside of rotations of short intervals; TEC beside a rotation that is known but for half
    a turn, which nothing else takes, or beside amplitudes, which had been taken for noise: these had "converged",
    whatever was left."""
    report = calibrated(terms, POLARISED)
    assert report.noise_ratio > 1.02
    assert report.statuses.get("ended in a minimum that may not be the lowest", 0) >= report.solves / 2
