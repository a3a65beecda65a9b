#include "runtime/ms/tables/header_backup.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

namespace rimetree::ms {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "rimetree.";
constexpr const char* kSuffix = ".backup";

std::vector<std::string> file_names(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

/// table.f<number> of which there is a table.f<number>_TSM<number>.
std::vector<std::string> header_names(const std::string& path) {
  const std::vector<std::string> names = file_names(path);
  const std::set<std::string> all(names.begin(), names.end());
  std::set<std::string> headers;
  for (const std::string& name : names) {
    const std::size_t mark = name.find("_TSM");
    if (name.rfind("table.f", 0) != 0 || mark == std::string::npos) continue;
    if (all.count(name.substr(0, mark))) headers.insert(name.substr(0, mark));
  }
  return {headers.begin(), headers.end()};
}

/// "table.f7" of "rimetree.table.f7.backup"; empty for other names.
std::string original_of(const std::string& name) {
  const std::string prefix = kPrefix + std::string("table.f"), suffix = kSuffix;
  if (name.size() <= prefix.size() + suffix.size() || name.compare(0, prefix.size(), prefix) != 0) return "";
  if (name.compare(name.size() - suffix.size(), suffix.size(), suffix) != 0) return "";
  const std::size_t start = std::string(kPrefix).size();
  return name.substr(start, name.size() - suffix.size() - start);
}

}  // namespace

void sync_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  ::fsync(file);
  ::close(file);
}

namespace {

/// Copies so that `to` is either absent, as before, or complete.
void copy_whole(const std::string& from, const std::string& to, bool sync) {
  const std::string temporary = to + ".tmp";
  fs::copy_file(from, temporary, fs::copy_options::overwrite_existing);
  if (sync) sync_file(temporary);
  fs::rename(temporary, to);
}

}  // namespace

HeaderBackup::HeaderBackup(const std::string& table_path, bool sync) {
  for (const std::string& name : header_names(table_path)) {
    copies_.push_back(table_path + "/" + kPrefix + name + kSuffix);
    copy_whole(table_path + "/" + name, copies_.back(), sync);
  }
  if (sync) sync_file(table_path);
}

void HeaderBackup::discard() {
  for (const std::string& copy : copies_) fs::remove(copy);
  copies_.clear();
}

bool has_room_to_close(const std::string& table_path) {
  constexpr std::uintmax_t kBesides = 64u << 10;  // locks, and what is rewritten in place
  std::error_code error;
  const fs::space_info space = fs::space(table_path, error);
  if (error) return true;  // a file system that does not tell
  std::uintmax_t needed = kBesides;
  const std::uintmax_t size = fs::file_size(table_path + "/table.dat", error);
  if (!error) needed += size;
  return space.available >= needed;
}

bool restore_headers(const std::string& table_path) {
  bool restored = false;
  for (const std::string& name : file_names(table_path)) {
    const std::string original = original_of(name);
    if (original.empty()) continue;
    try {
      copy_whole(table_path + "/" + name, table_path + "/" + original, true);
    } catch (const fs::filesystem_error&) {
      return false;
    }
    restored = true;
  }
  return restored;
}

void remove_stale_headers(const std::string& table_path) {
  for (const std::string& name : file_names(table_path)) {
    std::error_code ignored;
    if (!original_of(name).empty()) fs::remove(table_path + "/" + name, ignored);
  }
}

}  // namespace rimetree::ms
