// An order of elimination for normal matrices of many small blocks that share some unknowns: gains of each time with a
// bandpass of each channel, say. Blocks are eliminated one by one, and what is left is the Schur complement of the
// unknowns that they share, the border.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace rimetree::fit {

class Sparsity;

struct BlockOrder {
  struct Block {
    std::vector<std::uint32_t> unknowns;  ///< ascending
    std::vector<std::uint32_t> border;    ///< places in the border of the unknowns that it shares data with, ascending
  };
  std::vector<Block> blocks;
  std::vector<std::uint32_t> border;   ///< unknowns, ascending
  std::vector<std::int32_t> block_of;  ///< by unknown; -1: border
  std::vector<std::uint32_t> place;    ///< by unknown, in its block or in the border
  double operations = 0;               ///< multiply-adds of a factorisation
};

/// The order that takes fewest operations; nothing where it takes more than half of those of a full matrix. Of a matrix
/// that leaves out what couples parts it has no border: blocks are what is coupled.
std::shared_ptr<const BlockOrder> block_order(const Sparsity& sparsity);

}  // namespace rimetree::fit
