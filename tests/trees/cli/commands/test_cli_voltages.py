"""make-voltages and correlate: what is refused by name, and that nothing is overwritten."""

import math
import os
import re
import socket
import threading
from pathlib import Path

import numpy as np
import pytest
from packets import END, connected, free_port, packets, send_datagrams, sender, when_taken
from recordings import COMMON, correlate, groups

import rimetree as rt


def test_from_sky_to_set(command, layout, tmp_path, sky_file):
    out = tmp_path / "volts"
    options = ["--layout", layout, *COMMON, "--sky", sky_file, "--duration", "5ms", "--noise", "10"]
    points = tmp_path / "points.skymodel"
    points.write_text("FORMAT = Name, Type, Ra, Dec, I\na, POINT, 04:00:00, -26.42.00, 5\n")
    refused = command("make-voltages", out, "--format", "mwa32t", *options, "--order", "time,freq,input", code=1)
    assert "order is 'time,freq,input', expected time, channel and input" in refused.stderr
    assert not list(tmp_path.glob("volts*"))
    options[options.index(sky_file)] = points
    made = command("make-voltages", out, "--format", "mwa32t", "--receivers", "2", *options)
    assert "1 Jy is" in made.stdout
    assert (tmp_path / "volts.1").stat().st_size == 6400 * 6
    again = command("make-voltages", out, "--format", "mwa32t", "--receivers", "2", *options, code=1)
    assert "exists; choose another name or give --overwrite" in again.stderr
    done = command(
        "correlate", f"{out}.0", f"{out}.1", "--format", "mwa32t", "--layout", layout, *COMMON, "--integration", "1ms",
        "--channels", "32", "--realtime", "-o", tmp_path / "o.ms",
    )  # fmt: skip
    assert "times real time" in done.stdout
    (tile,) = rt.ms.tiles(tmp_path / "o.ms", ["DATA"], autocorrelations=True)
    assert tile["columns"]["DATA"].shape == (3, 5, 32, 4)
    assert (tile["weight"] > 0).all()


@pytest.mark.parametrize("format, channel_format", [("int8", "int4"), ("int4", "int4"), ("chime", "mwa32t")])
def test_noise_of_any_bits_fits_into_channels_of_any(command, layout, tmp_path, sky_file, format, channel_format):
    points, out, file = tmp_path / "points.skymodel", tmp_path / "o.ms", tmp_path / "volts"
    points.write_text("FORMAT = Name, Type, Ra, Dec, I\na, POINT, 04:00:00, -26.42.00, 1\n")
    options = ["--format", format, "--layout", layout, "--sample-rate", "1.28MHz", *COMMON]
    command("make-voltages", file, *options, "--sky", points, "--duration", "20ms", "--noise", "100")
    options += ["--channels", "32", "--integration", "20ms", "--channel-format", channel_format, "-o", out]
    done = command("correlate", file, *options)
    assert "cut off at the range" not in done.stderr or "warning" not in done.stderr
    power = {"int8": 30.0, "int4": 2.95, "chime": 2.95}[format] ** 2 * 2
    (tile,) = rt.ms.tiles(out, ["DATA"], autocorrelations=True)
    auto = [p == q for p, q in tile["baselines"]]
    found = tile["columns"]["DATA"][auto][..., [0, 3]].real.mean()
    # What is cut off of few bits, and the noise of rounding, is some per cent.
    assert found == pytest.approx(power, rel=0.12)
    loud = command("correlate", file, *options, "--gain", "50", "--overwrite").stderr
    assert f'were cut off at the range of "{channel_format}", so that products are too small: gain 50' in loud
    # Nobody had told of rounding to nothing: of numbers of 0.3 bits less than half of the products is left, then none.
    assert "so that products are too small" not in done.stderr
    for gain in (0.3 / math.sqrt(power / 2), 1e-9):
        low = command("correlate", file, *options, "--gain", gain, "--overwrite").stderr
        assert f'least significant bits of "{channel_format}"' in low and "so that products are too small" in low
    refused = command("correlate", file, *options, "--duration", "10ms", "--overwrite", code=2).stderr
    assert "--duration is that of streams" in refused


