"""Senders of packets of samples, as programs beside the correlator would be."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable

import numpy as np

END = struct.pack("<4sIq", b"RTV1", 0, 0)


def packet(first: int, codes: np.ndarray) -> bytes:
    """Samples [time, ...] from number `first` on."""
    return struct.pack("<4sIq", b"RTV1", len(codes), first) + codes.tobytes()


def packets(codes: np.ndarray, step: int, lost: Iterable[int] = ()) -> list[bytes]:
    """All samples, so many to a packet, without those packets that are lost."""
    return [packet(k * step, codes[k * step : (k + 1) * step]) for k in range(len(codes) // step) if k not in set(lost)]


def free_port(kind: int) -> int:
    with socket.socket(socket.AF_INET, kind) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def sender(function: Callable) -> threading.Thread:
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


def connected(port: int) -> socket.socket:
    """A connection, as soon as somebody listens."""
    for _ in range(2000):
        try:
            return socket.create_connection(("127.0.0.1", port))
        except OSError:
            time.sleep(0.01)
    raise AssertionError("nobody listens")


def send_datagrams(port: int, data: Iterable[bytes], begun: threading.Event) -> None:
    """As soon as the port is taken, with pauses in which they are read."""
    begun.wait(20)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        for datagram in data:
            one.sendto(datagram, ("127.0.0.1", port))
            time.sleep(0.0005)


def when_taken(port: int, then: threading.Event) -> None:
    """Sets the event when somebody listens for datagrams there; looks without taking the port for a moment."""
    for _ in range(2000):
        with open("/proc/net/udp") as table:
            if any(line.split()[1].endswith(f":{port:04X}") for line in table.readlines()[1:]):
                break
        time.sleep(0.01)
    then.set()
