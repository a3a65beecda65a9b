#include "runtime/ms/set/tile_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace rimetree::ms {
namespace {

void add(RowIndex* index, double time_s, int p, int q, double exposure_s = 10, int data_desc_id = 0, int field_id = 0) {
  index->time_s.push_back(time_s);
  index->exposure_s.push_back(exposure_s);
  index->antenna1.push_back(p);
  index->antenna2.push_back(q);
  index->data_desc_id.push_back(data_desc_id);
  index->field_id.push_back(field_id);
}

RowIndex regular(int n_time) {
  RowIndex index;
  for (int time = 0; time < n_time; ++time) {
    for (int p = 0; p < 3; ++p) {
      for (int q = p + 1; q < 3; ++q) add(&index, 100 + 10 * time, p, q);
    }
  }
  return index;
}

RowSelection slots(std::size_t n) {
  RowSelection selection;
  selection.time_slots = n;
  return selection;
}

TEST(TilePlan, cuts_times_into_tiles) {
  const TilePlan plan = plan_tiles(regular(7), slots(3));
  ASSERT_EQ(plan.tiles.size(), 3u);
  EXPECT_EQ(plan.tiles[0].n_slot, 3u);
  EXPECT_EQ(plan.tiles[2].n_slot, 1u);
  EXPECT_EQ(plan.tiles[1].n_row, 9u);
  EXPECT_EQ(plan.tiles[1].n_baseline, 3u);
  EXPECT_EQ(plan.tiles[1].first_time_s, 130);
  EXPECT_EQ(plan.tiles[1].last_time_s, 150);
}

TEST(TilePlan, tiles_know_scan_and_observation_of_their_first_rows) {
  RowIndex index = regular(2);
  EXPECT_EQ(plan_tiles(index, slots(1)).tiles[1].scans[0].observation, 0);  // nobody knows
  index.scan = {7, 7, 7, 8, 9, 8};
  index.observation = {1, 1, 1, 2, 2, 2};
  const TilePlan plan = plan_tiles(index, slots(1));
  ASSERT_EQ(plan.tiles.size(), 2u);
  EXPECT_EQ(plan.tiles[0].scans.at(0).scan, 7);
  EXPECT_EQ(plan.tiles[0].scans.at(0).observation, 1);
  EXPECT_EQ(plan.tiles[1].scans.at(0).scan, 8);
  EXPECT_EQ(plan.tiles[1].scans.at(0).n_row, 2u);
  EXPECT_EQ(plan.tiles[1].scans.at(1).scan, 9);
  EXPECT_EQ(plan.tiles[1].scans.at(1).n_row, 1u);
  EXPECT_EQ(plan.tiles[0].scans.size(), 1u);
  EXPECT_EQ(plan.tiles[1].scans.at(0).observation, 2);
}

TEST(TilePlan, takes_the_times_that_are_asked_for) {
  RowSelection selection = slots(2);
  selection.first_time_s = 120;
  selection.last_time_s = 140;
  const TilePlan plan = plan_tiles(regular(7), selection);
  EXPECT_EQ(plan.slot_time_s, (std::vector<double>{120, 130, 140}));
  ASSERT_EQ(plan.tiles.size(), 2u);
  EXPECT_EQ(plan.tiles[0].n_slot, 2u);
  EXPECT_EQ(plan.tiles[1].last_time_s, 140);
  selection.first_time_s = 141;
  EXPECT_TRUE(plan_tiles(regular(7), selection).tiles.empty());
}

TEST(TilePlan, times_that_jitter_are_one_slot) {
  RowIndex index = regular(4);
  for (std::size_t row = 0; row < index.time_s.size(); ++row) index.time_s[row] += 0.003 * static_cast<double>(row % 3);
  const TilePlan plan = plan_tiles(index, slots(10));
  ASSERT_EQ(plan.tiles.size(), 1u);
  EXPECT_EQ(plan.tiles[0].n_slot, 4u);
  EXPECT_DOUBLE_EQ(plan.slot_time_s[1], 110.003);  // mean of 0, 3 and 6 ms
}

TEST(TilePlan, short_exposures_are_not_lumped_together) {
  RowIndex index;
  for (int time = 0; time < 5; ++time) add(&index, 100 + 0.04 * time, 0, 1, 0.04);
  EXPECT_EQ(plan_tiles(index, slots(10)).tiles[0].n_slot, 5u);
  for (double& exposure_s : index.exposure_s) exposure_s = 0;
  EXPECT_EQ(plan_tiles(index, slots(10)).tiles[0].n_slot, 5u);
}

TEST(TilePlan, order_of_rows_does_not_matter) {
  const RowIndex index = regular(6);
  std::vector<std::int64_t> order(index.n_row());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  RowIndex shuffled;
  for (const std::int64_t row : order) add(&shuffled, index.time_s[row], index.antenna1[row], index.antenna2[row]);
  const TilePlan a = plan_tiles(index, slots(4)), b = plan_tiles(shuffled, slots(4));
  ASSERT_EQ(a.row_order.size(), b.row_order.size());
  for (std::size_t i = 0; i < a.row_order.size(); ++i) EXPECT_EQ(order[b.row_order[i]], a.row_order[i]);
}

TEST(TilePlan, missing_rows_shift_nothing) {
  RowIndex index;
  add(&index, 100, 0, 1);
  add(&index, 100, 1, 2);
  add(&index, 110, 0, 2);
  const TilePlan plan = plan_tiles(index, slots(10));
  ASSERT_EQ(plan.tiles.size(), 1u);
  EXPECT_EQ(plan.tiles[0].n_baseline, 3u);
  EXPECT_EQ(plan.tiles[0].n_row, 3u);
  EXPECT_EQ(plan.slot_begin, (std::vector<std::size_t>{0, 2, 3}));
}

TEST(TilePlan, data_descriptions_and_fields_are_apart_and_selectable) {
  RowIndex index;
  for (int id = 0; id < 2; ++id) {
    for (int time = 0; time < 2; ++time) add(&index, 100 + 10 * time, 0, 1, 10, id, time);
  }
  EXPECT_EQ(plan_tiles(index, slots(10)).tiles.size(), 4u);
  RowSelection selection;
  selection.data_desc_id = 1;
  selection.field_id = 0;
  const TilePlan plan = plan_tiles(index, selection);
  ASSERT_EQ(plan.row_order, std::vector<std::int64_t>{2});
  EXPECT_EQ(plan.tiles[0].data_desc_id, 1);
}

TEST(TilePlan, autocorrelations_only_if_asked) {
  RowIndex index = regular(1);
  add(&index, 100, 1, 1);
  EXPECT_EQ(plan_tiles(index, slots(1)).row_order.size(), 3u);
  RowSelection selection;
  selection.autocorrelations = true;
  EXPECT_EQ(plan_tiles(index, selection).row_order.size(), 4u);
}

TEST(TilePlan, repeated_rows_go_to_layers_before_their_window) {
  RowIndex index = regular(4);
  add(&index, 130, 0, 1);  // row 12 repeats row 9
  add(&index, 130, 0, 1);  // row 13 too
  add(&index, 110, 1, 2);  // row 14 repeats row 5
  const TilePlan plan = plan_tiles(index, slots(2));
  std::vector<int> layers;
  std::set<std::int64_t> seen;
  for (const TileKey& tile : plan.tiles) {
    layers.push_back(tile.layer);
    for (std::size_t i = plan.slot_begin[tile.first_slot]; i < plan.slot_begin[tile.first_slot + tile.n_slot]; ++i) {
      EXPECT_TRUE(seen.insert(plan.row_order[i]).second) << "row " << plan.row_order[i] << " is in two tiles";
    }
  }
  EXPECT_EQ(layers, (std::vector<int>{1, 0, 2, 1, 0}));
  EXPECT_EQ(seen.size(), 15u);
}

TEST(TilePlan, rows_of_different_exposure_share_a_slot_when_their_centres_coincide) {
  RowIndex index;  // three short rows and one three times as long, around the same centre
  for (const double time_s : {90.0, 100.0, 110.0}) add(&index, time_s, 0, 1, 10);
  add(&index, 100, 0, 2, 30);
  const TilePlan plan = plan_tiles(index, slots(10));
  ASSERT_EQ(plan.slot_time_s, (std::vector<double>{90, 100, 110}));
  EXPECT_EQ(plan.slot_interval_s, (std::vector<double>{10, 30, 10}));
  index.time_s[3] = 105;  // an even number: the centre lies between
  EXPECT_EQ(plan_tiles(index, slots(10)).slot_time_s, (std::vector<double>{90, 100, 105, 110}));
}

/// Baseline 0-1 is averaged over 4 slots, 1-2 over 2.
RowSelection averaged(std::size_t n) {
  RowSelection selection = slots(n);
  selection.averaged = {{{{0, 1}}, 4, 2}, {{{1, 2}}, 2, 1}};
  return selection;
}

TEST(TilePlan, baselines_that_are_averaged_differently_are_tiled_separately) {
  RowIndex index = regular(8);
  std::swap(index.antenna1[5], index.antenna2[5]);  // 2-1 is 1-2
  const TilePlan plan = plan_tiles(index, averaged(8));
  ASSERT_EQ(plan.tiles.size(), 3u);
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(plan.tiles[k].averaged, k);
    EXPECT_EQ(plan.tiles[k].n_slot, 8u);
    EXPECT_EQ(plan.tiles[k].n_row, 8u);
    EXPECT_EQ(plan.tiles[k].window_s, 100);
  }
  EXPECT_EQ(plan.row_order.size(), 24u);
  EXPECT_EQ(averaged(8).averaging_of(1).slots, 4u);
  EXPECT_EQ(averaged(8).averaging_of(1).channels, 2u);
  EXPECT_FALSE(averaged(8).averaging_of(0).any());
}