@pytest.mark.parametrize("kind", ["folder", "device", "pipe"])
def test_what_is_no_file_is_named(command, layout, tmp_path, kind):
    """A folder was said to hold samples, too few of them."""
    file = {"folder": tmp_path, "device": Path("/dev/null"), "pipe": tmp_path / "pipe"}[kind]
    if kind == "pipe":
        os.mkfifo(file)
    options = ["--format", "int8", "--layout", layout, "--sample-rate", "1MHz", *COMMON, "-o", tmp_path / "o.ms"]
    refused = command("correlate", file, *options, code=1).stderr
    assert f"cannot read '{file}': it is no plain file of samples" in refused


def test_a_broken_counter_is_named(command, layout, tmp_path):
    file = groups(tmp_path / "v.0", [*range(1000), *range(1007, 3000)])
    refused = correlate(command, layout, file, code=1)
    assert "v.0" in refused.stderr and "the counter of group 1000" in refused.stderr
    assert "expected 1000: 7 groups are missing" in refused.stderr
    correlate(command, layout, file, "--lost", "mask", "--overwrite")


def test_a_cut_group_is_named(command, layout, tmp_path):
    file = groups(tmp_path / "v.0", range(3000))
    with open(file, "ab") as more:
        more.write(b"\x00")
    refused = correlate(command, layout, file, code=1)
    assert "ends in the middle of group 3000: of its 10 bytes there are 1" in refused.stderr
    assert not (tmp_path / "o.ms").exists()


def test_an_impossible_code_is_named(command, layout, tmp_path):
    file = groups(tmp_path / "v.0", range(3000), word=0x2000)
    refused = correlate(command, layout, file, code=1)
    assert "has the code 0x2000, which is impossible in format" in refused.stderr
    assert "click" not in refused.stderr, "no script has written these nodes"
    assert not (tmp_path / "o.ms").exists()


def test_a_layout_of_other_antennas_is_refused(command, layout, tmp_path):
    file = tmp_path / "v"
    np.zeros((3001, 3), "u1").tofile(file)
    options = ["--format", "chime", "--layout", layout, *COMMON, "--integration", "1ms", "-o", tmp_path / "o.ms"]
    refused = command("correlate", file, *options, code=1)
    assert "has 9003 bytes, which is no multiple of the 4 that all channels and inputs take" in refused.stderr
    assert not (tmp_path / "o.ms").exists()


def test_too_short_a_file_is_refused_before_a_set_is_made(command, layout, tmp_path):
    refused = correlate(command, layout, groups(tmp_path / "v.0", range(10)), code=1)
    assert "less than an integration of 0.001 s" in refused.stderr
    assert "v.0 holds 0 s" not in refused.stderr, "not even a spectrum, but samples"
    assert not (tmp_path / "o.ms").exists()


def test_what_is_not_there_is_named(command, layout, tmp_path):
    refused = correlate(command, layout, tmp_path / "v.9", code=1)
    assert "v.9" in refused.stderr and "No such file" in refused.stderr
    stream = ["correlate", "udp://127.0.0.1:9", "--format", "mwa32t", "--layout", layout, *COMMON]
    refused = command(*stream, "-o", tmp_path / "o.ms", code=1)
    assert "a stream is not of order groups, and needs its duration (--duration" in refused.stderr


def test_a_stream_that_never_comes_gives_a_flagged_set(command, layout, tmp_path):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    source, path = f"udp://127.0.0.1:{port}", tmp_path / "o.ms"
    options = ["--format", "mwa32t", "--layout", layout, *COMMON, "--duration", "3ms", "--timeout", "20ms"]
    command("correlate", source, *options, "--integration", "1ms", "-o", path)
    (tile,) = rt.ms.tiles(path, ["DATA"], autocorrelations=True)
    assert tile["flag"].all() and not tile["weight"].any()


def test_what_is_left_of_files_is_named(command, layout, tmp_path):
    """Of a band that is longer than the other, and at the end, where no whole integration is left."""
    files = []
    for name, n_sample in (("long", 5300), ("short", 2600)):
        np.full((n_sample, 4), 0x99, "u1").tofile(tmp_path / name)
        files.append(tmp_path / name)
    options = ["--format", "chime", "--layout", layout, *COMMON, "--sample-rate", "1MHz", "--channels", "10"]
    bands = ["--freq", "150MHz", "--freq", "152MHz", "--integration", "1ms", "-o", tmp_path / "o.ms"]
    said = command("correlate", *files, *options, *bands).stderr
    assert f"note: 0.0033 s of {files[0]} are beyond the last whole integration: left out" in said
    assert f"note: 0.0006 s of {files[1]} are beyond" in said
    np.full((2000, 4), 0x99, "u1").tofile(files[1])
    one = ["--freq", "150MHz", "--integration", "1ms", "-o", tmp_path / "p.ms"]
    assert "left out" not in command("correlate", files[1], *options, *one).stderr


