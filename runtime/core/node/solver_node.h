// Nodes that solve, and what they look at: the cells of one request, or of several parts, which are of other times, or
// of other data on wider cells. The data of one part at a time need be in memory: what a solve keeps of them are sums.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/core/node/solve_report.h"
#include "runtime/core/threads/cancellation.h"
#include "runtime/core/values/request.h"

namespace rimetree {

class Evaluation;
class Evaluator;

/// Some of the cells of the whole, or some of its data on cells of their own. `time` and `frequency` say for each of
/// its cells which of the whole's it is, or is around; empty: they are those of the whole. None reaches over the end of
/// a solution tile.
struct RequestPart {
  Request request;
  std::vector<std::size_t> time = {}, frequency = {};
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
  RequestPart part(std::size_t) override { return {request_}; }

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
