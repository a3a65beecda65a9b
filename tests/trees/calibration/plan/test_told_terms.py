"""Terms of which the correlations of a set, or the polarisation of its sky, tell nothing."""

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationError, CalibrationOptions, ModelColumns, parse_terms
from rimetree.calibration.errors import NothingUsableError

CENTRE = (0.93, -0.485)
ANGLE = np.array([0.0, 0.1, -0.15, 0.2, 0.05, -0.1, 0.12])


def sky_of(*stokes):
    return rt.sky.SkyModel(
        [
            rt.sky.Source(f"s{k}", 0.93 + 0.004 * k, -0.485 + 0.003 * k, own, patch=f"p{k}")
            for k, own in enumerate(stokes)
        ]
    )


PLAIN = sky_of((60.0, 0, 0, 0), (25.0, 0, 0, 0))
Q_ONLY = sky_of((60.0, 6.0, 0, 0), (25.0, 0, 0, 0))
CROSSED = sky_of((60.0, 6.0, -9.0, 3.0), (25.0, 0, 5.0, 0), (30.0, 5.0, 0, 2.0))


@pytest.fixture
def fitted(tmp_path, planted, observe):
    """fitted(correlations, sky, terms, jones): the report on data that antennas with jones(antenna) see."""

    def fit(correlations, sky, terms, jones=lambda _: np.eye(2), column=False, **options):
        path = planted(jones, sky, slots=4, channels=4, noise_jy=0.1, correlations=correlations)
        if column:
            observe(path, sky, CENTRE, lambda *a: np.broadcast_to(np.eye(2), (4, 4, 2, 2)), column="MODEL_DATA")
        model = ModelColumns({"all": "MODEL_DATA"}) if column else sky
        options = CalibrationOptions(overwrite=True, reference="ANT-0", **options)
        return calibration.calibrate(path, model, parse_terms(terms), tmp_path / "s.h5", options)

    return fit


@pytest.mark.parametrize(("correlations", "crossed"), [("XX YY", "XY and YX"), ("RR LL", "RL and LR")])
@pytest.mark.parametrize("sky", [PLAIN, CROSSED], ids=["plain", "crossed"])
@pytest.mark.parametrize("terms", [["X: crosshand"], ["G: diag", "X: crosshand"]])
def test_a_phase_between_the_feeds_wants_crossed_hands(fitted, tmp_path, correlations, crossed, sky, terms):
    """It ended in "without data", after all else had been solved for."""
    with pytest.raises(CalibrationError, match=f"crosshand phase needs {crossed}; .*a.ms has {correlations}") as said:
        fitted(correlations, sky, terms)
    assert not isinstance(said.value, NothingUsableError)
    assert not list(tmp_path.glob("s.h5*"))


@pytest.mark.parametrize("correlations", ["RR LL", "RR RL LR LL"])
@pytest.mark.parametrize(("kind", "instead"), [("rotation", "phase"), ("faraday", "a phase in each channel")])
def test_rotations_are_of_linear_feeds(fitted, correlations, kind, instead):
    """Of circular feeds a matrix of sines and cosines is nothing that antennas do: it had been solved for."""
    with pytest.raises(CalibrationError, match=f"rotation turns linear feeds, .* are circular, .* solve for {instead}"):
        fitted(correlations, CROSSED, ["G: scalar", f"T: {kind}"])


@pytest.mark.parametrize("correlations", ["XX YY", "RR LL"])
@pytest.mark.parametrize("kind", ["leakage", "rotation", "faraday", "full"])
def test_what_mixes_feeds_wants_crossed_hands_or_a_sky_that_has_some(fitted, correlations, kind):
    if kind in ("rotation", "faraday") and correlations == "RR LL":
        pytest.skip("circular feeds have none")
    with pytest.raises(
        CalibrationError, match=rf"a ({kind}|full matrix|Faraday rotation) needs .*a.ms has {correlations}"
    ) as said:
        fitted(correlations, PLAIN, ["G: scalar", f"T: {kind}"])
    assert ("solve for diag" if kind == "full" else "leave the term out") in str(said.value)


