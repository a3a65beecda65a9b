"""--phase-centre, and what is odd about phase centres and UVW of a set."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

import click

from ..output import log
from .quantities import DEC, RA

_FITS = 0.05  # relative: UVW that fit a direction better than that are for one
_OFF_RAD = 5e-3  # what is further from it is another phase centre; UVW of the mean equinox are not as far


def centre_option(function: Callable) -> Callable:
    """--phase-centre."""
    return click.option(
        "--phase-centre",
        type=(RA, DEC),
        metavar="RA DEC",
        help="Direction that the UVW were made for, if not the one in the FIELD table; in the frame of the field; e.g. "
        "3h32m30s -27d48m (bare numbers are degrees).",
    )(function)


def warn_of_directions(summary: dict, field_ids: Collection[int], given: Sequence[float] | None = None) -> None:
    """What of these fields' phase centres and UVW `inspect-ms` warns of, and how to name another phase centre; or where
    the UVW are not for the one that was given, as those of several fields cannot be."""
    if given is not None:
        _warn_of_given_centre(summary, field_ids, given)
        return
    for warning in summary["field_warnings"]:
        if warning["field_id"] in field_ids:
            log(f"warning: {warning['text']}; sources may stand in wrong places{_centre_to_give(summary, warning)}")


def _warn_of_given_centre(summary: dict, field_ids: Collection[int], given: Sequence[float]) -> None:
    from rimetree.directions import angles_from

    for direction in summary["uvw"]["directions"]:
        residual, names = direction["residual"], {field["id"]: field["name"] for field in summary["fields"]}
        off = angles_from(given, (direction["ra_rad"], direction["dec_rad"]))
        if direction["field_id"] in field_ids and residual < _FITS and off > max(5 * residual, _OFF_RAD):
            which = f"field {direction['field_id']} ({names[direction['field_id']]})"
            log(f"warning: the UVW of {which} are for a direction {math.degrees(off):.3g} deg from --phase-centre")


def _centre_to_give(summary: dict, warning: dict) -> str:
    for direction in summary["uvw"]["directions"]:
        if direction["field_id"] == warning["field_id"] and direction["points_elsewhere"]:
            ra, dec = (math.degrees(direction[name]) for name in ("ra_rad", "dec_rad"))
            return f": give --phase-centre (about {ra:.4f} {dec:.4f} deg)"
    return ": give --phase-centre if they do"
