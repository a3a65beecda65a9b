#include "nodes/psv/group.h"

#include <algorithm>
#include <cstdio>

#include "nodes/psv/device_solve.h"
#include "nodes/psv/planner.h"

namespace rimetree::psv {

namespace {

/// Beyond this part of the total flux the product of sincs is worth a warning.
constexpr double kSmearingErrorToWarnOf = 1e-3;

}  // namespace

void GroupRows::add(const Vells& values, int n_components, std::int32_t index, std::int32_t n_time, const Cells& cells,
                    Complex<double>* target, std::size_t n_channel) {
  const std::size_t plane = values.cells_per_element();
  for (std::int32_t t = 0; t < n_time; ++t) {
    const std::size_t cell = plane == 1 ? 0 : static_cast<std::size_t>(t);
    for (int i = 0; i < n_components; ++i) uvw[i].push_back(values.real()[static_cast<std::size_t>(i) * plane + cell]);
    if (cells.has(Axis::time) && n_components == 6) exposure_s.push_back(cells.axis(Axis::time).width[t]);
    baseline.push_back(index);
    time.push_back(t);
    output.push_back(target + static_cast<std::size_t>(t) * n_channel);
  }
}

const Rows& GroupRows::finish(bool smear_time, bool smear_frequency) {
  const auto data = [](const std::vector<double>& values) { return values.empty() ? nullptr : values.data(); };
  rows = {output.size(), data(uvw[0]),     data(uvw[1]), data(uvw[2]),    data(uvw[3]),    data(uvw[4]),
          data(uvw[5]),  data(exposure_s), smear_time,   smear_frequency, baseline.data(), time.data()};
  return rows;
}

// `side`: 0 for the J_p among the children, 1 for the J_q^H.
std::int32_t GroupJones::number_of(std::span<const Result* const> children, std::size_t side) {
  Key key;
  for (std::size_t k = side; k < children.size(); k += 2) key.push_back(children[k]);
  auto& chains = side == 0 ? chains_.left : chains_.right;
  const auto [known, is_new] = known_[side].try_emplace(key, static_cast<std::int32_t>(chains.size()));
  if (!is_new) return known->second;
  JonesChains::Chain chain;
  for (std::size_t k = side; k < children.size(); k += 2) {
    const Result& result = *children[k];
    const Operand<double>& operand = operands_.try_emplace(&result, result, nullptr, true).first->second;
    const int per_source = layout_.jones_elements[k];
    JonesSide one;
    one.is_matrix = per_source == 4;
    for (int e = 0; e < per_source; ++e) one.view[e] = operand.complex(e, per_source);
    chain.push_back(one);
    JonesAxes& axes = side == 0 ? chains_.left_axes : chains_.right_axes;
    axes.n_time = std::max(axes.n_time, result.value.cells()[Axis::time]);
    axes.n_channel = std::max(axes.n_channel, result.value.cells()[Axis::frequency]);
  }
  chains.push_back(std::move(chain));
  return known->second;
}

void GroupJones::add(std::span<const Result* const> children) {
  if (children.empty()) return;
  chains_.left_of.push_back(number_of(children, 0));
  chains_.right_of.push_back(number_of(children, 1));
}

bool solve_group_on_devices(BatchContext& context, const Node& node, const GroupProblem& group,
                            const JonesChains& jones, double tolerance) {
  check_tolerance(tolerance);
  DeviceProblem problem{group.sky, group.channels, group.rows, jones, group.output};
  problem.single = tolerance >= kSingleBound;
  problem.owner = static_cast<std::uint64_t>(node.index());
  try {
    const std::string done = solve_on_devices(problem, context.devices, context.threads, context.cancellation);
    context.notes.add("psv-device", "PSV: " + done);
    return true;
  } catch (const memory::OutOfMemory& error) {
    context.warnings.add("psv-device-memory", "node \"" + node.name() + "\" is evaluated on the host: " + error.what());
    return false;
  }
}

void warn_of_large_cells(BatchContext& context, const Node& node, const SmearingLimits& limits) {
  if (limits.error <= kSmearingErrorToWarnOf) return;
  char text[400];
  std::snprintf(text, sizeof text,
                "node \"%s\": cells are large for time and bandwidth smearing as a product of sincs: phases change by "
                "up to %.3g rad over an exposure and %.3g rad across a channel, and the visibilities of the farthest "
                "sources may be wrong by %.2g of the total flux; use shorter exposures or narrower channels",
                node.name().c_str(), limits.time_rad, limits.frequency_rad, limits.error);
  context.warnings.add("psv-large-cells", text);
}

}  // namespace rimetree::psv
