// Choices that environment variables make.
#pragma once

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "runtime/core/error.h"

namespace rimetree {

/// What an environment variable says, 1 or 0; nothing where it is not set or empty. Throws Error for anything else,
/// which might mean either.
inline std::optional<bool> yes_or_no(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return {};
  const bool yes = std::strcmp(value, "1") == 0;
  if (!yes && std::strcmp(value, "0") != 0)
    throw Error(std::string("the environment variable ") + variable + " is \"" + value + "\"; expected 1 or 0");
  return yes;
}

}  // namespace rimetree
