#include "runtime/python/forest_object.h"

#include <new>
#include <set>

#include "runtime/python/array.h"
#include "runtime/python/convert.h"
#include "runtime/python/interpreter.h"
#include "runtime/python/py_node.h"
#include "runtime/python/solve_reports.h"
#include "runtime/python/tree_reader.h"

namespace rimetree::python {

namespace {

PyTypeObject* forest_type = nullptr;

struct Contents {
  UsedObjects used;
  std::shared_ptr<Forest> forest;
  std::unique_ptr<Evaluator> evaluator;
  bool in_use = false;  // guarded by the GIL
};
struct ForestObject {
  PyObject_HEAD Contents contents;
};

Contents& contents_of(PyObject* self) { return reinterpret_cast<ForestObject*>(self)->contents; }

/// Cycles are cut elsewhere: whatever has a forest and is used by its nodes is an object of Python's own.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  for (const auto& [number, object] : contents_of(self).used) Py_VISIT(object->get());
  return 0;
}

void deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  contents_of(self).~Contents();
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

// cells: a sequence of (centres, widths) per axis in the order time, freq, l, m; None for an axis that is not there.
std::shared_ptr<const Cells> cells_of(PyObject* object) {
  std::array<AxisGrid, kAxes> axes;
  std::size_t i = 0;
  for_each(object, [&](PyObject* axis) {
    if (axis != Py_None && i < axes.size()) {
      PyObject *centre, *width;
      if (!PyArg_ParseTuple(axis, "OO", &centre, &width)) throw PythonError();
      axes[i] = {doubles_of(centre), doubles_of(width)};
    }
    ++i;
  });
  return std::make_shared<const Cells>(std::move(axes));
}

}  // namespace

Ref result_to_python(const Forest& forest, const Result& result) {
  static constexpr const char* kStatus[] = {"ok", "missing", "failed"};
  Dict dict;
  dict.set("status", text(kStatus[static_cast<int>(result.status)]));
  if (result.ok()) dict.set("value", make_array(result.value));
  if (!result.flags.empty()) dict.set("flags", make_array(result.flags));
  dict.set("derivatives", list_of(result.derivatives, [&](const Derivative& derivative) {
             const ParameterId& id = derivative.parameter;
             return tuple(text(forest.node(id.parm).name()), integer(id.coefficient), integer(id.time_tile),
                          integer(id.frequency_tile), make_array(derivative.value));
           }));
  dict.set("failures", list_of(result.failures, [](const Failure& failure) {
             return tuple(text(failure.node), text(failure.node_class), text(failure.origin), text(failure.message));
           }));
  return dict.take();
}

Request request_of(PyObject* cells, PyObject* precision, double tolerance) {
  Request request;
  request.cells = cells_of(cells);
  request.precision = string_of(precision) == "single" ? Precision::single : Precision::double_;
  request.tolerance = tolerance;
  return request;
}

