"""The forest and cells of a benchmark case: a telescope of the package, a made-up sky, one PSV node per baseline."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from .. import nodes as rt
from .. import telescopes
from ..evaluation.cells import Cells
from ..forest import Forest
from ..sky.source import PROFILES
from ..sky.synthetic import SyntheticSky, random
from ..sky_trees import sky_nodes
from ..writing.scope import NodeScope
from .beam_terms import terms
from .cases import PsvCase

_KINDS = {"real": "real scalar", "complex": "complex scalar", "diagonal": "diagonal"}
_START_S = 5.2e9  # 2023, MJD seconds
_INTERVAL_S = 10.0
_BAND_HZ = 64e6
_CENTRE_HZ = 1.4e9


@dataclass(frozen=True)
class Problem:
    """A case ready to run: `roots` are the PSV nodes, one per baseline."""

    case: PsvCase
    forest: Forest
    roots: tuple[str, ...]

    @property
    def n_baseline(self) -> int:
        return len(self.roots)

    def cells(self, first_slot: int, n_slot: int, later_s: float = 0.0) -> Cells:
        """The cells of a time-slot group. `later_s` moves them a little, so that nothing is known from before."""
        time_s = _START_S + later_s + _INTERVAL_S * (first_slot + np.arange(n_slot))
        width_hz = _BAND_HZ / self.case.n_channel
        freq_hz = _CENTRE_HZ - _BAND_HZ / 2 + width_hz * (np.arange(self.case.n_channel) + 0.5)
        return Cells(time_s, freq_hz, time_width_s=_INTERVAL_S, freq_width_hz=width_hz)


def problem_of(case: PsvCase, threads: int | None = None) -> Problem:
    """The tree of a case, compiled. UVW are computed from the positions of the antennas; Jones terms are constants."""
    array = telescopes.get(case.telescope)
    # Half way between the zenith and the horizon, about south for the one and north for the other.
    dec_rad = math.radians(20 if case.telescope == "wsrt" else -50)
    sky = random(
        case.n_source,
        SyntheticSky(
            dec_rad=dec_rad,
            polarised_fraction=1.0 if case.stokes == "IQUV" else 0.0,
            extended_fraction=0.5 if case.profile else 0.0,
            profile=case.profile or PROFILES[0],
        ),
    )
    ns = NodeScope()
    seen = sky_nodes(ns, sky, (0.0, dec_rad))
    antennas = range(len(array))
    for p in antennas:
        ns.uvw(p) << rt.UVW(ns.radec_0, array.ecef_m[p], array.centre_ecef_m, include_deriv=case.smearing)
        if case.jones:
            value = _jones(case, p)
            ns.J(p) << rt.Constant(value, cells_rank=0 if case.jones == "constant" else 2)
            ns.JH(p) << rt.ConjTranspose(ns.J(p))
    roots = []
    for p, q in itertools.combinations(antennas, 2):
        ns.uvw(p, q) << ns.uvw(p) - ns.uvw(q)
        jones = (ns.J(p), ns.JH(q)) if case.jones else ()
        ns.V(p, q) << rt.PSV(seen.lmn, seen.brightness, ns.uvw(p, q), seen.shape, *jones)
        roots.append(ns.V(p, q).name)
    return Problem(case, Forest(ns, threads=threads), tuple(roots))


def _jones(case: PsvCase, antenna: int) -> np.ndarray:
    """[S,2,2], or [S,2,2,1,F] where it varies: a gain near 1 with some leakage, different for every source. Kinds of
    their own vary."""
    generator = np.random.default_rng(antenna)
    if case.jones in _KINDS:
        return terms(_KINDS[case.jones], case.n_source, case.n_channel, generator)
    shape = (case.n_source, 2, 2)
    term = np.eye(2) + 0.1 * (generator.standard_normal(shape) + 1j * generator.standard_normal(shape))
    if case.jones == "constant":
        return term
    slope = 0.05 * generator.standard_normal(shape)
    return term[..., None, None] * (1 + slope[..., None, None] * np.linspace(-1, 1, case.n_channel))
