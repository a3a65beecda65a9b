#include "nodes/correlator/group_products.h"

#include <gtest/gtest.h>

#include <cmath>

#include "nodes/correlator/cross_products.h"
#include "runtime/core/error.h"

namespace rimetree::correlator {

namespace {

// M10: the table says what the closed form says.
TEST(GroupProducts, TableOfPairsIsTheClosedForm) {
  for (const std::size_t n : {1, 2, 3, 64, 511, 512}) {
    const auto table = pair_table(n);
    ASSERT_EQ(table.size(), n * (n + 1) / 2);
    for (std::size_t k = 0; k < table.size(); ++k) {
      const auto i = static_cast<std::size_t>((std::sqrt(8.0 * double(k) + 1) - 1) / 2);
      ASSERT_EQ(table[k].first, i) << k;
      ASSERT_EQ(table[k].second, k - i * (i + 1) / 2) << k;
      ASSERT_EQ(product_of(table[k].first, table[k].second), k);
    }
  }
}

// M9: samples read for each product, as the paper counts them: 2 / G and (G + 1) / G, of blocks that work.
TEST(GroupProducts, ReadsAsOftenAsThePaperSays) {
  constexpr std::size_t kInputs = 16, kTimes = 10;
  std::vector<std::uint8_t> codes(kInputs * kTimes, 0x5a);
  const SampleView samples = input_fastest(codes.data(), sample_format("chime"), kTimes, 1, kInputs);
  for (const std::size_t group : {1, 2, 4, 8}) {
    const std::size_t blocks = n_products(kInputs / group), products = blocks * group * group * kTimes;
    ProductSums sums(1, kInputs);
    EXPECT_EQ(double(add_by_groups(samples, nullptr, Sharing::groups, group, sums)) / double(products),
              2.0 / double(group));
    EXPECT_EQ(double(add_by_groups(samples, nullptr, Sharing::hybrid, group, sums)) / double(products),
              double(group + 1) / double(group));
  }
}

TEST(GroupProducts, RefusesGroupsThatDoNotDivide) {
  std::vector<std::uint8_t> codes(12);
  ProductSums sums(1, 6);
  const SampleView samples = input_fastest(codes.data(), sample_format("chime"), 2, 1, 6);
  EXPECT_THROW(add_by_groups(samples, nullptr, Sharing::groups, 4, sums), Error);
  EXPECT_THROW(add_by_groups(samples, nullptr, Sharing::hybrid, 0, sums), Error);
  EXPECT_THROW(add_by_groups(samples, nullptr, Sharing::groups, 16, sums), Error);
  ThreadPool threads(1);
  CrossProducts products(1, 6, strategy("groups4"), threads);
  EXPECT_THROW(products.add(samples), Error);
}

}  // namespace

}  // namespace rimetree::correlator
