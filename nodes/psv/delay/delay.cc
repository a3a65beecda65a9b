// Plans the delay method: is the band regular, which grids are needed, how wide a kernel, which step for which row.
#include "nodes/psv/delay/delay.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/math/conventions.h"

namespace rimetree::psv::delay {
namespace {

// What series and rules may take of the tolerance; their errors fall quickly with one more term. The kernel, whose
// error falls in coarse steps of its width, gets what is left.
constexpr double kSeriesShare = 0.01, kTaperShare = 0.01, kExposureShare = 0.005;
/// Rounding in double precision: of phases and positions (1e-15 each), and of the transform, which grows by up to
/// GriddingKernel::growth twice.
constexpr double kRounding = 5e-14;

/// |u l + v m + w (n - 1)| at most over the exposure, and the share of the change.
struct RowReach {
  double path = 0;    ///< metres, at any moment of the exposure
  double change = 0;  ///< metres over the exposure
};

RowReach reach_of(const Rows& rows, std::size_t i, const Extent& extent) {
  RowReach reach;
  if (rows.is_smeared_in_time())
    reach.change = extent.bound_of_change(rows.du[i], rows.dv[i], rows.dw[i], rows.exposure_s[i]);
  reach.path = extent.bound(rows.u[i], rows.v[i], rows.w[i]) + 0.5 * reach.change;
  return reach;
}

/// The largest along^2 + across^2 of baselines of unit length: the larger eigenvalue of the products of both axes.
double largest_square(const ShapeAxes<double>& axes) {
  const auto product = [](const double(&a)[3], const double(&b)[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; };
  const double p = product(axes.major, axes.major), q = product(axes.minor, axes.minor);
  return 0.5 * (p + q) + std::hypot(0.5 * (p - q), product(axes.major, axes.minor));
}

/// How many terms the tapers of one profile's sources need on each row. Rows are many and the bound is slow to find, so
/// that rows with nearly the same largest X of the tapers G(X nu^2) share it: that of the largest X among them, which
/// serves them all.
class TaperTerms {
 public:
  TaperTerms(const SeriesSky& sky, const AlikeSources& sources, const Band& band, double error)
      : profile_(sources.profile), band_(band), error_(error) {
    double widest = 0;
    for (std::size_t i = sources.begin - sky.n_point; i < sources.end - sky.n_point; ++i) {
      const ShapeAxes<double>& axes = sky.axes[i];
      widest = std::max(widest, largest_square(axes));
      sees_w_ = sees_w_ || axes.major[2] != 0 || axes.minor[2] != 0;
    }
    scale_ = argument_scale(profile_) * widest;
  }
  /// 0 if there is no short series.
  int of(double u, double v, double w) {
    const double x = scale_ * (u * u + v * v + (sees_w_ ? w * w : 0));
    if (x == 0) return 1;
    if (!std::isfinite(x)) return 0;
    const int step = static_cast<int>(std::ceil(kStepsPerOctave * std::log2(x)));
    const auto [it, inserted] = known_.try_emplace(step);
    if (inserted)
      it->second = taper_terms(profile_, std::exp2(step / kStepsPerOctave), band_.low_hz, band_.high_hz, error_);
    return it->second;
  }

 private:
  static constexpr double kStepsPerOctave = 16;
  Profile profile_;
  const Band& band_;
  double error_, scale_ = 0;
  bool sees_w_ = false;
  std::map<int, int> known_;  // by logarithm of X
};
/// The most of all profiles; 0 if one of them has no short series.
int most_terms(std::vector<TaperTerms>& of_profile, double u, double v, double w) {
  int most = 1;
  for (TaperTerms& terms : of_profile) {
    const int needed = terms.of(u, v, w);
    if (needed == 0) return 0;
    most = std::max(most, needed);
  }
  return most;
}

/// The fewest nodes of the exposure's rule for each row, and the largest error of all rows.
class ExposureNodes {
 public:
  explicit ExposureNodes(double error) {
    for (int n = 1; n <= kMaxExposureNodes; ++n) limit_[n - 1] = exposure_rule_limit(n, error);
  }
  /// `half_change`: of the phase over the exposure, radians. The most there are if even these are too few.
  int of(double half_change) {
    int n = 1;
    while (n < kMaxExposureNodes && !(half_change <= limit_[n - 1])) ++n;
    largest_[n - 1] = std::max(largest_[n - 1], half_change);
    enough_ = enough_ && half_change <= limit_[n - 1];
    return n;
  }
  bool enough() const { return enough_; }
  double largest_error() const {
    double error = 0;
    for (int n = 1; n <= kMaxExposureNodes; ++n) error = std::max(error, exposure_rule_error(n, largest_[n - 1]));
    return error;
  }

 private:
  double limit_[kMaxExposureNodes], largest_[kMaxExposureNodes] = {};
  bool enough_ = true;
};

DoubleDouble<double> times(DoubleDouble<double> a, double b) {
  const DoubleDouble<double> p = exact::product(a.hi, b);
  return exact::sum(p.hi, p.lo + a.lo * b);
}

/// The largest D at which these delays (turns per channel) can be interpolated.
int sampling_of(double turns, std::size_t n_channel) {
  int sampling = 0;
  for (std::size_t step = 2; step <= kLargestStep && 8 * step <= n_channel && turns * double(step) <= kLargestKappa;
       step *= 2)
    ++sampling;
  return sampling;
}

Sampling outline(std::size_t step, std::size_t n_channel, int width) {
  Sampling sampling;
  sampling.step = step;
  sampling.block = step == 1 ? 1 : std::max<std::size_t>(step, 16);
  sampling.middle = n_channel / 2 / sampling.block * sampling.block;
  const std::size_t n_block = (n_channel + sampling.block - 1) / sampling.block;
  sampling.n_window = step == 1 ? 1 : static_cast<std::size_t>(width) + sampling.block / step - 1;
  sampling.first_mode = -static_cast<std::ptrdiff_t>(sampling.middle / step) - (step == 1 ? 0 : width / 2 - 1);
  sampling.n_sample = (n_block - 1) * (sampling.block / step) + sampling.n_window;
  return sampling;
}

/// Cells of the transform: enough for the kernel to serve all modes.
std::size_t transform_length(const Sampling& sampling) {
  const std::ptrdiff_t last = sampling.first_mode + static_cast<std::ptrdiff_t>(sampling.n_sample) - 1;
  const auto largest = static_cast<std::size_t>(std::max(std::abs(sampling.first_mode), std::abs(last)));
  return good_transform_length(
      std::max<std::size_t>(64, static_cast<std::size_t>(std::ceil(double(largest) / kLargestKappa))));
}

void finish_sampling(Sampling& sampling, const Band& band, const GriddingKernel& kernel) {
  const std::size_t n_cell = transform_length(sampling);
  sampling.transform = FourierTransform::of_length(n_cell);
  const DoubleDouble<double> light{kSpeedOfLight_m_s, 0.0};
  const DoubleDouble<double> gone = times(band.spacing_hz, double(sampling.middle));
  DoubleDouble<double> k0_hz = exact::sum(band.first_hz, gone.hi);
  k0_hz.lo += gone.lo;
  sampling.k0 = exact::quotient(k0_hz, light);
  // A path of p metres is p spacing/c turns per channel; with M cells for one turn per D channels, M D times as many.
  sampling.cells_per_metre = times(exact::quotient(band.spacing_hz, light), double(n_cell * sampling.step));

  sampling.correction.resize(sampling.n_sample);
  for (std::size_t i = 0; i < sampling.n_sample; ++i) {
    // The grid is stored with delay zero in its middle: half a turn per mode.
    const std::ptrdiff_t mode = sampling.first_mode + static_cast<std::ptrdiff_t>(i);
    const long double kappa = static_cast<long double>(mode) / static_cast<long double>(n_cell);
    sampling.correction[i] = static_cast<double>((mode % 2 == 0 ? 1 : -1) / kernel.transform(kappa));
  }
  if (sampling.step == 1) return;
  sampling.window.assign(sampling.n_window * sampling.block, 0.0);
  for (std::size_t channel = 0; channel < sampling.block; ++channel)
    for (int j = 0; j < kernel.width; ++j) {
      const long double x =
          static_cast<long double>(channel % sampling.step) / sampling.step - (j - kernel.width / 2 + 1);
      sampling.window[(channel / sampling.step + j) * sampling.block + channel] = static_cast<double>(kernel.value(x));
    }
}

/// What each row needs; `irregular` is what comes of frequencies and widths that miss the regular grid, as a fraction
/// of the flux: the phase, in radians, smearing, and the change of tapers. False where a row cannot be done.
bool plan_rows(DelayPlan& plan, const Extent& extent, const Rows& rows, double tolerance, double& irregular) {
  const Band& band = plan.band;
  ExposureNodes exposure_nodes(kExposureShare * tolerance);
  double turned = 0;   // by how much phases miss those of the regular grid, radians
  double smeared = 0;  // by how much smearing misses that over each channel's own width
  std::vector<TaperTerms> tapers;
  for (const AlikeSources& sources : plan.sky.alike)
    if (sources.profile != kPoint) tapers.emplace_back(plan.sky, sources, band, kTaperShare * tolerance);
  plan.rows.resize(rows.n_row);
  for (std::size_t i = 0; i < rows.n_row; ++i) {
    DelayRow& row = plan.rows[i];
    const RowReach reach = reach_of(rows, i, extent);
    if (!std::isfinite(reach.path)) {
      plan.obstacle = "baselines or directions are not finite";
      return false;
    }
    turned = std::max(turned, 2 * kPi * reach.path * band.largest_residual);
    if (rows.is_smeared_in_frequency())
      smeared = std::max(smeared, smearing_error(band.largest_width_error, reach.path));
    row.sampling = static_cast<std::uint8_t>(
        sampling_of(reach.path * std::abs(band.spacing_hz.hi) / kSpeedOfLight_m_s, band.n_channel));
    row.n_node = static_cast<std::uint8_t>(exposure_nodes.of(kPi * reach.change * band.high_hz / kSpeedOfLight_m_s));
    if (plan.sky.n_point < plan.sky.n_source) {
      const int terms = most_terms(tapers, rows.u[i], rows.v[i], rows.w[i]);
      plan.n_term = std::max(plan.n_term, plan.sky.n_term + static_cast<std::size_t>(terms) - 1);
      if (terms == 0 || plan.n_term > static_cast<std::size_t>(kMaxTerms)) {
        plan.obstacle = "tapers of extended sources change too much over the band for a short series";
        return false;
      }
      row.n_taper_term = static_cast<std::uint8_t>(terms);
      plan.bound = kTaperShare * tolerance;
    }
  }
  if (!exposure_nodes.enough()) plan.obstacle = "phases turn too far within an exposure";
  irregular = turned + smeared;
  // A taper G(X nu^2) changes by 2 x G'(x) times the relative change of frequency.
  if (!tapers.empty()) irregular += 2 * kSteepestTaper * band.largest_residual * kSpeedOfLight_m_s / band.low_hz;
  plan.bound += exposure_nodes.largest_error() + irregular;
  return plan.obstacle.empty();
}

}  // namespace

Band analyse_band(const Channels& c) {
  Band band;
  const std::vector<double>& nu = c.frequency_hz;
  band.n_channel = nu.size();
  if (nu.size() < 2) {
    band.obstacle = "there are too few channels";
    return band;
  }
  band.first_hz = nu.front();
  band.width_hz = std::abs(c.width_hz.front());
  band.low_hz = std::min(nu.front(), nu.back());
  band.high_hz = std::max(nu.front(), nu.back());
  band.spacing_hz =
      exact::quotient(exact::sum(nu.back(), -nu.front()), DoubleDouble<double>{double(nu.size() - 1), 0.0});
  for (std::size_t k = 0; k < nu.size(); ++k) {
    const DoubleDouble<double> gone = times(band.spacing_hz, double(k)), come = exact::sum(nu[k], -band.first_hz);
    const double residual = ((come.hi - gone.hi) + (come.lo - gone.lo)) / kSpeedOfLight_m_s;
    band.largest_residual = std::max(band.largest_residual, std::abs(residual));
    const double width_error = std::abs(std::abs(c.width_hz[k]) - band.width_hz);
    band.largest_width_error = std::max(band.largest_width_error, width_error);
    if (!(width_error <= kRoundedHz * c.highest_hz)) band.obstacle = "the channels are not all of one width";
  }
  if (!(band.low_hz > 0)) band.obstacle = "frequencies are not positive";
  if (!(band.largest_residual * kSpeedOfLight_m_s < 1e-3 * std::abs(band.spacing_hz.hi)))
    band.obstacle = "the channels are not regularly spaced";
  return band;
}

DelayPlan plan_delay(const Summed& of, double tolerance, double worth_seconds) {
  const auto& [sky, channels, rows, jones, owner, version, ends] = of;
  DelayPlan plan;
  plan.band = analyse_band(channels);
  plan.obstacle = plan.band.obstacle;
  if (jones.n_pair > 0) plan.obstacle = "there are Jones terms";
  if (!plan.obstacle.empty()) return plan;
  plan.sky = expand_sky(sky, kSeriesShare * tolerance, worth_seconds);
  plan.obstacle = plan.sky.obstacle;
  plan.n_term = plan.sky.n_term;
  double irregular = 0;
  if (!plan.obstacle.empty() || !plan_rows(plan, sky.extent, rows, tolerance, irregular)) return plan;
  plan.bound += plan.sky.series_error + kRounding;
  const int width = kernel_width_for(tolerance - plan.bound);
  if (width == 0) {
    plan.obstacle = irregular > 0.5 * tolerance
                        ? "the frequencies are rounded too coarsely to count as regular at these delays or shapes"
                        : "the tolerance is beyond its kernels";
    return plan;
  }
  plan.kernel = &gridding_kernel(width);
  plan.bound += two_step_bound(*plan.kernel);
  int highest = 0;
  for (const DelayRow& row : plan.rows) highest = std::max<int>(highest, row.sampling);
  for (int i = 0; i <= highest; ++i)
    plan.samplings.push_back(outline(std::size_t{1} << i, plan.band.n_channel, plan.kernel->width));
  return plan;
}

void finish_delay_plan(DelayPlan& plan) {
  for (std::size_t i = 0; i < plan.samplings.size(); ++i) {
    const bool used =
        std::any_of(plan.rows.begin(), plan.rows.end(), [i](const DelayRow& row) { return row.sampling == i; });
    if (used) finish_sampling(plan.samplings[i], plan.band, *plan.kernel);
  }
}

DelayWorkspace::DelayWorkspace(const DelayPlan& plan) {
  std::size_t n_cell = 0, n_sample = 0;
  for (const Sampling& sampling : plan.samplings) {
    if (!sampling.transform) continue;
    n_cell = std::max(n_cell, sampling.transform->length());
    n_sample = std::max(n_sample, sampling.n_sample);
  }
  const std::size_t n_grid = plan.sky.planes.size() * plan.n_term;
  arrays_.grid_stride = n_cell + 2 * kGridPad;
  // Whole vectors are read at the end of the samples.
  arrays_.sample_stride = (n_sample + 16 + 15) / 16 * 16;
  memory_.allocate([&](ScratchMemory& cut) {
    for (double** of_source : {&arrays_.cell, &arrays_.place, &arrays_.re, &arrays_.im}) cut(*of_source, kDelayBlock);
    cut(arrays_.weight, kDelayBlock * n_grid);
    cut(arrays_.grid, n_grid * arrays_.grid_stride);
    cut(arrays_.spectrum, n_cell);
    cut(arrays_.sample, 2 * n_grid * arrays_.sample_stride);
    cut(arrays_.tile, 22 * kDelayTile);
  });
  std::fill_n(arrays_.sample, 2 * n_grid * arrays_.sample_stride, 0.0);
}

}  // namespace rimetree::psv::delay
