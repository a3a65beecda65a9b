// The part of GenericSource that has devices make normal equations of Condeqs whose values and derivatives are there:
// products are summed over cells, sums of equations are added up to the matrices of groups, and these come down.
#include <algorithm>

#include "runtime/core/fingerprint.h"
#include "runtime/evaluate/objective.h"
#include "runtime/solve/equations/generic_source.h"
#include "runtime/solve/equations/operand.h"
#include "runtime/solve/sums/sums_body.h"

namespace rimetree::solve {

namespace {

/// So many derivatives make as many tiles of products as a launch may have.
constexpr std::size_t kMostDerivatives = 1000;
/// Lists of more sources than this are divided: they take eight bytes each on the device, and for a moment more here.
constexpr std::size_t kMostSources = 8 << 20;

/// The device's arrays, if values and derivatives are on one device, and not on the host.
const memory::ResidentArrays* where_made(const Result& condeq) {
  const memory::ResidentArrays* arrays = nullptr;
  const auto is_there = [&arrays](const Vells& values) {
    if (values.is_on_host()) return false;
    const memory::ResidentArrays* here = &values.device()->block().arrays();
    if (arrays == nullptr) arrays = here;
    return arrays == here;
  };
  const bool all =
      is_there(condeq.value) && std::all_of(condeq.derivatives.begin(), condeq.derivatives.end(),
                                            [&](const Derivative& derivative) { return is_there(derivative.value); });
  return all && !condeq.derivatives.empty() && condeq.derivatives.size() <= kMostDerivatives ? arrays : nullptr;
}

}  // namespace

SumInput GenericSource::sum_input(std::size_t equation, const Inputs& inputs) const {
  SumInput input;
  const Result& condeq = *inputs.condeq;
  input.data = SumOperand(*inputs.data);
  input.residual = SumOperand(condeq);
  if (inputs.weight != nullptr) input.weight = SumOperand(*inputs.weight);
  for (std::size_t k = 0; k < condeq.derivatives.size(); ++k) input.vectors.emplace_back(condeq, k);
  // Flags follow the data mostly: they stay what they are while residuals change.
  const auto bytes = std::as_bytes(std::span(condeq.flags.data(), condeq.flags.size()));
  input.flags_key = {static_cast<std::uint64_t>(problem_.equations[equation].condeq), fingerprint(bytes)};
  if (!condeq.flags.empty())
    input.flagged = [flags = FlagOperand(condeq.flags)](std::size_t element, std::size_t t, std::size_t f) {
      return flags.at(element, t, f);
    };
  input.weight_factor = problem_.equations[equation].weight_factor;
  input.dimensions = condeq.value.is_complex() ? 2 : 1;
  return input;
}

/// Collects what adds up to which number of the groups' equations.
class GenericSource::AssemblyBuilder {
 public:
  AssemblyBuilder(const Problem& problem, const std::vector<GroupEquations>& groups, Assembly& made)
      : problem_(problem), groups_(groups), made_(made), first_(groups.size(), kNone) {}

