#include "runtime/python/python.h"

#include <filesystem>
#include <string>

#include "memory/device.h"
#include "runtime/core/forest/forest.h"
#include "runtime/ms/tables/error.h"
#include "runtime/python/convert.h"

namespace rimetree::python {

PyObject* error_type = nullptr;
PyObject* forest_error_type = nullptr;
PyObject* set_locked_type = nullptr;

namespace {

void set_forest_error(const ForestError& error) {
  Ref list = check(PyList_New(0));
  for (const BuildError& one : error.errors()) {
    const Ref item = tuple(text(one.node), text(one.origin), text(one.message));
    check_status(PyList_Append(list.get(), item.get()));
  }
  const Ref arguments = tuple(text(error.what()), std::move(list));
  const Ref exception = check(PyObject_CallObject(forest_error_type, arguments.get()));
  PyErr_SetObject(forest_error_type, exception.get());
}

}  // namespace

void set_python_error() noexcept {
  try {
    throw;
  } catch (const PythonError&) {
    // already set
  } catch (const Cancelled&) {
    if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
  } catch (const ForestError& error) {
    try {
      set_forest_error(error);
    } catch (...) {
    }
  } catch (const ms::SetLocked& error) {
    PyErr_SetString(set_locked_type, error.what());
  } catch (const Error& error) {
    PyErr_SetString(error_type, error.what());
  } catch (const std::bad_alloc& error) {
    PyErr_SetString(PyExc_MemoryError, error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unknown C++ exception");
  }
}

namespace {

// " (file:line)" of the innermost frame that is not of this package: where the user's code went wrong. Empty where
// there is none. The outermost frame is of the package, of a file in one of its folders.
std::string place_of(PyObject* trace) {
  Ref frame = Ref::borrowed(trace);
  std::string package, place;
  while (frame && frame.get() != Py_None) {
    const Ref line(PyObject_GetAttrString(frame.get(), "tb_lineno"));
    const Ref where(PyObject_GetAttrString(frame.get(), "tb_frame"));
    const Ref code(where ? PyObject_GetAttrString(where.get(), "f_code") : nullptr);
    const Ref name(code ? PyObject_GetAttrString(code.get(), "co_filename") : nullptr);
    const std::string file = name ? string_of(name.get()) : "";
    if (package.empty()) package = std::filesystem::path(file).parent_path().parent_path().string() + "/";
    if (line && !file.empty() && !file.starts_with(package)) {
      place = " (" + file + ":" + std::to_string(PyLong_AsLong(line.get())) + ")";
    }
    frame = Ref(PyObject_GetAttrString(frame.get(), "tb_next"));
  }
  return place;
}

}  // namespace

std::string take_python_error() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const Ref owned_type(type), owned_value(value), owned_trace(trace);
  if (!owned_value) return "unknown Python error";
  const Ref name(PyObject_GetAttrString(type, "__name__"));
  const Ref message(PyObject_Str(value));
  std::string result = (name ? string_of(name.get()) : "error") + ": " + (message ? string_of(message.get()) : "");
  result += place_of(trace);
  PyErr_Clear();
  return result;
}

}  // namespace rimetree::python