def test_several_bands_are_as_many_windows(command, layout, tmp_path):
    """Files of two bands: each window has its own frequencies, data and weights, and WEIGHT follows the spectrum."""
    points = tmp_path / "points.skymodel"
    points.write_text("FORMAT = Name, Type, Ra, Dec, I\na, POINT, 04:00:00, -26.42.00, 5\n")
    bands = ["--freq", "150MHz", "--freq", "152MHz"]
    options = ["--format", "mwa32t", "--layout", layout, *COMMON, *bands]
    out = tmp_path / "v"
    command("make-voltages", out, *options, "--sky", points, "--receivers", "2", "--duration", "4ms", "--noise", "10")
    files = [f"{out}.band{band}.{receiver}" for band in (0, 1) for receiver in (0, 1)]
    refused = command("correlate", *files[:3], *options, "-o", tmp_path / "o.ms", code=2)
    assert "there are 2 bands (--freq) and 3 files" in refused.stderr
    mixed = ["correlate", files[0], "udp://127.0.0.1:8", *options, "--duration", "1s"]
    assert "give files or streams, not both" in command(*mixed, "-o", tmp_path / "o.ms", code=2).stderr
    chosen = ["--integration", "1ms", "--channels", "16"]
    done = command("correlate", *files, *options, *chosen, "-o", tmp_path / "o.ms")
    assert "2 bands of 16 channels" in done.stderr
    for band, centre in enumerate((150e6, 152e6)):
        (tile,) = rt.ms.tiles(tmp_path / "o.ms", ["DATA"], autocorrelations=True, data_desc_id=band)
        assert abs(tile["frequency_hz"][8] - centre) < 1
        alone = [*files[2 * band : 2 * band + 2], "--format", "mwa32t", "--layout", layout, *COMMON]
        command("correlate", *alone, "--freq", f"{centre}Hz", *chosen, "-o", tmp_path / f"{band}.ms")
        (one,) = rt.ms.tiles(tmp_path / f"{band}.ms", ["DATA"], autocorrelations=True)
        assert (tile["columns"]["DATA"] == one["columns"]["DATA"]).all() and one["columns"]["DATA"].any()
        assert (tile["weight"] == one["weight"]).all() and (tile["weight"] > 0).all()


def test_receivers_as_streams_are_those_of_files(command, layout, tmp_path):
    """Each capture computer sends its own inputs: channels, visibilities and weights are those of its files."""
    points = tmp_path / "points.skymodel"
    points.write_text("FORMAT = Name, Type, Ra, Dec, I\na, POINT, 04:00:00, -26.42.00, 5\n")
    options = ["--format", "mwa32t", "--layout", layout, *COMMON]
    out = tmp_path / "v"
    command("make-voltages", out, *options, "--sky", points, "--receivers", "2", "--duration", "4ms", "--noise", "10")
    files, chosen = [f"{out}.{k}" for k in (0, 1)], ["--integration", "1ms", "--channels", "16"]
    command("correlate", *files, *options, *chosen, "-o", tmp_path / "files.ms")
    ports = [free_port(socket.SOCK_STREAM) for _ in files]

    def send(file, port, step):
        words = np.fromfile(file, "<u2").reshape(-1, 3)[:, 1:]  # without the counter
        with connected(port) as one:
            for data in packets(words, step):
                one.sendall(data)
            one.sendall(END)

    threads = [
        sender(lambda file=file, port=port, step=step: send(file, port, step))
        for file, port, step in zip(files, ports, (64, 20), strict=True)
    ]
    streams = [f"tcp://127.0.0.1:{port}" for port in ports]
    command("correlate", *streams, *options, *chosen, "--duration", "4ms", "-o", tmp_path / "streams.ms")
    for thread in threads:
        thread.join()
    (one,), (other,) = (
        rt.ms.tiles(tmp_path / f"{name}.ms", ["DATA"], autocorrelations=True) for name in ("files", "streams")
    )
    assert (one["columns"]["DATA"] == other["columns"]["DATA"]).all() and one["columns"]["DATA"].any()
    assert (one["weight"] == other["weight"]).all() and (one["flag"] == other["flag"]).all()


