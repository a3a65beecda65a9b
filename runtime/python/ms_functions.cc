#include "runtime/python/ms_functions.h"

#include <new>

#include "runtime/ms/create.h"
#include "runtime/ms/run.h"
#include "runtime/ms/summary_json.h"
#include "runtime/ms/tile_request.h"
#include "runtime/python/array.h"
#include "runtime/python/convert.h"
#include "runtime/python/forest_object.h"
#include "runtime/python/ms_options.h"

namespace rimetree::python {

namespace {

Ref report_to_python(const ms::RunReport& report) {
  Dict dict;
  dict.set("tiles", integer(static_cast<std::int64_t>(report.tiles))).set("rows", integer(report.rows));
  dict.set("rows_written", integer(report.rows_written));
  dict.set("missing", integer(static_cast<std::int64_t>(report.missing)));
  dict.set("time_slots", integer(static_cast<std::int64_t>(report.time_slots)));
  dict.set("read_seconds", number(report.read_seconds)).set("write_seconds", number(report.write_seconds));
  dict.set("evaluate_seconds", number(report.evaluate_seconds)).set("total_seconds", number(report.total_seconds));
  dict.set("overhead_seconds", number(report.overhead_seconds)).set("columns", text_list(report.columns));
  return dict.take();
}

}  // namespace

PyObject* run_forest(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *forest, *path, *options, *progress;
    if (!PyArg_ParseTuple(arguments, "OUO!O", &forest, &path, &PyDict_Type, &options, &progress)) throw PythonError();
    const EvaluatorInUse evaluator(forest);
    ms::RunOptions run_options;
    run_options.rows = rows_of(options);
    run_options.channels = channels_of(options);
    run_options.precision = precision_of(options);
    run_options.tolerance = requested_tolerance(options);
    run_options.verify = static_cast<int>(integer_item(options, "verify", 0));
    run_options.join_windows = flag_item(options, "join_windows");
    run_options.continues = flag_item(options, "continues");
    run_options.more_follow = flag_item(options, "more_follow");
    run_options.rows_expected = integer_item(options, "rows_expected", 0);
    const std::string ms_path = string_of(path);
    Cancellation cancellation = interruptible();
    const auto report_progress = [&](const ms::RunProgress& state) {
      if (progress == Py_None) return;
      const WithGil gil;
      const Ref arguments_of_call =
          tuple(integer(static_cast<std::int64_t>(state.tiles_done)), integer(static_cast<std::int64_t>(state.tiles)),
                integer(state.rows_done), integer(state.rows), number(state.time_s));
      const Ref returned = check(PyObject_CallObject(progress, arguments_of_call.get()));
    };
    ms::RunReport report;
    {
      const WithoutGil without;
      evaluator->reset_verification();
      // A set that is only solved for may be one that nobody can write to.
      const bool writes = !ms::columns_written(evaluator->forest()).empty();
      ms::MeasurementSet ms(ms_path, writes ? ms::Access::kUpdate : ms::Access::kRead);
      report = ms::run(ms, *evaluator, run_options, &cancellation, report_progress);
    }
    return report_to_python(report);
  });
}

PyObject* create_ms(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *path, *given;
    if (!PyArg_ParseTuple(arguments, "UO!", &path, &PyDict_Type, &given)) throw PythonError();
    ms::MsDescription description;
    description.telescope = text_item(given, "telescope");
    description.project = text_item(given, "project");
    description.command_line = text_item(given, "command_line");
    if (PyObject* observer = item(given, "observer")) description.observer = string_of(observer);
    for_each(item(given, "antennas"), [&](PyObject* one) {
      ms::Antenna antenna;
      antenna.name = text_item(one, "name");
      antenna.station = text_item(one, "station");
      antenna.mount = text_item(one, "mount");
      const std::vector<double> position = doubles_item(one, "position_m");
      if (position.size() != 3) throw Error("an antenna position must have 3 coordinates");
      std::copy(position.begin(), position.end(), antenna.position_m.begin());
      antenna.diameter_m = number_of(item(one, "diameter_m"));
      description.antennas.push_back(std::move(antenna));
    });
    for_each(item(given, "fields"), [&](PyObject* one) {
      description.fields.push_back(
          {text_item(one, "name"), number_of(item(one, "ra_rad")), number_of(item(one, "dec_rad")), "J2000"});
    });
    for_each(item(given, "spectral_windows"), [&](PyObject* one) {
      description.spectral_windows.push_back(
          {text_item(one, "name"), doubles_item(one, "frequency_hz"), doubles_item(one, "width_hz")});
    });
    description.correlation_type = integers_item(given, "correlation_type");
    description.antenna1 = integers_item(given, "antenna1");
    description.antenna2 = integers_item(given, "antenna2");
    description.time_s = doubles_item(given, "time_s");
    description.field_of_time = integers_item(given, "field_of_time");
    description.interval_s = number_of(item(given, "interval_s"));
    if (PyObject* exposure = item(given, "exposure_s")) description.exposure_s = number_of(exposure);
    description.uvw_m = doubles_item(given, "uvw_m");
    description.weight_spectrum = flag_item(given, "weight_spectrum");
    if (PyObject* columns = item(given, "columns")) description.columns = strings_of(columns);
    description.overwrite = flag_item(given, "overwrite");
    const std::string ms_path = string_of(path);
    {
      const WithoutGil without;
      ms::create(ms_path, description);
    }
    return none();
  });
}

