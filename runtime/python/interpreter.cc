#include "runtime/python/interpreter.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "runtime/python/convert.h"

namespace rimetree::python {

namespace {

constexpr std::chrono::seconds kMostWait{10};

std::atomic<bool> is_ending{false};
std::atomic<int> at_work{0};  // how many WithoutGil there are
thread_local int own_work = 0;
std::thread::id ends_it;  // written before is_ending is

/// f(), but where Python ends the thread instead.
template <class F>
auto or_wait(const F& f) noexcept {
  try {
    return f();
  } catch (const abi::__forced_unwind&) {
    wait_for_the_end();
  }
}

}  // namespace

bool is_to_stop() { return is_ending && std::this_thread::get_id() != ends_it; }

void wait_for_the_end() {
  at_work -= own_work;
  for (;;) ::pause();
}

WithoutGil::WithoutGil() : state_(PyEval_SaveThread()) {
  if (is_to_stop()) wait_for_the_end();
  ++at_work, ++own_work;
}

WithoutGil::~WithoutGil() {
  if (is_to_stop()) wait_for_the_end();
  --at_work, --own_work;
  or_wait([this] { PyEval_RestoreThread(state_); });
}

WithGil::WithGil() {
  if (is_to_stop()) wait_for_the_end();
  state_ = or_wait(PyGILState_Ensure);
}

PyObject* end_of_interpreter(PyObject*, PyObject*) {
  return guarded([] {
    ends_it = std::this_thread::get_id();
    is_ending = true;
    PyThreadState* const state = PyEval_SaveThread();
    const auto until = std::chrono::steady_clock::now() + kMostWait;
    while (at_work > 0 && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    PyEval_RestoreThread(state);
    return none();
  });
}

/// A process that was forked has none of the other threads.
[[maybe_unused]] const int forgets_others = ::pthread_atfork(nullptr, nullptr, [] { at_work = own_work; });

}  // namespace rimetree::python
