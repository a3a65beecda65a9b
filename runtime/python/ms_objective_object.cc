#include "runtime/python/ms_objective_object.h"

#include <new>

#include "runtime/ms/runs/ms_objective.h"
#include "runtime/python/convert.h"
#include "runtime/python/forest_object.h"
#include "runtime/python/gradient_functions.h"
#include "runtime/python/interpreter.h"
#include "runtime/python/ms_options.h"

namespace rimetree::python {

namespace {

PyTypeObject* objective_type = nullptr;

struct Contents {
  Ref forest;  // whose evaluator the objective was made for
  std::unique_ptr<ms::MsObjective> objective;
};
struct ObjectiveObject {
  PyObject_HEAD Contents contents;
};

Contents& contents_of(PyObject* self) { return reinterpret_cast<ObjectiveObject*>(self)->contents; }

void deallocate(PyObject* self) {
  contents_of(self).~Contents();
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject* evaluate(PyObject* self, PyObject* with_gradient) {
  return guarded([&] {
    Contents& contents = contents_of(self);
    const bool gradient = PyObject_IsTrue(with_gradient) == 1;
    const EvaluatorInUse evaluator(contents.forest.get());
    Cancellation cancellation = interruptible();
    ms::MsObjective::Outcome outcome;
    {
      const WithoutGil without;
      outcome = contents.objective->evaluate(*evaluator, gradient, &cancellation);
    }
    return tuple(integer(static_cast<std::int64_t>(outcome.n_tiles)), boolean(outcome.has_good), number(outcome.value),
                 gradient ? gradient_vector(evaluator->forest(), outcome.gradient) : none());
  });
}

PyObject* state(PyObject* self, PyObject*) {
  return guarded([&] {
    const ms::MsObjective& objective = *contents_of(self).objective;
    const auto count = [](std::uint64_t value) { return integer(static_cast<std::int64_t>(value)); };
    Dict dict;
    dict.set("n_tile", count(objective.reader().tiles().size())).set("n_row", count(objective.reader().n_row()));
    dict.set("time_slots", count(objective.reader().selection().rows.time_slots));
    dict.set("n_tile_kept", count(objective.n_kept())).set("kept_bytes", count(objective.kept_bytes()));
    return dict.set("kept_result_bytes", count(objective.kept_result_bytes())).take();
  });
}

PyMethodDef methods[] = {
    {"evaluate", evaluate, METH_O,
     "evaluate(gradient) -> (tiles with data, whether any are good, value, vector of derivatives or None)"},
    {"state", state, METH_NOARGS, "state() -> dict: tiles, rows, and what is kept in memory"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

Ref make_ms_objective_type() {
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                                {Py_tp_methods, methods},
                                {Py_tp_doc, const_cast<char*>("An objective summed over a Measurement Set.")},
                                {0, nullptr}};
  static PyType_Spec spec{"rimetree._core.MsObjective", sizeof(ObjectiveObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  Ref type = check(PyType_FromSpec(&spec));
  objective_type = reinterpret_cast<PyTypeObject*>(type.get());
  return type;
}

PyObject* open_objective(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *forest, *path, *node, *given;
    if (!PyArg_ParseTuple(arguments, "OUUO!", &forest, &path, &node, &PyDict_Type, &given)) throw PythonError();
    const EvaluatorInUse evaluator(forest);
    ms::MsObjective::Options options;
    options.rows = rows_of(given);
    options.channels = channels_of(given);
    options.precision = precision_of(given);
    options.tolerance = requested_tolerance(given);
    options.memory_bytes = static_cast<std::uint64_t>(integer_item(given, "memory_bytes", 0));
    const int root = evaluator->forest().find(string_of(node));
    auto ms = std::make_unique<ms::MeasurementSet>(string_of(path));
    auto objective = std::make_unique<ms::MsObjective>(std::move(ms), *evaluator, root, options);
    auto* object = PyObject_New(ObjectiveObject, objective_type);
    if (object == nullptr) throw PythonError();
    new (&object->contents) Contents{Ref::borrowed(forest), std::move(objective)};
    return Ref(reinterpret_cast<PyObject*>(object));
  });
}

}  // namespace rimetree::python
