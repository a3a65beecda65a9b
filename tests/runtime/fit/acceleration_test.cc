#include "runtime/fit/acceleration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace rimetree::fit {
namespace {

/// How many turns of x -> step(x) it takes until that moves x by less than 1e-10.
template <class Step>
int turns(std::vector<double> x, bool accelerated, int most, const Step& step) {
  Acceleration acceleration;
  for (int turn = 1; turn <= most; ++turn) {
    const std::vector<double> end = step(x);
    double moved = 0;
    for (std::size_t i = 0; i < x.size(); ++i) moved = std::max(moved, std::abs(end[i] - x[i]));
    if (moved < 1e-10) return turn;
    x = accelerated ? acceleration.next(x, end) : end;
  }
  return most;
}

TEST(Acceleration, a_linear_loop_ends_after_as_many_turns_as_it_has_directions) {
  // Errors shrink by these factors along six axes, towards (1, 2, ..., 6): the slowest takes 1800 turns by itself.
  const std::vector<double> factor{0.99, 0.9, 0.7, 0.5, -0.8, 0.2};
  const auto step = [&](const std::vector<double>& x) {
    std::vector<double> end(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double goal = 1.0 + static_cast<double>(i);
      end[i] = goal + factor[i] * (x[i] - goal);
    }
    return end;
  };
  EXPECT_GT(turns(std::vector<double>(6, 0.0), false, 5000, step), 1500);
  EXPECT_LE(turns(std::vector<double>(6, 0.0), true, 5000, step), 10);
}

TEST(Acceleration, a_loop_that_is_not_linear) {
  // x = cos y, y = sin x / 2 + 0.99 (y - sin x / 2): slow in y.
  const auto step = [](const std::vector<double>& x) {
    const double goal = std::sin(x[0]) / 2;
    return std::vector<double>{std::cos(x[1]), goal + 0.99 * (x[1] - goal)};
  };
  const int plain = turns({0.0, 0.0}, false, 5000, step), quick = turns({0.0, 0.0}, true, 5000, step);
  EXPECT_GT(plain, 1000);
  EXPECT_LT(quick, 30);
}

TEST(Acceleration, without_earlier_steps_it_is_the_end) {
  Acceleration acceleration;
  const std::vector<double> end{3.0, 4.0};
  EXPECT_EQ(acceleration.next({1.0, 2.0}, end), end);
  EXPECT_NE(acceleration.next(end, {3.5, 4.25}), (std::vector<double>{3.5, 4.25}));
  acceleration.forget();
  EXPECT_EQ(acceleration.next({1.0, 2.0}, end), end);
  // At the fixed point nothing is left to extrapolate.
  EXPECT_EQ(acceleration.next(end, end), end);
}

}  // namespace
}  // namespace rimetree::fit
