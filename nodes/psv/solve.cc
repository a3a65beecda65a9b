#include "nodes/psv/solve.h"

#include <algorithm>

namespace rimetree::psv {
namespace {

/// Rows per range: whole vectors, and several ranges per thread, so that no thread waits long for the last.
std::size_t rows_per_range(std::size_t n_row, std::size_t vector, const ThreadPool& threads) {
  const std::size_t share = n_row / (8 * static_cast<std::size_t>(threads.size()) * vector);
  return vector * std::clamp<std::size_t>(share, 1, 64);
}

template <class T>
void solve_directly(const RowsProblem& p, const Sky<T>& sky, ThreadPool& threads, Cancellation& cancellation) {
  std::vector<Workspace<T>> workspaces;
  for (int i = 0; i < threads.size(); ++i) workspaces.emplace_back(sky, p.channels, p.jones);
  threads.parallel_for(
      p.rows.n_row, rows_per_range(p.rows.n_row, rows_per_block<T>(), threads),
      [&](std::size_t begin, std::size_t end, int worker) {
        evaluate_rows(sky, p.channels, p.rows, p.jones, begin, end, workspaces[static_cast<std::size_t>(worker)],
                      p.output);
      },
      &cancellation);
}

void solve_by_delay(const RowsProblem& p, DelayPlan& plan, ThreadPool& threads, Cancellation& cancellation) {
  finish_delay_plan(plan);
  std::vector<DelayWorkspace> workspaces;
  for (int i = 0; i < threads.size(); ++i) workspaces.emplace_back(plan);
  threads.parallel_for(
      p.rows.n_row, rows_per_range(p.rows.n_row, 1, threads),
      [&](std::size_t begin, std::size_t end, int worker) {
        evaluate_delay_rows(plan, p.rows, begin, end, workspaces[static_cast<std::size_t>(worker)], p.output);
      },
      &cancellation);
}

}  // namespace

void solve_rows(const RowsProblem& problem, Choice choice, ThreadPool& threads, Cancellation& cancellation) {
  switch (choice.method) {
    case MethodKind::kDelay:
      return solve_by_delay(problem, *choice.delay, threads, cancellation);
    case MethodKind::kDirectSingle:
      return solve_directly(problem, pack_sky<float>(problem.sky_input), threads, cancellation);
    case MethodKind::kDirectDouble:
      return solve_directly(problem, problem.sky, threads, cancellation);
  }
}

}  // namespace rimetree::psv
