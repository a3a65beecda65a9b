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

}  // namespace
}  // namespace rimetree
