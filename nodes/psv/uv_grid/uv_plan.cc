// Plans the uv-grid method: how large the grids are, how many, how wide the kernel, how exact it all is.
#include <algorithm>
#include <cmath>
#include <limits>

#include "nodes/psv/uv_grid/uv_grid.h"
#include "runtime/core/values/largest_error.h"
#include "runtime/math/conventions.h"

namespace rimetree::psv::uv_grid {
namespace {

// What series, rules and interpolation in W may take of the tolerance; their errors fall quickly with one more term.
// The kernel, whose error falls in coarse steps of its width, gets what is left.
constexpr double kSeriesShare = 0.01, kExposureShare = 0.005, kWShare = 0.01;
constexpr std::size_t kLongestLine = 65536;  ///< cells
constexpr std::size_t kLargestGridBytes = std::size_t{4} << 30;
/// Rounding in double precision of sums on the grid, which the kernel lets grow on the way there and back, on either
/// axis; without that growth.
constexpr double kRounding = 2e-16;

/// The fewest nodes of a rule whose error is at most so much for a phase that changes by 2 `half_change`; 0: too many.
int nodes_for(double half_change, const double (&limit)[kMaxExposureNodes]) {
  for (int n = 1; n <= kMaxExposureNodes; ++n)
    if (half_change <= limit[n - 1]) return n;
  return 0;
}

/// How many nodes the smearing of each row needs. `error`: of one mean.
bool plan_nodes(UvGridPlan& plan, const Summed& of, double error) {
  double limit[kMaxExposureNodes];
  for (int n = 1; n <= kMaxExposureNodes; ++n) limit[n - 1] = exposure_rule_limit(n, error);
  const auto& [sky, channels, rows, jones, owner, version, ends] = of;
  double width_hz = 0;
  for (const double width : channels.width_hz) width_hz = std::max(width_hz, std::abs(width));
  plan.rows.resize(rows.n_row);
  for (std::size_t r = 0; r < rows.n_row; ++r) {
    double time = 0, frequency = 0;
    if (rows.is_smeared_in_time())
      time = sky.extent.bound_of_change(rows.du[r], rows.dv[r], rows.dw[r], rows.exposure_s[r]) * channels.highest_hz;
    if (rows.is_smeared_in_frequency()) frequency = sky.extent.bound(rows.u[r], rows.v[r], rows.w[r]) * width_hz;
    const int n_time = nodes_for(kPi * time / kSpeedOfLight_m_s, limit);
    const int n_frequency = nodes_for(kPi * frequency / kSpeedOfLight_m_s, limit);
    if (n_time == 0 || n_frequency == 0) {
      plan.obstacle = std::isfinite(time + frequency) ? "phases of some baselines turn too far within a cell"
                                                      : "baselines or directions are not finite";
      return false;
    }
    plan.rows[r] = {static_cast<std::uint8_t>(n_time), static_cast<std::uint8_t>(n_frequency)};
    plan.n_sample += double(n_time) * n_frequency * double(of.n_channel());
  }
  return true;
}

/// What samples reach. Those of a row are at p (U, V, W) + q (dU, dV, dW), with p and q in a rectangle: its corners
/// reach farthest.
Box samples_of(const UvGridPlan& plan, const Summed& of) {
  const Rows& rows = of.rows;
  const Channels& channels = of.channels;
  double low_hz = std::numeric_limits<double>::infinity(), high_hz = -low_hz;
  for (std::size_t f = 0; f < of.n_channel(); ++f) {
    const double half = rows.is_smeared_in_frequency() ? 0.5 * std::abs(channels.width_hz[f]) : 0;
    low_hz = std::min(low_hz, channels.frequency_hz[f] - half);
    high_hz = std::max(high_hz, channels.frequency_hz[f] + half);
  }
  Box box;
  for (std::size_t r = 0; r < rows.n_row; ++r) {
    const Point at = plan.frame.of_baseline(rows.u[r], rows.v[r], rows.w[r]);
    Point change{{0, 0, 0}};
    if (plan.rows[r].time > 1) change = plan.frame.of_baseline(rows.du[r], rows.dv[r], rows.dw[r]);
    const double half = plan.rows[r].time > 1 ? 0.5 * rows.exposure_s[r] * channels.highest_hz : 0;
    for (const double hz : {low_hz, high_hz})
      for (const double q : {-half, half}) {
        double corner[3];
        for (int i = 0; i < 3; ++i)
          corner[i] = static_cast<double>(hz * at.at[i] + q * change.at[i]) / kSpeedOfLight_m_s;
        box.include(corner);
      }
  }
  return box;
}

/// The same where those with a negative coordinate stand for their opposites. A row may have samples on either side.
Box mirrored(const Box& samples, int axis) {
  Box box;
  for (int i = 0; i < 3; ++i) {
    box.high[i] = std::max(std::abs(samples.low[i]), std::abs(samples.high[i]));
    box.low[i] = i == axis ? 0 : -box.high[i];
  }
  return box;
}

/// The largest and the smallest of the sources' x, y, z.
Box box_of(const UvGridPlan& plan, const Sky<double>& sky) {
  Box box;
  for (std::size_t s = 0; s < sky.n_source; ++s) {
    const Point p = plan.frame.of_direction(sky.l[s], sky.m[s], sky.n_high[s], sky.n_low[s]);
    box.include({static_cast<double>(p.at[0]), static_cast<double>(p.at[1]), static_cast<double>(p.at[2])});
  }
  return box;
}

/// Half of what sources reach and half of what samples reach: how long the axis is. Frequencies stay below
/// kLargestKappa cycles per cell, directions below kLargestKappa cycles per mode.
void set_axis(GridAxis& axis, double sources, double samples, int width) {
  const double beyond = 0.5 * width + 2;  // modes around those that samples reach
  const double needed = sources * samples / (kLargestKappa * kLargestKappa) + (beyond + 1) / kLargestKappa;
  axis.n_cell = needed < double(kLongestLine) ? good_transform_length(static_cast<std::size_t>(std::ceil(needed)))
                                              : 2 * kLongestLine;
  const double kappa = kLargestKappa - beyond / double(axis.n_cell);
  double unit = samples > 0 ? kappa / samples : sources > 0 ? sources / (kLargestKappa * double(axis.n_cell)) : 1;
  axis.cells_per_unit = 1 / unit;
  axis.modes_per_wavelength = unit * double(axis.n_cell);
  const auto cells = static_cast<std::ptrdiff_t>(std::ceil(sources / unit)) + width / 2 + 1;
  axis.first_cell = -cells;
  axis.n_used = static_cast<std::size_t>(2 * cells + 1);
  const auto modes = static_cast<std::ptrdiff_t>(std::ceil(samples * axis.modes_per_wavelength)) + width / 2 + 1;
  axis.first_mode = -modes;
  axis.n_mode = static_cast<std::size_t>(2 * modes + 1) + kCellPad;
}

/// The fewest; 0 if that is too many.
int w_points(double phase_rad, double error) {
  if (!(phase_rad < kMostWPoints)) return 0;  // there are no fewer points than radians
  int too_few = 0, enough = kMostWPoints + 1;
  while (enough - too_few > 1) {
    const int n = (too_few + enough) / 2;
    (w_points_error(n, phase_rad) <= error ? enough : too_few) = n;
  }
  return enough <= kMostWPoints ? enough : 0;
}

/// By how much the largest error at Chebyshev points may grow between them (Trefethen 2013, theorem 15.2).
double lebesgue(int n) { return 2 / kPi * std::log(double(n)) + 1; }

/// Of phases and positions, in radians: they are worked out in long double from numbers that are exact.
double phase_rounding(const UvGridPlan& plan, const Summed& of) {
  double path = 0, turns = 0;
  for (std::size_t r = 0; r < of.rows.n_row; ++r)
    keep_larger(path, of.sky.extent.bound(of.rows.u[r], of.rows.v[r], of.rows.w[r]));
  for (int i = 0; i < 3; ++i)
    turns += std::max(std::abs(plan.samples.low[i]), std::abs(plan.samples.high[i])) * plan.sources.half(i);
  constexpr auto kEpsilon = static_cast<double>(std::numeric_limits<long double>::epsilon());
  return 16 * kPi * kEpsilon * (path * of.channels.highest_hz / kSpeedOfLight_m_s + turns);
}

/// Whether samples are mirrored: such that the grid is smallest.
void choose_mirror(UvGridPlan& plan) {
  const Box all = plan.samples;
  const auto cells = [&](const Box& samples) {
    double product = 1;
    for (int i = 0; i < 2; ++i)
      product *= plan.sources.half(i) * samples.half(i) / (kLargestKappa * kLargestKappa) + 64;
    return product;
  };
  for (int axis = 0; axis < 2; ++axis) {
    const Box box = mirrored(all, axis);
    if (cells(box) < cells(plan.samples)) plan.samples = box, plan.mirror = axis;
  }
}

/// Of grids, with a kernel of some width on both axes, as a fraction of the total flux.
double grid_error(const GriddingKernel& kernel, int n_w) {
  const double one = two_step_bound(kernel);
  return (one * (2 + one) + kRounding * std::pow(kernel.growth, 4)) * lebesgue(n_w);
}

}  // namespace

double w_points_error(int n, double phase_rad) {
  double error = 0;
  // From j = 2 phase on each term is less than half the one before.
  const int last = n + static_cast<int>(2 * phase_rad) + 60;
  for (int j = n; j <= last; ++j) error += 4 * std::abs(std::cyl_bessel_j(double(j), phase_rad));
  return error;
}

UvGridPlan plan_uv_grid(const Summed& of, double tolerance, double worth_seconds) {
  const auto& [sky, channels, rows, jones, owner, version, ends] = of;
  UvGridPlan plan;
  if (jones.n_pair > 0) plan.obstacle = "there are Jones terms";
  if (sky.n_point < sky.n_source) plan.obstacle = "there are sources with a shape";
  if (sky.n_source == 0 || rows.n_row == 0 || of.n_channel() == 0) plan.obstacle = "there is nothing to sum up";
  if (!plan.obstacle.empty() || !plan_nodes(plan, of, kExposureShare * tolerance)) return plan;
  plan.frame = frame_of(sky, rows);
  plan.sources = box_of(plan, sky);
  plan.samples = samples_of(plan, of);
  plan.bound = phase_rounding(plan, of);
  if (!std::isfinite(plan.bound)) {
    plan.obstacle = "baselines or directions are not finite";
    return plan;
  }
  plan.sky = expand_sky(sky, kSeriesShare * tolerance, worth_seconds);
  plan.obstacle = plan.sky.obstacle;
  if (!plan.obstacle.empty()) return plan;
  if (plan.sky.planes.empty()) {
    plan.obstacle = "there is nothing to sum up";
    return plan;
  }
  plan.bound += plan.sky.series_error + (2 * kExposureShare + kWShare) * tolerance;
  if (plan.sky.stokes) choose_mirror(plan);
  plan.n_w = w_points(2 * kPi * plan.samples.half(2) * plan.sources.half(2), kWShare * tolerance);
  if (plan.n_w == 0) {
    plan.obstacle = "the field is too wide for baselines so far from a plane";
    return plan;
  }
  for (int width = 4; width <= kMaxKernelWidth && plan.kernel == nullptr; width += 2)
    if (plan.bound + grid_error(gridding_kernel(width), plan.n_w) <= tolerance) plan.kernel = &gridding_kernel(width);
  if (plan.kernel == nullptr) {
    plan.obstacle = "the tolerance is beyond its kernels";
    return plan;
  }
  plan.bound += grid_error(*plan.kernel, plan.n_w);
  for (int i = 0; i < 2; ++i) set_axis(plan.axis[i], plan.sources.half(i), plan.samples.half(i), plan.kernel->width);
  if (std::max(plan.axis[0].n_cell, plan.axis[1].n_cell) > kLongestLine ||
      sizeof(Complex<double>) * (plan.grid_size() + plan.axis[1].n_used * plan.axis[0].n_mode) > kLargestGridBytes)
    plan.obstacle = "the grid would be too large for so wide a field and so long baselines";
  return plan;
}

}  // namespace rimetree::psv::uv_grid
