#include "runtime/ms/set/create_calibration.h"

#include <filesystem>

#include "runtime/ms/set/new_sets.h"
#include "runtime/ms/set/partial_folder.h"
#include "runtime/ms/tables/casacore_create.h"

namespace rimetree::ms {
namespace {

/// What speaks against overwriting what is there, as `create_whole` asks for it.
std::string no_table(const std::string& path) {
  const bool is_one = std::filesystem::is_directory(path) && !calibration_kind(path).empty();
  return is_one ? "" : "what is there is no table of solutions, so it is not overwritten";
}

}  // namespace

void create_calibration_table(const std::string& path, const CalibrationTable& table, const std::string& ms_path,
                              bool overwrite) {
  auto* write = new_sets_function<decltype(rimetree_write_calibration_table)>("rimetree_write_calibration_table");
  create_whole(path, overwrite, no_table, [&](const std::string& built) { write(built, table, ms_path); });
}

}  // namespace rimetree::ms
