// Copies of the small files that casacore rewrites in place when a table is flushed: the headers of tiled columns. A
// process killed in that instant would leave a table that cannot be opened; with the copies it repairs itself.
#pragma once

#include <string>
#include <vector>

namespace rimetree::ms {

/// Makes the copies, as rimetree.<file>.backup in the table. Call discard() once the flush has succeeded; until then,
/// and if it is not called, the copies stay.
class HeaderBackup {
 public:
  /// With `sync` the copies are on the disk when this returns.
  HeaderBackup(const std::string& table_path, bool sync);
  void discard();

 private:
  std::vector<std::string> copies_;
};

/// Brings a file, or the entries of a folder, to the disk; does nothing where that is not possible.
void sync_file(const std::string& path);

/// Puts copies found back in their place; false if there are none or one cannot be put back.
bool restore_headers(const std::string& table_path);

/// Whether the disk has room for what casacore writes when a table that was opened for writing is closed: the
/// description and the headers once more. Where it has none casacore ends the program.
bool has_room_to_close(const std::string& table_path);

/// Removes copies that a killed process left although its flush succeeded.
void remove_stale_headers(const std::string& table_path);

}  // namespace rimetree::ms
