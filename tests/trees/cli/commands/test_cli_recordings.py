"""correlate: files that lack samples, and channels that are not what they seem."""

import re

import numpy as np
import pytest
from recordings import COMMON, correlate, groups

import rimetree as rt
from rimetree.voltages.trees import Recording, voltage_tree


@pytest.mark.parametrize(
    ("first", "second", "n_time", "flagged"),
    [
        (range(3000), [*range(1000), *range(1100, 3000)], 2, [False, False]),
        (range(70000), [*range(1000), *range(1100, 70000)], 54, [False] * 54),
        (range(3000), [*range(1000), *range(990, 3000)], 2, [False, False]),
        (range(3000), range(1700), 2, [False, False]),
        (range(3000), range(1000), 2, [False, True]),
        ([*range(100), *range(200, 2700)], [*range(1000), *range(1100, 2700)], 2, [False, False]),
        (range(65000, 67600), range(65100, 67600), 1, [False]),
    ],
    ids=[
        "lost",
        "counter begins again",
        "repeated",
        "ends earlier",
        "ends much earlier",
        "both lost some",
        "begins later",
    ],
)
def test_what_one_file_lacks_costs_no_others(command, layout, tmp_path, first, second, n_time, flagged):
    """The last integration of all antennas was left out where a file was shorter, for its gaps or its end."""
    files = [groups(tmp_path / f"v.{k}", one, inputs=2) for k, one in enumerate((first, second))]
    done = correlate(command, layout, files[0], files[1], "--lost", "mask")
    (tile,) = rt.ms.tiles(tmp_path / "o.ms", ["DATA"], time_slots=100, autocorrelations=True)
    assert tile["flag"].shape[1] == n_time
    of_pair = dict(zip(tile["baselines"], tile["flag"], strict=True))
    assert not of_pair[0, 0].any()
    assert (of_pair[1, 1] != 0).all(axis=(1, 2)).tolist() == flagged
    assert re.search("of .* are beyond the last whole integration", done.stderr)


def test_a_filter_longer_than_the_recording(command, layout, tmp_path):
    """A set was made in which everything is flagged."""
    file = groups(tmp_path / "v.0", range(3000))
    assert (
        "less than the 0.00625 s of the filter (--taps)"
        in correlate(command, layout, file, "--channels", "16", "--taps", "500", code=1).stderr
    )
    assert not (tmp_path / "o.ms").exists()


def test_the_channel_without_phases_is_flagged(command, layout, tmp_path):
    """Channel 0 of real samples has no imaginary part: it had been as good as the others, and spoilt calibrations."""
    points, file, out = tmp_path / "points.skymodel", tmp_path / "volts", tmp_path / "o.ms"
    points.write_text("FORMAT = Name, Type, Ra, Dec, I\na, POINT, 04:00:00, -26.42.00, 50\n")
    options = ["--format", "real8", "--layout", layout, "--sample-rate", "1.28MHz", *COMMON]
    command("make-voltages", file, *options, "--sky", points, "--duration", "20ms", "--noise", "100")
    command("correlate", file, *options, "--channels", "8", "--integration", "10ms", "--drift", "-o", out)
    (tile,) = rt.ms.tiles(out, ["DATA"], autocorrelations=True)
    assert tile["flag"][..., 0, :].all() and not tile["flag"][..., 1:, :].any()
    assert not tile["weight"][..., 0, :].any() and tile["weight"][..., 1:, :].all()
    cross = np.array([p != q for p, q in tile["baselines"]])
    imaginary = abs(tile["columns"]["DATA"][cross].imag).max(axis=(0, 1, 3))
    assert imaginary[0] < 1e-3 * imaginary[1:].min()


def test_bands_of_real_samples_have_as_many_channels():
    bands = [Recording(["a"], "real8", 4, 1e6, 1e8, 5e9, channels=channels) for channels in (8, 16)]
    with pytest.raises(rt.Error, match="bands of real samples must have the same number of channels"):
        voltage_tree(bands, integration=10, baselines=[(0, 1)])
