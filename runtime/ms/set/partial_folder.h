// The folder in which a set is built until it is whole, held by one process at a time.
#pragma once

#include <functional>
#include <string>

namespace rimetree::ms {

/// A folder of one's own: made, or taken over, empty, from a process that has ended. It is gone with the object.
class PartialFolder {
 public:
  /// Throws MsError, that `what` failed, where it cannot be made or another process builds there.
  PartialFolder(std::string path, const std::string& what);
  ~PartialFolder();
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;

 private:
  bool hold();  ///< whether what is locked is what the path names

  std::string path_;
  int folder_ = -1;
};

/// Throws MsError where the path has no folder, or something that is not to be overwritten; `objection`: what speaks
/// against overwriting it, empty if nothing does.
void check_destination(const std::string& path, bool overwrite, const std::function<std::string()>& objection);
/// Renames what was built to the path where it shall be, and removes what is there.
void take_place(const std::string& built, const std::string& path);

}  // namespace rimetree::ms
