// How a fit ends: converged if the next undamped step changes the model by less than a fraction of the data and of its
// own standard error; or exhausted, stalled, without equations, or with a model that is not finite. Bounds hold
// unknowns that would cross them; priors are further equations.
//
// The phase between the feeds on a weakly polarised sky (for full matrices: a unitary matrix) is a direction that data
// hardly determine, along a valley that is curved in real and imaginary parts, in which noise decides more than the
// model. So, once steps hardly change the model any more, unknowns that are complex numbers or matrices turn instead of
// going straight (Frames). Valleys of products, as of gains, a bandpass and leakages, are curved in these coordinates,
// too: steps turn back into them. Where the normal matrix predicts badly, what it leaves out of the curvature is learnt
// from the gradients (MissingCurvature).
#include "runtime/fit/levenberg_marquardt.h"

#include <algorithm>

namespace rimetree::fit {

namespace {

// Steps that change the model by less than this part of the data's power are close to the solution.
constexpr double kClose = 1e-3;
// A prediction of the decrease that is off by more than this part is bad.
constexpr double kGoodPrediction = 0.25;
// Steps back into a valley are damped so that they do not go along it. With one, the whole step has to bring this part
// of what it was made for, and each has to halve the height at which the one before it ended.
constexpr double kDampingBack = 1e-2, kWorth = 0.25, kNearer = 0.5;
// Valleys are followed for more than this part of the variance of a residual. Where noise hides the model, products of
// which one factor goes to infinity promise less than that for ever.
constexpr double kSignificant = 0.01;

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
      length_(options.damping),
      convergence_(options.tolerance, options.sigma_tolerance) {
  for (std::size_t k = 0; k < x_.size(); ++k) x_[k] = std::clamp(x_[k], minimum_[k], maximum_[k]);
  trial_ = x_;
}

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
    return x_.empty() ? finish(FitStatus::converged) : propose();
  }
  ++iterations_;
  const StepTried step{current_.objective - at_trial.objective, predicted_, rounding_error(current_), close_};
  // A model that ceases to be finite somewhere has fewer equations, which is no improvement.
  const bool complete = at_trial.equations >= current_.equations;
  const bool can_learn = close_ && finite && complete;
  convergence_.tried(step);
  // Sufficient decrease; below the rounding error of the sums the gradient knows better than the objective.
  const bool improves = finite && complete && step.decrease >= 1e-4 * std::max(0.0, step.predicted) - step.noise;
  if (can_learn && !improves && turn_back(at_trial, step)) return;
  if (can_learn && !turned_back_) learn(at_trial, step);
  if (improves) {
    x_ = trial_;
    convergence_.taken(current_.objective);
    current_ = std::move(at_trial);
    length_.taken(step);
  } else {
    length_.refused();
  }
  propose();
}

// A step along a curved valley ends on its slope, higher than it began, however low the valley is there. Another one,
// down the slope, leads back into the valley, and both together are judged as one step (the second-order correction of
// constrained optimisation: Fletcher 1982, Math. Prog. Study 17, 61).
bool LevenbergMarquardt::turn_back(const NormalEquations& at_trial, const StepTried& step) {
  if (iterations_ >= options_.iterations) return false;
  if (!(step.predicted > std::max(step.noise, kSignificant * residual_variance(current_)))) return false;
  if (turned_back_ && -step.decrease > kNearer * height_) return false;
  solver_.set(at_trial, free_unknowns(), {});
  std::vector<double> back = solver_.step(std::max(kDampingBack, length_.damping()), at_trial.gradient);
  solver_.release();
  if (back.empty()) return false;
  const double brings = 2 * dot(back, at_trial.gradient) - dot(back, at_trial.times(back));
  if (!(step.decrease + brings > kWorth * step.predicted)) return false;
  turned_back_ = true;
  height_ = -step.decrease;
  move_trial(Frames(matrices_, trial_), trial_, back);
  return true;
}

// Moves no further than to bounds, and so shortens the step.
void LevenbergMarquardt::move_trial(const Frames& frames, const std::vector<double>& from, std::vector<double>& step) {
  std::vector<double> to = frames.move(from, step);
  for (std::size_t k = 0; k < to.size(); ++k) {
    const double bounded = std::clamp(from[k] + step[k], minimum_[k], maximum_[k]);
    if (bounded != from[k] + step[k]) to[k] = bounded, step[k] = bounded - from[k];
  }
  trial_ = std::move(to);
}

