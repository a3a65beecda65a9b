"""Terms that follow from how phases go along frequency, where an interval has a single channel: known before it is
solved."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...ms import MsGroup
from ..terms.grid import Axis
from ..terms.kinds import FREQUENCY_QUANTITIES, TIME_QUANTITIES
from ..terms.terms import Term

_NO_MORE_THAN = {"delay": "a delay is a phase", "tec": "TEC is a phase", "faraday": "a Faraday rotation is a rotation"}
_MOST_PLACES = 5


def single_channels(terms: Sequence[Term], axes: dict[str, Axis], frequency_hz: NDArray[np.float64]) -> list[Term]:
    """Terms of which all intervals that have channels have one. `axes`: of the terms, along frequency; `frequency_hz`:
    centres of the channels that there are."""
    found = []
    for term in terms:
        counts = np.histogram(np.unique(frequency_hz), axes[term.name].edges)[0]
        along = FREQUENCY_QUANTITIES.difference(TIME_QUANTITIES)  # rates are told by how phases go in time
        if along.intersection(term.kind.quantities) and counts.max() == 1:
            found.append(term)
    return found


def warn_of_single_channels(found: Sequence[tuple[MsGroup, Sequence[Term]]]) -> None:
    """Warns of what `single_channels` finds in each group."""
    for term in dict.fromkeys(term for _, terms in found for term in terms):
        own = [group for group, terms in found if term in terms]
        places = [f"field {group.field_id} window {', '.join(map(str, group.data_desc_ids))}" for group in own]
        more = f" and {len(places) - _MOST_PLACES} more" if len(places) > _MOST_PLACES else ""
        where = f" in {', '.join(places[:_MOST_PLACES])}{more}" if len(own) < len(found) else ""
        warnings.warn(
            f'term "{term}": its intervals have one channel each{where}, where {_NO_MORE_THAN[term.kind.name]}, but '
            "for whole turns: it is found as that, and says nothing of other frequencies",
            stacklevel=3,
        )
