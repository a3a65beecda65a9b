#include "runtime/python/tree_reader.h"

namespace rimetree::python {

namespace {

Ref get(PyObject* object, const Ref& attribute) { return check(PyObject_GetAttr(object, attribute.get())); }
PyObject* part_of(PyObject* pair, Py_ssize_t i) {
  PyObject* object = PyTuple_GetItem(pair, i);
  if (object == nullptr) throw PythonError();
  return object;
}

}  // namespace

std::shared_ptr<Forest> TreeReader::build() {
  ForestBuilder builder;
  PyObject *name = nullptr, *definition = nullptr;
  for (Py_ssize_t position = 0; PyDict_Next(definitions_, &position, &name, &definition);)
    builder.name(view_of(name), view_of(get(definition, origin_).get()));
  for (Py_ssize_t position = 0; PyDict_Next(definitions_, &position, &name, &definition);) {
    find_children(name, definition);
    builder.define(view_of(get(definition, class_name_).get()), state_of(get(definition, state_).get()), children_);
  }
  return builder.build();
}

void TreeReader::find_children(PyObject* name, PyObject* definition) {
  children_.clear();
  PyObject* named = PyDict_GetItemWithError(child_names_, name);
  const Ref pairs = named != nullptr ? Ref::borrowed(named) : get(definition, children_of_);
  for (Py_ssize_t i = 0, n = PyList_Size(pairs.get()); i < n; ++i) {
    PyObject* pair = PyList_GetItem(pairs.get(), i);
    PyObject* child = part_of(pair, 1);
    // What is looked at here stays for as long as the tree does.
    children_.emplace_back(view_of(part_of(pair, 0)), view_of(named != nullptr ? child : get(child, name_).get()));
  }
  if (PyErr_Occurred()) throw PythonError();
}

}  // namespace rimetree::python
