// Building a set, or a table, beside its place until it is whole: in a folder held by one process at a time.
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

/// Has `build` make a set or a table, at the path that it is given, and renames it to `path` when it is whole. Throws
/// MsError where the path has no folder or something that is not to be overwritten, or building fails; `objection`:
/// what speaks against overwriting it, empty if nothing does.
void create_whole(std::string path, bool overwrite, const std::function<std::string(const std::string&)>& objection,
                  const std::function<void(const std::string&)>& build);

}  // namespace rimetree::ms
