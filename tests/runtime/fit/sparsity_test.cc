// Sparsity: cliques of unknowns become elements of the lower triangle, once each.
#include "runtime/fit/sparsity.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace rimetree::fit {
namespace {

TEST(Sparsity, HasTheElementsOfItsCliquesAndTheDiagonal) {
  SparsityBuilder builder(5);
  builder.connect(std::vector<std::uint32_t>{0, 3});
  builder.connect(std::vector<std::uint32_t>{4, 0, 3});
  builder.connect(std::vector<std::uint32_t>{3, 0});
  const auto sparsity = builder.finish();
  EXPECT_EQ(sparsity->n(), 5u);
  EXPECT_EQ(sparsity->n_element(), 8u);  // five, and (3,0), (4,0), (4,3)
  EXPECT_DOUBLE_EQ(sparsity->density(), 8.0 / 15);
  for (std::size_t k = 0; k < 5; ++k) EXPECT_EQ(sparsity->row(sparsity->begin(k)), k);
  EXPECT_EQ(sparsity->row(sparsity->find(4, 3)), 4u);
  EXPECT_EQ(sparsity->find(4, 0), sparsity->find(3, 0) + 1);
  EXPECT_THROW(static_cast<void>(sparsity->find(2, 1)), std::out_of_range);
}

TEST(Sparsity, AnElementOfManyEquationsIsThereOnce) {
  SparsityBuilder builder(3);
  for (int i = 0; i < 1000; ++i) builder.connect(std::vector<std::uint32_t>{0, 1, 2});
  EXPECT_EQ(builder.finish()->n_element(), 6u);
}

}  // namespace
}  // namespace rimetree::fit
