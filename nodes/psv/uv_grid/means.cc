#include "nodes/psv/uv_grid/means.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "nodes/psv/exposure_rule.h"
#include "nodes/psv/uv_grid/points.h"
#include "runtime/math/conventions.h"

namespace rimetree::psv::uv_grid {
namespace {

/// By how much phases may turn over half a segment of the band, radians.
constexpr double kLongestPhase = 48;
/// What a sample takes at least, in seconds of one core; and how many rows tell how many there will be.
constexpr double kSampleSeconds = 1.5e-7;
constexpr std::size_t kProbedRows = 64;

/// The fewest nodes of a rule whose error is at most so much for a phase that changes by 2 `half_change`; 0: too many.
int nodes_for(double half_change, const double (&limit)[kMaxExposureNodes]) {
  for (int n = 1; n <= kMaxExposureNodes; ++n)
    if (half_change <= limit[n - 1]) return n;
  return 0;
}

/// The band in so many segments of about the same length; fewer where it has gaps.
std::vector<Segment> segments_of(const CellMeans& means, const Channels& channels, double wanted) {
  if (wanted == 1) return {{0, means.order.size(), means.low_hz, means.high_hz}};
  const double length_hz = (means.high_hz - means.low_hz) / wanted;
  std::vector<Segment> segments;
  for (std::size_t k = 0; k < means.order.size(); ++k) {
    const std::size_t f = means.order[k];
    const double nu = channels.frequency_hz[f], half = means.half_width_hz[f];
    if (segments.empty() || nu - segments.back().low_hz > length_hz) segments.push_back({k, k, nu - half, nu + half});
    Segment& last = segments.back();
    last.end = k + 1;
    last.low_hz = std::min(last.low_hz, nu - half);
    last.high_hz = std::max(last.high_hz, nu + half);
  }
  return segments;
}

/// For phases of a step over half the band, without shares.
BandPoints band_points(const CellMeans& means, const Channels& channels, int step, double error) {
  BandPoints points;
  const int longer = std::max(0, step - step_of(kLongestPhase));
  points.segments = segments_of(means, channels, std::ceil(std::exp2(0.5 * longer)));  // two steps are an octave
  const double whole_hz = means.high_hz - means.low_hz;
  if (!(whole_hz > 0)) return points;
  double longest_hz = 0;
  for (const Segment& segment : points.segments) longest_hz = std::max(longest_hz, segment.high_hz - segment.low_hz);
  points.n_point = points_of_step(step + static_cast<int>(std::ceil(2 * std::log2(longest_hz / whole_hz))), error);
  return points;
}

/// By how much errors of samples grow in means over the exposure.
double exposure_growth(const ExposurePoints& points, double lowest_part) {
  const Points polynomials(points.n_point);
  double growth = 0, share[kMostPoints];
  for (int i = 0; i <= 8; ++i) {
    polynomials.mean_shares(0, lowest_part + (1 - lowest_part) * i / 8, points.n_node, share);
    double sum = 0;
    for (int k = 0; k < points.n_point; ++k) sum += std::abs(share[k]);
    growth = std::max(growth, sum);
  }
  return growth;
}

/// Whether rows take these points of the band.
bool is_used(const CellMeans& means, int step) {
  return std::ranges::any_of(means.rows, [step](const RowMeans& row) { return row.by_points && row.band == step; });
}

class MeansPlanner {
 public:
  MeansPlanner(const Summed& of, double error) : of_(of), error_(error) {
    for (int n = 1; n <= kMaxExposureNodes; ++n) limit_[n - 1] = exposure_rule_limit(n, error);
    const Channels& channels = of.channels;
    means_.order.resize(of.n_channel());
    std::iota(means_.order.begin(), means_.order.end(), 0u);
    const auto is_lower = [&](std::uint32_t a, std::uint32_t b) {
      return channels.frequency_hz[a] < channels.frequency_hz[b];
    };
    if (!std::ranges::is_sorted(means_.order, is_lower)) std::ranges::stable_sort(means_.order, is_lower);
    means_.low_hz = std::numeric_limits<double>::infinity(), means_.high_hz = -means_.low_hz;
    means_.highest_hz = channels.highest_hz;
    for (std::size_t f = 0; f < of.n_channel(); ++f) {
      const double half = of.rows.is_smeared_in_frequency() ? 0.5 * std::abs(channels.width_hz[f]) : 0;
      means_.half_width_hz.push_back(half);
      widest_hz_ = std::max(widest_hz_, 2 * half);
      means_.low_hz = std::min(means_.low_hz, channels.frequency_hz[f] - half);
      means_.high_hz = std::max(means_.high_hz, channels.frequency_hz[f] + half);
      lowest_part_ = std::min(lowest_part_, std::abs(channels.frequency_hz[f]) / channels.highest_hz);
    }
  }

  CellMeans go(double worth_seconds) {
    if (!(means_.highest_hz > 0)) means_.obstacle = "frequencies are not positive";
    const std::size_t n_row = of_.rows.n_row;
    means_.rows.resize(n_row);
    const std::size_t every = (n_row + kProbedRows - 1) / kProbedRows;
    plan_rows(every);
    if (means_.n_sample * double(every) * kSampleSeconds > worth_seconds)
      means_.obstacle = "it would need too many samples for so little to sum up";
    means_.n_sample = means_.n_product = 0;
    plan_rows(1);
    means_.growth = band_growth_ * exposure_growth_;
    means_.error = error_ * (2 + band_growth_ + exposure_growth_);
    count_shares();
    return std::move(means_);
  }

