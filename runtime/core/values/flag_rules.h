// How flags of children become flags of a result.
#pragma once

#include "runtime/core/values/evaluation.h"

namespace rimetree {

/// One plane: a cell carries the bits of every element of every child. Empty if no child has flags. This is the rule
/// for all classes that do not state another.
Flags union_of_child_flags(const Evaluation& evaluation);

/// Ors `source`'s plane (elements `first` and further `count - 1`; all planes if it has one) into plane `target_plane`
/// of `target`, broadcasting the cells of the source.
void merge_flags(Flags& target, std::size_t target_plane, const Flags& source, std::size_t first, std::size_t count);

/// The flags of the children where all that have any have the same ones, in the same memory, e.g. along a chain of
/// nodes; else nullptr. Results may share them.
const Flags* shared_flags(const Evaluation& evaluation);

/// Cells on which the flags of any child vary.
CellShape flag_cells(const Evaluation& evaluation);

}  // namespace rimetree
