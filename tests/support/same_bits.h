// Results that must be equal to the last bit.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/core/result.h"

namespace rimetree::test {

inline void expect_same_bits(const Vells& a, const Vells& b) {
  ASSERT_EQ(a.empty(), b.empty());
  if (a.empty()) return;
  ASSERT_EQ(a.type(), b.type());
  ASSERT_TRUE(a.dims() == b.dims());
  ASSERT_TRUE(a.cells() == b.cells());
  const auto bits = [](const Vells& values) {
    const auto* first = static_cast<const std::uint64_t*>(values.host());
    return std::vector<std::uint64_t>(first, first + values.bytes() / sizeof *first);
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
inline void expect_same_bits(const Result& a, const Result& b) {
  expect_alike(a, b, [](const Vells& x, const Vells& y) { expect_same_bits(x, y); });
}

}  // namespace rimetree::test
