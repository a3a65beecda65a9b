#include "runtime/python/ms_functions.h"

#include "runtime/ms/inspect/summary_json.h"
#include "runtime/ms/runs/run.h"
#include "runtime/ms/set/create.h"
#include "runtime/ms/set/flag_versions.h"
#include "runtime/ms/tables/antenna_fields.h"
#include "runtime/ms/tiles/count_cells.h"
#include "runtime/ms/tiles/tile_request.h"
#include "runtime/ms/tiles/tile_writer.h"
#include "runtime/python/array.h"
#include "runtime/python/convert.h"
#include "runtime/python/forest_object.h"
#include "runtime/python/interpreter.h"
#include "runtime/python/ms_options.h"
#include "runtime/python/open_set_object.h"

namespace rimetree::python {

Ref report_to_python(const ms::RunReport& report) {
  Dict dict;
  dict.set("tiles", integer(static_cast<std::int64_t>(report.tiles))).set("rows", integer(report.rows));
  dict.set("rows_written", integer(report.rows_written));
  dict.set("missing", integer(static_cast<std::int64_t>(report.missing)));
  dict.set("time_slots", integer(static_cast<std::int64_t>(report.time_slots)));
  dict.set("read_seconds", number(report.read_seconds)).set("write_seconds", number(report.write_seconds));
  dict.set("evaluate_seconds", number(report.evaluate_seconds)).set("total_seconds", number(report.total_seconds));
  dict.set("overhead_seconds", number(report.overhead_seconds)).set("columns", text_list(report.columns));
  dict.set("warnings", text_list(report.warnings));
  return dict.take();
}

std::function<void(const ms::RunProgress&)> progress_to(PyObject* function) {
  if (function == Py_None) return {};
  return [function](const ms::RunProgress& state) {
    with_gil([&] {
      const Ref arguments =
          tuple(integer(static_cast<std::int64_t>(state.tiles_done)), integer(static_cast<std::int64_t>(state.tiles)),
                integer(state.rows_done), integer(state.rows), number(state.time_s));
      const Ref returned = check(PyObject_CallObject(function, arguments.get()));
    });
  };
}

PyObject* run_forest(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *forest, *path, *options, *progress;
    if (!PyArg_ParseTuple(arguments, "OOO!O", &forest, &path, &PyDict_Type, &options, &progress)) throw PythonError();
    const EvaluatorInUse evaluator(forest);
    ms::RunOptions run_options;
    run_options.rows = rows_of(options);
    run_options.channels = channels_of(options);
    run_options.chosen = channel_choice_of(options);
    run_options.precision = precision_of(options);
    run_options.tolerance = requested_tolerance(options);
    run_options.verify = static_cast<int>(integer_item(options, "verify", 0));
    run_options.join_windows = flag_item(options, "join_windows");
    run_options.shared = shared_column_of(options);
    const double wait_s = number_item(options, "wait_s", 0);
    const SetSource source = set_source(path);
    Cancellation cancellation = interruptible();
    ms::RunReport report;
    {
      const WithoutGil without;
      evaluator->reset_verification();
      // A set that is only solved for may be one that nobody can write to.
      const bool writes = !ms::columns_written(evaluator->forest()).empty();
      const auto access = writes ? ms::Access::kUpdate : ms::Access::kRead;
      report = ms::run(*source.open(access, wait_s, &cancellation), *evaluator, run_options, &cancellation,
                       progress_to(progress));
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
      ms::Field field;
      field.name = text_item(one, "name");
      field.ra_rad = number_of(item(one, "ra_rad"));
      field.dec_rad = number_of(item(one, "dec_rad"));
      if (PyObject* frame = item(one, "frame")) field.coordinates = string_of(frame);
      description.fields.push_back(std::move(field));
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
    description.turned = integers_item(given, "turned");
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

PyObject* check_writable(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *path, *columns;
    double wait_s = 0;
    if (!PyArg_ParseTuple(arguments, "UOd", &path, &columns, &wait_s)) throw PythonError();
    Cancellation cancellation = interruptible();
    const std::string ms_path = string_of(path);
    const std::vector<std::string> names = strings_of(columns);
    {
      const WithoutGil without;
      const std::shared_ptr<ms::MeasurementSet> ms = ms::open_for_writing(ms_path, wait_s, &cancellation);
      for (const std::string& name : names) ms::check_writable(*ms, name);
    }
    return none();
  });
}

PyObject* save_flags(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *path, *table;
    if (!PyArg_ParseTuple(arguments, "UU", &path, &table)) throw PythonError();
    const std::string ms_path = string_of(path), table_path = string_of(table);
    {
      const WithoutGil without;
      ms::save_flags(ms_path, table_path);
    }
    return none();
  });
}

