// What the evaluator keeps during one evaluation.
#pragma once

#include <optional>

#include "runtime/evaluate/contract.h"
#include "runtime/evaluate/evaluator.h"
#include "runtime/evaluate/tile_derivatives.h"

namespace rimetree {

inline std::uint64_t result_bytes(const Result& result) {
  std::uint64_t bytes = result.value.bytes() + result.flags.size() * sizeof(std::int32_t);
  for (const Derivative& derivative : result.derivatives) bytes += derivative.value.bytes();
  return bytes;
}

struct Evaluator::Pass {
  const Request& request;
  Cancellation& cancellation;
  TilesOnCells tiles;
  std::vector<std::uint64_t> stamp{};    // by node: identifies what the result is made from
  std::vector<ResultPtr> result{};       // by node: alive in this call
  std::vector<int> waiting_consumers{};  // by node: consumers still to be evaluated in this call
  std::vector<bool> needed{};            // by node: to be computed in the current wave
  std::vector<int> part_of{};            // by node: the consumer that it is evaluated as a part of; -1: by itself
  std::vector<bool> has_part{};          // by node
  bool has_parts = false;                // whether any has
  std::vector<bool> is_root{};
  bool step = false;  // see evaluate_step()
  Placing placing = Placing::roots_on_host;
  std::uint64_t bytes_alive = 0;
  std::vector<int> nodes{};  // below the roots of the current wave, in evaluation order
  /// By child and the axes that its parents mix: how these see it, where that is not as it is.
  std::map<std::pair<int, AxisSet>, ResultPtr> split{};
  // Of the batch being evaluated; its arrays serve all batches, since large ones are slow to get and to give back.
  struct {
    std::vector<const Result*> children;
    std::vector<std::shared_ptr<Result>> made;
    std::vector<Evaluation> evaluations;
    std::vector<Evaluation*> ready;
  } batch{};

  // Of a reverse pass only; see evaluator_reverse.cc.
  std::vector<bool> active{};  // by node: depends on unknowns; its children's results stay until it is pulled back
  std::vector<int> waiting_pulls{};  // by node: active consumers still to be pulled back
  std::vector<Vells> adjoint{};      // by node
  Gradient gradient{};
  std::map<int, ResultPtr> tangents{};  // by node whose tangent some consumer wants

  bool pulls_back(int node) const { return !active.empty() && active[static_cast<std::size_t>(node)]; }
};

/// What a node sees of its children outside a forward evaluation.
struct SeenInputs {
  SeenInputs(const Node& node, const Request& request, memory::Pool& pool, std::vector<const Result*> all)
      : children(std::move(all)) {
    std::span<const Result*> seen = children;
    if (Contract::prepare(node, seen, decided)) evaluation.emplace(node, request, pool, seen, decided);
  }
  SeenInputs(const SeenInputs&) = delete;

  std::vector<const Result*> children;
  Result decided;
  std::optional<Evaluation> evaluation;  ///< nothing where the outcome is decided without the class
};

}  // namespace rimetree
