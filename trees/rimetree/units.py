"""Units and masks of what a script gives as numbers.

Trees compute in s (MJD, UTC), Hz, m, rad and Jy. A plain number is taken to be in the unit that its place declares. A
number that brings a unit (an astropy Quantity, or anything else with `unit` and `to_value`) is converted to it; where
any unit will do, to the first of `TREE_UNITS` that fits. What fits nowhere is refused, and so are masked elements.
"""

from __future__ import annotations

import numpy as np

from ._core import Error

#: What a quantity is converted to where no unit is declared: the first that it can be expressed in.
TREE_UNITS = ("", "s", "Hz", "m", "rad", "Jy", "m/s", "rad/s", "rad/m2", "1/m", "1/Jy2", "1/s2", "1/m2", "1/rad2")

#: Frequencies of radio waves below this do not reach the ground: numbers below are likely meant in another unit.
LOWEST_RADIO_HZ = 1e6

_NAMES = {"": "a pure number"}


class UnfitError(Error, ValueError):
    """A value that cannot be what it is given for; the text says which and why."""


def is_quantity(value) -> bool:
    """Whether a value brings a unit with it."""
    # Asked of the class first: a NodeScope makes a node of every attribute that it is asked for.
    return hasattr(type(value), "to_value") and hasattr(value, "unit")


def accepted_units(declared: str) -> tuple[str, ...]:
    """What a quantity may be converted to where a node class declares a unit."""
    if declared in ("dimensionless", ""):
        return ("",)
    if declared == "any" or declared.startswith(("that of ", "of ", "1/(")):
        return TREE_UNITS
    # "m, m/s": rows of different units, of which an array of one unit can only be the first.
    return tuple(
        "" if unit.startswith("dimensionless") else unit.split(" ")[0] for unit in declared.split(", ")[0].split("; ")
    )


def in_unit(quantity, accepted: tuple[str, ...], what: str):
    """The numbers of a quantity in the first of the units that it can be expressed in, and that unit.

    `what` names it in the message of `UnfitError`, which is raised where none fits.
    """
    for unit in accepted:
        try:
            return quantity.to_value(unit), unit
        except Exception:  # whatever a library raises for units that do not convert
            continue
    wanted = "one of the units that trees compute in: " if accepted == TREE_UNITS else ""
    names = " or ".join(_NAMES.get(unit, unit) for unit in accepted)
    raise UnfitError(f"{what} is in {str(quantity.unit) or 'no unit'}, expected {wanted}{names}")


def masked_elements(value) -> np.ndarray | None:
    """Which elements of a masked array are masked; None where none is, or the value has no mask."""
    mask = getattr(value, "mask", None) if isinstance(value, np.ndarray) else None
    if mask is None or not np.any(mask):
        return None
    return np.broadcast_to(np.asarray(mask, dtype=bool), value.shape)


def without_mask(value, fill=None):
    """The numbers below a mask; with `fill` in the place of masked elements."""
    mask = getattr(value, "mask", None) if isinstance(value, np.ndarray) else None
    if mask is None:
        return value
    plain = np.asarray(value.data if isinstance(value, np.ma.MaskedArray) else value.unmasked)
    return plain if fill is None else np.where(mask, np.asarray(fill, plain.dtype), plain)


def refuse_mask(value, what: str):
    """The numbers of a masked array of which nothing is masked. Raises `UnfitError` where something is."""
    if (mask := masked_elements(value)) is not None:
        raise UnfitError(
            f"{what} has masked elements ({int(mask.sum())}), and no flags to say so: fill them (.filled(...)) or "
            "leave them out"
        )
    return without_mask(value)
