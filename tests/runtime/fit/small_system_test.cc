#include "runtime/fit/small_system.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace rimetree::fit {
namespace {

TEST(SmallSystem, IsSolved) {
  const std::vector<double> a{4.0, 2.0, 1.0, 2.0, 5.0, 3.0, 1.0, 3.0, 6.0}, b{11.0, 21.0, 25.0};
  std::array<double, 3> x{};
  ASSERT_TRUE(solve_small(a, b, x));
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(x[k], static_cast<double>(k + 1), 1e-14);
}

TEST(SmallSystem, AnUnknownWithoutDataIsZero) {
  const std::vector<double> a{4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0}, b{8.0, 0.0, 2.0};
  std::array<double, 3> x{7.0, 7.0, 7.0};
  ASSERT_TRUE(solve_small(a, b, x));
  EXPECT_EQ(x, (std::array<double, 3>{2.0, 0.0, 1.0}));
}

TEST(SmallSystem, WhatIsNotFiniteLeavesThingsAsTheyAre) {
  const std::vector<double> a{1.0, 0.0, 0.0, NAN}, b{1.0, 1.0};
  std::array<double, 2> x{7, 8};
  EXPECT_FALSE(solve_small(a, b, x));
  EXPECT_EQ(x, (std::array<double, 2>{7.0, 8.0}));
}

}  // namespace
}  // namespace rimetree::fit
