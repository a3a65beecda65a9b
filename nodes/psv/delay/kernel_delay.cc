// Rows by the delay method, once per instruction set; the best that the machine has is chosen at run time.
#include "runtime/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nodes/psv/delay/kernel_delay.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "nodes/psv/delay/finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::delay {
namespace HWY_NAMESPACE {

void evaluate_delay_row(const GriddedRow& job, Complex<double>* to, std::ptrdiff_t plane_stride) {
  spread_row(job);
  finish_row(job, to, plane_stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::delay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rimetree::psv::delay {

HWY_EXPORT(evaluate_delay_row);

/// Results of a batch that are fewer are likely to be read from a cache by the node above.
constexpr std::size_t kCachedBytes = std::size_t{16} << 20;

GriddedRow gridded_row(const DelayPlan& plan, const Rows& rows, std::size_t row, const DelayWorkspace::Arrays& arrays) {
  const DelayRow& how = plan.rows[row];
  GriddedRow job{.plan = plan, .sampling = plan.samplings[how.sampling], .how = how, .arrays = arrays};
  job.past_caches = plan.rows.size() * plan.band.n_channel * 4 * sizeof(Complex<double>) > kCachedBytes;
  job.n_term = plan.sky.n_term;
  job.u = rows.u[row], job.v = rows.v[row], job.w = rows.w[row];
  if (rows.is_smeared_in_time()) {
    const double exposure = rows.exposure_s[row];
    job.du = rows.du[row] * exposure, job.dv = rows.dv[row] * exposure, job.dw = rows.dw[row] * exposure;
  }
  if (rows.is_smeared_in_frequency()) {
    job.width_per_metre = plan.band.width_hz / kSpeedOfLight_m_s;
    // A sampling's delays are known, in turns per channel spacing.
    const double turns =
        plan.samplings[how.sampling].step == 1 ? 1e300 : kLargestKappa / double(plan.samplings[how.sampling].step);
    job.small_width = kPi * turns * plan.band.width_hz / std::abs(plan.band.spacing_hz.hi) <= 1;
  }
  if (plan.sky.n_point < plan.sky.n_source) {
    job.n_term += static_cast<std::size_t>(how.n_taper_term) - 1;
    const double half = 0.5 * (plan.band.high_hz - plan.band.low_hz) * (plan.band.spacing_hz.hi < 0 ? -1 : 1);
    for (int i = 0; i < how.n_taper_term; ++i) {
      const double nu = plan.band.centre_hz() + half * chebyshev_point(i, how.n_taper_term);
      job.square_hz[i] = nu * nu;
    }
  }
  return job;
}

void evaluate_delay_rows(const DelayPlan& plan, const Rows& rows, std::size_t row_begin, std::size_t row_end,
                         const DelayWorkspace& workspace, const Output& out) {
  for (std::size_t row = row_begin; row < row_end; ++row) {
    const GriddedRow job = gridded_row(plan, rows, row, workspace.arrays());
    HWY_DYNAMIC_DISPATCH(evaluate_delay_row)(job, out.row[row], out.plane_stride);
  }
}

}  // namespace rimetree::psv::delay
#endif  // HWY_ONCE
