// Jones terms that many baselines have in common, such as beams of one or two kinds of dishes, multiplied into the
// brightness: once for all of these baselines, which then see a sky without terms.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "nodes/psv/operands.h"
#include "runtime/core/node/batch_kernel.h"

namespace rimetree::psv {

class FoldedTerms {
 public:
  explicit FoldedTerms(const ChildLayout& layout);

  /// Takes all of a batch, if its terms can be folded and that is less work than to apply them on each baseline;
  /// otherwise none. On the host: devices apply terms where they are.
  bool take(BatchContext& context, std::span<Evaluation* const> batch);
  /// The same evaluations, of children without terms. They share the results, and finish() brings back what is set
  /// besides.
  const std::vector<Evaluation*>& evaluations() const { return seen_; }
  const ChildLayout& layout() const { return folded_; }
  void finish();

 private:
  using Key = std::vector<const Result*>;  // brightness and terms
  Key key_of(const Evaluation& evaluation) const;
  void fold(ThreadPool& threads, const Evaluation& evaluation, Result& brightness) const;

  const ChildLayout& layout_;
  ChildLayout folded_;
  std::map<Key, Result> skies_;
  std::deque<std::vector<const Result*>> children_;
  std::deque<Evaluation> evaluations_;
  std::vector<Evaluation*> given_, seen_;
};

}  // namespace rimetree::psv
