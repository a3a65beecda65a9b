#include "runtime/python/open_set_object.h"

#include <cstring>
#include <new>

#include "runtime/ms/runs/solve_tiles.h"
#include "runtime/ms/tiles/tile_request.h"
#include "runtime/ms/tiles/tile_values.h"
#include "runtime/python/array.h"
#include "runtime/python/convert.h"
#include "runtime/python/forest_object.h"
#include "runtime/python/interpreter.h"
#include "runtime/python/ms_options.h"

namespace rimetree::python {

namespace {

PyTypeObject *open_set_type = nullptr, *tile_reader_type = nullptr;

/// A Python object with C++ contents.
template <class Contents>
struct Holder {
  PyObject_HEAD Contents contents;

  static Contents& of(PyObject* self) { return reinterpret_cast<Holder*>(self)->contents; }
  static Ref make(PyTypeObject* type, Contents contents) {
    auto* object = PyObject_New(Holder, type);
    if (object == nullptr) throw PythonError();
    new (&object->contents) Contents(std::move(contents));
    return Ref(reinterpret_cast<PyObject*>(object));
  }
  static void deallocate(PyObject* self) {
    of(self).~Contents();
    PyTypeObject* type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
  }
};

using SetObject = Holder<std::shared_ptr<ms::MeasurementSet>>;

struct ReaderContents {
  std::shared_ptr<ms::MeasurementSet> ms;
  std::unique_ptr<ms::TileReader> reader;
  std::unique_ptr<ms::TileStream> stream;
};
using ReaderObject = Holder<ReaderContents>;

Py_ssize_t length(PyObject* self) { return static_cast<Py_ssize_t>(ReaderObject::of(self).stream->size()); }

template <class T>
Ref view(const std::shared_ptr<const Tile>& tile, const std::vector<T>& values, std::vector<Py_ssize_t> shape,
         const char* format) {
  return make_array(tile, values.data(), std::move(shape), format, sizeof(T));
}

Ref tile_to_python(const std::shared_ptr<const Tile>& tile) {
  const auto b = static_cast<Py_ssize_t>(tile->n_baseline()), t = static_cast<Py_ssize_t>(tile->n_time());
  const auto f = static_cast<Py_ssize_t>(tile->n_channel()), c = static_cast<Py_ssize_t>(tile->n_correlation());
  Dict dict;
  dict.set("data_desc_id", integer(tile->data_desc_id)).set("field_id", integer(tile->field_id));
  dict.set("first_channel", integer(static_cast<std::int64_t>(tile->first_channel)));
  dict.set("baselines", list_of(tile->baselines, [](const Baseline& baseline) {
             return tuple(integer(baseline.antenna1), integer(baseline.antenna2));
           }));
  dict.set("time_s", view(tile, tile->time_s, {t}, "d")).set("interval_s", view(tile, tile->interval_s, {t}, "d"));
  dict.set("frequency_hz", view(tile, tile->frequency_hz, {f}, "d"));
  dict.set("channel_width_hz", view(tile, tile->channel_width_hz, {f}, "d"));
  dict.set("correlation_type", list_of(tile->correlation_type, [](int type) { return integer(type); }));
  dict.set("row", view(tile, tile->row, {b, t}, "q")).set("uvw_m", view(tile, tile->uvw_m, {b, t, 3}, "d"));
  dict.set("uvw_rate_m_s", view(tile, tile->uvw_rate_m_s, {b, t, 3}, "d"));
  dict.set("exposure_s", view(tile, tile->exposure_s, {b, t}, "d"));
  if (!tile->flag.empty()) dict.set("flag", view(tile, tile->flag, {b, t, f, c}, "B"));
  if (!tile->weight.empty()) dict.set("weight", view(tile, tile->weight, {b, t, f, c}, "f"));
  Dict columns;
  for (const auto& [name, values] : tile->columns) columns.set(name, view(tile, values, {b, t, f, c}, "Zf"));
  return dict.set("columns", columns.take()).take();
}

PyObject* read(PyObject* self, PyObject* arguments) {
  return guarded([&] {
    Py_ssize_t i = 0;
    int next_too = 0;
    if (!PyArg_ParseTuple(arguments, "np", &i, &next_too)) throw PythonError();
    if (i < 0 || i >= length(self)) {
      PyErr_SetString(PyExc_IndexError, "no such tile");
      throw PythonError();
    }
    std::shared_ptr<const Tile> tile;
    {
      const WithoutGil without;
      ms::TileStream& stream = *ReaderObject::of(self).stream;
      tile = stream.get(static_cast<std::size_t>(i));
      if (next_too) stream.read_ahead(static_cast<std::size_t>(i) + 1);
    }
    return tile_to_python(tile);
  });
}

PyObject* begin(PyObject* self, PyObject*) {
  return guarded([&] {
    ReaderObject::of(self).stream->read_ahead(0);
    return none();
  });
}

PyObject* baselines(PyObject* self, PyObject*) {
  return guarded([&] {
    return list_of(ReaderObject::of(self).reader->baselines(), [](const Baseline& baseline) {
      return tuple(integer(baseline.antenna1), integer(baseline.antenna2));
    });
  });
}

/// What each tile is, without reading any.
PyObject* tiles(PyObject* self, PyObject*) {
  return guarded([&] {
    return list_of(ReaderObject::of(self).reader->tiles(), [](const ms::TileKey& key) {
      Dict dict;
      dict.set("data_desc_id", integer(key.data_desc_id)).set("field_id", integer(key.field_id));
      dict.set("layer", integer(key.layer)).set("n_slot", integer(static_cast<std::int64_t>(key.n_slot)));
      dict.set("n_row", integer(static_cast<std::int64_t>(key.n_row)));
      dict.set("scans", list_of(key.scans, [](const ms::ScanRows& one) {
                 return tuple(integer(one.observation), integer(one.scan),
                              integer(static_cast<std::int64_t>(one.n_row)));
               }));
      return dict.set("first_time_s", number(key.first_time_s)).set("last_time_s", number(key.last_time_s)).take();
    });
  });
}

PyMethodDef reader_methods[] = {
    {"baselines", baselines, METH_NOARGS, "baselines() -> list of (antenna1, antenna2)"},
    {"tiles", tiles, METH_NOARGS, "tiles() -> list of dicts that say what each tile is, before windows are joined"},
    {"read", read, METH_VARARGS, "read(i, next_too) -> dict of arrays of tile i; next_too: begin to read the next"},
    {"begin", begin, METH_NOARGS, "begin(): begin to read the first tile in the background"},
    {nullptr, nullptr, 0, nullptr}};

/// The numbers in an object's bytes.
template <class T>
std::vector<T> numbers_of(PyObject* bytes) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  check_status(PyBytes_AsStringAndSize(bytes, &data, &size));
  std::vector<T> numbers(static_cast<std::size_t>(size) / sizeof(T));
  if (!numbers.empty()) std::memcpy(numbers.data(), data, numbers.size() * sizeof(T));
  return numbers;
}

PyObject* leave_out(PyObject* self, PyObject* arguments) {
  return guarded([&] {
    PyObject *row, *bits;
    Py_ssize_t first = 0, n_channel = 0, n_correlation = 0;
    if (!PyArg_ParseTuple(arguments, "nnnOO", &first, &n_channel, &n_correlation, &row, &bits)) throw PythonError();
    ms::LeftOutRows rows{static_cast<std::size_t>(first), static_cast<std::size_t>(n_channel),
                         static_cast<std::size_t>(n_correlation), numbers_of<std::int64_t>(row),
                         numbers_of<std::uint8_t>(bits)};
    if (rows.bits.size() != rows.row.size() * rows.bytes_of_row()) throw Error("rows and bits do not fit together");
    SetObject::of(self)->left_out().leave_out(std::move(rows));
    return none();
  });
}

PyObject* forget_left_out(PyObject* self, PyObject* row) {
  return guarded([&] {
    SetObject::of(self)->left_out().forget(numbers_of<std::int64_t>(row));
    return none();
  });
}

PyMethodDef set_methods[] = {
    {"leave_out", leave_out, METH_VARARGS,
     "leave_out(first_channel, n_channel, n_correlation, rows, bits): see runtime/ms/set/left_out.h; bytes of int64, "
     "uint8"},
    {"forget_left_out", forget_left_out, METH_O, "forget_left_out(rows): nothing of them is left out any more"},
    {nullptr, nullptr, 0, nullptr}};

/// Makes a type that Python cannot make objects of, and keeps it in `kept`.
Ref make_type(const char* name, std::size_t size, PyType_Slot* slots, PyTypeObject*& kept) {
  PyType_Spec spec{name, static_cast<int>(size), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  Ref type = check(PyType_FromSpec(&spec));
  kept = reinterpret_cast<PyTypeObject*>(type.get());
  return type;
}

}  // namespace

Ref make_open_set_type() {
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(SetObject::deallocate)},
                                {Py_tp_methods, set_methods},
                                {Py_tp_doc, const_cast<char*>("A Measurement Set that is open for reading.")},
                                {0, nullptr}};
  return make_type("rimetree._core.OpenSet", sizeof(SetObject), slots, open_set_type);
}

