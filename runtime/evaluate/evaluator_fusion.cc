// Which nodes of a pass are evaluated as parts of their consumers' programs, and how such programs are run.
#include <algorithm>
#include <chrono>

#include "runtime/core/error.h"
#include "runtime/evaluate/evaluator_pass.h"
#include "runtime/evaluate/fusion.h"

namespace rimetree {

/// What the evaluation of one group knows.
struct Evaluator::GroupRun {
  std::shared_ptr<const FusedGroup> group;
  std::vector<const Result*> results{};  ///< of the leaves
  const Fusion::Made* made = nullptr;
  CellShape shape{};
};

namespace {

/// Numbers of one result that are worth all threads.
constexpr std::size_t kLeastDivided = 16384;

bool are_ok(std::span<const Result* const> results) {
  return std::all_of(results.begin(), results.end(), [](const Result* result) {
    return result != nullptr && result->ok() && result->value.is_on_host();
  });
}

}  // namespace

// A node is a part of its consumer's program if nobody else wants its result, now or later.
void Evaluator::find_parts(Pass& pass) const {
  pass.has_parts = false;
  if (!fusion_ || !devices_.empty() || pass.request.derivatives) return;
  pass.part_of.assign(forest_->size(), -1);
  std::vector<int> root(forest_->size(), -1), count(forest_->size(), 0);
  const auto takes_part = [&](int node) {
    return pass.needed[node] && fusion_->can_take_part(node) && !pass.pulls_back(node) &&
           !(rewriting_ && rewriting_->is_made(node));
  };
  for (auto it = pass.nodes.rbegin(); it != pass.nodes.rend(); ++it) {
    const int node = *it;
    if (!takes_part(node)) continue;
    root[node] = node;
    if (pass.waiting_consumers[node] != 1 || pass.is_root[node] || keeps(pass, node)) continue;
    for (const int consumer : forest_->parents(node)) {
      if (root[consumer] < 0 || count[root[consumer]] >= static_cast<int>(Fusion::kMostMembers)) continue;
      pass.part_of[node] = consumer;
      root[node] = root[consumer];
      ++count[root[node]];
      pass.has_parts = true;
      break;
    }
  }
  if (!pass.has_parts) return;
  pass.has_part.assign(forest_->size(), false);
  for (const int node : pass.nodes)
    if (pass.part_of[node] >= 0) pass.has_part[pass.part_of[node]] = true;
  fusion_->set_parts(pass.part_of);
}

/// Batch by batch; nodes that have parts as one program with them, as far as that can be.
void Evaluator::run_nodes(Pass& pass, std::span<const int> nodes) {
  std::vector<int> plain;
  for (std::size_t k = 0; k < nodes.size();) {
    const int batch = plan_->batch_of(nodes[k]);
    std::size_t end = k;
    while (end < nodes.size() && plan_->batch_of(nodes[end]) == batch) ++end;
    const std::span<const int> members = nodes.subspan(k, end - k);
    k = end;
    if (!pass.has_parts) {
      run_batch(pass, members);
      continue;
    }
    plain = run_groups(pass, members);
    if (!plain.empty()) run_batch(pass, plain);
  }
}

/// Gives the nodes that have to be evaluated by themselves: those without parts, and those whose parts have been
/// evaluated one by one.
std::vector<int> Evaluator::run_groups(Pass& pass, std::span<const int> roots) {
  std::vector<int> plain, nodes, alone;
  std::vector<GroupRun> runs;
  for (const int node : roots) {
    if (!pass.has_part[node]) {
      plain.push_back(node);
      continue;
    }
    GroupRun run{.group = fusion_->group(node)};
    for (const int leaf : run.group->leaves) run.results.push_back(pass.result[leaf].get());
    if (are_ok(run.results)) {
      run.shape = fusion_->cells_of(*run.group, run.results, *pass.request.cells);
      run.made = &fusion_->program_of(*run.group, run.results, *pass.request.cells, run.shape);
    }
    if (run.made != nullptr && run.made->program) {
      nodes.push_back(node);
      runs.push_back(std::move(run));
      continue;
    }
    plain.push_back(node);
    alone.insert(alone.end(), run.group->members.begin(), run.group->members.end() - 1);
  }
  if (!alone.empty()) {
    // In the order of the plan.
    for (const int node : alone) pass.part_of[node] = -1;
    for (const int node : plain) pass.has_part[node] = false;
    std::vector<bool> is_wanted(forest_->size(), false);
    for (const int node : alone) is_wanted[node] = true, pass.has_part[node] = false;
    std::vector<int> ordered;
    for (const int node : pass.nodes)
      if (is_wanted[node]) ordered.push_back(node);
    run_nodes(pass, ordered);
  }
  if (!runs.empty()) run_programs(pass, nodes, runs);
  return plain;
}

void Evaluator::run_programs(Pass& pass, std::span<const int> nodes, std::span<const GroupRun> runs) {
  if (pass.cancellation.check()) throw Cancelled();
  std::vector<std::shared_ptr<Result>> made;
  while (made.size() < nodes.size()) made.push_back(std::make_shared<Result>());
  const auto start = std::chrono::steady_clock::now();
  const auto run_one = [&](std::size_t i, ThreadPool* threads) {
    const GroupRun& run = runs[i];
    made[i]->value = Vells(*pool_, run.made->is_complex ? NumberType::complex : NumberType::real,
                           forest_->node(nodes[i]).dims(), run.shape);
    Fusion::run(*run.made->program, run.results, *pass.request.cells, made[i]->value, threads);
    made[i]->flags = fusion_->flags_of(*run.group, run.results, pass.request, *pool_);
    made[i]->status = Result::Status::ok;
  };
  const auto n_thread = static_cast<std::size_t>(threads_.size());
  if (runs.size() < n_thread && runs.front().shape.size() >= kLeastDivided) {
    for (std::size_t i = 0; i < runs.size(); ++i) run_one(i, &threads_);
  } else {
    threads_.parallel_for(
        runs.size(), std::max<std::size_t>(1, runs.size() / (8 * n_thread)),
        [&](std::size_t begin, std::size_t end, int) {
          for (std::size_t i = begin; i < end; ++i) run_one(i, nullptr);
        },
        &pass.cancellation);
  }
  ClassTiming& timing = timing_.classes[forest_->node(nodes[0]).node_class().name];
  timing.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ++timing.batches;
  std::vector<std::uint64_t> count(plan_->batches().size(), 0);
  for (const GroupRun& run : runs)
    for (const int member : run.group->members) ++count[static_cast<std::size_t>(plan_->batch_of(member))];
  for (std::size_t batch = 0; batch < count.size(); ++batch)
    if (count[batch] > 0)
      timing_.classes[forest_->node(plan_->batches()[batch].nodes.front()).node_class().name].evaluations +=
          count[batch];
  take_results(pass, nodes, made);
  for (const GroupRun& run : runs)
    for (std::size_t i = 0; i + 1 < run.group->members.size(); ++i) release_children(pass, run.group->members[i]);
}

}  // namespace rimetree
