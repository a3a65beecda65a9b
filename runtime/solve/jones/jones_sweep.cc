#include "runtime/solve/jones/jones_sweep.h"

#include <algorithm>

#include "runtime/core/values/flag_rules.h"
#include "runtime/solve/equations/generic_source.h"
#include "runtime/solve/jones/jones_planes.h"

namespace rimetree::solve {

namespace {

/// The product, element by element, of results of which some are scalars and all but the first are as `beside` says. It
/// is no node's, so that no device can know it again.
std::shared_ptr<const Result> product_of(std::span<const ResultPtr> factors, std::span<const JonesTerm::Beside> beside,
                                         memory::Pool& pool) {
  std::vector<const Vells*> values;
  auto product = std::make_shared<Result>();
  CellShape cells, flag_cells;
  std::size_t planes = 1;
  const TensorShape& dims = factors[0]->value.dims();
  for (const ResultPtr& factor : factors) {
    values.push_back(&factor->value);
    cells = broadcast(cells, factor->value.cells());
    flag_cells = broadcast(flag_cells, factor->flags.empty() ? CellShape{} : factor->flags.cells());
    planes = std::max(planes, factor->flags.planes());
  }
  bring_to_host(values);
  const bool is_complex = std::any_of(values.begin(), values.end(), [](const Vells* one) { return one->is_complex(); });
  product->value = Vells(pool, is_complex ? NumberType::complex : NumberType::real, dims, cells);
  std::vector<Operand> operands;
  for (const Vells* value : values) operands.emplace_back(*value);
  std::size_t place = 0;
  for (std::size_t e = 0; e < dims.size(); ++e)
    for (std::size_t t = 0; t < static_cast<std::size_t>(cells[Axis::time]); ++t)
      for (std::size_t f = 0; f < static_cast<std::size_t>(cells[Axis::frequency]); ++f, ++place) {
        Complex<double> z = operands[0].at(e, t, f);
        for (std::size_t i = 1; i < operands.size(); ++i)
          z = beside[i - 1].divides ? z / operands[i].at(e, t, f) : z * operands[i].at(e, t, f);
        if (is_complex)
          product->value.complex()[place] = z;
        else
          product->value.real()[place] = z.re;
      }
  if (std::any_of(factors.begin(), factors.end(), [](const ResultPtr& factor) { return !factor->flags.empty(); })) {
    product->flags = Flags(pool, planes, flag_cells);
    for (std::size_t plane = 0; plane < planes; ++plane)
      for (const ResultPtr& factor : factors)
        merge_flags(product->flags, plane, factor->flags, factor->flags.planes() == planes ? plane : 0, 1);
  }
  product->status = Result::Status::ok;
  return product;
}

}  // namespace

std::vector<Item> JonesSweep::items(std::size_t first, std::size_t last) const {
  std::vector<Item> items;
  for (auto e = static_cast<std::uint32_t>(first); e < last; ++e)
    sums_.append_items(e, part_.first_segment, part_.end_segment(), items);
  return items;
}

std::vector<int> JonesSweep::fixed_nodes(std::size_t equation) const {
  std::vector<int> nodes{problem_.equations[equation].data};
  if (problem_.equations[equation].weight >= 0) nodes.push_back(problem_.equations[equation].weight);
  for (const JonesTerm& term : products_.model(equation).terms) {
    nodes.push_back(term.core);
    for (const JonesTerm::Beside& one : term.beside) nodes.push_back(one.node);
  }
  return nodes;
}

bool JonesSweep::is_missing(int node) const {
  const Node& of = evaluator_.forest().node(node);
  if (const DataUse* use = of.capabilities().data; use != nullptr)
    return !use->writes && part_.request.tile != nullptr && part_.request.tile->find(use->baseline) < 0;
  std::size_t children = 0, missing = 0;
  for (const int child : evaluator_.forest().children(node)) {
    if (child < 0) continue;
    ++children;
    if (is_missing(child)) ++missing;
  }
  return of.traits().skips_missing ? children > 0 && missing == children : missing > 0;
}

std::vector<JonesSweep::Stretch> JonesSweep::stretches() const {
  // Results of all equations are kept if that leaves room, for whoever looks at them again: with Student's t, and on
  // devices, that is each iteration. Else nothing is won by long stretches.
  constexpr std::uint64_t kStretch = 4u << 20;
  const bool again = errors_.degrees_of_freedom > 0 || !evaluator_.devices().empty();
  const std::uint64_t budget = evaluator_.memory_budget();
  std::vector<std::uint64_t> bytes;
  std::uint64_t all = 0;
  for (std::size_t e = 0; e < products_.n_equation(); ++e) {
    bytes.push_back(0);
    if (is_missing(problem_.equations[e].data)) continue;
    for (const int node : fixed_nodes(e)) bytes.back() += evaluator_.plan().result_bytes(node, part_.cells());
    all += bytes.back();
  }
  if (all <= (again ? budget / 2 : std::min(budget / 2, kStretch))) return {{0, products_.n_equation()}};
  std::vector<Stretch> stretches;
  std::uint64_t sum = 0;
  for (std::size_t e = 0; e < products_.n_equation(); ++e) {
    if (stretches.empty() || sum + bytes[e] > std::min(budget / 8, kStretch)) {
      stretches.emplace_back(e, e);
      sum = 0;
    }
    stretches.back().second = e + 1;
    sum += bytes[e];
  }
  return stretches;
}

std::vector<int> JonesSweep::roots_of(const Stretch& stretch) const {
  std::vector<int> roots;
  for (std::size_t e = stretch.first; e < stretch.second; ++e) {
    if (is_missing(problem_.equations[e].data)) continue;
    const std::vector<int> nodes = fixed_nodes(e);
    roots.insert(roots.end(), nodes.begin(), nodes.end());
  }
  return roots;
}

std::vector<std::vector<int>> JonesSweep::own_nodes(std::span<const Stretch> stretches) const {
  std::vector<std::vector<int>> below;
  std::vector<std::uint32_t> users(evaluator_.evaluated().size(), 0);
  for (const Stretch& stretch : stretches) {
    below.push_back(evaluator_.plan().below(roots_of(stretch)));
    for (const int node : below.back()) ++users[static_cast<std::size_t>(node)];
  }
  for (std::vector<int>& nodes : below)
    std::erase_if(nodes, [&](int node) { return users[static_cast<std::size_t>(node)] > 1; });
  return below;
}

JonesPlanes JonesSweep::planes_of(std::size_t equation, std::span<const ResultPtr> found) {
  JonesPlanes of;
  const std::size_t first_core = problem_.equations[equation].weight >= 0 ? 2 : 1;
  std::vector<ResultPtr> results(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(first_core));
  std::size_t at = first_core;
  for (const JonesTerm& term : products_.model(equation).terms) {
    const std::size_t n = 1 + term.beside.size();
    results.push_back(n == 1 ? found[at] : product_of(found.subspan(at, n), term.beside, evaluator_.pool()));
    at += n;
  }
  for (const ResultPtr& result : results) {
    of.results.push_back(result);
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
  const bool is_diagonal = products_.model(equation).diagonal;  // elements keep flags of their own
  for (const JonesTerm& term : products_.model(equation).terms) {
    const Result& core = *results[next++];
    of.cores.push_back(
        {Operand(core.value), FlagOperand(core.flags), term.flags_merge && !is_diagonal, term.solvable(), &term});
    of.any_fixed = of.any_fixed || !term.solvable();
    is_complex = is_complex || core.value.is_complex();
    for (const auto* factors : {&term.left, &term.right})
      for (const int node : *factors) {
        is_complex = is_complex || products_.factor(node).value.is_complex();
        of.cells = broadcast(of.cells, evaluator_.plan().result_cells(node, part_.cells()));
      }
  }
  sums_.is_complex[equation] = is_complex;
  of.any_flags = !of.data_flags.empty() || !of.weight_flags.empty() ||
                 std::any_of(of.cores.begin(), of.cores.end(), [](const auto& core) { return !core.flags.empty(); });
  return of;
}

void JonesSweep::run(What what, const ErrorModel& errors, Cancellation& cancellation) {
  errors_ = errors;
  if (!shares_.empty()) {
    sums_.clear(what == What::sums);
    if (sweep_again(what)) return;
  }
  sums_.clear(what == What::sums);
  std::fill(sums_.has_data.begin(), sums_.has_data.end(), 0);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    part_ = PartView(parts_.part(i), problem_);
    part_.is_first = i == 0;
    part_.request.derivatives = false;
    sweep_part(what, cancellation);
  }
}

/// What the equations of a stretch see; nothing for those without data.
std::vector<JonesPlanes> JonesSweep::look_at(const Stretch& stretch, std::vector<ResultPtr>& results,
                                             Cancellation& cancellation) {
  const auto& [first, last] = stretch;
  std::vector<std::size_t> begin{0};
  for (std::size_t e = first; e < last; ++e) begin.push_back(begin.back() + roots_of({e, e + 1}).size());
  const std::vector<int> roots = roots_of(stretch);
  // Fixed, all of them: of a single part and stretch this gives what has been kept, after the first time.
  results = products_.forest().evaluate(part_.request, roots, cancellation, Placing::roots_where_made);
  check_failures(results);
  std::vector<JonesPlanes> planes(last - first);
  for (std::size_t e = first; e < last; ++e) {
    const auto own = std::span(results).subspan(begin[e - first], begin[e - first + 1] - begin[e - first]);
    if (own.empty() || !std::all_of(own.begin(), own.end(), [](const auto& result) { return result->ok(); })) continue;
    if (!part_.is_first && problem_.is_same_in_all_parts(evaluator_.forest(), evaluator_.plan(), e)) continue;
    sums_.has_data[e] = 1;
    planes[e - first] = planes_of(e, own);
  }
  return planes;
}

void JonesSweep::sweep_part(What what, Cancellation& cancellation) {
  const std::vector<Stretch> stretches = this->stretches();
  const bool alone = stretches.size() == 1;
  const std::vector<std::vector<int>> own =
      alone ? std::vector<std::vector<int>>{roots_of(stretches.front())} : own_nodes(stretches);
  for (std::size_t k = 0; k < stretches.size(); ++k) {
    std::vector<ResultPtr> results;
    const std::vector<JonesPlanes> planes = look_at(stretches[k], results, cancellation);
    std::vector<bool> done(planes.size(), false);
    const bool all_at_once = alone && parts_.size() == 1;
    sweep_on_devices(stretches[k].first, planes, what, all_at_once, done, cancellation);
    sweep_on_host(stretches[k].first, planes, what, done, cancellation);
    if (!all_at_once) evaluator_.forget(own[k]);
  }
}

/// What devices have not done.
void JonesSweep::sweep_on_host(std::size_t first, std::span<const JonesPlanes> planes, What what,
                               const std::vector<bool>& done, Cancellation& cancellation) {
  std::vector<Item> items = this->items(first, first + planes.size());
  std::erase_if(items, [&](const Item& item) {
    return done[item.equation - first] || planes[item.equation - first].results.empty();  // has no data
  });
  std::vector<const Vells*> values;
  for (std::size_t i = 0; i < planes.size(); ++i)
    for (const ResultPtr& result : planes[i].results)
      if (!done[i]) values.push_back(&result->value);
  bring_to_host(values);
  evaluator_.thread_pool().parallel_for(
      items.size(), 4,
      [&](std::size_t from, std::size_t to, int) {
        for (std::size_t i = from; i < to; ++i) sum_block(planes[items[i].equation - first], items[i], what);
      },
      &cancellation);
}

}  // namespace rimetree::solve
