// How a forest is evaluated: equal nodes once, and sums over sources, however they are written, as nodes that sum all
// sources in one pass. The user's forest stays as it is; a second one has the same nodes by the same numbers, but for
// these.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "runtime/core/forest/forest.h"

namespace rimetree::rewrite {

struct SourceSum;
class WrittenPhases;

class Rewriting {
 public:
  /// Of a forest in which `asked` are read by somebody outside, and `refused` must be read as they are written (by
  /// node, true or false). Where nothing can be rewritten there is no forest of its own.
  Rewriting(const Forest& written, std::span<const int> asked, const std::vector<bool>& refused,
            const Registry& registry = Registry::instance());

  /// The forest to evaluate; nullptr: the one that was written.
  const std::shared_ptr<Forest>& forest() const { return forest_; }

  /// Whether a node is none of the written forest.
  bool is_new(int node) const { return static_cast<std::size_t>(node) >= n_written_; }
  /// Whether a node's class and children are not those that were written.
  bool is_made(int node) const { return !is_made_.empty() && is_made_[static_cast<std::size_t>(node)]; }
  /// Whether a node stands for a sum that leaves out what is flagged.
  bool is_reduction(int node) const { return !is_made_.empty() && is_reduction_[static_cast<std::size_t>(node)]; }
  /// Whether a node stands for a sum that has terms without data: it is never missing.
  bool is_never_missing(int node) const { return never_missing_.contains(node); }
  /// Whether flags of a node's children are not those of the sum: such a sum sees them source by source, or the sum is
  /// of matrices that are written element by element, each with its own flags; `of_baseline`: flags of coordinates.
  bool separates_flags(int node, bool of_baseline) const {
    return separates_[static_cast<std::size_t>(node)] > (of_baseline ? 1 : 0);
  }
  /// Whether what was found still holds, as far as it depends on values of the written forest.
  bool holds(const Forest& written) const;
  /// Tells made nodes of the same number and children in different plans apart.
  std::uint64_t fingerprint(int node) const { return fingerprints_[static_cast<std::size_t>(node)]; }
  /// The node of the written forest in whose place, or below which, a made node is.
  int owner(int node) const { return is_new(node) ? owners_[static_cast<std::size_t>(node) - n_written_] : node; }

  /// What was taken together, and what was not and why: (node, text).
  const std::vector<std::pair<int, std::string>>& summary() const { return summary_; }

 private:
  void merge_equal_nodes(const Forest& written, std::span<const int> roots);
  void take_sums_together(const Forest& from, std::span<const int> roots, const std::vector<bool>& refused,
                          const Registry& registry);
  void add_obstacles(const Forest& from, const WrittenPhases& phases);
  void mark_flags(const SourceSum& sum);

  std::size_t n_written_;
  std::shared_ptr<Forest> forest_;
  std::vector<bool> is_made_, is_reduction_;
  std::unordered_set<int> never_missing_;
  std::vector<std::uint8_t> separates_;  // by node: 1: flags of sources, 2: those of the baseline, too
  std::vector<std::pair<int, std::uint64_t>>
      numbers_;                              // constants whose values were read, and the versions of their states
  std::vector<std::uint64_t> fingerprints_;  // by node; 0 where nothing was made
  std::vector<int> owners_;
  std::vector<std::pair<int, std::string>> summary_;
};

}  // namespace rimetree::rewrite
