#include "runtime/core/flag_rules.h"

namespace rimetree {

namespace {

void merge_plane(std::int32_t* target, const CellShape& target_cells, const std::int32_t* source,
                 const CellShape& source_cells) {
  const auto stride = broadcast_strides(source_cells);
  const auto& n = target_cells.extent;
  std::size_t i = 0;
  for (int t = 0; t < n[0]; ++t)
    for (int f = 0; f < n[1]; ++f)
      for (int l = 0; l < n[2]; ++l)
        for (int m = 0; m < n[3]; ++m, ++i)
          target[i] |= source[t * stride[0] + f * stride[1] + l * stride[2] + m * stride[3]];
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

Flags union_of_child_flags(const Evaluation& evaluation) {
  bool any = false;
  for (const Result* child : evaluation.children()) any = any || (child != nullptr && !child->flags.empty());
  if (!any) return {};
  Flags flags(evaluation.pool, 1, flag_cells(evaluation));
  for (const Result* child : evaluation.children())
    if (child != nullptr) merge_flags(flags, 0, child->flags, 0, child->value.dims().size());
  return flags;
}

}  // namespace rimetree
