// The forest that is evaluated, and where it must give way to the one that was written: what nodes make of data that
// are missing or flagged element by element, source by source, no sum in one pass can give.
//
// Not summed in one pass are: flags that a source's leaf has element by element, leaves that are missing for some
// sources, complex directions, and whatever makes the sum itself fail. An evaluation that meets one notes which nodes
// these are, plans anew such that terms with them are evaluated as written, and begins again.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "runtime/core/cell_loop.h"
#include "runtime/core/pull_back.h"
#include "runtime/evaluate/evaluator_pass.h"
#include "runtime/evaluate/fusion.h"

namespace rimetree {

namespace {

bool is_missing(const ResultPtr& result) { return result->status == Result::Status::missing; }

/// What a sum makes of flags that all its terms have: zeros, flagged element by element.
void leave_out_flagged(Result& result, memory::Pool& pool) {
  if (!result.ok() || result.flags.empty()) return;
  const Flags& flags = result.flags;
  CellShape cells = broadcast(result.value.cells(), flags.cells());
  const TensorShape& dims = result.value.dims();
  const auto without = [&](const Vells& values) {
    const Vells* const own[] = {&values};
    bring_to_host(own);
    Vells kept(pool, values.type(), dims, cells);
    const auto from = broadcast_strides(values.cells()), flag = broadcast_strides(flags.cells());
    std::size_t i = 0;
    for (std::size_t e = 0; e < dims.size(); ++e)
      for_each_cell(cells, [&](const std::array<int, kAxes>& cell) {
        const bool out = flags.plane(e)[offset_of(cell, flag)] != 0;
        const Complex<double> z = out ? Complex<double>() : values.at(e, offset_of(cell, from));
        if (kept.is_complex())
          kept.complex()[i++] = z;
        else
          kept.real()[i++] = z.re;
      });
    return kept;
  };
  result.value = without(result.value);
  for (Derivative& derivative : result.derivatives) derivative.value = without(derivative.value);
  Flags all(pool, dims.size(), flags.cells());
  for (std::size_t e = 0; e < dims.size(); ++e)
    std::copy_n(flags.plane(e), flags.cells().size(), all.data() + e * flags.cells().size());
  result.flags = std::move(all);
}

}  // namespace

bool Evaluator::is_as_written() const {
  if (options_.as_written) return *options_.as_written;
  const char* value = std::getenv("RIMETREE_AS_WRITTEN");
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

bool Evaluator::fuses() const {
  if (options_.fuse) return *options_.fuse;
  const char* value = std::getenv("RIMETREE_FUSE");
  return value == nullptr || std::strcmp(value, "0") != 0;
}

/// Rewrites the forest and plans it; what was kept of nodes that were there before and are not now is let go.
void Evaluator::make_plan() {
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
  fusion_ = nullptr;
  plan_ = std::make_unique<Plan>(*forest_);
  if (fuses()) fusion_ = std::make_unique<Fusion>(*forest_, *plan_);
  plan_version_ = written_->plan_version();
  ++n_plan_;
  kept_.resize(written_->size());
  kept_.resize(forest_->size());
  kept_stamp_.resize(forest_->size(), 0);
  waves_roots_.clear();
  waves_.clear();
}

void Evaluator::set_as_written(std::optional<bool> as_written) {
  if (options_.as_written == as_written) return;
  options_.as_written = as_written;
  make_plan();
}

void Evaluator::update_plan() { update_plan({}); }

void Evaluator::update_plan(std::span<const int> roots) {
  if (plan_version_ != written_->plan_version()) {
    refused_.clear();
    make_plan();
    choose_devices();
  } else if (forest_ != written_) {
    forest_->follow(*written_);
  }
  if (std::all_of(roots.begin(), roots.end(), [this](int root) { return forest_->is_needed(root); })) return;
  for (const int root : roots)
    if (!forest_->is_needed(root)) asked_.push_back(root);
  make_plan();
}

/// Finds children of a batch that a made node does not treat as the written ones would.
void Evaluator::check_made(const Pass& pass, std::span<const int> nodes) {
  if (!rewriting_) return;
  std::vector<int> refused;
  for (const int node : nodes)
    if (rewriting_->is_made(node)) check_made(pass, node, refused);
  if (!refused.empty()) start_over(refused);
}

void Evaluator::check_made(const Pass& pass, int node, std::vector<int>& refused) const {
  const Algebra algebra = forest_->node(node).algebra();
  const std::vector<int>& children = forest_->children(node);
  const bool adds = algebra == Algebra::sum, stacks = algebra == Algebra::composition;
  if (adds || stacks) {
    // What is missing may be a part of something that is missing then as a whole. Of a sum's own terms, which are not
    // made, nothing is.
    std::vector<int> missing;
    std::size_t n = 0;
    for (const int child : children) {
      if (adds && !rewriting_->is_new(child)) continue;
      ++n;
      if (is_missing(pass.result[child])) missing.push_back(child);
    }
    if (!missing.empty() && missing.size() < n) {
      if (adds) refused.push_back(rewriting_->owner(node));
      for (const int child : missing)
        if (stacks) refuse(pass, child, refused);
    }
    if (adds) return;
  }
  const bool sums = algebra == Algebra::source_sum;
  for (std::size_t slot = 0; slot < children.size(); ++slot) {
    const int child = children[slot];
    if (child < 0) continue;
    const Result& result = *pass.result[child];
    const bool is_baseline = sums && slot == 2;
    const bool flagged = !result.flags.empty() && !rewriting_->is_new(child) &&
                         (result.flags.planes() > 1 || (rewriting_->is_below_reduction(node) && !is_baseline));
    const bool complex_place = sums && slot != 1 && slot < 4 && result.ok() && result.value.is_complex();
    if (flagged || complex_place) refuse(pass, child, refused);
  }
}

/// Of a made node what it is made from, as far as it may be the cause: what has been let go may be.
void Evaluator::refuse(const Pass& pass, int node, std::vector<int>& refused) const {
  if (!rewriting_->is_new(node)) {
    refused.push_back(node);
    return;
  }
  for (const int child : forest_->children(node)) {
    if (child < 0) continue;
    const Result* result = pass.result[child].get();
    if (result == nullptr || !result->ok() || result->value.is_complex() || !result->flags.empty())
      refuse(pass, child, refused);
  }
}

void Evaluator::start_over(std::span<const int> refused) {
  bool any_new = false;
  for (const int node : refused) {
    any_new = any_new || !refused_[static_cast<std::size_t>(node)];
    refused_[static_cast<std::size_t>(node)] = true;
  }
  if (!any_new) throw std::logic_error("a node that was to be read as written is not");
  throw Refused();
}

/// What a made node gives is made what the written one would have given.
void Evaluator::finish_made(std::span<const int> nodes, std::span<const std::shared_ptr<Result>> made) {
  if (!rewriting_) return;
  std::vector<int> refused;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!rewriting_->is_made(nodes[i])) continue;
    Result& result = *made[i];
    // The node that fails must be one that the user knows.
    if (!result.failures.empty() && result.failures.front().node == forest_->node(nodes[i]).name())
      refused.push_back(rewriting_->owner(nodes[i]));
    if (rewriting_->is_reduction(nodes[i])) leave_out_flagged(result, *pool_);
  }
  if (!refused.empty()) start_over(refused);
}

}  // namespace rimetree
