"""The telescope that a Measurement Set is of."""

from __future__ import annotations

import json
import os
import warnings

import numpy as np

from .. import _core
from .telescope import MOUNTS, Telescope, TelescopeError


def is_ms(path: str) -> bool:
    """Whether a folder has antennas as a Measurement Set has them."""
    return os.path.exists(os.path.join(path, "ANTENNA", "table.dat"))


def read_telescope_of_ms(path: str) -> Telescope:
    """Its antennas, with the feeds and the band of the first data description that there are rows of. Antennas that are
    at no place and that there are no data of are left out; mounts that are not known count as ALT-AZ, and a warning
    says so. Raises `TelescopeError` where an antenna with data is at no place, `Error` where the set cannot be read."""
    summary = json.loads(_core.inspect_ms(path, False))
    antennas = [one for one in summary["antennas"] if one["n_row"] or np.any(one["position_m"])]
    used = sorted(summary["data_descriptions"], key=lambda one: not one["n_row"])  # those with rows first
    described = next(iter(used), {"correlations": []})
    windows = [one for one in summary["spectral_windows"] if one["id"] == described.get("spectral_window_id")]
    band = {}
    if windows and windows[0]["n_channel"] and not windows[0]["n_no_frequency"]:
        low, high = windows[0]["lowest_hz"], windows[0]["highest_hz"]
        band = {"band_centre_hz": (low + high) / 2, "band_width_hz": high - low + abs(windows[0]["width_hz"])}
    mounts = tuple(one["mount"].strip().upper() for one in antennas)
    if unknown := sorted(set(mounts) - set(MOUNTS)):
        warnings.warn(f"{path}: mounts {unknown} of antennas are taken to be ALT-AZ", stacklevel=4)
    mounts = tuple(mount if mount in MOUNTS else "ALT-AZ" for mount in mounts)
    try:
        return Telescope(
            os.path.basename(os.path.normpath(path)),
            tuple(one["name"] for one in antennas),
            np.array([one["position_m"] for one in antennas]).reshape(-1, 3),
            np.array([one["diameter_m"] for one in antennas]),
            mount=mounts[0] if len(set(mounts)) == 1 else mounts,
            feed="circular" if any(name[:1] in "RL" for name in described["correlations"]) else "linear",
            observatory=summary["telescope"],
            **band,
        )
    except TelescopeError as problem:
        raise TelescopeError(problem.message, file=path) from None
