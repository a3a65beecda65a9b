#include "runtime/fit/convergence.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace rimetree::fit {

namespace {

// Sums over observations are good to this fraction of the power of the data, residuals to its square.
constexpr double kRounding = 1e-13;
// After so many steps in a row, each within sigma_tolerance, there is no need of the digits behind.
constexpr int kSlightSteps = 4;
// Of data without noise rounding makes the steps that are left. They bring less than sums are good to, not what is
// predicted of them, and do not become shorter; after so many of them the fit is where it can get.
constexpr double kHalf = 0.5;
constexpr int kBlindSteps = 6;
// Chi-square is stationary if so many steps together bring less than this part of the variance of one residual.
constexpr std::size_t kStationarySteps = 20;
constexpr double kStationary = 0.1;

}  // namespace

double rounding_error(const NormalEquations& equations) {
  return kRounding * (equations.data_power + equations.objective);
}

double residual_variance(const NormalEquations& equations) {
  return (equations.chi_square + equations.prior_chi_square) /
         std::max(1.0, static_cast<double>(equations.equations) - static_cast<double>(equations.n));
}

void Convergence::tried(const StepTried& step) {
  if (std::abs(step.decrease) > step.noise)
    blind_ = 0;
  else if (step.predicted <= step.noise && std::abs(step.decrease - step.predicted) > kHalf * step.predicted &&
           step.predicted > kHalf * last_predicted_)
    ++blind_;
  last_predicted_ = step.predicted;
}

bool Convergence::reached(double model_change, const NormalEquations& current) {
  const double floor = 1e-24 * current.data_power;  // what rounding leaves of a perfect fit, and some more
  if (model_change <= floor || (blind_ >= kBlindSteps && model_change <= rounding_error(current))) return true;
  // The sum of w |error of the model|^2 is that of one residual for each unknown.
  const double error = residual_variance(current) * static_cast<double>(std::max<std::size_t>(1, current.n));
  slight_ = model_change <= sigma_tolerance_ * sigma_tolerance_ * error ? slight_ + 1 : 0;
  return slight_ > kSlightSteps || (slight_ > 0 && model_change <= tolerance_ * tolerance_ * current.data_power);
}

bool Convergence::is_stationary(const NormalEquations& current) const {
  const std::size_t n = objectives_.size();
  return n >= kStationarySteps &&
         objectives_[n - kStationarySteps] - current.objective <= kStationary * residual_variance(current);
}

}  // namespace rimetree::fit
