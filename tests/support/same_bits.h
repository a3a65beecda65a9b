// Results that must be equal to the last bit.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/result.h"

namespace rimetree::test {

/// Values and flags.
inline void expect_same_bits(const Result& a, const Result& b) {
  ASSERT_EQ(a.status, b.status);
  ASSERT_EQ(a.value.type(), b.value.type());
  ASSERT_TRUE(a.value.dims() == b.value.dims());
  ASSERT_TRUE(a.value.cells() == b.value.cells());
  EXPECT_EQ(std::memcmp(a.value.host(), b.value.host(), a.value.bytes()), 0);
  ASSERT_EQ(a.flags.size(), b.flags.size());
  ASSERT_TRUE(a.flags.cells() == b.flags.cells());
  if (!a.flags.empty()) {
    EXPECT_EQ(std::memcmp(a.flags.data(), b.flags.data(), a.flags.size() * sizeof(std::int32_t)), 0);
  }
}

}  // namespace rimetree::test
