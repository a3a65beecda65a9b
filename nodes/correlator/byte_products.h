// Products of all inputs of one channel, block by block of times, in whole numbers; two texts, as instructions differ:
// 8-bit dot products where the machine has them, else pairs of 16-bit products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "nodes/correlator/sample_mask.h"
#include "nodes/correlator/sample_view.h"

namespace rimetree::correlator {

/// Longest block whose products fit into 32 bits with any samples: 2 * 128^2 each.
inline constexpr std::size_t kMaxBlockTime = 65535;

/// A block of times of one channel that is multiplied with itself, in parts that write different products.
class BlockProducts {
 public:
  virtual ~BlockProducts() = default;
  /// Takes times [first, first + n) of a channel, n <= the block's; what the mask leaves out is 0.
  virtual void fill(const SampleView& samples, std::size_t channel, std::size_t first, std::size_t n,
                    const SampleMask* mask) = 0;
  virtual std::size_t n_part() const = 0;
  /// Adds the part's sums over the block to those of one channel, [product]. Several threads may do so at a time.
  virtual void add_part(std::size_t part, std::int64_t* re, std::int64_t* im) const = 0;
};

/// Memory that begins where a vector and a line of the cache do.
struct AlignedDelete {
  void operator()(void* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
template <class T>
using Aligned = std::unique_ptr<T[], AlignedDelete>;
template <class T>
Aligned<T> aligned(std::size_t n) {
  return Aligned<T>(static_cast<T*>(::operator new[](n * sizeof(T), std::align_val_t{64})));
}

/// A way to multiply.
struct ByteProducts {
  const char* name;
  std::size_t block_time;  ///< times of a block with which it is fastest
  std::unique_ptr<BlockProducts> (*make)(std::size_t n_input, std::size_t max_time);
};
template <class Block>
std::unique_ptr<BlockProducts> make_block(std::size_t n_input, std::size_t max_time) {
  return std::make_unique<Block>(n_input, max_time);
}

/// 16-bit multiply-adds with the widest vectors of this machine.
const ByteProducts& wide_products();
/// AVX-512 VNNI; nullptr where the machine does not have it.
const ByteProducts* vnni_products();
/// The fastest of this machine.
const ByteProducts& byte_products();

}  // namespace rimetree::correlator
