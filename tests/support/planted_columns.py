"""Visibilities that a sky gives, and columns of Measurement Sets that hold what was planted."""

import numpy as np

import rimetree as rt


def predicted_by_psv(tile, sky, centre_rad):
    """[baseline, time, channel, 2, 2] of a sky, with smearing, by `predict`."""
    scope = rt.NodeScope()
    rt.sky_nodes(scope, sky, centre_rad)
    return rt.predict(
        tile["uvw_m"].reshape(-1, 3),
        tile["frequency_hz"],
        rt.Forest(scope).evaluate(scope.lmn)[..., 0, 0],
        sky.stokes_jy,
        duvw_m_s=tile["uvw_rate_m_s"].reshape(-1, 3),
        exposure_s=tile["exposure_s"].ravel(),
        channel_width_hz=tile["channel_width_hz"],
    ).reshape(*tile["row"].shape, -1, 2, 2)


def write_column(path, tile, values, column="DATA", flag=None, options=None):
    """Visibilities [baseline, time, channel, 2, 2] of a tile into a column of a set; `flag`: [baseline, time, channel]
    or of every correlation; `options`: which rows of the set, as the tile was read."""
    ns = rt.NodeScope()
    for k, (p, q) in enumerate(tile["baselines"]):
        value = rt.Constant(np.ascontiguousarray(np.moveaxis(values[k], (2, 3), (0, 1))), cells_rank=2)
        if flag is not None:
            at = flag[k] if flag.ndim == 3 else np.moveaxis(flag[k], (2, 3), (0, 1))
            bad = rt.Constant(np.ascontiguousarray(at).astype(float), cells_rank=2)
            value = rt.MergeFlags(value, rt.ZeroFlagger(bad, oper="NE"))
        ns.V(p, q) << value
        ns.sink(p, q) << rt.Sink(
            ns.V(p, q), station_1_index=p, station_2_index=q, output_column=column, write_flags=flag is not None
        )
    rt.Forest(ns).run(path, time_slots=10000, **(options or {}))
