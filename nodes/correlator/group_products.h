// The first paper's ways to share out products among threads of a GPU, on the host: what they compute, and how often
// they read a sample for it (Wayth, Greenhill & Briggs 2009, PASP 121, 857, section 3).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "nodes/correlator/products.h"
#include "nodes/correlator/sample_mask.h"
#include "nodes/correlator/sample_view.h"

namespace rimetree::correlator {

/// Inputs i >= j of each product, in their order: a table, as it is read in place of a square root for each thread.
std::vector<std::pair<std::uint32_t, std::uint32_t>> pair_table(std::size_t n_input);

enum class Sharing : std::uint8_t {
  groups,  ///< group parallel: a block has G inputs i times G inputs j; all threads of it share what each has read
  hybrid,  ///< a thread has one input i and G inputs j, which it reads itself; nothing waits for anything
};

/// Adds the products of blocks of G by G inputs; those whose inputs j are all behind their inputs i have no work.
/// Returns how many samples were read: 2 / G or (G + 1) / G for each product of a block that works. Throws Error where
/// G does not divide the number of inputs.
std::uint64_t add_by_groups(const SampleView& samples, const SampleMask* mask, Sharing sharing, std::size_t group,
                            ProductSums& sums);

}  // namespace rimetree::correlator
