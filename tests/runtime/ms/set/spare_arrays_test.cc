#include "runtime/ms/set/spare_arrays.h"

#include <gtest/gtest.h>

namespace rimetree::ms {
namespace {

Tile tile_of(std::size_t n) {
  Tile tile;
  tile.columns["DATA"].assign(n, 1.0f);
  tile.flag.assign(n, 1);
  tile.weight.assign(n, 1.0f);
  return tile;
}

TEST(SpareArrays, ServeTheNextTile) {
  const auto spare = SpareArrays::create();
  const void* before = nullptr;
  {
    const auto held = spare->hold(tile_of(1000));
    before = held->columns.at("DATA").data();
  }
  Tile next;
  spare->lend({"DATA", "MODEL_DATA"}, true, false, &next);
  EXPECT_EQ(next.columns.at("DATA").data(), before);
  EXPECT_EQ(next.columns.at("MODEL_DATA").capacity(), 0);
  EXPECT_GE(next.flag.capacity(), 1000);
  EXPECT_EQ(next.weight.capacity(), 0);  // nobody asked for weights
}

TEST(SpareArrays, KeepNoMoreThanTheyMay) {
  const auto spare = SpareArrays::create();
  spare->keep_up_to(9000);
  Tile tile = tile_of(1000);
  spare->take_back(&tile);
  EXPECT_TRUE(tile.columns.at("DATA").empty());
  EXPECT_EQ(spare->column().size(), 1000);
  Tile more = tile_of(2000);
  spare->take_back(&more);
  EXPECT_EQ(spare->column().capacity(), 0);  // 16 kB of a column are too much
  Tile large = tile_of(1000);
  spare->keep_up_to(1 << 20);
  spare->take_back(&large);
  spare->keep_up_to(0);
  EXPECT_EQ(spare->column().capacity(), 0);
}

TEST(SpareArrays, ATileMayOutliveItsSet) {
  auto spare = SpareArrays::create();
  auto held = spare->hold(tile_of(10));
  spare = nullptr;
  EXPECT_EQ(held->columns.at("DATA").size(), 10);
  held = nullptr;
}

}  // namespace
}  // namespace rimetree::ms
