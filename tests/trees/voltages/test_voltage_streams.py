"""Streams on this machine into Correlate: connections, datagrams and a ring; stalls, losses and ends."""

import fcntl
import mmap
import socket
import struct
import time

import numpy as np
import pytest
from packets import END, connected, free_port, packet, sender

import rimetree as rt

STEP = 64  # samples in a packet
INPUTS = 3


@pytest.fixture
def codes():
    return np.random.default_rng(7).integers(0, 256, (40 * STEP, INPUTS), np.uint8)


def correlated(source, n_slot, integration, timeout_s=2.0, order="time,channel,input"):
    """Means and counts [product, slot] of a stream."""
    ns = rt.NodeScope()
    ns.voltages << rt.Voltages(source=source, format="chime", n_input=INPUTS, timeout_s=timeout_s, order=order)
    ns.products << rt.Correlate(ns.voltages, integration=integration)
    ns.count << rt.Correlation(ns.products, station_1_index=0, station_2_index=1, feeds=1, quantity="count")
    cells = rt.Cells((np.arange(n_slot) + 0.5) * integration, [1.0], time_width_s=float(integration), freq_width_hz=1.0)
    forest = rt.Forest(ns, device="none")
    products, count = forest.results([ns.products, ns.count], cells)
    return products, count.value[0, 0, :, 0]


def expected(codes, integration):
    return rt.correlate(codes[:, None, :], format="chime", integration=integration).transpose(2, 0, 1)


