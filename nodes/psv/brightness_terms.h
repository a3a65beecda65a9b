// A brightness that varies in time, where nothing else keeps kernels from a node: it is the innermost Jones term of the
// first antenna, J_p = B, around sources of 1 Jy, as terms may vary in time. Sources that are dark at all times, as
// those below the horizon, are of 0 Jy.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "nodes/psv/operands.h"
#include "nodes/psv/packed_skies.h"
#include "runtime/core/node/batch_kernel.h"

namespace rimetree::psv {

/// Whether that is less work for nodes on the host than one time or cell after the other: of cells as one node has
/// them, and a brightness at so many channels.
bool brightness_as_term_pays(const ChildLayout& layout, std::size_t n_node, const CellShape& cells, int n_channel,
                             bool in_reverse = false);

/// As notes say it.
inline constexpr const char* kBrightnessAsTerm = "the brightness, which varies in time, as a Jones term";

/// The layout of such nodes with one pair of terms more.
ChildLayout with_brightness_as_term(ChildLayout layout);

class BrightnessTerms {
 public:
  explicit BrightnessTerms(const ChildLayout& layout);
  BrightnessTerms(const BrightnessTerms&) = delete;

  /// Takes those for which it is possible and less work. Gives the others. On devices values are made cell by cell,
  /// where results stay; but adjoints have no other way than on the host.
  std::vector<Evaluation*> take(const BatchContext& context, std::span<Evaluation* const> batch);
  std::vector<PullBack*> take(const BatchContext& context, std::span<PullBack* const> batch);

  // What was taken, as nodes with one pair of terms more. They share the results of those that were given.

  const std::vector<Evaluation*>& evaluations() const { return evaluations_; }
  const std::vector<PullBack*>& pulls() const { return pulls_; }
  const ChildLayout& layout() const { return layout_; }
  PackedSkies& skies() { return skies_; }

 private:
  template <class Item>
  std::vector<Item*> others_than_taken(const BatchContext& context, std::span<Item* const> batch,
                                       std::vector<Item*>& taken);
  Evaluation& with_terms(const Evaluation& evaluation);
  void make_unit(std::span<Evaluation* const> taken);
  void make_unit(std::span<PullBack* const> taken);
  void set_unit(const Evaluation& first, std::span<const std::uint8_t> is_lit);

  ChildLayout given_layout_, layout_;
  Result unit_;  ///< [source] 1 Jy, or 0
  PackedSkies skies_;
  std::deque<std::vector<const Result*>> children_;
  std::deque<Evaluation> made_;
  std::deque<PullBack> made_pulls_;
  std::vector<Evaluation*> evaluations_;
  std::vector<PullBack*> pulls_;
};

}  // namespace rimetree::psv
