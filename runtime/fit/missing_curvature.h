// What the normal matrix leaves out of the curvature of chi-square: residuals times second derivatives of the model. It
// counts where the data determine a direction so weakly that noise does more there than the model, and Gauss-Newton
// steps then have any length but the right one. It is learnt from how gradients change along steps, by symmetric
// rank-one updates (Conn, Gould & Toint 1991, Math. Prog. 50, 177; for least squares Dennis, Gay & Welsch 1981, ACM
// TOMS 7, 348).
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace rimetree::fit {

class MissingCurvature {
 public:
  /// Each adds `sign` times the square of the product of a step with the vector.
  struct Update {
    std::vector<double> vector;
    double sign = 1;
  };
  const std::vector<Update>& updates() const { return updates_; }
  void forget() { updates_.clear(); }

  /// step^T (what is missing) step
  double along(const std::vector<double>& step) const {
    double sum = 0;
    for (const Update& update : updates_) {
      const double product = dot(update.vector, step);
      sum += update.sign * product * product;
    }
    return sum;
  }

  /// `difference`: by how much the change of the gradient along a step differs from what the normal matrix says.
  /// `scale`: of each unknown, 1/sqrt of the diagonal of the normal matrix, 0 where it has none.
  void learn(const std::vector<double>& step, std::vector<double> difference, const std::vector<double>& scale) {
    for (const Update& update : updates_) {
      const double product = update.sign * dot(update.vector, step);
      for (std::size_t k = 0; k < step.size(); ++k) difference[k] -= product * update.vector[k];
    }
    const double along = dot(difference, step);
    double size = 0;
    for (std::size_t k = 0; k < step.size(); ++k) size += scale[k] * scale[k] * difference[k] * difference[k];
    // Larger than this part of the normal matrix it is not what is missing but a step that was too long to tell.
    if (!(size <= kMost * std::abs(along)) || along == 0) return;
    for (double& d : difference) d /= std::sqrt(std::abs(along));
    if (updates_.size() == kUpdates) updates_.erase(updates_.begin());
    updates_.push_back({std::move(difference), along > 0 ? 1.0 : -1.0});
  }

 private:
  static constexpr std::size_t kUpdates = 20;
  static constexpr double kMost = 0.5;
  static double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
    return sum;
  }
  std::vector<Update> updates_;
};

}  // namespace rimetree::fit
