#include "runtime/solve/assembly.h"

#include <algorithm>
#include <numeric>

namespace rimetree::solve {

namespace {

constexpr std::size_t kSlab = 4096;  // items whose contributions are held at a time

void add_matrix(const fit::NormalEquations& from, const std::vector<std::uint32_t>& places, fit::NormalEquations& to) {
  if (!std::is_sorted(places.begin(), places.end())) {
    for (std::size_t j = 0; j < from.n; ++j)
      for (std::size_t i = 0; i <= j; ++i) to.at(places[j], places[i]) += from.matrix[j * from.n + i];
    return;
  }
  for (std::size_t j = 0; j < from.n; ++j) {
    const std::size_t column = places[j];
    if (!to.sparsity) {
      for (std::size_t i = 0; i <= j; ++i) to.matrix[column * to.n + places[i]] += from.matrix[j * from.n + i];
      continue;
    }
    // Elements of a column follow each other: each is looked for behind the one before. Many are zero, of both feeds.
    std::size_t element = to.sparsity->begin(column);
    for (std::size_t i = j; i < from.n; ++i) {
      const double value = from.matrix[i * from.n + j];
      if (value == 0) continue;
      element = to.sparsity->find_after(element, places[i], column);
      to.matrix[element] += value;
    }
  }
}

void add(const Problem& problem, const Contribution& contribution, GroupEquations& group) {
  thread_local std::vector<std::uint32_t> of_thread;
  std::vector<std::uint32_t>& places = of_thread;
  const fit::NormalEquations& from = contribution.equations;
  fit::NormalEquations& to = group.equations;
  places.clear();
  for (std::size_t i = 0; i < from.n; ++i) {
    places.push_back(problem.place_in_group(contribution.unknowns[i]));
    to.gradient[places.back()] += from.gradient[i];
  }
  add_matrix(from, places, to);
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
