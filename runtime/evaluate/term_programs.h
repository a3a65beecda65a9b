// Programs of sums of many terms (term_sums.h), and how they are run.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/core/values/request.h"
#include "runtime/core/values/result.h"
#include "runtime/evaluate/program_cache.h"
#include "runtime/evaluate/term_sums.h"
#include "runtime/program/program.h"

namespace rimetree {

class ThreadPool;

class TermPrograms {
 public:
  explicit TermPrograms(const Forest& forest) : forest_(forest) {}

  struct Made {
    std::optional<program::Program> program;  ///< nothing: the nodes have to be evaluated one by one
    std::vector<bool> is_complex;             ///< by root
  };
  /// What a sum is made from on this occasion.
  struct Run {
    const TermSum* sum = nullptr;
    std::vector<std::vector<const Result*>> inputs;  ///< as the sum has them
    CellShape shape;                                 ///< of the results
    const Made* made = nullptr;
  };
  /// What is the matter with the inputs of a sum.
  enum class Trouble : std::uint8_t {
    none,
    now,     ///< flags, or there are no data
    always,  ///< terms are not of one kind, or cannot be recorded
  };
  /// Fills a run whose inputs are given.
  Trouble prepare(Run& run, const Cells& cells);
  /// Fills the values of all roots, by all threads if any are given.
  static void execute(const Run& run, const Cells& cells, std::span<Vells* const> targets, ThreadPool* threads);

 private:
  void make(const TermSum& sum, std::span<const Vells* const> inputs, program::Axes coordinates, const CellShape& shape,
            Made& made) const;

  const Forest& forest_;
  ProgramCache<Made> made_;  // by form, and axes and types of the inputs
};

}  // namespace rimetree
