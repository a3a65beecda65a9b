#include "runtime/ms/inspect/summary_json.h"

#include <cmath>
#include <cstdio>
#include <type_traits>

namespace rimetree::ms {
namespace {

std::string json(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += std::string("\\") + c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string json(double value) {
  if (!std::isfinite(value)) return "null";
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string json(bool value) { return value ? "true" : "false"; }

template <class Integer, std::enable_if_t<std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>, int> = 0>
std::string json(Integer value) {
  return std::to_string(value);
}

/// {"key": value, ...}
class Object {
 public:
  template <class Value>
  Object& add(const char* key, const Value& value) {
    return raw(key, json(value));
  }
  Object& raw(const char* key, const std::string& value) {
    text_ += (text_.empty() ? "" : ", ") + json(std::string(key)) + ": " + value;
    return *this;
  }
  std::string text() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

template <class Sequence, class Format>
std::string list(const Sequence& values, Format&& format) {
  std::string out;
  for (const auto& value : values) out += (out.empty() ? "" : ", ") + format(value);
  return "[" + out + "]";
}

template <class Sequence>
std::string list(const Sequence& values) {
  return list(values, [](const auto& value) { return json(value); });
}

std::string antennas(const MsSummary& summary) {
  std::size_t id = 0;
  return list(summary.metadata.antennas, [&](const Antenna& antenna) {
    const std::int64_t rows = id < summary.rows_of_antenna.size() ? summary.rows_of_antenna[id] : 0;
    Object object;
    const AntennaCells cells = id < summary.antenna_cells.size() ? summary.antenna_cells[id] : AntennaCells{};
    object.add("n_visibility", cells.all).add("n_usable", cells.usable).add("power", cells.power);
    object.add("dead", cells.dead).add("flagged", antenna.flagged);
    object.add("id", id++).add("name", antenna.name).add("station", antenna.station).add("mount", antenna.mount);
    object.raw("position_m", list(antenna.position_m)).add("diameter_m", antenna.diameter_m).add("n_row", rows);
    return object.text();
  });
}

std::string fields(const MsSummary& summary) {
  std::size_t id = 0;
  return list(summary.metadata.fields, [&](const Field& field) {
    const std::int64_t rows = id < summary.rows_of_field.size() ? summary.rows_of_field[id] : 0;
    Object object;
    object.add("id", id++).add("name", field.name).add("ra_rad", field.ra_rad).add("dec_rad", field.dec_rad);
    object.add("frame", field.frame).add("coordinates", field.coordinates);
    return object.add("n_row", rows).text();
  });
}

std::string spectral_windows(const MsSummary& summary) {
  std::size_t id = 0;
  return list(summary.channels, [&](const ChannelSummary& channels) {
    const SpectralWindow& window = summary.metadata.spectral_windows[id];
    Object object;
    object.add("id", id++).add("name", window.name).add("n_channel", window.n_channel());
    object.add("order", channels.order).add("lowest_hz", channels.lowest_hz).add("highest_hz", channels.highest_hz);
    object.add("spacing_hz", channels.spacing_hz).add("width_hz", channels.width_hz).add("regular", channels.regular);
    object.add("equal_widths", channels.equal_widths).add("negative_width", channels.negative_width);
    object.add("n_no_frequency", channels.n_no_frequency).add("n_no_width", channels.n_no_width);
    return object.add("gaps", channels.gaps).text();
  });
}

std::string data_descriptions(const MsSummary& summary) {
  std::size_t id = 0;
  return list(summary.metadata.data_descriptions, [&](const DataDescription& description) {
    static const Polarization kNone;
    const Polarization& setup =
        description.problem.empty() ? summary.metadata.polarizations[description.polarization_id] : kNone;
    const auto& types = setup.correlation_type;
    const auto& counts = summary.rows_of_data_description;
    const std::int64_t rows = id < counts.size() ? counts[id] : 0;
    Object object;
    object.add("id", id++).add("spectral_window_id", description.spectral_window_id);
    object.add("polarization_id", description.polarization_id).add("n_row", rows);
    return object.raw("correlations", list(types, [](int type) { return json(correlation_name(type)); })).text();
  });
}

std::string groups(const MsSummary& summary) {
  return list(summary.groups, [](const GroupSummary& group) {
    Object object;
    object.add("data_desc_id", group.data_desc_id).add("field_id", group.field_id).add("n_row", group.n_row);
    object.add("n_autocorrelation", group.n_autocorrelation).add("n_time", group.n_time);
    object.add("n_baseline", group.n_baseline).add("min_rows_per_time", group.min_rows_per_time);
    object.add("max_rows_per_time", group.max_rows_per_time).add("n_missing", group.n_missing);
    return object.add("n_duplicate", group.n_duplicate)
        .add("n_swapped", group.n_swapped)
        .add("weight_column", group.weight_column)
        .text();
  });
}

std::string uvw(const UvwReport& report) {
  Object object;
  object.add("family", report.family).add("reason", report.reason).add("closure_tested", report.closure_tested);
  object.add("decomposable", report.decomposable).add("misclosure_m", report.misclosure_m);
  object.raw("directions", list(report.directions, [](const UvwDirection& direction) {
               Object entry;
               entry.add("field_id", direction.field_id).add("field_residual", direction.field_residual);
               entry.add("points_elsewhere", direction.points_elsewhere).add("ra_rad", direction.ra_rad);
               entry.add("dec_rad", direction.dec_rad).add("residual", direction.residual);
               return entry.add("offset_rad", direction.offset_rad).text();
             }));
  return object.text();
}

std::string progress(const MsSummary& summary) {
  return list(summary.progress, [](const Progress& progress) {
    Object object;
    object.add("column", progress.column).add("creating", progress.creating).add("started", progress.started);
    object.add("rows_written", progress.rows_written).add("rows_expected", progress.rows_expected);
    object.add("text", describe(progress));
    object.raw("complete", list(progress.complete, [](const CompleteUntil& until) {
                 Object entry;
                 entry.add("data_desc_id", until.data_desc_id).add("field_id", until.field_id);
                 return entry.add("time_s", until.time_s).text();
               }));
    return object.text();
  });
}

}  // namespace

std::string to_json(const MsSummary& summary) {
  Object object;
  object.add("path", summary.path).add("telescope", summary.telescope).add("observer", summary.observer);
  object.raw("antennas", antennas(summary)).raw("fields", fields(summary));
  object.raw("spectral_windows", spectral_windows(summary)).raw("data_descriptions", data_descriptions(summary));
  object.raw("groups", groups(summary)).add("n_row", summary.n_row).add("n_time", summary.n_time);
  object.add("n_baseline", summary.n_baseline).add("n_autocorrelation", summary.n_autocorrelation);
  object.add("time_reference", summary.time_reference);
  object.add("first_time_s", summary.first_time_s).add("last_time_s", summary.last_time_s);
  object.add("first_time", utc_text(summary.first_time_s)).add("last_time", utc_text(summary.last_time_s));
  object.add("spacing_s", summary.spacing_s).raw("exposures_s", list(summary.exposures_s));
  object.add("n_exposure_not_finite", summary.n_exposure_not_finite).add("rows_problem", summary.rows_problem);
  object.raw("intervals_s", list(summary.intervals_s)).add("unsorted", summary.unsorted);
  object.add("cells_scanned", summary.cells_scanned).add("flagged_fraction", summary.flagged_fraction);
  object.add("zero_weight_fraction", summary.zero_weight_fraction).add("usable_fraction", summary.usable_fraction);
  object.add("negative_weight_fraction", summary.negative_weight_fraction);
  object.add("not_finite_weight_fraction", summary.not_finite_weight_fraction);
  object.add("n_uvw_not_finite", summary.n_uvw_not_finite);
  object.add("n_flag_row", summary.n_flag_row).add("weight_column", summary.weight_column);
  object.raw("columns", list(summary.columns, [](const ColumnSummary& column) {
               Object entry;
               entry.add("name", column.name).add("variable_shape", column.variable_shape);
               entry.add("n_looked_at", column.n_looked_at).add("n_not_finite", column.n_not_finite);
               entry.add("n_usable_not_finite", column.n_usable_not_finite).add("all_zero", column.all_zero);
               return entry.raw("shape", list(column.shape)).text();
             }));
  object.raw("uvw", uvw(summary.uvw)).raw("progress", progress(summary)).raw("warnings", list(summary.warnings));
  object.raw("field_warnings", list(summary.field_warnings, [](const FieldWarning& warning) {
               return Object().add("field_id", warning.field_id).add("text", warning.text).text();
             }));
  return object.text();
}

}  // namespace rimetree::ms
