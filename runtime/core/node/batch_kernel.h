// How nodes of one batch are evaluated together, and what is kept for that from one evaluation to the next.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/core/node/verification.h"
#include "runtime/core/threads/cancellation.h"
#include "runtime/core/values/evaluation.h"
#include "runtime/core/warnings.h"

namespace rimetree {

class DeviceContext;
class Forest;
class PullBack;
struct Comparison;
struct ResidualSums;
class ThreadPool;

/// Wall time of a batch that was no arithmetic, as far as its class tells.
struct BatchSplit {
  double unchanged_seconds = 0;  ///< preparing or copying what has not changed since the last batch: avoidable
  double changed_seconds = 0;    ///< preparing or copying what is new
};

/// What a batch of evaluations runs with.
struct BatchContext {
  ThreadPool& threads;
  Cancellation& cancellation;
  Warnings& warnings;
  Warnings& notes;             ///< how things were done and why: for reports, no cause for concern
  Verification& verification;  ///< takes what Request::verify asks for
  const Forest& forest;
  BatchSplit split = {};
  /// Devices that may be used; none: the host only.
  std::span<const std::unique_ptr<DeviceContext>> devices = {};
  /// Whether some consumer reads the results on a device: a class that computes there leaves them there.
  bool feeds_devices = false;
};

/// Evaluates nodes of the same class, state (up to per_node fields) and shapes by one call. A node makes one for each
/// batch of a plan (Node::make_kernel), and the plan owns it: here belongs what a class prepares once and uses again.
/// It holds copies and no node, since nodes are made anew when their state changes. This one leaves each node to
/// itself, and spreads them over all threads.
class BatchKernel {
 public:
  BatchKernel() = default;
  virtual ~BatchKernel();
  BatchKernel(const BatchKernel&) = delete;
  BatchKernel& operator=(const BatchKernel&) = delete;

  virtual void evaluate(BatchContext& context, std::span<Evaluation* const> batch);
  /// Gives evaluations what their nodes need to plan for a device (DevicePath::plan_on_device).
  virtual void prepare(std::span<Evaluation* const> /*batch*/) {}

  // Reverse mode (see runtime/core/values/pull_back.h).

  /// Adjoints are added in an order that does not depend on the threads.
  virtual void pull_back(BatchContext& context, std::span<PullBack* const> batch);
  /// Whether pull_back() looks at PullBack::original(). Others find adjoints where children have them.
  virtual bool adds_to_originals() const { return false; }
  /// Children of which pull_back() wants to know a tangent (PullBack::tangent).
  virtual std::vector<std::size_t> tangent_slots() const { return {}; }

  // Comparison with data where a model is computed (see runtime/core/values/comparison.h).

  /// Whether compare() does something where there are devices.
  virtual bool compares() const { return false; }
  /// Subtracts the terms of each comparison, nodes of the same batches, from its rest; adds up chi-square, and adds to
  /// the adjoints of the terms' children those of `slope` times it. Called on the kernel of the first term of the first
  /// one. False: it cannot be done so; nothing has been added.
  virtual bool compare(BatchContext&, std::span<Comparison> /*batch*/, double /*slope*/, ResidualSums& /*sums*/) {
    return false;
  }

 protected:
  /// Turns exceptions into failures.
  static void guarded_evaluate(Evaluation& evaluation);

 private:
  static void guarded_pull_back(PullBack& pull);
};

}  // namespace rimetree
