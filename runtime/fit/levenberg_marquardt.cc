#include "runtime/fit/levenberg_marquardt.h"

#include <Eigen/Cholesky>
#include <algorithm>

namespace rimetree::fit {

namespace {

// Relative to the diagonal of the normal matrix. The least keeps directions that the data do not determine (the common
// phase of all gains) where they are; the most is where a step is lost in rounding.
constexpr double kLeastDamping = 1e-9, kMostDamping = 1e12;
// Damping below which a step is as good as undamped for the test of convergence.
constexpr double kSlightDamping = 1e-6;
// Sums over observations are good to this fraction of the power of the data, residuals to its square.
constexpr double kRounding = 1e-13;

}  // namespace

LevenbergMarquardt::LevenbergMarquardt(const FitOptions& options, std::vector<double> start,
                                       std::vector<double> minimum, std::vector<double> maximum)
    : options_(options),
      x_(std::move(start)),
      minimum_(std::move(minimum)),
      maximum_(std::move(maximum)),
      damping_(std::max(options.damping, kLeastDamping)) {
  for (std::size_t k = 0; k < x_.size(); ++k) x_[k] = std::clamp(x_[k], minimum_[k], maximum_[k]);
  trial_ = x_;
}

double LevenbergMarquardt::rounding() const { return kRounding * (current_.data_power + current_.objective); }

bool LevenbergMarquardt::held(std::size_t k) const {
  return (x_[k] <= minimum_[k] && current_.gradient[k] < 0) || (x_[k] >= maximum_[k] && current_.gradient[k] > 0);
}

void LevenbergMarquardt::finish(FitStatus status) {
  status_ = status;
  trial_ = x_;
}

void LevenbergMarquardt::take(NormalEquations at_trial) {
  const bool finite =
      std::isfinite(at_trial.objective) &&
      std::all_of(at_trial.gradient.begin(), at_trial.gradient.end(), [](double g) { return std::isfinite(g); });
  if (!started_) {
    started_ = true;
    current_ = std::move(at_trial);
    first_.objective = current_.objective;
    first_.chi_square = current_.chi_square;
    first_.equations = current_.equations;
    if (current_.equations == 0) return finish(FitStatus::no_equations);
    if (!finite) return finish(FitStatus::not_finite);
    return propose();
  }
  ++iterations_;
  // Sufficient decrease; below the rounding error of the sums the gradient knows better than the objective.
  const double decrease = current_.objective - at_trial.objective;
  // A model that ceases to be finite somewhere has fewer equations, which is no improvement.
  const bool complete = at_trial.equations >= current_.equations;
  if (finite && complete && decrease >= 1e-4 * predicted_ - rounding()) {
    const double gain = predicted_ > rounding() ? decrease / predicted_ : 1;
    x_ = trial_;
    current_ = std::move(at_trial);
    growth_ = 2;
    if (gain > 0.75) damping_ = std::max(damping_ / 10, kLeastDamping);
    if (gain < 0.25) damping_ *= 4;
  } else {
    damping_ *= growth_ * 2;  // grows faster at each failure in a row (Nielsen 1999)
    growth_ *= 2;
  }
  propose();
}

void LevenbergMarquardt::propose() {
  std::vector<double> step(x_.size());
  for (;;) {
    if (damping_ > kMostDamping) return finish(FitStatus::stalled);
    if (solve_damped(damping_, step)) break;
    damping_ *= 10;
  }
  // A small step may be so because it is damped: convergence is judged by the step without damping.
  if (converged(model_change(step))) {
    std::vector<double> full(x_.size());
    if (damping_ <= kSlightDamping || (solve_damped(kLeastDamping, full) && converged(model_change(full))))
      return finish(FitStatus::converged);
  }
  if (iterations_ >= options_.iterations) return finish(FitStatus::exhausted);
  for (std::size_t k = 0; k < x_.size(); ++k) {
    trial_[k] = std::clamp(x_[k] + step[k], minimum_[k], maximum_[k]);
    step[k] = trial_[k] - x_[k];
  }
  predicted_ = predicted_decrease(step);
}

// step^T matrix step = step^T gradient, but for the damping: the sum of w |change of the model|^2.
double LevenbergMarquardt::model_change(const std::vector<double>& step) const {
  double change = 0;
  for (std::size_t k = 0; k < x_.size(); ++k) change += step[k] * current_.gradient[k];
  return std::max(change, 0.0);
}

bool LevenbergMarquardt::converged(double model_change) const {
  const double floor = 1e-24 * current_.data_power;  // what rounding leaves of a perfect fit, and some more
  if (model_change <= floor) return true;
  const double freedom = std::max(1.0, static_cast<double>(current_.equations) - static_cast<double>(current_.n));
  const double variance = current_.chi_square / freedom;  // of a residual, in units of what its weight says
  return model_change <= options_.tolerance * options_.tolerance * current_.data_power &&
         model_change <= options_.sigma_tolerance * options_.sigma_tolerance * variance;
}

bool LevenbergMarquardt::solve_damped(double damping, std::vector<double>& step) const {
  std::vector<Eigen::Index> free;
  for (std::size_t k = 0; k < x_.size(); ++k)
    if (current_.diagonal(k) > 0 && !held(k)) free.push_back(static_cast<Eigen::Index>(k));
  const auto m = static_cast<Eigen::Index>(free.size()), n = static_cast<Eigen::Index>(x_.size());
  Eigen::VectorXd scale(m), right(m);
  for (Eigen::Index i = 0; i < m; ++i) {
    const auto k = static_cast<std::size_t>(free[i]);
    scale[i] = 1 / std::sqrt(current_.diagonal(k));
    right[i] = scale[i] * current_.gradient[k];
  }
  Eigen::MatrixXd matrix(m, m);
  for (Eigen::Index j = 0; j < m; ++j) {
    for (Eigen::Index i = j + 1; i < m; ++i) {
      matrix(i, j) = scale[i] * scale[j] * current_.matrix[static_cast<std::size_t>(free[i] * n + free[j])];
    }
    matrix(j, j) = 1 + damping;
  }
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factor(matrix);
  if (factor.info() != Eigen::Success) return false;
  factor.solveInPlace(right);
  if (!right.allFinite()) return false;
  std::fill(step.begin(), step.end(), 0.0);
  for (Eigen::Index i = 0; i < m; ++i) step[static_cast<std::size_t>(free[i])] = scale[i] * right[i];
  return true;
}

double LevenbergMarquardt::predicted_decrease(const std::vector<double>& step) const {
  const std::size_t n = x_.size();
  double decrease = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double row = 0;
    for (std::size_t j = 0; j < i; ++j) row += current_.matrix[i * n + j] * step[j];
    decrease += step[i] * (2 * current_.gradient[i] - 2 * row - current_.matrix[i * n + i] * step[i]);
  }
  return decrease;
}

}  // namespace rimetree::fit
