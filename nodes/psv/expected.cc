#include "nodes/psv/expected.h"

#include <algorithm>
#include <set>
#include <vector>

#include "nodes/psv/brightness_terms.h"
#include "nodes/psv/folded_terms.h"
#include "nodes/psv/general/devices.h"
#include "nodes/psv/group_rows.h"
#include "nodes/psv/planner/device_solve.h"
#include "nodes/psv/slices.h"
#include "runtime/core/forest/forest.h"

namespace rimetree::psv {

namespace {

bool varies(const CellShape& cells) { return cells[Axis::frequency] > 1; }

planner::Outlook outlook_of(const ChildLayout& layout, const ExpectedBatch& batch) {
  planner::Outlook outlook;
  outlook.n_source = static_cast<std::size_t>(layout.n_source);
  const bool all_times = layout.has_rates && layout.smear_time && layout.widths.time_s == 0;
  outlook.n_row = batch.nodes.size() * static_cast<std::size_t>(all_times ? batch.request.cells->shape()[Axis::time]
                                                                          : batch.children[kUvw][Axis::time]);
  outlook.n_baseline = batch.nodes.size();
  outlook.n_pair = static_cast<int>(layout.jones_elements.size() / 2);
  outlook.matrices = std::ranges::count(layout.jones_elements, 4) > 0;
  outlook.jones_vary = std::ranges::any_of(batch.children.subspan(kFirstJones), varies);
  outlook.spectra = varies(batch.children[kBrightness]);
  outlook.unpolarised = layout.brightness_elements == 1;
  outlook.smearing = layout.has_rates;
  outlook.tolerance = tolerance_of(batch.request);
  return outlook;
}

/// Whether only the brightness varies in time, and is done as a Jones term.
bool is_brightness_as_term(const ChildLayout& layout, const ExpectedBatch& batch) {
  const auto times = [&](std::size_t slot) {
    return slot < batch.children.size() ? batch.children[slot][Axis::time] : 1;
  };
  if (times(kBrightness) == 1 || times(kLmn) > 1 || times(kShape) > 1) return false;
  if (!batch.devices.empty() || Slicing::of(batch.children).frequency) return false;
  return brightness_as_term_pays(layout, batch.nodes.size(), batch.request.cells->shape(),
                                 batch.children[kBrightness][Axis::frequency]);
}

/// As such a term.
planner::Outlook with_brightness_as_term(planner::Outlook outlook, const ChildLayout& layout) {
  ++outlook.n_pair;
  outlook.matrices |= layout.brightness_elements > 1;
  outlook.jones_vary |= outlook.spectra;
  outlook.spectra = false;
  outlook.unpolarised = true;
  return outlook;
}

/// The number of products of brightness and terms, where baselines see these instead of terms of their own; else 0.
std::size_t folded_skies(const ChildLayout& layout, const ExpectedBatch& batch, const planner::Outlook& outlook) {
  if (outlook.n_pair == 0 || layout.has_common_jones || layout.n_source == 0) return 0;
  std::set<std::vector<int>> skies;
  for (const int node : batch.nodes) {
    const std::span<const int> terms = batch.forest.children(node).subspan(kFirstJones);
    std::vector<int> sky{batch.forest.children(node)[kBrightness]};
    sky.insert(sky.end(), terms.begin(), terms.end());
    skies.insert(std::move(sky));
  }
  const double n_channel = double(batch.request.cells->shape()[Axis::frequency]);
  const double of_sky = outlook.spectra || outlook.jones_vary ? n_channel : 1;
  const bool pays = folding_pays(layout, double(outlook.n_row) * n_channel, double(skies.size()) * of_sky, of_sky);
  return pays ? skies.size() : 0;
}

/// What is left of the terms where they are in the brightness.
planner::Outlook folded(planner::Outlook outlook, const ChildLayout& layout) {
  outlook.spectra |= outlook.jones_vary;
  outlook.unpolarised &= std::ranges::all_of(layout.jones_elements, [](int elements) { return elements == 1; });
  outlook.n_pair = 0;
  outlook.matrices = outlook.jones_vary = false;
  return outlook;
}

}  // namespace

Description expected(const ChildLayout& layout, const ExpectedBatch& batch) {
  if (!batch.request.cells->has(Axis::frequency)) return {};
  const std::string obstacle = general::obstacle_to_kernels(batch.children);
  const CellShape cells = batch.request.cells->shape();
  const int n_channel = cells[Axis::frequency];
  const Slicing slicing = Slicing::of(batch.children);
  const bool as_term = is_brightness_as_term(layout, batch);
  const bool by_slices =
      !as_term && slicing && batch.devices.empty() && slicing.pays(batch.nodes.size(), layout.n_source, cells);
  if (!obstacle.empty() && !by_slices && !as_term) {
    const std::string where = batch.devices.empty() ? "the host" : batch.devices.front()->device().name();
    return {"PSV: on " + where + ", cell by cell, as " + obstacle, 0};
  }
  planner::Outlook outlook = outlook_of(layout, batch);
  std::string how;
  if (as_term) {
    outlook = with_brightness_as_term(outlook, layout);
    how = std::string(kBrightnessAsTerm) + ": ";
  }
  if (!batch.devices.empty())
    return {"PSV: " + planner::expected_on_devices(batch.devices, outlook, batch.nodes.size(),
                                                   static_cast<std::size_t>(n_channel), layout.shape_columns > 0),
            0};
  if (by_slices && slicing.time) outlook.n_row = batch.nodes.size();
  if (by_slices) how = slicing.name() + " after the other, as " + obstacle + ": ";
  if (const std::size_t skies = as_term ? 0 : folded_skies(layout, batch, outlook); skies > 0) {
    outlook = folded(outlook, layout);
    how += folded_text(skies) + ": ";
  }
  Channels channels = channels_of(layout, *batch.request.cells);
  if (by_slices && slicing.frequency)
    channels = analyse_channels(channels.frequency_hz.data(), channels.width_hz.data(), 1);
  const planner::Choice choice = planner::expected_choice(outlook, channels);
  return {"PSV: " + how + choice.reason, choice.seconds * (by_slices ? slicing.count(cells) : 1)};
}

}  // namespace rimetree::psv
