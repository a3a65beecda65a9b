// Python objects from C++ values and back.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/classes/state.h"
#include "runtime/core/values/result.h"
#include "runtime/python/python.h"

namespace rimetree::python {

// To Python.
Ref none();
Ref text(const std::string& value);
Ref number(double value);
Ref integer(std::int64_t value);
Ref boolean(bool value);
Ref text_list(const std::vector<std::string>& values);
Ref number_list(const std::vector<double>& values);
Ref state_value(const StateValue& value);

template <class... Items>
Ref tuple(Items&&... items) {
  Ref result = check(PyTuple_New(sizeof...(Items)));
  Py_ssize_t i = 0;
  (PyTuple_SetItem(result.get(), i++, items.release()), ...);  // takes over the reference
  return result;
}
/// A list of what convert(item) gives for each item.
template <class Range, class Convert>
Ref list_of(const Range& range, Convert&& convert) {
  Ref list = check(PyList_New(0));
  for (const auto& item : range) {
    const Ref converted = convert(item);
    check_status(PyList_Append(list.get(), converted.get()));
  }
  return list;
}
/// Builds a dict key by key.
class Dict {
 public:
  Dict() : dict_(check(PyDict_New())) {}
  Dict& set(const char* key, Ref value) {
    check_status(PyDict_SetItemString(dict_.get(), key, value.get()));
    return *this;
  }
  Dict& set(const std::string& key, Ref value) { return set(key.c_str(), std::move(value)); }
  Ref take() { return std::move(dict_); }

 private:
  Ref dict_;
};

// From Python; throw PythonError with TypeError set where the type is wrong.
/// For as long as the object is there.
std::string_view view_of(PyObject* text);
std::string string_of(PyObject* object);
double number_of(PyObject* object);
std::int64_t integer_of(PyObject* object);
std::vector<std::string> strings_of(PyObject* sequence);
/// The memory of an array of Python, C-contiguous, for as long as this is there.
class BufferView {
 public:
  explicit BufferView(PyObject* object);
  ~BufferView() { PyBuffer_Release(&buffer_); }
  BufferView(const BufferView&) = delete;
  BufferView& operator=(const BufferView&) = delete;
  const char* format() const { return buffer_.format ? buffer_.format : "B"; }
  std::span<const Py_ssize_t> shape() const { return {buffer_.shape, static_cast<std::size_t>(buffer_.ndim)}; }
  /// Its elements; throws PythonError with TypeError set if their format (struct module: Zf, d, i, ..) is another.
  template <class Value>
  std::span<const Value> as(const char* format) const {
    require_format(format);
    return {static_cast<const Value*>(buffer_.buf), static_cast<std::size_t>(buffer_.len) / sizeof(Value)};
  }

 private:
  void require_format(const char* format) const;
  Py_buffer buffer_{};
};

/// A buffer of doubles of any rank, C-contiguous.
std::vector<double> doubles_of(PyObject* object);
/// A buffer of doubles or complex doubles, C-contiguous.
StateArray array_of(PyObject* object);
StateValue state_value_of(PyObject* object);
std::map<std::string, StateValue> state_of(PyObject* dict);

/// dict[key], borrowed, or nothing if it is absent or None.
PyObject* item(PyObject* dict, const char* key);

/// Calls body(item) for each item of an iterable.
template <class Body>
void for_each(PyObject* iterable, Body&& body) {
  const Ref iterator = check(PyObject_GetIter(iterable));
  while (Ref next{PyIter_Next(iterator.get())}) body(next.get());
  if (PyErr_Occurred()) throw PythonError();
}

}  // namespace rimetree::python
