"""What `rt.ms.groups` says of a set before anything is done with it."""

import warnings

import pytest

import rimetree as rt


def test_antennas_that_their_table_flags_are_named(small_ms):
    """Data of theirs that are not flagged are used; nothing had said that the set calls them bad."""
    path = small_ms(pairs=[(0, 1), (0, 2), (1, 2)])
    summary = rt.ms.inspect(path)
    with warnings.catch_warnings(action="error"):
        summary["antennas"][3]["flagged"] = True  # of which there are no data
        rt.ms.groups(path, summary=summary)
    summary["antennas"][2]["flagged"] = True
    with pytest.warns(UserWarning, match="table ANTENNA says that A2 are flagged; their data count as flagged where"):
        rt.ms.groups(path, summary=summary)
