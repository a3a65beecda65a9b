"""Phases of several directions are found from anywhere, and one without signal does not take the others with it."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from patch_sky import patch_sky

import rimetree as rt
from rimetree.calibration import SolverOptions
from rimetree.calibration.session import Session
from rimetree.calibration.starts.fewer_directions import BestFit, best_fit, with_more_starts
from rimetree.calibration.starts.starting_values import StartingValues
from rimetree.calibration.terms.kinds import TEC_PHASE_HZ
from rimetree.cli import cli

N, N_TIME, N_CHANNEL = 9, 12, 12
FREQUENCY_HZ = 1.3e9 + 2e6 * (np.arange(N_CHANNEL) - (N_CHANNEL - 1) / 2)
FLUXES_JY, SKY = patch_sky(3)


def antennas():
    """Nine of MeerKAT, up to its longest baselines."""
    every, pick = rt.telescopes.get("meerkat"), np.linspace(0, 63, N).astype(int)
    return replace(
        every,
        antenna_names=[f"ANT-{k}" for k in range(N)],
        ecef_m=every.ecef_m[pick],
        dish_diameter_m=every.dish_diameter_m[pick],
    )


@pytest.fixture
def calibrated(solved):
    """calibrated(terms, phases, gains=None, absent=(), successive=False, noise_jy=1, scale=1): the report on data with
    noise, times a scale; phases {patch: [antenna, channel]}, gains [antenna, interval of 6 slots, feed]."""

    def run(terms, phases, gains=None, absent=(), successive=False, noise_jy=1.0, scale=1.0):
        def jones(antenna):
            if gains is None:
                return np.sqrt(scale) * np.eye(2)
            return np.einsum("tf,fg->tfg", np.repeat(gains[antenna], 6, axis=0), np.eye(2))[:, None]

        def of_patch(antenna, patch):
            phasor = np.exp(1j * phases[patch][antenna]) * (patch not in absent)
            return phasor[:, None, None] * np.eye(2)

        options = {"solver": SolverOptions(successive=successive)}
        data = {"telescope": antennas(), "slots": N_TIME, "channels": N_CHANNEL, "noise_jy": noise_jy * scale}
        return solved(terms, jones, SKY, of_patch, options=options, **data)[0]

    return run


def planted(kind, rng):
    """{patch: [antenna, channel] phases} of the reference 0."""
    of_antenna = {patch: rng.uniform(-1, 1, (N, 1)) * (np.arange(N) > 0)[:, None] for patch in FLUXES_JY}
    scale = {"phase": np.pi, "delay": 40e-9 * np.pi * FREQUENCY_HZ, "tec": 0.1 * TEC_PHASE_HZ / FREQUENCY_HZ}[kind]
    return {patch: scale * own + np.zeros(N_CHANNEL) for patch, own in of_antenna.items()}


@pytest.mark.parametrize("absent", [(), ("p1",), ("p0",), ("p1", "p2")])
@pytest.mark.parametrize("kind", ["phase", "tec"])
def test_directions_without_signal_are_named_and_the_others_are_right(calibrated, kind, absent):
    """Their phases fitted what the others had left, so that all were wrong by radians, and the fit had converged."""
    phases = planted(kind, np.random.default_rng(4))
    report = calibrated([f"dE: {kind}, per patch"], phases, absent=absent)
    assert report.converged == report.solves and report.noise_ratio == pytest.approx(1, abs=0.02)
    assert list(report.flagged_of) == [f"dE, {patch}" for patch in absent]
    assert all(set(reasons) == {"without signal"} for reasons in report.flagged_of.values())
    assert sorted(report.chunks[0].absent) == sorted(absent)
    found = report.solutions[0]
    for patch in FLUXES_JY:
        jones, bad = zip(
            *(found.jones(f"ANT-{a}", [5e9], FREQUENCY_HZ, direction=patch) for a in range(N)), strict=True
        )
        if patch in absent:
            assert np.all(bad)
            continue
        difference = np.array(jones)[:, 0, :, 0, 0] * np.exp(-1j * phases[patch])
        assert not np.any(bad) and np.abs(np.angle(difference)).max() < 0.02


def test_the_others_are_subtracted(calibrated, tmp_path):
    """Data were flagged where a direction had no solution: all of them."""
    calibrated(["dE: phase, per patch"], planted("phase", np.random.default_rng(4)), absent=("p1",))
    path, sky = str(tmp_path / "a.ms"), tmp_path / "a.skymodel"
    rt.sky.write(SKY, sky)
    options = ["--solutions", str(tmp_path / "sol.h5"), "--sky", str(sky), "--subtract", "--no-correct"]
    shown = CliRunner().invoke(cli, ["apply", path, *options])
    assert shown.exit_code == 0 and "all solutions of p1 are flagged" in shown.output
    assert "newly flagged" not in shown.output or "0 % are newly flagged" in shown.output
    (tile,) = rt.ms.tiles(path, ["CORRECTED_DATA"], time_slots=100)
    assert np.std(tile["columns"]["CORRECTED_DATA"]) == pytest.approx(np.sqrt(2), rel=0.02)


@pytest.mark.parametrize("successive", [False, True])
def test_tec_of_directions_inside_gains_of_any_phase(calibrated, successive):
    """Terms of the whole sky first, then directions: in turns this had ended with 59 % of the data's power left."""
    rng = np.random.default_rng(5)
    gains = rng.uniform(0.7, 1.3, (N, 2, 2)) * np.exp(1j * rng.uniform(-np.pi, np.pi, (N, 2, 2)))
    terms = ["G: diag, 6slots", "dE: tec, 6slots, per patch"]
    report = calibrated(terms, planted("tec", rng), gains, successive=successive)
    assert report.converged == report.solves == 2 and not report.flagged
    assert report.noise_ratio == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("absent", ["p0", "p1", "p2"])
