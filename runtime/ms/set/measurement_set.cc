#include "runtime/ms/set/measurement_set.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "runtime/ms/set/one_order.h"

namespace rimetree::ms {
namespace {

struct RequiredColumn {
  const char* name;
  ValueType type;
  bool scalar;
};

constexpr std::array<RequiredColumn, 8> kRequired = {{{"TIME", ValueType::kDouble, true},
                                                      {"EXPOSURE", ValueType::kDouble, true},
                                                      {"ANTENNA1", ValueType::kInt, true},
                                                      {"ANTENNA2", ValueType::kInt, true},
                                                      {"DATA_DESC_ID", ValueType::kInt, true},
                                                      {"FIELD_ID", ValueType::kInt, true},
                                                      {"FLAG_ROW", ValueType::kBool, true},
                                                      {"UVW", ValueType::kDouble, false}}};

void require_measurement_set(const CasacoreTable& table) {
  std::string missing;
  for (const RequiredColumn& column : kRequired) {
    if (!table.has_column(column.name)) missing += std::string(missing.empty() ? "" : " ") + column.name;
  }
  if (!missing.empty()) {
    throw MsError("opening " + table.path() + " failed: it is a casacore table, but no Measurement Set: column " +
                  missing + " missing");
  }
  for (const RequiredColumn& expected : kRequired) {
    const ColumnInfo info = table.column(expected.name);
    if (info.type == expected.type && info.scalar == expected.scalar) continue;
    throw MsError("column " + std::string(expected.name) + " of " + table.path() + " has the wrong type: got " +
                  (info.scalar ? "one " : "an array of ") + info.type_name + " per row, which no Measurement Set has");
  }
}

}  // namespace

MeasurementSet::MeasurementSet(const std::string& path, Access access) : access_(access), table_(path, access) {
  require_measurement_set(table_);
  metadata_ = read_metadata(table_);
}

std::shared_ptr<MeasurementSet> open_for_writing(const std::string& path, double wait_s, Cancellation* cancellation) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration<double>(wait_s);
  while (true) {
    try {
      return std::make_shared<MeasurementSet>(path, Access::kUpdate);
    } catch (const SetLocked&) {
      if (Clock::now() >= until) throw;
    }
    if (cancellation && cancellation->check()) throw Cancelled();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

std::shared_ptr<const RowIndex> MeasurementSet::rows() const {
  const std::lock_guard lock(rows_->mutex);
  if (!rows_->index) rows_->index = std::make_shared<const RowIndex>(read_row_index(*this));
  return rows_->index;
}

std::shared_ptr<const RowIndex> MeasurementSet::rows_in_one_order() const {
  const std::shared_ptr<const RowIndex> stored = rows();
  const std::lock_guard lock(rows_->mutex);
  if (!rows_->in_one_order) {
    std::vector<bool> exchangeable;
    for (const DataDescription& about : metadata_.data_descriptions)
      exchangeable.push_back(
          about.problem.empty() &&
          exchanged_correlations(metadata_.polarizations[about.polarization_id].correlation_type).has_value());
    rows_->in_one_order = ms::in_one_order(stored, exchangeable);
  }
  return rows_->in_one_order;
}

const DataDescription& MeasurementSet::data_description(int data_desc_id) const {
  const auto& all = metadata_.data_descriptions;
  if (data_desc_id < 0 || static_cast<std::size_t>(data_desc_id) >= all.size()) {
    throw MsError(path() + " has no DATA_DESC_ID " + std::to_string(data_desc_id) + ": table DATA_DESCRIPTION " +
                  rows_text(all.size()));
  }
  if (!all[data_desc_id].problem.empty()) throw MsError(all[data_desc_id].problem);
  return all[data_desc_id];
}

CellShape MeasurementSet::cell_shape(int data_desc_id) const {
  return {spectral_window(data_desc_id).n_channel(), polarization(data_desc_id).correlation_type.size()};
}

const SpectralWindow& MeasurementSet::spectral_window(int data_desc_id) const {
  return metadata_.spectral_windows[data_description(data_desc_id).spectral_window_id];
}

const Polarization& MeasurementSet::polarization(int data_desc_id) const {
  return metadata_.polarizations[data_description(data_desc_id).polarization_id];
}

std::vector<std::string> MeasurementSet::visibility_columns() const {
  std::vector<std::string> names;
  for (const std::string& name : table_.column_names()) {
    const ColumnInfo info = table_.column(name);
    if (info.type == ValueType::kComplex && !info.scalar) names.push_back(name);
  }
  return names;
}

void MeasurementSet::require_visibilities(const std::string& name) const {
  const std::vector<std::string> names = visibility_columns();
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  std::string list;
  for (const std::string& present : names) list += " " + present;
  if (list.empty()) list = " none";
  const std::string choice = "; columns of visibilities are:" + list;
  if (!has_column(name)) throw MsError(path() + " has no column " + name + choice);
  const ColumnInfo info = table_.column(name);
  if (info.type == ValueType::kFloat) {
    throw MsError("column " + name + " of " + path() + " holds real numbers (single-dish or auto-correlation data)" +
                  ", not visibilities" + choice);
  }
  throw MsError("column " + name + " of " + path() + ": expected an array of Complex per row, got " +
                (info.scalar ? "one " : "an array of ") + info.type_name + choice);
}

}  // namespace rimetree::ms
