// What a Measurement Set that is to be made holds.
#pragma once

#include <string>
#include <vector>

#include "runtime/ms/tables/metadata.h"

namespace rimetree::ms {

/// What a new Measurement Set holds. Rows are written time by time, within a time spectral window by spectral window,
/// within that baseline by baseline in the order given.
struct MsDescription {
  std::string telescope;
  std::string observer = "RimeTree";
  std::string project;
  std::string command_line;  ///< for HISTORY
  std::vector<Antenna> antennas;
  std::vector<Field> fields;                     ///< at least one; all J2000 or all ICRS
  std::vector<SpectralWindow> spectral_windows;  ///< at least one; widths may be negative
  std::vector<int> correlation_type;             ///< 1, 2 or 4 of 5-8 (RR RL LR LL) or of 9-12 (XX XY YX YY), ascending

  std::vector<int> antenna1;       ///< [baseline] autocorrelations allowed
  std::vector<int> antenna2;       ///< [baseline]
  std::vector<double> time_s;      ///< [time] centres, MJD in seconds (UTC), ascending
  std::vector<int> field_of_time;  ///< [time] FIELD_ID; empty: 0
  double interval_s = 0;           ///< INTERVAL
  double exposure_s = 0;           ///< EXPOSURE; 0: as interval_s
  std::vector<double> uvw_m;       ///< [time, baseline, 3]

  /// [time, baseline] whether rows are stored with their antennas exchanged, and UVW negated; empty: none is.
  std::vector<int> turned;

  bool weight_spectrum = false;                 ///< add WEIGHT_SPECTRUM, all 1
  std::vector<std::string> columns = {"DATA"};  ///< columns of visibilities, all zero; DATA must be among them
  bool overwrite = false;                       ///< replace what is at the path if it is a Measurement Set
};

}  // namespace rimetree::ms
