"""What a chunk takes in memory: the estimate grows as the problem does, and is that of the arrays that there are."""

import os
import platform
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import rimetree as rt
from rimetree import calibration
from rimetree.calibration import CalibrationError, CalibrationOptions, parse_terms
from rimetree.calibration.memory import _matrices
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
        ((found,),) = calibration.check(SKY, parsed, options, calibration.plan_stages(path, parsed, options))
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


def test_what_is_read_ahead_counts(needs):
    """Averaged chunks are small enough to be read while others are solved; they were not in the estimate."""
    averaged = {"selection": rt.ms.Selection(average_slots=4)}
    one, several = (needs(64, 2000, term, **averaged) for term in ("G: diag", "G: diag, 16slots"))
    stored = 21 * 16 * 2000 * 52
    assert several.data == stored // 4 and several.reading == min(32 << 20, stored) + several.data
    assert one.reading < several.reading  # of a single chunk it is over before results are there


def test_what_is_held_counts(tmp_path):
    """In turn, a gain is held while leakages are solved for: matrices of antennas, and products on baselines."""
    path = str(tmp_path / "a.ms")
    bands = rt.ms.Band.regular(1.3e9, 1.6e7, 16)
    rt.ms.create(path, "kat-7", phase_centre_rad=(0.93, -0.485), duration_s=80, integration_s=10, bands=bands)
    terms, options = parse_terms(["G: diag", "D: leakage"]), CalibrationOptions(in_turn=True)
    (gain,), (leakage,) = calibration.check(SKY, terms, options, calibration.plan_stages(path, terms, options))
    more = leakage.results - gain.results
    assert more == 8 * 16 * (7 * (64 + 2 + 16 + 32) + 21 * (64 + 128))
    looked = CalibrationOptions(flag_data=5.0)
    ((plain,),), ((other,),) = (
        calibration.check(SKY, terms[:1], one, calibration.plan_stages(path, terms[:1], one))
        for one in (CalibrationOptions(), looked)
    )
    # Weights and magnitudes, medians; data that are read once more, and what nodes make of them, as they are few, once
    # equations are solved.
    assert other.total - plain.total == 8 * 16 * 21 * (64 + 36 + 52 + 256) - plain.equations


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
    """Results are taken of some baselines at a time where they are half of what there is; then data of some slots."""
    need = needs(8, 16, "G: diag")
    assert needs(8, 16, "G: diag", memory_bytes=2 * need.total).results == need.results
    some = needs(8, 16, "G: diag", memory_bytes=need.total)
    assert some.results == need.total // 8 and (some.data, some.equations) == (need.data, need.equations)
    assert some.slots == need.slots == need.all_slots == 8
    less = need.data + need.equations
    few = needs(8, 16, "G: diag", memory_bytes=less)
    assert few.slots in (2, 4) and few.data == 2 * few.slots * need.data // 8 and few.equations == need.equations
    assert 1.2 * few.total < less and f"{few.slots} of 8 time slots at a time" in str(few)
    assert needs(8, 16, "G: diag, 1slot", memory_bytes=less).slots == 1
    with pytest.raises(CalibrationError, match=r"on 8 time slots, 21 baselines and 16 channels takes about .* 1 of 8"):
        needs(8, 16, "G: diag", memory_bytes=need.equations)


def test_thousands_of_directions_are_refused_before_there_are_trees(needs, monkeypatch):
    """It had taken minutes and 10 GB to say that a terabyte is too much."""
    monkeypatch.setattr("rimetree.calibration.session.solve_tree", None)
    monkeypatch.setattr("rimetree.calibration.memory.free_memory_bytes", lambda: 8 << 30)
    sources = [rt.sky.Source(f"s{k}", 0.93 + 1e-5 * k, -0.485, (1.0, 0.0, 0.0, 0.0)) for k in range(5000)]
    monkeypatch.setitem(globals(), "SKY", rt.sky.SkyModel(sources))
    with pytest.raises(CalibrationError, match=r"per source' in 5000 directions takes equations of .* GiB"):
        needs(8, 16, "T: phase, scalar, per source")


