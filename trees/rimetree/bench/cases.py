"""The grid of cases of `rimetree bench psv`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from .._core import Error
from ..evaluation.verification import tolerance_of
from ..sky.source import PROFILES

#: Telescopes as in the thesis that the metrics come from: (name here, time slots of a whole observation).
TELESCOPES = {"wsrt": 72, "meerkat": 480}
SOURCES = (1, 10, 100, 1000, 10000)
MODEL_IMAGE = 100000  # points, as of an image of 316 x 316 pixels
#: Time slots of a group, unless a case needs fewer.
GROUP_SLOTS = 32


@dataclass(frozen=True)
class PsvCase:
    """One problem.

    `stokes`: "I" or "IQUV". `smearing`: in time and frequency. `profile`: of every second source, one of
    `sky.source.PROFILES`; None: points only. `jones`: None, or one 2x2 term per source and antenna, "constant" or
    "varying" along the band, or one that varies and is of a kind of its own, "real" or "complex" (scalars) or
    "diagonal". `accuracy`: "double", "single", or a tolerance such as "1e-6".
    """

    telescope: str
    n_source: int
    stokes: str = "I"
    smearing: bool = False
    profile: str | None = None
    jones: str | None = None
    n_channel: int = 64
    accuracy: str = "double"

    @property
    def family(self) -> str:
        """All but the number of sources, e.g. "meerkat/IQUV/smearing/double"."""
        parts = [self.telescope, self.stokes]
        parts += ["smearing"] if self.smearing else []
        parts += [f"{self.profile}s"] if self.profile else []
        parts += [f"jones-{self.jones}"] if self.jones else []
        parts += [f"{self.n_channel}-channels"] if self.n_channel != 64 else []
        return "/".join([*parts, self.accuracy])

    @property
    def name(self) -> str:
        return f"{self.family}/{self.n_source}"

    @property
    def n_time(self) -> int:
        """Time slots of the whole observation."""
        return TELESCOPES[self.telescope]

    @property
    def precision(self) -> str:
        """What `Forest.evaluate` takes beside `tolerance`."""
        return self.accuracy if self.accuracy in ("double", "single") else "double"

    @property
    def tolerance(self) -> float | None:
        return None if self.accuracy in ("double", "single") else float(self.accuracy)

    @property
    def allowed_error(self) -> float:
        """What a visibility may be wrong by, as a fraction of the total flux."""
        return tolerance_of(self.precision, self.tolerance)

    @property
    def multiply_adds(self) -> float:
        """Useful multiply-adds per source-visibility: four for the phase of a channel from that of the last one, two
        for each Stokes parameter. With Jones terms, all eight parts of the matrix and two products of complex 2x2
        matrices, which serve the whole band where terms do not vary in it."""
        if self.jones is None:
            return 4 + 2 * len(self.stokes)
        return 4 + 2 * 8 + 64 / (self.n_channel if self.jones == "constant" else 1)


def grid() -> list[PsvCase]:
    """All cases, from the plain to the special."""
    return [case for telescope in TELESCOPES for case in _cases_of(telescope)]


def _cases_of(telescope: str) -> Iterator[PsvCase]:
    for stokes in ("I", "IQUV"):
        base = PsvCase(telescope, 1000, stokes)
        for accuracy in ("double", "single"):
            for smearing in (False, True):
                for n_source in SOURCES:
                    yield replace(base, n_source=n_source, smearing=smearing, accuracy=accuracy)
            yield replace(base, n_source=MODEL_IMAGE, smearing=True, accuracy=accuracy)
            for profile in PROFILES:
                yield replace(base, profile=profile, accuracy=accuracy)
                yield replace(base, profile=profile, smearing=True, accuracy=accuracy)
        yield replace(base, accuracy="1e-6")
        yield replace(base, smearing=True, accuracy="1e-6")
    for jones in ("constant", "varying"):
        for accuracy in ("double", "single"):
            yield PsvCase(telescope, 100, "IQUV", jones=jones, accuracy=accuracy)
    for jones in ("real", "complex", "diagonal", "varying", "constant"):
        yield PsvCase(telescope, 100, "I", jones=jones)
        yield PsvCase(telescope, 100, "I", smearing=True, jones=jones)
        yield PsvCase(telescope, 100, "I", profile=PROFILES[0], jones=jones)
    if telescope != "wsrt":
        return  # one time slot of MeerKAT's baselines with 32768 channels takes 4 GiB
    for stokes in ("I", "IQUV"):
        for accuracy in ("double", "1e-6"):
            for n_source in (100, 1000):
                yield PsvCase(telescope, n_source, stokes, n_channel=32768, accuracy=accuracy)


def quick() -> list[PsvCase]:
    """A few cases that show the whole grid in half a minute."""
    names = (
        "wsrt/I/double/10",
        "wsrt/I/double/1000",
        "wsrt/IQUV/double/1000",
        "wsrt/IQUV/smearing/double/1000",
        "wsrt/IQUV/smearing/single/1000",
        f"wsrt/I/smearing/{PROFILES[0]}s/double/1000",
        "wsrt/IQUV/jones-constant/double/100",
        "wsrt/I/32768-channels/1e-6/100",
        "meerkat/I/double/1000",
        "meerkat/IQUV/smearing/double/100",
    )
    known = {case.name: case for case in grid()}
    return [known[name] for name in names]


def select(cases: Iterable[PsvCase], filters: Iterable[str] = (), names: Iterable[str] = ()) -> list[PsvCase]:
    """Some of the cases, in their order: those with one of the names, and those whose name has all parts of one of the
    filters: "meerkat/1000" is every case with these two. Without filters and names: all.

    Raises `Error` for a name that no case has.
    """
    cases, names = list(cases), set(names)
    unknown = names - {case.name for case in cases}
    if unknown:
        raise Error(f"there is no case {', '.join(sorted(unknown))}")
    wanted = [set(text.strip("/").split("/")) for text in filters]
    if not wanted and not names:
        return cases
    return [case for case in cases if case.name in names or any(one <= set(case.name.split("/")) for one in wanted)]
