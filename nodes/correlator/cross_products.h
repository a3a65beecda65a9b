// The X-engine: all products of all inputs, summed over time, as exact integers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nodes/correlator/byte_products.h"
#include "nodes/correlator/summed_products.h"
#include "runtime/core/threads/thread_pool.h"

namespace rimetree::correlator {

/// How products are formed; all give the same integers.
enum class Strategy : std::uint8_t {
  automatic,  ///< the fastest: bytes
  bytes,      ///< 8-bit dot products of packed blocks (AVX-512 VNNI where the machine has it, else 16-bit products)
  packed,     ///< two sums of 16 bits in one word, of 4-bit samples only (Klages et al. 2015, section III)
  groups2,    ///< blocks of 2 by 2 inputs (group parallel); like the next three one thread, as a reference
  groups4,    ///< of 4 by 4
  hybrid2,    ///< the same blocks, where each input i reads its inputs j (hybrid group)
  hybrid4,
  pairs,  ///< one product after the other (Wayth, Greenhill & Briggs 2009: pair parallel); 64-bit sums
};
Strategy strategy(const std::string& name);
/// Throws Error where a strategy cannot take samples of a format, or so many inputs.
void check_strategy(Strategy strategy, const SampleFormat& format, std::size_t n_input);
/// Inputs of a strategy's blocks, 1 where it has none.
std::size_t group_of(Strategy strategy);
std::vector<std::string> strategy_names();

/// On the host: memory does not grow with the number of blocks.
class CrossProducts final : public SummedProducts {
 public:
  /// Sums start at zero. The pool must outlive it.
  CrossProducts(std::size_t n_channel, std::size_t n_input, Strategy strategy, ThreadPool& threads);

  /// Throws Error where the strategy cannot take the format, and for samples on a device.
  void add(const SampleView& samples, const SampleMask* mask = nullptr, DeviceContext* where = nullptr) override;
  const ProductSums& sums() override { return sums_; }
  void clear() override;

 private:
  void add_bytes(const SampleView& samples, const SampleMask* mask);
  void add_pairs(const SampleView& samples, const SampleMask* mask);

  Strategy strategy_;
  ThreadPool& threads_;
  ProductSums sums_;
  std::vector<std::unique_ptr<BlockProducts>>
      blocks_;  ///< by worker; made once, as fresh memory costs as much as filling it
};

}  // namespace rimetree::correlator
