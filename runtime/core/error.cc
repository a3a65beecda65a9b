#include "runtime/core/error.h"

namespace rimetree {

std::string message_of_caught() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "threw something that is no std::exception";
  }
}

}  // namespace rimetree
