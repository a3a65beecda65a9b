// What a sum is over: the same for values, derivatives and adjoints, on the host and on devices, by any method.
#pragma once

#include "nodes/psv/kernel.h"

namespace rimetree::psv {

/// One sky on one set of channels, seen by many rows.
struct Summed {
  const Sky<double>& sky;
  const Channels& channels;
  const Rows& rows;
  const JonesTerms& jones;
};

}  // namespace rimetree::psv
