#include "nodes/psv/uv_grid/points.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>

#include "nodes/psv/exposure_rule.h"
#include "nodes/psv/fourier/chebyshev.h"
#include "runtime/math/conventions.h"

namespace rimetree::psv::uv_grid {

constexpr double kLeastPhase = 0.01;  ///< that is told from none, radians

std::vector<double> points_errors(double phase_rad) {
  if (!(phase_rad < kMostPoints)) return {};  // there are no fewer points than radians
  // From j = 2 phase on each term is less than half the one before.
  std::vector<double> errors(static_cast<std::size_t>(2 * phase_rad) + 64);
  double error = 0;
  for (std::size_t j = errors.size(); j-- > 0;) {
    error += 4 * std::abs(std::cyl_bessel_j(double(j), phase_rad));
    errors[j] = error;
  }
  return errors;
}

int fewest_points(const std::vector<double>& errors, double error) {
  // They fall from each to the next.
  const auto first = std::partition_point(errors.begin(), errors.end(), [error](double e) { return !(e <= error); });
  const auto n = std::max<std::ptrdiff_t>(1, first - errors.begin());
  return first != errors.end() && n <= kMostPoints ? static_cast<int>(n) : 0;
}

int step_of(double phase_rad) {
  return phase_rad <= kLeastPhase ? 0 : static_cast<int>(std::ceil(2 * std::log2(phase_rad / kLeastPhase)));
}

double phase_of_step(int step) { return kLeastPhase * std::exp2(0.5 * step); }

int points_of_step(int step, double error) {
  static std::mutex mutex;
  static std::map<std::pair<int, double>, int> known;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = known.try_emplace({step, error});
  if (is_new) at->second = fewest_points(points_errors(phase_of_step(step)), error);
  return at->second;
}

double growth_between(int n) { return 2 / kPi * std::log(double(n)) + 1; }

Points::Points(int count) : n(count) {
  for (int k = 0; k < n; ++k) {
    at[k] = fourier::chebyshev_point(k, n);
    weight[k] = (k % 2 == 0 ? 1 : -1) * std::sin(kPi * (k + 0.5) / n);
  }
}

void Points::shares(double x, double* share) const {
  double sum = 0;
  for (int k = 0; k < n; ++k) {
    const double from = x - at[k];
    if (from == 0) {
      std::fill_n(share, n, 0.0);
      share[k] = 1;
      return;
    }
    sum += share[k] = weight[k] / from;
  }
  for (int k = 0; k < n; ++k) share[k] /= sum;
}

void Points::mean_shares(double x, double half, int n_node, double* share) const {
  if (n_node == 1) return shares(x, share);
  const ExposureRule& rule = exposure_rule(n_node);
  double one[kMostPoints];
  std::fill_n(share, n, 0.0);
  for (int node = 0; node < n_node; ++node) {
    shares(x + half * rule.node[node], one);
    for (int k = 0; k < n; ++k) share[k] += rule.weight[node] * one[k];
  }
}

}  // namespace rimetree::psv::uv_grid
