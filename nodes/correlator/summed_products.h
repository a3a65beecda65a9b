// Sums of products over as many blocks of samples as there are, wherever they are made.
#pragma once

#include "nodes/correlator/products.h"
#include "nodes/correlator/sample_mask.h"
#include "nodes/correlator/sample_view.h"

namespace rimetree {
class DeviceContext;
}

namespace rimetree::correlator {

class SummedProducts {
 public:
  virtual ~SummedProducts() = default;
  /// Adds the products of all times; those that the mask leaves out count as zero, and are not counted. `where`: the
  /// samples are memory of that device, written by its computing queue; nullptr: of the host. Throws Error where the
  /// numbers of channels or inputs differ, or the samples cannot be taken.
  virtual void add(const SampleView& samples, const SampleMask* mask = nullptr, DeviceContext* where = nullptr) = 0;
  /// Waits until all is added.
  virtual const ProductSums& sums() = 0;
  /// Sums start at zero again.
  virtual void clear() = 0;
};

/// Throws Error where samples have other numbers of channels or inputs than the sums.
void check_shape(const ProductSums& sums, const SampleView& samples);
/// Counts the samples of all products.
void add_counts(ProductSums& sums, std::size_t n_time, const SampleMask* mask);

}  // namespace rimetree::correlator
