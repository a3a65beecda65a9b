// Philox4x32-10 against the known answers that its authors publish with Random123 (kat_vectors).
#include "runtime/math/philox.h"

#include <gtest/gtest.h>

namespace rimetree {
namespace {

TEST(Philox, GivesThePublishedNumbers) {
  EXPECT_EQ(philox4x32({{0, 0, 0, 0}}, 0, 0), (PhiloxWords{{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}));
  const std::uint32_t all = 0xffffffff;
  EXPECT_EQ(philox4x32({{all, all, all, all}}, all, all),
            (PhiloxWords{{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}));
  EXPECT_EQ(philox4x32({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0),
            (PhiloxWords{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}));
}

TEST(Philox, NormalPairsAreFiniteAtTheEdges) {
  const std::uint32_t all = 0xffffffff;
  EXPECT_TRUE(std::isfinite(normal_pair({{0, 0, 0, 0}}).re));
  EXPECT_NEAR(normal_pair({{0, 0, 0, 0}}).re, 8.6, 0.1);  // sqrt(2 ln 2^54)
  EXPECT_NEAR(normal_pair({{all, all, all, all}}).re, 0, 2e-8);
}

TEST(Philox, NormalPairsHaveTheRightMoments) {
  constexpr std::uint32_t kCount = 100000;
  double mean_re = 0, mean_im = 0, square_re = 0, square_im = 0, cross = 0, fourth = 0;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const Complex<double> z = normal_pair(philox4x32({{i, 0, 0, 0}}, 42, 0));
    mean_re += z.re, mean_im += z.im;
    square_re += z.re * z.re, square_im += z.im * z.im, cross += z.re * z.im;
    fourth += z.re * z.re * z.re * z.re;
  }
  // Five standard deviations of each mean: 1, sqrt(2), 1 and sqrt(96) over the root of the count.
  const double unit = 5 / std::sqrt(double{kCount});
  EXPECT_NEAR(mean_re / kCount, 0, unit);
  EXPECT_NEAR(mean_im / kCount, 0, unit);
  EXPECT_NEAR(square_re / kCount, 1, std::sqrt(2.0) * unit);
  EXPECT_NEAR(square_im / kCount, 1, std::sqrt(2.0) * unit);
  EXPECT_NEAR(cross / kCount, 0, unit);
  EXPECT_NEAR(fourth / kCount, 3, std::sqrt(96.0) * unit);
}

}  // namespace
}  // namespace rimetree
