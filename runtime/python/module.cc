// rimetree._core: what the Python package stands on.
#include "memory/devices.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/classes/registry.h"
#include "runtime/core/threads/thread_limit.h"
#include "runtime/device/device_tuner.h"
#include "runtime/math/conventions.h"
#include "runtime/python/array.h"
#include "runtime/python/calibration_table_functions.h"
#include "runtime/python/convert.h"
#include "runtime/python/correction_functions.h"
#include "runtime/python/factor_fit_object.h"
#include "runtime/python/forest_object.h"
#include "runtime/python/gradient_functions.h"
#include "runtime/python/interpreter.h"
#include "runtime/python/ms_functions.h"
#include "runtime/python/ms_objective_object.h"
#include "runtime/python/multiply_add_peak.h"
#include "runtime/python/open_set_object.h"
#include "runtime/python/py_node.h"
#include "runtime/python/python.h"
#include "runtime/python/registry_functions.h"
#include "runtime/python/table_functions.h"

namespace rimetree::python {

namespace {

PyObject* machine(PyObject*, PyObject*) {
  return guarded([&] {
    Dict dict;
    dict.set("threads", integer(default_threads()));
    dict.set("devices", text_list(memory::device_names()));
    return dict.set("plugin_abi_version", integer(kPluginAbiVersion)).take();
  });
}

PyObject* measure_peak(PyObject*, PyObject*) {
  return guarded([&] {
    MultiplyAddPeak peak;
    {
      const WithoutGil without;
      peak = multiply_add_peak();
    }
    Dict dict;
    dict.set("single_per_second", number(peak.single_per_second));
    dict.set("double_per_second", number(peak.double_per_second));
    dict.set("bytes_per_second", number(peak.bytes_per_second));
    return dict.set("instruction_set", text(peak.instruction_set)).take();
  });
}

PyObject* tune(PyObject*, PyObject* arguments) {
  return guarded([&] {
    const char* device = nullptr;
    double seconds = 0;
    if (!PyArg_ParseTuple(arguments, "sd", &device, &seconds)) throw PythonError();
    TuningReport report;
    {
      const WithoutGil without;
      Cancellation cancellation = interruptible();
      report = tune_device(device, seconds, cancellation);
    }
    Ref variants = list_of(report.variants, [](const TunedVariant& one) {
      Dict line;
      line.set("kernel", text(one.kernel)).set("variant", text(one.variant)).set("seconds", number(one.seconds));
      line.set("source_visibilities_per_second", number(one.rate)).set("of_model", number(one.of_model));
      return line.set("best", boolean(one.is_best)).take();
    });
    Dict dict;
    dict.set("device", text(report.device)).set("variants", std::move(variants));
    return dict.set("path", text(report.path)).take();
  });
}

PyMethodDef functions[] = {
    {"load_plugin", load_plugin, METH_O, "load_plugin(path) -> dict"},
    {"node_classes", node_classes, METH_NOARGS, "node_classes() -> list of dicts"},
    {"check_state", check_state, METH_VARARGS, "check_state(class, fields): raises what a node of the class would"},
    {"build_forest", build_forest, METH_VARARGS,
     "build_forest(definitions, child_names, threads, memory_budget, device, as_written) -> Forest"},
    {"set_py_node_calls", set_py_node_calls, METH_VARARGS, "set_py_node_calls(evaluate, pull_back, object_of)"},
    {"forest_parameters", forest_parameters, METH_VARARGS, "forest_parameters(forest) -> list of dicts"},
    {"set_forest_parameters", set_forest_parameters, METH_VARARGS, "set_forest_parameters(forest, vector)"},
    {"forest_gradient", forest_gradient, METH_VARARGS,
     "forest_gradient(forest, node, cells, precision, tolerance) -> (result, vector or None)"},
    {"check_forest_derivatives", check_forest_derivatives, METH_VARARGS,
     "check_forest_derivatives(forest, node, cells, precision, tolerance) -> (list of nodes, list of unknowns)"},
    {"run_forest", run_forest, METH_VARARGS, "run_forest(forest, path, options, progress) -> dict"},
    {"correct_ms", correct_ms, METH_VARARGS,
     "correct_ms(path, options, antennas, jones, progress) -> (report, counts)"},
    {"count_new_flags", count_new_flags, METH_VARARGS,
     "count_new_flags(path or OpenSet, options, antennas, jones) -> counts: reads flags only"},
    {"correction_bytes", correction_bytes, METH_VARARGS, "correction_bytes(path or OpenSet, options) -> int"},
    {"create_ms", create_ms, METH_VARARGS, "create_ms(path, description)"},
    {"inspect_ms", inspect_ms, METH_VARARGS, "inspect_ms(path, scan_cells=True) -> JSON text"},
    {"read_antenna_fields", read_antenna_fields, METH_VARARGS,
     "read_antenna_fields(path) -> dict: elements of aperture arrays, and where their beams point"},
    {"calibration_kind", calibration_kind, METH_O, "calibration_kind(path) -> str: of a table of solutions, or empty"},
    {"read_calibration_table", read_calibration_table, METH_O, "read_calibration_table(path) -> dict"},
    {"create_calibration_table", create_calibration_table, METH_VARARGS,
     "create_calibration_table(path, table, ms_path, overwrite)"},
    {"table_as_json", table_as_json, METH_VARARGS, "table_as_json(path, columns) -> JSON text: keywords, rows"},
    {"read_pixels", read_pixels, METH_VARARGS, "read_pixels(path, column) -> array, the slowest axis first"},
    {"check_writable", check_writable, METH_VARARGS,
     "check_writable(path, columns, wait_s): raises what writing would"},
    {"count_cells", count_cells, METH_VARARGS,
     "count_cells(values, weights, flags, rows, hands, within or None, magnitudes) -> arrays by baseline, power"},
    {"save_flags", save_flags, METH_VARARGS, "save_flags(path, table): FLAG and FLAG_ROW into a new table"},
    {"restore_flags", restore_flags, METH_VARARGS, "restore_flags(path, table, wait_s) -> dict of counts"},
    {"open_set", open_set, METH_O, "open_set(path) -> OpenSet"},
    {"open_tiles", open_tiles, METH_VARARGS, "open_tiles(path or OpenSet, options) -> TileReader"},
    {"columns_read", columns_read, METH_O, "columns_read(forest): columns of visibilities that its Spigots look at"},
    {"tile_values", tile_values, METH_VARARGS, "tile_values(forest, reader, index, nodes): (values, there)"},
    {"solve_tiles", solve_tiles, METH_VARARGS, "solve_tiles(forest, reader, options): all its tiles in one solve"},
    {"open_factor_fit", open_factor_fit, METH_VARARGS, "open_factor_fit(sums, unknowns) -> FactorFit"},
    {"open_objective", open_objective, METH_VARARGS, "open_objective(forest, path, node, options) -> MsObjective"},
    {"end_of_interpreter", end_of_interpreter, METH_NOARGS,
     "end_of_interpreter(): the interpreter is about to end; evaluations of other threads stop"},
    {"machine", machine, METH_NOARGS, "machine() -> dict"},
    {"tune_device", tune, METH_VARARGS, "tune_device(name, seconds) -> dict: variants of kernels, timed now"},
    {"multiply_add_peak", measure_peak, METH_NOARGS, "multiply_add_peak() -> dict: of one core, measured now"},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition{PyModuleDef_HEAD_INIT,
                       "rimetree._core",
                       "The C++ runtime of RimeTree.",
                       -1,
                       functions,
                       nullptr,
                       nullptr,
                       nullptr,
                       nullptr};

void add(PyObject* module, const char* name, Ref object) {
  check_status(PyModule_AddObjectRef(module, name, object.get()));
}

Ref make_module() {
  Ref module = check(PyModule_Create(&definition));
  error_type = check(PyErr_NewExceptionWithDoc("rimetree.Error",
                                               "A mistake in what was asked for: the message says what, where and what "
                                               "to do.",
                                               nullptr, nullptr))
                   .release();
  forest_error_type =
      check(PyErr_NewExceptionWithDoc("rimetree.ForestError",
                                      "Everything wrong with a tree; args[1] lists (node, script line, message).",
                                      error_type, nullptr))
          .release();
  set_locked_type = check(PyErr_NewExceptionWithDoc("rimetree.ms.SetLockedError",
                                                    "A Measurement Set that cannot be written to now, because another "
                                                    "program writes to it.",
                                                    error_type, nullptr))
                        .release();
  add(module.get(), "Error", Ref::borrowed(error_type));
  add(module.get(), "ForestError", Ref::borrowed(forest_error_type));
  add(module.get(), "SetLockedError", Ref::borrowed(set_locked_type));
  add(module.get(), "SPEED_OF_LIGHT_M_S", number(kSpeedOfLight_m_s));
  add(module.get(), "EARTH_ROTATION_RAD_S", number(kEarthRotation_rad_s));
  add(module.get(), "Array", make_array_type());
  add(module.get(), "Forest", make_forest_type());
  add(module.get(), "OpenSet", make_open_set_type());
  add(module.get(), "TileReader", make_tile_reader_type());
  add(module.get(), "FactorFit", make_factor_fit_type());
  add(module.get(), "MsObjective", make_ms_objective_type());
  Registry::instance().add(library_node_classes(), "rimetree._core");
  return module;
}

}  // namespace

}  // namespace rimetree::python

extern "C" PyMODINIT_FUNC PyInit__core() { return rimetree::python::guarded(rimetree::python::make_module); }
