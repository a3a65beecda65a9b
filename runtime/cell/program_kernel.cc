#include "runtime/cell/program_kernel.h"

#include "runtime/core/error.h"
#include "runtime/core/node/node.h"
#include "runtime/core/threads/thread_pool.h"
#include "runtime/core/values/pull_back.h"

namespace rimetree {

namespace {

/// States of a batch's nodes whose programs are kept, besides those of the nodes that are evaluated.
constexpr std::size_t kManyStates = 256;

}  // namespace

CellPrograms& ProgramKernel::programs_of(const Node& node) {
  return programs_[node.node_class().differs_per_node() ? node.state().fingerprint(false) : 0];
}

void ProgramKernel::make_room(std::size_t n_node) {
  if (programs_.size() > 2 * n_node + kManyStates) programs_.clear();
}

void ProgramKernel::note(BatchContext& context, const Node& node) const {
  const std::string& name = node.node_class().name;
  for (const auto& [state, programs] : programs_)
    if (const std::string why = programs.why_not(); !why.empty())
      context.notes.add("cell-by-cell-" + name, name + ": cell by cell, since " + why);
}

namespace {

/// As long as it lives, programs run on all threads.
struct Divided {
  Divided(CellPrograms& all, ThreadPool& threads) : programs(all) { programs.divide_among(&threads); }
  ~Divided() { programs.divide_among(nullptr); }
  Divided(const Divided&) = delete;
  CellPrograms& programs;
};

}  // namespace

void ProgramKernel::prepare(std::span<Evaluation* const> batch) {
  make_room(batch.size());
  for (Evaluation* evaluation : batch) evaluation->programs = &programs_of(evaluation->node);
}

void ProgramKernel::evaluate(BatchContext& context, std::span<Evaluation* const> batch) {
  prepare(batch);
  // Fewer nodes than threads: these divide the cells of each, if there are enough.
  const bool divides = batch.size() < static_cast<std::size_t>(context.threads.size()) &&
                       batch.front()->cells().shape().size() >= 2 * CellPrograms::kLeastPart;
  if (divides) {
    for (Evaluation* evaluation : batch) {
      if (context.cancellation.check()) throw Cancelled();
      const Divided divided(*evaluation->programs, context.threads);
      guarded_evaluate(*evaluation);
    }
  } else {
    BatchKernel::evaluate(context, batch);
  }
  note(context, batch.front()->node);
}

void ProgramKernel::pull_back(BatchContext& context, std::span<PullBack* const> batch) {
  make_room(batch.size());
  for (PullBack* pull : batch) pull->programs = &programs_of(pull->inputs.node);
  BatchKernel::pull_back(context, batch);
  note(context, batch.front()->inputs.node);
}

}  // namespace rimetree
