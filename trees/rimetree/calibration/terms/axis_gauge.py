"""The turns of full matrices that a sky polarised in two ways leaves open.

Two brightness matrices B, as those of an unpolarised and of a polarised source, are both left as they are by
U = exp(i theta A) with one matrix A (`Polarisation.axis`), so that J U fits as well as J, times any phase. The
convention is that of the first row of the reference antenna's matrix the first element is real and of the second one
the part that such turns change most (`Polarisation.turned`) is 0, or as small as it can be. Of two such turns it is
that with the larger diagonal.

Fits are not held to it, which takes many more steps. What the Solver finds is turned here, and it is asked again, with
an element of the reference antenna held, which tells the errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from .gauge import PAULI, Axis, Polarisation, terms_inside
from .term_trees import Parameter
from .terms import Term

_ELEMENTS = ("00", "01", "10", "11")


def open_axis(term: Term, terms: Sequence[Term], sky: Polarisation) -> Axis | None:
    """The axis around which the matrices of a term may be turned; None if there is none, or if what stands inside them,
    or what is held of them (`held_parameters`), does not let them turn."""
    if term.kind.name != "full" or sky.hands != "crossed" or sky.uniform:
        return None
    free = all(other.elements == ("",) and other.kind.diagonal for other in terms_inside(term, terms))
    return sky.axis if free else None


def held_by_axis(own: Sequence[Parameter], axis: Axis, reference: int) -> set[str]:
    """Of the Parms of a term (and direction), what says of the reference antenna how it is turned."""
    turned = Polarisation("crossed", False, axis).turned
    return {one.node for one in own if one.antenna == reference and (one.part, _ELEMENTS[one.element]) in turned}


def turned_to_axis(
    own: Sequence[Parameter], values: Mapping[str, NDArray[np.float64]], axis: Axis, reference: int
) -> dict[str, NDArray[np.float64]]:
    """Values {node: [time, freq]} of the Parms of a term (and direction), turned as the convention wants them."""
    matrices = {one.antenna: np.zeros((*values[one.node].shape, 2, 2), complex) for one in own}
    for one in own:
        part = values[one.node] * (1 if one.part == "re" else 1j)
        matrices[one.antenna][..., one.element // 2, one.element % 2] += part
    turn = _turn(matrices[reference], axis)
    turned = {antenna: matrix @ turn for antenna, matrix in matrices.items()}
    entries = {one.node: turned[one.antenna][..., one.element // 2, one.element % 2] for one in own}
    return {one.node: getattr(entries[one.node], "real" if one.part == "re" else "imag").copy() for one in own}


def _turn(reference: NDArray[np.complex128], axis: Axis) -> NDArray[np.complex128]:
    """[..., 2, 2] unitary matrices for those of the reference antenna."""
    matrix = np.einsum("k,kij->ij", np.asarray(axis), PAULI)
    part = "imag" if ("im", "01") in Polarisation("crossed", False, axis).turned else "real"
    row, quarter = reference[..., 0, :], 1j * reference[..., 0, :] @ matrix  # turned by nothing, and by a quarter

    def product(one, other):
        return getattr(one[..., 1] * np.conj(other[..., 0]), part)

    # That part, with the first element real, is a sinusoid of twice the angle.
    cosine = 0.5 * (product(row, row) - product(quarter, quarter))
    sine = 0.5 * (product(row, quarter) + product(quarter, row))
    mean = 0.5 * (product(row, row) + product(quarter, quarter))
    size = np.hypot(cosine, sine)
    ratio = np.divide(-mean, size, out=np.zeros(size.shape), where=size > 0)
    apart = np.arccos(np.clip(ratio, -1.0, 1.0))
    found = [_by_angle(0.5 * (np.arctan2(sine, cosine) + way * apart), matrix) for way in (1, -1)]
    diagonals = [np.abs(np.diagonal(reference @ turn, axis1=-2, axis2=-1)).sum(axis=-1) for turn in found]
    turn = np.where((diagonals[0] >= diagonals[1])[..., None, None], *found)
    first = (reference @ turn)[..., :1, :1]
    return turn * np.exp(-1j * np.angle(first))


def _by_angle(angle: NDArray[np.float64], axis: NDArray[np.complex128]) -> NDArray[np.complex128]:
    angle = angle[..., None, None]
    return np.cos(angle) * np.eye(2) + 1j * np.sin(angle) * axis
