"""Infers a small sky model from visibilities: positions, fluxes and a Gaussian's shape, with error bars, and how much
more probable a Gaussian is than a point.

The data are simulated: two sources seen by six antennas, with noise. The forest gives the logarithm of the
likelihood and its gradient in reverse mode; scipy climbs to its maximum, where the curvature gives error bars; dynesty
samples the posterior without such an approximation and integrates it to the evidence of each model.

Run it: python examples/infer_sky.py [--short]     (needs: pip install rimetree[inference])
"""

import sys

import dynesty
import numpy as np
from scipy.optimize import minimize

import rimetree as rt

short = "--short" in sys.argv
rng = np.random.default_rng(5)
arcsec = np.radians(1 / 3600)
noise_jy = 0.2  # of the real and of the imaginary part of each visibility

# Six antennas in an irregular array of 2 km, observed for some hours: UVW in metres.
n_antenna = 6
east, north = rng.uniform(-1000, 1000, (2, n_antenna))
hour_angle, dec = np.linspace(-0.8, 0.8, 5), np.radians(-40)
cells = rt.Cells(time_s=5.24e9 + hour_angle / 7.292115e-5, freq_hz=[1.2e9, 1.4e9])
baselines = [(p, q) for p in range(n_antenna) for q in range(p + 1, n_antenna)]
uvw_m = {}
for p, q in baselines:
    x, y = -np.sin(np.radians(-30)) * (north[q] - north[p]), east[q] - east[p]
    z = np.cos(np.radians(-30)) * (north[q] - north[p])
    sine, cosine = np.sin(hour_angle), np.cos(hour_angle)
    uvw_m[p, q] = np.array(
        [
            sine * x + cosine * y,
            -np.sin(dec) * cosine * x + np.sin(dec) * sine * y + np.cos(dec) * z,
            np.cos(dec) * cosine * x - np.cos(dec) * sine * y + np.sin(dec) * z,
        ]
    )


# Unknowns, each with the range that is possible a priori: l and m in arcseconds, flux in Jy, full widths at half
# maximum in arcseconds, position angle in radians.
truth = {"l:0": 60.0, "m:0": -35.0, "flux:0": 1.0, "l:1": -80.0, "m:1": 50.0, "flux:1": 2.0}
shape = {"major:1": 22.0, "minor:1": 12.0, "angle:1": 0.7}
ranges = {"l": 2.0, "m": 2.0, "flux": 0.4}


def tree(ns: rt.NodeScope, gaussian: bool, data: dict | None) -> None:
    """Nodes `ns.V(p, q)`; with data also `ns.log_likelihood`, whose unknowns start away from the truth."""

    def unknown(name: str, unit: float = 1.0):
        kind = name.split(":")[0]
        true = truth.get(name, shape.get(name))
        low, high = {"major": (15, 35), "minor": (4, 20), "angle": (0, np.pi / 2)}.get(
            kind, (true - ranges.get(kind, 0), true + ranges.get(kind, 0))
        )
        start = true if data is None else true + 0.2 * (high - low) * rng.uniform(-1, 1)
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
    for p, q in baselines:
        ns.V(p, q) << rt.PSV(
            ns.lmn, ns.flux, rt.Constant(uvw_m[p, q][:, :, None], cells_rank=2), *([ns.shape] if gaussian else [])
        )
        if data is not None:
            observed = rt.Constant(data[p, q], cells_rank=2)
            ns.residual(p, q) << rt.Condeq(observed, ns.V(p, q), weight_factor=1 / noise_jy**2)
    if data is not None:
        ns.log_likelihood << rt.LogLikelihood(*(ns.residual(p, q) for p, q in baselines))


def simulate() -> dict:
    ns = rt.NodeScope()
    tree(ns, gaussian=True, data=None)
    forest = rt.Forest(ns)
    data = {}
    for p, q in baselines:
        visibilities = forest.evaluate(ns.V(p, q), cells)
        data[p, q] = visibilities + noise_jy * (
            rng.normal(size=visibilities.shape) + 1j * rng.normal(size=visibilities.shape)
        )
    return data


def climb(forest, low, high):
    """The most probable unknowns and their errors, from the curvature there. Unknowns are scaled to their ranges."""

    def minus_log_likelihood(x):
        value, gradient = forest.value_and_gradient("log_likelihood", cells, low + x * (high - low))
        return -value, -gradient * (high - low)

    start = (forest.parameter_vector() - low) / (high - low)
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


def sample(forest, low, high):
    """Posterior samples with equal weights, and the evidence with its error."""

    def log_likelihood(x):
        forest.set_parameters(x)
        return forest.evaluate("log_likelihood", cells).item()

    sampler = dynesty.NestedSampler(
        log_likelihood,
        lambda u: low + u * (high - low),
        len(low),
        nlive=40 if short else 400,
        sample="rwalk",
        rstate=rng,
    )
    sampler.run_nested(dlogz=0.5 if short else 0.05, print_progress=False)
    results = sampler.results
    return results.samples_equal(rstate=rng), results.logz[-1], results.logzerr[-1]


data = simulate()
evidence = {}
for model, gaussian in (("point", False), ("Gaussian", True)):
    ns = rt.NodeScope()
    tree(ns, gaussian, data)
    forest = rt.Forest(ns, threads=1)
    parameters = forest.parameters()
    low, high = (np.concatenate([getattr(one, bound) for one in parameters]) for bound in ("minimum", "maximum"))
    if gaussian:
        check = forest.check_derivatives("log_likelihood", cells)
        print(f"derivatives: forward and reverse mode differ by {check.reverse_difference:.1e}")
    best, sigma, laplace, calls = climb(forest, low, high)
    samples, evidence[model], error = sample(forest, low, high)
    print(
        f"{model}: {calls} evaluations with gradient; "
        f"ln evidence {evidence[model]:.1f} +- {error:.1f} (Laplace {laplace:.1f})"
    )
    for one, x, dx in zip(parameters, best, sigma, strict=True):
        drawn = samples[:, one.unknowns]
        true = {**truth, **shape}[one.name]
        print(f"  {one.name:8} {x:9.4f} +- {dx:.4f}   sampled {drawn.mean():9.4f} +- {drawn.std():.4f}   true {true:g}")
print(f"ln evidence ratio, Gaussian to point: {evidence['Gaussian'] - evidence['point']:.1f}")
