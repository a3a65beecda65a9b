"""The ready-made tree of a sky model: its options, and its scope."""

from __future__ import annotations

from collections.abc import Callable

import click

from .centre import centre_option


def tree_options(function: Callable) -> Callable:
    """What the tree of a sky model is like: --no-smearing, --many-node, --phase-centre."""
    function = centre_option(function)
    function = click.option(
        "--many-node",
        is_flag=True,
        help="Write the tree with small nodes for each source and baseline, not with one PSV node per baseline.",
    )(function)
    return smearing_option(function)


def smearing_option(function: Callable) -> Callable:
    """--no-smearing."""
    return click.option(
        "--no-smearing", is_flag=True, help="Leave out smearing over integration time and channel width."
    )(function)


def scope_of_sky(group, sky, column: str, *, no_smearing, many_node, phase_centre, noise=None, **beside):
    """The scope of the ready-made tree of a sky model for an `MsGroup`, with a `ReceiverNoise` or none; `beside`: the
    column that the sky is added to or subtracted from, as of `psv_tree`."""
    import rimetree as rt

    ns = rt.NodeScope()
    tree = rt.many_node_tree if many_node else rt.psv_tree
    of_noise = {} if noise is None else vars(noise.of_correlations(group.correlations))
    tree(
        ns,
        sky,
        phase_centre or group.phase_centre_rad,
        group.baselines,
        feed=group.feed,
        smearing=not no_smearing,
        column=column,
        **of_noise,
        **beside,
    )
    return ns
