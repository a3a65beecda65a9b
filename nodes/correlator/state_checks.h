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

}  // namespace rimetree::correlator
