// Products of packed blocks by 8-bit and 16-bit dot products; two texts, as instructions differ.
#pragma once

#include "nodes/correlator/packed_block.h"

namespace rimetree::correlator {

/// Longest block whose products fit into 32 bits with any samples: 2 * 128^2 each.
inline constexpr std::size_t kMaxBlockTime = 65535;

/// A way to multiply a packed block with itself, in parts that write different products.
struct ByteProducts {
  const char* name;
  std::size_t (*n_part)(const PackedBlock& block);
  /// Adds the part's sums over the block to those of one channel, [product].
  void (*add_part)(const PackedBlock& block, std::size_t part, std::int64_t* re, std::int64_t* im);
};

/// 16-bit multiply-adds with the widest vectors of this machine.
const ByteProducts& wide_products();
/// AVX-512 VNNI; nullptr where the machine does not have it.
const ByteProducts* vnni_products();
/// The fastest of this machine.
const ByteProducts& byte_products();

}  // namespace rimetree::correlator