def test_a_direction_without_signal_inside_gains(calibrated, absent):
    """Gains and phases fitted a direction that was not there: "converged", with residuals of 6.9 times the noise. If it
    is the one that others refer to, another one takes its place."""
    rng = np.random.default_rng(1)
    gains = rng.uniform(0.7, 1.3, (N, 2, 2)) * np.exp(1j * rng.uniform(-np.pi, np.pi, (N, 2, 2)))
    terms = ["G: diag, 6slots", "dE: phase, 6slots, per patch"]
    report = calibrated(terms, planted("phase", rng), gains, absent=(absent,))
    assert report.converged == report.solves == 2 and report.noise_ratio == pytest.approx(1, abs=0.02)
    assert report.flagged_of == {f"dE, {absent}": {"without signal": 4 * N}}


@pytest.mark.parametrize("seed", [5, 6])
def test_a_direction_without_signal_of_tec_inside_gains(calibrated, seed):
    """While gains are not known, directions count by how much of their model has been found; gains that are known
    better then find the TEC of more antennas."""
    rng = np.random.default_rng(seed)
    gains = rng.uniform(0.7, 1.3, (N, 2, 2)) * np.exp(1j * rng.uniform(-np.pi, np.pi, (N, 2, 2)))
    terms = ["G: diag, 6slots", "dE: tec, 6slots, per patch"]
    report = calibrated(terms, planted("tec", rng), gains, absent=("p1",))
    assert report.converged == report.solves == 2 and report.noise_ratio < 1.1
    assert report.flagged_of == {"dE, p1": {"without signal": 2 * N}}


@pytest.mark.parametrize("absent", ["p0", "p2"])
def test_the_dead_direction_of_delays_is_the_one_that_is_named(calibrated, absent):
    """Others were, as their delays had been led astray: with residuals of 8 times the noise."""
    report = calibrated(["dE: delay, 6slots, per patch"], planted("delay", np.random.default_rng(1)), absent=(absent,))
    assert report.converged == report.solves == 2 and report.noise_ratio == pytest.approx(1, abs=0.02)
    assert report.flagged_of == {f"dE, {absent}": {"without signal": 4 * N}}


