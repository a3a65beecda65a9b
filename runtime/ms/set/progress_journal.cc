#include "runtime/ms/set/progress_journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/ms/tables/error.h"

namespace rimetree::ms {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "rimetree.";
constexpr const char* kSuffix = ".progress";
constexpr const char* kHeader = "rimetree-progress 1";
constexpr double kUnixEpoch_mjd_s = 40587.0 * 86400.0;

std::string to_text(const Progress& progress) {
  std::ostringstream out;
  out << kHeader << "\ncolumn " << progress.column << "\nstate " << (progress.creating ? "creating" : "writing")
      << "\nstarted " << progress.started << "\nrows " << progress.rows_written << " " << progress.rows_expected
      << "\n";
  out.precision(17);
  for (const CompleteUntil& entry : progress.complete) {
    out << "complete " << entry.data_desc_id << " " << entry.field_id << " " << entry.time_s << "\n";
  }
  out << "end\n";
  return out.str();
}

bool parse(std::istream& in, Progress* progress) {
  std::string line;
  if (!std::getline(in, line) || line != kHeader) return false;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string key, state;
    words >> key;
    if (key == "end") return true;
    if (key == "column") {
      words >> progress->column;
    } else if (key == "state") {
      words >> state;
      progress->creating = state == "creating";
    } else if (key == "started") {
      words >> progress->started;
    } else if (key == "rows") {
      words >> progress->rows_written >> progress->rows_expected;
    } else if (key == "complete") {
      CompleteUntil entry;
      words >> entry.data_desc_id >> entry.field_id >> entry.time_s;
      progress->complete.push_back(entry);
    }
    if (words.fail()) return false;
  }
  return false;
}

[[noreturn]] void fail(const std::string& doing, const std::string& path) {
  const int code = errno;
  std::string message = doing + " " + path + " failed: " + std::strerror(code);
  if (code == ENOSPC) message += "; the disk is full: free some space and run again";
  throw MsError(message);
}

void write_synced(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) fail("creating", path);
  const ssize_t written = ::write(file, text.data(), text.size());
  const bool good = written == static_cast<ssize_t>(text.size()) && ::fsync(file) == 0;
  const int code = errno;
  ::close(file);
  errno = code;
  if (!good) fail("writing", path);
}

void sync_directory(const std::string& path) {
  const int directory = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  ::fsync(directory);
  ::close(directory);
}

}  // namespace

std::string progress_path(const std::string& ms_path, const std::string& column) {
  return ms_path + "/" + kPrefix + column + kSuffix;
}

void store_progress(const std::string& ms_path, const Progress& progress) {
  const std::string path = progress_path(ms_path, progress.column);
  const std::string temporary = path + ".tmp";
  write_synced(temporary, to_text(progress));
  if (std::rename(temporary.c_str(), path.c_str()) != 0) fail("replacing", path);
  sync_directory(ms_path);
}

namespace {

void remove_if_there(const std::string& ms_path, const std::string& path) {
  if (std::remove(path.c_str()) != 0 && errno != ENOENT) fail("removing", path);
  sync_directory(ms_path);
}

}  // namespace

void remove_progress(const std::string& ms_path, const std::string& column) {
  remove_if_there(ms_path, progress_path(ms_path, column));
}

void remove_applied_notes(const std::string& ms_path, const std::string& column) {
  remove_if_there(ms_path, ms_path + "/" + kPrefix + column + ".applied");
}

std::vector<Progress> read_progress(const std::string& ms_path) {
  std::vector<Progress> all;
  std::error_code error;
  const std::string prefix = kPrefix, suffix = kSuffix;
  for (const fs::directory_entry& entry : fs::directory_iterator(ms_path, error)) {
    const std::string name = entry.path().filename().string();
    if (name.size() <= prefix.size() + suffix.size() || name.compare(0, prefix.size(), prefix) != 0 ||
        name.compare(name.size() - suffix.size(), suffix.size(), suffix) != 0) {
      continue;
    }
    Progress progress;
    std::ifstream file(entry.path());
    if (!parse(file, &progress)) {
      progress = Progress();
      progress.rows_expected = -1;
    }
    progress.column = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
    all.push_back(progress);
  }
  std::sort(all.begin(), all.end(), [](const Progress& a, const Progress& b) { return a.column < b.column; });
  return all;
}

std::string describe(const Progress& progress) {
  std::ostringstream out;
  out << "column " << progress.column << " is incomplete: ";
  if (progress.rows_expected < 0) {
    out << "a run has not finished writing it, and its journal cannot be read";
    return out.str();
  }
  out << "a run started at " << progress.started << " has not finished ";  // it may still be at work
  if (progress.creating) {
    out << "creating the column; nothing in it is meaningful";
    return out.str();
  }
  out << "writing it, " << progress.rows_written;
  if (progress.rows_expected > 0) out << " of " << progress.rows_expected;
  out << " rows";
  for (const CompleteUntil& entry : progress.complete) {
    out << "; DATA_DESC_ID " << entry.data_desc_id << ", FIELD_ID " << entry.field_id << " is complete up to "
        << utc_text(entry.time_s) << " UTC";
  }
  if (progress.complete.empty()) out << "; no time is complete";
  return out.str();
}

std::string utc_text(double mjd_s) {
  if (!std::isfinite(mjd_s) || std::abs(mjd_s) > 1e11) return "?";
  // In whole milliseconds, so that 59.9996 s does not print as 60.000.
  const std::int64_t unix_ms = std::llround((mjd_s - kUnixEpoch_mjd_s) * 1e3);
  const std::int64_t second = unix_ms >= 0 ? unix_ms / 1000 : -((999 - unix_ms) / 1000);
  const std::time_t time = static_cast<std::time_t>(second);
  std::tm utc{};
  gmtime_r(&time, &utc);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03d", utc.tm_year + 1900, utc.tm_mon + 1,
                utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, static_cast<int>(unix_ms - 1000 * second));
  return text;
}

}  // namespace rimetree::ms
