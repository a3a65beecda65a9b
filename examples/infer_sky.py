"""Infers a small sky model from a Measurement Set: positions, fluxes and a Gaussian's shape, with error bars, and how
much more probable a Gaussian is than a point.

The data are simulated: two sources seen by the six antennas of ATCA, with noise. `MsObjective` gives the logarithm of
the likelihood of the whole set and its gradient in reverse mode, from data that stay in memory; scipy climbs to its
maximum, where the curvature gives error bars; dynesty samples the posterior without such an approximation and
integrates it to the evidence of each model.

Run it: python examples/infer_sky.py [--short] [new.ms]     (needs: pip install rimetree[inference])
"""

import sys
import tempfile
from pathlib import Path

import dynesty
import numpy as np
from scipy.optimize import minimize

import rimetree as rt

short = "--short" in sys.argv
named = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
rng = np.random.default_rng(5)
arcsec = np.radians(1 / 3600)
noise_jy = 0.2  # of the real and of the imaginary part of each visibility

# Unknowns, each with the range that is possible a priori: l and m in arcseconds, flux in Jy, full widths at half
# maximum in arcseconds, position angle in radians.
truth = {"l:0": 60.0, "m:0": -35.0, "flux:0": 1.0, "l:1": -80.0, "m:1": 50.0, "flux:1": 2.0}
shape = {"major:1": 22.0, "minor:1": 12.0, "angle:1": 0.7}
ranges = {"l": 2.0, "m": 2.0, "flux": 0.4}


def sky_tree(ns: rt.NodeScope, path: str, gaussian: bool, known: bool) -> list[tuple[int, int]]:
    """Nodes `ns.V(p, q)` of the baselines of a set, which are returned; what is not `known` starts elsewhere."""

    def unknown(name: str, unit: float = 1.0):
        kind = name.split(":")[0]
        true = truth.get(name, shape.get(name))
        low, high = {"major": (15, 35), "minor": (4, 20), "angle": (0, np.pi / 2)}.get(
            kind, (true - ranges.get(kind, 0), true + ranges.get(kind, 0))
        )
        start = true if known else true + 0.2 * (high - low) * rng.uniform(-1, 1)
        parm = rt.Parm(start, solvable=True, minimum=low, maximum=high)
        node = getattr(ns, kind)(int(name[-1])) << parm
        return node * unit if unit != 1 else node

    directions, fluxes, shapes = [], [], []
    for s in (0, 1):
        to_east, to_north = unknown(f"l:{s}", arcsec), unknown(f"m:{s}", arcsec)
        directions += [to_east, to_north, rt.Sqrt(1 - to_east * to_east - to_north * to_north)]
        fluxes.append(unknown(f"flux:{s}"))
    ns.lmn << rt.Composer(*directions, dims=[2, 3])
    ns.flux << rt.Composer(*fluxes)
    if gaussian:
        shapes = [unknown("major:1", arcsec), unknown("minor:1", arcsec), unknown("angle:1")]
        ns.shape << rt.Composer(0.0, 0.0, 0.0, *shapes, dims=[2, 3])
    baselines = rt.ms.baselines(path)
    for p, q in baselines:
        uvw = rt.Spigot(station_1_index=p, station_2_index=q, input_column="UVW")
        ns.V(p, q) << rt.PSV(ns.lmn, ns.flux, uvw, *([ns.shape] if gaussian else []))
    return baselines


def simulate(path: str) -> None:
    """A set of six hours with visibilities of the true sky and noise."""
    rt.ms.create(
        path,
        "atca-6a",
        phase_centre_rad=np.radians([60.0, -40.0]),
        duration_s=6 * 3600,
        integration_s=3600,
        bands=rt.ms.Band.regular(1.3e9, 0.2e9, 2),
    )
    ns = rt.NodeScope()
    for p, q in sky_tree(ns, path, gaussian=True, known=True):
        noise = rt.GaussNoise(stddev=noise_jy, seed=1, dims=[2, 2], complex=True)
        ns.sink(p, q) << rt.Sink(ns.V(p, q) + noise, station_1_index=p, station_2_index=q, output_column="DATA")
    rt.Forest(ns).run(path)


def objective_of(path: str, gaussian: bool) -> rt.MsObjective:
    """The logarithm of the likelihood of DATA."""
    ns = rt.NodeScope()
    baselines = sky_tree(ns, path, gaussian, known=False)
    for p, q in baselines:
        data = rt.Spigot(station_1_index=p, station_2_index=q, input_column="DATA")
        ns.residual(p, q) << rt.Condeq(data, ns.V(p, q), weight_factor=1 / noise_jy**2)
    ns.log_likelihood << rt.LogLikelihood(*(ns.residual(p, q) for p, q in baselines))
    return rt.MsObjective(rt.Forest(ns, threads=1), path)


def climb(objective, low, high):
    """The most probable unknowns and their errors, from the curvature there. Unknowns are scaled to their ranges."""

    def minus_log_likelihood(x):
        value, gradient = objective(low + x * (high - low))
        return -value, -gradient * (high - low)

    start = (objective.forest.parameter_vector() - low) / (high - low)
    found = minimize(
        minus_log_likelihood,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, 1)] * len(start),
        options={"ftol": 1e-15, "gtol": 1e-6},
    )
    step = 1e-5
    curvature = np.array(
        [
            (minus_log_likelihood(found.x + step * e)[1] - minus_log_likelihood(found.x - step * e)[1]) / (2 * step)
            for e in np.eye(len(start))
        ]
    )
    covariance = np.linalg.inv(0.5 * (curvature + curvature.T))
    # Laplace's approximation of the evidence: a Gaussian posterior under a prior that is 1 in these units.
    log_evidence = -found.fun + 0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]
    scale = high - low
    return low + found.x * scale, np.sqrt(np.diag(covariance)) * scale, log_evidence, found.nfev


def sample(objective, low, high):
    """Posterior samples with equal weights, and the evidence with its error."""
    sampler = dynesty.NestedSampler(
        objective.value,
        lambda u: low + u * (high - low),
        len(low),
        nlive=40 if short else 400,
        sample="rwalk",
        rstate=rng,
    )
    sampler.run_nested(dlogz=0.5 if short else 0.05, print_progress=False)
    results = sampler.results
    return results.samples_equal(rstate=rng), results.logz[-1], results.logzerr[-1]


with tempfile.TemporaryDirectory() as folder:
    ms = named[0] if named else str(Path(folder) / "infer.ms")
    simulate(ms)
    evidence = {}
    for model, gaussian in (("point", False), ("Gaussian", True)):
        objective = objective_of(ms, gaussian)
        parameters = objective.forest.parameters()
        low, high = (np.concatenate([getattr(one, bound) for one in parameters]) for bound in ("minimum", "maximum"))
        best, sigma, laplace, calls = climb(objective, low, high)
        samples, evidence[model], error = sample(objective, low, high)
        print(
            f"{model}: {calls} evaluations with gradient; "
            f"ln evidence {evidence[model]:.1f} +- {error:.1f} (Laplace {laplace:.1f})"
        )
        for one, x, dx in zip(parameters, best, sigma, strict=True):
            drawn = samples[:, one.unknowns]
            true = {**truth, **shape}[one.name]
            print(
                f"  {one.name:8} {x:9.4f} +- {dx:.4f}   sampled {drawn.mean():9.4f} +- {drawn.std():.4f}   "
                f"true {true:g}"
            )
    print(f"ln evidence ratio, Gaussian to point: {evidence['Gaussian'] - evidence['point']:.1f}")
