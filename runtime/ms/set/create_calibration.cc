#include "runtime/ms/set/create_calibration.h"

#include <filesystem>

#include "runtime/ms/set/new_sets.h"
#include "runtime/ms/set/partial_folder.h"
#include "runtime/ms/tables/casacore_create.h"

namespace rimetree::ms {

void create_calibration_table(const std::string& path, const CalibrationTable& table, const std::string& ms_path,
                              bool overwrite) {
  namespace fs = std::filesystem;
  std::string destination = path;
  while (destination.size() > 1 && destination.back() == '/') destination.pop_back();
  try {
    check_destination(destination, overwrite, [&]() -> std::string {
      const bool is_one = fs::is_directory(destination) && !calibration_kind(destination).empty();
      return is_one ? "" : "what is there is no table of solutions, so it is not overwritten";
    });
    const PartialFolder folder(destination + ".partial", "creating " + destination);
    const std::string built = destination + ".partial/table";
    new_sets_function<decltype(rimetree_write_calibration_table)>("rimetree_write_calibration_table")(built, table,
                                                                                                      ms_path);
    take_place(built, destination);
  } catch (const fs::filesystem_error& error) {
    throw MsError("creating " + destination + " failed: " + error.what());
  }
}

}  // namespace rimetree::ms
