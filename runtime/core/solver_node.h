// Nodes that solve, and what they look at: the cells of one request, or of several that follow each other in time. Of
// several the data of one at a time need be in memory: what a solve keeps of them are sums.
#pragma once

#include <cstddef>

#include "runtime/core/cancellation.h"
#include "runtime/core/request.h"
#include "runtime/core/solve_report.h"

namespace rimetree {

class Evaluation;
class Evaluator;

/// Some of the cells: all channels of the time slots from `first_time` on.
struct RequestPart {
  Request request;
  std::size_t first_time = 0;
  std::size_t n_time() const { return static_cast<std::size_t>(request.cells->shape()[Axis::time]); }
};

class RequestParts {
 public:
  virtual ~RequestParts() = default;
  /// The cells of all parts; it has data only where there is but one part.
  virtual const Request& whole() const = 0;
  virtual std::size_t size() const = 0;
  /// Part `index`, with its data, which may be gone when the next one is asked for.
  virtual RequestPart part(std::size_t index) = 0;
};

/// All in one.
class OnePart final : public RequestParts {
 public:
  explicit OnePart(const Request& request) : request_(request) {}
  const Request& whole() const override { return request_; }
  std::size_t size() const override { return 1; }
  RequestPart part(std::size_t) override { return {request_, 0}; }

 private:
  const Request& request_;
};

/// What a node of class Solver is besides a Node: evaluating it is a loop over evaluations of what is below it.
class SolverNode {
 public:
  virtual ~SolverNode();
  /// Evaluates the node. The evaluator calls it before all other nodes of a request, instead of evaluating the children
  /// and the node.
  virtual void control(Evaluator& evaluator, Evaluation& evaluation, Cancellation& cancellation) const = 0;
  /// Runs the fit as the node's state says and leaves the Parms at the solution; the evaluator keeps the report as
  /// well. Throws Error, and Cancelled; the Parms then have the values from before.
  virtual SolveReport solve(Evaluator& evaluator, RequestParts& parts, Cancellation& cancellation) const = 0;
};

}  // namespace rimetree