def test_what_has_no_sums_is_not_solved_in_turns():
    """Sums over the data that are too large for the Solver: it had refused, after the search, what was said to fit."""
    parts = [(64, (1, 1))] * 100
    dense = 3 * 8 * 6400**2
    turns, together = (_matrices(parts, dense - 1, successive=False, has_sums=has) for has in (True, False))
    assert turns < 0.1 * dense and together == dense == _matrices(parts, dense, successive=False)


def test_equations_that_the_solver_refuses_are_refused_before_it_is_searched(needs, monkeypatch):
    """The Solver has half of the memory that is free for them, and solves in turns what does not fit together."""
    terms = "K: delay, 1slot", "B: diag, 1chan"
    monkeypatch.setattr("rimetree.calibration.memory.free_memory_bytes", lambda: 4 << 20)
    with pytest.raises(CalibrationError, match="takes equations of"):
        needs(60, 64, *terms)
    monkeypatch.setattr("rimetree.calibration.memory.free_memory_bytes", lambda: 280 << 20)
    own = 80 * (64 * 28**2 + 60 * 14**2) / 2
    assert own < needs(60, 64, *terms).matrices < 3 * own
    monkeypatch.setattr("rimetree.calibration.memory.free_memory_bytes", lambda: 400 << 20)
    assert needs(60, 64, *terms).matrices == pytest.approx(166e6, rel=0.1)


def test_the_whole_command_stays_within_memory(needs, monkeypatch):
    """What the process has already is a part of it, and data that are looked at once are not all kept."""
    monkeypatch.setattr(calibration.memory, "resident_bytes", lambda: 150 << 20)  # it changes from call to call
    whole = needs(64, 1000, "G: diag")
    assert whole.slots == 64 and whole.data == 21 * 64 * 1000 * 52
    more = whole.of_command() - whole.total  # the process, and what passes by
    for room in (40 << 20, 60 << 20):
        some = needs(64, 1000, "G: diag", memory_bytes=more + room)
        assert some.slots in (8, 16) and some.of_command() < more + 1.1 * room
    monkeypatch.setattr(calibration.memory, "_AT_ONCE", 40 << 20)
    assert needs(64, 1000, "G: diag").slots == 16
    assert needs(64, 1000, "G: diag, 32slots").slots == 32
    robust = calibration.SolverOptions(robust_dof=3.0)  # looks at the data in each iteration
    assert needs(64, 1000, "G: diag", solver=robust).slots == 64


