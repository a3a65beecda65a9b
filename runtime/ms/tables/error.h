// The one exception type of runtime/ms.
#pragma once

#include <string>

#include "runtime/core/error.h"

namespace rimetree::ms {

/// Anything that goes wrong with a Measurement Set. The message says what, where (path, table, column, row), expected
/// against got, and what to do. No casacore exception leaves runtime/ms.
class MsError : public Error {
 public:
  explicit MsError(const std::string& message) : Error(message) {}
};

/// A set that cannot be written to now, because another program writes to it.
class SetLocked : public MsError {
 public:
  explicit SetLocked(const std::string& message) : MsError(message) {}
};

}  // namespace rimetree::ms
