#include "runtime/fit/acceleration.h"

#include <Eigen/QR>

namespace rimetree::fit {

namespace {

std::vector<double> difference(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> result(a);
  for (std::size_t i = 0; i < b.size(); ++i) result[i] -= b[i];
  return result;
}

}  // namespace

std::vector<double> Acceleration::next(const std::vector<double>& start, const std::vector<double>& end) {
  const std::vector<double> step = difference(end, start);
  if (!last_end_.empty()) {
    ends_.push_back(difference(end, last_end_));
    steps_.push_back(difference(step, last_step_));
    if (ends_.size() > most_) {
      ends_.erase(ends_.begin());
      steps_.erase(steps_.begin());
    }
  }
  last_end_ = end;
  last_step_ = step;
  if (steps_.empty()) return end;
  // The combination of earlier differences that makes the step smallest; the ends combine likewise.
  const auto n = static_cast<Eigen::Index>(step.size()), m = static_cast<Eigen::Index>(steps_.size());
  Eigen::MatrixXd matrix(n, m);
  for (Eigen::Index k = 0; k < m; ++k)
    matrix.col(k) = Eigen::Map<const Eigen::VectorXd>(steps_[static_cast<std::size_t>(k)].data(), n);
  const Eigen::VectorXd weight =
      matrix.completeOrthogonalDecomposition().solve(Eigen::Map<const Eigen::VectorXd>(step.data(), n));
  if (!weight.allFinite()) return end;
  std::vector<double> place = end;
  for (Eigen::Index k = 0; k < m; ++k)
    for (std::size_t i = 0; i < place.size(); ++i) place[i] -= weight[k] * ends_[static_cast<std::size_t>(k)][i];
  return place;
}

void Acceleration::forget() {
  last_end_.clear();
  last_step_.clear();
  ends_.clear();
  steps_.clear();
}

}  // namespace rimetree::fit
