// What the tests of reductions along axes (Max, Mean, Min, Sum) reduce.
#pragma once

#include "tests/support/forest_fixture.h"

namespace rimetree::test {

/// Values 1..6 on 2 times (rows) and 3 frequencies.
inline const StateArray kTable = array({2, 3}, {1, 2, 3, 4, 5, 6});
using Axes = std::vector<std::string>;

}  // namespace rimetree::test
