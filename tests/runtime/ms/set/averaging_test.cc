#include "runtime/ms/set/averaging.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

namespace rimetree::ms {
namespace {

/// One baseline, slots of 10 s, channels of 1 MHz; the visibility of slot t and channel f is 10 t + f, its weight 1 +
/// f.
Tile tile_of(std::size_t n_time, std::size_t n_channel) {
  Tile tile;
  tile.baselines = {{0, 1}};
  tile.correlation_type = {9};
  for (std::size_t t = 0; t < n_time; ++t) {
    tile.time_s.push_back(10.0 * static_cast<double>(t));
    tile.interval_s.push_back(10);
    tile.exposure_s.push_back(10);
    tile.row.push_back(static_cast<std::int64_t>(t) + 5);
    for (int k = 0; k < 3; ++k) {
      tile.uvw_m.push_back(100.0 * k + static_cast<double>(t));
      tile.uvw_rate_m_s.push_back(static_cast<double>(t));
    }
    for (std::size_t f = 0; f < n_channel; ++f) {
      tile.columns["DATA"].push_back(static_cast<float>(10 * t + f));
      tile.weight.push_back(static_cast<float>(1 + f));
      tile.flag.push_back(0);
    }
  }
  for (std::size_t f = 0; f < n_channel; ++f) {
    tile.frequency_hz.push_back(1e9 - 1e6 * static_cast<double>(f));
    tile.channel_width_hz.push_back(1e6);
  }
  return tile;
}

Averaging by(std::size_t slots, std::size_t channels, double width_hz = 0) { return {slots, channels, width_hz}; }

TEST(Averaging, means_have_the_weights_and_widths_of_what_they_are_of) {
  const Tile made = average(tile_of(5, 3), by(2, 2));
  EXPECT_EQ(made.time_s, (std::vector<double>{5, 25, 40}));
  EXPECT_EQ(made.interval_s, (std::vector<double>{20, 20, 10}));
  EXPECT_EQ(made.exposure_s, (std::vector<double>{20, 20, 10}));
  EXPECT_EQ(made.frequency_hz, (std::vector<double>{1e9 - 5e5, 1e9 - 2e6}));
  EXPECT_EQ(made.channel_width_hz, (std::vector<double>{2e6, 1e6}));
  EXPECT_EQ(made.row, (std::vector<std::int64_t>{5, 7, 9}));
  EXPECT_EQ(made.uvw_m[3], 2.5);
  EXPECT_EQ(made.uvw_m[8], 204);
  EXPECT_EQ(made.uvw_rate_m_s[3], 2.5);
  // Of 0, 1, 10, 11 with weights 1, 2, 1, 2.
  EXPECT_FLOAT_EQ(made.columns.at("DATA")[0].real(), 34.0f / 6);
  EXPECT_EQ(made.weight[0], 6);
  EXPECT_EQ(made.weight[1], 6);
  EXPECT_FLOAT_EQ(made.columns.at("DATA")[1].real(), 7);
  const Tile outline = average_outline(tile_of(5, 3), by(2, 2));
  EXPECT_EQ(outline.time_s, made.time_s);
  EXPECT_EQ(outline.interval_s, made.interval_s);
  EXPECT_EQ(outline.channel_width_hz, made.channel_width_hz);
}

TEST(Averaging, what_is_flagged_or_no_number_does_not_count) {
  Tile tile = tile_of(2, 2);
  tile.flag[0] = 1;
  tile.weight[1] = 0;
  tile.columns["DATA"][2] = std::numeric_limits<float>::quiet_NaN();
  tile.columns["MODEL_DATA"] = {1000, 1000, 1000, 3};  // the model counts where the data do
  Tile made = average(tile, by(2, 2));
  EXPECT_EQ(made.columns.at("DATA")[0].real(), 11);
  EXPECT_EQ(made.columns.at("MODEL_DATA")[0].real(), 3);
  EXPECT_EQ(made.weight[0], 2);
  EXPECT_EQ(made.flag[0], 0);
  tile.flag[3] = 1;
  made = average(tile, by(2, 2));
  EXPECT_EQ(made.flag[0], 1);
  EXPECT_EQ(made.weight[0], 0);
}

TEST(Averaging, rows_that_are_missing_take_nothing_with_them) {
  Tile tile = tile_of(4, 1);
  tile.row[0] = -1;
  tile.row[2] = tile.row[3] = -1;
  const Tile made = average(tile, by(2, 1));
  EXPECT_EQ(made.row, (std::vector<std::int64_t>{6, -1}));
  EXPECT_EQ(made.uvw_m[0], 1);
  EXPECT_EQ(made.exposure_s[0], 10);
  EXPECT_EQ(made.columns.at("DATA")[0].real(), 10);
  EXPECT_EQ(made.flag[1], 1);
}

TEST(Averaging, rows_that_are_flagged_do_not_count_for_uvw) {
  Tile tile = tile_of(2, 2);
  tile.flag[0] = tile.flag[1] = 1;
  Tile made = average(tile, by(2, 2));
  EXPECT_EQ(made.uvw_m[0], 1);
  EXPECT_EQ(made.row[0], 6);
  tile.flag[2] = tile.flag[3] = 1;
  made = average(tile, by(2, 2));
  EXPECT_EQ(made.flag[0], 1);
  EXPECT_EQ(made.row[0], -1);
}

TEST(Averaging, cells_do_not_reach_over_gaps) {
  Tile tile = tile_of(4, 4);
  tile.time_s = {0, 10, 20, 600};
  tile.frequency_hz = {1e9, 1.01e9, 1.011e9, 1.012e9};
  const Tile made = average(tile, by(4, 2));
  EXPECT_EQ(made.time_s, (std::vector<double>{10, 600}));
  EXPECT_EQ(made.frequency_hz, (std::vector<double>{1e9, 1.0105e9, 1.012e9}));
}

TEST(Averaging, a_width_takes_what_fits_in) {
  EXPECT_EQ(average(tile_of(1, 5), by(1, 1, 2e6)).n_channel(), 3u);
  EXPECT_EQ(average(tile_of(1, 5), by(1, 1, 2.9e6)).n_channel(), 3u);
  EXPECT_EQ(average(tile_of(1, 5), by(1, 1, 5e6)).n_channel(), 1u);
  EXPECT_EQ(average(tile_of(1, 5), by(1, 1, 1e5)).n_channel(), 5u);
  EXPECT_EQ(average(tile_of(3, 5), by(9, 9)).n_visibility(), 1u);
}

TEST(Averaging, cells_do_not_reach_over_edges_and_are_counted_from_them) {
  Averaging averaging = by(4, 2);
  averaging.time_edges_s = {-100, 15, 45, 46, 1000};
  averaging.frequency_edges_hz = {1e9 - 2.5e6};
  const Tile made = average(tile_of(10, 6), averaging);
  EXPECT_EQ(made.time_s, (std::vector<double>{5, 30, 65, 90}));  // of 2, 3, 4 and 1
  EXPECT_EQ(made.frequency_hz, (std::vector<double>{1e9 - 5e5, 1e9 - 2e6, 1e9 - 3.5e6, 1e9 - 5e6}));
}

/// A plane of visibilities: 1 at t = 0 and the first channel, with slopes of its own along both axes.
Tile plane_of(std::size_t n_time, std::size_t n_channel) {
  Tile tile = tile_of(n_time, n_channel);
  for (std::size_t t = 0; t < n_time; ++t)
    for (std::size_t f = 0; f < n_channel; ++f)
      tile.columns["DATA"][t * n_channel + f] = std::complex<float>(1 + 2 * float(t), 8 * float(f));
  return tile;
}

TEST(Averaging, centred_cells_have_the_value_of_their_middle_whatever_is_flagged) {
  Averaging averaging = by(3, 4);
  Tile tile = plane_of(3, 4);
  tile.flag[0] = tile.flag[1] = tile.flag[7] = 1;
  tile.weight[9] = 20;
  const Tile mean = average(tile, averaging);
  averaging.off_centre = 0;
  const Tile centred = average(tile, averaging);
  EXPECT_NEAR(std::abs(centred.columns.at("DATA")[0] - std::complex<float>(3, 12)), 0, 1e-5);
  EXPECT_GT(std::abs(mean.columns.at("DATA")[0] - std::complex<float>(3, 12)), 0.5);
  EXPECT_LT(centred.weight[0], mean.weight[0]);
  EXPECT_GT(centred.weight[0], 0.5 * mean.weight[0]);
}

TEST(Averaging, centred_cells_weigh_what_their_data_say_of_the_middle) {
  // Of two channels of weights 1 and 2 the mean in the middle has the variance (1 + 1/2) / 4.
  Averaging averaging = by(1, 2);
  averaging.off_centre = 0;
  Tile tile = tile_of(1, 2);
  EXPECT_FLOAT_EQ(average(tile, averaging).weight[0], 4 / 1.5);
  EXPECT_FLOAT_EQ(average(tile, averaging).columns.at("DATA")[0].real(), 0.5);
  tile.flag[1] = 1;  // the other does not tell the middle
  EXPECT_EQ(average(tile, averaging).flag[0], 1);
  EXPECT_EQ(average(tile, averaging).weight[0], 0);
  tile = tile_of(1, 3);
  averaging.channels = 3;
  tile.flag[0] = tile.flag[2] = 1;  // that in the middle does
  EXPECT_EQ(average(tile, averaging).flag[0], 0);
  EXPECT_FLOAT_EQ(average(tile, averaging).weight[0], 2);
  EXPECT_FLOAT_EQ(average(tile, averaging).columns.at("DATA")[0].real(), 1);
}

/// Slots [first, first + n) of a tile of one baseline.
Tile slots_of(const Tile& tile, std::size_t first, std::size_t n) {
  Tile part = tile;
  const auto cut = [&](auto& values, std::size_t of_slot) {
    values = {values.begin() + static_cast<std::ptrdiff_t>(first * of_slot),
              values.begin() + static_cast<std::ptrdiff_t>((first + n) * of_slot)};
  };
  for (auto* values : {&part.time_s, &part.interval_s, &part.exposure_s}) cut(*values, 1);
  for (auto* values : {&part.uvw_m, &part.uvw_rate_m_s}) cut(*values, 3);
  cut(part.row, 1), cut(part.flag, tile.n_channel()), cut(part.weight, tile.n_channel());
  for (auto& [name, values] : part.columns) cut(values, tile.n_channel());
  return part;
}

TEST(Averaging, parts_that_are_read_one_by_one_give_the_same) {
  for (const bool centred : {false, true})
    for (const std::size_t most : {1u, 4u, 7u, 100u}) {
      Averaging averaging = by(3, 2);
      averaging.time_edges_s = {45};
      if (centred) averaging.off_centre = 0;
      Tile tile = tile_of(11, 5);
      tile.flag[7] = 1;
      tile.row[6] = -1;
      std::size_t largest = 0, parts = 0;
      const Tile made = average_by_parts(tile, averaging, most, [&](std::size_t first, std::size_t n) {
        largest = std::max(largest, n), ++parts;
        return slots_of(tile, first, n);
      });
      const Tile whole = average(tile, averaging);
      EXPECT_LE(largest, std::max<std::size_t>(3, most));
      EXPECT_EQ(parts == 1, most == 100);
      EXPECT_EQ(made.time_s, whole.time_s);
      EXPECT_EQ(made.row, whole.row);
      EXPECT_EQ(made.uvw_m, whole.uvw_m);
      EXPECT_EQ(made.exposure_s, whole.exposure_s);
      EXPECT_EQ(made.flag, whole.flag);
      EXPECT_EQ(made.weight, whole.weight);
      EXPECT_EQ(made.columns, whole.columns);
    }
}

TEST(Averaging, cells_whose_mean_is_near_the_middle_are_means) {
  // The mean of four channels of which the first is flagged is that of a place 1/8 of the cell from its middle.
  Tile tile = tile_of(1, 4);
  tile.weight.assign(4, 1);
  tile.flag[0] = 1;
  Averaging averaging = by(1, 4);
  averaging.off_centre = 0.13;
  EXPECT_FLOAT_EQ(average(tile, averaging).columns.at("DATA")[0].real(), 2);
  averaging.off_centre = 0.12;
  EXPECT_FLOAT_EQ(average(tile, averaging).columns.at("DATA")[0].real(), 1.5);
}

TEST(Averaging, centred_means_of_equal_weights_are_means) {
  Averaging averaging = by(2, 3);
  Tile tile = tile_of(4, 6);
  tile.weight.assign(tile.weight.size(), 2);
  const Tile mean = average(tile, averaging);
  averaging.off_centre = 0;
  const Tile centred = average(tile, averaging);
  for (std::size_t i = 0; i < mean.weight.size(); ++i) {
    EXPECT_FLOAT_EQ(centred.weight[i], mean.weight[i]);
    EXPECT_FLOAT_EQ(centred.columns.at("DATA")[i].real(), mean.columns.at("DATA")[i].real());
  }
}

}  // namespace
}  // namespace rimetree::ms
