#include "nodes/psv/uv_grid/accuracy.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "runtime/math/conventions.h"

namespace rimetree::psv::uv_grid {
namespace {

/// What interpolation in W may take of the tolerance of a series, and all that is left out of the whole. Errors in W
/// fall quickly with one more point; the kernel, whose error falls in coarse steps of its width, gets what is left.
constexpr double kWShare = 0.05, kLeftOut = 0.01;
/// Rounding in double precision on the way to the grid and off it, before the kernel lets it grow, on either axis.
/// Errors of the cells that a kernel covers do not add up in phase: tests find a hundredth of this.
constexpr double kRounding = 1e-15;

/// Of grids with a kernel on both axes, as a fraction of the flux on them.
double grid_error(const GriddingKernel& kernel, int n_w) {
  const double one = two_step_bound(kernel);
  return (one * (2 + one) + kRounding * kernel.growth * kernel.growth) * growth_between(n_w);
}

/// The grids of a series, and how wide their kernel is.
struct Chosen {
  GridSeries series;
  int width = 0;
  double error = 0;  ///< bound
};

/// Errors of interpolation in W, see points_errors().
std::vector<double> w_errors(const UvGridPlan& plan) {
  return points_errors(2 * kPi * plan.samples.half(2) * plan.sources.half(2));
}

/// What serves series `number`, which has such a fraction of the flux, with an error of at most `allowed` of the total.
Chosen choose(UvGridPlan& plan, std::size_t number, double flux, double allowed, const std::vector<double>& in_w) {
  Chosen chosen;
  plan.obstacle = "the tolerance is beyond its kernels";
  if (!(allowed > 0)) return chosen;
  const double growth = flux * plan.means.growth, in_points = kWShare * allowed;
  const int n_w = fewest_points(in_w, in_points / growth);
  if (n_w == 0) {
    plan.obstacle = "the field is too wide for baselines so far from a plane";
    return chosen;
  }
  for (int width = 4; width <= kMaxKernelWidth; width += 2) {
    const double error = growth * grid_error(gridding_kernel(width), n_w) + in_points;
    if (!(error <= allowed)) continue;
    plan.obstacle.clear();
    return {{number / plan.sky.n_term, number % plan.sky.n_term, 0, n_w}, width, error};
  }
  return chosen;
}

/// Brings series into the order of their kernels.
void set_grids(UvGridPlan& plan, std::vector<Chosen> all) {
  std::stable_sort(all.begin(), all.end(), [](const Chosen& a, const Chosen& b) { return a.width > b.width; });
  for (Chosen& one : all) {
    const GriddingKernel& kernel = gridding_kernel(one.width);
    if (plan.kernels.empty() || plan.kernels.back().kernel != &kernel) plan.kernels.push_back({&kernel, {}});
    one.series.kernel = plan.kernels.size() - 1;
    for (int w = 0; w < one.series.n_w; ++w) plan.grids.push_back({plan.series.size(), w});
    plan.series.push_back(one.series);
  }
}

/// Series with these fractions of the flux, [plane][term]. Errors of the planes of a group, [plane], add up.
double choose_all(UvGridPlan& plan, const std::vector<double>& flux, const std::vector<std::size_t>& group,
                  double tolerance) {
  const std::size_t n_term = plan.sky.n_term;
  const std::vector<double> in_w = w_errors(plan);
  // With shares that go as the root of the flux, the largest series get nearly all.
  std::vector<double> roots(group.size() + 2, 0.0), error(roots.size(), 0.0);
  for (std::size_t i = 0; i < flux.size(); ++i) roots[group[i / n_term]] += std::sqrt(flux[i]);
  std::vector<Chosen> all;
  for (std::size_t i = 0; i < flux.size(); ++i) {
    const std::size_t together = group[i / n_term];
    if (double(flux.size()) * flux[i] <= kLeftOut * tolerance) {
      error[together] += flux[i];  // means make no more of it
      continue;
    }
    const double allowed = (1 - kLeftOut) * tolerance * std::sqrt(flux[i]) / roots[together];
    all.push_back(choose(plan, i, flux[i], allowed, in_w));
    if (!plan.obstacle.empty()) return 0;
    error[together] += all.back().error;
  }
  plan.is_empty = all.empty();
  if (plan.is_empty) plan.obstacle = "there is nothing to sum up";
  set_grids(plan, std::move(all));
  return *std::max_element(error.begin(), error.end());
}

/// What is on the grids of each series, [plane][term].
std::vector<double> flux_of(const SeriesSky& sky) {
  const std::size_t n_series = sky.planes.size() * sky.n_term;
  std::vector<double> flux(n_series, 0.0);
  for (std::size_t s = 0; s < sky.n_source; ++s)
    for (std::size_t i = 0; i < n_series; ++i) flux[i] += abs(sky.weight[s * n_series + i]);
  return flux;
}

/// What is no number must not be left out.
double fraction(double part, double whole) { return std::isfinite(part / whole) ? part / whole : 1; }

}  // namespace

double choose_grids_for(UvGridPlan& plan, const std::vector<double>& flux, double tolerance) {
  // I and Q make up XX and YY together, U and V the others.
  std::vector<std::size_t> group;
  for (std::size_t p = 0; p < plan.sky.planes.size(); ++p)
    group.push_back(!plan.sky.stokes ? p : plan.sky.planes[p] == Plane::kI || plan.sky.planes[p] == Plane::kQ ? 0 : 1);
  return choose_all(plan, flux, group, tolerance);
}

double choose_grids(UvGridPlan& plan, double total_flux, double tolerance) {
  std::vector<double> flux = flux_of(plan.sky);
  for (double& one : flux) one = fraction(one, total_flux);
  return choose_grids_for(plan, flux, tolerance);
}

double choose_grids_in_reverse(UvGridPlan& plan, double tolerance) {
  const std::size_t n_plane = plan.sky.planes.size(), n_term = plan.sky.n_term;
  std::vector<double> flux(n_plane * n_term, 1.0);
  if (!plan.sky.weight.empty()) flux = flux_of(plan.sky);
  std::vector<std::size_t> group(n_plane);
  for (std::size_t p = 0; p < n_plane; ++p) {
    const std::span<double> own(flux.data() + p * n_term, n_term);
    // Planes that do not move are left out.
    const double largest = *std::max_element(own.begin(), own.end());
    if (!std::all_of(own.begin(), own.end(), [](double one) { return one == 0; }))
      for (double& one : own) one = fraction(one, largest);
    group[p] = p;
  }
  return choose_all(plan, flux, group, tolerance);
}

}  // namespace rimetree::psv::uv_grid