@pytest.mark.parametrize(("only", "scale"), [("", 1.0), (" p1 p2", 1e3)])
@pytest.mark.parametrize("kind", ["phase", "tec", "delay"])
def test_data_without_any_of_the_directions(calibrated, kind, only, scale):
    """Noise alone: "values flagged: none", as what is found was compared with other directions only."""
    phases = planted(kind, np.random.default_rng(4))
    report = calibrated([f"dE: {kind}, per patch{only}"], phases, absent=list(FLUXES_JY), noise_jy=5.0, scale=scale)
    named = only.split() or list(FLUXES_JY)
    assert not report.usable and {key: set(value) for key, value in report.flagged_of.items()} == {
        f"dE, {patch}": {"without signal"} for patch in named
    }


@pytest.mark.parametrize("absent", [("p1",), ("p1", "p2")])
@pytest.mark.parametrize("term", ["diag", "scalar", "full", "diag, 6slots", "amplitude"])
def test_gains_of_directions_without_signal(calibrated, term, absent):
    """They followed the noise, so that the fit did not end within 100 iterations."""
    phases = planted("phase", np.random.default_rng(4))
    if term == "amplitude":
        phases = {patch: 0 * phase for patch, phase in phases.items()}
    report = calibrated([f"dE: {term}, per patch"], phases, absent=absent, noise_jy=5.0)
    assert report.converged == report.solves and report.noise_ratio == pytest.approx(5, rel=0.02)
    assert {key: set(value) for key, value in report.flagged_of.items()} == {
        f"dE, {patch}": {"without signal"} for patch in absent
    }
    gain = report.solutions[0]["dE"].gain()
    for d, patch in enumerate(report.solutions[0]["dE"].directions):
        if patch not in absent:
            turned = gain[0, 0, :, d, 0, 0] * np.conj(np.exp(1j * phases[patch][:, 0]))
            np.testing.assert_allclose(turned * np.exp(-1j * np.angle(turned[0])), 1, atol=0.1)


def test_gains_of_no_direction_with_signal(calibrated):
    report = calibrated(
        ["dE: diag, per patch"], planted("phase", np.random.default_rng(4)), absent=list(FLUXES_JY), noise_jy=5.0
    )
    assert not report.usable and report.flagged == {"without signal": 3 * 2 * 2 * N}  # real and imaginary parts


@pytest.mark.parametrize("kind", ["phase", "tec", "delay", "diag"])
def test_faint_directions_with_signal_are_not_flagged(calibrated, kind):
    """More and more noise: as long as solutions are right within half a radian they are not flagged, whatever is found
    of others; where noise is all that there is, all are."""
    phases = planted("phase" if kind == "diag" else kind, np.random.default_rng(2))
    if kind == "tec":  # so that no TEC at all is wrong
        phases = {patch: 6 * phase for patch, phase in phases.items()}
    for noise_jy in (10.0, 40.0, 120.0, 360.0, 3000.0):
        report = calibrated([f"dE: {kind}, per patch"], phases, noise_jy=noise_jy, scale=30.0)
        found, flag = report.solutions[0], report.solutions[0]["dE"].flag
        for d, patch in enumerate(found["dE"].directions):
            jones = [found.jones(f"ANT-{a}", [5e9], FREQUENCY_HZ, direction=patch)[0] for a in range(N)]
            error = np.angle(np.array(jones)[:, 0, :, 0, 0] * np.exp(1j * (phases[patch][0] - phases[patch])))
            right = np.sqrt(np.mean(error**2)) < 0.5
            assert not (right and flag[:, :, :, d].any()), (noise_jy, patch)
            assert noise_jy > 10 or (right and not flag.any())
    assert not report.usable


def test_a_faint_model_that_noise_has_many_times_is_not_the_measure(calibrated, monkeypatch):
    """It made the bright direction seem absent."""
    faint = rt.sky.SkyModel([replace_flux(one, 0.02) if one.patch == "p1" else one for one in SKY])
    monkeypatch.setitem(globals(), "SKY", faint)
    report = calibrated(["dE: phase, per patch"], planted("phase", np.random.default_rng(4)), noise_jy=5.0)
    assert report.flagged_of == {"dE, p1": {"not detected": 2 * N}}


