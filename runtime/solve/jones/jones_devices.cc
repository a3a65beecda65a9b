// The part of a sweep that has devices sum over the cells: data, weights, flags and fixed visibilities stay there
// (where a device has predicted them they never leave), so that another sweep sends coefficients only.
#include <algorithm>

#include "runtime/core/fingerprint.h"
#include "runtime/solve/jones/jones_planes.h"
#include "runtime/solve/jones/jones_sweep.h"

namespace rimetree::solve {

namespace {

/// A device takes one element of all that it sums over, or of each the same as of the data.
bool is_for_host(const JonesModel& model) {
  return model.conjugate || std::any_of(model.terms.begin(), model.terms.end(), [](const JonesTerm& term) {
           const bool one = term.elements.size() == 1 && term.elements[0] >= 0 && term.solvable();
           return !term.elements.empty() && !one;
         });
}

}  // namespace

SumBlocks JonesSweep::sum_blocks() const { return {part_.time, part_.frequency, products_.n_element(), false}; }

SumInput JonesSweep::sum_input(std::size_t equation, const JonesPlanes& planes) const {
  SumInput input;
  input.data = input.residual = SumOperand(*planes.results[0]);
  if (planes.weighted) input.weight = SumOperand(*planes.results[1]);
  const std::vector<JonesTerm>& terms = products_.model(equation).terms;
  const std::size_t first_core = planes.weighted ? 2 : 1;
  for (std::size_t term = 0; term < terms.size(); ++term) {
    const Result& core = *planes.results[first_core + term];
    if (!terms[term].solvable())
      input.fixed.emplace_back(core);
    else if (products_.model(equation).diagonal)
      input.vectors.emplace_back(core, terms[term].elements.empty() ? -1 : terms[term].elements[0]);
    else
      for (int ab = 0; ab < static_cast<int>(products_.n_basis_of_term(equation)); ++ab)
        input.vectors.emplace_back(core, ab);
  }
  input.flags_key.owner = static_cast<std::uint64_t>(problem_.equations[equation].condeq);
  for (const ResultPtr& result : planes.results) input.flags_key.version = mix(input.flags_key.version, result->stamp);
  if (planes.any_flags)
    input.flagged = [&planes](std::size_t element, std::size_t t, std::size_t f) {
      return planes.flagged(element, t, f);
    };
  input.weight_factor = problem_.equations[equation].weight_factor;
  input.dimensions = sums_.is_complex[equation] ? 2 : 1;
  return input;
}

/// Where a model is on a device, all else follows it. What is on the host is as fast summed up there as sent, but not
/// if that is to be done again and again.
bool JonesSweep::is_worth_devices(std::span<const JonesPlanes> planes) const {
  if (evaluator_.devices().empty()) return false;
  for (const JonesModel& model : products_.models())
    if (is_for_host(model) || model.n_element < products_.n_element()) return false;
  std::size_t values = 0;
  bool on_host = true;
  for (const JonesPlanes& of : planes)
    for (const ResultPtr& result : of.results) {
      if (result->stamp == 0) return false;  // it may change without anybody knowing
      on_host = on_host && result->value.is_on_host();
      values += result->value.size();
    }
  if (!on_host) return true;
  const PlacementRule rule = evaluator_.placement_rule(*evaluator_.devices().front());
  return values >= rule.least_values && (!rule.weigh_bytes || errors_.degrees_of_freedom > 0);
}

/// [equation of the share][block][element][basis].
std::vector<Complex<double>> JonesSweep::coefficients_of(const SumShare& share) const {
  std::vector<std::size_t> first{0};
  for (const std::uint32_t e : share)
    first.push_back(first.back() + sum_blocks().size() * products_.n_element() * products_.n_basis(e));
  std::vector<Complex<double>> all(first.back());
  evaluator_.thread_pool().parallel_for(share.size(), 4, [&](std::size_t from, std::size_t to, int) {
    for (std::size_t i = from; i < to; ++i) {
      auto put = all.begin() + static_cast<std::ptrdiff_t>(first[i]);
      for (const Item& item : items(share[i], share[i] + 1)) {
        const auto products = products_.by_term(item);
        for (std::size_t element = 0; element < products_.n_element(); ++element) {
          const auto c = products_.coefficients(item, element, products);
          put = std::copy(c.begin(), c.end(), put);
        }
      }
    }
  });
  return all;
}

void JonesSweep::start(const SumShare& share, DeviceSums& sums, What what) const {
  SumsWanted wanted{errors_, what == What::sums, {}};
  std::vector<Complex<double>> all;
  if (residuals(what)) wanted.coefficients = all = coefficients_of(share);
  sums.start(wanted);
}

void JonesSweep::finish(const SumShare& share, DeviceSums& on_device) {
  const std::vector<double> sums = on_device.finish();
  const std::size_t n_number = on_device.n_number();
  const double* from = sums.data();
  const std::size_t first_sum = part_.first_segment * problem_.frequency_segments().size() * products_.n_element();
  const std::size_t end_sum = first_sum + sum_blocks().size() * products_.n_element();
  for (const std::uint32_t e : share) {
    const std::size_t k = products_.n_basis(e), n_value = n_number > SumsJob::kScalars ? k + k * (k + 1) / 2 : 0;
    for (std::size_t sum = first_sum; sum < end_sum; ++sum, from += n_number) {
      const std::size_t block = sum / products_.n_element(), element = sum % products_.n_element();
      sums_.scalars(block, e, element) += {from[0], from[1], from[2], from[3], from[4], from[5], from[6], from[7]};
      Complex<double>* to = n_value > 0 ? sums_.of_products(block, e, element) : nullptr;
      for (std::size_t i = 0; i < n_value; ++i)
        to[i] += {from[SumsJob::kScalars + 2 * i], from[SumsJob::kScalars + 2 * i + 1]};
    }
  }
}

/// Consecutive equations to each device, as many at a time as should fit. `keep` becomes false where not all of them
/// are there at once.
std::vector<std::deque<SumShare>> JonesSweep::deal_out(std::size_t first, std::span<const JonesPlanes> planes,
                                                       bool& keep) const {
  std::vector<std::uint32_t> wanted;
  for (std::size_t i = 0; i < planes.size(); ++i) {
    if (planes[i].results.empty() || !sums_.counts(first + i)) continue;
    const auto& cores = planes[i].cores;
    const bool minus = std::any_of(cores.begin(), cores.end(), [](const auto& core) { return core.term->minus; });
    if (planes[i].cells == part_.cells() && !minus && products_.n_basis(first + i) > 0)
      wanted.push_back(static_cast<std::uint32_t>(first + i));
    else
      keep = false;  // it does not count on each cell, has a minus or no unknowns: the host adds it, in each sweep
  }
  const DeviceContexts& devices = evaluator_.devices();
  std::vector<std::deque<SumShare>> waiting(devices.size());
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const std::uint64_t most = devices[d]->arrays().budget_bytes() / 4 * 3;
    std::uint64_t bytes = 0;
    for (std::size_t i = wanted.size() * d / devices.size(); i < wanted.size() * (d + 1) / devices.size(); ++i) {
      const std::uint64_t own =
          sum_input(wanted[i], planes[wanted[i] - first]).bytes(part_.cells(), products_.n_element());
      if (waiting[d].empty() || bytes + own > most) waiting[d].emplace_back(), bytes = 0;
      waiting[d].back().push_back(wanted[i]);
      bytes += own;
    }
    keep = keep && waiting[d].size() <= 1;
  }
  return waiting;
}

