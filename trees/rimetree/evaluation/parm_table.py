"""Values of Parms in files: what one run has solved for and another one applies, or starts from.

In HDF5: a group for each Parm, named after it (with "|" in place of "/"). Its datasets and attributes are the fields of
`StoredParm`; attributes of the datasets say what their axes, units and bits are.
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .._core import Error
from ..arguments import ArgumentError, check_fields, checked
from ..some_names import some_names
from .parm_tiles import Layouts, Pieces, Place, Polynomials, edges_of, moved, nearest_good, refitted
from .solving import SolutionFlag, SolveReport

_FORMAT = "rimetree_parm_table"
_VERSION = 1
_TILES = "time tile, freq tile, time term, freq term"
#: Datasets of a Parm, and what their attributes say.
_ARRAYS = {
    "value": {
        "axes": _TILES,
        "what": "coefficients of ((t - time_0_s)/time_scale_s)^i ((f - freq_0_hz)/freq_scale_hz)^j",
    },
    "sigma": {"axes": _TILES, "what": "standard errors; NaN: none"},
    "flag": {"axes": _TILES, "what": "bits, 0: good; " + ", ".join(f"{one.value}: {one.name}" for one in SolutionFlag)},
    "time_s": {"axes": "time tile, [from, to]", "what": "MJD in seconds (UTC)"},
    "freq_hz": {"axes": "freq tile, [from, to]", "what": "Hz"},
}
_PLACE = ("time_0_s", "time_scale_s", "freq_0_hz", "freq_scale_hz")


@dataclass(frozen=True, eq=False)
class StoredParm:
    """What a table holds of one Parm.

    `value`, `sigma` (standard errors, NaN where there are none) and `flag` (`SolutionFlag` bits): [time tile, freq
    tile, time term, freq term]. `time_s` [time tile, 2], `freq_hz` [freq tile, 2]: from where to where tiles reach, MJD
    in seconds and Hz; infinite where one tile is for all times or all frequencies. `time_0_s`, `time_scale_s`,
    `freq_0_hz`, `freq_scale_hz`: origin and scale of the polynomials, as state of a Parm. Raises `Error` where shapes
    do not fit each other, tiles do not follow each other or values are not finite.
    """

    value: np.ndarray
    sigma: np.ndarray
    flag: np.ndarray
    time_s: np.ndarray
    freq_hz: np.ndarray
    time_0_s: float = 0.0
    time_scale_s: float = 1.0
    freq_0_hz: float = 0.0
    freq_scale_hz: float = 1.0

    def __post_init__(self):
        check_fields(self)
        if self.value.ndim != 4 or not self.value.size:
            raise Error(
                f"StoredParm: value must be [time tile, freq tile, time term, freq term], not of shape "
                f"{list(self.value.shape)}"
            )
        tiles = zip(("time_s", "freq_hz"), self.value.shape, strict=False)
        like_value = {name: self.value.shape for name in ("sigma", "flag")}
        for name, shape in (like_value | {name: (n, 2) for name, n in tiles}).items():
            if getattr(self, name).shape != shape:
                raise Error(f"StoredParm: {name} must have shape {list(shape)}, not {list(getattr(self, name).shape)}")
        if not np.isfinite(self.value).all():
            raise Error("StoredParm: value must be finite")
        for name in ("time_s", "freq_hz"):
            ends = getattr(self, name)
            if not ((ends[:, 0] <= ends[:, 1]).all() and (ends[1:, 0] >= ends[:-1, 1]).all()):
                raise Error(f"StoredParm: {name} must be tiles [from, to] that follow each other, not {ends.tolist()}")

    def __eq__(self, other) -> bool:
        if not isinstance(other, StoredParm):
            return NotImplemented
        arrays = ((getattr(self, name), getattr(other, name)) for name in _ARRAYS)
        return self.place == other.place and all(np.array_equal(*pair, equal_nan=True) for pair in arrays)

    __hash__ = None

    @property
    def pieces(self) -> Pieces:
        """The tiles one by one."""
        times, freqs = len(self.time_s), len(self.freq_hz)
        numbers = (one.reshape(times * freqs, *self.value.shape[2:]) for one in (self.value, self.sigma, self.flag))
        return Pieces(np.repeat(self.time_s, freqs, axis=0), np.tile(self.freq_hz, (times, 1)), *numbers)

    @property
    def place(self) -> Place:
        """Origin and scale of time and of frequency."""
        return self.time_0_s, self.time_scale_s, self.freq_0_hz, self.freq_scale_hz

    def is_like(self, terms: tuple[int, int], place: Place) -> bool:
        """Whether the polynomials have so many terms, and, as far as they vary, this origin and scale."""
        own = self.value.shape[2:]
        matters = np.repeat([n > 1 for n in own], 2)
        return own == terms and all(a == b for a, b, m in zip(self.place, place, matters, strict=True) if m)


class ParmTable(Mapping[str, StoredParm]):
    """Values of Parms by name.

        report = forest.run("obs.ms")                       # a tree with a Solver
        rt.ParmTable.of(forest, report.solves).write("gains.h5")
        ...
        rt.ParmTable.read("gains.h5").put_into(another)     # a forest with Parms of these names

    A Parm that was solved for anew in each group of time slots, or in each spectral window, has a tile for each of them
    here. `rimetree run` does this with --save-parms and --parms.
    """

    @checked
    def __init__(self, parms: Mapping[str, StoredParm]):
        for name, parm in parms.items():
            if not isinstance(name, str) or not isinstance(parm, StoredParm):
                raise ArgumentError(f"ParmTable: parms must have a StoredParm for each name, not {name!r}: {parm!r}")
        self._parms = dict(parms)

    def __getitem__(self, name: str) -> StoredParm:
        return self._parms[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parms)

    def __len__(self) -> int:
        return len(self._parms)

    def __repr__(self) -> str:
        return f"<ParmTable of {some_names(self._parms) or 'no Parms'}>"

    @classmethod
    @checked
    def of(cls, forest, solves: Iterable[SolveReport] | None = None) -> ParmTable:
        """What solves of a forest have found, the later ones before the earlier where they are of the same tiles, and
        any with data before one without. Warns (`UserWarning`) where a part of a tile is taken by another, as of
        windows that overlap.

        `solves`: as `RunReport.solves`, or `[forest.solve(...)]`; None: all solvable Parms as they are now, without
        standard errors, as something else than a Solver leaves them.
        """
        _require_forest(forest)
        solves = None if solves is None else list(solves)
        names = [one.name for one in forest.parameters()] if solves is None else _names_in(solves)
        states = {name: _state_of(forest, name) for name in names}
        if solves is None:
            pieces = {name: _as_it_is(state) for name, state in states.items()}
        else:
            pieces = {name: _solved(name, state, solves) for name, state in states.items()}
        return cls(_stored(states, {name: found for name, found in pieces.items() if len(found.value)}))

    @checked
    def joined(self, later: ParmTable) -> ParmTable:
        """The Parms of both; where both have tiles of one Parm for the same times and frequencies, those of `later`,
        but for those without data. Warns as `of`.

        Its polynomials have the origin and scale of `later`, and as many terms as the longer ones.
        """
        states, pieces = {}, {}
        for name in self._parms.keys() & later._parms.keys():
            first, second = self[name], later[name]
            terms = tuple(max(pair) for pair in zip(first.value.shape[2:], second.value.shape[2:], strict=True))
            both = (moved(parm.pieces, parm.place, second.place, terms) for parm in (first, second))
            states[name], pieces[name] = vars(second), next(both).and_then(next(both))
        return ParmTable({**self._parms, **later._parms, **_stored(states, pieces)})

    def put_into(self, forest) -> list[str]:
        """Give the Parms of a forest the values of those that have their names here; returns these names.

        A Parm that is not solvable becomes as it is here, with its tiles and polynomials. Cells outside of its tiles
        take the nearest, of which the forest warns. A solvable one keeps its own tiles and polynomials, and starts with
        what is closest to the values here; one without tiles of its own with the first tile here. Tiles without data
        take the nearest one in time that has data. Warns (`UserWarning`) of these, of values that are not to be trusted
        and of those outside of bounds. Raises `Error` where the forest has no Parm that is here.
        """
        _require_forest(forest)
        known = [node["name"] for node in forest.nodes("Parm")]
        names = [name for name in known if name in self]
        if not names:
            raise Error(
                f"the tree has none of the Parms of the table: it has {some_names(known) or 'none'}, and the "
                f"table {some_names(self) or 'none'}"
            )
        doubtful, filled, outside = [], [], []
        for name in names:
            state, stored = forest.get_state(name), self[name]
            value, n_filled, trusted = nearest_good(stored.value, stored.flag, stored.time_s)
            doubtful += [] if trusted else [name]
            filled += [f"{name} {n_filled} of {value.shape[0] * value.shape[1]}"] if n_filled else []
            if state["solvable"]:
                start, within = _start(stored, value, state)
                outside += [] if within else [name]
                forest.set_state(name, value=start)
            else:
                tiles = {"time_edges_s": edges_of(stored.time_s), "freq_edges_hz": edges_of(stored.freq_hz)}
                forest.set_state(name, value=value, **tiles, **dict(zip(_PLACE, stored.place, strict=True)))
        for which, what in (
            (doubtful, "Parms with values that are not to be trusted (`flag` in the table says why)"),
            (filled, "tiles without data, which take the nearest in time that has some"),
            (outside, "Parms with values outside of their bounds, which take these"),
        ):
            if which:
                warnings.warn(f"{what}: {some_names(which)}", stacklevel=2)
        return names

    @checked
    def write(self, path: str | os.PathLike) -> None:
        """Write an HDF5 file, complete or not at all; the module's text says what is in it. Raises `OSError` where it
        cannot be written."""
        from ..whole_hdf5 import whole_hdf5

        with whole_hdf5(path) as file:
            file.attrs[_FORMAT] = _VERSION
            file.attrs["what"] = "values of Parms that RimeTree has solved for (rimetree.ParmTable), a group for each"
            for number, (name, parm) in enumerate(self._parms.items()):
                own = name.replace("/", "|")
                group = file.create_group(f"{own}|{number}" if own in file else own)
                group.attrs["name"] = name
                for field, about in _ARRAYS.items():
                    group.create_dataset(field, data=getattr(parm, field)).attrs.update(about)
                for field in _PLACE:
                    group.attrs[field] = getattr(parm, field)

    @classmethod
    @checked
    def read(cls, path: str | os.PathLike) -> ParmTable:
        """Read what `write` has written. Raises `Error` for a file that is none of these, `OSError` where it cannot be
        read."""
        import h5py

        path = os.fspath(path)
        with open(path, "rb"):  # h5py's own messages do not say what is wrong
            pass
        try:
            with h5py.File(path) as file:
                version = file.attrs.get(_FORMAT)
                if version is None:
                    raise Error(f"{path} is no table of Parms, as `rimetree run --save-parms` writes it")
                if version > _VERSION:
                    raise Error(f"{path} is a table of Parms of version {version}; this program reads {_VERSION}")
                return cls({group.attrs["name"]: _read(group) for group in file.values()})
        except (OSError, KeyError) as problem:
            raise Error(f"{path} is no table of Parms, or is damaged: {problem}") from None


def _require_forest(forest) -> None:
    if not callable(getattr(forest, "set_state", None)):
        raise ArgumentError(f"forest must be a Forest, not {forest!r}")


def _read(group) -> StoredParm:
    return StoredParm(*(group[one][()] for one in _ARRAYS), **{one: float(group.attrs[one]) for one in _PLACE})


def _shape(state: Mapping) -> tuple[int, int, int, int]:
    """How many time tiles, freq tiles, time terms and freq terms a Parm has."""
    shape = np.shape(state["value"])
    return shape if len(shape) == 4 else (*(max(len(one) - 1, 1) for one in _edges(state)), *(*shape, 1, 1)[:2])


def _values(state: Mapping) -> np.ndarray:
    """A Parm's value, [time tile, freq tile, time term, freq term]."""
    shape = _shape(state)
    return np.broadcast_to(np.reshape(state["value"], shape if np.ndim(state["value"]) == 4 else shape[2:]), shape)


