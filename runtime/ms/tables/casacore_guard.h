// Private to runtime/ms: every call into casacore goes through guarded(), which serialises and translates exceptions.
#pragma once

#include <mutex>
#include <new>
#include <string>

#include "runtime/ms/tables/error.h"

namespace rimetree::ms {

/// casacore tables are not thread safe, and two handles on one Measurement Set share their state inside casacore: one
/// lock for the whole process lets a reader and a writer run in different threads.
std::recursive_mutex& casacore_mutex();

/// "<doing>: <what>", with advice where the text of the error is known (full disk, no permission).
std::string explain_failure(const std::string& doing, const std::string& what);

/// Calls `action` under the lock; throws MsError for everything casacore throws. `doing` reads like "reading column
/// DATA of /x.ms, rows 5 to 9".
template <class Action>
auto guarded(const std::string& doing, Action&& action) -> decltype(action()) {
  const std::lock_guard<std::recursive_mutex> lock(casacore_mutex());
  try {
    return action();
  } catch (const MsError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw MsError(explain_failure(doing, error.what()));
  }
}

}  // namespace rimetree::ms
