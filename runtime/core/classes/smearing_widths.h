// Widths of their own for classes that average over cells: a script may say what smearing is over, instead of the
// widths of the cells.
#pragma once

#include "runtime/core/classes/state.h"

namespace rimetree {

struct SmearingWidths {
  double time_s = 0, freq_hz = 0;  ///< 0: those of the cells

  SmearingWidths() = default;
  explicit SmearingWidths(const State& state)
      : time_s(state.real("time_width_s")), freq_hz(state.real("freq_width_hz")) {}

  static StateSpec time_field() { return field("time_width_s", "s", "time"); }
  static StateSpec freq_field() { return field("freq_width_hz", "Hz", "frequency"); }

 private:
  static StateSpec field(const char* name, const char* unit, const std::string& axis) {
    return {.name = name,
            .type = StateType::real,
            .default_value = 0.0,
            .unit = unit,
            .doc = "what smearing in " + axis + " is over; 0: the width of each cell",
            .limits = {.least = 0, .without_most = true}};
  }
};

}  // namespace rimetree
