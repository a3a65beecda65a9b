#include "runtime/ms/set/one_order.h"

#include <gtest/gtest.h>

#include <complex>
#include <memory>

#include "runtime/ms/tiles/tile_reader.h"
#include "tests/runtime/ms/small_set.h"

namespace rimetree::ms {
namespace {

using Value = std::complex<float>;

struct Row {
  double time_s;
  int p, q, data_desc_id = 0, field_id = 0;
};

std::shared_ptr<const RowIndex> index_of(const std::vector<Row>& rows) {
  const auto made = std::make_shared<RowIndex>();
  RowIndex& index = *made;
  for (const Row& row : rows) {
    index.time_s.push_back(row.time_s);
    index.exposure_s.push_back(8);
    index.antenna1.push_back(row.p);
    index.antenna2.push_back(row.q);
    index.data_desc_id.push_back(row.data_desc_id);
    index.field_id.push_back(row.field_id);
  }
  return made;
}

const std::vector<bool> kAll = {true, true};

TEST(OneOrder, rows_are_turned_where_a_pair_has_both_orders) {
  const RowIndex made = *in_one_order(index_of({{0, 0, 1}, {0, 2, 1}, {8, 1, 0}, {8, 2, 1}, {8, 1, 1}}), kAll);
  EXPECT_EQ(made.turned, (std::vector<std::uint8_t>{0, 0, 1, 0, 0}));  // 2-1 has one order, and keeps it
  EXPECT_EQ(made.antenna1, (std::vector<int>{0, 2, 0, 2, 1}));
  EXPECT_EQ(made.antenna2, (std::vector<int>{1, 1, 1, 1, 1}));
  EXPECT_TRUE(in_one_order(index_of({{0, 1, 0}, {8, 1, 0}}), kAll)->turned.empty());
  EXPECT_TRUE(in_one_order(index_of({}), kAll)->turned.empty());
}

TEST(OneOrder, pairs_with_both_orders_at_one_time_stay_wherever_they_are) {
  const std::vector<Row> rows = {{0, 0, 1}, {8.05, 1, 0}, {8, 0, 1}, {16, 1, 0}, {0, 1, 2}, {8, 2, 1}};
  EXPECT_EQ(in_one_order(index_of(rows), kAll)->turned, (std::vector<std::uint8_t>{0, 0, 0, 0, 0, 1}));
  // At one time in different windows or fields they are no doubles.
  const std::vector<Row> apart = {{0, 0, 1, 0, 0}, {0, 1, 0, 1, 0}, {0, 1, 0, 0, 1}};
  EXPECT_EQ(in_one_order(index_of(apart), kAll)->turned, (std::vector<std::uint8_t>{0, 1, 1}));
  EXPECT_EQ(in_one_order(index_of(apart), {true, false})->turned, (std::vector<std::uint8_t>{0, 0, 1}));
}

TEST(OneOrder, cross_hands_change_places_if_both_are_there) {
  using Places = std::vector<std::size_t>;
  EXPECT_EQ(exchanged_correlations({9, 10, 11, 12}), (Places{0, 2, 1, 3}));
  EXPECT_EQ(exchanged_correlations({5, 6, 7, 8}), (Places{0, 2, 1, 3}));
  EXPECT_EQ(exchanged_correlations({7, 6}), (Places{1, 0}));
  EXPECT_EQ(exchanged_correlations({9, 12}), (Places{0, 1}));
  EXPECT_EQ(exchanged_correlations({1}), (Places{0}));
  EXPECT_FALSE(exchanged_correlations({9, 10}));
  EXPECT_FALSE(exchanged_correlations({13, 17}));
}

TEST(OneOrder, a_reader_turns_all_that_a_row_has) {
  const TemporaryFolder folder;
  MsDescription description = small_description(2, 2);
  description.weight_spectrum = true;
  description.uvw_m = {1, 2, 3, 4, 5, 6};
  description.turned = {0, 1};
  create(folder / "a.ms", description);
  MeasurementSet ms(folder / "a.ms", Access::kUpdate);
  const CellPart part{ms.cell_shape(0), 0, 5};
  std::vector<Value> values(20);
  std::vector<std::uint8_t> flags(20, 0);
  std::vector<float> weights(20);
  for (std::size_t i = 0; i < 20; ++i) values[i] = {static_cast<float>(i), 1}, weights[i] = static_cast<float>(i);
  flags[1] = flags[10] = 1;  // XY of channel 0, YX of channel 2
  ms.table().write_cells("DATA", {1}, part, values.data());
  ms.table().write_cells("FLAG", {1}, part, flags.data());
  ms.table().write_cells("WEIGHT_SPECTRUM", {1}, part, weights.data());

  ReadSelection selection;
  selection.columns = {"DATA"};
  EXPECT_EQ(TileReader(ms, selection).baselines(), (std::vector<Baseline>{{0, 1}, {1, 0}}));
  const Tile stored = TileReader(ms, selection).read(0);
  EXPECT_EQ(stored.uvw_m[9], -4);
  selection.rows.one_order = true;
  const TileReader reader(ms, selection);
  EXPECT_EQ(reader.baselines(), (std::vector<Baseline>{{0, 1}}));
  const Tile tile = reader.read(0);
  ASSERT_EQ(tile.n_row(), 2u);
  EXPECT_EQ(tile.row, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(tile.uvw_m, (std::vector<double>{1, 2, 3, 4, 5, 6}));
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(tile.uvw_rate_m_s[3 + k], -stored.uvw_rate_m_s[9 + k]);
  const std::size_t place[] = {0, 2, 1, 3};
  for (std::size_t channel = 0; channel < 5; ++channel)
    for (std::size_t k = 0; k < 4; ++k) {
      const std::size_t to = 20 + 4 * channel + k, from = 4 * channel + place[k];
      EXPECT_EQ(tile.columns.at("DATA")[to], std::conj(values[from]));
      EXPECT_EQ(tile.flag[to], flags[from]);
      EXPECT_EQ(tile.weight[to], weights[from]);
    }
}

}  // namespace
}  // namespace rimetree::ms
