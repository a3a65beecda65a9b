// The X-engine: all products of all inputs, summed over time, as exact integers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nodes/correlator/packed_block.h"
#include "nodes/correlator/products.h"
#include "nodes/correlator/sample_view.h"
#include "runtime/core/thread_pool.h"

namespace rimetree::correlator {

/// How products are formed; all give the same integers.
enum class Strategy : std::uint8_t {
  automatic,  ///< bytes
  bytes,      ///< 8-bit dot products of packed blocks (AVX-512 VNNI where the machine has it, else 16-bit products)
  packed,     ///< two sums of 16 bits in one word, of 4-bit samples only (Klages et al. 2015, section III)
  groups2,    ///< blocks of 2 by 2 inputs (group parallel); like the next three one thread, as a reference
  groups4,    ///< of 4 by 4
  hybrid2,    ///< the same blocks, where each input i reads its inputs j (hybrid group)
  hybrid4,
  pairs,  ///< one product after the other (Wayth, Greenhill & Briggs 2009: pair parallel); 64-bit sums
};
Strategy strategy(const std::string& name);
std::vector<std::string> strategy_names();

/// Sums of products over as many blocks of times as there are: memory does not grow with their number.
class CrossProducts {
 public:
  /// Sums start at zero. The pool must outlive it.
  CrossProducts(std::size_t n_channel, std::size_t n_input, Strategy strategy, ThreadPool& threads);

  /// Adds the products of all times; those that the mask leaves out count as zero, and are not counted. Throws Error
  /// where the numbers of channels or inputs differ, or the strategy cannot take the format.
  void add(const SampleView& samples, const SampleMask* mask = nullptr);
  const ProductSums& sums() const { return sums_; }
  /// Sums start at zero again.
  void clear();

 private:
  void add_bytes(const SampleView& samples, const SampleMask* mask);
  void add_pairs(const SampleView& samples, const SampleMask* mask);

  Strategy strategy_;
  ThreadPool& threads_;
  ProductSums sums_;
  std::vector<std::unique_ptr<PackedBlock>>
      blocks_;  ///< by worker; made once, as fresh memory costs as much as filling it
};

}  // namespace rimetree::correlator
