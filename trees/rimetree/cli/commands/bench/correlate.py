"""`rimetree bench correlate`: products of voltages, and the whole chain to them."""

from __future__ import annotations

import click

from ...options.evaluation import threads_option
from ...options.quantities import Count, Number
from ...output import log
from .files import check_files


@click.command("correlate")
@click.option(
    "--inputs",
    multiple=True,
    type=Count(min=1),
    metavar="N",
    default=(64, 256, 1024),
    show_default=True,
    help="Antennas times polarisations; may be repeated.",
)
@click.option("--format", "formats", multiple=True, default=("chime", "int8"), show_default=True, help="Sample format.")
@click.option("--strategy", default="automatic", show_default=True, help="As rt.correlate has it.")
@click.option("--seconds", type=Number(min=0.01), default=2.0, show_default=True, help="Time per case, about.")
@click.option("--chain", is_flag=True, help="Instead, channeliser and products of the MWA-32T against real time.")
@click.option("--device", default="none", show_default=True, help="E.g. cuda:0; samples go there from a file.")
@threads_option
@click.option("--json", "json_file", type=click.Path(), metavar="FILE", help="Write all figures, with device and date.")
def command(inputs, formats, strategy, seconds, chain, device, threads, json_file) -> None:
    """Products of voltages by the Correlate node: useful operations per second, reading and unpacking included.

    \b
    rimetree bench correlate --inputs 64 --threads 1

    One channel of four million samples of all inputs, again and again. Each product of N (N + 1) / 2 takes four
    multiplications and four additions a sample: 4 N (N + 1) operations. Columns: operations per second of the whole
    machine, and per second of processor time; the latter as a fraction of what a core does in registers, measured in
    the same run (dot products of bytes where it has AVX-512 VNNI, else products of 16 bits); samples of a channel per
    second, of all inputs, and the bytes of these. What is timed is first compared with the products formed one after
    the other, which must be the same to the last bit; exit status 1 where they are not.

    With --chain: 64 inputs, 1.28 MHz of complex samples of 5 bits into 128 channels and 2080 products, by a Fourier
    transform and by a filter bank of 4 taps: how many times faster than real time, on the whole machine and per core.
    """
    from rimetree import bench

    check_files(json_file, None, bench)
    record = bench.new_correlator_record(threads, seconds)
    click.echo(f"{record['date']}  {record['machine']['processor']}, threads: {record['machine']['threads']}")
    if chain:
        _chain(record, seconds, threads, device)
        formats = ()
    else:
        peak = record["machine"]["peak_operations_per_second_of_a_core"]["bytes"]
        click.echo(f"peak of a core by its own probe: {peak:.3g} operations/s on 8-bit numbers")
        click.echo(
            f"{'format':<16}{'inputs':>8}{'op/s':>12}{'per core':>12}{'of peak':>9}{'samples/s':>12}{'bytes/s':>12}"
        )
    for name in formats:
        for n_input in inputs:
            case = bench.measure_correlator(
                name, n_input, strategy=strategy, threads=threads, device=device, seconds=seconds
            )
            record["cases"].append(case)
            click.echo(
                f"{name:<16}{n_input:>8}{case['operations_per_second']:>12.3g}"
                f"{case['operations_per_processor_second']:>12.3g}"
                f"{case['operations_per_processor_second'] / peak:>9.0%}{case['channel_samples_per_second']:>12.3g}"
                f"{case['bytes_per_second']:>12.3g}"
            )
    if json_file:
        bench.write_correlator_record(json_file, record)
        log(f"wrote {json_file}")


def _chain(record: dict, seconds: float, threads: int | None, device: str) -> None:
    from rimetree import bench

    click.echo(f"{'taps':<8}{'real time':>12}{'per core':>12}{'bytes/s':>12}")
    for taps in (1, 4):
        case = bench.measure_chain(taps=taps, threads=threads, device=device, seconds=seconds)
        record["cases"].append(case)
        click.echo(
            f"{taps:<8}{case['times_real_time']:>11.3g}x{case['times_real_time_per_core']:>11.3g}x"
            f"{case['bytes_per_second']:>12.3g}"
        )
