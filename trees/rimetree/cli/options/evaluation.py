"""How trees are evaluated: precision, threads, devices, memory, checks."""

from __future__ import annotations

from collections.abc import Callable

import click

from .quantities import BYTES, Count, Number


def evaluation_options(function: Callable) -> Callable:
    """--precision, --tolerance, --device, --threads, --memory and --time-slots."""
    function = click.option(
        "--time-slots",
        type=Count(min=1),
        help="Time slots that are read and evaluated together; default: as many as fit into memory, at most 64.",
    )(function)
    function = click.option(
        "--memory", type=BYTES, help="Memory for results, e.g. 4GiB; default: half of the memory that is free."
    )(function)
    function = click.option(
        "--device",
        metavar="NAMES",
        help="Where to evaluate: auto (all GPUs), none (the host), or names with commas between them, as `rimetree "
        "info` lists them. Default: the environment variable RIMETREE_DEVICE, else none. A DeviceMemory node in the "
        "tree overrides this.",
    )(function)
    return accuracy_options(threads_option(function))


def as_written_option(function: Callable) -> Callable:
    """--as-written and --together."""
    return click.option(
        "--as-written/--together",
        default=None,
        help="Evaluate every node as the tree has it, or take sums over sources together, however they are written; "
        "default: as the environment variable RIMETREE_AS_WRITTEN says (1 or 0), else together.",
    )(function)


def threads_option(function: Callable) -> Callable:
    """--threads."""
    return click.option(
        "--threads",
        type=Count(min=1),
        help="Number of threads; default: the environment variable RIMETREE_NUM_THREADS, else OMP_NUM_THREADS, else "
        "one for each core that this process may use.",
    )(function)


def accuracy_options(function: Callable) -> Callable:
    """--precision and --tolerance."""
    function = click.option(
        "--tolerance",
        type=Number(min=1e-12, max=1, max_open=True),
        help="Largest error that visibilities may have, as a fraction of the total flux. The cheapest method that "
        "keeps to it is used. Default: 1e-12 for double precision, 1e-6 for single.",
    )(function)
    return click.option(
        "--precision",
        type=click.Choice(["double", "single"]),
        default="double",
        show_default=True,
        help="Numbers to sum visibilities in; phases are always in double precision.",
    )(function)


def verify_option(function: Callable) -> Callable:
    """--verify."""
    return click.option(
        "--verify",
        type=Count(min=0),
        default=0,
        metavar="N",
        help="Compute N visibilities of each batch of PSV nodes again in extended precision; report the largest error.",
    )(function)