TEST(TilePlan, a_kind_without_rows_at_first_is_of_the_same_window) {
  RowIndex index;
  for (int time = 0; time < 8; ++time) {
    if (time >= 2) add(&index, 100 + 10 * time, 0, 1);
    add(&index, 100 + 10 * time, 1, 2);
  }
  const TilePlan plan = plan_tiles(index, averaged(4));
  ASSERT_EQ(plan.tiles.size(), 4u);
  EXPECT_EQ(plan.tiles[0].averaged, 1);
  EXPECT_EQ(plan.tiles[0].first_time_s, 120);
  EXPECT_EQ(plan.tiles[0].window_s, 100);
  EXPECT_EQ(plan.tiles[1].averaged, 2);
  EXPECT_EQ(plan.tiles[2].window_s, 140);
}

TEST(TilePlan, tiles_do_not_cut_cells_that_are_averaged) {
  RowSelection selection = averaged(6);
  selection.averaging.time_edges_s = {145};  // cells begin anew with the slot at 150
  const TilePlan plan = plan_tiles(regular(12), selection);
  std::vector<double> begins;
  for (const TileKey& tile : plan.tiles)
    if (tile.averaged == 1) begins.push_back(tile.first_time_s);
  EXPECT_EQ(begins, (std::vector<double>{100, 150, 190}));
  EXPECT_EQ(averaged(6).slot_unit(), 4u);
  selection.averaged[1].slots = 3;
  EXPECT_EQ(selection.slot_unit(), 12u);
}

TEST(TilePlan, nothing_selected_is_no_tile) { EXPECT_TRUE(plan_tiles(RowIndex(), slots(3)).tiles.empty()); }

}  // namespace
}  // namespace rimetree::ms
