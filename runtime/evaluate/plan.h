// The compiled forest: which nodes are evaluated by one call, which results are kept, and what it takes in memory.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/core/forest/forest.h"

namespace rimetree {

/// Nodes of one level with the same class, the same state (up to per-node fields) and children of the same dimensions.
struct Batch {
  int level = 0;
  std::vector<int> nodes;
};

class Plan {
 public:
  explicit Plan(const Forest& forest);

  /// In an order in which every batch comes after those of its children.
  const std::vector<Batch>& batches() const { return batches_; }
  /// Whether any node runs evaluations of its own (SolverNode).
  bool has_controls() const { return has_controls_; }
  int batch_of(int node) const { return batch_of_[node]; }
  /// How the batch of a node is evaluated; what it keeps lives as long as the plan.
  BatchKernel& kernel_of(int node) const { return *kernels_[static_cast<std::size_t>(batch_of_[node])]; }
  /// Whether a result is worth keeping between evaluations: a parent depends on more than the node does, or it is a
  /// root.
  bool keeps(int node) const { return keeps_[node]; }

  /// Whether some consumer of a result can read it on a device.
  bool feeds_devices(int node) const { return feeds_devices_[node]; }

  /// Expected bytes of a node's result on the cells (values only, complex numbers assumed).
  std::uint64_t result_bytes(int node, const CellShape& cells) const;
  /// Cells on which a node's result may vary; extent 1 where it cannot.
  CellShape result_cells(int node, const CellShape& cells) const;
  /// Nodes below the roots, themselves included, in evaluation order: batch by batch.
  std::vector<int> below(std::span<const int> roots) const;
  /// Expected largest sum of results alive when `roots` are evaluated level by level. `unstored` (by node): leave no
  /// result.
  std::uint64_t peak_bytes(std::span<const int> roots, const CellShape& cells,
                           const std::vector<bool>& unstored = {}) const;
  /// Splits the roots, in their order, into groups whose peak stays under the budget as far as single roots allow.
  std::vector<std::vector<int>> waves(std::span<const int> roots, const CellShape& cells, std::uint64_t budget,
                                      const std::vector<bool>& unstored = {}) const;
  /// As waves(), of groups under `portion`, if that is less: but all together, if the budget allows it, where roots
  /// share so much that most would be made several times.
  std::vector<std::vector<int>> portions(std::span<const int> roots, const CellShape& cells, std::uint64_t budget,
                                         std::uint64_t portion, const std::vector<bool>& unstored = {}) const;

 private:
  const Forest& forest_;
  std::vector<Batch> batches_;
  std::vector<std::unique_ptr<BatchKernel>> kernels_;  // by batch
  bool has_controls_ = false;
  std::vector<int> batch_of_;
  std::vector<int> place_, in_place_;  // by node its place in the order of batches; the nodes in that order
  std::vector<bool> keeps_, feeds_devices_;
  std::vector<AxisSet> varies_;  // axes along which the result may vary
};

}  // namespace rimetree
