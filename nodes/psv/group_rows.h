// The rows of many baselines as the kernels read them.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "nodes/psv/kernel.h"
#include "nodes/psv/operands.h"

namespace rimetree::psv {

/// Of the cells, with the widths that smearing is over, if there is any.
inline Channels channels_of(const LayoutNumbers& layout, const Cells& cells) {
  const AxisGrid& frequency = cells.axis(Axis::frequency);
  const std::size_t n = frequency.centre.size();
  if (!layout.is_smeared_in_frequency()) return analyse_channels(frequency.centre.data(), nullptr, n);
  const std::vector<double> own(layout.widths.freq_hz > 0 ? n : 0, layout.widths.freq_hz);
  return analyse_channels(frequency.centre.data(), own.empty() ? frequency.width.data() : own.data(), n);
}

/// Rows of a group of baselines, flattened: baseline by baseline, within that time by time. Number is the element of
/// what each row points to: results, or their adjoints, which are read only.
template <class Number>
struct GroupRows {
  std::vector<double> uvw[6], exposure_s;
  std::vector<std::int32_t> baseline, time;
  std::int32_t n_baseline = 0;
  std::vector<Number*> output;  ///< [row]: its first channel of the first plane
  Rows rows;

  /// The baseline that is the next one of the group.
  void add(const ChildLayout& layout, const Evaluation& evaluation, std::int32_t n_time, Number* target,
           std::size_t n_channel) {
    const Vells& values = evaluation.child(kUvw).value;
    const Cells& cells = evaluation.cells();
    const int n_components = layout.has_rates ? 6 : 3;
    const std::size_t plane = values.cells_per_element();
    for (std::int32_t t = 0; t < n_time; ++t) {
      const std::size_t cell = plane == 1 ? 0 : static_cast<std::size_t>(t);
      for (int i = 0; i < n_components; ++i)
        uvw[i].push_back(values.real()[static_cast<std::size_t>(i) * plane + cell]);
      if (n_components == 6 && layout.widths.time_s > 0)
        exposure_s.push_back(layout.widths.time_s);
      else if (n_components == 6 && cells.has(Axis::time))
        exposure_s.push_back(cells.axis(Axis::time).width[t]);
      baseline.push_back(n_baseline);
      time.push_back(t);
      output.push_back(target + static_cast<std::size_t>(t) * n_channel);
    }
    ++n_baseline;
  }
  /// Calls f(column) for what there is of each row.
  template <class F>
  void for_each_column(const F& f) {
    const auto of_rows = [&f](auto& column) {
      if (!column.empty()) f(column);
    };
    for (auto& coordinate : uvw) of_rows(coordinate);
    of_rows(exposure_s), of_rows(baseline), of_rows(time), of_rows(output);
  }
  /// The rows of these numbers, in their order.
  void take(const std::vector<std::size_t>& order) {
    for_each_column([&order](auto& column) {
      const auto old = std::move(column);
      column.clear();
      for (const std::size_t row : order) column.push_back(old[row]);
    });
  }
  /// Leaves out rows for which `wanted(output[row])` does not hold.
  template <class Wanted>
  void keep_if(const Wanted& wanted) {
    std::vector<std::size_t> kept;
    for (std::size_t row = 0; row < output.size(); ++row)
      if (wanted(output[row])) kept.push_back(row);
    take(kept);
  }
  /// Brings rows into the order of their times.
  void order_by_time() {
    std::vector<std::size_t> order(output.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) { return time[a] < time[b]; });
    take(order);
  }
  const Rows& finish(const ChildLayout& layout) {
    const auto data = [](const std::vector<double>& values) { return values.empty() ? nullptr : values.data(); };
    rows = {output.size(), data(uvw[0]),     data(uvw[1]),      data(uvw[2]),           data(uvw[3]),    data(uvw[4]),
            data(uvw[5]),  data(exposure_s), layout.smear_time, layout.smear_frequency, baseline.data(), time.data()};
    return rows;
  }
};

}  // namespace rimetree::psv
