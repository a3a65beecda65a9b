"""What a Solver has to say: convergence of each group of unknowns, and values with standard errors and flags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import IntFlag

import numpy as np

from ..some_names import some_names

_SHOWN_VALUES = 10  # of a report


class SolutionFlag(IntFlag):
    """Why a solved value is not to be trusted; 0: it is good."""

    NOT_SOLVED = 1  # its solution tile has no cells here, or it depends on no data
    NO_DATA = 2  # all data that depend on it are flagged, without weight or not finite
    UNDETERMINED = 4  # the data do not determine it, or only in combination with others
    AT_BOUND = 8  # held by its minimum or maximum
    NOT_CONVERGED = 16  # its fit ended before it converged, and this value had still to go
    AMBIGUOUS = 32  # Jones matrices: only products on the baselines solved are determined; of no use on other baselines


@dataclass(frozen=True)
class SolvedParm:
    """A Parm after a solve.

    Arrays have the shape of its `value`: [time tile, freq tile, time term, freq term] if it has several solution tiles.
    `sigma`: standard error, NaN where there is none. `cross`: of the real or imaginary part of a complex number the
    covariance with the other part, else 0. `flag`: `SolutionFlag` bits. `group`: index into `SolveReport.groups`, -1
    where not solved. `slots_outside`, `channels_outside`: time slots and channels that were solved on but lie outside
    of all its solution tiles; they take the nearest tile. `normalised`: data tell only products of it with others, and
    what it has of them goes by the convention that the Parm's state field `normalised` asks for.
    """

    value: np.ndarray
    sigma: np.ndarray
    cross: np.ndarray
    flag: np.ndarray
    group: np.ndarray
    slots_outside: int = 0
    channels_outside: int = 0
    normalised: bool = False


@dataclass(frozen=True)
class SolvedGroup:
    """Unknowns that share data and were solved together.

    `status`: "converged", "exhausted" (iterations), "stalled" (nothing improves, yet not converged), "no equations" or
    "model not finite". `equations` counts real ones from data, `priors` the unknowns with a normal prior, which is
    one more equation each; `flagged`, `bad_weight` (not positive and finite) and `not_finite` count data left out.
    `chi_square` is that of the data, `prior_chi_square` that of the priors: the solve makes their sum small. `rank`
    below `unknowns` means that some combination is not determined by the data (a common phase of all gains, say).
    `condition` is that of the normal matrix scaled to unit diagonal. `time_s`, `freq_hz`: edges of the cells used;
    `time_ranges_s`, `freq_ranges_hz`: the intervals that these make where there are gaps of more than half a cell
    between them, else empty.
    """

    status: str
    converged: bool
    iterations: int
    unknowns: int
    rank: int
    condition: float
    equations: int
    flagged: int
    bad_weight: int
    not_finite: int
    chi_square_before: float
    chi_square: float
    time_s: tuple[float, float]
    freq_hz: tuple[float, float]
    priors: int = 0
    prior_chi_square_before: float = 0.0
    prior_chi_square: float = 0.0
    time_ranges_s: list[tuple[float, float]] = field(default_factory=list)
    freq_ranges_hz: list[tuple[float, float]] = field(default_factory=list)

    @property
    def reduced_chi_square(self) -> float:
        """Chi-square of data and priors per degree of freedom; NaN if there are none."""
        freedom = self.equations + self.priors - self.rank
        return (self.chi_square + self.prior_chi_square) / freedom if freedom > 0 else float("nan")


@dataclass(frozen=True)
class SolveReport:
    """One run of a Solver. `chi_square`: of the data of all groups together, before each iteration and at the end;
    `prior_chi_square`: of their priors. `method`: how the normal equations were made; `statistics_bytes`: what was kept
    of the data for it, instead of the data. `noise`: with the Solver's `estimate_noise` the size of the residuals in
    units of what the weights say; chi-square is in its units. `smoothed_hz`: full width along frequency over which
    solutions are smooth by the fit itself, as the Solver's `smooth_hz` asks; 0 where it could not. `bytes_to_devices`,
    `bytes_to_host`: what was copied to and from devices meanwhile, where there are any."""

    solver: str
    method: str
    groups: list[SolvedGroup]
    parms: dict[str, SolvedParm]
    chi_square: list[float]
    evaluate_seconds: float
    algebra_seconds: float
    statistics_bytes: int = field(default=0)
    noise: float = field(default=1.0)
    smoothed_hz: float = field(default=0.0)
    bytes_to_devices: int = field(default=0)
    bytes_to_host: int = field(default=0)
    prior_chi_square: list[float] = field(default_factory=list)

    @property
    def converged(self) -> bool:
        """Whether every group did."""
        return all(group.converged for group in self.groups)

    def after(self, first: SolveReport) -> SolveReport:
        """This report as that of both runs, `first` being one of the same groups that ended where this one began: with
        the iterations and chi-square of both."""
        groups = [
            replace(own, iterations=own.iterations + before.iterations)
            for own, before in zip(self.groups, first.groups, strict=True)
        ]
        return replace(self, groups=groups, chi_square=[*first.chi_square, *self.chi_square[1:]])

    def __str__(self) -> str:
        good = sum(group.converged for group in self.groups)
        unknowns, rank = (sum(getattr(g, name) for g in self.groups) for name in ("unknowns", "rank"))
        told = f", of which the data tell {rank}" if rank < unknowns else ""
        lines = [
            f"{self.solver}: {good} of {len(self.groups)} groups of unknowns converged; chi-square "
            f"{sum(g.chi_square_before for g in self.groups):.6g} -> {sum(g.chi_square for g in self.groups):.6g} with "
            f"{sum(g.equations for g in self.groups)} equations for {unknowns} unknowns{told}; "
            f"{self.method}; nodes {self.evaluate_seconds:.3f} s, solver {self.algebra_seconds:.3f} s"
        ]
        if priors := sum(g.priors for g in self.groups):
            lines[0] += (
                f"; chi-square of {priors} priors {sum(g.prior_chi_square_before for g in self.groups):.6g} -> "
                f"{sum(g.prior_chi_square for g in self.groups):.6g}"
            )
        left_out = {
            "flagged": sum(g.flagged for g in self.groups),
            "without a positive weight": sum(g.bad_weight for g in self.groups),
            "not finite": sum(g.not_finite for g in self.groups),
        }
        if any(left_out.values()):
            lines[0] += "; left out: " + ", ".join(f"{n} {why}" for why, n in left_out.items() if n)
        if self.bytes_to_devices or self.bytes_to_host:
            lines[0] += f"; {self.bytes_to_devices} bytes to devices, {self.bytes_to_host} bytes back"
        lines += self._values_text()
        bad = [group for group in self.groups if not group.converged]
        lines += [
            f"  {group.status}: {group.unknowns} unknowns, {group.equations} equations, time {group.time_s[0]:.1f} to "
            f"{group.time_s[1]:.1f} s, {group.freq_hz[0] / 1e6:.3f} to {group.freq_hz[1] / 1e6:.3f} MHz"
            for group in bad[:10]
        ]
        return "\n".join(lines + [f"  and {len(bad) - 10} more"] * (len(bad) > 10))

    def _values_text(self) -> list[str]:
        """A line with the values of Parms that have one each."""
        single = {name: parm for name, parm in self.parms.items() if np.size(parm.value) == 1}
        shown = [
            f"{name} = {float(parm.value.flat[0]):.9g} +- {float(parm.sigma.flat[0]):.2g}"
            + (" (not to be trusted)" if np.any(parm.flag) else "")
            for name, parm in list(single.items())[:_SHOWN_VALUES]
        ]
        more = len(single) - len(shown)
        return [f"  {', '.join(shown)}{f', and {more} more' if more else ''}"] if shown else []


def report_from_runtime(raw: dict) -> SolveReport:
    """A report from the extension module's dict."""
    parms = {
        name: SolvedParm(**{key: one if isinstance(one, int) else np.asarray(one) for key, one in parm.items()})
        for name, parm in raw.pop("parms").items()
    }
    return SolveReport(groups=[SolvedGroup(**group) for group in raw.pop("groups")], parms=parms, **raw)


def solved_anew(solves: Sequence[SolveReport]) -> list[str]:
    """What to say of a run in which values were found in one group of time slots and again in a later one: a Parm holds
    what the last of them gave. At most one line for each Solver."""
    times: dict[tuple[str, str], np.ndarray] = {}
    for solve in solves:
        for name, parm in solve.parms.items():
            solved, at = np.asarray(parm.group) >= 0, (solve.solver, name)
            times[at] = times.get(at, 0) + solved
    lines = []
    for solver in dict.fromkeys(solve.solver for solve in solves):
        anew = {name: int(np.max(n)) for (by, name), n in times.items() if by == solver and np.max(n, initial=0) > 1}
        if anew:
            lines.append(
                f"{solver}: {some_names(anew)} solved for anew in each of {max(anew.values())} groups of time slots or "
                "windows: they hold what the last gave (a ParmTable, --save-parms, has them all; groups of more "
                "time slots are solved on together; use_previous=False has each group start with the values given)"
            )
    return lines
