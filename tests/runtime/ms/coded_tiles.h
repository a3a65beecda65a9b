// Tiles and cells whose values tell rows, channels and correlations apart.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/ms/tiles/tile_reader.h"
#include "tests/runtime/ms/small_set.h"

namespace rimetree::ms {

/// Coordinates only, in tiles of so many time slots.
inline ReadSelection coordinates(std::size_t time_slots) {
  ReadSelection selection;
  selection.rows.time_slots = time_slots;
  return selection;
}

/// Puts coded() values into a column of a tile.
inline void fill(Tile* tile, const std::string& column) {
  auto& values = tile->columns[column];
  values.assign(tile->n_visibility(), {});
  std::size_t i = 0;
  for (const std::int64_t row : tile->row) {
    for (std::size_t f = 0; f < tile->n_channel(); ++f) {
      for (std::size_t c = 0; c < tile->n_correlation(); ++c) values[i++] = coded(row, tile->first_channel + f, c);
    }
  }
}

/// The whole cell of one row.
inline std::vector<std::complex<float>> cell(const MeasurementSet& ms, const std::string& column, std::int64_t row) {
  const CellShape shape = ms.cell_shape(ms.table().ints("DATA_DESC_ID", row, 1)[0]);
  std::vector<std::complex<float>> values(shape.n_channel * shape.n_correlation);
  ms.table().read_cells(column, {row}, {shape, 0, shape.n_channel}, values.data());
  return values;
}

inline void expect_coded(const MeasurementSet& ms, const std::string& column, std::int64_t row) {
  const auto values = cell(ms, column, row);
  const std::size_t n = ms.polarization(0).correlation_type.size();
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], coded(row, i / n, i % n)) << "row " << row;
}

}  // namespace rimetree::ms
