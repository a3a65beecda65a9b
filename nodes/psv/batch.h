// What a plan evaluates a batch of PSV nodes by.
#pragma once

#include <memory>

#include "nodes/psv/operands.h"
#include "runtime/core/node/batch_kernel.h"

namespace rimetree::psv {

/// Nodes whose children are read by a layout: those of other batches are known by it.
class HasLayout {
 public:
  virtual const ChildLayout& layout() const = 0;

 protected:
  ~HasLayout() = default;
};

/// The baselines of a batch, by the kernels where these take them, the others cell by cell.
std::unique_ptr<BatchKernel> make_batch_kernel(ChildLayout layout);

}  // namespace rimetree::psv
