"""What the data of a set were like when a calibration began, in a few digits: one that is resumed on others refuses."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from ...ms import MsGroup, OpenSet, sample_tiles, without_averaging
from .solutions import Solutions

_MOST_SLOTS, _LEAST_SLOTS = 32, 8
_SAMPLED_BYTES = 32 << 20  # that the slots may have together, if there are more than the least
_ARRAYS = {"flags": "flag", "weights": "weight", "UVW": "uvw_m"}


def data_fingerprints(opened: OpenSet, group: MsGroup, columns: Sequence[str]) -> dict[str, str]:
    """{what: digest} of columns of visibilities, of flags, weights and UVW, in 8 to 32 time slots spread over the rows
    of a group (the more, the smaller they are): what changes in none of these slots is not noticed."""
    slots = min(max(_SAMPLED_BYTES // max(group.slot_bytes(len(columns)), 1), _LEAST_SLOTS), _MOST_SLOTS)
    digests = {name: hashlib.sha256() for name in (*(f"visibilities in {one}" for one in columns), *_ARRAYS)}
    for tile in sample_tiles(opened, list(columns), slots, **without_averaging(group.selection)):
        there = tile["row"] >= 0
        arrays = {f"visibilities in {one}": tile["columns"][one] for one in columns}
        arrays |= {name: tile[key] for name, key in _ARRAYS.items()}
        for name, array in arrays.items():
            digests[name].update(array[there])
    return {name: digest.hexdigest() for name, digest in digests.items()}


def fingerprint_of(solutions: Solutions) -> str:
    """A digest of the values and flags of solutions."""
    digest = hashlib.sha256()
    for term in solutions.terms:
        digest.update(f"{term.name} {term.kind} {term.antennas} {term.directions}".encode())
        for array in (term.time_s, term.frequency_hz, term.flag, *term.value.values()):
            digest.update(np.ascontiguousarray(array))
    return digest.hexdigest()
