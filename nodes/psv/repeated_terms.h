// Jones terms that are the same for all sources. The kernels take terms with a matrix for each source: here a common
// one is repeated for each, on the way in, and what it has gained is added up over the sources, on the way back.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "nodes/psv/operands.h"

namespace rimetree::psv {

/// Whether a term of such dimensions is one for all of several sources.
bool is_common(const TensorShape& dims, int n_source);

class RepeatedTerms {
 public:
  /// The same evaluation, of children with a term for each source. It shares the result.
  Evaluation& see(const ChildLayout& layout, const Evaluation& evaluation);
  /// The same share of a reverse pass. What its terms gain reaches their adjoints in finish(), and why it failed.
  PullBack& see(const ChildLayout& layout, PullBack& pull);
  template <class Item>
  std::vector<Item*> see(const ChildLayout& layout, std::span<Item* const> items) {
    std::vector<Item*> seen;
    for (Item* item : items) seen.push_back(&see(layout, *item));
    return seen;
  }
  void finish();

 private:
  const Result* repeated(const ChildLayout& layout, memory::Pool& pool, const Result& term);

  std::map<const Result*, Result> results_;
  std::deque<std::vector<const Result*>> children_;
  std::deque<Evaluation> evaluations_;
  std::deque<PullBack> pulls_;
  std::vector<std::pair<PullBack*, const PullBack*>> given_pulls_;  // and as they were seen
  std::map<Vells*, Vells> gained_;                                  // by the adjoint that it is for
};

}  // namespace rimetree::psv
