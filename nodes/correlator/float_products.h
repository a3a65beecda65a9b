// The X-engine for samples that are floats.
#pragma once

#include <memory>
#include <vector>

#include "nodes/correlator/cross_products.h"

namespace rimetree::correlator {

/// Times whose products are added up as floats before they go into sums of doubles: what is lost of a sum is at most
/// 2 kFloatTimes 2^-24 of the sum of its terms' magnitudes (Higham 2002, section 3.1; multiply-adds round once).
inline constexpr std::size_t kFloatTimes = 32;

/// On the host. "automatic": floats in vectors, as said above; "pairs": in double precision, as a reference; the
/// historical designs in single precision over all times of a call, as they were published.
class FloatProducts final : public SummedProducts {
 public:
  /// The pool must outlive it.
  FloatProducts(std::size_t n_channel, std::size_t n_input, Strategy strategy, ThreadPool& threads);
  /// Throws Error for samples that are no floats, and where the strategy cannot take them.
  void add(const SampleView& samples, const SampleMask* mask = nullptr, DeviceContext* where = nullptr) override;
  const ProductSums& sums() override { return sums_; }
  void clear() override { sums_.clear(); }

 private:
  void add_vectors(const SampleView& samples, const SampleMask* mask);
  void add_pairs(const SampleView& samples, const SampleMask* mask);

  Strategy strategy_;
  ThreadPool& threads_;
  ProductSums sums_;
  std::vector<std::vector<float>> blocks_;  ///< by worker
};

}  // namespace rimetree::correlator
