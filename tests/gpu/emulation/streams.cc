#include "tests/gpu/emulation/streams.h"

#include <chrono>
#include <set>

#include "tests/gpu/emulation/settings.h"

namespace rimetree::emulation {

namespace {

int host_functions = 0;

/// All that are there.
std::set<Stream*>& streams() {
  static auto* const all = new std::set<Stream*>;  // outlives what static destructors do with devices
  return *all;
}

/// Lets two streams advance by a few pieces of work each.
void advance_at_random() {
  if (!settings().random_progress) return;
  for (int i = 0; i < 2; ++i) {
    const auto chosen = std::next(streams().begin(), static_cast<long>(generator()() % streams().size()));
    (*chosen)->run_until((*chosen)->done() + generator()() % 4);
  }
}

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// A stream that exists and belongs to the current device, as CUDA wants it for what is put into it.
Stream* stream_for_work(cudaStream_t handle, const char* call) {
  Stream* const stream = find_stream(handle);
  if (stream != nullptr && stream->device() == current_device()) return stream;
  refuse(cudaErrorInvalidResourceHandle, call);
  return nullptr;
}

}  // namespace

void Stream::add(std::function<void()> work) {
  if (host_functions > 0) stop("a host function in a stream calls the runtime");
  waiting_.push_back(std::move(work));
  advance_at_random();
}

void Stream::run_until(std::size_t position) {
  while (done_ < position && !waiting_.empty()) {
    const auto work = std::move(waiting_.front());
    waiting_.pop_front();
    work();
    ++done_;
  }
}

Stream* find_stream(cudaStream_t handle) {
  auto* const stream = reinterpret_cast<Stream*>(handle);
  return streams().contains(stream) ? stream : nullptr;
}

void run_device(int device) {
  for (Stream* stream : std::set<Stream*>(streams()))
    if (stream->device() == device) stream->run_all();
}

HostFunction::HostFunction() { ++host_functions; }
HostFunction::~HostFunction() { --host_functions; }

}  // namespace rimetree::emulation

// The calls of the CUDA runtime for streams and events: what of them the project uses.
using rimetree::emulation::device_mutex;
using rimetree::emulation::Event;
using rimetree::emulation::find_stream;
using rimetree::emulation::refuse;
using rimetree::emulation::Stream;

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* handle, unsigned flags) {
  const std::lock_guard lock(device_mutex());
  if (flags != cudaStreamNonBlocking) return refuse(cudaErrorInvalidValue, "a stream that waits for the default one");
  auto* const stream = new Stream(rimetree::emulation::current_device());
  rimetree::emulation::streams().insert(stream);
  *handle = reinterpret_cast<cudaStream_t>(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  const std::lock_guard lock(device_mutex());
  Stream* const stream = find_stream(handle);
  if (stream == nullptr) return refuse(cudaErrorInvalidResourceHandle, "cudaStreamSynchronize");
  stream->run_all();
  return cudaSuccess;
}

/// CUDA lets the work go on after this returns; here it is done before. The object stays, as events refer to it.
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  const std::lock_guard lock(device_mutex());
  Stream* const stream = find_stream(handle);
  if (stream == nullptr) return refuse(cudaErrorInvalidResourceHandle, "cudaStreamDestroy");
  stream->run_all();
  rimetree::emulation::streams().erase(stream);
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned flags) {
  *handle = reinterpret_cast<cudaEvent_t>(new Event{(flags & cudaEventDisableTiming) == 0});
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* handle) { return cudaEventCreateWithFlags(handle, cudaEventDefault); }

/// As in CUDA, an event that is not passed yet may be destroyed: the work that sets its time still refers to it.
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle) {
  const std::lock_guard lock(device_mutex());
  auto* const event = reinterpret_cast<Event*>(handle);
  Stream* const stream = rimetree::emulation::stream_for_work(stream_handle, "cudaEventRecord");
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  event->stream = stream;
  event->position = stream->end() + 1;
  event->passed_s = -1;
  stream->add([event, record = ++event->record] {
    if (event->record == record) event->passed_s = rimetree::emulation::now_s();
  });
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  const std::lock_guard lock(device_mutex());
  auto* const event = reinterpret_cast<Event*>(handle);
  if (event->stream != nullptr) event->stream->run_until(event->position);
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  const std::lock_guard lock(device_mutex());
  const auto *start = reinterpret_cast<Event*>(from), *end = reinterpret_cast<Event*>(to);
  for (const Event* event : {start, end}) {
    if (!event->has_time || event->stream == nullptr)
      return refuse(cudaErrorInvalidResourceHandle, "cudaEventElapsedTime");
    if (event->passed_s < 0) return refuse(cudaErrorNotReady, "cudaEventElapsedTime");
  }
  *milliseconds = static_cast<float>(1e3 * (end->passed_s - start->passed_s));
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned) {
  const std::lock_guard lock(device_mutex());
  const auto* const event = reinterpret_cast<Event*>(event_handle);
  Stream* const stream = find_stream(handle);
  if (stream == nullptr) return refuse(cudaErrorInvalidResourceHandle, "cudaStreamWaitEvent");
  Stream* const other = event->stream;
  if (other == nullptr || other == stream) return cudaSuccess;
  stream->add([other, position = event->position] { other->run_until(position); });
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  const std::lock_guard lock(device_mutex());
  Stream* const stream = rimetree::emulation::stream_for_work(handle, "cudaLaunchHostFunc");
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  stream->add([function, data] {
    const rimetree::emulation::HostFunction running;
    function(data);
  });
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  const std::lock_guard lock(device_mutex());
  rimetree::emulation::run_device(rimetree::emulation::current_device());
  return cudaSuccess;
}
}
