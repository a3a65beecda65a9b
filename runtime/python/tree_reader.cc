#include "runtime/python/tree_reader.h"

namespace rimetree::python {

namespace {

Ref get(PyObject* object, const Ref& attribute) { return check(PyObject_GetAttr(object, attribute.get())); }

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

// What is looked at here stays for as long as the tree does.
void TreeReader::find_children(PyObject* name, PyObject* definition) {
  children_.clear();
  PyObject* named = PyDict_GetItemWithError(child_names_, name);
  if (named == nullptr && PyErr_Occurred()) throw PythonError();
  const Ref labels = get(definition, labels_);
  const Ref nodes = named != nullptr ? Ref::borrowed(named) : get(definition, nodes_);
  const Py_ssize_t n = PySequence_Size(nodes.get());
  if (n < 0) throw PythonError();
  for (Py_ssize_t i = 0; i < n; ++i) {
    const Ref node = check(PySequence_GetItem(nodes.get(), i));
    const Ref child = named != nullptr ? Ref::borrowed(node.get()) : get(node.get(), name_);
    children_.emplace_back(view_of(PyTuple_GetItem(labels.get(), i)), view_of(child.get()));
  }
}

}  // namespace rimetree::python