PyObject* restore_flags(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *path, *table;
    double wait_s = 0;
    if (!PyArg_ParseTuple(arguments, "UUd", &path, &table, &wait_s)) throw PythonError();
    const std::string ms_path = string_of(path), table_path = string_of(table);
    ms::FlagChange change;
    Cancellation cancellation = interruptible();
    {
      const WithoutGil without;
      change = ms::restore_flags(ms_path, table_path, wait_s, &cancellation);
    }
    Dict dict;
    dict.set("visibilities", integer(change.visibilities)).set("before", integer(change.before));
    return dict.set("after", integer(change.after)).take();
  });
}

PyObject* count_cells(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *values, *weights, *flags, *rows, *hands, *within;
    int magnitudes = 1;
    if (!PyArg_ParseTuple(arguments, "OOOOOOp", &values, &weights, &flags, &rows, &hands, &within, &magnitudes))
      throw PythonError();
    const BufferView value(values), weight(weights), flag(flags), row(rows), hand(hands);
    std::optional<BufferView> limits;
    if (within != Py_None) limits.emplace(within);
    const std::span<const Py_ssize_t> shape = value.shape();
    if (shape.size() != 4) throw Error("visibilities of a tile are [baseline, time, channel, correlation]");
    ms::DataCells cells;
    for (const auto& [count, n] : {std::pair{&cells.n_baseline, shape[0]}, std::pair{&cells.n_time, shape[1]},
                                   std::pair{&cells.n_channel, shape[2]}, std::pair{&cells.n_correlation, shape[3]}})
      *count = static_cast<std::size_t>(n);
    cells.value = value.as<std::complex<float>>("Zf");
    cells.weight = weight.as<float>("f");
    cells.flag = flag.as<std::uint8_t>("B");
    cells.row = row.as<std::int64_t>("l");
    cells.hand = hand.as<std::uint8_t>("B");
    if (limits) cells.within = limits->as<std::uint8_t>("B");
    ms::CellCounts counts;
    {
      const WithoutGil without;
      counts = ms::count_cells(cells, magnitudes != 0);
    }
    return tuple(make_array(counts.good), make_array(counts.measured), make_array(counts.magnitude),
                 make_array(std::move(counts.linked)), number(counts.power));
  });
}

PyObject* read_antenna_fields(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject* path;
    if (!PyArg_ParseTuple(arguments, "U", &path)) throw PythonError();
    const std::string ms_path = string_of(path);
    ms::AntennaFields found;
    {
      const WithoutGil without;
      found = ms::read_antenna_fields(ms_path);
    }
    const auto numbers = [](const auto& values) { return number_list({values.begin(), values.end()}); };
    Dict dict;
    dict.set("n_antenna", integer(static_cast<std::int64_t>(found.n_antenna)));
    dict.set("fields", list_of(found.fields, [&](const ms::AntennaField& field) {
               Dict one;
               one.set("antenna_id", integer(field.antenna_id)).set("name", text(field.name));
               one.set("axes", numbers(field.axes)).set("elements_m", numbers(field.elements_m));
               one.set("is_dead", numbers(field.is_dead)).set("tile_elements_m", numbers(field.tile_elements_m));
               return one.take();
             }));
    dict.set("station_directions_rad", list_of(found.station_directions_rad, numbers));
    dict.set("tile_directions_rad", list_of(found.tile_directions_rad, numbers));
    return dict.take();
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

}  // namespace rimetree::python
