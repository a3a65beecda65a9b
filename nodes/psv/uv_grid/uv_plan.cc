// Plans the uv-grid method: how large the grids are, how many, how wide the kernel, how exact it all is.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "nodes/psv/part_of_sky.h"
#include "nodes/psv/uv_grid/accuracy.h"
#include "nodes/psv/uv_grid/uv_grid.h"
#include "runtime/core/values/largest_error.h"
#include "runtime/math/conventions.h"

namespace rimetree::psv::uv_grid {
namespace {

// What series and each mean may take of the tolerance; their errors fall quickly with one more term. Grids get what is
// left.
constexpr double kSeriesShare = 0.01, kMeansShare = 0.005;
constexpr double kLeastSeconds = 1e-3;       ///< that grids take on one core
constexpr double kLeastGridSeconds = 1e-7;   ///< that one takes per source
constexpr std::size_t kLongestLine = 65536;  ///< cells
constexpr std::size_t kLargestGridBytes = std::size_t{4} << 30;

/// What samples reach. Those of a row are at p (U, V, W) + q (dU, dV, dW), with p and q in a rectangle: its corners
/// reach farthest.
Box samples_of(const UvGridPlan& plan, const Summed& of) {
  const Rows& rows = of.rows;
  Box box;
  for (std::size_t r = 0; r < rows.n_row; ++r) {
    const Point at = plan.frame.of_baseline(rows.u[r], rows.v[r], rows.w[r]);
    Point change{{0, 0, 0}};
    const bool smeared = plan.means.is_smeared_in_time(plan.means.rows[r]);
    if (smeared) change = plan.frame.of_baseline(rows.du[r], rows.dv[r], rows.dw[r]);
    const double half = smeared ? 0.5 * rows.exposure_s[r] * plan.means.highest_hz : 0;
    for (const double hz : {plan.means.low_hz, plan.means.high_hz})
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
  const double unit = samples > 0 ? kappa / samples : sources > 0 ? sources / (kLargestKappa * double(axis.n_cell)) : 1;
  axis.cells_per_unit = 1 / unit;
  axis.modes_per_wavelength = unit * double(axis.n_cell);
  const auto cells = static_cast<std::ptrdiff_t>(std::ceil(sources / unit)) + width / 2 + 1;
  axis.first_cell = -cells;
  axis.n_used = static_cast<std::size_t>(2 * cells + 1);
  const auto modes = static_cast<std::ptrdiff_t>(std::ceil(samples * axis.modes_per_wavelength)) + width / 2 + 1;
  axis.first_mode = -modes;
  axis.n_mode = static_cast<std::size_t>(2 * modes + 1) + kCellPad;
}

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

/// What stands in the way of any sum on grids.
std::string obstacle_of(const Summed& of, double worth_seconds) {
  if (of.jones.n_pair > 0) return "there are Jones terms";
  if (of.sky.n_point == 0 || of.rows.n_row == 0 || of.n_channel() == 0) return "there is nothing to sum up";
  if (worth_seconds < kLeastSeconds) return "there is too little to sum up";
  return "";
}

/// Of points only: samples, and what they and the sources reach. Rounding is all of the bound then.
void place_all(UvGridPlan& plan, const Summed& of, double tolerance, double worth_seconds) {
  plan.means = plan_means(of, kMeansShare * tolerance, worth_seconds);
  plan.obstacle = plan.means.obstacle;
  if (!plan.obstacle.empty()) return;
  plan.frame = frame_of(of.sky, of.rows);
  plan.sources = box_of(plan, of.sky);
  plan.samples = samples_of(plan, of);
  plan.bound = phase_rounding(plan, of) + plan.means.error;
  if (!std::isfinite(plan.bound)) plan.obstacle = "baselines or directions are not finite";
}

/// The axes, once kernels are chosen.
void set_axes(UvGridPlan& plan) {
  for (int i = 0; i < 2; ++i) set_axis(plan.axis[i], plan.sources.half(i), plan.samples.half(i), plan.widest().width);
  if (std::max(plan.axis[0].n_cell, plan.axis[1].n_cell) > kLongestLine ||
      sizeof(Complex<double>) * (plan.grid_size() + plan.axis[1].n_used * plan.axis[0].n_mode) > kLargestGridBytes)
    plan.obstacle = "the grid would be too large for so wide a field and so long baselines";
}

void choose_fluxes(UvGridPlan& plan, const Sky<double>& sky, double tolerance, double worth_seconds) {
  plan.sky = expand_sky(sky, kSeriesShare * tolerance, worth_seconds);
  plan.obstacle = plan.sky.obstacle;
  plan.is_empty = plan.obstacle.empty() && plan.sky.planes.empty();
  if (plan.is_empty) plan.obstacle = "there is nothing to sum up";
  if (!plan.obstacle.empty()) return;
  plan.bound += plan.sky.series_error;
  if (plan.sky.stokes) choose_mirror(plan);
  plan.bound += choose_grids(plan, sky.total_flux, tolerance - plan.bound);
}

void choose_moves(UvGridPlan& plan, const Sky<double>& sky, double tolerance, double worth_seconds) {
  plan.sky = expand_moves(sky, kSeriesShare * tolerance, worth_seconds);
  plan.obstacle = plan.sky.obstacle;
  if (!plan.obstacle.empty()) return;
  plan.bound += plan.sky.series_error;
  if (plan.sky.stokes) choose_mirror(plan);
  plan.bound += choose_grids_in_reverse(plan, tolerance - plan.bound);
}

/// Plans one way, there or back.
class Planner {
 public:
  Planner(bool in_reverse, double tolerance) : in_reverse_(in_reverse), tolerance_(tolerance) {}

  /// Of all sources.
  UvGridPlan plan(const Summed& of, double worth_seconds) const {
    const Sky<double>& sky = of.sky;
    if (sky.n_point == sky.n_source) return plan_points(of, worth_seconds);
    UvGridPlan plan;
    plan.obstacle = obstacle_of(of, worth_seconds);
    if (!plan.obstacle.empty()) return plan;
    const Sky<double> points = part_of_sky(sky, 0, sky.n_point);
    plan = plan_points({points, of.channels, of.rows, of.jones}, worth_seconds);
    if (!plan.obstacle.empty()) return plan;
    plan.others = part_of_sky(sky, sky.n_point, sky.n_source);
    plan.bound = std::max(plan.bound, kSmallestTolerance);
    return plan;
  }

 private:
  UvGridPlan plan_points(const Summed& of, double worth_seconds) const {
    UvGridPlan plan;
    plan.obstacle = obstacle_of(of, worth_seconds);
    if (plan.obstacle.empty()) place_all(plan, of, tolerance_, worth_seconds);
    if (plan.obstacle.empty()) (in_reverse_ ? choose_moves : choose_fluxes)(plan, of.sky, tolerance_, worth_seconds);
    if (plan.obstacle.empty()) set_axes(plan);
    return plan.sky.in_parts ? plan_parts(of, worth_seconds) : plan;
  }

  /// The band in two parts, which are divided further if need be.
  UvGridPlan plan_parts(const Summed& of, double worth_seconds) const {
    UvGridPlan all;
    const std::size_t middle = split_of_band(of.sky, in_reverse_), n_channel = of.n_channel();
    for (const auto& [begin, end] : {std::pair(std::size_t{0}, middle), std::pair(middle, n_channel)}) {
      const Sky<double> sky = part_of_band(of.sky, begin, end);
      Channels channels =
          analyse_channels(of.channels.frequency_hz.data() + begin, of.channels.width_hz.data() + begin, end - begin);
      UvGridPlan plan = plan_points({sky, channels, of.rows, of.jones}, worth_seconds);
      all.bound = std::max(all.bound, plan.bound);
      if (plan.is_empty) continue;  // as most of the band of a line
      all.obstacle = plan.obstacle;
      if (!all.obstacle.empty()) return all;
      std::vector<PartOfBand> parts = std::move(plan.parts);
      if (parts.empty()) parts.push_back({0, std::move(channels), std::move(plan)});
      for (PartOfBand& part : parts) {
        worth_seconds -= kLeastGridSeconds * double(part.plan.grids.size() * sky.n_source);
        part.begin += begin;
        all.parts.push_back(std::move(part));
      }
      if (worth_seconds >= 0) continue;
      all.obstacle = "the spectra need too many grids for so little to sum up";
      break;
    }
    all.is_empty = all.parts.empty();
    if (all.is_empty) all.obstacle = "there is nothing to sum up";
    return all;
  }

  bool in_reverse_;
  double tolerance_;
};

}  // namespace

UvGridPlan plan_uv_grid(const Summed& of, double tolerance, double worth_seconds) {
  return Planner(false, tolerance).plan(of, worth_seconds);
}

UvGridPlan plan_uv_grid_reverse(const Summed& of, double tolerance, double worth_seconds) {
  return Planner(true, tolerance).plan(of, worth_seconds);
}

UvGridPlan typical_uv_grid(const Sky<double>& like, const UvGridSize& size, double tolerance) {
  constexpr std::size_t kCells = 4096;
  UvGridPlan plan;
  plan.sky = expand_sky(like, kSeriesShare * tolerance, std::numeric_limits<double>::infinity());
  plan.sky.n_source = size.n_source;
  plan.obstacle = plan.sky.obstacle;
  if (plan.obstacle.empty()) {
    for (const double side : {-0.06, 0.06}) {
      plan.sources.include({side, side, side});
      plan.samples.include({side, side, side});
    }
    std::vector<double> flux;
    for (std::size_t p = 0; p < plan.sky.planes.size(); ++p)
      for (std::size_t j = 0; j < plan.sky.n_term; ++j)
        flux.push_back((p == 0 ? 1 : 0.1) * std::pow(1.0 / 30, double(j)));
    choose_grids_for(plan, flux, tolerance);
  }
  for (GridAxis& axis : plan.axis) {
    axis.n_cell = kCells;
    axis.n_used = axis.n_mode = static_cast<std::size_t>(2 * kLargestKappa * double(kCells));
  }
  plan.axis[0].n_mode /= 2;  // half of the plane is enough
  const double exposure = size.smearing ? 8 : 1, n_channel = double(size.n_channel);
  plan.means.n_sample = double(size.n_row) * exposure * std::min(60.0, n_channel);
  plan.means.n_product = double(size.n_row) * exposure * 60 * n_channel;
  plan.bound = tolerance;
  return plan;
}

}  // namespace rimetree::psv::uv_grid
