// What the plugin looks for at run time: NVIDIA's libraries are not there, whatever this machine has, as they would not
// work on emulated devices. Instead of cuFFT there is a stand-in, unless RIMETREE_EMULATION_FOURIER is "none".
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "tests/gpu/emulation/fourier_library.h"

extern "C" {

void* __real_dlopen(const char* name, int flags);
void* __real_dlsym(void* library, const char* name);

void* __wrap_dlopen(const char* name, int flags);
void* __wrap_dlopen(const char* name, int flags) {
  const char* const fourier = std::getenv("RIMETREE_EMULATION_FOURIER");
  const bool none = fourier != nullptr && std::strcmp(fourier, "none") == 0;
  if (name != nullptr && std::strncmp(name, "libcufft.so", 11) == 0 && !none)
    return rimetree::emulation::fourier_library();
  if (name != nullptr && std::strncmp(name, "libcu", 5) == 0) return nullptr;
  return __real_dlopen(name, flags);
}

void* __wrap_dlsym(void* library, const char* name);
void* __wrap_dlsym(void* library, const char* name) {
  if (library == rimetree::emulation::fourier_library()) return rimetree::emulation::fourier_function(name);
  return __real_dlsym(library, name);
}
}
