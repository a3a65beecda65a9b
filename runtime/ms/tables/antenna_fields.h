// What a set says of the elements of aperture arrays: the sub-table LOFAR_ANTENNA_FIELD.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rimetree::ms {

/// One row: a field of elements, or of tiles of elements, that belongs to an antenna of the set.
struct AntennaField {
  int antenna_id = 0;
  std::string name;                       ///< "LBA", "HBA", "HBA0", ...
  std::array<double, 9> axes{};           ///< [3,3] unit vectors (ITRF): two along the ground, and its normal
  std::vector<double> elements_m;         ///< [element,3] from the position of the antenna (ITRF)
  std::vector<std::uint8_t> is_dead;      ///< [element,2] of X and Y
  std::vector<double> tile_elements_m{};  ///< [element,3] from the middle of a tile (ITRF); empty if there are no tiles
};

/// All of a set, and where its beams point: [field][2] right ascension and declination in the frame of the field.
struct AntennaFields {
  std::size_t n_antenna = 0;
  std::vector<AntennaField> fields;
  std::vector<std::array<double, 2>> station_directions_rad;  ///< DELAY_DIR
  std::vector<std::array<double, 2>> tile_directions_rad;     ///< LOFAR_TILE_BEAM_DIR; empty if there is none
};

/// Throws MsError where there is no such sub-table, or where it does not fit the antennas.
AntennaFields read_antenna_fields(const std::string& ms_path);

}  // namespace rimetree::ms
