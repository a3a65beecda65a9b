#include "runtime/ms/tables/metadata.h"

#include <cmath>
#include <cstdio>

#include "runtime/ms/tables/casacore_table.h"

namespace rimetree::ms {
namespace {

std::vector<Polarization> read_polarizations(const CasacoreTable& main) {
  const CasacoreTable table = main.subtable("POLARIZATION");
  std::vector<Polarization> setups(table.n_row());
  for (std::size_t row = 0; row < setups.size(); ++row) setups[row].correlation_type = table.int_cell("CORR_TYPE", row);
  return setups;
}

std::vector<DataDescription> read_data_descriptions(const CasacoreTable& main, const Metadata& other) {
  const CasacoreTable table = main.subtable("DATA_DESCRIPTION");
  const std::vector<int> windows = table.ints("SPECTRAL_WINDOW_ID", 0, table.n_row());
  const std::vector<int> setups = table.ints("POLARIZATION_ID", 0, table.n_row());
  std::vector<DataDescription> descriptions(table.n_row());
  const auto problem = [&table](std::size_t row, const char* column, const char* other_table, int id, std::size_t n) {
    if (id >= 0 && static_cast<std::size_t>(id) < n) return std::string();
    return "column " + std::string(column) + " of " + table.path() + ", row " + std::to_string(row) +
           ": expected a row of table " + other_table + ", which " + rows_text(n) + ", got " + std::to_string(id);
  };
  for (std::size_t row = 0; row < descriptions.size(); ++row) {
    descriptions[row] = {windows[row], setups[row]};
    std::string found =
        problem(row, "SPECTRAL_WINDOW_ID", "SPECTRAL_WINDOW", windows[row], other.spectral_windows.size());
    if (found.empty()) found = problem(row, "POLARIZATION_ID", "POLARIZATION", setups[row], other.polarizations.size());
    if (!found.empty()) descriptions[row] = {-1, -1, found};
  }
  return descriptions;
}

std::vector<Observation> read_observations(const CasacoreTable& main) {
  if (!main.has_subtable("OBSERVATION")) return {};
  const CasacoreTable table = main.subtable("OBSERVATION");
  std::vector<Observation> observations(table.n_row());
  for (std::size_t row = 0; row < observations.size(); ++row) {
    observations[row] = {table.text("TELESCOPE_NAME", row), table.text("OBSERVER", row)};
  }
  return observations;
}

}  // namespace

std::vector<Antenna> read_antennas(const CasacoreTable& main) {
  const CasacoreTable table = main.subtable("ANTENNA");
  const std::vector<double> diameters = table.doubles("DISH_DIAMETER", 0, table.n_row());
  std::vector<std::uint8_t> flagged(static_cast<std::size_t>(table.n_row()));
  if (table.has_column("FLAG_ROW")) flagged = table.bools("FLAG_ROW", 0, table.n_row());
  std::vector<Antenna> antennas(table.n_row());
  for (std::size_t row = 0; row < antennas.size(); ++row) {
    Antenna& antenna = antennas[row];
    antenna.name = table.text("NAME", row);
    antenna.station = table.text("STATION", row);
    antenna.mount = table.text("MOUNT", row);
    antenna.diameter_m = diameters[row];
    antenna.flagged = flagged[row] != 0;
    const std::vector<double> position = table.double_cell("POSITION", row);
    if (position.size() != 3) {
      throw MsError("column POSITION of " + table.path() + ", row " + std::to_string(row) +
                    ": expected 3 values, got " + std::to_string(position.size()));
    }
    antenna.position_m = {position[0], position[1], position[2]};
  }
  return antennas;
}

std::vector<Field> read_fields(const CasacoreTable& main) {
  const CasacoreTable table = main.subtable("FIELD");
  std::vector<Field> fields(table.n_row());
  for (std::size_t row = 0; row < fields.size(); ++row) {
    Field& field = fields[row];
    field.name = table.text("NAME", row);
    const std::array<double, 2> direction = table.direction("PHASE_DIR", row, &field.frame, &field.coordinates);
    constexpr double kTurn = 6.283185307179586476925286766559;
    field.ra_rad = direction[0] - kTurn * std::floor(direction[0] / kTurn);
    field.dec_rad = direction[1];
  }
  return fields;
}

std::vector<SpectralWindow> read_spectral_windows(const CasacoreTable& main) {
  const CasacoreTable table = main.subtable("SPECTRAL_WINDOW");
  const bool named = table.has_column("NAME");
  std::vector<double> references_hz(static_cast<std::size_t>(table.n_row()));
  if (table.has_column("REF_FREQUENCY")) references_hz = table.doubles("REF_FREQUENCY", 0, table.n_row());
  std::vector<SpectralWindow> windows(table.n_row());
  for (std::size_t row = 0; row < windows.size(); ++row) {
    SpectralWindow& window = windows[row];
    if (named) window.name = table.text("NAME", row);
    window.reference_hz = references_hz[row];
    window.frequency_hz = table.double_cell("CHAN_FREQ", row);
    window.width_hz = table.double_cell("CHAN_WIDTH", row);
    if (window.width_hz.size() != window.frequency_hz.size()) {
      throw MsError(table.path() + ", row " + std::to_string(row) + ": expected as many CHAN_WIDTH as CHAN_FREQ (" +
                    std::to_string(window.frequency_hz.size()) + "), got " + std::to_string(window.width_hz.size()));
    }
  }
  return windows;
}

Metadata read_metadata(const CasacoreTable& main) {
  Metadata metadata;
  metadata.antennas = read_antennas(main);
  metadata.fields = read_fields(main);
  metadata.spectral_windows = read_spectral_windows(main);
  metadata.polarizations = read_polarizations(main);
  metadata.data_descriptions = read_data_descriptions(main, metadata);
  metadata.observations = read_observations(main);
  return metadata;
}

std::string size_text(std::uint64_t bytes) {
  auto size = static_cast<double>(bytes);
  const char* unit = "B";
  for (const char* larger : {"KiB", "MiB", "GiB"})
    if (size >= 1024) size /= 1024, unit = larger;
  char text[40];
  std::snprintf(text, sizeof text, "%.4g %s", size, unit);
  return text;
}

std::string rows_text(std::size_t n) {
  return n == 0 ? "has no rows" : n == 1 ? "has row 0 only" : "has rows 0 to " + std::to_string(n - 1);
}

std::string correlation_name(int correlation_type) {
  static const char* const kNames[] = {"?", "I", "Q", "U", "V", "RR", "RL", "LR", "LL", "XX", "XY", "YX", "YY"};
  if (correlation_type > 0 && correlation_type <= 12) return kNames[correlation_type];
  return "?" + std::to_string(correlation_type);
}

}  // namespace rimetree::ms
