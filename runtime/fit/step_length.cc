#include "runtime/fit/step_length.h"

#include <algorithm>
#include <cmath>

namespace rimetree::fit {

namespace {

// The least keeps directions that the data do not determine (the common phase of all gains) where they are; the most is
// where a step is lost in rounding. Where damping alone makes steps short there may be still less: a delay beside
// phases over a narrow band at a high frequency is told by 1e-10 of what its diagonal says.
constexpr double kLeastDamping = 1e-9, kNoDamping = 1e-13, kMostDamping = 1e12;
// A prediction of the decrease that is off by less than this part says that the objective is the parabola that steps
// are made for: one step is enough, but for damping. Decreases that become less by no more than this factor show that
// damping holds them back.
constexpr double kExactPrediction = 0.02, kHeldBack = 0.3;
// A decrease of twice the prediction is that of an objective without curvature, as near a saddle: steps are stretched.
// Straight ones past it are half as many then; where complex numbers turn (Frames) hardly any is: 5 steps of 1400 fits.
constexpr double kStraight = 1.6, kMostStretch = 256;
// No turn is longer (rad), but after predictions that are exact: each lets the next one be so many times as long. The
// phase of a gain goes through many turns on the way, where a delay beside it does the opposite over a narrow band.
constexpr double kLongestTurn = 1, kLonger = 10;

}  // namespace

StepLength::StepLength(double damping)
    : damping_(std::max(damping, kLeastDamping)), least_damping_(kLeastDamping), longest_turn_(kLongestTurn) {}

bool StepLength::is_hardly_damped() const {
  const bool is_held_back = least_damping_ < kLeastDamping;
  return damping_ <= (is_held_back ? least_damping_ : kSlightDamping);
}

bool StepLength::makes_steps() const { return damping_ <= kMostDamping; }

void StepLength::taken(const StepTried& step) {
  const double gain = step.predicted > step.noise ? step.decrease / step.predicted : 1;
  const bool exact =
      step.close && stretch_ == 1 && step.predicted > step.noise && std::abs(gain - 1) < kExactPrediction;
  if (exact && damping_ <= least_damping_ && step.decrease > kHeldBack * last_decrease_)
    least_damping_ = std::max(least_damping_ / 100, kNoDamping);
  longest_turn_ = exact ? kLonger * longest_turn_ : kLongestTurn;
  last_decrease_ = step.decrease;
  growth_ = 2;
  if (gain > 0.75) damping_ = std::max(damping_ / 10, least_damping_);
  if (gain < 0.25) damping_ *= 4;
  stretch_ = step.close && gain > kStraight ? std::min(2 * stretch_, kMostStretch) : 1;
}

void StepLength::refused() {
  if (is_stretched()) return end_stretching();
  longest_turn_ = kLongestTurn;
  damping_ *= growth_ * 2;  // grows faster at each failure in a row (Nielsen 1999)
  growth_ *= 2;
}

double StepLength::factor(double longest_turn) const { return std::min(stretch_, longest_turn_ / longest_turn); }

}  // namespace rimetree::fit
