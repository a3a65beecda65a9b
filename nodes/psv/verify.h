// The PSV sum in extended precision, one visibility at a time, from a text of its own: what results are verified with.
#pragma once

#include <array>
#include <complex>

#include "nodes/psv/problem.h"

namespace rimetree::psv {

struct ExtendedVisibility {
  std::array<std::complex<long double>, 4> value;  ///< XX XY YX YY
  long double flux = 0;  ///< sum over sources of the largest element of the (corrupted) brightness: the unit of errors
};

/// The visibility of one baseline at time t and channel f, by its definition.
ExtendedVisibility extended_visibility(const Problem<double>& problem, std::ptrdiff_t t, std::ptrdiff_t f);

}  // namespace rimetree::psv
