"""Values of Parms in files: what one run has solved for and another one applies, or starts from.

In HDF5: a group for each Parm, named after it (with "|" in place of "/"). Its datasets and attributes are the fields of
`StoredParm`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .._core import Error
from ..arguments import ArgumentError, check_fields, checked
from ..some_names import some_names
from .parm_tiles import Piece, Place, Polynomials, edges_of, joined_pieces, moved, nearest_good, refitted
from .solving import SolvedParm, SolveReport

_FORMAT = "rimetree_parm_table"
_VERSION = 1
_ARRAYS = ("value", "sigma", "flag", "time_s", "freq_hz")
_PLACE = ("time_0_s", "time_scale_s", "freq_0_hz", "freq_scale_hz")


@dataclass(frozen=True)
class StoredParm:
    """What a table holds of one Parm.

    `value`, `sigma` (standard errors, NaN where there are none) and `flag` (`SolutionFlag` bits): [time tile, freq
    tile, time term, freq term]. `time_s` [time tile, 2], `freq_hz` [freq tile, 2]: from where to where tiles reach, MJD
    in seconds and Hz; infinite where one tile is for all times or all frequencies. `time_0_s`, `time_scale_s`,
    `freq_0_hz`, `freq_scale_hz`: origin and scale of the polynomials, as state of a Parm. Raises `Error` where shapes
    do not fit each other.
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

    @property
    def pieces(self) -> list[Piece]:
        """The tiles one by one."""
        numbers = (self.value, self.sigma, self.flag)
        return [
            Piece(tuple(time), tuple(freq), *(one[i, j] for one in numbers))
            for i, time in enumerate(self.time_s)
            for j, freq in enumerate(self.freq_hz)
        ]

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
        """What solves of a forest have found, the later ones before the earlier where they are of the same tiles.

        `solves`: as `RunReport.solves`, or `[forest.solve(...)]`; None: all solvable Parms as they are now, without
        standard errors, as something else than a Solver leaves them.
        """
        _require_forest(forest)
        states: dict[str, dict] = {}
        pieces: dict[str, list[Piece]] = {}
        if solves is None:
            for parameter in forest.parameters():
                state = states[parameter.name] = forest.get_state(parameter.name)
                value = _four(state["value"], state)
                tiles = StoredParm(value, np.full(value.shape, np.nan), np.zeros(value.shape, int), *_intervals(state))
                pieces[parameter.name] = tiles.pieces
        for solve in solves or ():
            for name, parm in solve.parms.items():
                if name not in states:
                    states[name] = forest.get_state(name)
                pieces.setdefault(name, []).extend(_solved(parm, states[name], solve))
        return cls({name: _stored(states[name], found) for name, found in pieces.items() if found})

    @checked
    def joined(self, later: ParmTable) -> ParmTable:
        """The Parms of both; where both have tiles of one Parm for the same times and frequencies, those of `later`.

        Its polynomials have the origin and scale of `later`, and as many terms as the longer ones.
        """
        parms = {**self._parms, **later._parms}
        for name in self._parms.keys() & later._parms.keys():
            first, second = self[name], later[name]
            terms = tuple(max(pair) for pair in zip(first.value.shape[2:], second.value.shape[2:], strict=True))
            pieces = [moved(one, parm.place, second.place, terms) for parm in (first, second) for one in parm.pieces]
            parms[name] = _stored(vars(second), pieces)
        return ParmTable(parms)

    def put_into(self, forest) -> list[str]:
        """Give the Parms of a forest the values of those that have their names here; returns these names.

        A Parm that is not solvable becomes as it is here, with its tiles and polynomials. Cells outside of its tiles
        take the nearest. A solvable one keeps its own tiles and polynomials, and starts with what is closest to
        the values here; one without tiles of its own with the first tile here. Tiles without data take the nearest one
        in time that has data. Warns (`UserWarning`) of values that are not to be trusted. Raises `Error` where the
        forest has no Parm that is here.
        """
        _require_forest(forest)
        known = [node["name"] for node in forest.nodes("Parm")]
        names = [name for name in known if name in self]
        if not names:
            raise Error(
                f"the tree has none of the Parms of the table: it has {some_names(known) or 'none'}, and the "
                f"table {some_names(self) or 'none'}"
            )
        doubtful = []
        for name in names:
            state, stored = forest.get_state(name), self[name]
            value, trusted = nearest_good(stored.value, stored.flag, stored.time_s)
            if not trusted:
                doubtful.append(name)
            if state["solvable"]:
                forest.set_state(name, value=_start(stored, value, state))
            else:
                tiles = _edges_of_tiles(stored)
                forest.set_state(name, value=value, **tiles, **dict(zip(_PLACE, stored.place, strict=True)))
        if doubtful:
            warnings.warn(
                f"Parms with values that are not to be trusted: {some_names(doubtful)} (`flag` in the table says why)",
                stacklevel=2,
            )
        return names

    @checked
    def write(self, path: str | os.PathLike) -> None:
        """Write an HDF5 file, complete or not at all; the module's text says what is in it. Raises `OSError` where it
        cannot be written."""
        from ..whole_hdf5 import whole_hdf5

        with whole_hdf5(path) as file:
            file.attrs[_FORMAT] = _VERSION
            for number, (name, parm) in enumerate(self._parms.items()):
                own = name.replace("/", "|")
                group = file.create_group(f"{own}|{number}" if own in file else own)
                group.attrs["name"] = name
                for field in _ARRAYS:
                    group.create_dataset(field, data=getattr(parm, field))
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


