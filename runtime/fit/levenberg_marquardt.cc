// How a fit ends: converged if the next undamped step changes the model by less than a fraction of the data and of its
// own standard error; or exhausted, stalled, without equations, or with a model that is not finite. Bounds hold
// unknowns that would cross them; priors are further equations.
//
// The phase between the feeds on a weakly polarised sky (for full matrices: a unitary matrix) is a direction that data
// hardly determine, along a valley that is curved in real and imaginary parts, in which noise decides more than the
// model. So, once steps hardly change the model any more, unknowns that are complex numbers or matrices turn instead of
// going straight (Frames), and where the normal matrix predicts badly what it leaves out of the curvature is learnt
// from the gradients (MissingCurvature).
#include "runtime/fit/levenberg_marquardt.h"

#include <algorithm>

namespace rimetree::fit {

namespace {

// Relative to the diagonal of the normal matrix. The least keeps directions that the data do not determine (the common
// phase of all gains) where they are; the most is where a step is lost in rounding. Where damping alone makes steps
// short there may be still less: a delay beside phases over a narrow band at a high frequency is told by 1e-10 of what
// its diagonal says.
constexpr double kLeastDamping = 1e-9, kNoDamping = 1e-13, kMostDamping = 1e12;
// Damping below which a step is as good as undamped for the test of convergence, where it is not known to be held back.
constexpr double kSlightDamping = 1e-6;
// Sums over observations are good to this fraction of the power of the data, residuals to its square.
constexpr double kRounding = 1e-13;
// Steps that change the model by less than this part of the data's power are close to the solution.
constexpr double kClose = 1e-3;
// A prediction of the decrease that is off by more than this part is bad.
constexpr double kGoodPrediction = 0.25;
// One that is off by less than this part says that the objective is the parabola that steps are made for: one step is
// enough, but for damping. Decreases that become less by no more than this factor show that it holds them back.
constexpr double kExactPrediction = 0.02, kHeldBack = 0.3;
// A decrease of twice the prediction is that of an objective without curvature, as near a saddle: steps are stretched.
constexpr double kStraight = 1.6, kMostStretch = 256;
// After so many steps in a row, each within sigma_tolerance, there is no need of the digits behind.
constexpr int kSlightSteps = 4;
// Of data without noise rounding makes the steps that are left. They bring less than sums are good to, not what is
// predicted of them, and do not become shorter; after so many of them the fit is where it can get.
constexpr double kHalf = 0.5;
constexpr int kBlindSteps = 6;
// Chi-square is stationary if so many steps together bring less than this part of the variance of one residual.
constexpr std::size_t kStationarySteps = 20;
constexpr double kStationary = 0.1;
// No turn is longer (rad), but after predictions that are exact: each lets the next one be so many times as long. The
// phase of a gain goes through many turns on the way, where a delay beside it does the opposite over a narrow band.
constexpr double kLongest = 1, kLonger = 10;

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

}  // namespace

LevenbergMarquardt::LevenbergMarquardt(const FitOptions& options, std::vector<double> start,
                                       std::vector<double> minimum, std::vector<double> maximum,
                                       std::vector<ComplexMatrix> matrices)
    : options_(options),
      x_(std::move(start)),
      minimum_(std::move(minimum)),
      maximum_(std::move(maximum)),
      matrices_(std::move(matrices)),
      damping_(std::max(options.damping, kLeastDamping)),
      least_damping_(kLeastDamping),
      longest_(kLongest) {
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
    first_.prior_chi_square = current_.prior_chi_square;
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
  const double noise = rounding();
  if (close_ && finite && complete) learn(at_trial, decrease);
  if (std::abs(decrease) > noise)
    blind_ = 0;
  else if (predicted_ <= noise && std::abs(decrease - predicted_) > kHalf * predicted_ &&
           predicted_ > kHalf * last_predicted_)
    ++blind_;
  last_predicted_ = predicted_;
  if (finite && complete && decrease >= 1e-4 * predicted_ - noise) {
    const double gain = predicted_ > noise ? decrease / predicted_ : 1;
    const bool exact = close_ && stretch_ == 1 && predicted_ > noise && std::abs(gain - 1) < kExactPrediction;
    if (exact && damping_ <= least_damping_ && decrease > kHeldBack * last_decrease_)
      least_damping_ = std::max(least_damping_ / 100, kNoDamping);
    longest_ = exact ? kLonger * longest_ : kLongest;
    last_decrease_ = decrease;
    x_ = trial_;
    objectives_.push_back(current_.objective);
    current_ = std::move(at_trial);
    growth_ = 2;
    if (gain > 0.75) damping_ = std::max(damping_ / 10, least_damping_);
    if (gain < 0.25) damping_ *= 4;
    stretch_ = close_ && gain > kStraight ? std::min(2 * stretch_, kMostStretch) : 1;
  } else if (stretch_ > 1) {
    stretch_ = 1;
  } else {
    longest_ = kLongest;
    damping_ *= growth_ * 2;  // grows faster at each failure in a row (Nielsen 1999)
    growth_ *= 2;
  }
  propose();
}

// From a step that was tried, and from what it was expected to bring.
void LevenbergMarquardt::learn(const NormalEquations& at_trial, double decrease) {
  const Frames there(matrices_, trial_);
  const std::vector<double> local = frames_.step_to_local(step_);
  // Half of the change of the gradient that normal matrices at both ends give, in local coordinates of each end.
  std::vector<double> difference = frames_.gradient_to_local(current_.gradient);
  const std::vector<double> gradient = there.gradient_to_local(at_trial.gradient),
                            here_change = frames_.gradient_to_local(current_.times(step_)),
                            there_change = there.gradient_to_local(at_trial.times(there.step_from_local(local)));
  std::vector<double> scale(x_.size(), 0.0);
  for (std::size_t k = 0; k < x_.size(); ++k) {
    difference[k] -= gradient[k] + 0.5 * (here_change[k] + there_change[k]);
    if (current_.diagonal(k) > 0) scale[k] = 1 / std::sqrt(current_.diagonal(k));
  }
  missing_.learn(local, std::move(difference), scale);
  if (predicted_ <= rounding()) return;
  const bool bad = std::abs(decrease - predicted_) > kGoodPrediction * predicted_;
  if (!corrected_ || std::abs(decrease - predicted_gauss_) < std::abs(decrease - predicted_corrected_))
    corrected_ = bad;
}

void LevenbergMarquardt::prepare_solver() {
  std::vector<bool> free(x_.size());
  for (std::size_t k = 0; k < x_.size(); ++k) free[k] = !held(k);
  std::vector<MissingCurvature::Update> missing;
  if (corrected_) missing = missing_.updates();
  for (MissingCurvature::Update& update : missing)
    update.vector = frames_.gradient_from_local(std::move(update.vector));
  solver_.set(current_, free, missing);
}

// With as much damping as is needed for a matrix that is positive; empty if there is none.
std::vector<double> LevenbergMarquardt::damped_step() {
  constexpr int kTries = 3;
  const double before = damping_;
  for (int tries = 0; damping_ <= kMostDamping; ++tries) {
    std::vector<double> step = solver_.step(damping_, current_.gradient);
    if (!step.empty()) return step;
    if (!corrected_ || tries < kTries) {
      damping_ *= 4;
      continue;
    }
    missing_.forget();  // what was learnt is of no use here
    corrected_ = false;
    damping_ = before;
    prepare_solver();
  }
  return {};
}

void LevenbergMarquardt::propose() {
  if (close_) frames_ = Frames(matrices_, x_);
  prepare_solver();
  step_ = damped_step();
  if (step_.empty()) {
    finish(FitStatus::stalled);
  } else if (step_converged(step_) || stationary()) {
    finish(FitStatus::converged);
  } else if (iterations_ >= options_.iterations) {
    corrected_ = false;
    prepare_solver();
    missing_step_ = solver_.step(least_damping_, current_.gradient);
    finish(FitStatus::exhausted);
  }
  solver_.release();
  if (!running()) return;
  const auto predict = [&] { return 2 * dot(step_, current_.gradient) - dot(step_, current_.times(step_)); };
  predicted_gauss_ = predict();
  if (!close_ && predicted_gauss_ < kClose * current_.data_power) {
    close_ = true;
    frames_ = Frames(matrices_, x_);
  }
  if (corrected_) stretch_ = 1;
  const double shrink = std::min(1.0, longest_ / frames_.longest_turn(step_) / stretch_);
  for (double& s : step_) s *= stretch_ * shrink;
  step_ = frames_.without_vanishing(std::move(step_));
  trial_ = frames_.move(x_, step_);
  for (std::size_t k = 0; k < x_.size(); ++k) {
    const double bounded = std::clamp(x_[k] + step_[k], minimum_[k], maximum_[k]);
    if (bounded != x_[k] + step_[k]) trial_[k] = bounded, step_[k] = bounded - x_[k];
  }
  const double unstretched = predicted_gauss_;
  predicted_gauss_ = predict();
  predicted_corrected_ = predicted_gauss_ - missing_.along(frames_.step_to_local(step_));
  predicted_ = corrected_ ? predicted_corrected_ : stretch_ > 1 ? stretch_ * shrink * unstretched : predicted_gauss_;
}

// A small step may be so because it is damped: convergence is judged by the step without damping.
bool LevenbergMarquardt::step_converged(const std::vector<double>& step) {
  if (!converged(model_change(step))) return false;
  const bool is_held_back = least_damping_ < kLeastDamping;
  if (damping_ <= (is_held_back ? least_damping_ : kSlightDamping)) return true;
  const std::vector<double> full = solver_.step(least_damping_, current_.gradient);
  return !full.empty() && converged(model_change(full));
}

// step^T matrix step = step^T gradient, but for the damping: the sum of w |change of the model|^2.
double LevenbergMarquardt::model_change(const std::vector<double>& step) const {
  return std::max(dot(step, current_.gradient), 0.0);
}

// Of a residual, in units of what its weight says.
double LevenbergMarquardt::variance() const {
  return (current_.chi_square + current_.prior_chi_square) /
         std::max(1.0, static_cast<double>(current_.equations) - static_cast<double>(current_.n));
}

bool LevenbergMarquardt::converged(double model_change) {
  const double floor = 1e-24 * current_.data_power;  // what rounding leaves of a perfect fit, and some more
  if (model_change <= floor || (blind_ >= kBlindSteps && model_change <= rounding())) return true;
  // The sum of w |error of the model|^2 is that of one residual for each unknown.
  const double error = variance() * static_cast<double>(std::max<std::size_t>(1, current_.n));
  slight_ = model_change <= options_.sigma_tolerance * options_.sigma_tolerance * error ? slight_ + 1 : 0;
  return slight_ > kSlightSteps ||
         (slight_ > 0 && model_change <= options_.tolerance * options_.tolerance * current_.data_power);
}

// Steps along directions of which the data tell hardly anything, as the phases of a gain of a source that is not there,
// may go on for ever. Damped steps bring little wherever they are: what one with hardly any damping would bring counts
// as well. Without any, a product of which one factor goes to 0 and the other to infinity promises much, and never
// ends.
bool LevenbergMarquardt::stationary() {
  const std::size_t n = objectives_.size();
  if (n < kStationarySteps || objectives_[n - kStationarySteps] - current_.objective > kStationary * variance())
    return false;
  const std::vector<double> full = solver_.step(kSlightDamping, current_.gradient);
  return !full.empty() && model_change(full) <= variance();
}

}  // namespace rimetree::fit
