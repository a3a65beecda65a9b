"""Several streams at a time: links that bring some inputs each, and bands; what stalls, loses, restarts or is cut."""

import socket
import threading
import time

import numpy as np
import pytest
from packets import END, connected, free_port, packet, packets, send_datagrams, sender, when_taken

import rimetree as rt

STEP, SLOT = 32, 128  # samples in a packet and in an integration
N_SLOT = 10


@pytest.fixture
def codes():
    """[time, input]: two links of two inputs."""
    return np.random.default_rng(3).integers(0, 256, (N_SLOT * SLOT, 4), np.uint8)


def correlated(source, timeout_s=1.0, **more):
    """Products, and counts [slot] of one product in each link and of one between them."""
    ns = rt.NodeScope()
    ns.voltages << rt.Voltages(source=source, format="chime", n_input=4, timeout_s=timeout_s, **more)
    ns.products << rt.Correlate(ns.voltages, integration=SLOT)
    pairs = [(0, 1), (2, 3), (0, 2)]
    for p, q in pairs:
        ns.count(p, q) << rt.Correlation(ns.products, station_1_index=p, station_2_index=q, feeds=1, quantity="count")
    cells = rt.Cells((np.arange(N_SLOT) + 0.5) * SLOT, [1.0], time_width_s=float(SLOT), freq_width_hz=1.0)
    forest = rt.Forest(ns, device="none")
    products, *counts = forest.results([ns.products, *(ns.count(*pair) for pair in pairs)], cells)
    return products, [np.broadcast_to(one.value[0, 0, :, 0], N_SLOT) for one in counts], forest


def expected(codes, there):
    """[product, slot] over the samples of both inputs that are there, [time, input]."""
    parts = np.where(there, (codes >> 4).astype(int) - 8, 0) + 1j * np.where(there, (codes & 15).astype(int) - 8, 0)
    parts = parts.reshape(N_SLOT, SLOT, 4)
    counts = there.reshape(N_SLOT, SLOT, 4).astype(int)
    i, j = rt.product_inputs(4).T
    number = np.einsum("sti,stj->sij", counts, counts)[:, i, j].T
    return np.einsum("sti,stj->sij", parts, parts.conj())[:, i, j].T / np.maximum(number, 1), number


def test_two_connections_bring_two_inputs_each(codes):
    """Packets of other sizes, and one sender that comes later: the same as of all inputs in one file."""
    ports = [free_port(socket.SOCK_STREAM) for _ in range(2)]

    def send(link, step, pause_s):
        with connected(ports[link]) as one:
            time.sleep(pause_s)
            for data in packets(codes[:, 2 * link : 2 * link + 2], step):
                one.sendall(data)
            one.sendall(END)

    threads = [sender(lambda: send(0, 32, 0)), sender(lambda: send(1, 20, 0.2))]
    found, counts, forest = correlated([f"tcp://127.0.0.1:{port}" for port in ports])
    for thread in threads:
        thread.join()
    wanted = rt.correlate(codes[:, None, :], format="chime", integration=SLOT).transpose(2, 0, 1)
    np.testing.assert_array_equal(found.value, wanted)
    assert all((one == SLOT).all() for one in counts)
    assert not [note for note in forest.notes() if "lost" in note]


def test_links_lose_restart_stall_and_end_on_their_own(codes):
    """One loses a tenth of its packets and ends within a slot; the other breaks off, comes again, and stalls."""
    ports = [free_port(socket.SOCK_STREAM) for _ in range(2)]
    n_packet = len(codes) // STEP
    lost = set(np.random.default_rng(1).choice(n_packet - 8, 4, replace=False).tolist())
    ends = len(codes) - SLOT - 50  # in the middle of the last slot but one, and of a packet

    def first():
        with connected(ports[0]) as one:
            for k in range(n_packet):
                piece = codes[k * STEP : min((k + 1) * STEP, ends), :2]
                if k not in lost and len(piece):
                    one.sendall(packet(k * STEP, piece))
            one.sendall(END)

    def second():
        for part in (range(12), range(12, n_packet - 2)):
            with connected(ports[1]) as one:
                for k in part:
                    one.sendall(packet(k * STEP, codes[k * STEP : (k + 1) * STEP, 2:]))
                one.sendall(packet(12 * STEP, codes[:STEP, 2:])[:-3])  # cut short
                if part.stop == n_packet - 2:
                    time.sleep(1.5)  # says nothing more, but does not end

    threads = [sender(first), sender(second)]
    begun = time.monotonic()
    found, counts, forest = correlated([f"tcp://127.0.0.1:{port}" for port in ports], timeout_s=1.5)
    assert time.monotonic() - begun < 20
    there = np.ones((len(codes), 4), bool)
    for k in lost:
        there[k * STEP : (k + 1) * STEP, :2] = False
    there[ends:, :2] = False
    there[(n_packet - 2) * STEP :, 2:] = False
    wanted, number = expected(codes, there)
    np.testing.assert_array_equal(counts[0], number[1])
    np.testing.assert_array_equal(counts[1], number[8])
    np.testing.assert_array_equal(counts[2], number[3])
    np.testing.assert_array_equal(np.broadcast_to(found.flags[..., 0], number.shape), number == 0)
    np.testing.assert_allclose(found.value[..., 0] if found.value.ndim == 3 else found.value, wanted, atol=1e-12)
    (note,) = [note for note in forest.notes() if "lost" in note]
    assert f"tcp://127.0.0.1:{ports[0]}: stream: {STEP * len(lost)} samples lost" in note
    assert f"tcp://127.0.0.1:{ports[1]}: stream: " in note
    for thread in threads:
        thread.join()


