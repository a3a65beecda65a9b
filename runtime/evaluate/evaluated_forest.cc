#include "runtime/evaluate/evaluated_forest.h"

#include <algorithm>
#include <bit>
#include <string>

#include "runtime/core/environment.h"
#include "runtime/core/fingerprint.h"

namespace rimetree {

EvaluatedForest::EvaluatedForest(std::shared_ptr<Forest> written, Choice choice, Warnings& notes)
    : written_(std::move(written)), choice_(choice), notes_(notes) {
  make_plan();
}

bool EvaluatedForest::is_as_written() const {
  return choice_.as_written.value_or(yes_or_no("RIMETREE_AS_WRITTEN").value_or(false));
}

bool EvaluatedForest::fuses() const { return choice_.fuse.value_or(yes_or_no("RIMETREE_FUSE").value_or(true)); }

void EvaluatedForest::make_plan() {
  fusion_ = nullptr;
  plan_ = nullptr;
  rewriting_ = nullptr;
  forest_ = written_;
  if (!is_as_written()) {
    refused_.resize(written_->size(), false);
    rewriting_ = std::make_unique<rewrite::Rewriting>(*written_, asked_, refused_);
    for (const auto& [node, text] : rewriting_->summary()) notes_.add(text, text);
    if (rewriting_->forest())
      forest_ = rewriting_->forest();
    else
      rewriting_ = nullptr;
  }
  plan_ = std::make_unique<Plan>(*forest_);
  if (fuses()) fusion_ = std::make_unique<Fusion>(*forest_, *plan_);
  plan_version_ = written_->plan_version();
  ++n_plan_;
  below_roots_.clear();
  below_.clear();
  waves_roots_.clear();
  waves_.clear();
}

bool EvaluatedForest::set_as_written(std::optional<bool> as_written) {
  if (choice_.as_written == as_written) return false;
  choice_.as_written = as_written;
  make_plan();
  return true;
}

bool EvaluatedForest::update(std::span<const int> roots) {
  const std::uint64_t before = n_plan_;
  if (plan_version_ != written_->plan_version()) {
    refused_.clear();
    make_plan();
  } else if (forest_ != written_ && !(forest_->follow(*written_) && rewriting_->holds(*written_))) {
    make_plan();
  }
  const std::size_t n_asked = asked_.size();
  for (const int root : roots)
    if (!forest_->is_needed(root)) asked_.push_back(root);
  if (asked_.size() > n_asked) make_plan();
  return n_plan_ != before;
}

std::vector<int> EvaluatedForest::below(std::span<const int> roots) {
  if (!std::ranges::equal(roots, below_roots_)) {
    below_roots_.assign(roots.begin(), roots.end());
    below_ = plan_->below(roots);
  }
  return below_;
}

const std::vector<std::vector<int>>& EvaluatedForest::waves(const std::vector<int>& roots, const CellShape& cells,
                                                            std::uint64_t budget, std::uint64_t portion, Parts parts) {
  if (roots != waves_roots_ || cells != waves_cells_ || parts != waves_parts_) {
    waves_roots_ = roots;
    waves_cells_ = cells;
    waves_parts_ = parts;
    waves_ = plan_->portions(roots, cells, budget, portion, unstored(parts));
  }
  return waves_;
}

EvaluatedForest::Parts EvaluatedForest::parts(bool derivatives, bool has_devices) const {
  if (!fusion_) return Parts::none;
  return derivatives || has_devices ? Parts::of_consumers : Parts::of_sums;
}

const std::vector<bool>& EvaluatedForest::unstored(Parts parts) const {
  static const std::vector<bool> none;
  return parts == Parts::none ? none : fusion_->expected_parts(parts == Parts::of_sums);
}

std::uint64_t EvaluatedForest::own_stamp(int node, const Request& request, std::uint64_t call) const {
  std::uint64_t stamp = mix(static_cast<std::uint64_t>(node), forest_->state_version(node));
  if (is_made(node)) stamp = mix(stamp, rewriting_->fingerprint(node));
  const DependencySet all = forest_->dependencies(node);
  // What depends on no solvable parameter is the same with derivatives and without.
  const bool derivatives = request.derivatives && (all & kSolvable) != 0;
  stamp = mix(stamp, static_cast<std::uint64_t>(request.precision) * 4 + derivatives * 2 +
                         (derivatives && request.along_direction));
  stamp = mix(stamp, std::bit_cast<std::uint64_t>(request.tolerance));
  if (all & kDomain) stamp = mix(stamp, request.cells->fingerprint());
  if (all & kData) stamp = mix(stamp, request.data_id);
  if (all & kIteration) stamp = mix(stamp, request.iteration);
  if (all & kCall) stamp = mix(stamp, call);
  return stamp;
}

}  // namespace rimetree
