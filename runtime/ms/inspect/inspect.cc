#include "runtime/ms/inspect/inspect.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "runtime/ms/inspect/inspect_parts.h"
#include "runtime/ms/set/weights.h"

namespace rimetree::ms {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

ColumnSummary summarise_column(const MeasurementSet& ms, const std::string& name) {
  ColumnSummary column;
  column.name = name;
  const ColumnInfo info = ms.table().column(name);
  column.variable_shape = info.shape.empty();
  if (ms.n_row() > 0) column.shape = ms.table().cell_shape(name, 0);
  return column;
}

/// Runs a step; an MsError becomes a warning. What went wrong; empty if nothing did.
template <class Step>
std::string attempt(MsSummary* summary, Step&& step) {
  try {
    step();
  } catch (const MsError& error) {
    summary->warnings.push_back(error.what());
    return error.what();
  }
  return {};
}

/// Of each antenna the first row counts: others are of other windows, times and beams.
std::vector<std::string> feeds_of_antennas(const MeasurementSet& ms) {
  std::vector<std::string> feeds(ms.metadata().antennas.size());
  if (!ms.table().has_subtable("FEED")) return feeds;
  const CasacoreTable table = ms.table().subtable("FEED");
  if (!table.has_column("ANTENNA_ID") || !table.has_column("POLARIZATION_TYPE")) return feeds;
  const std::vector<int> antennas = table.ints("ANTENNA_ID", 0, table.n_row());
  for (std::size_t row = 0; row < antennas.size(); ++row) {
    const auto antenna = static_cast<std::size_t>(antennas[row]);
    if (antennas[row] < 0 || antenna >= feeds.size() || !feeds[antenna].empty()) continue;
    for (const std::string& receptor : table.text_cell("POLARIZATION_TYPE", static_cast<std::int64_t>(row)))
      feeds[antenna] += (feeds[antenna].empty() ? "" : " ") + receptor;
  }
  return feeds;
}

/// The columns that count, of each group by its first row: some writers fill WEIGHT_SPECTRUM for some windows only.
void summarise_weights(const MeasurementSet& ms, const RowIndex& index, MsSummary* summary) {
  const std::string otherwise = ms.has_column("WEIGHT") ? "WEIGHT" : "";
  std::map<std::pair<int, int>, std::int64_t> first;
  for (std::int64_t row = index.n_row() - 1; row >= 0; --row)
    first[{index.data_desc_id[row], index.field_id[row]}] = row;
  std::set<std::string, std::greater<>> columns;
  for (GroupSummary& group : summary->groups) {
    const bool spectrum = has_weight_spectrum(ms.table(), {first.at({group.data_desc_id, group.field_id})});
    group.weight_column = spectrum ? "WEIGHT_SPECTRUM" : otherwise;
    columns.insert(group.weight_column);
  }
  for (const std::string& name : columns) {
    summary->weight_column += (summary->weight_column.empty() || name.empty() ? "" : " or ") + name;
  }
  if (columns.empty()) summary->weight_column = otherwise;
}

}  // namespace

ChannelSummary summarise_channels(const SpectralWindow& window) {
  ChannelSummary summary;
  std::vector<double> frequency_hz;
  for (std::size_t c = 0; c < window.n_channel(); ++c) {
    if (is_frequency(window.frequency_hz[c])) frequency_hz.push_back(window.frequency_hz[c]);
    summary.n_no_width += !std::isfinite(window.width_hz[c]);
  }
  summary.n_no_frequency = window.n_channel() - frequency_hz.size();
  if (frequency_hz.empty()) return summary;
  const auto [lowest, highest] = std::minmax_element(frequency_hz.begin(), frequency_hz.end());
  summary.lowest_hz = *lowest;
  summary.highest_hz = *highest;
  std::vector<double> widths, steps, distances;
  for (const double width_hz : window.width_hz) {
    if (!std::isfinite(width_hz)) continue;
    summary.negative_width |= width_hz < 0;
    widths.push_back(std::abs(width_hz));
  }
  summary.width_hz = median(widths);
  for (const double width_hz : widths) {
    summary.equal_widths &= std::abs(width_hz - summary.width_hz) <= 1e-6 * summary.width_hz;
  }
  for (std::size_t i = 1; i < frequency_hz.size(); ++i) {
    steps.push_back(frequency_hz[i] - frequency_hz[i - 1]);
    distances.push_back(std::abs(steps.back()));
  }
  summary.spacing_hz = steps.empty() ? summary.width_hz : median(distances);
  const bool up = std::all_of(steps.begin(), steps.end(), [](double step) { return step > 0; });
  const bool down = std::all_of(steps.begin(), steps.end(), [](double step) { return step < 0; });
  summary.order = steps.empty() ? "single" : up ? "ascending" : down ? "descending" : "irregular";
  for (const double distance_hz : distances) {
    summary.regular &= std::abs(distance_hz - summary.spacing_hz) <= 1e-6 * summary.spacing_hz;
    summary.gaps += distance_hz > 1.5 * summary.spacing_hz;
  }
  summary.regular &= summary.order != "irregular";
  return summary;
}

MsSummary inspect(const MeasurementSet& ms, const InspectOptions& options) {
  MsSummary summary;
  summary.path = ms.path();
  summary.metadata = ms.metadata();
  if (!ms.metadata().observations.empty()) {
    summary.telescope = ms.metadata().observations.front().telescope;
    summary.observer = ms.metadata().observations.front().observer;
  }
  for (const SpectralWindow& window : ms.metadata().spectral_windows) {
    summary.channels.push_back(summarise_channels(window));
  }
  for (const std::string& name : ms.visibility_columns()) summary.columns.push_back(summarise_column(ms, name));
  summary.progress = read_progress(ms.path());
  attempt(&summary, [&] { summary.feeds = feeds_of_antennas(ms); });
  summary.n_row = ms.n_row();
  summary.rows_problem = attempt(&summary, [&] {
    const RowIndex index = read_row_index(ms);
    RowSelection all;
    all.autocorrelations = true;
    all.time_slots = 1;
    const TilePlan plan = plan_tiles(index, all);
    summarise_rows(ms, index, plan, &summary);
    attempt(&summary, [&] { summarise_uvw(ms, index, plan, options.uvw_time_slots, &summary); });
    summarise_weights(ms, index, &summary);
    if (options.scan_cells) attempt(&summary, [&] { summarise_cells(ms, index, &summary); });
  });
  add_warnings(&summary);
  return summary;
}

MsSummary inspect(const std::string& path, const InspectOptions& options) {
  return inspect(MeasurementSet(path), options);
}

}  // namespace rimetree::ms
