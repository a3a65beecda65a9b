// What the plugin looks for at run time: NVIDIA's libraries are not there, whatever this machine has, as they would not
// work on emulated devices.
#include <dlfcn.h>

#include <cstring>

extern "C" {

void* __real_dlopen(const char* name, int flags);

void* __wrap_dlopen(const char* name, int flags);
void* __wrap_dlopen(const char* name, int flags) {
  if (name != nullptr && std::strncmp(name, "libcu", 5) == 0) return nullptr;
  return __real_dlopen(name, flags);
}
}
