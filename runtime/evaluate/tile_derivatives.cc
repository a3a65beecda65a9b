// One derivative for each coefficient is right as long as a cell depends on that cell of the children only. A class
// says along which axes its cells look at others (NodeTraits::mixed_axes: none for functions of one cell, the reduced
// ones for reductions; a class that says nothing is taken to mix all). Above such a node both kinds of derivatives go
// on side by side, and a Solver adds up those that belong to one unknown. Factors that mix cells are no Jones terms,
// and a solve in parts refuses nodes that mix times.
#include "runtime/evaluate/tile_derivatives.h"

#include <algorithm>

#include "runtime/core/cells/cell_loop.h"
#include "runtime/core/node/solution_tiles.h"
#include "runtime/core/values/pull_back.h"

namespace rimetree {

namespace {

/// The values on the cells of one tile, and zero on all others.
Vells on_tile(memory::Pool& pool, const Vells& values, Axis axis, const std::vector<std::int32_t>& tile_of_cell,
              std::int32_t tile) {
  CellShape cells = values.cells();
  cells[axis] = static_cast<std::int32_t>(tile_of_cell.size());
  Vells result = zeros(pool, values.type(), values.dims(), cells);
  const auto stride = broadcast_strides(values.cells());
  const std::size_t plane = values.cells_per_element();
  std::size_t i = 0;
  for (std::size_t e = 0; e < values.dims().size(); ++e)
    for_each_cell(cells, [&](const std::array<int, kAxes>& cell) {
      const std::size_t to = i++, from = e * plane + offset_of(cell, stride);
      if (tile_of_cell[static_cast<std::size_t>(cell[static_cast<std::size_t>(axis)])] != tile) return;
      if (values.is_complex())
        result.complex()[to] = values.complex()[from];
      else
        result.real()[to] = values.real()[from];
    });
  return result;
}

Vells sum_of(memory::Pool& pool, const Vells& a, const Vells& b) {
  const NumberType type = a.is_complex() || b.is_complex() ? NumberType::complex : NumberType::real;
  Vells sum = zeros(pool, type, a.dims(), broadcast(a.cells(), b.cells()));
  add_to(sum, on_cells(pool, a, sum));
  add_to(sum, on_cells(pool, b, sum));
  return sum;
}

std::int32_t& tile_along(ParameterId& parameter, Axis axis) {
  return axis == Axis::time ? parameter.time_tile : parameter.frequency_tile;
}

/// Appends a derivative, in parts along an axis where that is to be.
void split(memory::Pool& pool, const Derivative& derivative, Axis axis, TilesOnCells& tiles,
           std::vector<Derivative>& parts) {
  Derivative part = derivative;
  const std::vector<std::int32_t>& of_cell = tiles.of(derivative.parameter.parm, axis);
  if (of_cell.empty() || tile_along(part.parameter, axis) >= 0) {
    parts.push_back(derivative);
    return;
  }
  std::vector<std::int32_t> present = of_cell;
  std::sort(present.begin(), present.end());
  present.erase(std::unique(present.begin(), present.end()), present.end());
  for (const std::int32_t tile : present) {
    tile_along(part.parameter, axis) = tile;
    if (present.size() > 1) part.value = on_tile(pool, derivative.value, axis, of_cell, tile);
    parts.push_back(part);
  }
}

}  // namespace

const std::vector<std::int32_t>& TilesOnCells::of(int parm, Axis axis) {
  const auto [known, is_new] = known_.try_emplace({parm, axis});
  const bool is_solvable = static_cast<std::size_t>(parm) < forest_.size() && forest_.node(parm).n_unknown() > 0;
  if (is_new && is_solvable) {
    const SolutionTiles tiles = SolutionTiles::of(forest_.node(parm));
    if ((axis == Axis::time ? tiles.n_time() : tiles.n_frequency()) > 1) known->second = tiles.of_cells(cells_, axis);
  }
  return known->second;
}

ResultPtr split_derivatives(memory::Pool& pool, const Result& result, AxisSet mixed, TilesOnCells& tiles) {
  std::vector<Derivative> parts = result.derivatives;
  for (const Axis axis : {Axis::time, Axis::frequency}) {
    if ((mixed & set_of(axis)) == 0) continue;
    std::vector<Derivative> along;
    for (const Derivative& derivative : parts) split(pool, derivative, axis, tiles, along);
    parts = std::move(along);
  }
  const auto same = [](const Derivative& a, const Derivative& b) { return a.parameter == b.parameter; };
  if (std::equal(parts.begin(), parts.end(), result.derivatives.begin(), result.derivatives.end(), same))
    return nullptr;
  std::sort(parts.begin(), parts.end(),
            [](const Derivative& a, const Derivative& b) { return a.parameter < b.parameter; });
  auto seen = std::make_shared<Result>(result);
  seen->derivatives.clear();
  for (Derivative& part : parts) {
    // Where a tile was seen both by itself and as that of the cell.
    if (!seen->derivatives.empty() && same(seen->derivatives.back(), part))
      seen->derivatives.back().value = sum_of(pool, seen->derivatives.back().value, part.value);
    else
      seen->derivatives.push_back(std::move(part));
  }
  return seen;
}

}  // namespace rimetree
