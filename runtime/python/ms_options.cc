#include "runtime/python/ms_options.h"

#include <algorithm>
#include <utility>

#include "runtime/python/convert.h"

namespace rimetree::python {

std::int64_t integer_item(PyObject* dict, const char* key, std::int64_t otherwise) {
  PyObject* value = item(dict, key);
  return value == nullptr ? otherwise : integer_of(value);
}
bool flag_item(PyObject* dict, const char* key) {
  PyObject* value = item(dict, key);
  return value != nullptr && PyObject_IsTrue(value) == 1;
}
std::string text_item(PyObject* dict, const char* key) {
  PyObject* value = item(dict, key);
  return value == nullptr ? std::string() : string_of(value);
}
std::vector<double> doubles_item(PyObject* dict, const char* key) {
  PyObject* value = item(dict, key);
  return value == nullptr ? std::vector<double>() : doubles_of(value);
}
std::vector<int> integers_item(PyObject* dict, const char* key) {
  std::vector<int> result;
  if (PyObject* value = item(dict, key))
    for_each(value, [&](PyObject* one) { result.push_back(static_cast<int>(integer_of(one))); });
  return result;
}

/// Numbers two by two.
template <class Value>
std::vector<std::pair<Value, Value>> pairs_of(const std::vector<Value>& flat) {
  std::vector<std::pair<Value, Value>> pairs;
  for (std::size_t i = 0; i + 1 < flat.size(); i += 2) pairs.emplace_back(flat[i], flat[i + 1]);
  return pairs;
}

ms::RowSelection rows_of(PyObject* options) {
  ms::RowSelection rows;
  rows.data_desc_id = static_cast<int>(integer_item(options, "data_desc_id", -1));
  rows.field_id = static_cast<int>(integer_item(options, "field_id", -1));
  rows.autocorrelations = flag_item(options, "autocorrelations");
  rows.time_slots = static_cast<std::size_t>(integer_item(options, "time_slots", 0));
  const std::vector<double> range_s = doubles_item(options, "time_range_s");
  if (range_s.size() == 2) {
    rows.first_time_s = range_s[0];
    rows.last_time_s = range_s[1];
  }
  for (const int id : integers_item(options, "data_desc_ids")) rows.data_desc_ids.insert(id);
  for (const int scan : integers_item(options, "scans")) rows.scans.insert(scan);
  rows.times_s = pairs_of(doubles_item(options, "times_s"));
  for (const auto& [p, q] : pairs_of(integers_item(options, "baselines"))) rows.baselines.insert(std::minmax(p, q));
  rows.one_order = flag_item(options, "one_order");
  if (const std::vector<double> centre = doubles_item(options, "phase_centre_rad"); centre.size() == 2)
    rows.phase_centre = ms::PhaseCentre{centre[0], centre[1]};
  rows.averaging.slots = static_cast<std::size_t>(integer_item(options, "average_slots", 1));
  rows.averaging.channels = static_cast<std::size_t>(integer_item(options, "average_channels", 1));
  rows.averaging.width_hz = number_item(options, "average_width_hz", 0);
  rows.averaging.time_edges_s = doubles_item(options, "average_time_edges_s");
  rows.averaging.frequency_edges_hz = doubles_item(options, "average_frequency_edges_hz");
  if (PyObject* averaged = item(options, "average_baselines"))
    for_each(averaged, [&](PyObject* one) {  // slots, channels, then pairs of antennas
      std::vector<int> numbers;
      for_each(one, [&](PyObject* number) { numbers.push_back(static_cast<int>(integer_of(number))); });
      ms::AveragedBaselines& own = rows.averaged.emplace_back();
      own.slots = static_cast<std::size_t>(numbers.at(0));
      own.channels = static_cast<std::size_t>(numbers.at(1));
      for (std::size_t i = 2; i + 1 < numbers.size(); i += 2)
        own.baselines.insert(std::minmax(numbers[i], numbers[i + 1]));
    });
  const std::vector<double> off_centre = doubles_item(options, "average_off_centre");
  for (std::size_t k = 0; k < std::min(off_centre.size(), rows.averaged.size()); ++k)
    rows.averaged[k].off_centre = off_centre[k];
  return rows;
}

std::optional<ms::ChannelRange> channels_of(PyObject* options) {
  const std::vector<int> range = integers_item(options, "channels");
  if (range.size() != 2) return std::nullopt;
  return ms::ChannelRange{static_cast<std::size_t>(range[0]), static_cast<std::size_t>(range[1])};
}

ms::ChannelChoice channel_choice_of(PyObject* options) {
  ms::ChannelChoice choice;
  for (const auto& [first, stop] : pairs_of(integers_item(options, "channel_ranges")))
    choice.numbers.push_back({static_cast<std::size_t>(first), static_cast<std::size_t>(stop)});
  choice.frequencies_hz = pairs_of(doubles_item(options, "frequency_ranges_hz"));
  return choice;
}

ms::SharedColumn shared_column_of(PyObject* options) {
  return {flag_item(options, "continues"), flag_item(options, "more_follow"),
          integer_item(options, "rows_expected", 0)};
}

Precision precision_of(PyObject* options) {
  return text_item(options, "precision") == "single" ? Precision::single : Precision::double_;
}

double number_item(PyObject* dict, const char* key, double otherwise) {
  PyObject* value = item(dict, key);
  return value == nullptr ? otherwise : number_of(value);
}

double requested_tolerance(PyObject* options) {
  PyObject* tolerance = item(options, "tolerance");
  return tolerance == nullptr ? 0 : number_of(tolerance);
}

}  // namespace rimetree::python
