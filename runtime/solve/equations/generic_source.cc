#include "runtime/solve/equations/generic_source.h"

#include <algorithm>

#include "runtime/core/error.h"
#include "runtime/evaluate/objective.h"
#include "runtime/solve/equations/operand.h"
#include "runtime/solve/sums/cell_sums.h"

namespace rimetree::solve {

void check_failures(std::span<const ResultPtr> results) {
  for (const ResultPtr& result : results) {
    if (result->failures.empty()) continue;
    const Failure& failure = result->failures.front();
    throw Error((failure.origin.empty() ? "" : failure.origin + ": ") + "node \"" + failure.node + "\" (" +
                failure.node_class + "): " + failure.message);
  }
}

GenericSource::GenericSource(Evaluator& evaluator, const Problem& problem, RequestParts& parts, ErrorModel errors)
    : evaluator_(evaluator), problem_(problem), parts_(parts), errors_(errors) {}

std::vector<std::pair<std::size_t, std::size_t>> GenericSource::stretches() const {
  const Plan& plan = evaluator_.plan();
  const CellShape& cells = part_.cells();
  std::vector<std::pair<std::size_t, std::size_t>> stretches;
  std::uint64_t bytes = 0, budget = evaluator_.memory_budget();
  for (const auto& device : evaluator_.devices())
    budget = std::min<std::uint64_t>(budget, device->arrays().budget_bytes());
  for (std::size_t e = 0; e < problem_.equations.size(); ++e) {
    const Equation& equation = problem_.equations[e];
    std::uint64_t derivatives = 0;
    for (const auto& [p, mixed] : equation.parms) {
      const SolvableParm& parm = problem_.parms[p];
      // Above a node that mixes cells there is one for each tile as well.
      const std::size_t tiles = ((mixed & set_of(Axis::time)) != 0 ? parm.time_tiles.size() : 1) *
                                ((mixed & set_of(Axis::frequency)) != 0 ? parm.frequency_tiles.size() : 1);
      derivatives += parm.tiles.n_coefficient() * (tiles > 1 ? 1 + tiles : 1);
    }
    // The Condeq and the model at most are alive with all their derivatives at a time.
    const std::uint64_t of_this = 2 * (1 + derivatives) * plan.result_bytes(equation.condeq, cells);
    if (stretches.empty() || bytes + of_this > budget / 4) {
      stretches.emplace_back(e, e);
      bytes = 0;
    }
    stretches.back().second = e + 1;
    bytes += of_this;
  }
  return stretches;
}

/// What is left for the host, by few copies.
void GenericSource::bring_to_host(std::span<const Inputs> inputs) {
  std::vector<const Vells*> values;
  for (const Inputs& of : inputs) {
    if (of.condeq == nullptr) continue;
    for (const Result* result : {of.condeq, of.data, of.weight})
      if (result != nullptr) values.push_back(&result->value);
    for (const Derivative& derivative : of.condeq->derivatives) values.push_back(&derivative.value);
  }
  rimetree::bring_to_host(values);
}

void GenericSource::add_to(std::vector<GroupEquations>& groups, Cancellation& cancellation) {
  ++iteration_;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    part_ = PartView(parts_.part(i), problem_);
    part_.is_first = i == 0;
    part_.request.derivatives = true;
    part_.request.verify = 0;
    part_.request.iteration += iteration_;
    add_part(groups, cancellation);
  }
}

void GenericSource::add_part(std::vector<GroupEquations>& groups, Cancellation& cancellation) {
  const auto n_frequency = static_cast<std::uint32_t>(problem_.frequency_segments().size());
  for (const auto& [begin, end] : stretches()) {
    std::vector<int> roots;
    for (std::size_t e = begin; e < end; ++e) {
      const Equation& equation = problem_.equations[e];
      roots.push_back(equation.condeq);
      roots.push_back(equation.data);
      roots.push_back(equation.weight >= 0 ? equation.weight : equation.data);
    }
    const std::vector<ResultPtr> results =
        evaluator_.evaluate_step(part_.request, roots, &cancellation, Placing::roots_where_made);
    check_failures(results);
    std::vector<Inputs> inputs(end - begin);
    for (std::size_t e = begin; e < end; ++e) {
      const ResultPtr* of = &results[3 * (e - begin)];
      if (!of[0]->ok()) continue;  // no data of this baseline
      if (!part_.is_first && problem_.is_same_in_all_parts(evaluator_.forest(), evaluator_.plan(), e)) continue;
      inputs[e - begin] = {of[0].get(), of[1].get(), problem_.equations[e].weight >= 0 ? of[2].get() : nullptr};
    }
    add_on_devices(begin, inputs, groups, cancellation);
    bring_to_host(inputs);
    std::vector<Item> items;
    for (std::size_t e = begin; e < end; ++e) {
      if (inputs[e - begin].condeq == nullptr) continue;
      for (std::uint32_t t = part_.first_segment; t < part_.end_segment(); ++t)
        for (std::uint32_t f = 0; f < n_frequency; ++f) items.push_back({static_cast<std::uint32_t>(e), t, f});
    }
    assemble(
        problem_, items,
        [&](const Item& item, Contribution& contribution) {
          compute(inputs[item.equation - begin], item, contribution);
        },
        groups, evaluator_.thread_pool(), cancellation);
  }
}

