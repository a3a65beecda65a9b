"""Plain rows of BBS and WSClean files: names without quotes, sexagesimal angles, numbers, commas between them.

Files have up to millions of rows, nearly all of them such. One pattern for a whole row tells whether it is one, and
where its values are: so it takes a tenth of the time. Every other row, and every row with something wrong, is left to
the long way (`bbs.py`), which knows all that may stand in one, and says what is wrong and where.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import itemgetter

from .angles import axes_rad, from_parts
from .columns import Column
from .errors import SkyModelError
from .logarithms import natural
from .reading import truth
from .source import PROFILES, Source, without_last_zeros

_BLANKS = r"[ \t]*"
_WORD = r"[^\s,'\"\[\]#]*"
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_LIST = rf"\[{_BLANKS}(?:{_NUMBER}(?:{_BLANKS},{_BLANKS}{_NUMBER})*)?{_BLANKS}\]"
_SECONDS = r"[0-5]?[0-9](?:\.[0-9]*)?"

#: What is plain in columns that have a meaning, with groups for values. In other columns that have one nothing is.
_PATTERNS = {
    **dict.fromkeys(("name", "type", "patch"), f"({_WORD})"),
    "ra": f"([0-9]+):([0-5]?[0-9]):({_SECONDS})",
    "dec": rf"([+-]?)([0-9]+)\.([0-5]?[0-9])\.({_SECONDS})",
    **dict.fromkeys(("i", "q", "u", "v", "referencefrequency"), f"({_NUMBER}|)"),
    "spectralindex": f"({_LIST}|{_NUMBER}|)",
    "logarithmicsi": f"({_WORD})",
    **dict.fromkeys(("majoraxis", "minoraxis", "orientation"), f"({_NUMBER}|)"),
    "orientationisabsolute": f"({_WORD})",
}
_N_GROUP = {name: re.compile(pattern).groups for name, pattern in _PATTERNS.items()}
_WITHOUT_MEANING = ("category", "dummy", "")
_NOTHING = object()
#: What each row must have itself, not by a default.
_OF_EACH = ("name", "ra", "dec", "i")


def _pattern(names: Sequence[str]) -> str:
    """Of a whole row with these columns. Those behind the last that each row must have may be left out, with their
    commas. One more group, at the end, is empty."""
    last = max(names.index(name) for name in _OF_EACH)
    whole = ""
    for place, name in reversed(list(enumerate(names))):
        value = _PATTERNS.get(name, _WORD if name in _WITHOUT_MEANING else "")
        whole = f"{_BLANKS}{value}{_BLANKS}{whole}"
        if place > last:
            whole = f"(?:,{whole})?+"
        elif place > 0:
            whole = f",{whole}"
    return whole + r"[, \t]*()[\r\n]*"


def _may_be_plain(columns: Sequence[Column]) -> bool:
    """Whether rows can be: commas between columns, and nothing by default that would not be plain in a row."""
    default = {column.name.lower(): column.fixed or column.default or "" for column in columns}
    return (
        all(column.separator == "," for column in columns if column.fixed is None)
        and all(default.get(name) == "" for name in _OF_EACH)
        and all(
            name in (*_OF_EACH, *_WITHOUT_MEANING) or re.fullmatch(_PATTERNS.get(name, ""), text)
            for name, text in default.items()
        )
    )


class PlainRows:
    """How to read the plain rows of a file with these columns. `scales_polarisation`: as of `read_bbs`."""

    def __init__(self, columns: Sequence[Column], scales_polarisation: bool):
        self._scales_polarisation = scales_polarisation
        default = {column.name.lower(): column.fixed or column.default or "" for column in columns}
        self._default = {name: default.get(name, "") for name in _PATTERNS}
        self._fits = self._values = None
        if _may_be_plain(columns):
            names = [column.name.lower() for column in columns if column.fixed is None]
            self._fits = re.compile(_pattern(names)).fullmatch
            self._values = itemgetter(*_places(names))
            self._quv = [float(self._default[name] or 0) for name in "quv"]
        # Of the row before, which often has the same.
        self._patch = self._default["patch"]
        self._frequency = self._logarithmic = self._index = _NOTHING
        self._scale = self._spectrum = None

    def source(self, line: str) -> Source | None:
        """The source in a row, which may have its end; None if the row is not plain, or something is wrong with it."""
        match = self._fits(line) if self._fits else None
        if match is None:
            return None
        (
            name, kind, patch, hours, ra_minutes, ra_seconds, sign, degrees, dec_minutes, dec_seconds, i, q, u, v,
            frequency, index, logarithmic, major, minor, angle, absolute,
        ) = self._values(match.groups())  # fmt: skip
        if frequency != self._frequency or logarithmic != self._logarithmic:
            self._frequency, self._logarithmic, self._index = frequency, logarithmic, _NOTHING
            self._scale = self._scale_of(frequency, logarithmic)
        ref_freq_hz, is_logarithmic = self._scale
        if index != self._index:
            self._index, self._spectrum = index, self._spectrum_of(index, ref_freq_hz, is_logarithmic)
        if not name or not i or self._spectrum is None:
            return None
        if patch and patch != self._patch:
            self._patch = patch
        patch = self._patch if patch else self._default["patch"]
        default_q, default_u, default_v = self._quv
        values = (
            name,
            from_parts("", hours, ra_minutes, ra_seconds, 15.0),
            from_parts(sign, degrees, dec_minutes, dec_seconds, 1.0),
            (float(i), float(q) if q else default_q, float(u) if u else default_u, float(v) if v else default_v),
            ref_freq_hz,
            self._spectrum,
            is_logarithmic,
            self._scales_polarisation,
        )
        kind = kind or self._default["type"]
        try:
            if kind == "" or kind.upper() == "POINT":
                return Source(*values, 0.0, None, patch)  # most are, and names of fields take time
            axes, profile = self._axes(major, minor, angle), kind.lower()
            if axes is None or profile not in PROFILES:
                return None
            return Source(*values, patch=patch, shape_in_plane=self._is_in_plane(absolute), **{profile: axes})
        except SkyModelError:  # the long way says where
            return None

    def _scale_of(self, frequency: str | None, logarithmic: str | None) -> tuple[float, bool | None]:
        """Reference frequency in Hz, and whether coefficients are of a logarithm, or None if that is not said."""
        is_logarithmic = truth(logarithmic or self._default["logarithmicsi"] or "true")
        return float(frequency or self._default["referencefrequency"] or 0), is_logarithmic

    def _spectrum_of(self, index: str | None, ref_freq_hz: float, is_logarithmic: bool) -> tuple[float, ...] | None:
        """Coefficients; None if they have no reference frequency, or something is wrong with the scale."""
        numbers = (index or self._default["spectralindex"]).strip("[] \t")
        coefficients = without_last_zeros((*map(float, numbers.split(",")),) if numbers else ())
        if is_logarithmic is None or (coefficients and ref_freq_hz <= 0):
            return None
        return natural(coefficients) if is_logarithmic and len(coefficients) > 1 else coefficients

    def _axes(self, major: str | None, minor: str | None, angle: str | None) -> tuple[float, float, float] | None:
        """None if there are none, or something is wrong with them."""
        major, minor = major or self._default["majoraxis"], minor or self._default["minoraxis"]
        angle = angle or self._default["orientation"]
        if not (major and minor) or (not angle and float(major) != float(minor)):
            return None
        return axes_rad(float(major), float(minor), float(angle or 0))

    def _is_in_plane(self, absolute: str | None) -> bool | None:
        """None, with which there is no source, if that is neither true nor false."""
        value = truth(absolute or self._default["orientationisabsolute"] or "false")
        return None if value is None else not value


def _places(names: Sequence[str]) -> list[int]:
    """Which groups of a row `PlainRows.source` takes, in its order; the empty one for columns that are not there."""
    first, count = {}, 0
    for name in names:
        first[name] = count
        count += _N_GROUP.get(name, 0)
    return [first[name] + k if name in first else count for name, n_group in _N_GROUP.items() for k in range(n_group)]