PyObject* inspect_ms(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject* path;
    int scan_cells = 1;
    if (!PyArg_ParseTuple(arguments, "U|p", &path, &scan_cells)) throw PythonError();
    const std::string ms_path = string_of(path);
    ms::InspectOptions options;
    options.scan_cells = scan_cells != 0;
    std::string json;
    {
      const WithoutGil without;
      json = ms::to_json(ms::inspect(ms_path, options));
    }
    return text(json);
  });
}

namespace {

PyTypeObject* tile_reader_type = nullptr;

struct ReaderContents {
  std::unique_ptr<ms::MeasurementSet> ms;
  std::unique_ptr<ms::TileReader> reader;
};
struct ReaderObject {
  PyObject_HEAD ReaderContents contents;
};

ReaderContents& contents_of(PyObject* self) { return reinterpret_cast<ReaderObject*>(self)->contents; }

void deallocate(PyObject* self) {
  contents_of(self).~ReaderContents();
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

Py_ssize_t length(PyObject* self) { return static_cast<Py_ssize_t>(contents_of(self).reader->tiles().size()); }

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

PyObject* read(PyObject* self, PyObject* index) {
  return guarded([&] {
    const std::int64_t i = integer_of(index);
    if (i < 0 || i >= length(self)) {
      PyErr_SetString(PyExc_IndexError, "no such tile");
      throw PythonError();
    }
    std::shared_ptr<const Tile> tile;
    {
      const WithoutGil without;
      tile = std::make_shared<const Tile>(contents_of(self).reader->read(static_cast<std::size_t>(i)));
    }
    return tile_to_python(tile);
  });
}

PyObject* baselines(PyObject* self, PyObject*) {
  return guarded([&] {
    return list_of(contents_of(self).reader->baselines(), [](const Baseline& baseline) {
      return tuple(integer(baseline.antenna1), integer(baseline.antenna2));
    });
  });
}

/// What each tile is, without reading any.
PyObject* tiles(PyObject* self, PyObject*) {
  return guarded([&] {
    return list_of(contents_of(self).reader->tiles(), [](const ms::TileKey& key) {
      Dict dict;
      dict.set("data_desc_id", integer(key.data_desc_id)).set("field_id", integer(key.field_id));
      dict.set("layer", integer(key.layer)).set("n_slot", integer(static_cast<std::int64_t>(key.n_slot)));
      dict.set("n_row", integer(static_cast<std::int64_t>(key.n_row)));
      return dict.set("first_time_s", number(key.first_time_s)).set("last_time_s", number(key.last_time_s)).take();
    });
  });
}

PyMethodDef reader_methods[] = {{"baselines", baselines, METH_NOARGS, "baselines() -> list of (antenna1, antenna2)"},
                                {"tiles", tiles, METH_NOARGS, "tiles() -> list of dicts that say what each tile is"},
                                {"read", read, METH_O, "read(i) -> dict of arrays of tile i"},
                                {nullptr, nullptr, 0, nullptr}};

}  // namespace

Ref make_tile_reader_type() {
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                                {Py_tp_methods, reader_methods},
                                {Py_sq_length, reinterpret_cast<void*>(length)},
                                {Py_tp_doc, const_cast<char*>("Reads a Measurement Set in time-slot groups.")},
                                {0, nullptr}};
  static PyType_Spec spec{"rimetree._core.TileReader", sizeof(ReaderObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  Ref type = check(PyType_FromSpec(&spec));
  tile_reader_type = reinterpret_cast<PyTypeObject*>(type.get());
  return type;
}

PyObject* open_tiles(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *path, *options;
    if (!PyArg_ParseTuple(arguments, "UO!", &path, &PyDict_Type, &options)) throw PythonError();
    ms::ReadSelection selection;
    selection.rows = rows_of(options);
    const bool fit = selection.rows.time_slots == 0;
    if (fit) selection.rows.time_slots = 1;
    selection.channels = channels_of(options);
    if (PyObject* columns = item(options, "columns")) selection.columns = strings_of(columns);
    auto ms = std::make_unique<ms::MeasurementSet>(string_of(path));
    auto reader = std::make_unique<ms::TileReader>(*ms, selection);
    if (fit) reader->fit(std::size_t{256} << 20, 100000);
    auto* object = PyObject_New(ReaderObject, tile_reader_type);
    if (object == nullptr) throw PythonError();
    new (&object->contents) ReaderContents{std::move(ms), std::move(reader)};
    return Ref(reinterpret_cast<PyObject*>(object));
  });
}

}  // namespace rimetree::python