def test_a_connection_that_breaks_and_comes_again(codes):
    port = free_port(socket.SOCK_STREAM)

    def send():
        with connected(port) as one:
            for k in range(20):
                one.sendall(packet(k * STEP, codes[k * STEP : (k + 1) * STEP]))
            one.sendall(packet(20 * STEP, codes[: STEP // 2])[:-1])  # cut short
        with connected(port) as one:
            for k in range(20, 40):
                one.sendall(packet(k * STEP, codes[k * STEP : (k + 1) * STEP]))
            one.sendall(END)

    thread = sender(send)
    found, count = correlated(f"tcp://127.0.0.1:{port}", 10, 4 * STEP)
    thread.join()
    np.testing.assert_array_equal(found.value, expected(codes, 4 * STEP))
    assert (count == 4 * STEP).all()


def test_datagrams_of_which_a_tenth_is_lost(codes):
    """What was lost lowers counts, and what came is right; then the sender is silent."""
    port = free_port(socket.SOCK_DGRAM)
    lost = set(np.random.default_rng(1).choice(36, 4, replace=False).tolist()) | {36, 37, 38, 39}

    def send():
        time.sleep(0.2)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            for k in range(40):
                if k not in lost:
                    one.sendto(packet(k * STEP, codes[k * STEP : (k + 1) * STEP]), ("127.0.0.1", port))
                    time.sleep(0.001)

    thread = sender(send)
    begun = time.monotonic()
    found, count = correlated(f"udp://127.0.0.1:{port}", 10, 4 * STEP, timeout_s=0.5)
    assert time.monotonic() - begun < 8
    thread.join()
    there = np.repeat([k not in lost for k in range(40)], STEP).reshape(10, 4 * STEP)
    assert (count == there.sum(axis=1)).all()
    flags = np.broadcast_to(found.flags[..., 0], (6, 10))
    np.testing.assert_array_equal(flags, np.tile(there.sum(axis=1) == 0, (6, 1)))
    for slot in range(9):
        kept = codes.reshape(10, 4 * STEP, INPUTS)[slot][there[slot]]
        if len(kept):
            np.testing.assert_array_equal(found.value[:, slot], expected(kept, len(kept))[:, 0])


def test_a_ring_in_shared_memory(codes, tmp_path):
    """Smaller than what goes through it: the writer waits."""
    path, capacity = tmp_path / "ring", 1000
    path.write_bytes(struct.pack("<8sQQQ", b"RTRING1", capacity, 0, 0) + bytes(capacity))

    def send():
        with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as ring:
            written = 0
            data = b"".join(packet(k * STEP, codes[k * STEP : (k + 1) * STEP]) for k in range(40)) + END
            while written < len(data):
                (read,) = struct.unpack_from("<Q", ring, 24)
                n = min(capacity - (written - read), capacity - written % capacity, len(data) - written)
                if n == 0:
                    time.sleep(0.0005)
                    continue
                ring[32 + written % capacity : 32 + written % capacity + n] = data[written : written + n]
                written += n
                struct.pack_into("<Q", ring, 16, written)

    thread = sender(send)
    found, count = correlated(f"shm://{path}", 11, 4 * STEP)
    thread.join()
    np.testing.assert_array_equal(found.value[:, :10], expected(codes, 4 * STEP))
    assert (count == [4 * STEP] * 10 + [0]).all()
    assert np.broadcast_to(found.flags[..., 0], (6, 11))[:, 10].all()


def test_a_ring_is_for_one_reader(tmp_path):
    path = tmp_path / "ring"
    path.write_bytes(struct.pack("<8sQQQ", b"RTRING1", 1000, 0, 0) + bytes(1000))
    with open(path, "r+b") as reader:
        fcntl.flock(reader, fcntl.LOCK_EX)
        with pytest.raises(rt.Error, match=r"ring shm://.* is read already: a ring is for one reader"):
            correlated(f"shm://{path}", 1, STEP)


@pytest.mark.parametrize("order", ["input,time,channel", "channel,input,time"])
def test_packets_of_another_order(codes, order):
    port = free_port(socket.SOCK_STREAM)

    def send():
        with connected(port) as one:
            for k in range(40):
                piece = codes[k * STEP : (k + 1) * STEP]
                one.sendall(packet(k * STEP, piece)[:16] + piece.T.tobytes())
            one.sendall(END)

    thread = sender(send)
    found, _ = correlated(f"tcp://127.0.0.1:{port}", 10, 4 * STEP, order=order)
    thread.join()
    np.testing.assert_array_equal(found.value, expected(codes, 4 * STEP))


def test_what_comes_is_no_packet():
    port = free_port(socket.SOCK_STREAM)

    def send():
        with connected(port) as one:
            one.sendall(b"GET / HTTP/1.1\r\n\r\n")
            time.sleep(0.5)

    thread = sender(send)
    with pytest.raises(rt.Error, match=f"tcp://127.0.0.1:{port}: what comes are no packets of samples"):
        correlated(f"tcp://127.0.0.1:{port}", 2, 4 * STEP)
    thread.join()


def test_calibrating_while_correlating(codes):
    """A Correlation stands where a Spigot may: its visibilities go into Condeqs as they come."""
    port = free_port(socket.SOCK_STREAM)

    def send():
        with connected(port) as one:
            for k in range(40):
                one.sendall(packet(k * STEP, codes[k * STEP : (k + 1) * STEP]))
            one.sendall(END)

    ns = rt.NodeScope()
    ns.voltages << rt.Voltages(source=f"tcp://127.0.0.1:{port}", format="chime", n_input=INPUTS)
    ns.products << rt.Correlate(ns.voltages, integration=40 * STEP)
    ns.auto << rt.Correlation(ns.products, station_1_index=1, station_2_index=1, feeds=1)
    ns.weight << rt.Correlation(ns.products, station_1_index=1, station_2_index=1, feeds=1, quantity="weight")
    ns.power << rt.Parm(1.0, solvable=True)
    ns.model << rt.Matrix22(ns.power, 0.0, 0.0, 0.0)
    ns.solver << rt.Solver(rt.Condeq(ns.auto, ns.model, ns.weight))
    thread = sender(send)
    cells = rt.Cells([20.0 * STEP], [1.0], time_width_s=40.0 * STEP, freq_width_hz=1.0)
    forest = rt.Forest(ns, device="none")
    forest.solve(ns.solver, cells)
    thread.join()
    power = float(np.asarray(forest.evaluate(ns.power, cells)).ravel()[0])
    assert power == pytest.approx(expected(codes, 40 * STEP)[2, 0, 0].real, rel=1e-9)