def _four(value, state: Mapping) -> np.ndarray:
    """A Parm's `value`, or something of its shape, as [time tile, freq tile, time term, freq term]."""
    value = np.asarray(value)
    if value.ndim == 4:
        return value
    tiles = [max(len(edges) - 1, 1) for edges in _edges(state)]
    terms = (*value.shape, 1, 1)[:2]
    return np.tile(value.reshape(1, 1, *terms), (*tiles, 1, 1))


def _edges(state: Mapping) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(state["time_edges_s"], float), np.asarray(state["freq_edges_hz"], float)


def _edges_of_tiles(stored: StoredParm) -> dict[str, np.ndarray]:
    """Edges as state of a Parm: none along an axis on which one tile is all there is, which then holds everywhere."""
    tiles = {"time_edges_s": stored.time_s, "freq_edges_hz": stored.freq_hz}
    return {name: edges_of(one) if len(one) > 1 else np.zeros(0) for name, one in tiles.items()}


def _intervals(state: Mapping) -> tuple[np.ndarray, ...]:
    """From where to where a Parm's tiles reach, as `StoredParm` has it."""
    everywhere = np.array([[-np.inf, np.inf]])
    return tuple(np.stack([one[:-1], one[1:]], axis=1) if len(one) else everywhere for one in _edges(state))


def _solved(parm: SolvedParm, state: Mapping, solve: SolveReport) -> list[Piece]:
    """The tiles that were solved for, each for the times and frequencies of its edges or else of its data."""
    value, sigma, flag, group = (_four(one, state) for one in (parm.value, parm.sigma, parm.flag, parm.group))
    times, freqs = _intervals(state)
    found = []
    for i, j in np.argwhere(group[:, :, 0, 0] >= 0):
        data = solve.groups[group[i, j, 0, 0]]
        time, freq = (
            tuple(own) if np.isfinite(own).all() else domain
            for own, domain in ((times[i], data.time_s), (freqs[j], data.freq_hz))
        )
        found.append(Piece(time, freq, value[i, j], sigma[i, j], flag[i, j]))
    return found


def _stored(state: Mapping, pieces: Sequence[Piece]) -> StoredParm:
    return StoredParm(*joined_pieces(pieces), **{one: float(state[one]) for one in _PLACE})


def _start(stored: StoredParm, value: np.ndarray, state: Mapping) -> np.ndarray:
    """Values, in its own tiles and polynomials, for a Parm to start with."""
    place = tuple(float(state[one]) for one in _PLACE)
    like = Polynomials(_four(state["value"], state), _edges(state), place)
    source = Polynomials(value, (edges_of(stored.time_s), edges_of(stored.freq_hz)), stored.place)
    found = refitted(source, like, stored.is_like(like.value.shape[2:], place))
    limits = (_limit(state[name], found.shape, none) for name, none in (("minimum", -np.inf), ("maximum", np.inf)))
    found = np.clip(found, *limits)
    return found if found.shape[:2] != (1, 1) else found.reshape(np.shape(state["value"]))


def _limit(given, shape: tuple[int, ...], none: float) -> np.ndarray:
    """A bound of each coefficient: one number is of the constant term."""
    given = np.asarray(given, float).ravel()
    limit = np.full(shape[2] * shape[3], none)
    limit[: len(given)] = given
    return limit.reshape(shape[2:])
