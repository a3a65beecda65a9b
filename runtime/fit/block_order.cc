#include "runtime/fit/block_order.h"

#include <algorithm>
#include <functional>

#include "runtime/fit/disjoint_sets.h"
#include "runtime/fit/sparsity.h"

namespace rimetree::fit {

namespace {

constexpr std::size_t kCandidates = 8;
// Unknowns of which one has so many times the neighbours of the next are told apart.
constexpr double kDrop = 1.2;
constexpr double kWorthwhile = 0.5;

template <class Body>
void for_each_pair(const Sparsity& sparsity, const Body& body) {
  for (std::size_t column = 0; column < sparsity.n(); ++column)
    for (std::size_t e = sparsity.begin(column) + 1; e < sparsity.begin(column + 1); ++e)
      body(static_cast<std::uint32_t>(column), sparsity.row(e));
}

std::vector<std::size_t> neighbours(const Sparsity& sparsity) {
  std::vector<std::size_t> count(sparsity.n(), 0);
  for_each_pair(sparsity, [&](std::uint32_t a, std::uint32_t b) { ++count[a], ++count[b]; });
  return count;
}

/// Numbers of neighbours from which on an unknown may be of the border.
std::vector<std::size_t> candidates(std::vector<std::size_t> count) {
  std::sort(count.begin(), count.end(), std::greater<>());
  std::vector<std::size_t> found{count.front() + 1};  // no border
  for (std::size_t k = 0; k + 1 < count.size() && found.size() < kCandidates; ++k)
    if (static_cast<double>(count[k]) > kDrop * static_cast<double>(count[k + 1])) found.push_back(count[k]);
  return found;
}

BlockOrder with_border(const Sparsity& sparsity, const std::vector<std::size_t>& count, std::size_t least) {
  BlockOrder order;
  const auto n = static_cast<std::uint32_t>(sparsity.n());
  order.block_of.assign(n, -1);
  order.place.assign(n, 0);
  DisjointSets sets(n);
  for_each_pair(sparsity, [&](std::uint32_t a, std::uint32_t b) {
    if (count[a] < least && count[b] < least) sets.unite(a, b);
  });
  for (std::uint32_t u = 0; u < n; ++u) {
    if (count[u] >= least) {
      order.place[u] = static_cast<std::uint32_t>(order.border.size());
      order.border.push_back(u);
      continue;
    }
    const std::uint32_t root = sets.find(u);  // the smallest: it has been numbered
    if (root == u) {
      order.block_of[u] = static_cast<std::int32_t>(order.blocks.size());
      order.blocks.emplace_back();
    }
    order.block_of[u] = order.block_of[root];
    auto& unknowns = order.blocks[static_cast<std::size_t>(order.block_of[u])].unknowns;
    order.place[u] = static_cast<std::uint32_t>(unknowns.size());
    unknowns.push_back(u);
  }
  for_each_pair(sparsity, [&](std::uint32_t a, std::uint32_t b) {
    if ((order.block_of[a] < 0) == (order.block_of[b] < 0)) return;
    if (order.block_of[a] < 0) std::swap(a, b);
    auto& border = order.blocks[static_cast<std::size_t>(order.block_of[a])].border;
    if (border.empty() || border.back() != order.place[b]) border.push_back(order.place[b]);
  });
  const auto cube = [](double x) { return x * x * x / 3; };
  order.operations = cube(static_cast<double>(order.border.size()));
  for (BlockOrder::Block& block : order.blocks) {
    std::sort(block.border.begin(), block.border.end());
    block.border.erase(std::unique(block.border.begin(), block.border.end()), block.border.end());
    const auto size = static_cast<double>(block.unknowns.size()), shared = static_cast<double>(block.border.size());
    order.operations += cube(size) + size * size * shared + size * shared * shared;
  }
  return order;
}

}  // namespace

std::shared_ptr<const BlockOrder> block_order(const Sparsity& sparsity) {
  if (sparsity.n() == 0) return nullptr;
  const std::vector<std::size_t> count = neighbours(sparsity);
  if (sparsity.leaves_out()) return std::make_shared<BlockOrder>(with_border(sparsity, count, sparsity.n()));
  const auto n = static_cast<double>(sparsity.n());
  std::shared_ptr<const BlockOrder> best;
  for (const std::size_t least : candidates(count)) {
    auto order = std::make_shared<BlockOrder>(with_border(sparsity, count, least));
    if (order->operations < (best ? best->operations : kWorthwhile * n * n * n / 3)) best = std::move(order);
  }
  return best;
}

}  // namespace rimetree::fit