def replace_flux(source, flux_jy):
    return rt.sky.Source(source.name, source.ra_rad, source.dec_rad, (flux_jy, 0, 0, 0), patch=source.patch)


def ended(chi_square, floor=1.0, share=None):
    """(where a fit of 110 equations for 10 unknowns began, what it says)."""
    group = SimpleNamespace(equations=110, rank=10, converged=True)
    begin = StartingValues({}, share=share or {}, floor=floor)
    return begin, SimpleNamespace(groups=[group], chi_square=[1e6, chi_square], noise=1.0)


def test_fewer_directions_are_tried_only_where_a_fit_is_poor():
    tried = []

    def fit(without):
        tried.append(without)
        return ended(1000.0 if not without else 102.0, floor=10.0)

    assert not best_fit(fit, ["a", "b"]).doubtful and tried == [frozenset()]  # as good as any factors would be
    assert best_fit(fit, []).solved.chi_square[-1] == 1000.0


@pytest.mark.parametrize(
    ("looks_so", "floor", "count"),
    [(True, np.nan, 1), (False, np.nan, 3), (None, np.nan, 3), (True, 1.0, 3)],  # the last: data say how large noise is
)
def test_weights_of_any_scale_do_not_make_noise_a_poor_fit(looks_so, floor, count):
    """Weights say that noise is 10 times smaller than it is."""
    tried = []

    def fit(without):
        tried.append(without)
        return ended(1000.0 + len(without), floor=floor, share={"a": 0.9, "b": 0.9})

    found = best_fit(fit, ["a", "b"], lambda *_: looks_so)
    assert len(tried) == count and found.solved.chi_square[-1] == 1000.0
    begun = []
    with_more_starts(
        found, lambda *_: begun.append(1) or ended(999.0, floor=floor), lambda *_: 0.0, lambda *_: looks_so
    )
    assert bool(begun) == (count > 1)


def test_a_fit_that_fewer_directions_make_better_but_not_good_is_in_doubt():
    def fit(without):
        return ended({frozenset(): 1000.0, frozenset("b"): 500.0}.get(without, 900.0), share={"a": 0.9, "b": 0.5})

    found = best_fit(fit, ["a", "b"])
    assert found.doubtful and found.solved.chi_square[-1] == 500.0

    found = best_fit(lambda without: ended(1000.0 - len(without)), ["a", "b"])
    assert not found.doubtful and found.solved.chi_square[-1] == 1000.0  # a direction less is no better: it is there


@pytest.mark.parametrize(
    ("each", "ends", "doubtful"),
    [
        ([5000.0, 3000.0, 1500.0], 1500.0, False),  # it does not fall short any more
        ([5000.0, 3000.0, 2900.0], 3000.0, True),  # the last one was no better than noise may be
        ([5000.0, 5500.0], 5000.0, True),
        ([1500.0], 1500.0, False),
    ],
)
def test_fits_begin_again_as_long_as_they_fall_short_of_what_data_can_be_explained_to(each, ends, doubtful):
    begun = [ended(chi_square, floor=50.0) for chi_square in each]  # none is poor
    falls_short = {chi_square: 9.0 if chi_square > 2000.0 else 0.0 for chi_square in each}
    first, *others = begun
    found = with_more_starts(
        BestFit(*first), lambda *_: others.pop(0), lambda _, solved: falls_short[solved.chi_square[-1]]
    )
    assert found.solved.chi_square[-1] == ends and found.doubtful == doubtful and not others


def test_a_poor_fit_begins_again():
    found = with_more_starts(BestFit(*ended(1000.0)), lambda *_: ended(101.0), lambda *_: 0.0)
    assert not found.doubtful and found.solved.chi_square[-1] == 101.0


def test_a_fit_of_gains_that_explains_the_data_is_made_once(calibrated, monkeypatch):
    made, run = [], Session._run
    monkeypatch.setattr(Session, "_run", lambda *where, **options: made.append(1) or run(*where, **options))
    report = calibrated(["dE: diag, per patch"], {patch: np.zeros((N, N_CHANNEL)) for patch in FLUXES_JY})
    assert report.converged == report.solves and not report.flagged
    assert len(made) == 1
