#include "runtime/solve/equations/assembly.h"

#include <algorithm>
#include <numeric>

namespace rimetree::solve {

namespace {

constexpr std::size_t kSlab = 4096;            // items whose contributions are held at a time, at most,
constexpr std::size_t kSlabBytes = 64u << 20;  // if their matrices are no larger
constexpr double kMostBlockBytes = 64u << 20;  // of the sums over a block: what a cache does not hold saves nothing

void add_matrix(const fit::NormalEquations& from, const std::vector<std::uint32_t>& places, fit::NormalEquations& to) {
  if (!std::is_sorted(places.begin(), places.end())) {
    for (std::size_t j = 0; j < from.n; ++j)
      for (std::size_t i = 0; i <= j; ++i)
        if (!to.sparsity || to.sparsity->couples(places[j], places[i]))
          to.at(places[j], places[i]) += from.matrix[j * from.n + i];
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
      if (value == 0 || !to.sparsity->couples(places[i], column)) continue;
      element = to.sparsity->find_after(element, places[i], column);
      to.matrix[element] += value;
    }
  }
}

/// What items of one block of cells add to a large sparse matrix: it is summed up where a cache holds it, so that its
/// places are looked for once for all of them.
class BlockSums {
 public:
  void add(const fit::NormalEquations& from, const std::vector<std::uint32_t>& places, std::size_t n_unknown) {
    number_.resize(std::max(number_.size(), n_unknown), kNone);
    own_.clear();
    for (const std::uint32_t place : places) own_.push_back(number_of(place));
    for (std::size_t j = 0; j < from.n; ++j)
      for (std::size_t i = 0; i <= j; ++i)
        if (const double value = from.matrix[j * from.n + i]; value != 0) at(own_[j], own_[i]) += value;
  }
  /// Adds all to the matrix, and begins anew.
  void move_to(fit::NormalEquations& to) {
    std::vector<std::uint32_t> order(place_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return place_[a] < place_[b]; });
    for (std::size_t j = 0; j < order.size(); ++j) {
      const std::size_t column = place_[order[j]];
      std::size_t element = to.sparsity->begin(column);
      for (std::size_t i = j; i < order.size(); ++i) {
        const double value = at(order[i], order[j]);
        if (value == 0 || !to.sparsity->couples(place_[order[i]], column)) continue;
        element = to.sparsity->find_after(element, place_[order[i]], column);
        to.matrix[element] += value;
      }
    }
    for (const std::uint32_t place : place_) number_[place] = kNone;
    place_.clear();
    matrix_.clear();
  }

 private:
  static constexpr std::uint32_t kNone = ~0u;
  std::uint32_t number_of(std::uint32_t place) {
    std::uint32_t& number = number_[place];
    if (number != kNone) return number;
    number = static_cast<std::uint32_t>(place_.size());
    place_.push_back(place);
    matrix_.resize(place_.size() * (place_.size() + 1) / 2, 0.0);
    return number;
  }
  double& at(std::size_t a, std::size_t b) { return matrix_[a > b ? a * (a + 1) / 2 + b : b * (b + 1) / 2 + a]; }

  std::vector<std::uint32_t> number_, place_, own_;  ///< by place in the group; by number; of the last item
  std::vector<double> matrix_;                       ///< lower triangle, by number
};

/// How the matrix of an item is added: by itself, or with others of its block, of which one is the last.
enum class Share : std::uint8_t { alone, block, last };

void add(const Problem& problem, const Contribution& contribution, Share share, BlockSums& sums,
         GroupEquations& group) {
  thread_local std::vector<std::uint32_t> of_thread;
  std::vector<std::uint32_t>& places = of_thread;
  const fit::NormalEquations& from = contribution.equations;
  fit::NormalEquations& to = group.equations;
  places.clear();
  for (std::size_t i = 0; i < from.n; ++i) {
    places.push_back(problem.place_in_group(contribution.unknowns[i]));
    to.gradient[places.back()] += from.gradient[i];
  }
  if (share == Share::alone)
    add_matrix(from, places, to);
  else
    sums.add(from, places, to.n);
  if (share == Share::last) sums.move_to(to);
  to.objective += from.objective;
  to.chi_square += from.chi_square;
  to.data_power += from.data_power;
  to.equations += from.equations;
  to.information += from.information;
  group.excluded += contribution.excluded;
}

using ByGroup = std::vector<std::pair<std::int32_t, std::size_t>>;  // group and number of an item

/// How many unknowns an item of each equation has, but for those of tiles that are mixed.
std::vector<std::size_t> unknowns_of_equations(const Problem& problem) {
  std::vector<std::size_t> found;
  for (const Equation& equation : problem.equations) {
    std::size_t n = 0;
    for (const Equation::Parm& parm : equation.parms)
      if (const auto p = static_cast<std::size_t>(parm.index); problem.is_active(p))
        n += problem.parms[p].tiles.n_coefficient();
    found.push_back(n);
  }
  return found;
}

