#include "runtime/solve/sums/strand_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace rimetree::solve {
namespace {

class StrandSums : public testing::TestWithParam<int> {
 protected:
  std::vector<double> numbers(double least) {
    std::vector<double> x(n_);
    for (double& one : x) one = least + distribution_(random_);
    return x;
  }
  /// Cell by cell, as cell_sums.h says.
  template <class F>
  double by_strands(const F& f) const {
    double strand[kStrands] = {};
    for (std::size_t i = 0; i < n_; ++i) strand[i % kStrands] += f(i);
    return sum_of_strands(strand);
  }

  std::size_t n_ = static_cast<std::size_t>(GetParam());
  std::mt19937 random_{1};
  std::uniform_real_distribution<double> distribution_{0, 1};
};

TEST_P(StrandSums, HaveTheBitsOfTheirDefinition) {
  const auto w = numbers(0), ar = numbers(-1), ai = numbers(-1), br = numbers(-1), bi = numbers(-1);
  const auto a = [&](std::size_t i) { return Complex<double>{ar[i], ai[i]}; };
  const auto b = [&](std::size_t i) { return Complex<double>{br[i], bi[i]}; };
  const Complex<double> sum = sum_of_products(n_, w.data(), ar.data(), ai.data(), br.data(), bi.data());
  EXPECT_EQ(sum.re, by_strands([&](std::size_t i) { return weighted_product_re(w[i], a(i), b(i)); }));
  EXPECT_EQ(sum.im, by_strands([&](std::size_t i) { return weighted_product_im(w[i], a(i), b(i)); }));
  EXPECT_EQ(sum_of_powers(n_, w.data(), ar.data(), ai.data()),
            by_strands([&](std::size_t i) { return weighted_power(w[i], a(i)); }));
}

TEST_P(StrandSums, OfMisfitsAreThoseOfTheirDefinition) {
  auto w = numbers(0);
  const auto re = numbers(-3), im = numbers(-1);
  if (n_ > 2) w[2] = 0;  // a cell without data
  for (const ErrorModel errors : {ErrorModel{}, ErrorModel{3, 0.7}, ErrorModel{1e6, 1e-9}})
    for (const int dimensions : {1, 2}) {
      const auto misfit = [&](std::size_t i) { return misfit_of(errors, w[i], {re[i], im[i]}, dimensions); };
      auto weight = w;
      const MisfitSums sums = sum_of_misfits(errors, dimensions, n_, re.data(), im.data(), weight.data());
      const double objective = by_strands([&](std::size_t i) { return misfit(i).objective; }),
                   chi_square = by_strands([&](std::size_t i) { return misfit(i).chi_square; });
      EXPECT_NEAR(sums.objective, objective, 1e-15 * objective);
      EXPECT_NEAR(sums.chi_square, chi_square, 1e-15 * chi_square);
      for (std::size_t i = 0; i < n_; ++i) EXPECT_DOUBLE_EQ(weight[i], w[i] * misfit(i).factor);
    }
}

TEST_P(StrandSums, SayWhetherAllCellsCount) {
  auto w = numbers(0.1), x = numbers(-1), y = numbers(-1);
  const double* const arrays[] = {x.data(), y.data()};
  EXPECT_TRUE(all_count(n_, w.data(), arrays, 2));
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < n_; ++i) {
    for (const double bad : {0.0, -1.0, kInfinite, std::nan("")}) {
      const double good = std::exchange(w[i], bad);
      EXPECT_FALSE(all_count(n_, w.data(), arrays, 2)) << bad << " as weight " << i;
      w[i] = good;
    }
    for (const double bad : {-kInfinite, std::nan("")}) {
      const double good = std::exchange(y[i], bad);
      EXPECT_FALSE(all_count(n_, w.data(), arrays, 2)) << bad << " as number " << i;
      y[i] = good;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, StrandSums, testing::Values(0, 1, 3, 4, 5, 11, 80, 513));

}  // namespace
}  // namespace rimetree::solve
