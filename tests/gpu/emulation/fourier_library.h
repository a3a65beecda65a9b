// A stand-in for cuFFT on emulated devices: what of it the project uses.
#pragma once

namespace rimetree::emulation {

/// What dlopen() of the library gives, and dlsym() of one of its functions; null for those that it does not have.
void* fourier_library();
void* fourier_function(const char* name);

}  // namespace rimetree::emulation
