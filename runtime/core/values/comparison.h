// Models that are compared with data where they are computed. Of a residual "data less model" an objective needs its
// sum of squares, and a gradient the model's adjoint; a class whose results are made on devices can form both there, so
// that neither model nor data move. The evaluator finds such residuals in the tree below an Objective, by their
// algebra and BatchKernel::compares(); all else in them - data, weights, flags, terms of the model that depend on no
// unknown - is one result that changes seldom.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/core/values/pull_back.h"

namespace rimetree {

struct Comparison {
  /// Nodes whose results are subtracted from the rest: what they see, and where the adjoints of their children go.
  std::vector<PullBack*> terms;
  /// Of the rest, and of what terms see that depends on no unknown: the same number means the same values.
  std::uint64_t version = 0;
  /// The residual without the terms, with its weights and all flags.
  std::function<ResultPtr()> rest;
};

}  // namespace rimetree