  /// `source`: of the first number of the item's sums.
  void add(const Item& item, const std::vector<Derivative>& derivatives, std::int64_t source) {
    const std::int32_t number = problem_.group_of(item);
    if (number < 0 || !groups_[static_cast<std::size_t>(number)].wanted) return;
    const fit::NormalEquations& equations = groups_[static_cast<std::size_t>(number)].equations;
    const std::size_t first = first_of(number), gradient = first + SumsJob::kScalars, matrix = gradient + equations.n;
    for (std::size_t k = 0; k < SumsJob::kScalars; ++k)
      entries_.emplace_back(first + k, source + static_cast<std::int64_t>(k));
    source += SumsJob::kScalars;
    std::vector<std::pair<std::int64_t, std::size_t>> places;  // derivative, place of the unknown
    for (std::size_t k = 0; k < derivatives.size(); ++k) {
      const std::int64_t unknown = problem_.unknown(derivatives[k].parameter, item);
      if (unknown >= 0)
        places.emplace_back(static_cast<std::int64_t>(k), problem_.place_in_group(static_cast<std::size_t>(unknown)));
    }
    const auto n_vector = static_cast<std::int64_t>(derivatives.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto [k, row] = places[i];
      entries_.emplace_back(gradient + row, source + k);
      for (std::size_t j = 0; j <= i; ++j) {
        const auto [l, column] = places[j];
        // Two derivatives with respect to one unknown: the square of their sum has twice their product.
        if (i != j && row == column)
          entries_.emplace_back(matrix + equations.place(row, column), source + sum_value(n_vector, k + 1, l + 1));
        entries_.emplace_back(matrix + equations.place(row, column), source + sum_value(n_vector, k + 1, l + 1));
      }
    }
  }
  /// Each list in the order of the items, as the host adds.
  void finish() {
    std::stable_sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::size_t at = 0;
    for (std::size_t total = 0; total < n_total_; ++total) {
      for (; at < entries_.size() && entries_[at].first == total; ++at)
        made_.lists.source.push_back(entries_[at].second);
      made_.lists.first.push_back(static_cast<std::int64_t>(at));
    }
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t first_of(std::int32_t number) {
    std::size_t& first = first_[static_cast<std::size_t>(number)];
    if (first != kNone) return first;
    const fit::NormalEquations& equations = groups_[static_cast<std::size_t>(number)].equations;
    first = n_total_;
    made_.groups.push_back(number);
    made_.first.push_back(first);
    n_total_ += SumsJob::kScalars + equations.n + equations.matrix.size();
    return first;
  }

  const Problem& problem_;
  const std::vector<GroupEquations>& groups_;
  Assembly& made_;
  std::vector<std::size_t> first_;  // by group, as Assembly::first
  std::size_t n_total_ = 0;
  std::vector<std::pair<std::size_t, std::int64_t>> entries_;  // total, source
};

/// Made once for the same equations: which of their derivatives is which unknown does not change.
const GenericSource::Assembly& GenericSource::assembly(const SumShare& share, std::size_t begin,
                                                       std::span<const Inputs> inputs, std::size_t n_number,
                                                       const std::vector<GroupEquations>& groups) {
  std::uint64_t version = mix(mix(1, std::uint64_t{n_number}), std::uint64_t{part_.first_segment});
  for (const Segments* segments : {&part_.time, &part_.frequency})
    for (const std::size_t begin_of_segment : segments->begin) version = mix(version, std::uint64_t{begin_of_segment});
  for (const std::uint32_t e : share) {
    version = mix(version, std::uint64_t{e});
    for (const Derivative& derivative : inputs[e - begin].condeq->derivatives)
      version = mix(version, fingerprint(derivative.parameter));
  }
  const auto [known, is_new] = assemblies_.try_emplace(version);
  Assembly& made = known->second;
  // Groups that have ended do no harm.
  const bool serves = !is_new && std::equal(groups.begin(), groups.end(), made.wanted.begin(),
                                            [](const auto& group, bool had) { return had || !group.wanted; });
  if (serves) return made;
  made = {};
  for (const GroupEquations& group : groups) {
    made.wanted.push_back(group.wanted);
    version = mix(version, std::uint64_t{group.wanted});
  }
  made.lists.version = version;
  AssemblyBuilder builder(problem_, groups, made);
  const auto n_frequency = static_cast<std::uint32_t>(problem_.frequency_segments().size());
  std::int64_t source = 0;
  for (const std::uint32_t e : share)
    for (std::uint32_t t = part_.first_segment; t < part_.end_segment(); ++t)
      for (std::uint32_t f = 0; f < n_frequency; ++f, source += static_cast<std::int64_t>(n_number))
        builder.add({e, t, f}, inputs[e - begin].condeq->derivatives, source);
  builder.finish();
  return made;
}

void GenericSource::add_totals(const Assembly& assembly, std::span<const double> totals, int dimensions,
                               std::vector<GroupEquations>& groups) const {
  for (std::size_t i = 0; i < assembly.groups.size(); ++i) {
    GroupEquations& group = groups[static_cast<std::size_t>(assembly.groups[i])];
    if (!group.wanted) continue;
    fit::NormalEquations& to = group.equations;
    const double* from = totals.data() + assembly.first[i];
    const ScalarSums sums{from[0], from[1], from[2], from[3], from[4], from[5], from[6], from[7]};
    to.data_power += sums.data_power;
    to.objective += sums.objective;
    to.chi_square += sums.chi_square;
    to.equations += static_cast<std::size_t>(sums.equations);
    to.information += sums.equations / errors_.variance_factor(dimensions);
    group.excluded += excluded_of(sums);
    from += SumsJob::kScalars;
    for (double& gradient : to.gradient) gradient -= *from++;
    for (double& element : to.matrix) element += *from++;
  }
}

/// Adds what devices can, and takes it off the list.
void GenericSource::add_on_devices(std::size_t begin, std::span<Inputs> inputs, std::vector<GroupEquations>& groups,
                                   Cancellation& cancellation) {
  const DeviceContexts& devices = evaluator_.devices();
  std::vector<std::deque<SumShare>> waiting(devices.size());
  std::vector<std::size_t> sources(devices.size(), 0);  // of each device's last share
  SumBlocks blocks{part_.time, part_.frequency, 0, true};
  int dimensions = 0;
  for (std::size_t i = 0; i < inputs.size() && !devices.empty(); ++i) {
    if (inputs[i].condeq == nullptr) continue;
    const Result& condeq = *inputs[i].condeq;
    const memory::ResidentArrays* arrays = where_made(condeq);
    const auto device = std::find_if(devices.begin(), devices.end(),
                                     [arrays](const auto& context) { return &context->arrays() == arrays; });
    if (device == devices.end() || inputs[i].data->stamp == 0) continue;
    if (cells_of(condeq) != part_.cells()) continue;  // does not count on each cell
    // Those like the first go together; others are for the host.
    const std::size_t n_element = condeq.value.dims().size();
    if (dimensions == 0) blocks.n_element = n_element, dimensions = condeq.value.is_complex() ? 2 : 1;
    if (n_element != blocks.n_element || dimensions != (condeq.value.is_complex() ? 2 : 1)) continue;
    auto& shares = waiting[static_cast<std::size_t>(device - devices.begin())];
    const std::size_t k = condeq.derivatives.size(), n_source = blocks.size() * (SumsJob::kScalars + k * (k + 3) / 2);
    std::size_t& before = sources[static_cast<std::size_t>(device - devices.begin())];
    if (shares.empty() || before + n_source > kMostSources) shares.emplace_back(), before = 0;
    shares.back().push_back(static_cast<std::uint32_t>(begin + i));
    before += n_source;
  }
  SumShareSteps steps;
  steps.start = [&](DeviceContext& device, const SumShare& share) {
    if (cancellation.check()) throw Cancelled();
    std::vector<SumInput> of_share;
    for (const std::uint32_t e : share) of_share.push_back(sum_input(e, inputs[e - begin]));
    auto sums = std::make_unique<DeviceSums>(device, blocks, of_share);
    sums->start({errors_, true, {}});
    sums->add_up(assembly(share, begin, inputs, sums->n_number(), groups).lists);
    return sums;
  };
  steps.finish = [&](const SumShare& share, std::unique_ptr<DeviceSums> sums) {
    add_totals(assembly(share, begin, inputs, sums->n_number(), groups), sums->finish(), dimensions, groups);
    for (const std::uint32_t e : share) inputs[e - begin] = {};
    evaluator_.notes().add("solver-device", "Solver: normal equations on " + devices.front()->device().name());
  };
  steps.give_up = [&](std::uint32_t, const memory::OutOfMemory& error) {
    evaluator_.warnings().add("solver-device-memory",
                              std::string("Solver: normal equations are made on the host where the device has no room "
                                          "for those of a baseline: ") +
                                  error.what());
  };
  sum_by_shares(devices, std::move(waiting), steps);
}

}  // namespace rimetree::solve
