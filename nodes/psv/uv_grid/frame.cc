#include "nodes/psv/uv_grid/frame.h"

#include <limits>

#include "runtime/core/values/largest_error.h"

namespace rimetree::psv::uv_grid {
namespace {

/// c = along a + across b nearly, by least squares. Where a and b are on a line, the shortest such (along, across) or
/// nearly so: a small term holds them.
class PlaneFit {
 public:
  void add(double a, double b, double c) { aa_ += a * a, ab_ += a * b, bb_ += b * b, ac_ += a * c, bc_ += b * c; }
  void solve(double& along, double& across) const {
    const double little = 1e-9 * (aa_ + bb_), aa = aa_ + little, bb = bb_ + little;
    const double determinant = aa * bb - ab_ * ab_;
    if (!(determinant > 0)) return;
    along = (ac_ * bb - bc_ * ab_) / determinant;
    across = (bc_ * aa - ac_ * ab_) / determinant;
  }

 private:
  double aa_ = 0, ab_ = 0, bb_ = 0, ac_ = 0, bc_ = 0;
};

}  // namespace

Box::Box() {
  for (int i = 0; i < 3; ++i) {
    low[i] = std::numeric_limits<double>::infinity();
    high[i] = -low[i];
  }
}

void Box::include(const double (&at)[3]) {
  for (int i = 0; i < 3; ++i) {
    double opposite = -low[i];
    keep_larger(opposite, -at[i]);
    keep_larger(high[i], at[i]);
    low[i] = -opposite;
  }
}

Frame frame_of(const Sky<double>& sky, const Rows& rows) {
  Frame frame;
  PlaneFit baselines;
  for (std::size_t r = 0; r < rows.n_row; ++r) baselines.add(rows.u[r], rows.v[r], rows.w[r]);
  baselines.solve(frame.a, frame.b);
  Box box;
  for (std::size_t s = 0; s < sky.n_source; ++s) box.include({sky.l[s], sky.m[s], sky.n_high[s]});
  frame.l0 = box.middle(0), frame.m0 = box.middle(1), frame.n0 = box.middle(2);
  // How n goes with x and y about its mean.
  double mean[3] = {0, 0, 0};
  const auto at = [&](std::size_t s) { return frame.of_direction(sky.l[s], sky.m[s], sky.n_high[s], sky.n_low[s]); };
  for (std::size_t s = 0; s < sky.n_source; ++s)
    for (int i = 0; i < 3; ++i) mean[i] += static_cast<double>(at(s).at[i]) / double(sky.n_source);
  PlaneFit directions;
  for (std::size_t s = 0; s < sky.n_source; ++s) {
    const Point p = at(s);
    const auto from_mean = [&](int i) { return static_cast<double>(p.at[i]) - mean[i]; };
    directions.add(from_mean(0), from_mean(1), from_mean(2));
  }
  double alpha = 0, beta = 0;
  directions.solve(alpha, beta);
  frame.alpha = alpha, frame.beta = beta;
  return frame;
}

}  // namespace rimetree::psv::uv_grid
