#include "runtime/python/registry_functions.h"

#include "runtime/core/classes/registry.h"
#include "runtime/core/error.h"
#include "runtime/core/node/node.h"
#include "runtime/python/convert.h"

namespace rimetree::python {

PyObject* load_plugin(PyObject*, PyObject* path) {
  return guarded([&] {
    const Registry::Plugin& plugin = Registry::instance().load(string_of(path));
    Dict dict;
    dict.set("name", text(plugin.name)).set("about", text(plugin.about)).set("path", text(plugin.path.string()));
    return dict.set("classes", text_list(plugin.classes)).set("clashes", text_list(plugin.clashes)).take();
  });
}

namespace {

Ref child_to_python(const ChildSpec& spec) {
  Dict dict;
  dict.set("label", text(spec.label)).set("shape", text(spec.shape)).set("unit", text(spec.unit));
  dict.set("doc", text(spec.doc)).set("optional", boolean(spec.optional)).set("repeated", boolean(spec.repeated));
  return dict.take();
}

Ref state_to_python(const StateSpec& spec) {
  static constexpr const char* kTypes[] = {"boolean", "integer", "real", "text", "text_list", "array"};
  Dict dict;
  dict.set("name", text(spec.name)).set("type", text(kTypes[static_cast<int>(spec.type)]));
  dict.set("required", boolean(std::holds_alternative<std::monostate>(spec.default_value)));
  dict.set("default", state_value(spec.default_value)).set("unit", text(spec.unit)).set("doc", text(spec.doc));
  return dict.set("choices", text_list(spec.choices)).set("limits", text(to_string(spec.limits))).take();
}

}  // namespace

PyObject* node_classes(PyObject*, PyObject*) {
  return guarded([&] {
    return list_of(Registry::instance().classes(), [](const NodeClass* node_class) {
      Dict dict;
      dict.set("name", text(node_class->name)).set("summary", text(node_class->summary));
      dict.set("formula", text(node_class->formula)).set("result", text(node_class->result));
      dict.set("reference", text(node_class->reference));
      dict.set("children", list_of(node_class->children, child_to_python));
      dict.set("state", list_of(node_class->state, state_to_python));
      return dict.set("minimum_children", integer(node_class->minimum_children)).take();
    });
  });
}

PyObject* check_state(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *name, *fields;
    if (!PyArg_ParseTuple(arguments, "UO!", &name, &PyDict_Type, &fields)) throw PythonError();
    const NodeClass* node_class = Registry::instance().find(string_of(name));
    if (node_class == nullptr) throw Error("there is no node class \"" + string_of(name) + "\"");
    node_class->make(State(node_class->state, state_of(fields)));
    return none();
  });
}

}  // namespace rimetree::python