def test_two_bands_come_as_streams_at_the_same_time(command, layout, tmp_path):
    """One loses a tenth of its datagrams, the other begins anew and ends within a time slot: the set says so."""
    rng, step, slot, n_slot = np.random.default_rng(5), 40, 400, 10
    codes = rng.integers(0, 256, (2, n_slot * slot, 4), np.uint8)
    lost = set(rng.choice(n_slot * slot // step, 10, replace=False).tolist())
    ends = (n_slot - 2) * slot + 100
    first = packets(codes[0], step, lost)
    again = packets(codes[1, :ends], 20)
    second = [*again[:30], *again]  # whoever begins anew counts from 0
    ports, begun = [free_port(socket.SOCK_DGRAM) for _ in range(2)], threading.Event()
    threads = [
        sender(lambda port=port, sent=sent: send_datagrams(port, [*sent, END], begun))
        for port, sent in zip(ports, (first, second), strict=True)
    ]
    threads.append(sender(lambda: when_taken(ports[1], begun)))
    done = command(
        "correlate", *(f"udp://127.0.0.1:{port}" for port in ports), "--format", "chime", "--layout", layout, *COMMON,
        "--sample-rate", "400kHz", "--freq", "150MHz", "--freq", "152MHz", "--channels", "0", "--duration", "10ms",
        "--integration", "1ms", "--timeout", "2s", "--realtime", "--drift", "-o", tmp_path / "o.ms",
    )  # fmt: skip
    for thread in threads:
        thread.join()
    assert "times real time" in done.stdout
    assert f"band 0: stream: {len(lost) * step} samples lost" in done.stderr
    again = re.search(r"band 1: stream: 0 samples lost; packets: (\d+) late, (\d+) repeated", done.stderr)
    assert again and sum(map(int, again.groups())) == 30
    there = np.ones((2, n_slot * slot), bool)
    for k in lost:
        there[0, k * step : (k + 1) * step] = False
    there[1, ends:] = False
    for band in (0, 1):
        (tile,) = rt.ms.tiles(tmp_path / "o.ms", ["DATA"], autocorrelations=True, data_desc_id=band)
        count = there[band].reshape(n_slot, slot).sum(axis=1)
        x = np.where(there[band, :, None], (codes[band] >> 4) - 8.0 + 1j * ((codes[band] & 15) - 8.0), 0)
        power = (np.abs(x) ** 2).reshape(n_slot, slot, 4).sum(axis=1) / np.maximum(count, 1)[:, None]
        assert (tile["flag"] == (count == 0)[:, None, None]).all()
        auto = tile["columns"]["DATA"][tile["baselines"].index((1, 1))][:, 0, [0, 3]]
        np.testing.assert_allclose(auto, power[:, 2:], rtol=1e-6)
        weight = tile["weight"][tile["baselines"].index((0, 1))][:, 0, 0]
        full = count > 0
        wanted = 2 * count[full] / (power[full, 0] * power[full, 2])
        np.testing.assert_allclose(weight[full], wanted, rtol=1e-5)
        assert (weight[~full] == 0).all() and (~full).sum() == (0 if band == 0 else 1)


def test_orders_that_are_none_are_refused(command, layout, tmp_path):
    file = tmp_path / "v"
    np.zeros((4000, 4), "u1").tofile(file)
    options = ["--format", "chime", "--layout", layout, *COMMON, "-o", tmp_path / "o.ms", "--order"]
    for order in ("time,frequency,input", "time,channel", "time", "time,channel,input,feed"):
        assert "expected time, channel and input" in command("correlate", file, *options, order, code=1).stderr


def test_an_empty_file_is_refused(command, layout, tmp_path):
    file = tmp_path / "v.0"
    file.write_bytes(b"")
    assert "v.0 holds 0 s, less than an integration" in correlate(command, layout, file, code=1).stderr


@pytest.mark.parametrize("feeds", [1, 2])
def test_one_antenna_has_its_autocorrelations(command, layout, tmp_path, feeds):
    """Of one antenna there is no baseline but that with itself."""
    lines = layout.read_text().splitlines()[:-1]
    alone = tmp_path / "one.csv"
    alone.write_text("\n".join(lines) + "\n")
    file = tmp_path / "v"
    np.random.default_rng(1).integers(0, 256, (4000, feeds), np.uint8).tofile(file)
    options = ["--format", "chime", "--layout", alone, *COMMON, "--feeds", feeds, "--integration", "1ms"]
    command("correlate", file, *options, "--channels", "4", "-o", tmp_path / "o.ms")
    (tile,) = rt.ms.tiles(tmp_path / "o.ms", ["DATA"], autocorrelations=True)
    assert tile["columns"]["DATA"].shape[0] == 1 and (tile["columns"]["DATA"][..., 0].real > 0).all()


def test_an_unknown_layout_key_is_named(command, layout, tmp_path):
    layout.write_text("# fed: linear\n" + layout.read_text())
    refused = correlate(command, layout, groups(tmp_path / "v.0", range(3000)), code=1)
    assert "fed" in refused.stderr and "two.csv" in refused.stderr


def test_an_integration_of_nothing_is_refused(command, layout, tmp_path):
    file = groups(tmp_path / "v.0", range(3000))
    for nothing in ("0s", "-1s", "nan"):
        refused = correlate(command, layout, file, "--integration", nothing, code=2)
        assert "--integration" in refused.stderr


@pytest.mark.parametrize("channels, slot_s, said", [(16, 0.02, "channels are 62.5 kHz wide"), (1024, 0.2, "turns")])
def test_what_following_the_phase_centre_loses_is_said(command, tmp_path, channels, slot_s, said):
    """Two antennas 4 km apart: what the warning says is missing from the correlation of strong voltages."""
    layout, points, file = (tmp_path / name for name in ("two.csv", "points.skymodel", "volts"))
    mwa = rt.telescopes.get("mwa")
    east = np.array([-mwa.ecef_m[0, 1], mwa.ecef_m[0, 0], 0]) / np.hypot(*mwa.ecef_m[0, :2])
    rows = [f"{name},{','.join(map(str, mwa.ecef_m[0] + at * east))},4" for name, at in (("a", 0.0), ("b", 4000.0))]
    layout.write_text("\n".join(["# feed: linear", "name,x,y,z,diameter", *rows]) + "\n")
    points.write_text("FORMAT = Name, Type, Ra, Dec, I\na, POINT, 06:00:00, -26.42.00, 100\n")
    options = ["--format", "float32", "--layout", layout, "--sample-rate", "1MHz", "--freq", "1.4GHz", *COMMON]
    options[options.index("4h00m00s")] = "6h00m00s"
    command("make-voltages", file, *options, "--sky", points, "--duration", f"{slot_s}s", "--noise", "1Jy")
    options += ["--channels", channels, "--channel-format", "float32", "--integration", f"{slot_s}s", "-o"]
    done = command("correlate", file, *options, tmp_path / "o.ms")
    (warning,) = re.findall("warning: .*lose up to .*", done.stderr)
    lost = float(re.search(r"lose up to (\S+) %", warning)[1]) / 100
    assert said in warning and 0.05 < lost < 0.5
    (tile,) = rt.ms.tiles(tmp_path / "o.ms", ["DATA"], autocorrelations=True)
    own, cross, other = tile["columns"]["DATA"][:, 0, 1:, [0, 3]].mean(axis=(0, 2))
    assert tile["baselines"] == [(0, 0), (0, 1), (1, 1)]
    found = abs(cross) / math.sqrt(own.real * other.real) * 101 / 100
    assert found == pytest.approx(1 - lost, abs=0.015)  # noise of 1e-2 at most, and two digits of the warning
    drifting = command("correlate", file, *options, tmp_path / "o.ms", "--drift", "--overwrite")
    assert "lose up to" not in drifting.stderr


def test_channels_of_floats_are_floats(command, layout, tmp_path):
    """Of which nothing says how large they are: as integers they would be cut off, or be 0."""
    points, file = tmp_path / "points.skymodel", tmp_path / "volts"
    points.write_text("FORMAT = Name, Type, Ra, Dec, I\na, POINT, 04:00:00, -26.42.00, 100\n")
    options = ["--format", "float32", "--layout", layout, "--sample-rate", "1.28MHz", *COMMON]
    command("make-voltages", file, *options, "--sky", points, "--duration", "20ms", "--noise", "100Jy")
    found = []
    for scale in (1e-4, 1.0, 1e4):
        (np.fromfile(file, "<f4") * np.float32(scale)).tofile(tmp_path / "scaled")
        command(
            "correlate", tmp_path / "scaled", *options, "--channels", 32, "--integration", "20ms", "--overwrite",
            "-o", tmp_path / "o.ms",
        )  # fmt: skip
        (tile,) = rt.ms.tiles(tmp_path / "o.ms", ["DATA"])
        found.append(tile["columns"]["DATA"] / scale**2)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4)
    np.testing.assert_allclose(found[2], found[1], rtol=1e-4)