Ref make_tile_reader_type() {
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(ReaderObject::deallocate)},
                                {Py_tp_methods, reader_methods},
                                {Py_sq_length, reinterpret_cast<void*>(length)},
                                {Py_tp_doc, const_cast<char*>("Reads a Measurement Set in time-slot groups.")},
                                {0, nullptr}};
  return make_type("rimetree._core.TileReader", sizeof(ReaderObject), slots, tile_reader_type);
}

std::shared_ptr<ms::MeasurementSet> SetSource::open(ms::Access access, double wait_s,
                                                    Cancellation* cancellation) const {
  if (!opened && access == ms::Access::kUpdate) return ms::open_for_writing(path, wait_s, cancellation);
  if (!opened) return std::make_shared<ms::MeasurementSet>(path, access);
  if (access == ms::Access::kUpdate)
    throw Error(opened->path() + " is open for reading, but the forest has Sinks, which write: give its path");
  return opened;
}

SetSource set_source(PyObject* path_or_set) {
  if (Py_TYPE(path_or_set) == open_set_type) return {{}, SetObject::of(path_or_set)};
  return {string_of(path_or_set), nullptr};
}

PyObject* open_set(PyObject*, PyObject* path) {
  return guarded([&] {
    const std::string ms_path = string_of(path);
    std::shared_ptr<ms::MeasurementSet> ms;
    {
      const WithoutGil without;
      ms = std::make_shared<ms::MeasurementSet>(ms_path);
    }
    return SetObject::make(open_set_type, std::move(ms));
  });
}

