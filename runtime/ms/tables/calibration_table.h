// Tables of solutions as CASA keeps them: a casacore table for each term, with a row for each antenna, interval and
// spectral window, and copies of the sub-tables of the set that they were made from.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/ms/tables/metadata.h"

namespace rimetree::ms {

/// Rows of one spectral window, in the order in which they are stored.
struct CalibrationRows {
  int window_id = 0;
  std::vector<double> time_s, interval_s;  ///< [row] MJD; an interval of 0 is not known
  std::vector<int> field_id, antenna_id;   ///< [row]
  std::size_t n_channel = 0, n_parameter = 0;
  std::vector<std::complex<float>> values;  ///< [row, channel, parameter]; of real parameters the real part
  std::vector<float> errors;                ///< [row, channel, parameter], 0 where it is not known
  std::vector<std::uint8_t> flags;          ///< [row, channel, parameter]
};

struct CalibrationTable {
  std::string kind;            ///< as CASA names it: "G Jones", "K Jones", ...
  std::string basis;           ///< "linear", "circular", or "unknown"
  std::string casa_version{};  ///< of CASA that made it; tables older than 5.3 do not say it
  std::string ms_name;         ///< the set that it was made from, as its maker named it
  bool is_complex = true;      ///< CPARAM, else FPARAM
  std::vector<Antenna> antennas;
  std::vector<Field> fields;
  std::vector<SpectralWindow> windows;
  std::vector<CalibrationRows> rows;  ///< of windows that have any
};

/// What kind of solutions a table holds, as `CalibrationTable::kind`; empty where there is no such table.
std::string calibration_kind(const std::string& path);

/// Throws MsError where it is no table of solutions, or a damaged one.
CalibrationTable read_calibration_table(const std::string& path);

}  // namespace rimetree::ms
