// How far the next step of a fit goes, by what those before it brought: its damping (Marquardt 1963, J. SIAM 11, 431),
// the longest turn of a complex number, and how much it is stretched.
#pragma once

namespace rimetree::fit {

/// Steps are as good as undamped below this, where damping is not known to hold them back.
inline constexpr double kSlightDamping = 1e-6;

/// A step that was tried.
struct StepTried {
  double decrease = 0, predicted = 0;  ///< of the objective
  double noise = 0;                    ///< rounding error of the decrease
  bool close = false;                  ///< to the solution
};

class StepLength {
 public:
  /// `damping`: of the first step, relative to the diagonal of the normal matrix.
  explicit StepLength(double damping);

  double damping() const { return damping_; }
  /// Of steps that count as undamped.
  double least_damping() const { return least_damping_; }
  /// Whether a step with this damping may be judged as if it had none.
  bool is_hardly_damped() const;
  /// Whether a step with this damping is not lost in rounding.
  bool makes_steps() const;
  /// For a matrix that is not positive.
  void damp_more() { damping_ *= 4; }
  void set_damping(double damping) { damping_ = damping; }

  void taken(const StepTried& step);
  void refused();

  bool is_stretched() const { return stretch_ > 1; }
  void end_stretching() { stretch_ = 1; }
  /// What a step is to be multiplied by whose longest turn this is (rad).
  double factor(double longest_turn) const;

 private:
  double damping_, least_damping_, longest_turn_;
  double growth_ = 2, stretch_ = 1;
  double last_decrease_ = 0;  // of steps that were taken
};

}  // namespace rimetree::fit