def test_two_bands_come_at_the_same_time(codes):
    """Both are listened to from the first request on, though one is asked for after the other."""
    ports = [free_port(socket.SOCK_DGRAM) for _ in range(2)]
    ns = rt.NodeScope()
    for band, port in enumerate(ports):
        ns.voltages(band) << rt.Voltages(
            source=f"udp://127.0.0.1:{port}", format="chime", n_input=4, timeout_s=2.0, n_channel=1 + band
        )
    ns.products << rt.Correlate(ns.voltages(0), ns.voltages(1), integration=SLOT, band_hz=[1e8, 2e8])
    forest, begun = rt.Forest(ns, device="none"), threading.Event()
    wide = codes.reshape(-1, 2, 4)  # the second band has two channels, and half as many samples
    sent = [packets(codes, STEP), packets(wide, STEP)]
    threads = [sender(lambda band=band: send_datagrams(ports[band], [*sent[band], END], begun)) for band in (0, 1)]
    threads.append(sender(lambda: when_taken(ports[1], begun)))
    for slot in range(N_SLOT // 2):
        for band, centres in enumerate(([1e8], [1.99e8, 2.01e8])):
            cells = rt.Cells(
                [(slot + 0.5) * SLOT], centres, time_width_s=float(SLOT), freq_width_hz=1e6 if band == 0 else 2e6
            )
            piece = (codes[:, None] if band == 0 else wide)[slot * SLOT : (slot + 1) * SLOT]
            wanted = rt.correlate(piece, format="chime", integration=SLOT).transpose(2, 0, 1)
            np.testing.assert_array_equal(forest.evaluate(ns.products, cells), wanted)
    nowhere = rt.Cells([0.5 * SLOT], [1.5e8], time_width_s=float(SLOT), freq_width_hz=1e6)
    with pytest.raises(rt.Error, match="and no band is there"):
        forest.evaluate(ns.products, nowhere)
    for thread in threads:
        thread.join()


@pytest.mark.parametrize(("scheme", "kind"), [("udp", socket.SOCK_DGRAM), ("tcp", socket.SOCK_STREAM)])
def test_a_stream_is_for_one(scheme, kind):
    """Two nodes that want the same packets: one says that it gets none, rather than wait for them."""
    ns, port = rt.NodeScope(), free_port(kind)
    ns.voltages << rt.Voltages(source=f"{scheme}://127.0.0.1:{port}", format="chime", n_input=4, timeout_s=0.01)
    ns.one << rt.Correlate(ns.voltages, integration=SLOT)
    ns.other << rt.Correlate(ns.voltages, integration=SLOT, gates=2)
    cells = rt.Cells([0.5 * SLOT], [1.0], time_width_s=float(SLOT), freq_width_hz=1.0)
    forest = rt.Forest(ns, device="none")
    with pytest.raises(rt.Error, match=f"cannot listen at {scheme}://127.0.0.1:{port}: Address already in use"):
        forest.results([ns.one, ns.other], cells)
        forest.evaluate(ns.one, cells), forest.evaluate(ns.other, cells)


def test_streams_and_bands_that_do_not_fit_are_refused():
    def refused(match, n_band=1, band_hz=(), **state):
        ns = rt.NodeScope()
        for band in range(n_band):
            ns.voltages(band) << rt.Voltages(**{"format": "chime", "n_input": 4} | state)
        ns.products << rt.Correlate(*(ns.voltages(band) for band in range(n_band)), integration=1, band_hz=band_hz)
        with pytest.raises(rt.Error, match=match):
            rt.Forest(ns)

    two = ["udp://127.0.0.1:5", "udp://127.0.0.1:6"]
    refused("streams beside files", source=["udp://127.0.0.1:5", "/nowhere"])
    refused("3 inputs cannot come from 2 streams", source=two, n_input=3)
    refused('there are 2 bands, but state field "band_hz" has 1 numbers', 2, [1e8], source="/nowhere")
    refused("there are 2 bands", 2, source="/nowhere")
