"""Notes in a Measurement Set of what was applied to a column in place, so that it is not done twice.

`x.ms/rimetree.COLUMN.applied` has a line of JSON for each time. Whatever else writes the column removes the file.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from ..errors import Failed
from ..output import log

_ALL = "everything"


class AppliedNotes:
    """What was applied to a column in place, and what is about to be.

    `done`: (group, {what: digest}) of each group of rows; the same digest twice would be the same thing twice.
    `selection` of the rows of these groups, or None.
    """

    def __init__(self, ms: str, column: str, done: Sequence[tuple], selection):
        self._ms, self._column = os.fspath(ms), column
        when = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")
        chosen = {"rows": _ALL} if selection is None else _rows_of(selection)
        self._before = self._read()
        self._now = [
            {"when": when, **chosen, "field": group.field_id, "windows": list(group.data_desc_ids), **digests}
            for group, digests in done
        ]

    @property
    def _path(self) -> str:
        return os.path.join(self._ms, f"rimetree.{self._column}.applied")

    def _read(self) -> list[dict]:
        try:
            with open(self._path, encoding="utf-8") as lines:
                return [json.loads(line) for line in lines]
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as problem:
            log(f"warning: {self._path}, which says what has been applied, cannot be read: {problem}")
            return []

    def check(self, again: bool) -> None:
        """Raises `Failed` where the same was applied to the same rows, unless `again`. Warns where it may have been,
        and where weights were multiplied for other solutions."""
        maybe = None
        for now in self._now:
            for before in filter(lambda one, now=now: _same(one, now), self._before):
                text = (
                    f"{self._column} of field {now['field']}, window {now['windows'][0]} had the same "
                    f"{' and '.join(_what(before, now))} at {before['when']} UTC"
                )
                if again:
                    log(f"warning: {self._ms}: {text}; it is a second time")
                    return
                if _certainly_meet(before, now):
                    raise Failed(
                        f"{self._ms}: {text}; it would be a second time. Give --again where that is meant, or where "
                        "another program has brought back what was there before"
                    )
                maybe = maybe or f"{text}, of {before['rows']}; rows that are chosen now as well are a second time"
        others = [one for one in self._before if any("weighed" in now and _same_rows(one, now) for now in self._now)]
        if not maybe and others:
            maybe = f"{self._column} was multiplied for other solutions at {others[-1]['when']} UTC; it is once more"
        if maybe:
            log(f"warning: {self._ms}: {maybe}")

    def add(self) -> None:
        """Note that it has been done, after the column was written."""
        from rimetree.whole_file import write_text

        write_text(self._path, "".join(json.dumps(one) + "\n" for one in [*self._before, *self._now]))


def applied_digests(solutions, model=None, *, correct: bool = True, direction: str | None = None) -> dict[str, str]:
    """{what: digest} of applying these solutions, of subtracting a model with them, or both."""
    from rimetree.calibration.model.models import as_model
    from rimetree.calibration.solutions.fingerprint import fingerprint_of

    own = f"{fingerprint_of(solutions)} {direction}"
    found = {"corrected": _digest(own)} if correct else {}
    if model is not None:
        found["subtracted"] = _digest(f"{own} {as_model(model).fingerprint}")
    return found


def summed_digests(model, noise, *, subtract: bool, solutions=None) -> dict[str, str]:
    """{what: digest} of adding a sky to a column, or subtracting it, as these solutions have it seen, and of adding
    noise."""
    from rimetree.calibration.model.models import as_model
    from rimetree.calibration.solutions.fingerprint import fingerprint_of

    found = {"noise": _digest(repr(noise))} if noise.any else {}
    if len(model):
        own = "" if solutions is None else f"{fingerprint_of(solutions)} "
        found["subtracted" if subtract else "added"] = _digest(f"{own}{as_model(model).fingerprint}")
    return found


def _rows_of(selection) -> dict:
    """What a selection chooses: all of it as text, the times, and the rest as text."""
    rest = replace(selection, times_s=())
    return {"rows": selection.text, "times_s": [list(pair) for pair in selection.times_s], "rest": rest.text}


def _meet(before: dict, now: dict) -> bool:
    """Whether times that were chosen overlap, as far as they are known."""
    pairs = itertools.product(before.get("times_s", ()), now.get("times_s", ()))
    return not (before.get("times_s") and now.get("times_s")) or any(
        one[0] < other[1] and other[0] < one[1] for one, other in pairs
    )


def _certainly_meet(before: dict, now: dict) -> bool:
    """Whether rows of `before` are among those of `now`, whose times overlap."""
    rests = [one.get("rest", one["rows"]) for one in (before, now)]
    return _ALL in rests or rests[0] == rests[1]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


_SAID = {
    "corrected": "solutions applied",
    "subtracted": "model subtracted",
    "added": "model added",
    "noise": "noise added",
    "weighed": "solutions applied",
}


def _what(before: dict, now: dict) -> list[str]:
    return [said for key, said in _SAID.items() if key in now and before.get(key) == now[key]]


def _same_rows(before: dict, now: dict) -> bool:
    """Whether some rows may be the same."""
    windows = set(before.get("windows", ()))
    return before.get("field") == now["field"] and not windows.isdisjoint(now["windows"]) and _meet(before, now)


def _same(before: dict, now: dict) -> bool:
    return _same_rows(before, now) and bool(_what(before, now))
