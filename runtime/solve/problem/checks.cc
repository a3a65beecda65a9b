#include "runtime/solve/problem/checks.h"

#include <algorithm>
#include <cmath>

#include "runtime/core/error.h"

namespace rimetree::solve {

void refuse_mixed_times(const Evaluator& evaluator, const Problem& problem, std::size_t n_part) {
  const Forest& forest = evaluator.forest();
  std::vector<int> condeqs;
  for (const Equation& equation : problem.equations) condeqs.push_back(equation.condeq);
  for (const int index : evaluator.plan().below(condeqs)) {
    const Node& node = forest.node(index);
    if (forest.children(index).empty() || (node.traits().mixed_axes & set_of(Axis::time)) == 0) continue;
    throw Error((node.origin().empty() ? "" : node.origin() + ": ") + "node \"" + node.name() + "\" (" +
                node.node_class().name + ") looks at several times for each result, but the data are solved in " +
                std::to_string(n_part) + " parts, of which each has some of the times only. Solve them in one part");
  }
}

namespace {

// At the solution, at the trial, and of a step. Factors of sparse ones are counted as four times as many elements, with
// their places.
constexpr std::uint64_t kBytesOfElement = 4 * sizeof(double) + 4 * 12;
constexpr double kDenseMatrices = 3;

}  // namespace

// Elements take longer, the more unknowns there are: a bandpass of 64 antennas and 64 channels beside gains of 6 times
// (2.5e7 elements) took 30 s of processor time and 1.9 GB together, and 12 s and 1.0 GB in turns (2026-11-26).
bool is_too_large(const Problem& problem, bool in_blocks, std::uint64_t budget) {
  constexpr double kMostElements = 2e7;
  double large = 0, all = 0;
  for (std::size_t g = 0; g < problem.n_group(); ++g) {
    const auto n = static_cast<double>(problem.group(g).size());
    if (n > kFewUnknowns) ++large;
    all += n * n;
  }
  if (large == 0) return false;
  const double elements = problem.n_element();
  if (in_blocks && elements > kMostElements * large) return true;
  const bool sparse = elements < kMostDensity * 0.5 * all;
  return static_cast<double>(budget) <
         (sparse ? elements * static_cast<double>(kBytesOfElement) : kDenseMatrices * all * sizeof(double));
}

void check_memory(Problem& problem, std::uint64_t budget) {
  const auto& sparsities = problem.sparsities();
  std::uint64_t bytes = 0, largest = 0;
  for (std::size_t g = 0; g < problem.n_group(); ++g) {
    const std::uint64_t n = problem.group(g).size();
    bytes += sparsities[g] ? sparsities[g]->n_element() * kBytesOfElement
                           : static_cast<std::uint64_t>(kDenseMatrices) * n * n * sizeof(double);
    largest = std::max(largest, n);
  }
  if (bytes <= budget) return;
  throw Error("the normal equations of " + std::to_string(problem.n_group()) + " groups of unknowns, of which the " +
              "largest has " + std::to_string(largest) + ", take " + std::to_string(bytes >> 20) +
              " MiB, more than the memory budget of " + std::to_string(budget >> 20) +
              " MiB. Solve fewer time slots at a time, or use solution tiles that do not connect as many unknowns");
}

bool is_limited(const Problem& problem) {
  return std::any_of(problem.parms.begin(), problem.parms.end(), [](const SolvableParm& parm) {
    const ParmLimits& limits = parm.limits;
    return std::any_of(limits.prior_sigma.begin(), limits.prior_sigma.end(), [](double s) { return s > 0; }) ||
           std::any_of(limits.minimum.begin(), limits.minimum.end(), [](double x) { return std::isfinite(x); }) ||
           std::any_of(limits.maximum.begin(), limits.maximum.end(), [](double x) { return std::isfinite(x); });
  });
}

}  // namespace rimetree::solve