void GenericSource::compute(const Inputs& inputs, const Item& item, Contribution& contribution) const {
  const Result& condeq = *inputs.condeq;
  std::vector<std::pair<std::size_t, Operand>> derivatives;  // place of the unknown
  std::vector<std::uint32_t> unknowns;
  for (const Derivative& derivative : condeq.derivatives) {
    const std::int64_t unknown = problem_.unknown(derivative.parameter, item);
    if (unknown < 0) continue;
    const auto known = std::find(unknowns.begin(), unknowns.end(), static_cast<std::uint32_t>(unknown));
    derivatives.emplace_back(static_cast<std::size_t>(known - unknowns.begin()), derivative.value);
    if (known == unknowns.end()) unknowns.push_back(static_cast<std::uint32_t>(unknown));
  }
  const std::size_t n = unknowns.size();
  contribution.reset(n);
  contribution.unknowns = std::move(unknowns);
  fit::NormalEquations& to = contribution.equations;
  const Operand residuals(condeq.value), data(inputs.data->value);
  const Operand weights = inputs.weight != nullptr ? Operand(inputs.weight->value) : Operand();
  const FlagOperand flags(condeq.flags);
  const bool is_complex = condeq.value.is_complex();
  const int dimensions = is_complex ? 2 : 1;
  const double weight_factor = problem_.equations[item.equation].weight_factor;
  const auto [first_time, last_time] = part_.counted_slots(item.time_segment, cells_of(condeq));
  const auto [first_channel, last_channel] = part_.counted_channels(item.frequency_segment, cells_of(condeq));
  std::vector<double> re(n), im(n);
  for (std::size_t element = 0; element < condeq.value.dims().size(); ++element)
    for (std::size_t t = first_time; t < last_time; ++t)
      for (std::size_t f = first_channel; f < last_channel; ++f) {
        if (flags.at(element, t, f)) {
          ++contribution.excluded.flagged;
          continue;
        }
        const double given = inputs.weight != nullptr ? weights.at(element, t, f).re : 1;
        if (!is_good_weight(given)) {
          ++contribution.excluded.bad_weight;
          continue;
        }
        const Complex<double> residual = residuals.at(element, t, f), datum = data.at(element, t, f);
        if (!is_finite(residual) || !is_finite(datum)) {
          ++contribution.excluded.not_finite;
          continue;
        }
        const double weight = given * weight_factor;
        const double square = weight * (residual.re * residual.re + residual.im * residual.im);
        const double factor = errors_.weight_factor(square, dimensions), used = weight * factor;
        to.equations += static_cast<std::size_t>(dimensions);
        to.information += dimensions / errors_.variance_factor(dimensions);
        to.objective += errors_.objective(square, dimensions);
        to.chi_square += square * factor;
        to.data_power += used * (datum.re * datum.re + datum.im * datum.im);
        std::fill(re.begin(), re.end(), 0.0);
        std::fill(im.begin(), im.end(), 0.0);
        for (const auto& [k, derivative] : derivatives) {
          const Complex<double> d = derivative.at(element, t, f);
          re[k] += d.re, im[k] += d.im;
        }
        for (std::size_t k = 0; k < n; ++k) {
          const double a = used * re[k], b = used * im[k];
          if (a == 0 && b == 0) continue;
          to.gradient[k] -= a * residual.re + b * residual.im;
          double* row = &to.matrix[k * n];
          for (std::size_t l = 0; l <= k; ++l) row[l] += a * re[l] + b * im[l];
        }
      }
}

}  // namespace rimetree::solve
