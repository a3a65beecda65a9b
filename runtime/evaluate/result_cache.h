// Results that are kept from one evaluation to the next, each with the stamp that says what it was made from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/forest/forest.h"
#include "runtime/core/values/result.h"

namespace rimetree {

/// Bytes of values, derivatives and flags.
std::uint64_t result_bytes(const Result& result);

/// Results that were kept, outside the evaluator that made them; see Evaluator::take_kept().
struct KeptResults {
  struct One {
    int node = 0;
    std::uint64_t stamp = 0;
    ResultPtr result;
    std::uint64_t bytes = 0;
  };
  std::vector<One> all;
  std::uint64_t plan = 0;  ///< of which plan the nodes are
};

class ResultCache {
 public:
  /// A new plan: of the written forest's nodes all stay, of those that a plan added none.
  void follow_plan(std::size_t n_written, std::size_t n_evaluated);
  /// What is kept of a node, if it was made from what the stamp says; else nullptr.
  ResultPtr find(int node, std::uint64_t stamp) const;
  void keep(int node, std::uint64_t stamp, ResultPtr result);
  /// Lets go of what was made from something else.
  void drop_other_than(int node, std::uint64_t stamp);
  void clear();
  void clear(std::span<const int> nodes);

  /// See Evaluator::take_kept() and put_back().
  KeptResults take(const Forest& forest, std::uint64_t plan);
  void put_back(KeptResults kept, std::size_t n_written, std::uint64_t plan);

 private:
  std::vector<ResultPtr> results_;     // by node
  std::vector<std::uint64_t> stamps_;  // by node
};

}  // namespace rimetree
