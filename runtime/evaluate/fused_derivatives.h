// Derivatives of fused groups: the tangents of the whole group along some parameters at a time, so that the values in
// between are made once for all of these, and never are in memory.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/core/values/result.h"
#include "runtime/evaluate/fusion.h"
#include "runtime/program/program.h"

namespace rimetree {

class FusedDerivatives {
 public:
  /// Parameters whose tangents one program makes: values in between take so little of it, and its rows stay in caches.
  static constexpr std::size_t kTogether = 8;

  explicit FusedDerivatives(const Forest& forest) : forest_(forest) {}

  /// What makes the values and the derivatives of a group's result.
  struct Made {
    std::vector<ParameterId> parameters;
    std::vector<const program::Program*>
        programs;  ///< of kTogether parameters each; the first one makes the values, too
    bool is_complex = false;
  };
  /// Nothing: the nodes have to be evaluated one by one. `results`: of the leaves; `shape`: cells of the result.
  std::optional<Made> made_for(const FusedGroup& group, std::span<const Result* const> results, const Cells& cells,
                               const CellShape& shape);
  /// Adds the programs of devices that make the derivatives, one for each parameter, which read the tangents of leaves
  /// as inputs that come after those of all leaves. False: there is one that no thread can run.
  bool add_on_device(const FusedGroup& group, std::span<const Result* const> results,
                     std::span<const ParameterId> parameters,
                     std::vector<std::shared_ptr<const program::ThreadProgram>>& to);
  /// Fills values and derivatives, by all threads if any are given.
  static void run(const Made& made, std::size_t n_item, std::span<const Result* const> results, const Cells& cells,
                  Vells& value, std::span<Derivative> derivatives, ThreadPool* threads);

 private:
  struct Entry {
    std::optional<program::Program> program;
    bool is_complex = false;
  };
  const Entry& find(const FusedGroup& group, std::span<const Result* const> results,
                    std::span<const ParameterId> parameters, bool with_values, const Cells& cells,
                    const CellShape& shape);

  const Forest& forest_;
  ProgramCache<Entry> entries_;
  ProgramCache<std::shared_ptr<const program::ThreadProgram>> on_device_;
};

}  // namespace rimetree
