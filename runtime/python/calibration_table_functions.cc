#include "runtime/python/calibration_table_functions.h"

#include "runtime/ms/set/create_calibration.h"
#include "runtime/python/array.h"
#include "runtime/python/convert.h"
#include "runtime/python/interpreter.h"

namespace rimetree::python {
namespace {

template <class T>
Ref array_of_rows(std::vector<T> values, std::vector<Py_ssize_t> shape, const char* format) {
  const auto owner = std::make_shared<std::vector<T>>(std::move(values));
  return make_array(owner, owner->data(), std::move(shape), format, sizeof(T));
}

Ref rows_to_python(const ms::CalibrationRows& rows) {
  const auto n = static_cast<Py_ssize_t>(rows.time_s.size());
  const std::vector<Py_ssize_t> shape{n, static_cast<Py_ssize_t>(rows.n_channel),
                                      static_cast<Py_ssize_t>(rows.n_parameter)};
  Dict dict;
  dict.set("window_id", integer(rows.window_id));
  dict.set("time_s", make_array(rows.time_s)).set("interval_s", make_array(rows.interval_s));
  dict.set("field_id", array_of_rows(rows.field_id, {n}, "i"));
  dict.set("antenna_id", array_of_rows(rows.antenna_id, {n}, "i"));
  dict.set("values", array_of_rows(rows.values, shape, "Zf"));
  dict.set("errors", array_of_rows(rows.errors, shape, "f"));
  dict.set("flags", array_of_rows(rows.flags, shape, "B"));
  return dict.take();
}

template <class T>
std::vector<T> elements_of(PyObject* dict, const char* key, const char* format) {
  const BufferView view(item(dict, key));
  const std::span<const T> elements = view.as<T>(format);
  return {elements.begin(), elements.end()};
}

ms::CalibrationRows rows_of_python(PyObject* dict) {
  ms::CalibrationRows rows;
  rows.window_id = static_cast<int>(integer_of(item(dict, "window_id")));
  rows.time_s = elements_of<double>(dict, "time_s", "d");
  rows.interval_s = elements_of<double>(dict, "interval_s", "d");
  rows.field_id = elements_of<int>(dict, "field_id", "i");
  rows.antenna_id = elements_of<int>(dict, "antenna_id", "i");
  const BufferView values(item(dict, "values"));
  if (values.shape().size() != 3) throw Error("values of solutions are [row, channel, parameter]");
  rows.n_channel = static_cast<std::size_t>(values.shape()[1]);
  rows.n_parameter = static_cast<std::size_t>(values.shape()[2]);
  const std::span<const std::complex<float>> numbers = values.as<std::complex<float>>("Zf");
  rows.values.assign(numbers.begin(), numbers.end());
  rows.errors = elements_of<float>(dict, "errors", "f");
  rows.flags = elements_of<std::uint8_t>(dict, "flags", "B");
  const std::size_t n = rows.time_s.size(), size = n * rows.n_channel * rows.n_parameter;
  if (rows.interval_s.size() != n || rows.field_id.size() != n || rows.antenna_id.size() != n ||
      rows.values.size() != size || rows.errors.size() != size || rows.flags.size() != size)
    throw Error("arrays of solutions differ in their number of rows");
  return rows;
}

}  // namespace

PyObject* calibration_kind(PyObject*, PyObject* path) {
  return guarded([&] {
    const std::string file = string_of(path);
    std::string kind;
    {
      const WithoutGil without;
      kind = ms::calibration_kind(file);
    }
    return text(kind);
  });
}

PyObject* read_calibration_table(PyObject*, PyObject* path) {
  return guarded([&] {
    const std::string file = string_of(path);
    ms::CalibrationTable table;
    {
      const WithoutGil without;
      table = ms::read_calibration_table(file);
    }
    Dict dict;
    dict.set("kind", text(table.kind)).set("basis", text(table.basis)).set("ms_name", text(table.ms_name));
    dict.set("casa_version", text(table.casa_version));
    dict.set("antennas", list_of(table.antennas, [](const ms::Antenna& antenna) {
               const auto& xyz_m = antenna.position_m;
               return tuple(text(antenna.name), number_list({xyz_m.begin(), xyz_m.end()}));
             }));
    dict.set("fields", list_of(table.fields, [](const ms::Field& field) { return text(field.name); }));
    dict.set("windows", list_of(table.windows, [](const ms::SpectralWindow& window) {
               Dict one;
               one.set("frequency_hz", make_array(window.frequency_hz)).set("width_hz", make_array(window.width_hz));
               return one.set("reference_hz", number(window.reference_hz)).take();
             }));
    dict.set("rows", list_of(table.rows, [](const ms::CalibrationRows& rows) { return rows_to_python(rows); }));
    return dict.take();
  });
}

PyObject* create_calibration_table(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *path, *dict, *ms_path;
    int overwrite = 0;
    if (!PyArg_ParseTuple(arguments, "UO!Up", &path, &PyDict_Type, &dict, &ms_path, &overwrite)) throw PythonError();
    ms::CalibrationTable table;
    table.kind = string_of(item(dict, "kind"));
    table.basis = string_of(item(dict, "basis"));
    table.ms_name = string_of(item(dict, "ms_name"));
    if (PyObject* version = item(dict, "casa_version")) table.casa_version = string_of(version);
    table.is_complex = PyObject_IsTrue(item(dict, "is_complex")) == 1;
    for_each(item(dict, "rows"), [&](PyObject* rows) { table.rows.push_back(rows_of_python(rows)); });
    const std::string file = string_of(path), set = string_of(ms_path);
    {
      const WithoutGil without;
      ms::create_calibration_table(file, table, set, overwrite != 0);
    }
    return none();
  });
}

}  // namespace rimetree::python
