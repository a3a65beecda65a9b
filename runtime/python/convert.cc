#include "runtime/python/convert.h"

#include "runtime/python/array.h"

namespace rimetree::python {

Ref none() { return Ref::borrowed(Py_None); }
Ref text(const std::string& value) {
  return check(PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "replace"));
}
Ref number(double value) { return check(PyFloat_FromDouble(value)); }
Ref integer(std::int64_t value) { return check(PyLong_FromLongLong(value)); }
Ref boolean(bool value) { return check(PyBool_FromLong(value)); }
Ref text_list(const std::vector<std::string>& values) {
  return list_of(values, [](const std::string& value) { return text(value); });
}
Ref number_list(const std::vector<double>& values) {
  return list_of(values, [](double value) { return number(value); });
}

Ref state_value(const StateValue& value) {
  if (const auto* b = std::get_if<bool>(&value)) return boolean(*b);
  if (const auto* i = std::get_if<std::int64_t>(&value)) return integer(*i);
  if (const auto* d = std::get_if<double>(&value)) return number(*d);
  if (const auto* s = std::get_if<std::string>(&value)) return text(*s);
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) return text_list(*list);
  if (const auto* array = std::get_if<StateArray>(&value)) return make_array(*array);
  return none();
}

std::string_view view_of(PyObject* text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  if (data == nullptr) throw PythonError();
  return {data, static_cast<std::size_t>(size)};
}

std::string string_of(PyObject* object) { return std::string(view_of(object)); }

double number_of(PyObject* object) {
  const double value = PyFloat_AsDouble(object);
  if (value == -1 && PyErr_Occurred()) throw PythonError();
  return value;
}

std::int64_t integer_of(PyObject* object) {
  const long long value = PyLong_AsLongLong(object);
  if (value == -1 && PyErr_Occurred()) throw PythonError();
  return value;
}

std::vector<std::string> strings_of(PyObject* sequence) {
  std::vector<std::string> result;
  for_each(sequence, [&](PyObject* one) { result.push_back(string_of(one)); });
  return result;
}

BufferView::BufferView(PyObject* object) {
  check_status(PyObject_GetBuffer(object, &buffer_, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT));
}

void BufferView::require_format(const char* wanted) const {
  if (std::string_view(format()) == wanted) return;
  PyErr_Format(PyExc_TypeError, "expected an array of format '%s', got '%s'", wanted, format());
  throw PythonError();
}

StateArray array_of(PyObject* object) {
  const BufferView view(object);
  StateArray array;
  const std::string_view format = view.format();
  if (format == "Zd") {
    array.type = NumberType::complex;
  } else if (format != "d") {
    PyErr_Format(PyExc_TypeError, "expected an array of float64 or complex128, got format '%s'", view.format());
    throw PythonError();
  }
  array.shape.assign(view.shape().begin(), view.shape().end());
  const std::span<const double> numbers = view.as<double>(view.format());
  array.data = {numbers.data(), numbers.data() + numbers.size()};
  return array;
}

std::vector<double> doubles_of(PyObject* object) {
  const StateArray array = array_of(object);
  if (array.type != NumberType::real) {
    PyErr_SetString(PyExc_TypeError, "expected an array of float64, got complex128");
    throw PythonError();
  }
  return array.data.vector();
}

StateValue state_value_of(PyObject* object) {
  if (object == Py_None) return std::monostate{};
  if (PyBool_Check(object)) return object == Py_True;
  if (PyLong_Check(object)) return integer_of(object);
  if (PyFloat_Check(object)) return number_of(object);
  if (PyUnicode_Check(object)) return string_of(object);
  if (PyList_Check(object) || PyTuple_Check(object)) return strings_of(object);
  return array_of(object);
}

std::map<std::string, StateValue> state_of(PyObject* dict) {
  std::map<std::string, StateValue> state;
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(dict, &position, &key, &value)) state[string_of(key)] = state_value_of(value);
  return state;
}

PyObject* item(PyObject* dict, const char* key) {
  PyObject* value = PyDict_GetItemString(dict, key);
  return value == Py_None ? nullptr : value;
}

}  // namespace rimetree::python
