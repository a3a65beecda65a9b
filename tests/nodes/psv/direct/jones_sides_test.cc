// Which ends of baselines are one side, and which are not.
#include "nodes/psv/direct/jones_sides.h"

#include <gtest/gtest.h>

#include <functional>

namespace rimetree::psv::direct {
namespace {

struct Ends {
  Ends() {
    for (JonesPair<double>& pair : pairs) {
      pair.p_is_matrix = pair.q_is_matrix = true;
      for (int e = 0; e < 4; ++e) pair.p[e] = pair.q[e] = {values + e, 16, 4, 1};
    }
  }
  JonesTerms terms() const { return {1, pairs, true, {&first[0][0], nullptr, 0, 0}}; }

  Complex<double> values[64];
  JonesPair<double> pairs[2];                         // of two baselines
  std::ptrdiff_t first[2][2] = {{-1, -1}, {-1, -1}};  // nothing is asked for
};

/// Whether the ends p of both baselines are one side, at these times.
bool are_one(Ends& ends, std::int32_t time = 3, std::int32_t other_time = 3) {
  SideTable table;
  table.clear();
  const JonesTerms terms = ends.terms();
  const std::uint16_t one = table.add(terms, &ends.pairs[0], false, time);
  const std::uint16_t other = table.add(terms, &ends.pairs[1], false, other_time);
  EXPECT_EQ(table.size(), one == other ? 1u : 2u);
  return one == other;
}

TEST(PsvJonesSides, WhatReadsTheSameIsOneSide) {
  Ends ends;
  EXPECT_TRUE(are_one(ends));
  EXPECT_FALSE(are_one(ends, 3, 4));
  for (auto& pair : ends.pairs)
    for (auto& view : pair.p) view.time = 0;
  EXPECT_TRUE(are_one(ends, 3, 4)) << "nothing varies in time";
}

TEST(PsvJonesSides, AnyDifferenceMakesTwo) {
  const std::function<void(JonesPair<double>&)> differences[] = {
      [](auto& pair) { pair.p_is_conjugated = true; },
      [](auto& pair) { pair.p_is_matrix = false; },
      [](auto& pair) { ++pair.p[2].data; },
      [](auto& pair) { pair.p[3].channel = 0; },
      [](auto& pair) { pair.p[0].source = 0; },
      [](auto& pair) { pair.p[1].time = 2; },
  };
  for (std::size_t i = 0; i < std::size(differences); ++i) {
    Ends ends;
    differences[i](ends.pairs[1]);
    EXPECT_FALSE(are_one(ends)) << i;
  }
  Ends ends;
  ends.first[0][0] = 0, ends.first[1][0] = 8;
  EXPECT_FALSE(are_one(ends)) << "they gain at places of their own";
}

TEST(PsvJonesSides, TheTwoSidesOfABaselineAreTwo) {
  Ends ends;
  SideTable table;
  table.clear();
  const JonesTerms terms = ends.terms();
  EXPECT_NE(table.add(terms, &ends.pairs[0], false, 0), table.add(terms, &ends.pairs[0], true, 0));
}

}  // namespace
}  // namespace rimetree::psv::direct
