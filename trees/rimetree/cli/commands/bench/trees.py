"""`rimetree bench trees`: operations, spellings of a sky, Jones terms, solves, forests."""

from __future__ import annotations

import itertools

import click

from ...errors import Failed
from ...options.quantities import Count, Number
from ...output import log
from .files import check_files


@click.command("trees")
@click.option(
    "--filter", "parts", multiple=True, metavar="PART", help="Only cases whose name has this part; may be repeated."
)
@click.option("--list", "list_only", is_flag=True, help="List the cases and stop.")
@click.option("--seconds", type=Number(min=0.01), default=1.0, show_default=True, help="Time per case, about.")
@click.option("--sources", type=Count(min=1), default=1000, show_default=True, help="Number of sources of the skies.")
@click.option(
    "--json", "json_file", type=click.Path(), metavar="FILE", help="Write all figures, with machine and date."
)
def command(parts, list_only, seconds, sources, json_file) -> None:
    """Trees: operations, a chain of them, ways to write a sky of points, PSV with Jones terms, forests. One core.

    \b
    rimetree bench trees
    rimetree bench trees --filter sky --sources 100 --json trees.json

    Columns: what is done per second; the time of NumPy and of numexpr (one thread, if installed) over that of the tree;
    gigabytes that must be read and written, per second ("of memory": over those that numpy.max reads); bytes of results
    alive at most; difference from NumPy's or PSV's numbers as a fraction of the largest value. Of operations the best
    of several evaluations counts, else processor time: of skies (21 baselines, 32 time slots, 64 channels; "as written"
    without recognition, Gaussians smeared) and spellings ("of PSV": speed over PSV's); of Jones terms per source and
    antenna (64 antennas, 64 channels, one slot), of which derivatives and gradients are those by an unknown that all
    terms depend on, with the values ("evaluations": their time over that of values; "est.": PSV's estimate over its
    time); of solves for gains of five sources and seven stations; of forests with one node per source and baseline.
    Exit status 1 where a case gave wrong answers.
    """
    from rimetree import bench
    from rimetree.bench import beam_terms, building, jones, slopes, solves, spellings
    from rimetree.bench import trees as cases
    from rimetree.bench.operations import measure_operation, operations

    work = {case.name: (lambda case=case: measure_operation(case, seconds)) for case in operations()}
    work[slopes.NAME] = lambda: slopes.measure_chain_derivative(seconds=seconds)
    work |= {sky.name: (lambda sky=sky: cases.measure_sky(sky, sources, seconds=seconds)) for sky in cases.SKIES}
    work |= {
        one.case: (lambda one=one: spellings.measure_spelling(one, seconds=seconds)) for one in spellings.SPELLINGS
    }
    for one in itertools.product(beam_terms.KINDS, jones.ASKED):
        work[jones.name_of(*one)] = lambda one=one: jones.measure_jones(one[0], sources, seconds=seconds, asked=one[1])
    work |= {case: (lambda case=case: solves.measure_solve(case, seconds=seconds)) for case in solves.CASES}
    for case in building.CASES:
        work[building.name_of(case)] = lambda case=case: building.measure_building(case, sources, seconds=seconds)
    chosen = [name for name in work if not parts or any(part in name for part in parts)]
    if not chosen:
        raise Failed("no case has such a part in its name; --list shows all")
    if list_only:
        click.echo("\n".join(chosen))
        return
    check_files(json_file, None, bench)
    figures, errors = [], []
    width = max(len(name) for name in chosen)
    click.echo(
        f"{'case':<{width}}  {'per second':>10}  {'NumPy':>7}  {'numexpr':>7}  {'GB/s':>6}  {'bytes':>9}  {'error':>7}"
    )
    for name in chosen:
        try:
            measured = work[name]()
        except bench.WrongAnswerError as problem:
            errors.append(str(problem))
            click.echo(f"{name:<{width}}  NO SPEED, wrong answer")
            continue
        figures.append(measured.as_dict())
        click.echo(f"{name:<{width}}  {_tree_line(measured)}")
    if json_file:
        bench.write_trees(json_file, figures, seconds)
        log(f"wrote {json_file}")
    if errors:
        raise Failed("\n".join(errors))


def _tree_line(measured) -> str:
    from ....machine import size_text

    def ratio(other: float | None) -> str:
        return "" if other is None else f"{other / measured.seconds:.2f}"

    bandwidth = f"{1e-9 * measured.bytes / measured.seconds:.3g}" if measured.bytes else ""
    return (
        f"{measured.rate:>10.3g}  {ratio(measured.numpy_seconds):>7}  {ratio(measured.numexpr_seconds):>7}  "
        f"{bandwidth:>6}  {size_text(measured.result_bytes):>9}  {measured.error:>7.1g}  {measured.unit}"
        + measured.remarks
    )
