// Results that must be equal to the last bit.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/core/values/result.h"

namespace rimetree::test {

/// `signs_of_zero`: whether zeros must have the same.
inline void expect_same_bits(const Vells& a, const Vells& b, bool signs_of_zero = true) {
  ASSERT_EQ(a.empty(), b.empty());
  if (a.empty()) return;
  ASSERT_EQ(a.type(), b.type());
  ASSERT_TRUE(a.dims() == b.dims());
  ASSERT_TRUE(a.cells() == b.cells());
  const auto bits = [signs_of_zero](const Vells& values) {
    const auto* first = static_cast<const double*>(values.host());
    std::vector<std::uint64_t> all;
    for (std::size_t i = 0; i < values.bytes() / sizeof *first; ++i)
      all.push_back(std::bit_cast<std::uint64_t>(signs_of_zero || first[i] != 0 ? first[i] : 0.0));
    return all;
  };
  EXPECT_EQ(bits(a), bits(b));
}

inline void expect_same_flags(const Flags& a, const Flags& b) {
  ASSERT_EQ(a.size(), b.size());
  ASSERT_TRUE(a.cells() == b.cells());
  if (!a.empty()) {
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(std::int32_t)), 0);
  }
}

/// Holds values, weights and derivatives to each other by expect(a's, b's); status and flags are the same.
template <class Expect>
void expect_alike(const Result& a, const Result& b, Expect expect) {
  ASSERT_EQ(a.status, b.status);
  expect(a.value, b.value);
  expect(a.weight, b.weight);
  ASSERT_EQ(a.derivatives.size(), b.derivatives.size());
  for (std::size_t i = 0; i < a.derivatives.size(); ++i) {
    EXPECT_EQ(a.derivatives[i].parameter, b.derivatives[i].parameter);
    expect(a.derivatives[i].value, b.derivatives[i].value);
  }
  expect_same_flags(a.flags, b.flags);
}
/// Where all that a sum is of is flagged it is zero, of either sign.
inline void expect_same_bits(const Result& a, const Result& b) {
  const bool signs = a.flags.empty();
  expect_alike(a, b, [signs](const Vells& x, const Vells& y) { expect_same_bits(x, y, signs); });
}

}  // namespace rimetree::test
