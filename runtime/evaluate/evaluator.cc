#include "runtime/evaluate/evaluator.h"

#include <time.h>

#include <algorithm>

#include "runtime/core/error.h"
#include "runtime/core/node/solver_node.h"
#include "runtime/core/threads/stopwatch.h"
#include "runtime/evaluate/contract.h"

namespace rimetree {

namespace {

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

/// Counts the time until its end.
struct TimedEvaluation {
  explicit TimedEvaluation(TimingReport& report)
      : wall(report.total_seconds), processor(report.processor_seconds, processor_seconds) {}
  TimedScope wall, processor;
};

/// What of results is on a device only, by as few copies as possible.
void bring_results_to_host(std::span<const ResultPtr> results) {
  std::vector<const Vells*> values;
  for (const ResultPtr& result : results) {
    values.push_back(&result->value);
    for (const Derivative& derivative : result->derivatives) values.push_back(&derivative.value);
  }
  bring_to_host(values);
}

/// Nodes that control, in the order of the script's children: what a node has as its first child comes before what it
/// has as its second, and all below a node before the node itself.
std::vector<int> controls_below(const Forest& forest, const std::vector<int>& roots) {
  std::vector<int> found;
  std::vector<bool> seen(forest.size(), false);
  std::vector<std::pair<int, std::size_t>> path;  // node, next child
  for (const int root : roots) {
    if (!seen[root]) path.emplace_back(root, 0);
    seen[root] = true;
    while (!path.empty()) {
      auto& [node, next] = path.back();
      const std::span<const int> children = forest.children(node);
      if (next == children.size()) {
        if (forest.node(node).capabilities().solver != nullptr) found.push_back(node);
        path.pop_back();
        continue;
      }
      const int child = children[next++];
      if (child < 0 || seen[child]) continue;
      seen[child] = true;
      path.emplace_back(child, 0);
    }
  }
  return found;
}

}  // namespace

double TimingReport::overhead_seconds() const {
  double inside = 0;
  for (const auto& [name, timing] : classes) inside += timing.seconds;
  return total_seconds - inside;
}

Evaluator::Evaluator(std::shared_ptr<Forest> forest, EvaluatorOptions options)
    : state_(std::make_unique<EvaluatorState>(std::move(forest), options)) {}

Evaluator::~Evaluator() = default;

void Evaluator::forget() {
  state_->cache.clear();
  for (const auto& device : devices()) device->arrays().clear();
  pool().trim();
}

void Evaluator::forget(std::span<const int> nodes) { state_->cache.clear(nodes); }

KeptResults Evaluator::take_kept() { return state_->cache.take(evaluated(), state_->evaluated.n_plan()); }

void Evaluator::put_back(KeptResults kept) {
  state_->cache.put_back(std::move(kept), forest().size(), state_->evaluated.n_plan());
}

ResultPtr Evaluator::evaluate(const Request& request, const std::string& node) {
  return evaluate(request, std::vector<int>{forest().find(node)}).front();
}

std::vector<ResultPtr> Evaluator::evaluate(const Request& request, const std::vector<int>& roots,
                                           Cancellation* cancellation) {
  Cancellation none;
  return evaluate_roots(request, roots, cancellation ? *cancellation : none, {});
}

std::vector<ResultPtr> Evaluator::evaluate_step(const Request& request, const std::vector<int>& roots,
                                                Cancellation* cancellation, Placing placing) {
  Cancellation none;
  return evaluate_roots(request, roots, cancellation ? *cancellation : none, {.step = true, .placing = placing});
}

std::vector<ResultPtr> Evaluator::evaluate_roots(const Request& request, const std::vector<int>& roots,
                                                 Cancellation& cancellation, ForwardPass::Manner manner) {
  update_plan(roots);
  const auto controlled = run_controls(request, roots, cancellation);
  for (;;) try {
      update_plan(roots);  // controls may have changed states
      return evaluate_planned(request, roots, controlled, cancellation, manner);
    } catch (const PlanRefused&) {
      // Whoever asks for nodes of the plan has to ask for others.
      const auto n = static_cast<int>(forest().size());
      if (std::any_of(roots.begin(), roots.end(), [n](int root) { return root >= n; })) throw;
      state_->make_plan();
    }
}

std::vector<ResultPtr> Evaluator::evaluate_planned(const Request& request, const std::vector<int>& roots,
                                                   const std::map<int, ResultPtr>& controlled,
                                                   Cancellation& cancellation, ForwardPass::Manner manner) {
  const TimedEvaluation timed(state_->timing);
  ForwardPass pass(*state_, request, roots, cancellation, manner);
  for (const auto& [node, result] : controlled) pass.set_result(node, result);
  pass.run();
  std::vector<ResultPtr> results;
  results.reserve(roots.size());
  for (const int root : roots) results.push_back(pass.result(root));
  if (state_->placement.has_devices() && manner.placing != Placing::roots_where_made) bring_results_to_host(results);
  return results;
}

std::map<int, ResultPtr> Evaluator::run_controls(const Request& request, const std::vector<int>& roots,
                                                 Cancellation& cancellation) {
  std::map<int, ResultPtr> results;
  if (!plan().has_controls()) return results;
  for (const int index : controls_below(evaluated(), roots)) results[index] = run_control(request, index, cancellation);
  return results;
}

ResultPtr Evaluator::run_control(const Request& request, int index, Cancellation& cancellation) {
  const Node& node = evaluated().node(index);
  TimingReport& timing = state_->timing;
  const TimedEvaluation timed(timing);
  Stopwatch watch;
  const double before = timing.total_seconds;
  const auto made = std::make_shared<Result>();
  Evaluation evaluation(node, request, pool(), {}, *made);
  try {
    node.capabilities().solver->control(*this, evaluation, cancellation);
  } catch (const Cancelled&) {
    throw;
  } catch (const memory::OutOfMemory&) {
    throw;
  } catch (...) {
    evaluation.fail(message_of_caught());
  }
  Contract::finish(evaluation);
  ClassTiming& own = timing.of(node);
  // Without what the loop has evaluated, which is counted there.
  own.seconds += watch.lap() - (timing.total_seconds - before);
  ++own.evaluations;
  ++own.batches;
  return made;
}

ValueAndGradient Evaluator::value_and_gradient(const Request& request, int root, Cancellation* given) {
  if (request.derivatives) throw Error("a reverse pass needs no derivatives in its request");
  Cancellation none;
  Cancellation& cancellation = given ? *given : none;
  const int roots[] = {root};
  for (;;) try {
      update_plan(roots);
      ReversePass::Tangents tangents = evaluate_tangents(request, root, cancellation);
      const TimedEvaluation timed(state_->timing);
      return ReversePass(*state_, request, root, cancellation, std::move(tangents)).run();
    } catch (const PlanRefused&) {
      state_->make_plan();
    }
}

// The host reads them.
ReversePass::Tangents Evaluator::evaluate_tangents(const Request& request, int root, Cancellation& cancellation) {
  ReversePass::Tangents tangents;
  const std::vector<int> wanted = ReversePass::wanted_tangents(state_->evaluated, root);
  if (wanted.empty()) return tangents;
  Request along = request;
  along.derivatives = along.along_direction = true;
  along.verify = 0;
  const auto results = evaluate_roots(along, wanted, cancellation, {.placing = Placing::on_host});
  for (std::size_t i = 0; i < wanted.size(); ++i) tangents[wanted[i]] = results[i];
  return tangents;
}

std::vector<std::pair<int, Description>> Evaluator::describe(const Request& request) const {
  const Forest& forest = evaluated();
  const CellShape& cells = request.cells->shape();
  std::vector<std::pair<int, Description>> all;
  if (const auto* rewriting = state_->evaluated.rewriting())
    for (const auto& [node, text] : rewriting->summary()) all.emplace_back(node, Description{text, 0});
  std::map<std::string, int> on_device;  // classes, each with one of its nodes
  for (const Batch& batch : plan().batches()) {
    const int first = batch.nodes.front();
    std::vector<CellShape> children;
    for (const int child : forest.children(first))
      children.push_back(child < 0 ? CellShape{} : plan().result_cells(child, cells));
    if (const MethodChoice* method = forest.node(first).capabilities().method) {
      Description description = method->describe({request, forest, batch.nodes, children, devices()});
      if (!description.text.empty()) all.emplace_back(first, std::move(description));
    }
    if (state_->placement.is_expected_on_device(forest, plan(), batch, cells))
      on_device.emplace(forest.node(first).node_class().name, first);
  }
  if (!on_device.empty()) {
    std::string text = "on " + devices().front()->device().name() + ", by one launch for each batch:";
    for (const auto& [class_name, first] : on_device) text += (text.back() == ':' ? " " : ", ") + class_name;
    all.emplace_back(on_device.begin()->second, Description{text, 0});
  }
  return all;
}

}  // namespace rimetree
