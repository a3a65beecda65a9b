// One row of the delay method, as the halves of its evaluation share it.
#pragma once

#include "nodes/psv/delay/delay.h"

namespace rimetree::psv {

struct DelayJob {
  const DelayPlan& plan;
  const DelayLevel& level;
  const DelayRow& how;
  const DelayWorkspace::Arrays& arrays;
  bool past_caches = false;       ///< results are too many for caches
  std::size_t n_term = 1;         ///< of this row: spectra times tapers
  double u = 0, v = 0, w = 0;     ///< metres
  double du = 0, dv = 0, dw = 0;  ///< change over the exposure, metres
  double width_per_metre = 0;     ///< turns across a channel per metre of path; 0: no bandwidth smearing
  bool small_width = false;       ///< no source's phase changes by more than 2 radians across a channel
  alignas(64) double square_hz[kMaxTerms + 8] = {};  ///< nu^2 at the Chebyshev points of the tapers
};

/// Fills in what one row adds to the plan.
DelayJob delay_job(const DelayPlan& plan, const Rows& rows, std::size_t row, const DelayWorkspace::Arrays& arrays);

}  // namespace rimetree::psv
