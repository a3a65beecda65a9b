#include "runtime/ms/set/partial_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "runtime/ms/tables/error.h"

namespace rimetree::ms {

namespace fs = std::filesystem;

PartialFolder::PartialFolder(std::string path, const std::string& what) : path_(std::move(path)) {
  constexpr mode_t kAll = 0777;  // less what the user's mask takes away
  do {                           // until no other process has removed what was opened
    if (folder_ >= 0) ::close(folder_);
    if (::mkdir(path_.c_str(), kAll) != 0 && errno != EEXIST) throw MsError(what + " failed: " + std::strerror(errno));
    folder_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_ < 0 && errno != ENOENT) throw MsError(what + " failed: " + path_ + ": " + std::strerror(errno));
    // Where the file system has no locks all is as it was before there were any.
    if (folder_ >= 0 && ::flock(folder_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(folder_);
      throw MsError(what + " failed: another program is creating it");
    }
  } while (!hold());
  for (const fs::directory_entry& left : fs::directory_iterator(path_)) fs::remove_all(left.path());
}

PartialFolder::~PartialFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  ::close(folder_);
}

bool PartialFolder::hold() {
  struct stat mine {
  }, named{};
  return folder_ >= 0 && ::fstat(folder_, &mine) == 0 && ::stat(path_.c_str(), &named) == 0 &&
         mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

namespace {

using Objection = std::function<std::string(const std::string&)>;

void check_destination(const std::string& path, bool overwrite, const Objection& objection) {
  const std::string failed = "creating " + path + " failed: ";
  if (!fs::exists(fs::symlink_status(path))) {
    const fs::path parent = fs::absolute(path).parent_path();
    if (!fs::is_directory(parent)) throw MsError(failed + "there is no directory " + parent.string());
    return;
  }
  if (!overwrite) throw MsError(failed + "it exists; choose another name or ask to overwrite it");
  if (const std::string why = objection(path); !why.empty()) throw MsError(failed + why);
}

void take_place(const std::string& built, const std::string& path) {
  if (!fs::exists(path)) return fs::rename(built, path);
  const std::string old = path + ".replaced";
  fs::remove_all(old);
  fs::rename(path, old);
  fs::rename(built, path);
  fs::remove_all(old);
}

}  // namespace

void create_whole(std::string path, bool overwrite, const Objection& objection,
                  const std::function<void(const std::string&)>& build) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  try {
    check_destination(path, overwrite, objection);
    const PartialFolder folder(path + ".partial", "creating " + path);
    check_destination(path, overwrite, objection);  // another process may have been there
    const std::string built = path + ".partial/whole";
    build(built);
    take_place(built, path);
  } catch (const fs::filesystem_error& error) {
    throw MsError("creating " + path + " failed: " + error.what());
  }
}

}  // namespace rimetree::ms
