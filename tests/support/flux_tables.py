"""Sources with tables of fluxes."""

from __future__ import annotations

import numpy as np

from rimetree.sky import SkyModel
from rimetree.sky_fluxes import stokes_at


def assert_each_is_as_alone(sources, where_hz):
    """Of sources in one sky, each has the fluxes at these frequencies that it has alone, and that its table says."""
    for source, found in zip(sources, stokes_at(SkyModel(sources), where_hz), strict=True):
        np.testing.assert_allclose(found, stokes_at(SkyModel((source,)), where_hz)[0], rtol=1e-12, atol=1e-13)
        if source.table is not None:
            expected = np.array([source.table.at(hz) for hz in where_hz]).T
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
