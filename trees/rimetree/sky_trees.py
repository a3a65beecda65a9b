"""Ready-made trees: a sky model seen by the baselines of a Measurement Set, as one PSV node per baseline or as many
small nodes. Both give the same visibilities; the second shows how, and can be changed anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from . import nodes as rt
from ._core import Error
from .arguments import checked
from .beams import AnyBeam, Place, jones_nodes, kinds_of
from .beams.array import require_feed
from .directions import require_direction
from .receiver_noise import ReceiverNoise
from .sky import SkyModel, Source
from .writing.indices import Index, Indexed, each
from .writing.scope import NodeDef, NodeScope, NodeStub


@dataclass(frozen=True)
class SkyNodes:
    """The nodes of a sky: `lmn` [S,3], `brightness` [S,2,2] (Jy), `shape` [S,6] (the axes as vectors, radians; [S,3]
    where all shapes lie in the (l, m) plane; one number more, that of the profile, where not all are of the first one;
    None if all are points).

    Of sources that are sums of shapelets `shapelets` holds coefficients [S,j,k], axes [S,3] and directions [S,2,3] as
    the node `Shapelets` takes them. Where only some sources are, `parts` holds all sources again, those that look alike
    together.

    Where beams of antennas differ there is no brightness that all see: `voltages` are those of each antenna, [S] or
    [S,2,2], `conjugates` their conjugate transposes, and `inner_brightness` stands between them (`psv`, `terms`).
    Elsewhere that is the brightness."""

    lmn: NodeStub
    inner_brightness: NodeStub
    shape: NodeStub | None
    n_source: int
    voltages: tuple[NodeStub, ...] = ()
    conjugates: tuple[NodeStub, ...] = ()
    shapelets: tuple[NodeStub, ...] = ()
    parts: tuple[SkyNodes, ...] = ()

    @property
    def brightness(self) -> NodeStub:
        """Raises `Error` where beams of antennas differ."""
        if self.voltages:
            raise Error(
                "the beams of antennas differ, and with them what is seen of the sky: write psv(p, q, uvw), or put "
                "terms(p, q) around inner_brightness"
            )
        return self.inner_brightness

    def psv(self, p: int | Index, q: int | Index, uvw: NodeStub) -> NodeDef:
        """The sky's visibilities on the baseline, or baselines, of antennas p and q."""
        if self.parts:
            return rt.Add(*(part.psv(p, q, uvw) for part in self.parts))
        inner = (self.taper(uvw), 1.0) if self.shapelets else ()
        return rt.PSV(self.lmn, self.inner_brightness, uvw, self.shape, *inner, *self.terms(p, q))

    def taper(self, uvw: NodeStub) -> NodeDef:
        """What sources that are sums of shapelets leave of the visibilities of points, [S]."""
        coefficients, axes, directions = self.shapelets
        return rt.Shapelets(coefficients, axes, uvw, directions)

    def terms(self, p: int | Index, q: int | Index) -> tuple:
        """Terms that stand around the brightness, left and right: the beams of antennas p and q, where beams differ."""
        return (self._of(p, self.voltages), self._of(q, self.conjugates)) if self.voltages else ()

    def voltage(self, antenna: int | Index) -> NodeStub | Indexed:
        """The voltage pattern of an antenna, or of those that an index stands for. Raises `Error` for one that was
        given no beam."""
        return self._of(antenna, self.voltages)

    def _of(self, antenna: int | Index, nodes: tuple[NodeStub, ...]) -> NodeStub | Indexed:
        numbers = antenna.values if isinstance(antenna, Index) else [antenna]
        if beyond := [number for number in numbers if not 0 <= number < len(self.voltages)]:
            raise Error(
                f"antenna {beyond[0]} has no beam: the sky is seen through {len(self.voltages)}, those of antennas "
                "from 0 on"
            )
        found = [nodes[number] for number in numbers]
        return antenna.of(found) if isinstance(antenna, Index) else found[0]