@pytest.mark.parametrize(
    "stokes", [[(60.0, 0, 6.0, 0)], [(60.0, 0, 9.0, 0), (25.0, 0, 5.0, 0)], [(60.0, 6.0, -9.0, 3.0), (25.0, 0, 5.0, 0)]]
)
@pytest.mark.parametrize("what", ["F: full", "F: full, per patch"])
def test_full_matrices_of_parallel_hands_want_a_sky_of_three_ways(fitted, stokes, what):
    """Either row could be turned by any angle: what is off the diagonal had been anything, and was not flagged."""
    why = r"polarised in less than three ways, a full matrix needs XY and YX; .* solve for diag"
    with pytest.raises(CalibrationError, match=why):
        fitted("XX YY", sky_of(*stokes), [what])


def test_full_matrices_of_parallel_hands_on_a_sky_of_three_ways(fitted):
    """Rows are found but for a phase of each."""
    rng = np.random.default_rng(3)
    planted = np.eye(2) + 0.2 * (rng.normal(size=(7, 2, 2)) + 1j * rng.normal(size=(7, 2, 2)))
    report = fitted("XX YY", CROSSED, ["F: full"], lambda antenna: planted[antenna])
    found = report.solutions[0]["F"].gain()[0, 0, :, 0]
    turn = np.einsum("prc,prc->r", planted, np.conj(found))
    np.testing.assert_allclose(found * (turn / abs(turn))[:, None], planted, atol=0.01)


def test_a_model_column_is_looked_at_as_a_sky_is(fitted):
    with pytest.raises(CalibrationError, match="a leakage needs XY and YX"):
        fitted("XX YY", PLAIN, ["D: leakage"], column=True)
    with pytest.raises(NothingUsableError, match="not determined by this sky: no source of the model has U or V"):
        fitted("XX XY YX YY", Q_ONLY, ["X: crosshand"], column=True)


@pytest.mark.parametrize("kind", ["rotation", "leakage"])
def test_a_polarised_sky_tells_them_without_crossed_hands(fitted, kind):
    """U and V come into XX and YY."""

    def jones(antenna):
        angle = ANGLE[antenna]
        if kind == "leakage":
            return np.array([[1, 0.1 * angle], [-0.1j * angle, 1]])
        return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    report = fitted("XX YY", CROSSED, [f"T: {kind}"], jones)
    assert report.usable and report.converged == 1
    found = report.solutions[0]["T"]
    if kind == "rotation":
        assert not report.flagged
        np.testing.assert_allclose(found.value["rotation"][0, 0, :, 0, 0], ANGLE, atol=5e-3)


@pytest.mark.parametrize(("correlations", "sky"), [("XX XY YX YY", Q_ONLY), ("RR RL LR LL", PLAIN)])
@pytest.mark.parametrize("terms", [["X: crosshand"], ["G: diag", "X: crosshand"], ["X: crosshand", "G: diag, 1slot"]])
def test_a_sky_without_crossed_hands_is_named(fitted, correlations, sky, terms):
    lacks = "U or V" if "XX" in correlations else "Q or U"
    with pytest.raises(NothingUsableError, match=f"not determined by this sky: no source of the model has {lacks}"):
        fitted(correlations, sky, terms)


@pytest.mark.parametrize("term", ["R: rotation, common *", "F: faraday, common *", "P: phase, common ANT-*"])
def test_what_all_antennas_share_wants_a_polarised_sky(fitted, term):
    with pytest.raises(NothingUsableError, match="not determined by this sky"):
        fitted("XX XY YX YY", PLAIN, ["G: diag", term])


@pytest.mark.parametrize("term", ["P: phase, scalar, common *", "T: tec, common *", "K: delay, common *, per patch"])
def test_a_phase_of_all_antennas_cancels(fitted, term):
    """It was "without data"."""
    with pytest.raises(CalibrationError, match="that all antennas share cancels on every baseline"):
        fitted("XX YY", CROSSED, ["G: diag", term])


