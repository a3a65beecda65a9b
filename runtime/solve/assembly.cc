#include "runtime/solve/assembly.h"

#include <algorithm>
#include <numeric>

namespace rimetree::solve {

namespace {

constexpr std::size_t kSlab = 4096;  // items whose contributions are held at a time

void add(const Problem& problem, const Contribution& contribution, GroupEquations& group) {
  const fit::NormalEquations& from = contribution.equations;
  fit::NormalEquations& to = group.equations;
  for (std::size_t i = 0; i < from.n; ++i) {
    const std::size_t row = problem.place_in_group(contribution.unknowns[i]);
    to.gradient[row] += from.gradient[i];
    for (std::size_t j = 0; j <= i; ++j)
      to.at(row, problem.place_in_group(contribution.unknowns[j])) += from.matrix[i * from.n + j];
  }
  to.objective += from.objective;
  to.chi_square += from.chi_square;
  to.data_power += from.data_power;
  to.equations += from.equations;
  to.information += from.information;
  group.excluded += contribution.excluded;
}

/// Each group by one thread, which adds what it computes.
void assemble_by_group(const Problem& problem, std::span<const Item> items,
                       const std::function<void(const Item&, Contribution&)>& compute,
                       std::span<const std::pair<std::int32_t, std::size_t>> by_group,
                       const std::vector<std::size_t>& starts, std::vector<GroupEquations>& groups, ThreadPool& threads,
                       Cancellation& cancellation) {
  threads.parallel_for(
      starts.size() - 1, 1,
      [&](std::size_t begin, std::size_t end, int) {
        Contribution contribution;
        for (std::size_t s = begin; s < end; ++s)
          for (std::size_t k = starts[s]; k < starts[s + 1]; ++k) {
            compute(items[by_group[k].second], contribution);
            add(problem, contribution, groups[static_cast<std::size_t>(by_group[k].first)]);
          }
      },
      &cancellation);
}

/// Where each group begins, and the end.
std::vector<std::size_t> starts_of(std::span<const std::pair<std::int32_t, std::size_t>> by_group) {
  std::vector<std::size_t> starts;
  for (std::size_t k = 0; k < by_group.size(); ++k)
    if (k == 0 || by_group[k].first != by_group[k - 1].first) starts.push_back(k);
  starts.push_back(by_group.size());
  return starts;
}

}  // namespace

void Contribution::reset(std::size_t n_unknown) {
  unknowns.clear();
  equations.n = n_unknown;
  equations.matrix.assign(n_unknown * n_unknown, 0.0);
  equations.gradient.assign(n_unknown, 0.0);
  equations.objective = equations.chi_square = equations.data_power = 0;
  equations.equations = 0;
  equations.information = 0;
  excluded = {};
}

void assemble(const Problem& problem, std::span<const Item> items,
              const std::function<void(const Item&, Contribution&)>& compute, std::vector<GroupEquations>& groups,
              ThreadPool& threads, Cancellation& cancellation) {
  std::vector<std::pair<std::int32_t, std::size_t>> by_group;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::int32_t group = problem.group_of(items[i]);
    if (group >= 0 && groups[static_cast<std::size_t>(group)].wanted) by_group.emplace_back(group, i);
  }
  std::sort(by_group.begin(), by_group.end());
  if (const auto starts = starts_of(by_group); starts.size() > static_cast<std::size_t>(threads.size()))
    return assemble_by_group(problem, items, compute, by_group, starts, groups, threads, cancellation);
  std::vector<Contribution> contributions(std::min(kSlab, by_group.size()));
  for (std::size_t first = 0; first < by_group.size(); first += kSlab) {
    const auto slab = std::span(by_group).subspan(first, std::min(kSlab, by_group.size() - first));
    threads.parallel_for(
        slab.size(), 16,
        [&](std::size_t begin, std::size_t end, int) {
          for (std::size_t k = begin; k < end; ++k) compute(items[slab[k].second], contributions[k]);
        },
        &cancellation);
    const std::vector<std::size_t> starts = starts_of(slab);
    threads.parallel_for(
        starts.size() - 1, 1,
        [&](std::size_t begin, std::size_t end, int) {
          for (std::size_t s = begin; s < end; ++s)
            for (std::size_t k = starts[s]; k < starts[s + 1]; ++k)
              add(problem, contributions[k], groups[static_cast<std::size_t>(slab[k].first)]);
        },
        &cancellation);
  }
}

}  // namespace rimetree::solve
