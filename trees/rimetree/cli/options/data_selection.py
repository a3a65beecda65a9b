"""Options that choose rows and channels, the same of all commands: --field, --ddid, --scan, --time, --antenna,
--baseline, --channels; and --move-phase-centre, --average-time, --average-channels, --average-loss, --average-radius.

Commands take what they give as `AskedRows`.
"""

from __future__ import annotations

import re

import click

from ...utc import NEVER_S
from .names import NAMES, NUMBERS
from .quantities import ANGLE, DEC, DURATION, FREQUENCY, RA, Number
from .with_options import with_options


class RangeOfTimes(click.ParamType):
    """FROM~TO, each a UTC date and time, a duration from the beginning of the set, or left out: (from, to) of text."""

    name = "range of times"

    def convert(self, value, param, ctx):
        if isinstance(value, tuple):
            return value
        parts = tuple(part.strip() for part in value.split("~"))
        if len(parts) != 2 or not any(parts):
            self.fail(f"{value!r}: expected FROM~TO, e.g. 2025-01-01T20:30~2025-01-01T20:40, 10min~20min or 10min~")
        first = self._one(parts[0], param, ctx) if parts[0] else 0.0
        last = self._one(parts[1], param, ctx) if parts[1] else NEVER_S  # as a duration, too
        if isinstance(first, float) and isinstance(last, float) and first > last:
            self.fail(f"{value!r}: the earlier time comes first")
        return first, last

    def _one(self, text: str, param, ctx):
        """Text of a date and time, or seconds from the beginning."""
        if re.match(r"\d{4}-\d", text):
            return text
        return 0.0 if re.fullmatch(r"0+(\.0*)?\s*(s|min|h)?", text) else DURATION.convert(text, param, ctx)


class _Channels(click.ParamType):
    """Ranges of channels, 5~60, or of frequencies, 1.2GHz~1.3GHz, with commas: (numbers, frequencies in Hz)."""

    name = "channels"

    def convert(self, value, param, ctx):
        if isinstance(value, tuple):
            return value
        numbers, frequencies = [], []
        for part in (part.strip() for part in value.split(",")):
            low, tilde, high = (text.strip() for text in part.partition("~"))
            high = high if tilde else low
            if low.isdigit() and high.isdigit():
                if int(low) > int(high):
                    self.fail(f"{part!r}: the smaller number comes first")
                numbers.append((int(low), int(high) + 1))
            elif re.search("[A-Za-z]", low) and re.search("[A-Za-z]", high):
                frequencies.append(tuple(FREQUENCY.convert(text, param, ctx) for text in (low, high)))
                if frequencies[-1][0] > frequencies[-1][1]:
                    self.fail(f"{part!r}: the smaller frequency comes first")
            else:
                self.fail(f"{part!r}: expected channels such as 5~60 (both included), or frequencies 1.2GHz~1.3GHz")
        if numbers and frequencies:
            self.fail(f"{value!r}: channels are chosen by number or by frequency; give one kind of range")
        return tuple(numbers), tuple(frequencies)


class _Average(click.ParamType):
    """A number of slots or channels, with one of these words behind it or none, or a quantity: (number, seconds or
    Hz)."""

    def __init__(self, name: str, words: str, quantity):
        self.name, self._quantity = name, quantity.with_unit()
        self._count = re.compile(rf"(-?\d+)\s*(?:{words})?")

    def convert(self, value, param, ctx):
        if isinstance(value, tuple):
            return value
        text = str(value).strip()
        count = self._count.fullmatch(text)
        if not count:
            return 1, self._quantity.convert(text, param, ctx)
        if int(count[1]) < 1:
            self.fail(f"{text}: expected a whole number from 1 on, or a quantity with its unit")
        return int(count[1]), 0.0


def averaging_options(function):
    """--move-phase-centre, --average-time, --average-channels, --average-loss, --average-radius."""
    return with_options(
        function,
        click.option(
            "--move-phase-centre",
            type=(RA, DEC),
            metavar="RA DEC",
            help="Move data to this phase centre on reading, before they are averaged; in the frame of the field. "
            "Sources near it are averaged without loss. Solutions are for the data as they are stored.",
        ),
        click.option(
            "--average-time",
            type=_Average("N or duration", "slots?", DURATION),
            help="Solve on means of so many time slots, or of as many as are this long together, e.g. 4 or 10s. The "
            "model is smeared over them. Solutions are for the data as they are stored.",
        ),
        click.option(
            "--average-channels",
            type=_Average("N or width", "chans?|channels?", FREQUENCY),
            help="Solve on means of so many channels, or of as many as are this wide together, e.g. 4 or 200kHz.",
        ),
        click.option(
            "--average-loss",
            type=Number(min=0, max=1, min_open=True, max_open=True),
            metavar="FRACTION",
            help="Solve on means over as many slots and channels of each baseline as lose at most this part of the "
            "amplitude of a source, e.g. 0.01: short baselines are averaged more than long ones, none over the ends of "
            "solution intervals. The model is smeared over them.",
        ),
        click.option(
            "--average-radius",
            type=ANGLE,
            help="With --average-loss: of a source so far from the phase centre, e.g. 1.5deg; default: the farthest of "
            "the sky model. Needed with --model-column.",
        ),
    )


def rows_options(function, time=None):
    """--field, --ddid, --scan, --time, --antenna, --baseline; `time`: another option that takes the place of --time."""
    return with_options(
        function,
        click.option(
            "--field",
            "field_names",
            type=NAMES,
            metavar="NAMES",
            help="Use only these fields: numbers, names or patterns, e.g. 0,3C286 or J1*.",
        ),
        click.option("--ddid", type=NUMBERS, help="Use only these DATA_DESC_IDs, e.g. 0,2 or 0~3."),
        click.option("--scan", "scans", type=NUMBERS, help="Use only these scans (SCAN_NUMBER), e.g. 3,5~8."),
        time
        or click.option(
            "--time",
            "times",
            type=RangeOfTimes(),
            multiple=True,
            metavar="FROM~TO",
            help="Use only these times: UTC, e.g. 2025-01-01T20:30~2025-01-01T20:40, or durations from the beginning "
            "of the set, e.g. 10min~20min; 10min~ is all from then on. May be repeated.",
        ),
        click.option(
            "--antenna",
            "antennas",
            type=NAMES,
            metavar="NAMES",
            help="Use only baselines between these antennas, e.g. CS*,RS106; !CS001 leaves out.",
        ),
        click.option(
            "--baseline",
            "baselines",
            type=NAMES,
            metavar="A&B,...",
            help="Use only baselines between such antennas, e.g. CS*&RS*; !CS001&* leaves out.",
        ),
    )


def channels_option(function):
    """--channels, of commands that only read: columns are written with all their channels."""
    return click.option(
        "--channels",
        type=_Channels(),
        help="Use only these channels of each window, e.g. 5~60,80~100 (both included), or 1.2GHz~1.3GHz.",
    )(function)
