"""Options that several commands share, put on a command in one go."""

from __future__ import annotations

from collections.abc import Callable


def with_options(function: Callable, *options: Callable) -> Callable:
    """`function` with these options of click's, which its help lists in the order given."""
    for option in reversed(options):
        function = option(function)
    return function
