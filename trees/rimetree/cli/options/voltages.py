"""How voltages are written and what is to become of them: options of make-voltages and correlate."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from ...nodes import choices_of
from .quantities import DEC, DURATION, FREQUENCY, RA, Count, Number
from .with_options import with_options

if TYPE_CHECKING:
    from rimetree.telescopes import Telescope


def recording_options(function):
    """How voltages are written, which make-voltages and correlate have in common."""
    return with_options(
        function,
        click.option(
            "--format",
            type=click.Choice(choices_of("Voltages", "format")),
            required=True,
            help="How a sample is written.",
        ),
        click.option("--layout", required=True, help="Name, layout file or set: as --telescope of make-ms."),
        click.option(
            "--order",
            metavar="ORDER",
            help="Of samples: time, channel and input in any order with commas between them, the last the fastest, or "
            "with antenna and feed instead of input; or groups: a counter and a word for each input of a receiver. "
            "Default: groups for mwa32t, else time,channel,input.",
        ),
        click.option("--phase-centre", type=(RA, DEC), required=True, metavar="RA DEC", help="E.g. 3h32m30s -27d48m."),
        click.option(
            "--start", required=True, metavar="UTC", help="When the first sample begins, 2025-01-01T20:30:00."
        ),
        click.option(
            "--sample-rate", type=FREQUENCY, help="Samples per second of a channel; default: the format's system's."
        ),
        click.option(
            "--freq",
            type=FREQUENCY,
            multiple=True,
            help="Frequency that is mixed to zero, or of the middle channel; default: the telescope's. May be repeated "
            "for as many bands, one after the other.",
        ),
    )


class Recorded(NamedTuple):
    """What recording_options() say of voltages."""

    array: Telescope
    format: str
    order: str
    start_mjd_s: float
    rate_hz: float
    centres_hz: list[float]


def recorded(*, format, layout, order, start, sample_rate, freq, are_streams: bool = False) -> Recorded:
    """The options, and what follows where they are not given."""
    from rimetree import telescopes
    from rimetree.utc import parse_utc
    from rimetree.voltages.trees import SAMPLE_RATES_HZ

    array = telescopes.get(layout)
    rate_hz = sample_rate or SAMPLE_RATES_HZ.get(format)
    if rate_hz is None:
        raise click.UsageError(f"--sample-rate must be given for format {format}")
    usual = "groups" if format.startswith("mwa32t") and not are_streams else "time,channel,input"
    return Recorded(array, format, order or usual, parse_utc(start), rate_hz, list(freq) or [array.band_centre_hz])


CHANNEL_OPTIONS = ("file_channels", "channels", "taps", "window", "channel_format", "gain")


def channel_options(function):
    """What becomes of the samples: inputs, channels, rounding, integrations."""
    return with_options(
        function,
        click.option("--feeds", type=Count(1, 2), default=2, show_default=True, help="Inputs of an antenna."),
        click.option(
            "--file-channels",
            type=Count(min=1),
            default=1,
            show_default=True,
            help="That FILE has already.",
        ),
        click.option(
            "--channels",
            type=Count(min=0),
            help="To make; 0: none are made. Default: 128, or 0 where FILE has several.",
        ),
        click.option(
            "--taps",
            type=Count(min=1),
            default=1,
            show_default=True,
            help="More than 1: a polyphase filter bank.",
        ),
        click.option(
            "--window",
            type=click.Choice(choices_of("Channelise", "window")),
            help="Default: hann with several taps, else rectangular.",
        ),
        click.option(
            "--channel-format",
            type=click.Choice(choices_of("Channelise", "format")),
            help="What channels are rounded to. Default: int8, or float32 where samples are, which may be of any size.",
        ),
        click.option(
            "--gain",
            type=Number(min=0, min_open=True),
            help="Of rounding; default: 1 where channels have as many bits as samples, up to 4 where they have more, "
            "and less where they have fewer.",
        ),
        click.option(
            "--integration",
            type=DURATION,
            default="1s",
            show_default=True,
            help="Time slot; the nearest that fits.",
        ),
    )


def stream_options(function):
    """How long a stream lasts, and what happens where samples are missing."""
    return with_options(
        function,
        click.option(
            "--lost",
            type=click.Choice(choices_of("Voltages", "lost")),
            default="error",
            show_default=True,
            help="Missing groups.",
        ),
        click.option("--duration", type=DURATION, help="Of a stream: s, min; a bare number: seconds."),
        click.option(
            "--timeout",
            type=DURATION,
            default="10s",
            show_default=True,
            help="For how long a stream is waited for.",
        ),
    )
