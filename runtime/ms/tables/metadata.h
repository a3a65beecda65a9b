// What the sub-tables of a Measurement Set say, as plain structs.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rimetree::ms {

class CasacoreTable;

/// One row of ANTENNA.
struct Antenna {
  std::string name;
  std::string station;
  std::string mount;
  std::array<double, 3> position_m{};  ///< geocentric (ITRF) x, y, z
  double diameter_m = 0;
  bool flagged = false;  ///< FLAG_ROW of the table; which data of it are flagged is for FLAG to say
  bool has_finite_position() const { return std::isfinite(position_m[0] + position_m[1] + position_m[2]); }
  bool is_at_zero() const { return position_m[0] == 0 && position_m[1] == 0 && position_m[2] == 0; }
  bool has_position() const { return has_finite_position() && !is_at_zero(); }
};

/// One row of FIELD. The phase centre is the constant term of PHASE_DIR.
struct Field {
  std::string name;
  double ra_rad = 0;                  ///< [0, 2 pi)
  double dec_rad = 0;                 ///< both in the frame `coordinates`
  std::string frame;                  ///< as stored; ends with "?" where it could not be converted to J2000
  std::string coordinates = "J2000";  ///< "ICRS" where the table says so, else "J2000"
};

/// One row of SPECTRAL_WINDOW.
struct SpectralWindow {
  std::string name;
  std::vector<double> frequency_hz;  ///< [channel] CHAN_FREQ, in the order stored
  std::vector<double> width_hz;      ///< [channel] CHAN_WIDTH as stored: may be negative
  double reference_hz = 0;           ///< REF_FREQUENCY; 0 where the table has none
  std::size_t n_channel() const { return frequency_hz.size(); }
};

/// Whether a number of Hz can be a channel's: finite and positive.
inline bool is_frequency(double frequency_hz) { return std::isfinite(frequency_hz) && frequency_hz > 0; }

/// One row of POLARIZATION.
struct Polarization {
  std::vector<int> correlation_type;  ///< [correlation] casacore Stokes numbers
};

/// One row of DATA_DESCRIPTION.
struct DataDescription {
  int spectral_window_id = 0;
  int polarization_id = 0;
  std::string problem{};  ///< why no row of the set can be of it; both ids are -1 then
};

/// One row of OBSERVATION.
struct Observation {
  std::string telescope;
  std::string observer;
};

/// All of them; the index in each list is the id.
struct Metadata {
  std::vector<Antenna> antennas;
  std::vector<Field> fields;
  std::vector<SpectralWindow> spectral_windows;
  std::vector<Polarization> polarizations;
  std::vector<DataDescription> data_descriptions;
  std::vector<Observation> observations;
};

/// Those that tables of solutions have as well.
std::vector<Antenna> read_antennas(const CasacoreTable& main);
std::vector<Field> read_fields(const CasacoreTable& main);
std::vector<SpectralWindow> read_spectral_windows(const CasacoreTable& main);

/// Reads the sub-tables. Throws MsError where one is missing or malformed. What refers to rows that do not exist may be
/// left over from windows that were taken out: it does no harm where no row of the set is of it.
Metadata read_metadata(const CasacoreTable& main);

/// "1.25 MiB" of a number of bytes.
std::string size_text(std::uint64_t bytes);

/// "has rows 0 to 3" of a table of 4 rows.
std::string rows_text(std::size_t n);

/// "XX", "RL", "I", ... of a casacore Stokes number; "?17" of one that no visibility has.
std::string correlation_name(int correlation_type);

}  // namespace rimetree::ms
