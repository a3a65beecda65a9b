// A PSV case whose rows are those of an array: differences of one vector per antenna in each time slot.
#pragma once

#include "nodes/psv/summed.h"
#include "tests/support/psv_case.h"

namespace rimetree::testing {

struct ArrayOptions {
  int n_antenna = 7;
  bool autocorrelations = false;
  bool both_orders = false;     ///< every other baseline is q - p
  int leave_out = 0;            ///< each baseline with this period is missing
  std::size_t repeat = 1;       ///< rows of each baseline and time
  bool repeats_differ = false;  ///< each repeat has another array
};

/// A case with the rows of an array. Positions are multiples of 2^-20 m, so that differences have no rounding error.
struct ArrayCase : Case {
  ArrayCase(CaseOptions o, const ArrayOptions& a);
  psv::BaselineEnds ends;
};

}  // namespace rimetree::testing
