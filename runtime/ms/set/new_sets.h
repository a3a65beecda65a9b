// The library beside this one that makes new sets and tables; it is loaded when one is made, and stays loaded.
#pragma once

#include <string>

namespace rimetree::ms {

/// The address of a function of the library, by its name. Throws MsError where it cannot be loaded.
void* new_sets_symbol(const std::string& name);

template <class Function>
Function* new_sets_function(const std::string& name) {
  return reinterpret_cast<Function*>(new_sets_symbol(name));
}

}  // namespace rimetree::ms
