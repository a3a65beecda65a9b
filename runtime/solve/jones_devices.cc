// The part of JonesSource that has devices sum over the cells: data, weights, flags and fixed visibilities stay there
// (where a device has predicted them they never leave), so that another sweep sends coefficients only.
#include <algorithm>

#include "runtime/core/fingerprint.h"
#include "runtime/solve/jones_planes.h"

namespace rimetree::solve {

SumBlocks JonesSource::sum_blocks() const { return {part_.time, problem_.frequency_segments(), elements_, false}; }

SumInput JonesSource::sum_input(std::size_t equation, const Planes& planes) const {
  SumInput input;
  input.data = input.residual = SumOperand(*planes.results[0]);
  if (planes.weighted) input.weight = SumOperand(*planes.results[1]);
  const std::vector<JonesTerm>& terms = models_[equation].terms;
  const std::size_t first_core = planes.weighted ? 2 : 1;
  for (std::size_t term = 0; term < terms.size(); ++term) {
    const Result& core = *planes.results[first_core + term];
    if (!terms[term].solvable())
      input.fixed.emplace_back(core);
    else if (models_[equation].diagonal)
      input.vectors.emplace_back(core);
    else
      for (int ab = 0; ab < static_cast<int>(elements_); ++ab) input.vectors.emplace_back(core, ab);
  }
  input.flags_key.owner = static_cast<std::uint64_t>(problem_.equations[equation].condeq);
  for (const Result* result : planes.results) input.flags_key.version = mix(input.flags_key.version, result->stamp);
  if (planes.any_flags)
    input.flagged = [&planes](std::size_t element, std::size_t t, std::size_t f) {
      return planes.flagged(element, t, f);
    };
  input.weight_factor = problem_.equations[equation].weight_factor;
  input.dimensions = complex_[equation] ? 2 : 1;
  return input;
}

/// Where a model is on a device, all else follows it. What is on the host is as fast summed up there as sent, but not
/// if that is to be done again and again.
bool JonesSource::is_worth_devices(std::span<const Planes> planes) const {
  if (evaluator_.devices().empty()) return false;
  std::size_t values = 0;
  for (const Planes& of : planes)
    for (const Result* result : of.results) {
      if (result->stamp == 0) return false;  // it may change without anybody knowing
      if (!result->value.is_on_host()) return true;
      values += result->value.size();
    }
  const PlacementRule rule = evaluator_.placement_rule(*evaluator_.devices().front());
  return values >= rule.least_values && (!rule.weigh_bytes || errors_.degrees_of_freedom > 0);
}

void JonesSource::start(const SumShare& share, DeviceSums& sums, Sweep what) const {
  SumsWanted wanted{errors_, what == Sweep::sums, {}};
  std::vector<Complex<double>> all;
  if (what == Sweep::exact || errors_.degrees_of_freedom > 0) {
    std::vector<std::size_t> first{0};
    for (const std::uint32_t e : share) first.push_back(first.back() + sum_blocks().size() * elements_ * n_basis(e));
    all.resize(first.back());
    evaluator_.thread_pool().parallel_for(share.size(), 4, [&](std::size_t from, std::size_t to, int) {
      for (std::size_t i = from; i < to; ++i) {
        auto put = all.begin() + static_cast<std::ptrdiff_t>(first[i]);
        for (const Item& item : items(share[i], share[i] + 1)) {
          const Products products = this->products(item);
          for (std::size_t element = 0; element < elements_; ++element) {
            const auto c = coefficients(item.equation, element, products);
            put = std::copy(c.begin(), c.end(), put);
          }
        }
      }
    });
    wanted.coefficients = all;
  }
  sums.start(wanted);
}

void JonesSource::finish(const SumShare& share, DeviceSums& on_device) {
  const std::vector<double> sums = on_device.finish();
  const std::size_t n_number = on_device.n_number();
  const double* from = sums.data();
  const std::size_t first_sum = part_.first_segment * problem_.frequency_segments().size() * elements_;
  const std::size_t end_sum = first_sum + sum_blocks().size() * elements_;
  for (const std::uint32_t e : share) {
    const std::size_t k = n_basis(e), n_value = n_number > SumsJob::kScalars ? k + k * (k + 1) / 2 : 0;
    for (std::size_t sum = first_sum; sum < end_sum; ++sum, from += n_number) {
      const std::size_t block = sum / elements_, element = sum % elements_;
      scalars_[(block * models_.size() + e) * elements_ + element] +=
          {from[0], from[1], from[2], from[3], from[4], from[5], from[6], from[7]};
      Complex<double>* to = &values_[block * first_.back() + first_[e] + element * n_value];
      for (std::size_t i = 0; i < n_value; ++i)
        to[i] += {from[SumsJob::kScalars + 2 * i], from[SumsJob::kScalars + 2 * i + 1]};
    }
  }
}

/// Marks as `done` what devices have summed up. `keep`: these are all equations, whose arrays stay for the next sweep.
void JonesSource::sweep_on_devices(std::size_t first, std::span<const Planes> planes, Sweep what, bool keep,
                                   std::vector<bool>& done, Cancellation& cancellation) {
  if (!is_worth_devices(planes)) return;
  const DeviceContexts& devices = evaluator_.devices();
  const SumBlocks blocks = sum_blocks();
  const CellShape& cells = part_.cells();
  std::vector<std::uint32_t> wanted;
  for (std::size_t i = 0; i < planes.size(); ++i) {
    if (planes[i].results.empty() || n_basis(static_cast<std::uint32_t>(first + i)) == 0) continue;
    if (planes[i].cells == cells)
      wanted.push_back(static_cast<std::uint32_t>(first + i));
    else
      keep = false;  // it does not count on each cell: the host adds it, in each sweep
  }
  // Consecutive ones to each device, as many at a time as should fit.
  std::vector<std::deque<SumShare>> waiting(devices.size());
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const std::uint64_t most = devices[d]->arrays().budget_bytes() / 4 * 3;
    std::uint64_t bytes = 0;
    for (std::size_t i = wanted.size() * d / devices.size(); i < wanted.size() * (d + 1) / devices.size(); ++i) {
      const std::uint64_t own = sum_input(wanted[i], planes[wanted[i] - first]).bytes(cells, elements_);
      if (waiting[d].empty() || bytes + own > most) waiting[d].emplace_back(), bytes = 0;
      waiting[d].back().push_back(wanted[i]);
      bytes += own;
    }
    keep = keep && waiting[d].size() <= 1;
  }
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
bool JonesSource::sweep_again(Sweep what) {
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
