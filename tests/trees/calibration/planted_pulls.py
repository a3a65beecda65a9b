"""Planted terms of many solution intervals, and how far solutions are from them in units of their errors."""

import numpy as np

import rimetree as rt

SLOTS, CHANNELS = 6, 8  # of an interval
#: Patches so far apart that their fringes turn by several radians in an interval of `PATCHES_SLOT_S`.
PATCHES = rt.sky.SkyModel(
    [
        rt.sky.Source("a", 0.93, -0.485, (60.0, 0.0, 0.0, 0.0), patch="middle"),
        rt.sky.Source("b", 0.96, -0.468, (40.0, 0.0, 0.0, 0.0), patch="side"),
    ]
)
PATCHES_SLOT_S = 80.0
#: Its crossed hands tell the phase between the feeds nearly as well as the others tell those of antennas.
POLARISED = rt.sky.SkyModel(
    [
        rt.sky.Source("a", 0.93, -0.485, (60.0, 20.0, -30.0, 10.0)),
        rt.sky.Source("b", 0.935, -0.482, (25.0, -10.0, 12.0, 0.0)),
        rt.sky.Source("c", 0.927, -0.489, (30.0, 5.0, 15.0, -12.0)),
    ]
)
#: Three sources of each patch are polarised in ways of their own, so that no turn of matrices leaves all as they are.
POLARISED_PATCHES = rt.sky.SkyModel(
    [
        rt.sky.Source("a", 0.93, -0.485, (60.0, 20.0, -30.0, 10.0), patch="middle"),
        rt.sky.Source("b", 0.933, -0.483, (35.0, -15.0, 12.0, 8.0), patch="middle"),
        rt.sky.Source("c", 0.931, -0.487, (30.0, 5.0, 15.0, -12.0), patch="middle"),
        rt.sky.Source("d", 0.96, -0.468, (40.0, 15.0, 15.0, -12.0), patch="side"),
        rt.sky.Source("e", 0.957, -0.466, (25.0, -10.0, -12.0, 5.0), patch="side"),
        rt.sky.Source("f", 0.958, -0.469, (30.0, -5.0, 10.0, 12.0), patch="side"),
    ]
)


def pulls(term, truth, direction=0):
    """{quantity: differences over errors} of gains [antenna, time, freq, element]; what is held has no error, and must
    have the value that it is held at."""
    found, wanted = {}, np.moveaxis(truth, 0, 2)
    for quantity, of in (("amplitude", np.abs), ("phase", np.angle)):
        if quantity not in term.value:
            continue
        value, sigma = (x[quantity][:, :, :, direction] for x in (term.value, term.sigma))
        difference = value - of(wanted)
        if quantity == "phase":
            difference = np.angle(np.exp(1j * difference))
        there = (sigma > 1e-9) & (sigma < 3)  # what is held, and phases of what is held at 0
        assert np.isfinite(sigma).all() and np.abs(difference[~there]).max(initial=0) < 1e-8
        found[f"{term.name} {quantity} {direction}"] = difference[there] / sigma[there]
    return found


def normalised(values, axis):
    """(what is left, what was taken out) of gains [antenna, time, freq, element]: mean amplitude 1, and the unwrapped
    phases, weighted with the amplitudes, have mean 0 along the axis."""
    amplitude = np.abs(values)
    phase = np.unwrap(np.angle(values), axis=axis)
    phase = (amplitude * phase).sum(axis=axis, keepdims=True) / amplitude.sum(axis=axis, keepdims=True)
    taken = amplitude.mean(axis=axis, keepdims=True) * np.exp(1j * phase)
    return values / taken, taken


def slots(values):
    """Of each interval's value [antenna, interval, ...] that of each of its slots."""
    return np.repeat(values, SLOTS, axis=1)
