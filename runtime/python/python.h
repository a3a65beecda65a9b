// CPython's limited API (one build for Python 3.11 and newer) with owning references and C++ exceptions.
#pragma once

// Python.h comes before everything else, as its documentation asks.
#include <Python.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/core/error.h"

namespace rimetree::python {

/// An owned reference.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }
  static Ref borrowed(PyObject* object) {
    Py_XINCREF(object);
    return Ref(object);
  }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

/// A Python exception is set; unwinds to the boundary, which returns nullptr, past those who turn exceptions into
/// failures of nodes.
struct PythonError : Cancelled {};

/// Takes what a C API call returned; throws PythonError for nullptr.
inline Ref check(PyObject* object) {
  if (object == nullptr) throw PythonError();
  return Ref(object);
}
inline void check_status(int status) {
  if (status < 0) throw PythonError();
}

/// The exceptions this module raises for C++ ones; set when the module is made.
extern PyObject* error_type;         ///< rimetree.Error
extern PyObject* forest_error_type;  ///< rimetree.ForestError
extern PyObject* set_locked_type;    ///< rimetree.ms.SetLockedError

/// Turns the C++ exception being handled into a Python one.
void set_python_error() noexcept;

/// Runs body() and turns C++ exceptions into Python ones: every function that Python calls goes through here.
template <class Body>
PyObject* guarded(Body&& body) noexcept {
  try {
    return body().release();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

/// The Python exception that is set, as "Type: message (file:line)"; clears it.
std::string take_python_error();

}  // namespace rimetree::python
