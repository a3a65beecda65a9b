// Streams and events of the emulated devices.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <deque>
#include <functional>

namespace rimetree::emulation {

/// Stands for a stream. Work stays in it until somebody waits for it (or, as the settings may say, until it advances at
/// random), the latest that CUDA allows: what does not wait for its copies finds nothing there.
class Stream {
 public:
  explicit Stream(int device) : device_(device) {}

  int device() const { return device_; }
  /// Puts work at its end.
  void add(std::function<void()> work);
  /// Does its work up to a position, counted from the stream's beginning.
  void run_until(std::size_t position);
  void run_all() { run_until(end()); }
  std::size_t done() const { return done_; }
  std::size_t end() const { return done_ + waiting_.size(); }

 private:
  int device_;
  std::deque<std::function<void()>> waiting_;
  std::size_t done_ = 0;
};

/// Stands for an event: a position in a stream, and the time when that was passed.
struct Event {
  bool has_time;
  Stream* stream = nullptr;  ///< null until it is recorded
  std::size_t position = 0;
  long record = 0;  ///< counts its recordings: an older one does not set the time
  double passed_s = -1;
};

/// The stream behind a handle; null for the default stream and for what is no stream (any more).
Stream* find_stream(cudaStream_t handle);

/// Does all work of a device's streams.
void run_device(int device);

/// While a function of cudaLaunchHostFunc() runs, which may not call the runtime: adding work then stops the program.
class HostFunction {
 public:
  HostFunction();
  ~HostFunction();
  HostFunction(const HostFunction&) = delete;
  HostFunction& operator=(const HostFunction&) = delete;
};

}  // namespace rimetree::emulation