def test_what_does_not_fit_is_solved_a_few_slots_at_a_time(tmp_path, observe):
    """A term of all slots, and one of 30 s, whose intervals reach over what is read at a time."""
    path, rng = str(tmp_path / "a.ms"), np.random.default_rng(2)
    bands = rt.ms.Band.regular(1.3e9, 16e6, 16)
    rt.ms.create(path, "kat-7", phase_centre_rad=(0.93, -0.485), duration_s=120, integration_s=10, bands=bands)
    phase, amplitude = rng.uniform(-1, 1, (7, 4)), rng.uniform(0.5, 1.5, 7)

    def jones(antenna, patch, time_s, frequency_hz):
        if patch is not None:
            return np.eye(2)
        turn = np.exp(1j * phase[antenna, ((time_s - time_s[0] + 1e-3) // 30).astype(int)])
        return amplitude[antenna] * turn[:, None, None, None] * np.ones((1, len(frequency_hz), 1, 1)) * np.eye(2)

    observe(path, SKY, (0.93, -0.485), jones, noise_jy=0.1, flag=rng.random((21, 12, 16)) < 0.1)
    terms, found = parse_terms(["A: amplitude", "P: phase, 30s"]), []
    stages = calibration.plan_stages(path, terms, CalibrationOptions())
    ((need,),) = calibration.check(SKY, terms, CalibrationOptions(), stages)
    for limit in (None, int(1.3 * (need.equations + need.data))):
        options = CalibrationOptions(overwrite=True, memory_bytes=limit)
        ((used,),) = calibration.check(SKY, terms, options, stages)
        assert used.slots == (12 if limit is None else 2)
        report = calibration.calibrate(path, SKY, terms, tmp_path / "sol.h5", options)
        assert report.converged == report.solves == 1
        assert report.chunks[0].method.startswith("sums over the data")
        found.append((report.solutions[0], report))
    (whole, one), (parts, other) = found
    assert other.flagged == one.flagged and other.good_fraction == one.good_fraction
    assert other.noise_ratio == pytest.approx(one.noise_ratio, rel=1e-9)
    np.testing.assert_allclose(parts["A"].value["amplitude"], whole["A"].value["amplitude"], rtol=1e-9)
    np.testing.assert_allclose(parts["P"].value["phase"], whole["P"].value["phase"], atol=1e-9)
    np.testing.assert_allclose(parts["A"].value["amplitude"][0, 0, :, 0, 0], amplitude, rtol=1e-2)


def test_free_memory_is_some_of_the_memory():
    assert 0 < free_memory_bytes() <= memory_bytes()


# Large arrays with small ones between them, all the large ones freed: what is left, in MiB.
LEFT = """
import re, sys
import numpy as np
from rimetree.machine import return_freed_memory
if sys.argv[1] == "return":
    return_freed_memory()
resident = lambda: int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024
for size in (24, 30):
    np.ones(size << 17)  # as freed ones are, up to 32 MiB, later ones come of the heap
before, large, small = resident(), [], []
for _ in range(10):
    large.append(np.ones(16 << 17))
    small.append(np.ones(20000))
large.clear()
print(resident() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="GNU's allocator")
def test_what_is_freed_is_given_back():
    def left(how):
        return int(subprocess.run([sys.executable, "-c", LEFT, how], capture_output=True, text=True, check=True).stdout)

    assert left("return") < 32 < 100 < left("keep")


# (What getrusage says counts the parent, at the moment when it was forked.)
_COMMAND = """
import re, sys
from rimetree.cli import cli
try:
    cli(sys.argv[1:])
finally:
    with open("/proc/self/status") as status:
        print("peak", int(re.search(r"VmHWM:\\s+(\\d+)", status.read()).group(1)) * 1024)
"""


@pytest.fixture(scope="module")
def observed_by_64(tmp_path_factory):
    """A function: a set of 64 antennas, 64 channels in so many windows, and 12 slots: 77 MiB of data; made once."""
    folder = tmp_path_factory.mktemp("sets")

    def made(windows):
        path = folder / f"{windows}.ms"
        if not path.exists():
            bands = [rt.ms.Band.regular(1.3e9 + 64e6 * k, 64e6 / windows, 64 // windows) for k in range(windows)]
            rt.ms.create(path, "meerkat", phase_centre_rad=(0.93, -0.485), duration_s=96, integration_s=8, bands=bands)
            for group in rt.ms.groups(path, by_window=True):
                ns = rt.NodeScope()
                rt.psv_tree(ns, SKY, group.phase_centre_rad, group.baselines, feed=group.feed, column="DATA")
                rt.Forest(ns).run(path, data_desc_id=group.data_desc_ids[0])
        return path

    return made


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="what a process has taken is not told")
@pytest.mark.parametrize(
    ("term", "how"),
    [
        ("G: diag, 8chan", ()),
        ("P: phase, 4chan", ()),
        ("G: diag, 8chan", ("--noise-per", "baseline")),
        ("G: diag, 4slots, 8chan", ("--in-turn", "--term", "D: leakage")),
        ("G: diag, 4slots, 8chan", ("--average-loss", "0.01")),
        ("G: diag", ("--average-channels", "4")),
        ("G: diag, 8chan", ("--report", "-")),
        ("D: scalar, per patch", ("--subtract",)),
        ("dE: diag, per patch, 10slots", ()),
        ("G: diag, all windows", ()),
        ("G: diag, all windows", ("--robust", "3", "--subtract", "--report", "-")),
        ("G: diag, 4slots", ("--term", "K: delay")),
        ("B: diag, 1chan, smooth 2MHz", ()),
        ("G: diag, 4slots", ("--term", "dE: scalar, per patch", "--subtract", "--report", "-")),
    ],
)
def test_what_a_dry_run_says_is_what_the_command_takes(tmp_path, observed_by_64, term, how):
    """Within a fifth, for 64 antennas, 64 channels (or two windows of 32) and 12 slots in one chunk: 77 MiB of data."""
    path, sky = str(tmp_path / "a.ms"), tmp_path / "a.skymodel"
    shutil.copytree(observed_by_64(2 if "all windows" in term else 1), path)  # some commands write
    rt.sky.write(SKY, sky)
    command = [sys.executable, "-c", _COMMAND, "calibrate", path, "--sky", str(sky), "--term", term, *how]

    def run(name, *more):
        out = ["--out", str(tmp_path / name)]
        done = subprocess.run([*command, *out, *more], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    number, unit = re.search(r"the command takes about ([0-9.]+) ([KMG]iB)", run("a.h5", "--dry-run")).groups()
    estimate = float(number) * 1024 ** (1 + "KMG".index(unit[0]))
    peak = int(run("a.h5").split("peak")[1])
    if estimate > 1.2 * peak:  # on a busy machine threads may happen not to meet at their largest
        peak = max(peak, int(run("b.h5").split("peak")[1]))
    assert estimate == pytest.approx(peak, rel=0.2)


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="what a process has taken is not told")
def test_joined_windows_are_read_one_at_a_time(tmp_path):
    """Beside the data of all windows, joined, there is one of eight."""
    path, sky = str(tmp_path / "a.ms"), tmp_path / "a.skymodel"
    bands = [rt.ms.Band.regular(1.3e9 + 8e6 * k, 8e6, 8) for k in range(8)]
    rt.ms.create(path, "meerkat", phase_centre_rad=(0.93, -0.485), duration_s=192, integration_s=8, bands=bands)
    rt.sky.write(SKY, sky)
    command = [sys.executable, "-c", _COMMAND, "calibrate", path, "--sky", str(sky), "--term", "G: diag, all windows"]

    def peak(*more):
        done = subprocess.run([*command, *more], capture_output=True, text=True, check=False)
        return int(done.stdout.split("peak")[1])

    before, most = peak("--out", "a.h5", "--dry-run"), peak("--out", str(tmp_path / "a.h5"))
    data_bytes = 2016 * 24 * 64 * 4 * (8 + 4 + 1)
    assert data_bytes < most - before < 1.6 * data_bytes


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have ways of their own")
def test_what_solving_took_is_given_back(tmp_path, observed_by_64):
    """More than four times the data, for a robust fit: what comes after it needs other arrays.

    All threads take memory from one place: how much the ends of other places keep depends on chance.
    """
    path = str(observed_by_64(1))
    rt.sky.write(SKY, tmp_path / "a.skymodel")
    script = """
import re, sys
import rimetree as rt
from rimetree import calibration
from rimetree.machine import resident_bytes
path, sky, out = sys.argv[1:]
options = calibration.CalibrationOptions(solver=calibration.SolverOptions(robust_dof=3.0))
before = resident_bytes()
report = calibration.calibrate(path, rt.sky.read(sky), calibration.parse_terms(["G: diag"]), out, options)
with open("/proc/self/status") as status:
    most = int(re.search(r"VmHWM:\\s+(\\d+)", status.read()).group(1)) * 1024
print(resident_bytes() - before, most - before)
"""
    given = [path, str(tmp_path / "a.skymodel"), str(tmp_path / "a.h5")]
    one_place = os.environ | {"MALLOC_ARENA_MAX": "1"}
    command = [sys.executable, "-c", script, *given]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=one_place)
    left, most = map(int, done.stdout.split())
    assert most > 4 * 2016 * 12 * 64 * 4 * (8 + 4 + 1)
    assert left < 0.17 * most
