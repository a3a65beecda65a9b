// What is finite of visibilities, at every place of a block and beyond it, against the definition.
#include "runtime/ms/runs/finite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace rimetree::ms {
namespace {

using Values = std::vector<std::complex<float>>;

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

/// Finite values, among them the largest, the smallest and both zeros.
Values finite_values(std::size_t n) {
  const float some[] = {1.5F,
                        -2.0F,
                        0.0F,
                        -0.0F,
                        std::numeric_limits<float>::max(),
                        std::numeric_limits<float>::lowest(),
                        std::numeric_limits<float>::denorm_min()};
  Values values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = {some[i % 7], some[i % 5]};
  return values;
}

TEST(Finite, FiniteValuesOfAnyNumberAreFinite) {
  for (const std::size_t n : {0, 1, 7, 8, 9, 255, 256, 257, 1000}) {
    const Values values = finite_values(n);
    std::vector<std::uint8_t> flags(n);
    EXPECT_TRUE(all_finite(values)) << n;
    EXPECT_EQ(count_not_finite(values), 0U) << n;
    EXPECT_EQ(flag_not_finite(values, flags), 0U) << n;
    EXPECT_EQ(flags, std::vector<std::uint8_t>(n)) << n;
  }
}

TEST(Finite, OneValueThatIsNotIsFoundWhereverItStands) {
  constexpr std::size_t kCount = 300;
  for (std::size_t at = 0; at < kCount; ++at)
    for (const std::complex<float> bad : {std::complex<float>{kNan, 1}, {1, kNan}, {-kInfinity, 0}, {0, kInfinity}}) {
      Values values = finite_values(kCount);
      values[at] = bad;
      std::vector<std::uint8_t> flags(kCount), expected(kCount);
      expected[at] = 1;
      EXPECT_FALSE(all_finite(values)) << at;
      EXPECT_EQ(count_not_finite(values), 1U) << at;
      EXPECT_EQ(flag_not_finite(values, flags), 1U) << at;
      EXPECT_EQ(flags, expected) << at;
    }
}

TEST(Finite, FlagsThatAreSetStayAndAreNotCountedAgain) {
  Values values = finite_values(600);
  std::vector<std::uint8_t> flags(600);
  flags[3] = flags[299] = 1;
  for (const std::size_t bad : {299, 300, 599}) values[bad] = {kInfinity, kNan};
  EXPECT_EQ(count_not_finite(values), 3U);
  EXPECT_EQ(flag_not_finite(values, flags), 2U);
  for (std::size_t i = 0; i < 600; ++i) EXPECT_EQ(flags[i], i == 3 || i == 299 || i == 300 || i == 599) << i;
}

}  // namespace
}  // namespace rimetree::ms