/// Items whose contributions are held at a time. It does not change sums.
std::size_t slab_of(std::span<const Item> items, const ByGroup& by_group, const std::vector<std::size_t>& unknowns,
                    std::size_t least) {
  std::size_t most = 1;
  for (const auto& [group, item] : by_group) most = std::max(most, unknowns[items[item].equation]);
  return std::clamp<std::size_t>(kSlabBytes / (sizeof(double) * most * most), least, kSlab);
}

/// By place in `by_group`. It does not depend on the number of threads, so that sums do not either.
std::vector<Share> shares_of(const Problem& problem, std::span<const Item> items, const ByGroup& by_group,
                             const std::vector<GroupEquations>& groups) {
  constexpr std::size_t kFewest = 8;  // items of a block that are worth it
  std::vector<Share> shares(by_group.size(), Share::alone);
  const auto together = [&](std::size_t k, std::size_t l) {
    const Item &a = items[by_group[k].second], &b = items[by_group[l].second];
    return by_group[k].first == by_group[l].first && a.time_segment == b.time_segment &&
           a.frequency_segment == b.frequency_segment;
  };
  std::vector<std::size_t> seen(problem.parms.size(), 0);  // by Parm: the end of the last block that has it
  const auto is_large = [&](std::size_t begin, std::size_t end) {
    double n = 0;
    for (std::size_t k = begin; k < end; ++k)
      for (const Equation::Parm& parm : problem.equations[items[by_group[k].second].equation].parms)
        if (const auto p = static_cast<std::size_t>(parm.index); seen[p] != end && problem.is_active(p)) {
          seen[p] = end;
          n += static_cast<double>(problem.parms[p].tiles.n_coefficient());
        }
    return 0.5 * n * n * sizeof(double) > kMostBlockBytes;
  };
  for (std::size_t begin = 0, end = 0; begin < by_group.size(); begin = end) {
    for (end = begin + 1; end < by_group.size() && together(begin, end);) ++end;
    if (end - begin < kFewest || !groups[static_cast<std::size_t>(by_group[begin].first)].equations.sparsity ||
        is_large(begin, end))
      continue;
    std::fill(shares.begin() + static_cast<std::ptrdiff_t>(begin), shares.begin() + static_cast<std::ptrdiff_t>(end),
              Share::block);
    shares[end - 1] = Share::last;
  }
  return shares;
}

/// Each group by one thread, which adds what it computes.
void assemble_by_group(const Problem& problem, std::span<const Item> items,
                       const std::function<void(const Item&, Contribution&)>& compute, const ByGroup& by_group,
                       const std::vector<Share>& shares, const std::vector<std::size_t>& starts,
                       std::vector<GroupEquations>& groups, ThreadPool& threads, Cancellation& cancellation) {
  threads.parallel_for(
      starts.size() - 1, 1,
      [&](std::size_t begin, std::size_t end, int) {
        Contribution contribution;
        BlockSums sums;
        for (std::size_t s = begin; s < end; ++s)
          for (std::size_t k = starts[s]; k < starts[s + 1]; ++k) {
            compute(items[by_group[k].second], contribution);
            add(problem, contribution, shares[k], sums, groups[static_cast<std::size_t>(by_group[k].first)]);
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
  ByGroup by_group;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::int32_t group = problem.group_of(items[i]);
    if (group >= 0 && groups[static_cast<std::size_t>(group)].wanted) by_group.emplace_back(group, i);
  }
  std::sort(by_group.begin(), by_group.end());
  const std::vector<Share> shares = shares_of(problem, items, by_group, groups);
  if (const auto starts = starts_of(by_group); starts.size() > static_cast<std::size_t>(threads.size()))
    return assemble_by_group(problem, items, compute, by_group, shares, starts, groups, threads, cancellation);
  std::vector<BlockSums> sums(groups.size());
  const auto least = std::min(2 * static_cast<std::size_t>(threads.size()), kSlab);
  const std::size_t most = slab_of(items, by_group, unknowns_of_equations(problem), least);
  std::vector<Contribution> contributions(std::min(most, by_group.size()));
  for (std::size_t first = 0; first < by_group.size(); first += most) {
    const auto slab = std::span(by_group).subspan(first, std::min(most, by_group.size() - first));
    threads.parallel_for(
        slab.size(), std::clamp<std::size_t>(slab.size() / (4 * static_cast<std::size_t>(threads.size())), 1, 16),
        [&](std::size_t begin, std::size_t end, int) {
          for (std::size_t k = begin; k < end; ++k) compute(items[slab[k].second], contributions[k]);
        },
        &cancellation);
    const std::vector<std::size_t> starts = starts_of(slab);
    threads.parallel_for(
        starts.size() - 1, 1,
        [&](std::size_t begin, std::size_t end, int) {
          for (std::size_t s = begin; s < end; ++s)
            for (std::size_t k = starts[s]; k < starts[s + 1]; ++k) {
              const auto group = static_cast<std::size_t>(slab[k].first);
              add(problem, contributions[k], shares[first + k], sums[group], groups[group]);
            }
        },
        &cancellation);
  }
}

}  // namespace rimetree::solve
