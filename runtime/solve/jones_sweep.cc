// The part of JonesSource that passes over the data, in portions of the equations.
#include <algorithm>

#include "runtime/solve/generic_source.h"
#include "runtime/solve/jones_planes.h"

namespace rimetree::solve {

std::vector<int> JonesSource::fixed_nodes(std::size_t equation) const {
  std::vector<int> nodes{problem_.equations[equation].data};
  if (problem_.equations[equation].weight >= 0) nodes.push_back(problem_.equations[equation].weight);
  for (const JonesTerm& term : models_[equation].terms) nodes.push_back(term.core);
  return nodes;
}

std::vector<std::pair<std::size_t, std::size_t>> JonesSource::portions() const {
  // Results of all equations are kept if that leaves room, for whoever looks at them again: with Student's t, and on
  // devices, that is each iteration. Else nothing is won by large portions.
  constexpr std::uint64_t kPortion = 32u << 20;
  const bool again = errors_.degrees_of_freedom > 0 || !evaluator_.devices().empty();
  const std::uint64_t budget = evaluator_.memory_budget();
  std::vector<std::uint64_t> bytes;
  std::uint64_t all = 0;
  for (std::size_t e = 0; e < models_.size(); ++e) {
    bytes.push_back(0);
    for (const int node : fixed_nodes(e)) bytes.back() += evaluator_.plan().result_bytes(node, part_.cells());
    all += bytes.back();
  }
  if (all <= (again ? budget / 2 : std::min(budget / 2, kPortion))) return {{0, models_.size()}};
  std::vector<std::pair<std::size_t, std::size_t>> portions;
  std::uint64_t sum = 0;
  for (std::size_t e = 0; e < models_.size(); ++e) {
    if (portions.empty() || sum + bytes[e] > std::min(budget / 8, kPortion)) {
      portions.emplace_back(e, e);
      sum = 0;
    }
    portions.back().second = e + 1;
    sum += bytes[e];
  }
  return portions;
}

JonesSource::Planes JonesSource::planes_of(std::size_t equation, std::span<const ResultPtr> results) {
  Planes of;
  for (const ResultPtr& result : results) {
    of.results.push_back(result.get());
    of.cells = broadcast(of.cells, result->value.cells());
    if (!result->flags.empty()) of.cells = broadcast(of.cells, result->flags.cells());
  }
  const Result& data = *results[0];
  of.data = Operand(data.value);
  of.data_flags = FlagOperand(data.flags);
  bool is_complex = data.value.is_complex();
  of.weighted = problem_.equations[equation].weight >= 0;
  if (of.weighted) {
    of.weight = Operand(results[1]->value);
    of.weight_flags = FlagOperand(results[1]->flags);
  }
  std::size_t next = of.weighted ? 2 : 1;
  for (const JonesTerm& term : models_[equation].terms) {
    const Result& core = *results[next++];
    of.cores.push_back({Operand(core.value), FlagOperand(core.flags), term.flags_merge, term.solvable()});
    of.any_fixed = of.any_fixed || !term.solvable();
    is_complex = is_complex || core.value.is_complex();
    for (const auto* factors : {&term.left, &term.right})
      for (const int node : *factors) {
        is_complex = is_complex || factors_[node]->value.is_complex();
        of.cells = broadcast(of.cells, evaluator_.plan().result_cells(node, part_.cells()));
      }
  }
  complex_[equation] = is_complex;
  of.any_flags = !of.data_flags.empty() || !of.weight_flags.empty() ||
                 std::any_of(of.cores.begin(), of.cores.end(), [](const auto& core) { return !core.flags.empty(); });
  return of;
}

void JonesSource::sweep(Sweep what, Cancellation& cancellation) {
  const auto begin_at_zero = [&] {
    if (what == Sweep::sums) values_.assign(problem_.n_block() * first_.back(), {});
    scalars_.assign(models_.size() * problem_.n_block() * elements_, {});
  };
  if (!shares_.empty()) {
    begin_at_zero();
    if (sweep_again(what)) return;
  }
  begin_at_zero();
  std::fill(has_data_.begin(), has_data_.end(), 0);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    part_ = PartView(parts_.part(i), problem_);
    part_.is_first = i == 0;
    part_.request.derivatives = false;
    sweep_part(what, cancellation);
  }
}

void JonesSource::sweep_part(Sweep what, Cancellation& cancellation) {
  const auto portions = this->portions();
  for (const auto& [first, last] : portions) {
    std::vector<int> roots;
    std::vector<std::size_t> begin;
    for (std::size_t e = first; e < last; ++e) {
      const std::vector<int> nodes = fixed_nodes(e);
      begin.push_back(roots.size());
      roots.insert(roots.end(), nodes.begin(), nodes.end());
    }
    begin.push_back(roots.size());
    // Fixed, all of them: of a single part and portion this gives what has been kept, after the first time.
    const auto results = evaluator_.evaluate_step(part_.request, roots, &cancellation, Placing::roots_where_made);
    check_failures(results);
    std::vector<Planes> planes(last - first);
    for (std::size_t e = first; e < last; ++e) {
      const auto own = std::span(results).subspan(begin[e - first], begin[e - first + 1] - begin[e - first]);
      if (!std::all_of(own.begin(), own.end(), [](const auto& result) { return result->ok(); })) continue;
      if (!part_.is_first && problem_.is_same_in_all_parts(evaluator_.forest(), evaluator_.plan(), e)) continue;
      has_data_[e] = 1;
      planes[e - first] = planes_of(e, own);
    }
    std::vector<bool> done(last - first, false);
    sweep_on_devices(first, planes, what, portions.size() == 1 && parts_.size() == 1, done, cancellation);
    sweep_on_host(first, planes, what, done, cancellation);
    if (portions.size() > 1 || parts_.size() > 1) evaluator_.forget(roots);
  }
}

/// What devices have not done.
void JonesSource::sweep_on_host(std::size_t first, std::span<const Planes> planes, Sweep what,
                                const std::vector<bool>& done, Cancellation& cancellation) {
  std::vector<Item> items = this->items(first, first + planes.size());
  std::erase_if(items, [&](const Item& item) {
    return done[item.equation - first] || planes[item.equation - first].results.empty();  // has no data
  });
  std::vector<const Vells*> values;
  for (std::size_t i = 0; i < planes.size(); ++i)
    for (const Result* result : planes[i].results)
      if (!done[i]) values.push_back(&result->value);
  bring_to_host(values);
  evaluator_.thread_pool().parallel_for(
      items.size(), 4,
      [&](std::size_t from, std::size_t to, int) {
        for (std::size_t i = from; i < to; ++i) sum_block(planes[items[i].equation - first], items[i], what);
      },
      &cancellation);
}

void JonesSource::add_exact_chi_square(std::vector<GroupEquations>& groups, Cancellation& cancellation) {
  evaluate_factors(cancellation);
  sweep(Sweep::exact, cancellation);
  for (const Item& item : items()) {
    const std::int32_t g = problem_.group_of(item);
    for (std::size_t element = 0; g >= 0 && element < elements_; ++element)
      groups[static_cast<std::size_t>(g)].equations.chi_square += scalars_of(item, element).chi_square;
  }
  summed_ = false;  // what follows would begin anew
}

}  // namespace rimetree::solve
