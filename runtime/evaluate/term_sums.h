// Sums of many terms that are all made in the same way: one node per source, say, or a stack over sources. All that
// belongs to one term is an item of a small program, which is run for one item after the other: numbers in between
// never are in memory, and what several sums share (the phases of stations, say) is made once for all of them.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "runtime/core/forest/forest.h"
#include "runtime/evaluate/plan.h"

namespace rimetree {

class Fusion;

/// Sums with all that is evaluated as a part of them.
struct TermSum {
  std::vector<int> roots;    ///< which add up: of one batch, equally many terms each
  std::size_t n_item = 0;    ///< how many terms
  bool of_stack = false;     ///< terms are the entries of a stack; else children
  std::vector<int> parts;    ///< all nodes that leave no result
  std::vector<int> members;  ///< those of item 0, or of stacks all; children before their parents
  /// Children of the members, one member after the other: kAbsent, which of the inputs, or ~(which of the members).
  std::vector<std::int32_t> links;
  std::vector<std::int32_t> terms;       ///< by root: where its term is, as links are
  std::vector<std::vector<int>> inputs;  ///< nodes whose results are read: one by all items, or one for each
  std::int32_t form = 0;                 ///< sums that are made alike have the same
  AxisSet varies_along = 0;              ///< axes along which results vary beyond the inputs
};

class TermSums {
 public:
  /// Fewer terms than this are no loop.
  static constexpr std::size_t kLeastTerms = 4;
  /// More sums than this do not share what they have in common: their running sums would not stay in a cache.
  static constexpr std::size_t kMostRoots = 48;

  TermSums(const Forest& forest, const Plan& plan, const Fusion& fusion)
      : forest_(forest), plan_(plan), fusion_(fusion) {}

  /// What a node is in some evaluation.
  enum class Role : std::uint8_t {
    unneeded,  ///< not evaluated
    alone,     ///< it has to be evaluated by itself, and is no sum
    apart,     ///< somebody wants its result
    inside,    ///< only its consumers look at its result
  };
  /// Finds sums, given the roles of all nodes; kept as long as these are the same.
  std::shared_ptr<const std::vector<TermSum>> find(const std::vector<Role>& roles);
  /// From now on, nodes are evaluated in other ways: their terms are not of one kind.
  void refuse(const TermSum& sum);

  /// The sums that are expected in evaluations of values of all nodes.
  std::vector<TermSum> expected();

 private:
  class Search;
  bool is_sum(int node) const;
  bool is_sum_of_stack(int node) const;

  const Forest& forest_;
  const Plan& plan_;
  const Fusion& fusion_;
  std::vector<bool> refused_;  // by node, once any is
  std::vector<Role> roles_;
  std::shared_ptr<const std::vector<TermSum>> sums_;
  std::map<std::vector<std::int32_t>, std::int32_t> forms_;
};

}  // namespace rimetree