PyObject* open_tiles(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *path, *options;
    if (!PyArg_ParseTuple(arguments, "OO!", &path, &PyDict_Type, &options)) throw PythonError();
    ms::ReadSelection selection;
    selection.rows = rows_of(options);
    const bool fit = selection.rows.time_slots == 0;
    if (fit) selection.rows.time_slots = 1;
    selection.channels = channels_of(options);
    selection.chosen = channel_choice_of(options);
    if (PyObject* columns = item(options, "columns")) selection.columns = strings_of(columns);
    if (flag_item(options, "coordinates_only")) selection.flags = selection.weights = false;
    ms::TileStream::Options stream_options;
    stream_options.join_windows = flag_item(options, "join_windows");
    if (flag_item(options, "keep")) stream_options.keep_bytes = ~std::uint64_t{0};
    const SetSource source = set_source(path);
    ReaderContents contents;
    {
      const WithoutGil without;
      contents.ms = source.open(ms::Access::kRead);
      contents.reader = std::make_unique<ms::TileReader>(*contents.ms, selection);
      if (fit) contents.reader->fit(std::size_t{256} << 20, 100000);
      contents.stream = std::make_unique<ms::TileStream>(*contents.reader, stream_options);
    }
    return ReaderObject::make(tile_reader_type, std::move(contents));
  });
}

PyObject* solve_tiles(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *forest, *reader, *options;
    if (!PyArg_ParseTuple(arguments, "OO!O!", &forest, tile_reader_type, &reader, &PyDict_Type, &options))
      throw PythonError();
    const EvaluatorInUse evaluator(forest);
    const ms::SolveTilesOptions how{precision_of(options), requested_tolerance(options)};
    Cancellation cancellation = interruptible();
    {
      const WithoutGil without;
      ms::solve_tiles(*ReaderObject::of(reader).stream, *evaluator, how, cancellation);
    }
    return none();
  });
}

PyObject* columns_read(PyObject*, PyObject* forest) {
  return guarded([&] {
    const EvaluatorInUse evaluator(forest);
    return text_list(ms::reads_of(evaluator->forest(), {}).columns);
  });
}

PyObject* tile_values(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *forest, *reader, *names;
    Py_ssize_t index = 0;
    if (!PyArg_ParseTuple(arguments, "OO!nO", &forest, tile_reader_type, &reader, &index, &names)) throw PythonError();
    ms::TileStream& tiles = *ReaderObject::of(reader).stream;
    if (index < 0 || static_cast<std::size_t>(index) >= tiles.size())
      throw Error("there is no tile " + std::to_string(index) + "; there are " + std::to_string(tiles.size()));
    const EvaluatorInUse evaluator(forest);
    std::vector<int> nodes;
    for (const std::string& name : strings_of(names)) nodes.push_back(evaluator->forest().find(name));
    Cancellation cancellation = interruptible();
    ms::TileValues found;
    {
      const WithoutGil without;
      found = ms::values_on_tile(tiles, static_cast<std::size_t>(index), *evaluator, nodes, cancellation);
    }
    std::vector<Py_ssize_t> shape{static_cast<Py_ssize_t>(nodes.size())};
    for (int i = 0; i < found.dims.rank; ++i) shape.push_back(found.dims[i]);
    shape.insert(shape.end(), {static_cast<Py_ssize_t>(found.n_time), static_cast<Py_ssize_t>(found.n_channel)});
    const void* values = found.values.get();
    return tuple(make_array(std::move(found.values), values, std::move(shape), "Zd", sizeof(Complex<double>)),
                 list_of(found.there, [](std::uint8_t there) { return boolean(there != 0); }));
  });
}

}  // namespace rimetree::python
