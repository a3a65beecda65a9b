// Which sums of many terms a pass evaluates as programs of one term each, and how these are run.
#include <algorithm>

#include "runtime/core/threads/stopwatch.h"
#include "runtime/evaluate/forward_pass.h"
#include "runtime/evaluate/fusion.h"

namespace rimetree {

namespace {

/// Numbers of one sum that are worth all threads.
constexpr std::size_t kLeastShared = 2048;

}  // namespace

void ForwardPass::find_sums() {
  has_sums_ = false;
  if (!fuses() || state_.placement.has_devices()) return;  // there a sum is a group like any other
  using Role = TermSums::Role;
  std::vector<Role> roles(forest_.size(), Role::unneeded);
  for (const int node : nodes_) {
    if (!needed_[node]) continue;
    const bool is_alone = holds_inputs(node) || state_.evaluated.is_made(node) ||
                          (request_.derivatives && (forest_.dependencies(node) & kSolvable) != 0);
    roles[static_cast<std::size_t>(node)] = is_alone                        ? Role::alone
                                            : is_root_[node] || keeps(node) ? Role::apart
                                                                            : Role::inside;
  }
  sums_ = state_.evaluated.fusion()->sums().find(roles);
  if (sums_->empty()) return;
  has_sums_ = true;
  in_sum_.assign(forest_.size(), false);
  sum_of_.assign(forest_.size(), nullptr);
  for (const TermSum& sum : *sums_) {
    for (const int root : sum.roots) sum_of_[root] = &sum;
    for (const int part : sum.parts) in_sum_[part] = true;
  }
}

/// Sums that could not be evaluated so will not be tried again. (Exceptions leave them to the next time.)
void ForwardPass::refuse_sums() {
  for (const TermSum* sum : refused_sums_) state_.evaluated.fusion()->sums().refuse(*sum);
  refused_sums_.clear();
  has_sums_ = false;
}

/// Gives the nodes that have to be evaluated in other ways.
std::vector<int> ForwardPass::run_sums(std::span<const int> nodes) {
  std::vector<int> other;
  std::vector<TermPrograms::Run> runs;
  for (const int node : nodes) {
    const TermSum* const sum = sum_of_[node];
    if (sum == nullptr) {
      other.push_back(node);
      continue;
    }
    if (node != sum->roots.front()) continue;  // all are evaluated with the first one
    TermPrograms::Run run{.sum = sum};
    for (const std::vector<int>& items : sum->inputs) {
      std::vector<const Result*>& own = run.inputs.emplace_back();
      for (const int input : items) own.push_back(results_[input].get());
    }
    const auto trouble = state_.evaluated.fusion()->term_programs().prepare(run, *request_.cells);
    if (trouble == TermPrograms::Trouble::none) {
      runs.push_back(std::move(run));
      continue;
    }
    run_parts(*sum);
    other.insert(other.end(), sum->roots.begin(), sum->roots.end());
    if (trouble == TermPrograms::Trouble::always) refused_sums_.push_back(sum);
  }
  if (!runs.empty()) run_sum_programs(runs);
  return other;
}

/// Evaluates what was to be part of a sum as if there were none.
void ForwardPass::run_parts(const TermSum& sum) {
  std::vector<bool> is_wanted(forest_.size(), false);
  for (const int part : sum.parts) {
    in_sum_[part] = false;
    is_wanted[part] = !has_parts_ || part_of_[part] < 0;
  }
  std::vector<int> ordered;  // as in the plan
  for (const int node : nodes_)
    if (is_wanted[node]) ordered.push_back(node);
  run_nodes(ordered);
}

void ForwardPass::run_sum_programs(std::span<const TermPrograms::Run> runs) {
  if (cancellation_.check()) throw Cancelled();
  std::vector<int> nodes;
  for (const TermPrograms::Run& run : runs) nodes.insert(nodes.end(), run.sum->roots.begin(), run.sum->roots.end());
  std::vector<std::shared_ptr<Result>> made;
  while (made.size() < nodes.size()) made.push_back(std::make_shared<Result>());
  ClassTiming& timing = state_.timing.of(forest_.node(nodes[0]));
  Stopwatch watch;
  std::vector<std::size_t> first{0};  // by run: its first root
  for (const TermPrograms::Run& run : runs) first.push_back(first.back() + run.sum->roots.size());
  const auto run_one = [&](std::size_t i, ThreadPool* threads) {
    std::vector<Vells*> targets;
    for (std::size_t k = first[i]; k < first[i + 1]; ++k) {
      const bool is_complex = runs[i].made->is_complex[k - first[i]];
      made[k]->value = Vells(*state_.pool, is_complex ? NumberType::complex : NumberType::real,
                             forest_.node(nodes[k]).dims(), runs[i].shape);
      made[k]->status = Result::Status::ok;
      targets.push_back(&made[k]->value);
    }
    TermPrograms::execute(runs[i], *request_.cells, targets, threads);
  };
  const auto n_thread = static_cast<std::size_t>(state_.threads.size());
  if (runs.size() < 2 * n_thread && runs.front().shape.size() >= kLeastShared) {
    for (std::size_t i = 0; i < runs.size(); ++i) run_one(i, &state_.threads);
  } else {
    state_.threads.parallel_for(
        runs.size(), 1,
        [&](std::size_t begin, std::size_t end, int) {
          for (std::size_t i = begin; i < end; ++i) run_one(i, nullptr);
        },
        &cancellation_);
  }
  timing.seconds += watch.lap();
  ++timing.batches;
  std::vector<int> evaluated = nodes;
  for (const TermPrograms::Run& run : runs)
    evaluated.insert(evaluated.end(), run.sum->parts.begin(), run.sum->parts.end());
  count_evaluations(evaluated);
  take_results(nodes, made);
  release_inputs_of_parts(runs);
}

/// Consumers come first. A part that another wave reads, too, is made again there: it still waits for its inputs.
void ForwardPass::release_inputs_of_parts(std::span<const TermPrograms::Run> runs) {
  std::vector<int> parts;
  for (const TermPrograms::Run& run : runs) parts.insert(parts.end(), run.sum->parts.begin(), run.sum->parts.end());
  std::ranges::sort(parts, std::ranges::greater(), [this](int part) { return forest_.level(part); });
  for (const int part : parts)
    if (waiting_consumers_[part] == 0) release_inputs_of(part);
}

/// Of nodes that were evaluated as parts of programs; `device`: where, nullptr: on the host.
void ForwardPass::count_evaluations(std::span<const int> nodes, const DeviceContext* device) {
  std::vector<std::uint64_t> count(plan_.batches().size(), 0);
  for (const int node : nodes) ++count[static_cast<std::size_t>(plan_.batch_of(node))];
  for (std::size_t batch = 0; batch < count.size(); ++batch) {
    if (count[batch] == 0) continue;
    const Node& node = forest_.node(plan_.batches()[batch].nodes.front());
    ClassTiming& timing = state_.timing.of(node);
    timing.evaluations += count[batch];
    if (device == nullptr) continue;
    timing.on_devices += count[batch];
    note_device(node, *device);
  }
}

}  // namespace rimetree
