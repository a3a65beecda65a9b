// Small Measurement Sets for the tests, with antenna positions and UVW that belong together.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/ms/set/create.h"
#include "runtime/ms/set/measurement_set.h"

namespace rimetree::ms {

/// A folder that goes away with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "rimetree_ms_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline SpectralWindow window_of(double first_hz, double step_hz, std::size_t n) {
  SpectralWindow window;
  window.name = "window";
  for (std::size_t i = 0; i < n; ++i) {
    window.frequency_hz.push_back(first_hz + step_hz * static_cast<double>(i));
    window.width_hz.push_back(step_hz);
  }
  return window;
}

/// Four antennas near the MeerKAT site (at most 400 m apart), 5 channels at 1.4 GHz, 4 linear correlations, 6 times of
/// 8 s, all cross-correlations, UVW zero.
inline MsDescription small_description(int n_antenna = 4, int n_time = 6) {
  MsDescription description;
  description.telescope = "TestArray";
  description.command_line = "rimetree test";
  const double offset_m[6][3] = {{0, 0, 0},     {70, -20, 30},  {-50, 160, 10},
                                 {20, 90, 210}, {180, 40, -60}, {-120, -110, 90}};
  for (int i = 0; i < n_antenna; ++i) {
    Antenna antenna;
    antenna.name = "m00" + std::to_string(i);
    antenna.diameter_m = 13.5;
    antenna.position_m = {5109271 + offset_m[i][0], 2006808 + offset_m[i][1], -3239130 + offset_m[i][2]};
    description.antennas.push_back(antenna);
  }
  Field field;
  field.name = "target";
  field.ra_rad = 1.2;
  field.dec_rad = -0.6;
  description.fields = {field};
  description.spectral_windows = {window_of(1.4e9, 1e6, 5)};
  description.correlation_type = {9, 10, 11, 12};
  for (int p = 0; p < n_antenna; ++p) {
    for (int q = p + 1; q < n_antenna; ++q) {
      description.antenna1.push_back(p);
      description.antenna2.push_back(q);
    }
  }
  for (int i = 0; i < n_time; ++i) description.time_s.push_back(5.0e9 + 8.0 * i);
  description.interval_s = 8;
  description.uvw_m.assign(3 * description.time_s.size() * description.antenna1.size(), 0);
  return description;
}

/// Resizes UVW after baselines or times were changed; fills [time, baseline, 3] with distinct numbers.
inline void number_uvw(MsDescription* description) {
  description->uvw_m.resize(3 * description->time_s.size() * description->antenna1.size());
  std::iota(description->uvw_m.begin(), description->uvw_m.end(), 1.0);
}

/// A value that tells row, channel and correlation apart; exact in float.
inline std::complex<float> coded(std::int64_t row, std::size_t channel, std::size_t correlation) {
  return {static_cast<float>(row), static_cast<float>(10 * channel + correlation + 1)};
}

/// Writes coded() into a column of the whole set, row by row, going round the tile writer.
inline void write_coded(const std::string& path, const std::string& column = "DATA") {
  MeasurementSet ms(path, Access::kUpdate);
  const std::vector<int> ids = ms.table().ints("DATA_DESC_ID", 0, ms.n_row());
  for (std::int64_t row = 0; row < ms.n_row(); ++row) {
    const CellShape shape = ms.cell_shape(ids[row]);
    std::vector<std::complex<float>> values;
    for (std::size_t channel = 0; channel < shape.n_channel; ++channel) {
      for (std::size_t c = 0; c < shape.n_correlation; ++c) values.push_back(coded(row, channel, c));
    }
    ms.table().write_cells(column, {row}, {shape, 0, shape.n_channel}, values.data());
  }
}

/// The message of the MsError that `action` throws; fails the test if it throws none.
inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const MsError& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another exception than MsError: " << error.what();
    return "";
  }
  ADD_FAILURE() << "no MsError";
  return "";
}

#define EXPECT_CONTAINS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << text

}  // namespace rimetree::ms
