// Where the forest that is evaluated must give way to the one that was written: what nodes make of data that
// are missing or flagged element by element, source by source, no sum in one pass can give.
//
// Not summed in one pass are: flags that a source's leaf has element by element, leaves that are missing for some
// sources, complex directions, and whatever makes the sum itself fail; nor, on the host, forward derivatives of
// directions and shapes, which the nodes that were written make in vectors, and a sum cell by cell. An evaluation that
// meets one notes which nodes these are, plans anew such that terms with them are evaluated as written, and begins
// again.
#include <algorithm>
#include <stdexcept>

#include "runtime/core/cells/cell_loop.h"
#include "runtime/core/values/pull_back.h"
#include "runtime/evaluate/evaluated_forest.h"

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

void EvaluatedForest::check_inputs(std::span<const int> batch, const std::vector<ResultPtr>& result, bool on_host) {
  if (!rewriting_) return;
  std::vector<int> refused;
  for (const int node : batch)
    if (rewriting_->is_made(node)) check_input(node, result, on_host, refused);
  if (!refused.empty()) start_over(refused);
}

void EvaluatedForest::check_input(int node, const std::vector<ResultPtr>& result, bool on_host,
                                  std::vector<int>& refused) const {
  const Algebra algebra = forest_->node(node).algebra();
  const std::span<const int> children = forest_->children(node);
  const bool adds = algebra == Algebra::sum, stacks = algebra == Algebra::composition;
  if (adds || stacks) {
    // What is missing may be a part of something that is missing then as a whole; so may a made term of a sum, which
    // may have been a difference. Terms that were written are left out as they would have been.
    std::vector<int> missing;
    for (const int child : children)
      if (!(adds && !rewriting_->is_new(child)) && is_missing(result[static_cast<std::size_t>(child)]))
        missing.push_back(child);
    if (!missing.empty() && missing.size() < children.size()) {
      if (adds) refused.push_back(rewriting_->owner(node));
      for (const int child : missing)
        if (stacks) refuse(child, result, refused);
    }
    if (adds) return;
  }
  const bool sums = algebra == Algebra::source_sum;
  for (std::size_t slot = 0; slot < children.size(); ++slot) {
    const int child = children[slot];
    if (child < 0) continue;
    const Result& seen = *result[static_cast<std::size_t>(child)];
    const bool is_baseline = sums && slot == 2;
    const bool flagged = !seen.flags.empty() && !rewriting_->is_new(child) &&
                         (seen.flags.planes() > 1 || rewriting_->separates_flags(node, is_baseline));
    const bool complex_place = sums && slot != 1 && slot < 4 && seen.ok() && seen.value.is_complex();
    // Of sums whose phases or shapes unknowns move, derivatives are made cell by cell.
    const bool moves = on_host && sums && slot != 1 && slot < 4 && !seen.derivatives.empty();
    if (flagged || complex_place || moves) refuse(child, result, refused);
  }
}

/// Of a made node what it is made from, as far as it may be the cause: what has been let go may be.
void EvaluatedForest::refuse(int node, const std::vector<ResultPtr>& result, std::vector<int>& refused) const {
  if (!rewriting_->is_new(node)) {
    refused.push_back(node);
    return;
  }
  for (const int child : forest_->children(node)) {
    if (child < 0) continue;
    const Result* seen = result[static_cast<std::size_t>(child)].get();
    if (seen == nullptr || !seen->ok() || seen->value.is_complex() || !seen->flags.empty() ||
        !seen->derivatives.empty())
      refuse(child, result, refused);
  }
}

void EvaluatedForest::start_over(std::span<const int> refused) {
  bool any_new = false;
  for (const int node : refused) {
    any_new = any_new || !refused_[static_cast<std::size_t>(node)];
    refused_[static_cast<std::size_t>(node)] = true;
  }
  if (!any_new) throw std::logic_error("a node that was to be read as written is not");
  throw PlanRefused();
}

void EvaluatedForest::check_results(std::span<const int> batch, std::span<const std::shared_ptr<Result>> made,
                                    memory::Pool& pool) {
  if (!rewriting_) return;
  std::vector<int> refused;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!rewriting_->is_made(batch[i])) continue;
    Result& result = *made[i];
    // The node that fails must be one that the user knows.
    if (!result.failures.empty() && result.failures.front().node == forest_->node(batch[i]).name())
      refused.push_back(rewriting_->owner(batch[i]));
    if (rewriting_->is_never_missing(batch[i]) && is_missing(made[i])) refused.push_back(batch[i]);
    if (rewriting_->is_reduction(batch[i])) leave_out_flagged(result, pool);
  }
  if (!refused.empty()) start_over(refused);
}

}  // namespace rimetree
