// What the passes of one evaluator share.
#pragma once

#include "memory/pool.h"
#include "runtime/core/node/solve_report.h"
#include "runtime/core/threads/thread_pool.h"
#include "runtime/evaluate/evaluated_forest.h"
#include "runtime/evaluate/evaluator_options.h"
#include "runtime/evaluate/result_cache.h"
#include "runtime/evaluate/timing_report.h"

namespace rimetree {

struct EvaluatorState {
  EvaluatorState(std::shared_ptr<Forest> written, const EvaluatorOptions& options);

  /// Plans anew where the forest has changed, or where the plan has not all of these nodes.
  void update_plan(std::span<const int> roots = {});
  /// Plans anew where a plan was refused.
  void make_plan();
  void set_as_written(std::optional<bool> as_written);
  /// Opens the devices that the forest or the options name.
  void choose_devices();
  std::uint64_t own_stamp(int node, const Request& request) const { return evaluated.own_stamp(node, request, call); }
  BatchContext batch_context(Cancellation& cancellation) {
    return {threads, cancellation, warnings, notes, verification, evaluated.forest()};
  }

  Warnings warnings, notes;
  EvaluatorOptions options;
  EvaluatedForest evaluated;
  ThreadPool threads;
  std::shared_ptr<memory::Pool> pool;
  ResultCache cache;
  Placement placement;
  TimingReport timing;
  Verification verification;
  SolveLog solves;
  std::uint64_t call = 0;  ///< how many calls there have been; see Evaluator::begin_call()
};

}  // namespace rimetree
