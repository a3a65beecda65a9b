// The lock of the interpreter (GIL), given up and taken, also where the interpreter ends meanwhile: what daemon threads
// evaluate is then stopped, and these threads wait for the end of the process. Python would end them by unwinding their
// stacks, which C++ does not survive.
#pragma once

#include <cxxabi.h>

#include "runtime/python/python.h"

namespace rimetree::python {

/// Whether what this thread does is to stop, since the interpreter ends.
bool is_to_stop();
/// Never returns.
[[noreturn]] void wait_for_the_end();

/// Gives up the interpreter for as long as it lives.
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

/// Holds the interpreter for as long as it lives, from any thread. What calls Python functions goes through with_gil().
class WithGil {
 public:
  WithGil();
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

/// f(), with the interpreter held.
template <class F>
auto with_gil(const F& f) {
  const WithGil gil;
  try {
    return f();
  } catch (const abi::__forced_unwind&) {  // Python ends the thread, which had given up the interpreter in a function
    wait_for_the_end();
  }
}

/// end_of_interpreter(): called when the interpreter is about to end; waits until other threads have stopped, but not
/// for ever.
PyObject* end_of_interpreter(PyObject* self, PyObject*);

}  // namespace rimetree::python
