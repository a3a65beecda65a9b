// The batch of nodes whose bodies run as programs.
#pragma once

#include <map>

#include "runtime/cell/cell_program.h"
#include "runtime/core/node/batch_kernel.h"

namespace rimetree {

/// Nodes of one batch share their programs, but for those that differ in a per_node field, which their bodies may know.
class ProgramKernel final : public BatchKernel {
 public:
  void evaluate(BatchContext& context, std::span<Evaluation* const> batch) override;
  void prepare(std::span<Evaluation* const> batch) override;
  void pull_back(BatchContext& context, std::span<PullBack* const> batch) override;

 private:
  CellPrograms& programs_of(const Node& node);
  /// Lets go of those of states that nodes are no longer in.
  void make_room(std::size_t n_node);
  void note(BatchContext& context, const Node& node) const;
  std::map<std::uint64_t, CellPrograms> programs_;  // by fingerprint of the state where that matters
};

}  // namespace rimetree
