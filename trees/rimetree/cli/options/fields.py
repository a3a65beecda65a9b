"""Fields of a set that are chosen by name or number, and solutions of these."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ..errors import Failed


def chosen_fields(summary: dict, names: Sequence[str] | None) -> list[int] | None:
    """Rows of the FIELD table; None for all."""
    from rimetree import calibration

    if names is None or tuple(names) == ("all",):
        return None
    return calibration.field_numbers(names_of(summary), names)


def names_of(summary: dict) -> list[str]:
    """Of all fields of a set, in the order of their numbers."""
    return [field["name"] for field in summary["fields"]]


def fields_text(fields: Iterable[int], names: Sequence[str]) -> str:
    """Their numbers, each with its name, if it has one among those of all fields of a set."""
    from rimetree.calibration.solutions.flux_scale import field_text

    return ", ".join(field_text(field, names) for field in fields)


def require_from_field(
    fields: Sequence[int] | None, solved_on: Collection[int], terms: Sequence, names: Sequence[str] = ()
) -> None:
    """Raises where no solution would be of the fields of --from-field: of `terms`, or of fields that are solved on."""
    own = [term.field_ids for term in terms if term.field_ids is not None]
    known = {*solved_on, *(int(field) for ids in own for field in ids)}
    if fields is not None and known and not known & set(fields):
        raise Failed(
            f"--from-field {fields_text(fields, names)}: no term has solutions there; there are some of the fields "
            f"{fields_text(sorted(known), names)}"
        )


def of_fields(files: Sequence, fields: Sequence[int], names: Sequence[str] = ()) -> list:
    """Of solution sets of some files those of these fields, of terms that have any there; raises where none has."""
    require_from_field(fields, (), [term for sets in files for one in sets for term in one.terms], names)
    return [[one.of_fields(fields) for one in sets] for sets in files]