// From a step that was tried, and from what it was expected to bring.
void LevenbergMarquardt::learn(const NormalEquations& at_trial, const StepTried& step) {
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
  if (step.predicted <= step.noise) return;
  const bool bad = std::abs(step.decrease - step.predicted) > kGoodPrediction * step.predicted;
  if (!corrected_ || std::abs(step.decrease - predicted_gauss_) < std::abs(step.decrease - predicted_corrected_))
    corrected_ = bad;
}

std::vector<bool> LevenbergMarquardt::free_unknowns() const {
  std::vector<bool> free(x_.size());
  for (std::size_t k = 0; k < x_.size(); ++k) free[k] = !held(k);
  return free;
}

void LevenbergMarquardt::prepare_solver() {
  std::vector<MissingCurvature::Update> missing;
  if (corrected_) missing = missing_.updates();
  for (MissingCurvature::Update& update : missing)
    update.vector = frames_.gradient_from_local(std::move(update.vector));
  solver_.set(current_, free_unknowns(), missing);
}

// With as much damping as is needed for a matrix that is positive; empty if there is none.
std::vector<double> LevenbergMarquardt::damped_step() {
  constexpr int kTries = 3;
  const double before = length_.damping();
  for (int tries = 0; length_.makes_steps(); ++tries) {
    std::vector<double> step = solver_.step(length_.damping(), current_.gradient);
    if (!step.empty()) return step;
    if (!corrected_ || tries < kTries) {
      length_.damp_more();
      continue;
    }
    missing_.forget();  // what was learnt is of no use here
    corrected_ = false;
    length_.set_damping(before);
    prepare_solver();
  }
  return {};
}

void LevenbergMarquardt::propose() {
  turned_back_ = false;
  if (close_) frames_ = Frames(matrices_, x_);
  prepare_solver();
  step_ = damped_step();
  if (step_.empty()) {
    finish(FitStatus::stalled);
  } else if (step_converged() || stationary()) {
    finish(FitStatus::converged);
  } else if (iterations_ >= options_.iterations) {
    corrected_ = false;
    prepare_solver();
    missing_step_ = solver_.step(length_.least_damping(), current_.gradient);
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
  if (corrected_) length_.end_stretching();
  const double factor = length_.factor(frames_.longest_turn(step_));
  for (double& s : step_) s *= factor;
  step_ = frames_.without_vanishing(std::move(step_));
  move_trial(frames_, x_, step_);
  const double of_straight = factor * predicted_gauss_;
  predicted_gauss_ = predict();
  predicted_corrected_ = predicted_gauss_ - missing_.along(frames_.step_to_local(step_));
  predicted_ = corrected_ ? predicted_corrected_ : length_.is_stretched() ? of_straight : predicted_gauss_;
}

// A small step may be so because it is damped: convergence is judged by the step without damping.
bool LevenbergMarquardt::step_converged() {
  if (!convergence_.reached(model_change(step_), current_)) return false;
  if (length_.is_hardly_damped()) return true;
  const std::vector<double> full = solver_.step(length_.least_damping(), current_.gradient);
  return !full.empty() && convergence_.reached(model_change(full), current_);
}

// step^T matrix step = step^T gradient, but for the damping: the sum of w |change of the model|^2.
double LevenbergMarquardt::model_change(const std::vector<double>& step) const {
  return std::max(dot(step, current_.gradient), 0.0);
}

// Steps along directions of which the data tell hardly anything, as the phases of a gain of a source that is not there,
// may go on for ever. Damped steps bring little wherever they are: what one with hardly any damping would bring counts
// as well. Without any, a product of which one factor goes to 0 and the other to infinity promises much, and never
// ends.
bool LevenbergMarquardt::stationary() {
  if (!convergence_.is_stationary(current_)) return false;
  const std::vector<double> full = solver_.step(kSlightDamping, current_.gradient);
  return !full.empty() && model_change(full) <= residual_variance(current_);
}

}  // namespace rimetree::fit
