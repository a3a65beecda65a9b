#include "runtime/ms/tables/casacore_guard.h"

namespace rimetree::ms {

std::recursive_mutex& casacore_mutex() {
  static auto* mutex = new std::recursive_mutex;  // never destroyed: tables may be closed during program exit
  return *mutex;
}

std::string explain_failure(const std::string& doing, const std::string& what) {
  const auto has = [&what](const char* text) { return what.find(text) != std::string::npos; };
  std::string message = doing + " failed: " + what;
  if (has("No space left") || has("quota exceeded")) {
    message += "; the disk is full: free some space and run again";
  } else if (has("write error") || has("File too large") || has("tracePWRITE")) {  // casacore does not keep the reason
    message += "; is the disk full, or a quota or a limit on file sizes (ulimit -f) reached?";
  } else if (has("Permission denied") || has("not writable")) {
    message += "; check the permissions of the Measurement Set and of the files in it";
  }
  return message;
}

}  // namespace rimetree::ms