def _edges(state: Mapping) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(state["time_edges_s"], float), np.asarray(state["freq_edges_hz"], float)


def _state_of(forest, name: str) -> dict:
    try:
        return forest.get_state(name)
    except Error as problem:
        raise Error(f"the solves are not of this forest: {problem}") from None


def _intervals(state: Mapping) -> tuple[np.ndarray, ...]:
    """From where to where a Parm's tiles reach, as `StoredParm` has it."""
    everywhere = np.array([[-np.inf, np.inf]])
    return tuple(np.stack([one[:-1], one[1:]], axis=1) if len(one) else everywhere for one in _edges(state))


def _as_it_is(state: Mapping) -> Pieces:
    """A Parm's present values."""
    value = _values(state)
    return StoredParm(value, np.full(value.shape, np.nan), np.zeros(value.shape, int), *_intervals(state)).pieces


def _names_in(solves: Sequence[SolveReport]) -> list[str]:
    return list(dict.fromkeys(name for solve in solves for name in solve.parms))


def _solved(name: str, state: Mapping, solves: Sequence[SolveReport]) -> Pieces:
    """The tiles that were solved for, each for the times and frequencies of its edges or else of its data, without the
    gaps between these: of others than the field that was solved on, say."""
    those = [(solve.groups, solve.parms[name]) for solve in solves if name in solve.parms]
    shape = (len(those), *_shape(state))
    value, sigma, flag, group = (
        np.array([getattr(parm, one) for _, parm in those]).reshape(shape)
        for one in ("value", "sigma", "flag", "group")
    )
    own = _intervals(state)
    has_own = [np.isfinite(one).all() for one in own]
    at, time_s, freq_hz = [], [], []
    for s, i, j in np.argwhere(group[..., 0, 0] >= 0):
        data = those[s][0][group[s, i, j, 0, 0]]
        times = [own[0][i]] if has_own[0] else data.time_ranges_s or [data.time_s]
        freqs = [own[1][j]] if has_own[1] else data.freq_ranges_hz or [data.freq_hz]
        for time, freq in itertools.product(times, freqs):
            at.append((s, i, j)), time_s.append(time), freq_hz.append(freq)
    index = tuple(np.array(at, int).reshape(-1, 3).T)
    domain = (np.array(ends, float).reshape(-1, 2) for ends in (time_s, freq_hz))
    return Pieces(*domain, value[index], sigma[index], flag[index])


