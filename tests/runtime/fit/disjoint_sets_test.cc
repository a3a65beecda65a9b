// Disjoint sets: representatives are the smallest elements, whatever order unions come in.
#include "runtime/fit/disjoint_sets.h"

#include <gtest/gtest.h>

namespace rimetree::fit {
namespace {

TEST(DisjointSets, AreUnited) {
  DisjointSets sets(7);
  sets.unite(5, 3);
  sets.unite(6, 5);
  sets.unite(1, 2);
  for (const auto& [element, representative] :
       {std::pair(0u, 0u), {1u, 1u}, {2u, 1u}, {3u, 3u}, {4u, 4u}, {5u, 3u}, {6u, 3u}})
    EXPECT_EQ(sets.find(element), representative);
  sets.unite(6, 2);
  for (const auto element : {1u, 2u, 3u, 5u, 6u}) EXPECT_EQ(sets.find(element), 1u);
}

}  // namespace
}  // namespace rimetree::fit
