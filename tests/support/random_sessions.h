// Random sessions: RIMETREE_SESSIONS of them (40), from number RIMETREE_FIRST_SESSION (0) on.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace rimetree::test {

/// Runs a Session(seed) of 25 steps for each seed, until one fails.
template <class Session>
void run_random_sessions() {
  const auto number = [](const char* variable, unsigned otherwise) {
    const char* const text = std::getenv(variable);
    return text != nullptr ? static_cast<unsigned>(std::atoi(text)) : otherwise;
  };
  const unsigned begin = number("RIMETREE_FIRST_SESSION", 0), n = number("RIMETREE_SESSIONS", 40);
  for (unsigned seed = begin; seed < begin + n; ++seed) {
    SCOPED_TRACE("session " + std::to_string(seed));
    Session session(seed);
    session.run(25);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace rimetree::test