def _stored(states: Mapping[str, Mapping], pieces: Mapping[str, Pieces]) -> dict[str, StoredParm]:
    stored, in_part, layouts = {}, [], Layouts()
    for name, own in pieces.items():
        tiles, replaced = layouts.joined(own)
        stored[name] = StoredParm(*tiles, **{one: float(states[name][one]) for one in _PLACE})
        in_part += [name] if replaced else []
    if in_part:
        warnings.warn(
            f"parts of tiles are replaced by others that reach into them, the later ones: {some_names(in_part)} (of "
            "windows that overlap, say: tables of their own keep them apart)",
            stacklevel=3,
        )
    return stored


def _start(stored: StoredParm, value: np.ndarray, state: Mapping) -> tuple[np.ndarray, bool]:
    """Values, in its own tiles and polynomials, for a Parm to start with; and whether they are within its bounds."""
    place = tuple(float(state[one]) for one in _PLACE)
    like = Polynomials(_values(state), _edges(state), place)
    source = Polynomials(value, (edges_of(stored.time_s), edges_of(stored.freq_hz)), stored.place)
    found = refitted(source, like, stored.is_like(like.value.shape[2:], place))
    limits = (_limit(state[name], found.shape, none) for name, none in (("minimum", -np.inf), ("maximum", np.inf)))
    within = np.clip(found, *limits)
    kept = within if within.shape[:2] != (1, 1) else within.reshape(np.shape(state["value"]))
    return kept, np.array_equal(within, found)


def _limit(given, shape: tuple[int, ...], none: float) -> np.ndarray:
    """A bound of each coefficient: one number is of the constant term."""
    given = np.asarray(given, float).ravel()
    limit = np.full(shape[2] * shape[3], none)
    limit[: len(given)] = given
    return limit.reshape(shape[2:])
