#include "runtime/python/correction_functions.h"

#include "runtime/ms/runs/correction_run.h"
#include "runtime/python/array.h"
#include "runtime/python/convert.h"
#include "runtime/python/forest_object.h"
#include "runtime/python/interpreter.h"
#include "runtime/python/ms_functions.h"
#include "runtime/python/ms_options.h"
#include "runtime/python/open_set_object.h"

namespace rimetree::python {

namespace {

ms::CorrectionOptions options_of(PyObject* dict) {
  ms::CorrectionOptions options;
  options.rows = rows_of(dict);
  options.channels = channels_of(dict);
  options.data_column = text_item(dict, "data_column");
  options.column = text_item(dict, "column");
  options.shared = shared_column_of(dict);
  options.memory_bytes = static_cast<std::size_t>(integer_item(dict, "memory_bytes", 0));
  options.threads = static_cast<int>(integer_item(dict, "threads", 0));
  return options;
}

template <class Value>
std::vector<Value> whole_numbers(PyObject* array) {
  const std::vector<double> numbers = doubles_of(array);
  return {numbers.begin(), numbers.end()};
}

void require_size(const char* what, std::size_t got, std::size_t expected) {
  if (got != expected)
    throw Error(std::string(what) + " of Jones matrices: expected " + std::to_string(expected) + " numbers, got " +
                std::to_string(got));
}

ms::InverseJones jones_from(PyObject* given, const std::vector<int>& antennas) {
  int diagonal = 0;
  Py_ssize_t n_time = 0, n_frequency = 0;
  PyObject *time, *frequency, *inverse, *reason;
  if (!PyArg_ParseTuple(given, "p(nn)OOOO", &diagonal, &n_time, &n_frequency, &time, &frequency, &inverse, &reason))
    throw PythonError();
  ms::InverseJones jones;
  jones.antennas = antennas;
  jones.diagonal = diagonal != 0;
  jones.n_time = static_cast<std::size_t>(n_time);
  jones.n_frequency = static_cast<std::size_t>(n_frequency);
  jones.time = whole_numbers<std::uint32_t>(time);
  jones.frequency = whole_numbers<std::uint32_t>(frequency);
  jones.reason = whole_numbers<std::uint8_t>(reason);
  const std::size_t cells = antennas.size() * jones.n_time * jones.n_frequency;
  require_size("reasons", jones.reason.size(), 2 * cells);
  for (const auto& [indices, n] :
       {std::pair{&jones.time, jones.n_time}, std::pair{&jones.frequency, jones.n_frequency}})
    for (const std::uint32_t index : *indices)
      if (index >= n) throw Error("Jones matrices: no number " + std::to_string(index) + " of " + std::to_string(n));
  if (inverse == Py_None) return jones;
  const StateArray values = array_of(inverse);
  require_size("values", values.data.size(), 2 * (jones.diagonal ? 2 : 4) * cells);
  jones.inverse.resize(values.data.size() / 2);
  for (std::size_t i = 0; i < jones.inverse.size(); ++i)
    jones.inverse[i] = {values.data[2 * i], values.data[2 * i + 1]};
  return jones;
}

/// Calls back into Python, on the thread that called from there.
ms::InverseJonesOf jones_of(PyObject* function, const std::vector<int>& antennas) {
  return [function, &antennas](const Tile& tile, bool flags_only) {
    return with_gil([&] {
      const Ref arguments = tuple(make_array(tile.time_s), make_array(tile.frequency_hz), boolean(flags_only));
      const Ref given = check(PyObject_CallObject(function, arguments.get()));
      return jones_from(given.get(), antennas);
    });
  };
}

Ref numbers(const std::vector<std::int64_t>& values) {
  return list_of(values, [](std::int64_t value) { return integer(value); });
}

Ref counts_to_python(const ms::FlagCounts& counts) {
  Dict dict;
  dict.set("all", integer(counts.all)).set("flagged", integer(counts.flagged)).set("new", integer(counts.fresh));
  dict.set("all_of", numbers(counts.all_of)).set("good_of", numbers(counts.good_of));
  dict.set("lost_of", numbers(counts.lost_of)).set("usable", boolean(counts.usable));
  dict.set("because_of", list_of(counts.because_of, [](const std::array<std::int64_t, ms::kReasons>& reasons) {
             return numbers({reasons.begin(), reasons.end()});
           }));
  return dict.take();
}

std::vector<int> integers_of(PyObject* sequence) {
  std::vector<int> found;
  for_each(sequence, [&](PyObject* one) { found.push_back(static_cast<int>(integer_of(one))); });
  return found;
}

}  // namespace

PyObject* correct_ms(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *path, *dict, *ids, *jones, *progress;
    if (!PyArg_ParseTuple(arguments, "UO!OOO", &path, &PyDict_Type, &dict, &ids, &jones, &progress))
      throw PythonError();
    const std::vector<int> antennas = integers_of(ids);
    const ms::CorrectionOptions options = options_of(dict);
    const double wait_s = number_item(dict, "wait_s", 0);
    const std::string ms_path = string_of(path);
    Cancellation cancellation = interruptible();
    ms::FlagCounts counts(antennas);
    ms::RunReport report;
    {
      const WithoutGil without;
      report = ms::correct(*ms::open_for_writing(ms_path, wait_s, &cancellation), options, jones_of(jones, antennas),
                           counts, &cancellation, progress_to(progress));
    }
    return tuple(report_to_python(report), counts_to_python(counts));
  });
}

PyObject* count_new_flags(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *path, *dict, *ids, *jones;
    if (!PyArg_ParseTuple(arguments, "OO!OO", &path, &PyDict_Type, &dict, &ids, &jones)) throw PythonError();
    const std::vector<int> antennas = integers_of(ids);
    const ms::CorrectionOptions options = options_of(dict);
    const SetSource source = set_source(path);
    Cancellation cancellation = interruptible();
    ms::FlagCounts counts(antennas);
    {
      const WithoutGil without;
      ms::count_flags(*source.open(ms::Access::kRead), options, jones_of(jones, antennas), counts, &cancellation);
    }
    return counts_to_python(counts);
  });
}

PyObject* correction_bytes(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *path, *dict;
    if (!PyArg_ParseTuple(arguments, "OO!", &path, &PyDict_Type, &dict)) throw PythonError();
    const ms::CorrectionOptions options = options_of(dict);
    const SetSource source = set_source(path);
    std::size_t bytes = 0;
    {
      const WithoutGil without;
      bytes = ms::correction_bytes(*source.open(ms::Access::kRead), options);
    }
    return integer(static_cast<std::int64_t>(bytes));
  });
}

}  // namespace rimetree::python
