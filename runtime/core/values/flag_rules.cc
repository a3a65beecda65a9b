#include "runtime/core/values/flag_rules.h"

#include "runtime/core/cells/cell_loop.h"

namespace rimetree {

namespace {

void merge_plane(std::int32_t* target, const CellShape& target_cells, const std::int32_t* source,
                 const CellShape& source_cells) {
  const auto stride = broadcast_strides(source_cells);
  int axis = kAxes - 1;
  while (axis > 0 && target_cells.extent[axis] == 1) --axis;
  CellShape rows = target_cells;
  rows.extent[axis] = 1;
  const auto n = static_cast<std::size_t>(target_cells.extent[axis]);
  for_each_cell(rows, [&](const std::array<int, kAxes>& row) {
    std::int32_t* const to = target;
    const std::int32_t* const from = source + offset_of(row, stride);
    const std::size_t length = n;
    if (stride[axis] == 1) {
#pragma GCC ivdep
      for (std::size_t i = 0; i < length; ++i) to[i] |= from[i];
    } else if (const std::int32_t all = *from; all != 0) {
      for (std::size_t i = 0; i < length; ++i) to[i] |= all;
    }
    target += n;
  });
}

}  // namespace

void merge_flags(Flags& target, std::size_t target_plane, const Flags& source, std::size_t first, std::size_t count) {
  if (source.empty()) return;
  const std::size_t begin = source.planes() == 1 ? 0 : first;
  const std::size_t end = source.planes() == 1 ? 1 : first + count;
  for (std::size_t plane = begin; plane < end; ++plane)
    merge_plane(target.data() + target_plane * target.cells().size(), target.cells(),
                source.data() + plane * source.cells().size(), source.cells());
}

CellShape flag_cells(const Evaluation& evaluation) {
  CellShape cells;
  for (const Result* child : evaluation.children())
    if (child != nullptr && !child->flags.empty()) cells = broadcast(cells, child->flags.cells());
  return cells;
}

const Flags* shared_flags(const Evaluation& evaluation) {
  const Flags* shared = nullptr;
  for (const Result* child : evaluation.children()) {
    if (child == nullptr || child->flags.empty()) continue;
    if (shared != nullptr && shared->storage() != child->flags.storage()) return nullptr;
    shared = &child->flags;
  }
  return shared;
}

Flags union_of_child_flags(const Evaluation& evaluation) {
  bool any = false;
  for (const Result* child : evaluation.children()) any = any || (child != nullptr && !child->flags.empty());
  if (!any) return {};
  if (const Flags* shared = shared_flags(evaluation); shared != nullptr && shared->planes() == 1) return *shared;
  Flags flags(evaluation.pool, 1, flag_cells(evaluation));
  for (const Result* child : evaluation.children())
    if (child != nullptr) merge_flags(flags, 0, child->flags, 0, child->value.dims().size());
  return flags;
}

}  // namespace rimetree
