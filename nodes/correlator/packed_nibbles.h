// CHIME's X-engine for graphics cards without integer dot products: one multiply-add makes two products of 4-bit
// samples (Klages et al. 2015, arXiv:1503.06203, section III). Kept as it was published, to be compared with.
#pragma once

#include "nodes/correlator/cross_products.h"

namespace rimetree::correlator {

/// Times after which the two sums of 16 bits are taken out of a word: 225 is the largest product, and 291 the last time
/// at which 65535 are not exceeded.
inline constexpr std::size_t kPackedTimes = 256, kPackedLimit = 65535 / 225;

/// Adds the products of 4-bit samples of any coding; throws Error for others.
void add_packed_nibbles(const SampleView& samples, const SampleMask* mask, ThreadPool& threads, ProductSums& sums);

}  // namespace rimetree::correlator
