"""`rimetree correlate`: voltages into a Measurement Set."""

from __future__ import annotations

import time
from typing import NamedTuple

import click

from .errors import Failed
from .output import log
from .quantities import DEC, DURATION, FREQUENCY, RA, utc_text
from .selection import threads_option
from .with_options import with_options

FORMATS = ("mwa32t", "mwa32t-swapped", "chime", "int4", "int4-low", "int8", "float32", "real8")


def recording_options(function):
    """How voltages are written, which make-voltages and correlate have in common."""
    return with_options(
        function,
        click.option("--format", type=click.Choice(FORMATS), required=True, help="How a sample is written."),
        click.option("--layout", required=True, help="Name (see make-ms --list-telescopes) or layout file (.csv)."),
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


def chosen_recording(format: str, layout: str, order: str | None, start: str, sample_rate, freq):
    """(telescope, order, start as MJD seconds, sample rate in Hz, frequencies in Hz) of these options."""
    from rimetree import telescopes
    from rimetree.make_ms import parse_utc
    from rimetree.voltage_trees import SAMPLE_RATES_HZ

    array = telescopes.get(layout)
    rate = sample_rate or SAMPLE_RATES_HZ.get(format)
    if rate is None:
        raise click.UsageError(f"--sample-rate must be given for format {format}")
    order = order or ("groups" if format.startswith("mwa32t") else "time,channel,input")
    return array, order, parse_utc(start), rate, list(freq) or [array.band_centre_hz]


def channel_options(function):
    """What becomes of the samples: channels, rounding, integrations."""
    return with_options(
        function,
        click.option("--feeds", type=click.IntRange(1, 2), default=2, show_default=True, help="Inputs of an antenna."),
        click.option(
            "--file-channels",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            help="That FILE has already.",
        ),
        click.option(
            "--channels",
            type=click.IntRange(min=0),
            help="To make; 0: none are made. Default: 128, or 0 where FILE has several.",
        ),
        click.option(
            "--taps",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            help="More than 1: a polyphase filter bank.",
        ),
        click.option(
            "--window",
            type=click.Choice(["rectangular", "hann", "hamming"]),
            help="Default: hann with several taps, else rectangular.",
        ),
        click.option(
            "--channel-format",
            type=click.Choice(FORMATS[:-1]),
            default="int8",
            show_default=True,
            help="What channels are rounded to.",
        ),
        click.option(
            "--gain",
            type=click.FloatRange(min=0, min_open=True),
            help="Of rounding; default: 4 for 4 and 5 bits, else 1.",
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
            type=click.Choice(["error", "mask"]),
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


@click.command("correlate")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@recording_options
@click.option("-o", "--out", required=True, type=click.Path(), help="Measurement Set to create.")
@click.option("--overwrite", is_flag=True, help="Replace a Measurement Set that exists.")
@channel_options
@stream_options
@click.option("--drift", is_flag=True, help="Do not follow the phase centre: leave the phases as they were measured.")
@click.option("--realtime", is_flag=True, help="Also say how much faster than real time it was.")
@click.option("--device", default="none", show_default=True, help="E.g. cuda:0 or auto; changes no product by a bit.")
@threads_option
def command(files, out, overwrite, phase_centre, integration, drift, realtime, device, threads, **given):
    """Correlate voltages in FILE... into a new Measurement Set.

    Inputs are those of the layout's antennas, feed by feed. Of order "groups" there is a FILE for each receiver, whose
    counters are checked: what is missing is an error that names it, or masked with --lost mask. Instead of a FILE there
    may be a stream on this machine, tcp://HOST:PORT, udp://HOST:PORT or shm://PATH, and its --duration: what is lost or
    late is masked. DATA are in squares of the least significant bit of FILE; calibrate finds their scale with the
    gains. WEIGHT_SPECTRUM and WEIGHT come from how many samples each visibility is of, and from the autocorrelations.
    With --freq repeated there are as many bands, each a spectral window: first all FILEs of the first one, then those
    of the next. Interrupted, the set is readable.
    """
    import rimetree as rt
    from rimetree.voltage_trees import voltage_tree

    array, recordings = _recordings(files, **given)
    slots = _slots(recordings, integration)
    baselines = [(p, q) for p in range(len(array)) for q in range(p, len(array))]
    feeds, first = given["feeds"], recordings[0]
    forests = []
    for recording in recordings:
        scope = voltage_tree(recording, integration=slots.samples, baselines=baselines, feeds=feeds, follow=not drift)
        forests.append(rt.Forest(scope, threads=threads, device=device))
        if not recording.is_stream:
            _try_first_slot(forests[-1], scope, recording, slots.length_s)
    made = rt.ms.create(
        out,
        array,
        phase_centre_rad=phase_centre,
        duration_s=(slots.n + 0.5) * slots.length_s,
        integration_s=slots.length_s,
        start_mjd_s=first.start_mjd_s,
        bands=[recording.band() for recording in recordings],
        correlations=None if feeds == 2 else ("XX" if array.feed == "linear" else "RR"),
        autocorrelations=True,
        weight_spectrum=True,
        overwrite=overwrite,
    )
    bands = f"{len(recordings)} bands of " if len(recordings) > 1 else ""
    log(
        f"{len(files)} file(s), {slots.n} integrations of {slots.length_s:g} s from "
        f"{utc_text(first.start_mjd_s)} UTC, {first.n_input} inputs, {bands}{first.n_channel} channels; "
        f"created {made.path}"
    )
    _run(forests, out, made.n_row, slots.n * slots.length_s, realtime)


def _recordings(
    files, *, format, layout, order, start, sample_rate, freq, feeds, file_channels, channels, taps, window,
    channel_format, gain, lost, duration, timeout,
):  # fmt: skip
    """The layout's telescope, and for each band how its voltages were recorded and what is to become of them."""
    from rimetree.voltage_trees import Recording

    streams = any("://" in file for file in files)
    if order is None and streams:
        order = "time,channel,input"
    array, order, start_mjd_s, rate, centres_hz = chosen_recording(format, layout, order, start, sample_rate, freq)
    count, rest = divmod(len(files), len(centres_hz))
    if rest or not count:
        raise click.UsageError(
            f"there are {len(centres_hz)} bands (--freq) and {len(files)} files: give all files of the first band, "
            "then as many of the next"
        )
    if len(centres_hz) > 1 and streams:
        raise click.UsageError("streams are of one band: run a correlate for each, as none of them waits for another")
    if order != "groups" and count > 1:
        raise click.UsageError(f"several files are of order groups, one for each receiver; this is {order}")
    if channels is None:
        channels = 128 if file_channels == 1 else 0
    return array, [
        Recording(
            files=files[count * band : count * (band + 1)],
            format=format,
            n_input=feeds * len(array),
            sample_rate_hz=rate,
            centre_hz=centre_hz,
            start_mjd_s=start_mjd_s,
            order=order,
            lost=lost,
            file_channels=file_channels,
            channels=channels or None,
            taps=taps,
            window=window or ("hann" if taps > 1 else "rectangular"),
            channel_format=channel_format,
            duration_s=duration,
            timeout_s=timeout,
            gain=gain or (1.0 if format in ("int8", "real8", "float32") else 4.0),
        )
        for band, centre_hz in enumerate(centres_hz)
    ]


class _Slots(NamedTuple):
    """Time slots of a set: samples of a channel in each, how long one is, and how many."""

    samples: int
    length_s: float
    n: int


def _slots(recordings, integration_s: float) -> _Slots:
    """Those that all bands have: of the shortest."""
    samples = recordings[0].integration(integration_s)
    length_s = samples / recordings[0].channel_rate_hz
    shortest = min(recordings, key=lambda recording: recording.n_sample())
    n = shortest.n_sample() // samples
    if n < 1:
        held_s = shortest.n_sample() / shortest.channel_rate_hz
        raise Failed(f"{shortest.files[0]} holds {held_s:g} s, less than an integration of {length_s:g} s")
    return _Slots(samples, length_s, n)


def _try_first_slot(forest, scope, recording, slot_s: float) -> None:
    """Raises what is wrong with the files before a set is made."""
    import numpy as np

    from rimetree import Cells

    band = recording.band()
    first_s = recording.start_mjd_s + slot_s / 2
    cells = Cells(
        [first_s], np.array(band.frequency_hz), time_width_s=slot_s, freq_width_hz=np.abs(np.array(band.width_hz))
    )
    forest.evaluate(scope.products, cells)
    forest.forget()


def _run(forests, out: str, n_row: int, data_s: float, realtime: bool) -> None:
    """Each band into its own spectral window, one after the other."""
    from .errors import Interrupted
    from .output import progress

    begun, reports = time.perf_counter(), []
    try:
        for band, forest in enumerate(forests):
            with progress("correlating", "visibilities") as show:
                part = (band, len(forests), n_row) if len(forests) > 1 else None
                reports.append(forest.run(out, progress=show, autocorrelations=True, data_desc_id=band, part=part))
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {out} is readable, `rimetree inspect-ms` says up to which time") from None
    took_s = time.perf_counter() - begun
    for message in dict.fromkeys(text for report in reports for text in [*report.warnings, *report.notes]):
        log(f"note: {message}")
    bands = f" in {len(forests)} bands" if len(forests) > 1 else ""
    rows = sum(report.rows_written for report in reports) // 2
    click.echo(f"{out}: {data_s:g} s of data{bands} in {took_s:.2f} s, {rows} rows")
    if realtime:
        keeps = "keeps up with real time" if took_s < data_s else "does NOT keep up with real time"
        by_class = ", ".join(f"{name} {one:.2f} s" for name, one in _slowest(reports))
        writing_s = sum(report.write_seconds for report in reports)
        click.echo(f"{data_s / took_s:.2f} times real time: {keeps}; {by_class}, writing {writing_s:.2f} s")


def _slowest(reports, most: int = 3) -> list:
    """(class, seconds) of those that took longest."""
    seconds: dict[str, float] = {}
    for report in reports:
        for name, one in report.timing.classes.items():
            seconds[name] = seconds.get(name, 0.0) + one["seconds"]
    return sorted(seconds.items(), key=lambda item: -item[1])[:most]
