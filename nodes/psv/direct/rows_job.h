// The arguments of one evaluation, as the instruction sets' versions of the kernel share them.
#pragma once

#include "nodes/psv/kernel.h"

namespace rimetree::psv {

template <class T>
struct RowsJob {
  const Sky<T>& sky;
  const Channels& channels;
  const Rows& rows;
  const JonesTerms& jones;
  const Scratch<T>& scratch;
};

}  // namespace rimetree::psv
