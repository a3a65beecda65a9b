// Casacore tables that are no Measurement Sets: images and lists of components. What they hold is small, or one array.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rimetree::ms {

/// The keywords of a table and of its rows those of some columns that it has, as JSON:
/// {"keywords": {...}, "rows": {"0": {column: value}}}. Throws MsError where it is none.
std::string table_as_json(const std::string& path, const std::vector<std::string>& columns);

struct PixelArray {
  std::vector<std::size_t> shape;  ///< the slowest axis first
  std::vector<double> values;
};

/// The array in the first row of a column of real numbers or truth values. Throws MsError where there is none.
PixelArray read_pixels(const std::string& path, const std::string& column);

}  // namespace rimetree::ms
