"""`rimetree correlate`: voltages into a Measurement Set."""

from __future__ import annotations

import time
from typing import NamedTuple

import click

from ...some_names import some_names
from ...utc import utc_text
from ..errors import Failed
from ..options.evaluation import threads_option
from ..options.together import refuse_without
from ..options.voltages import CHANNEL_OPTIONS, channel_options, recorded, recording_options, stream_options
from ..output import log


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
    may be a stream on this machine, tcp://HOST:PORT, udp://HOST:PORT or shm://PATH, and its --duration, or several that
    bring as many inputs each: what is lost or late is masked. DATA are in squares of the least significant bit of FILE;
    calibrate finds their scale with the gains. WEIGHT_SPECTRUM and WEIGHT come from how many samples each visibility is
    of, and from the autocorrelations. With --freq repeated there are as many bands, each a spectral window: first all
    FILEs (or streams) of the first one, then those of the next. Interrupted, the set is readable.
    """
    import rimetree as rt
    from rimetree.voltages.coherence import lost_by_following
    from rimetree.voltages.trees import voltage_tree

    feeds = given["feeds"]
    recordings = _recordings(files, **given)
    array, first, slots = rt.telescopes.get(given["layout"]), recordings[0], _slots(recordings, integration)
    baselines = [(p, q) for p in range(len(array)) for q in range(p, len(array))]
    scope = voltage_tree(recordings, integration=slots.samples, baselines=baselines, feeds=feeds, follow=not drift)
    forest = rt.Forest(scope, threads=threads, device=device)
    if not first.is_stream:
        _try_first_slots(forest, scope, recordings, slots.length_s)
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
    for recording in recordings:
        for beyond_s, names in _by_length(recording.beyond_s(slots.n * slots.length_s)).items():
            log(f"note: {beyond_s} s of {some_names(names)} are beyond the last whole integration: left out")
    for message in [] if drift else lost_by_following(array, phase_centre, recordings, slots.length_s, slots.n):
        log(f"warning: {message}")
    # Streams of several bands come at the same time: none is to wait for more than a slot of another.
    time_slots = 1 if first.is_stream and len(recordings) > 1 else None
    _run(forest, out, slots.n * slots.length_s, realtime, time_slots)


def _recordings(files, *, feeds, lost, duration, timeout, **given) -> list:
    """For each band how its voltages were recorded and what is to become of them."""
    from rimetree.voltages.trees import Recording

    n_stream = sum("://" in file for file in files)
    if n_stream not in (0, len(files)):
        raise click.UsageError("give files or streams, not both")
    if duration is not None and not n_stream:
        raise click.UsageError("--duration is that of streams; files are correlated as far as they go")
    refuse_without("streams", n_stream > 0, "timeout")
    channels = {name: given.pop(name) for name in CHANNEL_OPTIONS}
    how = recorded(**given, are_streams=n_stream > 0)
    count, rest = divmod(len(files), len(how.centres_hz))
    if rest or not count:
        raise click.UsageError(
            f"there are {len(how.centres_hz)} bands (--freq) and {len(files)} files: give all files of the first band, "
            "then as many of the next"
        )
    if how.order != "groups" and count > 1 and not n_stream:
        raise click.UsageError(f"several files are of order groups, one for each receiver; this is {how.order}")
    return [
        Recording(
            files=files[count * band : count * (band + 1)],
            format=how.format,
            n_input=feeds * len(how.array),
            sample_rate_hz=how.rate_hz,
            centre_hz=centre_hz,
            start_mjd_s=how.start_mjd_s,
            order=how.order,
            lost=lost,
            duration_s=duration,
            timeout_s=timeout,
            **_channelisation(how.format, **channels),
        )
        for band, centre_hz in enumerate(how.centres_hz)
    ]


def _channelisation(format: str, *, file_channels, channels, taps, window, channel_format, gain) -> dict:
    """Fields of a Recording, and what follows where options are not given."""
    from rimetree.voltages.trees import usual_channel_format

    if channels is None:
        channels = 128 if file_channels == 1 else 0
    refuse_without(
        "channels that are made, and here there are none", channels > 0, "taps", "window", "channel_format", "gain"
    )
    return {
        "file_channels": file_channels,
        "channels": channels or None,
        "taps": taps,
        "window": window or ("hann" if taps > 1 else "rectangular"),
        "channel_format": channel_format,
        "gain": gain or _usual_gain(format, channel_format or usual_channel_format(format)),
    }


def _usual_gain(format: str, channel_format: str) -> float:
    """By which noise of the best size for the samples' format fits the channels'; of few bits in many it is enough if
    rounding adds little, and strong signals find room."""
    from rimetree.voltages.making import BEST_RMS

    if format.startswith("float32") or channel_format.startswith("float32"):
        return 1.0
    return min(4.0, BEST_RMS[channel_format] / BEST_RMS[format])


def _by_length(beyond_s: dict[str, float]) -> dict[str, list[str]]:
    """{length: files}"""
    found: dict[str, list[str]] = {}
    for file, length_s in beyond_s.items():
        found.setdefault(f"{length_s:.6g}", []).append(file)
    return found


class _Slots(NamedTuple):
    """Time slots of a set: samples of a channel in each, how long one is, and how many."""

    samples: int
    length_s: float
    n: int


def _slots(recordings, integration_s: float) -> _Slots:
    """The time slots that all bands have: those of the shortest."""
    samples = recordings[0].integration(integration_s)
    length_s = samples / recordings[0].channel_rate_hz
    shortest = min(recordings, key=lambda recording: recording.n_sample())
    n = shortest.n_sample() // samples
    if n < 1:
        raise Failed(f"{shortest.files[0]} holds {shortest.length_s():g} s, less than an integration of {length_s:g} s")
    if shortest.channels and shortest.n_sample() < shortest.taps:
        filter_s = shortest.taps / shortest.channel_rate_hz
        held = f"{shortest.files[0]} holds {shortest.length_s():g} s"
        raise Failed(f"{held}, less than the {filter_s:g} s of the filter (--taps)")
    return _Slots(samples, length_s, n)


def _try_first_slots(forest, scope, recordings, slot_s: float) -> None:
    """Raises what is wrong with the files before a set is made."""
    import numpy as np

    from rimetree import Cells

    for recording in recordings:
        band = recording.band()
        width_hz = np.abs(np.array(band.width_hz))
        middle_s = recording.start_mjd_s + slot_s / 2
        cells = Cells([middle_s], np.array(band.frequency_hz), time_width_s=slot_s, freq_width_hz=width_hz)
        forest.evaluate(scope.products, cells)
    forest.forget()


def _run(forest, out: str, data_s: float, realtime: bool, time_slots: int | None) -> None:
    """All bands, each into its own spectral window, in the order of time."""
    from ..errors import Interrupted
    from ..output import progress

    begun = time.perf_counter()
    try:
        with progress("correlating", "visibilities") as show:
            report = forest.run(out, progress=show, autocorrelations=True, time_slots=time_slots)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {out} is readable, `rimetree inspect-ms` says up to which time") from None
    took_s = time.perf_counter() - begun
    for kind, messages in (("warning", report.warnings), ("note", report.notes)):
        for message in messages:
            log(f"{kind}: {message}")
    click.echo(f"{out}: {data_s:g} s of data in {took_s:.2f} s, {report.rows_written // 2} rows")
    if realtime:
        keeps = "keeps up with real time" if took_s < data_s else "does NOT keep up with real time"
        seconds = sorted(((name, one["seconds"]) for name, one in report.timing.classes.items()), key=lambda x: -x[1])
        by_class = ", ".join(f"{name} {one:.2f} s" for name, one in seconds[:3])
        click.echo(f"{data_s / took_s:.2f} times real time: {keeps}; {by_class}, writing {report.write_seconds:.2f} s")
