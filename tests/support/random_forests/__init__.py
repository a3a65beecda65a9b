"""Random forests: trees of all node classes, held to the second opinion, and cut down where they fail."""

from . import proposals, sky_proposals, voltage_proposals
from .comparing import PLACES, Case, Count, differences
from .growing import PROPOSALS, grow, random_options
from .psv_scenes import psv_case
from .shrinking import smallest
from .tree import Node, Tree

__all__ = [
    "PLACES",
    "PROPOSALS",
    "Case",
    "Count",
    "Node",
    "Tree",
    "differences",
    "grow",
    "proposals",
    "psv_case",
    "random_options",
    "sky_proposals",
    "smallest",
    "voltage_proposals",
]
