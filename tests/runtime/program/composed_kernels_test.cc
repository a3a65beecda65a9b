// Kernels of several operations in one: sums of products, of real numbers and of complex ones in pairs.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <limits>
#include <random>
#include <vector>

#include "runtime/program/kernels.h"

namespace rimetree::program {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Kernels, SumsOfProductsOfPairsAreThoseOfComplexNumbers) {
  std::mt19937_64 random(10);
  std::normal_distribution<double> normal;
  constexpr std::size_t n = 3 * kStep;
  std::vector<double> in[kMostOperands], out(n);
  Call call{{out.data(), nullptr}, {}};
  for (int k = 0; k < kMostOperands; ++k) {
    for (std::size_t i = 0; i < n; ++i) in[k].push_back(normal(random));
    call.in[k] = {in[k].data(), ~std::size_t{0}};
  }
  const struct {
    Op op;
    int products;
    bool adds;
  } kinds[] = {{Op::pair_product, 1, false},
               {Op::add_pair_product, 1, true},
               {Op::pair_products_sum, 2, false},
               {Op::add_pair_products_sum, 2, true}};
  for (const auto& [op, products, adds] : kinds) {
    kernel_of(op)(call, n);
    for (std::size_t i = 0; i < n; i += 2) {
      std::complex<double> sum;
      for (int p = 0; p < products; ++p) {
        const double *const x = &in[2 * p][i], *const y = &in[2 * p + 1][i];
        const std::complex<double> product(x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]);
        sum = p == 0 ? product : sum + product;
      }
      if (adds) sum = std::complex<double>(in[2 * products][i], in[2 * products][i + 1]) + sum;
      EXPECT_EQ(out[i], sum.real());
      EXPECT_EQ(out[i + 1], sum.imag());
    }
  }
}

TEST(Kernels, ComposedOperationsAreTheirParts) {
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 500; ++i) {
    double v[kMostOperands][kStep], out[kStep], cosine[kStep];
    Call call{{out, cosine}, {}};
    for (int k = 0; k < kMostOperands; ++k) {
      for (double& x : v[k]) x = normal(random);
      call.in[k] = {v[k], ~std::size_t{0}};
    }
    const double a = v[0][2], b = v[1][2], c = v[2][2], d = v[3][2];
    const auto by = [&](Op op) { return kernel_of(op)(call, kStep), out[2]; };
    EXPECT_EQ(by(Op::multiply_add), a * b + c);
    EXPECT_EQ(by(Op::multiply_sub), a * b - c);
    EXPECT_EQ(by(Op::negate_add), c - a * b);
    EXPECT_EQ(by(Op::products_sum), a * b + c * d);
    EXPECT_EQ(by(Op::products_difference), a * b - c * d);
    EXPECT_EQ(by(Op::add_products_sum), v[4][2] + (a * b + c * d));
    EXPECT_EQ(by(Op::add_products_difference), v[4][2] + (a * b - c * d));
    EXPECT_EQ(by(Op::sin_cos), apply(Op::sin, a));
    EXPECT_EQ(cosine[2], apply(Op::cos, a));
  }
}

TEST(Kernels, WhatWeighsNothingDoesNotSpoilASum) {
  const auto by = [](Op op, std::vector<double> operands) {
    double in[kMostOperands][kStep], out[kStep];
    Call call{{out, nullptr}, {}};
    for (std::size_t k = 0; k < operands.size(); ++k) {
      std::fill_n(in[k], kStep, operands[k]);
      call.in[k] = {in[k], ~std::size_t{0}};
    }
    kernel_of(op)(call, kStep);
    return out[kStep - 1];
  };
  EXPECT_EQ(by(Op::weigh_add, {0, kInfinity, 2}), 2);
  EXPECT_EQ(by(Op::weigh_sub, {0, kNan, 2}), -2);
  EXPECT_EQ(by(Op::negate_weigh_add, {0, kInfinity, 2}), 2);
  EXPECT_EQ(by(Op::weigh_add, {3, 5, 2}), 17);
  EXPECT_EQ(by(Op::weigh_sub, {3, 5, 2}), 13);
  EXPECT_EQ(by(Op::negate_weigh_add, {3, 5, 2}), -13);
  for (const Op op : {Op::weighed_sum, Op::weighed_difference}) EXPECT_EQ(by(op, {0, kInfinity, 0, kNan}), 0);
  for (const Op op : {Op::add_weighed_sum, Op::add_weighed_difference})
    EXPECT_EQ(by(op, {0, kNan, 0, kInfinity, 2.5}), 2.5);
  EXPECT_EQ(by(Op::weighed_sum, {3, 5, 2, 4}), 23);
  EXPECT_EQ(by(Op::weighed_difference, {3, 5, 2, 4}), 7);
  EXPECT_EQ(by(Op::add_weighed_sum, {3, 5, 2, 4, 1}), 24);
  EXPECT_EQ(by(Op::add_weighed_difference, {3, 5, 2, 4, 1}), 8);
}

TEST(Kernels, ComplexNumbersTakenApartAndJoined) {
  for (const std::size_t n : {1u, 7u, 8u, 29u}) {
    std::vector<double> pairs(2 * n), re(n), im(n), again(2 * n);
    for (std::size_t i = 0; i < 2 * n; ++i) pairs[i] = double(i);
    split_complex(pairs.data(), re.data(), im.data(), n);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(re[i], double(2 * i));
      EXPECT_EQ(im[i], double(2 * i + 1));
    }
    join_complex(re.data(), im.data(), again.data(), n);
    EXPECT_EQ(pairs, again);
  }
}

}  // namespace
}  // namespace rimetree::program