def test_the_difference_of_feeds_that_all_share_is_told_by_a_polarised_sky(fitted):
    report = fitted("XX XY YX YY", CROSSED, ["P: phase, common *"], lambda _: np.diag([1, np.exp(0.3j)]))
    assert report.usable and not report.flagged
    np.testing.assert_allclose(report.solutions[0]["P"].value["phase"][0, 0, :, 0, 1], 0.3, atol=0.01)


def test_directions_that_are_not_polarised_are_flagged_for_that(fitted):
    """One of two patches is: the other's phase is not told, and says so."""
    sky = sky_of((60.0, 0, 0, 0), (25.0, 3.0, 5.0, 0))
    with pytest.warns(
        UserWarning, match=r"not determined by the sky of field 0, p0 \(no source of the model has U or V"
    ):
        report = fitted("XX XY YX YY", sky, ["X: crosshand, per patch"])
    assert report.flagged_of == {"X, p0": {"not determined by this sky": 7}}
    assert report.usable
    found = report.solutions[0]["X"]
    assert found.flag[0, 0, :, 0, 1].all() and not found.flag[0, 0, :, 1].any()
    np.testing.assert_allclose(found.value["phase"][0, 0, :, 1, 1], 0, atol=0.05)


@pytest.mark.parametrize("terms", [["R: rotation"], ["D: leakage"]])
def test_what_crossed_hands_do_tell_of_an_unpolarised_sky(fitted, terms):
    """Differences of rotations, and leakages relative to one antenna's."""
    report = fitted("XX XY YX YY", PLAIN, terms)
    assert report.usable and "not determined by this sky" not in report.flagged


@pytest.mark.parametrize(("correlations", "lacks"), [("XY YX", "U or V"), ("RL LR", "Q or U"), ("YX", "U or V")])
@pytest.mark.parametrize("terms", [["G: diag"], ["P: phase"], ["K: delay", "B: scalar, 1chan"]])
def test_crossed_hands_alone_tell_nothing_of_a_sky_without_any(fitted, correlations, lacks, terms):
    """It ended in "without data"."""
    with pytest.raises(NothingUsableError, match=f"no source .* has {lacks}, and .* has {correlations} alone"):
        fitted(correlations, PLAIN, terms)


def test_crossed_hands_alone_tell_what_they_can(fitted):
    """Phases on a polarised sky; leakages on any."""
    phases = fitted("XY YX", CROSSED, ["P: phase, scalar"], lambda a: np.exp(1j * ANGLE[a]) * np.eye(2)).solutions[0]
    np.testing.assert_allclose(phases["P"].value["phase"][0, 0, :, 0, 0], ANGLE, atol=0.01)
    leaks = fitted("XY YX", PLAIN, ["D: leakage"], lambda a: np.array([[1, ANGLE[a]], [0, 1]])).solutions[0]
    assert not leaks["D"].flag.all()


@pytest.mark.parametrize("terms", [["G: diag"], ["A: amplitude", "P: phase"], ["B: diag, 1chan", "G: diag, 1slot"]])
def test_gains_of_crossed_hands_alone_have_a_convention(fitted, terms):
    """All gains were ambiguous, as those of one feed can grow while those of the other shrink."""
    truth = np.stack([1 + ANGLE, 1.3 - ANGLE], axis=-1)  # of the products of both feeds
    sky = sky_of((60.0, 20.0, -30.0, 3.0), (25.0, -10.0, 15.0, 0))
    report = fitted("XY YX", sky, terms, lambda a: np.diag(truth[a]))
    assert report.converged == report.solves and not report.flagged
    every = [
        np.abs(term.value["amplitude"][:, :, :, 0]) for term in report.solutions[0].terms if "amplitude" in term.value
    ]
    found = np.prod(np.broadcast_arrays(*every), axis=0)
    wanted = truth * [1 / truth[0, 0], truth[0, 0]]
    np.testing.assert_allclose(found, np.broadcast_to(wanted, found.shape), atol=0.03)
