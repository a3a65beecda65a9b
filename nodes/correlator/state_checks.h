// What the correlator's nodes ask of their state.
#pragma once

#include <string>

#include "runtime/core/error.h"
#include "runtime/core/node/node.h"

namespace rimetree::correlator {

/// Turns the library's errors about names into errors about state fields, which the forest reports with the script
/// line.
template <class F>
auto checked(const F& find) {
  try {
    return find();
  } catch (const Error& error) {
    throw StateError(error.what());
  }
}

/// An integer that is at least 1.
inline std::size_t positive(const State& state, const std::string& name) {
  const std::int64_t value = state.integer(name);
  if (value < 1) throw StateError("state field \"" + name + "\" is " + std::to_string(value) + ", expected at least 1");
  return static_cast<std::size_t>(value);
}

/// State field n_input; products of so many can still be counted in 32 bits.
inline std::size_t input_count(const State& state) {
  constexpr std::size_t kMost = 65535;
  const std::size_t n = positive(state, "n_input");
  if (n > kMost)
    throw StateError("state field \"n_input\" is " + std::to_string(n) + ", expected at most " + std::to_string(kMost));
  return n;
}

}  // namespace rimetree::correlator
