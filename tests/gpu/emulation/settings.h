// How a test run sets the emulated device, by environment variables (run.sh --help lists them), and how it ends early.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <random>
#include <string>

namespace rimetree::emulation {

/// Everything that can be set about the device.
struct Settings {
  std::uint64_t seed;        ///< of the order of threads and of progress of streams
  bool random_progress;      ///< streams advance by themselves now and then, instead of only when waited for
  int devices;               ///< how many there are
  std::size_t memory_bytes;  ///< of each device
  std::size_t shared_bytes;  ///< that a block may ask for
};

/// Read once. Stops the program where a variable cannot be understood.
const Settings& settings();

/// The generator of all that happens in random order.
std::mt19937_64& generator();

/// Held by every call of the runtime: host threads take turns, as much as CUDA lets them run side by side.
std::recursive_mutex& device_mutex();

/// Ends the program: the device cannot go on, where a GPU would hang or give undefined results.
[[noreturn]] void stop(const std::string& why);

/// Says on stderr what was wrong with a call, and has cudaGetLastError() return it.
cudaError_t refuse(cudaError_t error, const char* why);

/// The same without a word, for errors that a program is to expect (no memory).
cudaError_t refuse_quietly(cudaError_t error);

/// The device that the calling thread has chosen by cudaSetDevice().
int current_device();

}  // namespace rimetree::emulation
