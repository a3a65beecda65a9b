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

double points_error(int n, double phase_rad) {
  double error = 0;
  // From j = 2 phase on each term is less than half the one before.
  const int last = n + static_cast<int>(2 * phase_rad) + 60;
  for (int j = n; j <= last; ++j) error += 4 * std::abs(std::cyl_bessel_j(double(j), phase_rad));
  return error;
}

int points_for(double phase_rad, double error) {
  if (!(phase_rad < kMostPoints)) return 0;  // there are no fewer points than radians
  int too_few = 0, enough = kMostPoints + 1;
  while (enough - too_few > 1) {
    const int n = (too_few + enough) / 2;
    (points_error(n, phase_rad) <= error ? enough : too_few) = n;
  }
  return enough <= kMostPoints ? enough : 0;
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
  if (is_new) at->second = points_for(phase_of_step(step), error);
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
