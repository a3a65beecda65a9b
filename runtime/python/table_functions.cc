#include "runtime/python/table_functions.h"

#include "runtime/ms/tables/table_contents.h"
#include "runtime/python/array.h"
#include "runtime/python/convert.h"
#include "runtime/python/interpreter.h"

namespace rimetree::python {

PyObject* table_as_json(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *path, *columns;
    if (!PyArg_ParseTuple(arguments, "UO", &path, &columns)) throw PythonError();
    const std::string file = string_of(path);
    const std::vector<std::string> names = strings_of(columns);
    std::string json;
    {
      const WithoutGil without;
      json = ms::table_as_json(file, names);
    }
    return text(json);
  });
}

PyObject* read_pixels(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *path, *column;
    if (!PyArg_ParseTuple(arguments, "UU", &path, &column)) throw PythonError();
    const std::string file = string_of(path), name = string_of(column);
    const auto pixels = std::make_shared<ms::PixelArray>();
    {
      const WithoutGil without;
      *pixels = ms::read_pixels(file, name);
    }
    return make_array(pixels, pixels->values.data(), {pixels->shape.begin(), pixels->shape.end()}, "d", sizeof(double));
  });
}

}  // namespace rimetree::python
