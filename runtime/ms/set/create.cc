#include "runtime/ms/set/create.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "runtime/ms/set/measurement_set.h"
#include "runtime/ms/set/new_sets.h"
#include "runtime/ms/set/partial_folder.h"
#include "runtime/ms/tables/casacore_create.h"

namespace rimetree::ms {
namespace {

namespace fs = std::filesystem;

void require(bool good, const std::string& message) {
  if (!good) throw MsError("creating a Measurement Set: " + message);
}

void require_size(const std::string& what, std::size_t got, std::size_t expected) {
  require(got == expected, what + ": expected " + std::to_string(expected) + " values, got " + std::to_string(got));
}

void check_baselines(const MsDescription& description) {
  require_size("antenna2 (as many as antenna1)", description.antenna2.size(), description.antenna1.size());
  for (const auto* ids : {&description.antenna1, &description.antenna2}) {
    for (const int id : *ids) {
      require(id >= 0 && static_cast<std::size_t>(id) < description.antennas.size(),
              "a baseline has antenna " + std::to_string(id) + ", but there are " +
                  std::to_string(description.antennas.size()) + " antennas");
    }
  }
}

void check_correlations(const std::vector<int>& types) {
  require(types.size() == 1 || types.size() == 2 || types.size() == 4,
          "expected 1, 2 or 4 correlations, got " + std::to_string(types.size()));
  const int first = types.front() >= 9 ? 9 : 5;
  for (std::size_t i = 0; i < types.size(); ++i) {
    require(types[i] >= first && types[i] < first + 4 && (i == 0 || types[i] > types[i - 1]),
            "correlations must be of one kind of feed (RR RL LR LL or XX XY YX YY) and in this order, got " +
                correlation_name(types[i]));
  }
}

void check_spectral_windows(const std::vector<SpectralWindow>& windows) {
  require(!windows.empty(), "no spectral window");
  for (const SpectralWindow& window : windows) {
    require(window.n_channel() > 0, "spectral window '" + window.name + "' has no channels");
    require_size("widths of spectral window '" + window.name + "'", window.width_hz.size(), window.n_channel());
    for (const double frequency_hz : window.frequency_hz) {
      require(is_frequency(frequency_hz),
              "spectral window '" + window.name + "' has a frequency of " + std::to_string(frequency_hz) + " Hz");
    }
  }
}

void check(const MsDescription& description) {
  require(!description.antennas.empty(), "no antennas");
  require(!description.fields.empty(), "no field");
  require(!description.time_s.empty(), "no times");
  check_spectral_windows(description.spectral_windows);
  require(!description.correlation_type.empty(), "no correlations");
  check_correlations(description.correlation_type);
  check_baselines(description);
  require(std::is_sorted(description.time_s.begin(), description.time_s.end()), "times are not ascending");
  require(description.interval_s > 0, "the interval must be positive, got " + std::to_string(description.interval_s));
  require(description.exposure_s >= 0, "the exposure must not be negative");
  if (!description.field_of_time.empty()) {
    require_size("field_of_time", description.field_of_time.size(), description.time_s.size());
  }
  for (const Field& field : description.fields) {
    require(field.coordinates == description.fields.front().coordinates &&
                (field.coordinates == "J2000" || field.coordinates == "ICRS"),
            "fields must be all J2000 or all ICRS, got " + field.coordinates);
  }
  for (const int id : description.field_of_time) {
    require(id >= 0 && static_cast<std::size_t>(id) < description.fields.size(),
            "a time has field " + std::to_string(id) + ", but there are " + std::to_string(description.fields.size()));
  }
  require_size("uvw_m [time, baseline, 3]", description.uvw_m.size(),
               3 * description.time_s.size() * description.antenna1.size());
  if (!description.turned.empty()) {
    require_size("turned [time, baseline]", description.turned.size(),
                 description.time_s.size() * description.antenna1.size());
  }
  const auto& columns = description.columns;
  require(std::find(columns.begin(), columns.end(), "DATA") != columns.end(), "DATA is not among the columns");
}

/// What speaks against overwriting what is there, as `create_whole` asks for it.
std::string no_set(const std::string& path) {
  try {
    const MeasurementSet existing(path);
    return "";
  } catch (const MsError& error) {
    return "what is there is not a Measurement Set, so it is not overwritten (" + std::string(error.what()) + ")";
  }
}

void check_space(const std::string& path, std::uint64_t needed) {
  std::error_code error;
  const fs::space_info space = fs::space(fs::absolute(path).parent_path(), error);
  if (error || space.available >= needed) return;
  throw MsError("creating " + path + " needs " + size_text(needed) + " of disk, but only " +
                size_text(space.available) + " are free; free some space or make a smaller set");
}

}  // namespace

std::uint64_t created_bytes(const MsDescription& description) {
  const std::uint64_t rows_per_window = description.time_s.size() * description.antenna1.size();
  const std::uint64_t per_visibility = 8 * description.columns.size() + 1 + (description.weight_spectrum ? 4 : 0);
  std::uint64_t bytes = 1u << 20;
  for (const SpectralWindow& window : description.spectral_windows) {
    const std::uint64_t per_row = 80 + 8 * description.correlation_type.size();
    bytes += rows_per_window * (per_row + window.n_channel() * description.correlation_type.size() * per_visibility);
  }
  return bytes;
}

void create(const std::string& path, const MsDescription& description) {
  check(description);
  create_whole(path, description.overwrite, no_set, [&](const std::string& built) {
    check_space(path, created_bytes(description));
    new_sets_function<decltype(rimetree_write_new_set)>("rimetree_write_new_set")(built, description);
  });
}

}  // namespace rimetree::ms
