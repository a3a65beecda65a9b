"""What fits of directions see, written as simply as possible: beside the fast form that is tested."""

import numpy as np


def factors_seen(sums, unknowns, place):
    """[time, freq, feed, direction, baseline, start]: factors of each direction's model at places [start, unknown]."""
    shape = sums.product.shape[1:]
    logarithm = np.zeros((*shape, sums.antennas, len(place)), complex)
    own = np.concatenate([place, np.zeros((len(place), 1))], axis=1)  # the last one: those that are 0
    for one in unknowns:
        value = own[:, one.index[one.cells]] * one.rate[:, None]  # [start, time, freq, antenna]
        value = np.moveaxis(value, 0, -1) * (1j if one.turns else 1)
        acts = one.feeds[:, None] * one.directions
        logarithm += acts[..., None, None] * value[:, :, None, None]
    antenna = np.exp(logarithm)
    p, q = sums.baselines.T
    return antenna[..., p, :] * np.conj(antenna[..., q, :])


def chi_square_of(sums, seen):
    """[start], of what is seen."""
    with_data = np.einsum("tfekbs,btfek->s", seen.conj(), sums.product)
    return sums.data + np.einsum("tfekbs,btfekl,tfelbs->s", seen.conj(), sums.power, seen).real - 2 * with_data.real