 private:
  void count_shares() {
    for (const auto& [step, band] : means_.bands)
      if (is_used(means_, step)) means_.n_share += double(means_.order.size()) * band.n_point * band.n_node;
    for (const auto& [step, points] : means_.exposures)
      means_.n_share += double(means_.order.size()) * points.n_point * points.n_node;
  }
  void plan_rows(std::size_t every) {
    for (std::size_t r = 0; r < of_.rows.n_row && means_.obstacle.empty(); r += every) plan_row(r);
  }
  void plan_row(std::size_t r) {
    const Rows& rows = of_.rows;
    const double path = of_.sky.extent.bound(rows.u[r], rows.v[r], rows.w[r]);
    double change = 0;
    if (rows.is_smeared_in_time())
      change = of_.sky.extent.bound_of_change(rows.du[r], rows.dv[r], rows.dw[r], rows.exposure_s[r]);
    if (!std::isfinite(path + change)) {
      means_.obstacle = "baselines or directions are not finite";
      return;
    }
    constexpr double kPerMetre = kPi / kSpeedOfLight_m_s;
    const double time = kPerMetre * change * means_.highest_hz;
    const int n_time = nodes_for(time, limit_), n_frequency = nodes_for(kPerMetre * path * widest_hz_, limit_);
    RowMeans& row = means_.rows[r];
    row.n_time = static_cast<std::uint8_t>(n_time), row.n_frequency = static_cast<std::uint8_t>(n_frequency);
    row.band = static_cast<std::int16_t>(step_of(kPerMetre * path * (means_.high_hz - means_.low_hz)));
    row.exposure = static_cast<std::int16_t>(time > 0 ? step_of(time) : kNoChange);
    const BandPoints& band = band_of(row.band);
    const ExposurePoints& exposure = exposure_of(row.exposure);
    const double n_channel = double(of_.n_channel()), by_rules = n_channel * n_time * n_frequency;
    const double by_points = double(band.segments.size()) * band.n_point * exposure.n_point;
    if (by_rules == 0 && by_points == 0) {
      means_.obstacle = "phases of some baselines turn too far within a cell";
      return;
    }
    row.by_points = by_points > 0 && (by_rules == 0 || by_points < by_rules);
    means_.n_sample += row.by_points ? by_points : by_rules;
    if (!row.by_points) return;
    means_.n_product += n_channel * band.n_point * exposure.n_point;
    band_growth_ = std::max(band_growth_, growth_between(band.n_point));
    exposure_growth_ = std::max(exposure_growth_, exposure.growth);
  }
  const BandPoints& band_of(int step) {
    const auto [at, is_new] = means_.bands.try_emplace(step);
    if (!is_new) return at->second;
    BandPoints& points = at->second = band_points(means_, of_.channels, step, error_);
    const double whole_hz = means_.high_hz - means_.low_hz;
    points.n_node = whole_hz > 0 ? nodes_for(phase_of_step(step) * widest_hz_ / whole_hz, limit_) : 1;
    if (points.n_node == 0) points.n_point = 0;
    return points;
  }
  const ExposurePoints& exposure_of(int step) {
    const auto [at, is_new] = means_.exposures.try_emplace(step);
    ExposurePoints& points = at->second;
    if (is_new && step != kNoChange) {
      points.n_point = points_of_step(step, error_);
      points.n_node = nodes_for(phase_of_step(step), limit_);
      if (points.n_node == 0) points.n_point = 0;
      if (points.n_point > 0) points.growth = exposure_growth(points, lowest_part_);
    }
    return points;
  }

  static constexpr int kNoChange = -1;
  const Summed& of_;
  double error_, limit_[kMaxExposureNodes], widest_hz_ = 0, lowest_part_ = 1;
  double band_growth_ = 1, exposure_growth_ = 1;
  CellMeans means_;
};

}  // namespace

CellMeans plan_means(const Summed& of, double error, double worth_seconds) {
  return MeansPlanner(of, error).go(worth_seconds);
}

void finish_means(CellMeans& means, const Channels& channels) {
  const std::size_t n_channel = means.order.size();
  means.stride = (n_channel + 15) / 8 * 8;
  double share[kMostPoints];
  const auto keep = [&](std::vector<double>& to, std::size_t k, int n) {
    for (int i = 0; i < n; ++i) to[static_cast<std::size_t>(i) * means.stride + k] = share[i];
  };
  for (auto& [step, band] : means.bands) {
    if (!is_used(means, step)) continue;
    band.share.resize(static_cast<std::size_t>(band.n_point) * means.stride);
    const Points points(band.n_point);
    band.at.assign(points.at, points.at + points.n);
    for (const Segment& segment : band.segments) {
      const double middle = 0.5 * segment.low_hz + 0.5 * segment.high_hz;
      const double half = 0.5 * (segment.high_hz - segment.low_hz), per_hz = half > 0 ? 1 / half : 0;
      for (std::size_t k = segment.begin; k < segment.end; ++k) {
        const std::size_t f = means.order[k];
        points.mean_shares((channels.frequency_hz[f] - middle) * per_hz, means.half_width_hz[f] * per_hz, band.n_node,
                           share);
        keep(band.share, k, band.n_point);
      }
    }
  }
  for (auto& [step, exposure] : means.exposures) {
    exposure.share.resize(static_cast<std::size_t>(exposure.n_point) * means.stride);
    const Points points(exposure.n_point);
    exposure.at.assign(points.at, points.at + points.n);
    for (std::size_t k = 0; k < n_channel; ++k) {
      points.mean_shares(0, std::abs(channels.frequency_hz[means.order[k]]) / means.highest_hz, exposure.n_node, share);
      keep(exposure.share, k, exposure.n_point);
    }
  }
}

}  // namespace rimetree::psv::uv_grid
