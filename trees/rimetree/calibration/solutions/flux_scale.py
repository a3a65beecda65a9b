"""Transfer of the flux scale: from a calibrator whose model is right to others of which only the shape is known.

Gains of antenna, feed and window are the same for all fields, so that where a model is too small by a factor r, the
gains found with it are too large by sqrt(r) in amplitude (one r for all antennas and feeds of a field and window).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...arguments import checked
from ..errors import CalibrationError
from ..medians import median_and_sigma
from ..terms.terms import Term
from .solutions import Solutions
from .term_solutions import TermSolutions


@dataclass(frozen=True)
class FluxRatio:
    """How much brighter a field is than its model, and one standard deviation, from the scatter over antennas and
    feeds. `data_desc_ids`: of the window; `n`: antennas and feeds."""

    field_id: int
    data_desc_ids: tuple[int, ...]
    ratio: float
    sigma: float
    n: int


@checked
def transfer_flux_scale(
    sets: Sequence[Solutions], reference_field: int, field_names: Sequence[str] = ()
) -> tuple[list[Solutions], list[FluxRatio]]:
    """Solutions with amplitudes that hold for the flux scale of one field, and how bright the other fields are.

    In each window the term with the shortest intervals in time that has amplitudes on the reference field and on
    another is compared: medians over its times, antenna by antenna and feed by feed. Raises `CalibrationError` where no
    window has such a term. `field_names`: of all fields of the set, for messages.
    """
    scaled, ratios = [], []
    for solutions in sets:
        terms = [_amplitude_term(term, reference_field) for term in solutions.terms]
        candidates = [term for term in terms if term is not None]
        if not candidates:
            scaled.append(solutions)
            continue
        term = max(candidates, key=lambda one: len(one.time_s))
        ids = tuple(map(int, str(solutions.provenance.get("data_desc_ids", "0")).split()))
        found = _ratios(term, reference_field, ids, field_names)
        ratios += found
        new = _scaled(term, found)
        scaled.append(replace(solutions, terms=tuple(new if one is term else one for one in solutions.terms)))
    if not ratios:
        raise _no_amplitudes(reference_field, field_names)
    return scaled, ratios


@checked
def require_amplitudes(
    terms_of: Sequence[tuple[Sequence[Term], set[int]]], reference_field: int, field_names: Sequence[str] = ()
) -> None:
    """Raises `CalibrationError` where none of the terms that are solved for on the same fields (FIELD_IDs) can carry a
    flux scale from one field to another: before anything is solved."""
    for terms, fields in terms_of:
        if reference_field in fields and len(fields) > 1:
            for term in terms:
                if term.per is None and "amplitude" in term.kind.quantities and term.kind.name != "leakage":
                    return
    raise _no_amplitudes(reference_field, field_names)


def field_text(field_id: int, names: Sequence[str]) -> str:
    """The number of a field, with its name, if it has one among those of all fields of a set."""
    name = names[field_id] if 0 <= field_id < len(names) else ""
    return f"{field_id} ({name})" if name else str(field_id)


def _no_amplitudes(reference_field: int, names: Sequence[str]) -> CalibrationError:
    return CalibrationError(
        f"the flux scale of field {field_text(reference_field, names)} cannot be transferred: no term of the whole sky "
        "has amplitudes both there and on another field; solve one (diag, scalar, amplitude or full) on all calibrators"
    )


def _amplitude_term(term: TermSolutions, reference_field: int) -> TermSolutions | None:
    """The term, if it has amplitudes on the reference field and on another."""
    if "amplitude" not in term.value or term.of_directions or term.field_ids is None or term.kind == "leakage":
        return None
    fields = set(term.field_ids.tolist())
    return term if reference_field in fields and len(fields) > 1 else None


def _median_amplitudes(term: TermSolutions, field_id: int) -> np.ndarray:
    """[antenna, feed], NaN where there are none; of full matrices the diagonal."""
    own = term.at_times(term.field_ids == field_id)
    diagonal = [k for k, element in enumerate(term.elements) if element not in ("01", "10")]
    values = np.where(own.flag, np.nan, own.value["amplitude"])[:, :, :, 0, diagonal]
    flat = np.moveaxis(values, (2, 3), (0, 1)).reshape(values.shape[2], len(diagonal), -1)
    good = np.isfinite(flat).any(axis=-1)
    result = np.full(good.shape, np.nan)
    result[good] = np.nanmedian(flat[good], axis=-1)
    return result


def _ratios(term: TermSolutions, reference_field: int, ids: tuple[int, ...], names: Sequence[str]) -> list[FluxRatio]:
    reference = _median_amplitudes(term, reference_field)
    found = []
    for field_id in sorted(set(term.field_ids.tolist()) - {reference_field}):
        with np.errstate(invalid="ignore", divide="ignore"):
            each = ((_median_amplitudes(term, field_id) / reference) ** 2).ravel()
        each = each[np.isfinite(each)]
        if len(each) == 0:
            raise CalibrationError(
                f"the flux scale cannot be transferred from field {field_text(reference_field, names)} to field "
                f"{field_text(field_id, names)}: no antenna has solutions of {term.name} on both"
            )
        ratio, sigma = map(float, median_and_sigma(each))
        found.append(FluxRatio(field_id, ids, ratio, sigma / math.sqrt(len(each)), len(each)))
    return found


def _scaled(term: TermSolutions, ratios: Sequence[FluxRatio]) -> TermSolutions:
    factor = np.ones(len(term.time_s))
    for one in ratios:
        factor[term.field_ids == one.field_id] = 1 / np.sqrt(one.ratio)
    factor = factor[:, None, None, None, None]
    return replace(
        term,
        value={**term.value, "amplitude": term.value["amplitude"] * factor},
        sigma={**term.sigma, "amplitude": term.sigma["amplitude"] * factor},
    )
