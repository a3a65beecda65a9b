#include "runtime/evaluate/objective.h"

#include <algorithm>
#include <cmath>

#include "runtime/core/forest/forest.h"
#include "runtime/core/node/solution_tiles.h"
#include "runtime/core/threads/thread_pool.h"

namespace rimetree {

namespace {

/// sum += x; what rounding takes goes to `lost` (Knuth's two-sum).
void add_exactly(double& sum, double& lost, double x) {
  const double s = sum + x, back = s - sum;
  if (std::isfinite(s)) lost += (sum - (s - back)) + (x - back);
  sum = s;
}

/// Calls good(index of the value, weight) for each residual that has a weight that is not 0.
template <class Good>
void for_each_residual(const Result& residual, const Good& good) {
  const Vells& value = residual.value;
  const ResidualWeights weights(residual);
  const auto value_stride = broadcast_strides(value.cells());
  const std::size_t plane = value.cells_per_element();
  for (std::size_t e = 0; e < value.dims().size(); ++e)
    for_each_cell(cells_of(residual), [&](const std::array<int, kAxes>& cell) {
      if (const double w = weights.at(e, cell); w != 0) good(e * plane + offset_of(cell, value_stride), w);
    });
}
/// The same for sound weights only.
template <class Good>
void for_each_sound_residual(const Result& residual, const Good& good) {
  for_each_residual(residual, [&](std::size_t i, double w) {
    if (ResidualWeights::is_sound(w)) good(i, w);
  });
}

ResidualSums sums_of(const Result& residual) {
  ResidualSums sums;
  const std::uint64_t parts = residual.value.is_complex() ? 2 : 1;
  for_each_residual(residual, [&](std::size_t i, double w) {
    if (!sums.add_weight(w, parts)) return;
    const Vells& value = residual.value;
    const double square = parts == 2 ? squared_modulus(value.complex()[i]) : value.real()[i] * value.real()[i];
    add_exactly(sums.chi_square, sums.lost[0], w * square);
  });
  return sums;
}

void pull_residual(const Result& residual, double scale, Vells& adjoint) {
  for_each_sound_residual(residual, [&](std::size_t i, double w) {
    if (adjoint.is_complex())
      adjoint.complex()[i] += (2 * scale * w) * residual.value.complex()[i];
    else
      adjoint.real()[i] += 2 * scale * w * residual.value.real()[i];
  });
}

/// Which of its Parm's unknowns a parameter is; where the Parm has several tiles the parameter says which of them.
std::size_t unknown_of(const Forest& forest, const ParameterId& parameter) {
  const SolutionTiles tiles = SolutionTiles::of(forest.node(parameter.parm));
  return tiles.at(static_cast<std::size_t>(std::max(parameter.time_tile, 0)),
                  static_cast<std::size_t>(std::max(parameter.frequency_tile, 0)),
                  static_cast<std::size_t>(parameter.coefficient));
}

/// What the residuals depend on, and what else the result does: a prior knows all tiles of a Parm, on these cells or
/// not.
std::vector<ParameterId> all_parameters(const Evaluation& evaluation, const Forest& forest, const Gradient& apart) {
  std::vector<ParameterId> parameters = evaluation.parameters();
  if (parameters.front() == kDirection) return parameters;
  for (const auto& [node, gradient] : apart.by_node()) {
    const SolutionTiles tiles = SolutionTiles::of(forest.node(node));
    for (std::size_t u = 0; u < gradient.size(); ++u) {
      if (gradient[u] == 0) continue;
      const std::size_t tile = u / tiles.n_coefficient();
      ParameterId id{node, static_cast<std::int32_t>(u % tiles.n_coefficient())};
      if (tiles.n_time() > 1) id.time_tile = static_cast<std::int32_t>(tile / tiles.n_frequency());
      if (tiles.n_frequency() > 1) id.frequency_tile = static_cast<std::int32_t>(tile % tiles.n_frequency());
      parameters.push_back(id);
    }
  }
  std::sort(parameters.begin(), parameters.end());
  parameters.erase(std::unique(parameters.begin(), parameters.end()), parameters.end());
  return parameters;
}

/// A residual that has weights, at or below a node; -1 where there is none. `seen`: nodes that need no second look.
int weighted_residual(const Forest& forest, int node, std::vector<bool>& seen) {
  std::vector<int> unread{node};
  while (!unread.empty()) {
    const int next = unread.back();
    unread.pop_back();
    if (next < 0 || seen[static_cast<std::size_t>(next)]) continue;
    seen[static_cast<std::size_t>(next)] = true;
    const std::span<const int> children = forest.children(next);
    if (forest.node(next).algebra() == Algebra::residual &&
        ((children.size() > 2 && children[2] >= 0) || forest.node(next).state().real("weight_factor") != 1))
      return next;
    unread.insert(unread.end(), children.begin(), children.end());
  }
  return -1;
}

}  // namespace

void Objective::review(const Review& review) const {
  std::vector<bool> seen(review.forest.size());
  for (const int given : review.forest.children(review.node)) {
    if (given < 0) continue;
    const int child = review.forest.behind_identities(given);
    if (review.forest.node(child).algebra() == Algebra::residual) continue;
    if (const int lost = weighted_residual(review.forest, child, seen); lost >= 0)
      review.warn("takes the weights of Condeqs that are its children; that of node \"" +
                  review.forest.node(lost).name() + "\" does not count, as node \"" + review.forest.node(child).name() +
                  "\" comes between them");
  }
}

CellShape cells_of(const Result& residual) {
  CellShape cells = residual.value.cells();
  if (!residual.flags.empty()) cells = broadcast(cells, residual.flags.cells());
  if (!residual.weight.empty()) cells = broadcast(cells, residual.weight.cells());
  return cells;
}

void ResidualSums::add(const ResidualSums& more) {
  add_exactly(chi_square, lost[0], more.chi_square);
  add_exactly(log_weight, lost[1], more.log_weight);
  lost[0] += more.lost[0];
  lost[1] += more.lost[1];
  n_real += more.n_real;
  n_bad_weight += more.n_bad_weight;
}

bool ResidualSums::add_weight(double weight, std::uint64_t parts) {
  if (!ResidualWeights::is_sound(weight)) {
    ++n_bad_weight;
    return false;
  }
  add_exactly(log_weight, lost[1], static_cast<double>(parts) * std::log(weight));
  n_real += parts;
  return true;
}

TensorShape Objective::result_dims(std::span<const TensorShape* const>) const { return {}; }

void Objective::add_residuals(BatchContext& context, const Evaluation& evaluation, ResidualSums& sums) const {
  const std::size_t n = evaluation.children().size();
  std::vector<ResidualSums> parts(n);
  context.threads.parallel_for(
      n, 1,
      [&](std::size_t begin, std::size_t end, int) {
        for (std::size_t i = begin; i < end; ++i) parts[i] = sums_of(evaluation.child(i));
      },
      &context.cancellation);
  for (const ResidualSums& part : parts) sums.add(part);
}

void Objective::warn_of_bad_weights(const ResidualSums& sums, Warnings& warnings) const {
  if (sums.n_bad_weight == 0) return;
  warnings.add("bad-weights-" + name(),
               "node \"" + name() + "\": data whose weight is negative or not a number are left out");
}

void Objective::pull_residuals(BatchContext& context, PullBack& pull, double weight) const {
  // A residual that is a child twice has one adjoint: these are filled one after the other.
  std::vector<std::pair<Vells*, std::size_t>> targets;
  for (std::size_t i = 0; i < pull.inputs.children().size(); ++i)
    if (pull.child(i) != nullptr) targets.emplace_back(pull.child(i), i);
  std::sort(targets.begin(), targets.end());
  const bool distinct = std::adjacent_find(targets.begin(), targets.end(), [](const auto& a, const auto& b) {
                          return a.first == b.first;
                        }) == targets.end();
  context.threads.parallel_for(
      targets.size(), distinct ? 1 : targets.size(),
      [&](std::size_t begin, std::size_t end, int) {
        for (std::size_t i = begin; i < end; ++i)
          pull_residual(pull.inputs.child(targets[i].second), weight, *targets[i].first);
      },
      &context.cancellation);
}

/// d(result)/dp = slope * sum of 2 w Re(conj(r) dr/dp), and what does not depend on the residuals.
void Objective::add_derivatives(Evaluation& evaluation, const Forest& forest) const {
  if (!evaluation.has_derivatives()) return;
  Gradient apart;  // of what does not depend on the residuals
  for (std::size_t i = 0; i < forest.size(); ++i)
    if (const auto node = static_cast<int>(i); forest.node(node).n_unknown() > 0)
      apart.include(node, forest.node(node).n_unknown());
  value_of({}, forest, &apart, 1);
  for (const ParameterId& parameter : all_parameters(evaluation, forest, apart)) {
    double sum = 0, lost = 0;
    for (const Result* residual : evaluation.children()) {
      const Vells* derivative = residual->derivative(parameter);
      if (derivative == nullptr) continue;
      const Vells along = on_cells(evaluation.pool, *derivative, residual->value);
      for_each_sound_residual(*residual, [&](std::size_t i, double w) {
        const Vells& value = residual->value;
        const double product = value.is_complex() ? value.complex()[i].re * along.complex()[i].re +
                                                        value.complex()[i].im * along.complex()[i].im
                                                  : value.real()[i] * along.real()[i];
        add_exactly(sum, lost, 2 * w * product);
      });
    }
    Vells derivative = evaluation.make(NumberType::real, CellShape{});
    derivative.real()[0] = slope() * (sum + lost);
    if (parameter == kDirection) {
      for (const auto& [node, gradient] : apart.by_node())
        for (std::size_t k = 0; k < gradient.size(); ++k)
          derivative.real()[0] += direction_component(node, k) * gradient[k];
    } else if (const std::span<double> own = apart.of(parameter.parm); !own.empty()) {
      derivative.real()[0] += own[unknown_of(forest, parameter)];
    }
    evaluation.add(parameter, std::move(derivative));
  }
}

/// Each node is spread over all threads, one after the other.
class Objective::Kernel final : public BatchKernel {
 public:
  void evaluate(BatchContext& context, std::span<Evaluation* const> batch) override {
    for (Evaluation* evaluation : batch) {
      const auto& node = static_cast<const Objective&>(evaluation->node);
      ResidualSums sums;
      node.add_residuals(context, *evaluation, sums);
      node.warn_of_bad_weights(sums, context.warnings);
      Vells value = evaluation->make(NumberType::real, CellShape{});
      value.real()[0] = node.value_of(sums, context.forest, nullptr, 1);
      evaluation->set(std::move(value));
      evaluation->set_flags({});
      node.add_derivatives(*evaluation, context.forest);
    }
  }
  void pull_back(BatchContext& context, std::span<PullBack* const> batch) override {
    for (PullBack* pull : batch) {
      const auto& node = static_cast<const Objective&>(pull->inputs.node);
      const double weight = pull->adjoint.real()[0];
      node.pull_residuals(context, *pull, weight * node.slope());
      node.value_of({}, context.forest, &pull->gradient, weight);
    }
  }
};

std::unique_ptr<BatchKernel> Objective::make_kernel() const { return std::make_unique<Kernel>(); }

}  // namespace rimetree
