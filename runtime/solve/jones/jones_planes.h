// What a sweep over the data sees of one equation.
#pragma once

#include <vector>

#include "runtime/core/values/result.h"
#include "runtime/solve/equations/operand.h"
#include "runtime/solve/jones/jones_terms.h"

namespace rimetree::solve {

/// Results of the nodes of an equation that depend on no unknown.
struct JonesPlanes {
  std::vector<ResultPtr> results;  ///< datum, weight if there is one, fixed visibilities of each term
  Operand data, weight;
  bool weighted = false;
  FlagOperand data_flags, weight_flags;
  struct Core {
    Operand value;
    FlagOperand flags;
    bool flags_merge = false, solvable = false;
    const JonesTerm* term = nullptr;
  };
  std::vector<Core> cores;
  bool any_flags = false, any_fixed = false;  ///< any_fixed: terms without unknowns, which are taken off the data
  CellShape cells;                            ///< on which the equation varies, factors included

  bool flagged(std::size_t element, std::size_t t, std::size_t f) const {
    if (!any_flags) return false;
    if (data_flags.at(element, t, f) || weight_flags.at(element, t, f)) return true;
    for (const Core& core : cores) {
      const JonesTerm::Place place = core.term->place(element);
      if (place.there && (core.flags_merge ? core.flags.any(t, f) : core.flags.at(place.element, t, f))) return true;
    }
    return false;
  }
};

}  // namespace rimetree::solve