/// Marks as `done` what devices have summed up. `keep`: these are all equations, whose arrays stay for the next sweep.
void JonesSweep::sweep_on_devices(std::size_t first, std::span<const JonesPlanes> planes, What what, bool keep,
                                  std::vector<bool>& done, Cancellation& cancellation) {
  if (!is_worth_devices(planes)) return;
  const DeviceContexts& devices = evaluator_.devices();
  const SumBlocks blocks = sum_blocks();
  std::vector<std::deque<SumShare>> waiting = deal_out(first, planes, keep);
  SumShareSteps steps;
  steps.start = [&](DeviceContext& device, const SumShare& share) {
    if (cancellation.check()) throw Cancelled();
    std::vector<SumInput> inputs;
    for (const std::uint32_t e : share) inputs.push_back(sum_input(e, planes[e - first]));
    try {
      auto sums = std::make_unique<DeviceSums>(device, blocks, inputs);
      start(share, *sums, what);
      return sums;
    } catch (const memory::OutOfMemory&) {
      keep = false;  // there is no room for all
      shares_.clear();
      throw;
    }
  };
  steps.finish = [&](const SumShare& share, std::unique_ptr<DeviceSums> sums) {
    finish(share, *sums);
    for (const std::uint32_t e : share) done[e - first] = true;
    evaluator_.notes().add("solver-device", "Solver: sums over data on " + devices.front()->device().name());
    if (keep) shares_.emplace_back(share, std::move(sums));
  };
  steps.give_up = [&](std::uint32_t, const memory::OutOfMemory& error) {
    evaluator_.warnings().add("solver-device-memory",
                              std::string("Solver: sums over data are made on the host where the device has no room "
                                          "for those of a baseline: ") +
                                  error.what());
  };
  sum_by_shares(devices, std::move(waiting), steps);
}

/// Once more, from what is there. False: it is not.
bool JonesSweep::sweep_again(What what) {
  if (shares_.empty()) return false;
  try {
    for (auto& [share, sums] : shares_) start(share, *sums, what);
    for (auto& [share, sums] : shares_) finish(share, *sums);
    return true;
  } catch (const memory::OutOfMemory&) {
    shares_.clear();
    return false;
  }
}

}  // namespace rimetree::solve
