// Results of a tree that was evaluated in two ways: the same but for rounding.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "runtime/core/values/largest_error.h"
#include "tests/support/forest_fixture.h"

namespace rimetree::test {

/// Of random_rime.h's trees: sums of at most 6 terms, each a product of at most ten factors below 2 and seven numbers
/// of rounding: 1e-12 of the largest term.
inline constexpr double kTolerance = 1e-12;

inline double largest(const Vells& values) {
  double result = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    result = std::max(result, values.is_complex() ? abs(values.complex()[i]) : std::abs(values.real()[i]));
  return result;
}

inline void expect_same_values(const Vells& got, const Vells& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(got.empty(), expected.empty()) << what;
  if (got.empty()) return;
  ASSERT_EQ(got.dims(), expected.dims()) << what;
  double difference = 0;
  for (std::size_t e = 0; e < got.dims().size(); ++e)
    for (std::size_t t = 0; t < 2; ++t)
      for (std::size_t f = 0; f < 3; ++f) {
        const Complex<double> own = value_at(expected, e, t, f), other = value_at(got, e, t, f);
        const double one = abs(other - own);
        if (!std::isfinite(abs(own)) && !std::isfinite(abs(other))) continue;  // something was divided by zero
        keep_larger(difference, one);
      }
  EXPECT_LE(difference, tolerance) << what;
}

inline std::set<std::string> failures_of(const Result& result) {
  std::set<std::string> all;
  for (const Failure& one : result.failures)
    all.insert(one.node + "|" + one.node_class + "|" + one.origin + one.message);
  return all;
}

inline void expect_same(const Result& got, const Result& expected, const std::string& what,
                        double tolerance = kTolerance) {
  ASSERT_EQ(got.status, expected.status) << what;
  EXPECT_EQ(failures_of(got), failures_of(expected)) << what;
  if (!expected.ok()) return;
  const double scale = std::max(largest(expected.value), 1.0);
  expect_same_values(got.value, expected.value, tolerance * scale, what);
  for (std::size_t e = 0; e < expected.value.dims().size(); ++e)
    for (std::size_t t = 0; t < 2; ++t)
      for (std::size_t f = 0; f < 3; ++f)
        EXPECT_EQ(flag_at(got.flags, e, t, f), flag_at(expected.flags, e, t, f)) << what << " flags";
  ASSERT_EQ(got.derivatives.size(), expected.derivatives.size()) << what;
  for (std::size_t i = 0; i < got.derivatives.size(); ++i) {
    ASSERT_EQ(got.derivatives[i].parameter, expected.derivatives[i].parameter) << what;
    // With respect to directions it is a difference of two stations' derivatives, up to five times as large.
    const Vells& own = expected.derivatives[i].value;
    expect_same_values(got.derivatives[i].value, own, 5 * tolerance * std::max(largest(own), scale),
                       what + " derivative " + std::to_string(i));
  }
}

}  // namespace rimetree::test
