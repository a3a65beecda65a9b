// Shared libraries that are looked for when they are wanted first: who needs none of them installs none.
#pragma once

#include <dlfcn.h>

#include <string>

namespace rimetree::memory {

/// Open until the process ends. Where the library, or one of its functions that were asked for, is not there,
/// is_there() says so.
class OptionalLibrary {
 public:
  explicit OptionalLibrary(const std::string& name) : library_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  bool is_there() const { return library_ != nullptr; }
  template <class F>
  void find(const char* name, F*& function) {
    if (library_ != nullptr) function = reinterpret_cast<F*>(dlsym(library_, name));
    if (function == nullptr) library_ = nullptr;
  }

 private:
  void* library_;
};

}  // namespace rimetree::memory