namespace {

PyObject* evaluate(PyObject* self, PyObject* arguments) {
  return guarded([&] {
    PyObject *names, *cells, *precision;
    int derivatives = 0, verify = 0;
    double tolerance = 0;
    if (!PyArg_ParseTuple(arguments, "OOUdpi", &names, &cells, &precision, &tolerance, &derivatives, &verify))
      throw PythonError();
    Contents& contents = contents_of(self);
    Request request = request_of(cells, precision, tolerance);
    request.derivatives = derivatives != 0;
    request.verify = verify;
    std::vector<int> roots;
    for (const std::string& name : strings_of(names)) roots.push_back(contents.forest->find(name));
    std::vector<ResultPtr> results;
    const EvaluatorInUse evaluator(self);
    evaluator->solves().reports.clear();  // of Solvers that ran before, and whose reports nobody took
    Cancellation cancellation = interruptible();
    {
      const WithoutGil without;
      results = evaluator->evaluate(request, roots, &cancellation);
    }
    return list_of(results, [&](const ResultPtr& result) { return result_to_python(*contents.forest, *result); });
  });
}

PyObject* set_state(PyObject* self, PyObject* arguments) {
  return guarded([&] {
    PyObject *name, *fields;
    if (!PyArg_ParseTuple(arguments, "UO!", &name, &PyDict_Type, &fields)) throw PythonError();
    const EvaluatorInUse evaluator(self);  // not while it runs
    Forest& forest = *contents_of(self).forest;
    const int index = forest.find(string_of(name));
    const auto before = forest.node(index).state().values();
    const MakesNodesOf makes(contents_of(self).used);
    forest.set_state(index, state_of(fields));
    try {
      evaluator->review(index);
    } catch (...) {
      forest.set_state(index, before);
      throw;
    }
    return none();
  });
}

PyObject* get_state(PyObject* self, PyObject* name) {
  return guarded([&] {
    const Forest& forest = *contents_of(self).forest;
    Dict dict;
    for (const auto& [field, value] : forest.node(forest.find(string_of(name))).state().values())
      dict.set(field, state_value(value));
    return dict.take();
  });
}

PyObject* class_of(PyObject* self, PyObject* name) {
  return guarded([&] {
    const Forest& forest = *contents_of(self).forest;
    return text(forest.node(forest.find(string_of(name))).node_class().name);
  });
}

PyObject* counts(PyObject* self, PyObject*) {
  return guarded([&] {
    const Forest& forest = *contents_of(self).forest;
    std::set<const NodeClass*> classes;
    for (std::size_t i = 0; i < forest.size(); ++i) classes.insert(&forest.node(static_cast<int>(i)).node_class());
    return tuple(integer(static_cast<std::int64_t>(forest.size())), integer(static_cast<std::int64_t>(classes.size())));
  });
}

/// By which to choose what to ask about: all that there is to say of all nodes takes long.
PyObject* classes(PyObject* self, PyObject*) {
  return guarded([&] {
    const Forest& forest = *contents_of(self).forest;
    std::vector<std::string> names(forest.size());
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = forest.node(static_cast<int>(i)).node_class().name;
    return list_of(names, [](const std::string& name) { return text(name); });
  });
}

PyObject* node(PyObject* self, PyObject* number) {
  return guarded([&] {
    const Contents& contents = contents_of(self);
    const int index = static_cast<int>(integer_of(number));  // of the package's own: it is there
    const Node& node = contents.forest->node(index);
    Dict dict;
    dict.set("name", text(node.name())).set("class", text(node.node_class().name)).set("origin", text(node.origin()));
    dict.set("dims", text(to_string(node.dims()))).set("level", integer(contents.forest->level(index)));
    dict.set("batch", integer(contents.evaluator->plan().batch_of(index)));
    dict.set("dependencies", integer(contents.forest->dependencies(index)));
    dict.set("kept", boolean(contents.evaluator->plan().keeps(index)));
    dict.set("children", list_of(contents.forest->children(index), [](int child) { return integer(child); }));
    return dict.take();
  });
}

PyObject* plan(PyObject* self, PyObject* arguments) {
  return guarded([&] {
    int n_time = 1, n_frequency = 1;
    if (!PyArg_ParseTuple(arguments, "ii", &n_time, &n_frequency)) throw PythonError();
    const Contents& contents = contents_of(self);
    CellShape cells;
    cells[Axis::time] = n_time;
    cells[Axis::frequency] = n_frequency;
    const Plan& plan = contents.evaluator->plan();
    const Forest& forest = contents.evaluator->evaluated();
    const std::vector<int> roots = contents.forest->roots();
    Dict dict;
    dict.set("batches", list_of(plan.batches(), [&](const Batch& batch) {
               std::uint64_t bytes = 0;
               for (const int node : batch.nodes) bytes += plan.result_bytes(node, cells);
               const Node& first = forest.node(batch.nodes.front());
               return tuple(text(first.node_class().name), text(first.name()), text(to_string(first.dims())),
                            integer(batch.level), integer(static_cast<std::int64_t>(batch.nodes.size())),
                            integer(static_cast<std::int64_t>(bytes)),
                            integer(forest.dependencies(batch.nodes.front())));
             }));
    dict.set("peak_bytes", integer(static_cast<std::int64_t>(contents.evaluator->peak_bytes(roots, cells))));
    dict.set("memory_budget", integer(static_cast<std::int64_t>(contents.evaluator->memory_budget())));
    dict.set("waves",
             integer(static_cast<std::int64_t>(plan.waves(roots, cells, contents.evaluator->memory_budget()).size())));
    dict.set("threads", integer(contents.evaluator->threads()));
    return dict.take();
  });
}

PyObject* timing(PyObject* self, PyObject*) {
  return guarded([&] {
    const TimingReport& report = contents_of(self).evaluator->timing();
    Dict classes;
    for (const auto& [name, timing] : report.classes) {
      Dict one;
      one.set("evaluations", integer(static_cast<std::int64_t>(timing.evaluations)));
      one.set("on_devices", integer(static_cast<std::int64_t>(timing.on_devices)));
      one.set("reused", integer(static_cast<std::int64_t>(timing.reused)));
      one.set("batches", integer(static_cast<std::int64_t>(timing.batches))).set("seconds", number(timing.seconds));
      one.set("unchanged_seconds", number(timing.split.unchanged_seconds));
      one.set("changed_seconds", number(timing.split.changed_seconds));
      classes.set(name, one.take());
    }
    Dict dict;
    dict.set("classes", classes.take()).set("total_seconds", number(report.total_seconds));
    dict.set("processor_seconds", number(report.processor_seconds));
    dict.set("overhead_seconds", number(report.overhead_seconds()));
    dict.set("peak_result_bytes", integer(static_cast<std::int64_t>(report.peak_result_bytes)));
    return dict.take();
  });
}

PyObject* devices(PyObject* self, PyObject*) {
  return guarded([&] {
    const auto count = [](std::uint64_t value) { return integer(static_cast<std::int64_t>(value)); };
    return list_of(contents_of(self).evaluator->devices(), [&](const std::unique_ptr<DeviceContext>& device) {
      const DeviceReport report = device->report();
      Dict dict;
      dict.set("name", text(report.name)).set("budget_bytes", count(report.budget_bytes));
      dict.set("resident_bytes", count(report.arrays.resident_bytes));
      dict.set("peak_bytes", count(report.arrays.peak_bytes));
      dict.set("bytes_up", count(report.bytes_to_device)).set("bytes_down", count(report.bytes_to_host));
      dict.set("hits", count(report.arrays.hits)).set("uploads", count(report.arrays.uploads));
      dict.set("evictions", count(report.arrays.evictions)).set("spills", count(report.arrays.spills));
      return dict.set("copy_seconds", number(report.copy_seconds)).take();
    });
  });
}

PyObject* reset_timing(PyObject* self, PyObject*) {
  contents_of(self).evaluator->reset_timing();
  return none().release();
}

PyObject* forget(PyObject* self, PyObject*) {
  contents_of(self).evaluator->forget();
  return none().release();
}

PyObject* warnings(PyObject* self, PyObject*) {
  return guarded([&] { return text_list(contents_of(self).evaluator->warnings().list()); });
}

PyObject* notes(PyObject* self, PyObject*) {
  return guarded([&] { return text_list(contents_of(self).evaluator->notes().list()); });
}

PyObject* describe(PyObject* self, PyObject* arguments) {
  return guarded([&] {
    PyObject *cells, *precision;
    double tolerance = 0;
    if (!PyArg_ParseTuple(arguments, "OUd", &cells, &precision, &tolerance)) throw PythonError();
    const Contents& contents = contents_of(self);
    const auto all = contents.evaluator->describe(request_of(cells, precision, tolerance));
    return list_of(all, [&](const std::pair<int, Description>& one) {
      return tuple(text(contents.evaluator->evaluated().node(one.first).name()), text(one.second.text),
                   number(one.second.seconds));
    });
  });
}

PyObject* verification(PyObject* self, PyObject*) {
  return guarded([&] {
    const VerificationReport report = contents_of(self).evaluator->verification();
    return tuple(integer(static_cast<std::int64_t>(report.count)), number(report.largest_error), text(report.where));
  });
}

PyObject* take_solve_reports(PyObject* self, PyObject*) {
  return guarded([&] {
    const EvaluatorInUse evaluator(self);
    return reports_to_python(std::exchange(evaluator->solves().reports, {}));
  });
}

PyObject* set_solve_progress(PyObject* self, PyObject* function) {
  return guarded([&] {
    const EvaluatorInUse evaluator(self);
    evaluator->solves().progress = progress_caller(function);
    return none();
  });
}

PyMethodDef methods[] = {
    {"evaluate", evaluate, METH_VARARGS,
     "evaluate(names, cells, precision, tolerance, derivatives, verify) -> list of results"},
    {"describe", describe, METH_VARARGS, "describe(cells, precision, tolerance) -> list of (node, text, seconds)"},
    {"notes", notes, METH_NOARGS, "notes() -> list of str"},
    {"verification", verification, METH_NOARGS, "verification() -> (count, largest error, where)"},
    {"take_solve_reports", take_solve_reports, METH_NOARGS,
     "take_solve_reports() -> list of dicts, since the last call"},
    {"set_solve_progress", set_solve_progress, METH_O,
     "set_solve_progress(f): f(solver, iteration, chi_square, running, groups) after each iteration; None: nothing"},
    {"set_state", set_state, METH_VARARGS, "set_state(name, fields)"},
    {"get_state", get_state, METH_O, "get_state(name) -> dict"},
    {"class_of", class_of, METH_O, "class_of(name) -> str"},
    {"counts", counts, METH_NOARGS, "counts() -> (nodes, classes)"},
    {"classes", classes, METH_NOARGS, "classes() -> list of names, one for each node, in the order of the script"},
    {"node", node, METH_O, "node(number in the order of the script) -> dict"},
    {"plan", plan, METH_VARARGS, "plan(n_time, n_freq) -> dict"},
    {"timing", timing, METH_NOARGS, "timing() -> dict"},
    {"devices", devices, METH_NOARGS, "devices() -> list of dicts"},
    {"reset_timing", reset_timing, METH_NOARGS, "reset_timing()"},
    {"forget", forget, METH_NOARGS, "forget(): lets go of all kept results"},
    {"warnings", warnings, METH_NOARGS, "warnings() -> list of str"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

Ref make_forest_type() {
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                                {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                                {Py_tp_methods, methods},
                                {Py_tp_doc, const_cast<char*>("A forest and its evaluator.")},
                                {0, nullptr}};
  static PyType_Spec spec{"rimetree._core.Forest", sizeof(ForestObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_GC, slots};
  Ref type = check(PyType_FromSpec(&spec));
  forest_type = reinterpret_cast<PyTypeObject*>(type.get());
  return type;
}

PyObject* build_forest(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *definitions, *child_names;
    int threads = 0;
    unsigned long long memory_budget = 0;
    PyObject *device, *as_written;
    if (!PyArg_ParseTuple(arguments, "O!O!iKUO", &PyDict_Type, &definitions, &PyDict_Type, &child_names, &threads,
                          &memory_budget, &device, &as_written))
      throw PythonError();
    UsedObjects used;
    const MakesNodesOf makes(used);
    auto forest = TreeReader(definitions, child_names).build();
    EvaluatorOptions options{threads, memory_budget, {string_of(device), 0}};
    if (as_written != Py_None) options.as_written = as_written == Py_True;
    auto evaluator = std::make_unique<Evaluator>(forest, options);
    evaluator->review();
    auto* object = PyObject_GC_New(ForestObject, forest_type);
    if (object == nullptr) throw PythonError();
    new (&object->contents) Contents{std::move(used), std::move(forest), std::move(evaluator), false};
    PyObject_GC_Track(object);
    return Ref(reinterpret_cast<PyObject*>(object));
  });
}

EvaluatorInUse::EvaluatorInUse(PyObject* forest) {
  if (!PyObject_TypeCheck(forest, forest_type)) {
    PyErr_SetString(PyExc_TypeError, "expected a Forest");
    throw PythonError();
  }
  Contents& contents = contents_of(forest);
  if (contents.in_use) throw Error("this forest is being evaluated by another thread");
  contents.in_use = true;
  contents.evaluator->begin_call();
  forest_ = Ref::borrowed(forest);
  evaluator_ = contents.evaluator.get();
}

EvaluatorInUse::~EvaluatorInUse() { contents_of(forest_.get()).in_use = false; }

Cancellation interruptible() {
  return Cancellation([] {
    // KeyboardInterrupt (or what a signal handler raised) stays set and is what the caller gets.
    return is_to_stop() || with_gil([] { return PyErr_CheckSignals() != 0; });
  });
}

}  // namespace rimetree::python