@checked
def sky_nodes(ns: NodeScope, sky: SkyModel, phase_centre_rad: Sequence[float], *, feed: str = "linear") -> SkyNodes:
    """Directions, brightness and shapes of a sky model as nodes of the scope.

    `phase_centre_rad`: right ascension and declination, in the frame of the sky's positions. `feed`:
    "linear" or "circular". Each quantity is one tensor over the sources, so the number of nodes does not grow with the
    sky. A sky without sources, as may be left of one by `select`, has visibilities of 0. Of a sky that is seen through
    a beam (`SkyModel.seen_through`) the brightness is what the beam lets through; where beams of antennas differ, they
    are terms of the antennas (`SkyNodes.psv`, `SkyNodes.terms`).
    """
    seen = _whole(ns, sky, phase_centre_rad, feed)
    kinds = sorted({_size_of(source) for source in sky})
    if len(kinds) < 2:
        return seen
    parts = [sky.select(where=lambda source, kind=kind: _size_of(source) == kind) for kind in kinds]
    return replace(
        seen,
        parts=tuple(
            _nodes_of(ns.Subscope("part", k), part, phase_centre_rad, ns.radec_0, feed) for k, part in enumerate(parts)
        ),
    )


def _size_of(source: Source) -> tuple[int, int]:
    """How many orders of shapelets a source has along both axes, (0, 0) if it is none: rounded up, so that few numbers
    are in use and sources of other numbers lose little by being filled up to them."""
    if source.shapelets is None:
        return 0, 0
    return tuple(next(n for e in range(20) for n in (2**e, 3 * 2**e // 2) if n >= own) for own in source.shapelets.size)


def _whole(ns: NodeScope, sky: SkyModel, phase_centre_rad: Sequence[float], feed: str) -> SkyNodes:
    """All sources together, as `sky_nodes`, without `SkyNodes.parts`."""
    ns.radec_0 << rt.Constant(require_direction("phase_centre_rad", phase_centre_rad))
    return _nodes_of(ns, sky, phase_centre_rad, ns.radec_0, feed)


def _nodes_of(
    ns: NodeScope, sky: SkyModel, phase_centre_rad: Sequence[float], radec_0: NodeStub, feed: str
) -> SkyNodes:
    """Of some sources, below a node of the phase centre that all share."""
    ns.radec << rt.Constant(sky.radec_rad)
    ns.lmn << rt.LMN(ns.radec, radec_0)
    brightness = rt.Stokes(_stokes_nodes(ns, sky), feed=feed)
    kinds, of_antenna = ([], []) if sky.beam is None else kinds_of(sky.beam)
    require_feed(kinds, feed)
    terms = jones_nodes(ns, kinds, Place(ns.radec, radec_0, ns.lmn, len(sky)))
    if kinds and not of_antenna:
        brightness = _seen(ns, brightness, terms[0], kinds[0])
    ns.brightness << brightness
    conjugates = []
    if of_antenna:
        real = all(kind.is_real for kind in kinds)
        conjugates = terms if real else [ns.voltageH(k) << rt.ConjTranspose(term) for k, term in enumerate(terms)]
    shape = None
    if sky.shape_rad.any():
        shape = ns.shape << rt.Constant(sky.shapes_seen_from(phase_centre_rad))
    of = [tuple(nodes[k] for k in of_antenna) for nodes in (terms, conjugates)]
    shapelets = ()
    if len(sky) and sky.has_shapelets.all():
        shapelets = _shapelet_nodes(ns, _shapelets(sky, phase_centre_rad))
    return SkyNodes(ns.lmn, ns.brightness, shape, len(sky), *of, shapelets)


def _stokes_nodes(ns: NodeScope, sky: SkyModel) -> NodeStub:
    """[S,4] Stokes parameters: by spectra, and by the tables of sources that have one."""
    has_table = sky.has_table
    stokes = ns.stokes_0 << rt.Constant(np.where(has_table[:, None], 0.0, sky.stokes_jy))
    if sky.spectrum.any() or sky.rm_rad_m2.any():
        coefficients = sky.spectrum if sky.spectrum.shape[1] else np.zeros((len(sky), 1))
        stokes = (ns.stokes_of_spectra if has_table.any() else ns.stokes) << rt.Spectrum(
            stokes,
            coefficients,
            sky.ref_freq_hz,
            sky.rm_rad_m2 if sky.rm_rad_m2.any() else None,
            logarithmic=sky.logarithmic,
            scale_polarisation=sky.spectrum_scales_polarisation,
        )
    if not has_table.any():
        return stokes
    parts = [] if has_table.all() else [stokes]
    if (has_table & ~sky.has_power_laws).any():
        parts.append(_table_nodes(ns, sky))
    if sky.has_power_laws.any():
        parts.append(_power_law_nodes(ns, sky))
    return ns.stokes << (rt.Add(*parts) if len(parts) > 1 else parts[0])


def _table_nodes(ns: NodeScope, sky: SkyModel) -> NodeDef:
    """[S,4] Stokes parameters that tables with straight lines hold, 0 of sources without one."""
    frequency_hz, fluxes = sky.flux_table()
    ns.table_place << _place(rt.Freq(), frequency_hz)
    ns.table << rt.Constant(fluxes)
    found = rt.Interpolate(ns.table, ns.table_place, outside="edge")
    return found if fluxes.ndim == 3 else _of_intensity(ns, found, len(sky))


def _power_law_nodes(ns: NodeScope, sky: SkyModel) -> NodeDef:
    """[S,4] Stokes parameters of tables with power laws, 0 of sources without one."""
    laws = sky.power_laws()
    ns.power_law_place << _place(rt.Log(rt.Freq()), laws.log_frequency)
    ns.log_flux << rt.Interpolate(rt.Constant(laws.log_flux), ns.power_law_place, outside="edge")
    intensity = ns.of_power_laws << rt.Constant(laws.sign) * rt.Exp(ns.log_flux)
    if laws.fractions is None:
        return _of_intensity(ns, intensity, len(sky))
    fractions = rt.Interpolate(rt.Constant(laws.fractions), ns.power_law_place, outside="edge")
    return rt.Transpose(rt.Composer(*[intensity] * 4, dims=[0]) * fractions)


def _place(x: NodeDef, ascending: np.ndarray) -> NodeDef:
    """Where a number is among ascending ones, a place in a table of their values, between 0 and the last place: each
    step counts as far as it lies below the number."""
    step = np.diff(ascending)
    below = (x - rt.Constant(ascending[:-1])) / rt.Constant(step)
    within = rt.Min(rt.Max(below, np.zeros(len(step))), np.ones(len(step)))
    return rt.Sum(within, tensor_axis=0, reduction_axes=[])


def _of_intensity(ns: NodeScope, intensity: NodeDef, count: int) -> NodeDef:
    """[S,4] of Stokes I of S sources that are not polarised."""
    none = rt.Constant(np.zeros(count))
    return rt.Transpose(rt.Composer(intensity, none, none, none, dims=[0]))


def _shapelets(sky: SkyModel, phase_centre_rad: Sequence[float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients [S,j,k], axes [S,3] and directions [S,2,3] of sources that are all sums of shapelets."""
    own = [source.shapelets for source in sky]
    coefficients = np.zeros((len(sky), *np.max([one.size for one in own], axis=0)))
    for target, one in zip(coefficients, own, strict=True):
        target[: one.size[0], : one.size[1]] = one.matrix
    axes = np.array([(one.major_rad, one.minor_rad, one.pa_rad) for one in own])
    return coefficients, axes, sky.tangents(phase_centre_rad)


def _shapelet_nodes(ns: NodeScope, values: Sequence[np.ndarray]) -> tuple[NodeStub, ...]:
    """Coefficients, axes and directions of one source or of several as nodes."""
    names = (ns.shapelets, ns.shapelet_axes, ns.tangents)
    return tuple(name << rt.Constant(value) for name, value in zip(names, values, strict=True))


def _seen(ns: NodeScope, brightness, term, beam: AnyBeam) -> NodeDef:
    """The brightness of a sky that all antennas see through one beam."""
    if beam.is_scalar:
        return rt.MatrixMultiply(rt.Sqr(term if beam.is_real else rt.Abs(term)), brightness)
    seen = ns.corrupted << rt.MatrixMultiply(term, brightness, rt.ConjTranspose(term))
    return 0.5 * (seen + rt.ConjTranspose(seen))  # Hermitian to the last bit: half as much to sum up


@checked
def uvw_nodes(ns: NodeScope, baselines: Sequence[tuple[int, int]], *, smearing: bool = True) -> None:
    """`ns.uvw(p, q)`: the stored UVW of each baseline, with rates of change where smearing is wanted."""
    p, q = each(baselines, members=2)
    ns.uvw(p, q) << rt.Spigot(station_1_index=p, station_2_index=q, input_column="UVW", include_deriv=smearing)


@checked
def sink_nodes(
    ns: NodeScope, baselines: Sequence[tuple[int, int]], *, column: str = "MODEL_DATA", write_flags: bool = False
) -> NodeStub:
    """Sinks `ns.sink(p, q)` that write `ns.V(p, q)`, and the VisDataMux that drives them."""
    for p, q in baselines:
        ns.sink(p, q) << rt.Sink(
            ns.V(p, q), station_1_index=p, station_2_index=q, output_column=column, write_flags=write_flags
        )
    return ns.VisDataMux << rt.VisDataMux(None, None, *(ns.sink(p, q) for p, q in baselines))


def _dark() -> NodeDef:
    """Visibilities of a sky without sources."""
    return rt.Constant(np.zeros((2, 2), complex))


def beside_data(
    ns: NodeScope, p: int, q: int, model: NodeDef, *, add_to: str | None, subtract_from: str | None
) -> NodeDef:
    """What a column has of a baseline with the model added to it, or subtracted from it; without one the model alone.
    Raises `Error` where both columns are given."""
    if add_to is not None and subtract_from is not None:
        raise Error(f"the sky is added to {add_to} or subtracted from {subtract_from}, not both: give one of them")
    column = add_to if subtract_from is None else subtract_from
    if column is None:
        return model
    ns.data(p, q) << rt.Spigot(station_1_index=p, station_2_index=q, input_column=column)
    return (rt.Add if subtract_from is None else rt.Subtract)(ns.data(p, q), model)


@checked
def psv_tree(
    ns: NodeScope,
    sky: SkyModel,
    phase_centre_rad: Sequence[float],
    baselines: Sequence[tuple[int, int]],
    *,
    feed: str = "linear",
    smearing: bool = True,
    column: str = "MODEL_DATA",
    noise_jy: float = 0.0,
    sefd_jy: float | Sequence[float] = 0.0,
    seed: int = 0,
    add_to: str | None = None,
    subtract_from: str | None = None,
) -> NodeStub:
    """One monolithic PSV node `ns.V(p, q)` per baseline, from Spigots to Sinks. Returns the VisDataMux.

    `baselines`: (ANTENNA1, ANTENNA2) as `rimetree.ms.baselines` gives them. `noise_jy`: standard deviation of the noise
    added to the real and imaginary part of every visibility (of data of Stokes I alone: of both feeds, of which it is
    the mean), `seed` decides its numbers. Or `sefd_jy`: system equivalent flux density of each antenna, or of all, that
    is of each of its feeds; channel widths and exposures then say how much noise there is (`ReceiverNoise`). `add_to`:
    a column with visibilities to which the sky is added, or `subtract_from`: one from which it is subtracted, before
    there is noise. Other arguments as `sky_nodes`.
    """
    noise = ReceiverNoise(noise_jy, sefd_jy, seed)
    if len(sky):
        seen = sky_nodes(ns, sky, phase_centre_rad, feed=feed)
        uvw_nodes(ns, baselines, smearing=smearing)
    for p, q in baselines:
        model = seen.psv(p, q, ns.uvw(p, q)) if len(sky) else _dark()
        value = beside_data(ns, p, q, model, add_to=add_to, subtract_from=subtract_from)
        ns.V(p, q) << noise.added_to(ns, p, q, value)
    return sink_nodes(ns, baselines, column=column)


def _terms_of_sources(ns: NodeScope, seen: SkyNodes, baselines, p, q, s, sources) -> tuple[list, list]:
    """Left and right of the brightness of a source: the beams of both antennas, where they differ."""
    if not seen.voltages:
        return [], []
    a = each(sorted({antenna for pair in baselines for antenna in pair}))
    ns.voltage_of(a, s) << rt.Selector(seen.voltage(a), index=s.of([[[i]] for i in sources]))
    ns.voltageH_of(a, s) << rt.ConjTranspose(ns.voltage_of(a, s))
    return [ns.voltage_of(p, s)], [ns.voltageH_of(q, s)]


@checked
def many_node_tree(
    ns: NodeScope,
    sky: SkyModel,
    phase_centre_rad: Sequence[float],
    baselines: Sequence[tuple[int, int]],
    *,
    feed: str = "linear",
    smearing: bool = True,
    column: str = "MODEL_DATA",
    noise_jy: float = 0.0,
    sefd_jy: float | Sequence[float] = 0.0,
    seed: int = 0,
    add_to: str | None = None,
    subtract_from: str | None = None,
) -> NodeStub:
    """The same visibilities from many small nodes: per source and baseline a phase, a smearing factor, a shape and a
    product with the brightness, then their sum. Arguments and result as `psv_tree`."""
    noise = ReceiverNoise(noise_jy, sefd_jy, seed)
    seen = _whole(ns, sky, phase_centre_rad, feed)
    uvw_nodes(ns, baselines, smearing=smearing)
    p, q = each(baselines, members=2)
    shaped, summed = sky.shape_rad.any(axis=1), sky.has_shapelets
    for sources in map(np.flatnonzero, (~shaped & ~summed, shaped, summed)):
        s = each(sources)
        ns.lmn(s) << rt.Selector(seen.lmn, index=s.of([[i, -1] for i in sources]))
        ns.brightness(s) << rt.Selector(seen.inner_brightness, index=s.of([[i, -1, -1] for i in sources]))
        factors = [ns.K(p, q, s) << rt.VisPhaseShift(lmn=ns.lmn(s), uvw=ns.uvw(p, q))]
        if smearing:
            factors.append(ns.smear(p, q, s) << rt.TFSmearFactor(lmn=ns.lmn(s), uvw=ns.uvw(p, q)))
        if shaped[sources].any():
            ns.shape(s) << rt.Selector(seen.shape, index=s.of([[i, -1] for i in sources]))
            factors.append(ns.taper(p, q, s) << rt.SourceShape(ns.shape(s), ns.uvw(p, q)))
        elif summed[sources].any():
            values = [[value[0] for value in _shapelets(sky[i : i + 1], phase_centre_rad)] for i in sources]
            own = [_shapelet_nodes(ns.Subscope("source", int(i)), of) for i, of in zip(sources, values, strict=True)]
            coefficients, axes, directions = (s.of(nodes) for nodes in zip(*own, strict=True))
            factors.append(ns.taper(p, q, s) << rt.Shapelets(coefficients, axes, ns.uvw(p, q), directions))
        left, right = _terms_of_sources(ns, seen, baselines, p, q, s, sources)
        ns.V(p, q, s) << rt.MatrixMultiply(*factors, *left, ns.brightness(s), *right)
    for a, b in baselines:
        model = rt.Add(*(ns.V(a, b, i) for i in range(len(sky)))) if len(sky) else _dark()
        value = beside_data(ns, a, b, model, add_to=add_to, subtract_from=subtract_from)
        ns.V(a, b) << noise.added_to(ns, a, b, value)
    return sink_nodes(ns, baselines, column=column)
