// Jones terms that many baselines have in common, such as beams of one or two kinds of dishes, multiplied into the
// brightness: once for all of these baselines, which then see a sky without terms.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "nodes/psv/operands.h"
#include "nodes/psv/packed_skies.h"
#include "runtime/core/node/batch_kernel.h"

namespace rimetree::psv {

/// Whether terms in the brightness are less work, and not too large. Of `rows` (times of baselines) and of `skies`
/// (distinct products of brightness and terms) each counts once for every channel; a sky has at most `n_channel`.
bool folding_pays(const ChildLayout& layout, double rows, double skies, double n_channel);

/// As notes say it.
std::string folded_text(std::size_t skies);

/// The baselines of a batch, those with the same brightness and terms together: if terms can be folded, and that is
/// less work than to apply them on each baseline; otherwise none. On the host: devices apply terms where they are.
std::vector<std::vector<Evaluation*>> terms_to_fold(BatchContext& context, const ChildLayout& layout,
                                                    std::span<Evaluation* const> batch);

/// Some that have the same brightness and terms, as evaluations of children without terms.
class FoldedTerms {
 public:
  FoldedTerms(ThreadPool& threads, const ChildLayout& layout, std::span<Evaluation* const> baselines);
  FoldedTerms(const FoldedTerms&) = delete;

  /// They share the results of those that were given.
  const std::vector<Evaluation*>& evaluations() const { return without_terms_; }
  const ChildLayout& layout() const { return folded_; }
  /// Their own, as nobody sees this sky again.
  PackedSkies& skies() { return skies_; }

 private:
  void fold(ThreadPool& threads, const ChildLayout& layout, const Evaluation& evaluation);

  ChildLayout folded_;
  Result brightness_;
  PackedSkies skies_;
  std::vector<Evaluation*> without_terms_;
  std::deque<std::vector<const Result*>> children_;
  std::deque<Evaluation> evaluations_;
};

/// evaluate(FoldedTerms) for each sky of `terms_to_fold`, of which one at a time is in memory. False where there are
/// none.
template <class F>
bool fold_terms(BatchContext& context, const ChildLayout& layout, std::span<Evaluation* const> batch,
                const F& evaluate) {
  const auto skies = terms_to_fold(context, layout, batch);
  for (const std::vector<Evaluation*>& baselines : skies) {
    FoldedTerms folded(context.threads, layout, baselines);
    evaluate(folded);
  }
  return !skies.empty();
}

}  // namespace rimetree::psv
