#include "runtime/python/factor_fit_object.h"

#include <memory>
#include <new>
#include <stdexcept>

#include "runtime/fit/factor_fit.h"
#include "runtime/python/array.h"
#include "runtime/python/convert.h"
#include "runtime/python/forest_object.h"
#include "runtime/python/interpreter.h"

namespace rimetree::python {

namespace {

PyTypeObject* fit_type = nullptr;

struct FitObject {
  PyObject_HEAD std::unique_ptr<fit::FactorFit> fit;
};

const fit::FactorFit& fit_of(PyObject* self) { return *reinterpret_cast<FitObject*>(self)->fit; }

void deallocate(PyObject* self) {
  reinterpret_cast<FitObject*>(self)->fit.~unique_ptr();
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

std::size_t count_of(PyObject* dict, const char* key) {
  PyObject* given = item(dict, key);
  const std::int64_t count = given == nullptr ? -1 : integer_of(given);
  if (count < 0) throw Error(std::string("fit of factors: no ") + key);
  return static_cast<std::size_t>(count);
}

std::vector<bool> flags_of(PyObject* dict, const char* key) {
  const BufferView view(item(dict, key));
  const std::span<const bool> flags = view.as<bool>("?");
  return {flags.begin(), flags.end()};
}

fit::FactorUnknowns unknowns_of(PyObject* dict) {
  fit::FactorUnknowns unknowns;
  unknowns.rate = doubles_of(item(dict, "rate"));
  unknowns.turns = PyObject_IsTrue(item(dict, "turns")) == 1;
  unknowns.directions = flags_of(dict, "directions");
  unknowns.feeds = flags_of(dict, "feeds");
  const BufferView view(item(dict, "number"));
  const std::span<const std::int32_t> number = view.as<std::int32_t>("i");
  unknowns.number.assign(number.begin(), number.end());
  return unknowns;
}

std::unique_ptr<fit::FactorFit> made(PyObject* dict, PyObject* list) {
  fit::FactorSums sums;
  const BufferView baselines(item(dict, "baselines"));
  const std::span<const std::int32_t> antennas = baselines.as<std::int32_t>("i");
  for (std::size_t b = 0; b + 1 < antennas.size(); b += 2)
    sums.baselines.emplace_back(static_cast<std::uint32_t>(antennas[b]), static_cast<std::uint32_t>(antennas[b + 1]));
  const BufferView product(item(dict, "product")), power(item(dict, "power"));
  sums.product = product.as<double>("Zd");
  sums.power = power.as<double>("Zd");
  sums.data = number_of(item(dict, "data"));
  sums.n_antenna = count_of(dict, "n_antenna");
  sums.n_time = count_of(dict, "n_time");
  sums.n_freq = count_of(dict, "n_freq");
  sums.n_feed = count_of(dict, "n_feed");
  sums.n_direction = count_of(dict, "n_direction");
  std::vector<fit::FactorUnknowns> unknowns;
  for_each(list, [&](PyObject* one) { unknowns.push_back(unknowns_of(one)); });
  try {
    return std::make_unique<fit::FactorFit>(sums, std::move(unknowns), doubles_of(item(dict, "most_rate")));
  } catch (const std::invalid_argument& problem) {
    throw Error(problem.what());
  }
}

/// [start][unknown]
struct Places {
  Places(PyObject* array, const fit::FactorFit& fit) : n(fit.n_unknown()) {
    const StateArray given = array_of(array);
    if (given.type != NumberType::real || given.shape.size() != 2 || given.shape[1] != static_cast<std::int64_t>(n))
      throw Error("fit of factors: places are not [start, unknown]");
    count = static_cast<std::size_t>(given.shape[0]);
    values = given.data.vector();
  }
  std::span<double> of(std::size_t start) { return {values.data() + start * n, n}; }

  std::size_t n, count = 0;
  std::vector<double> values;
};

std::vector<bool> held_of(PyObject* sequence, const fit::FactorFit& fit) {
  std::vector<bool> held(fit.n_unknown());
  for_each(sequence, [&](PyObject* one) { held.at(static_cast<std::size_t>(integer_of(one))) = true; });
  return held;
}

Ref array(std::vector<double> values, std::vector<std::size_t> shape) {
  StateArray made{{shape.begin(), shape.end()}, NumberType::real, values};
  return make_array(made);
}

PyObject* chi_square(PyObject* self, PyObject* given) {
  return guarded([&] {
    const fit::FactorFit& fit = fit_of(self);
    Places places(given, fit);
    std::vector<double> found(places.count);
    {
      const WithoutGil without;
      for (std::size_t s = 0; s < places.count; ++s) found[s] = fit.chi_square(places.of(s));
    }
    return make_array(found);
  });
}

PyObject* normal(PyObject* self, PyObject* arguments) {
  return guarded([&] {
    PyObject *given, *numbers;
    if (!PyArg_ParseTuple(arguments, "OO", &given, &numbers)) throw PythonError();
    const fit::FactorFit& fit = fit_of(self);
    Places places(given, fit);
    const std::vector<bool> held = held_of(numbers, fit);
    std::vector<double> slope, curvature;
    {
      const WithoutGil without;
      for (std::size_t s = 0; s < places.count; ++s) {
        const fit::FactorFit::Normal own = fit.normal(places.of(s), held);
        slope.insert(slope.end(), own.slope.begin(), own.slope.end());
        curvature.insert(curvature.end(), own.curvature.begin(), own.curvature.end());
      }
    }
    return tuple(array(std::move(slope), {places.count, places.n}),
                 array(std::move(curvature), {places.count, places.n, places.n}));
  });
}

PyObject* climb(PyObject* self, PyObject* arguments) {
  return guarded([&] {
    PyObject *given, *numbers;
    int steps = 0;
    if (!PyArg_ParseTuple(arguments, "OiO", &given, &steps, &numbers)) throw PythonError();
    const fit::FactorFit& fit = fit_of(self);
    Places places(given, fit);
    const std::vector<bool> held = held_of(numbers, fit);
    Cancellation cancellation = interruptible();
    std::vector<double> found(places.count);
    std::int64_t tried = 0, good = 0;
    {
      const WithoutGil without;
      for (std::size_t s = 0; s < places.count; ++s) {
        if (cancellation.check()) throw Cancelled();
        const fit::FactorFit::Climbed climbed = fit.climb(places.of(s), steps, held);
        found[s] = climbed.chi_square;
        tried += climbed.steps;
        good += climbed.good;
      }
    }
    return tuple(array(std::move(places.values), {places.count, places.n}), make_array(found), integer(tried),
                 integer(good));
  });
}

PyMethodDef methods[] = {
    {"chi_square", chi_square, METH_O, "chi_square(places) -> [start]"},
    {"normal", normal, METH_VARARGS, "normal(places, held) -> (half the slope downwards, half the curvature)"},
    {"climb", climb, METH_VARARGS,
     "climb(places, steps, held) -> (places, chi-square, steps that were tried, and that led down)"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

Ref make_factor_fit_type() {
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                                {Py_tp_methods, methods},
                                {Py_tp_doc, const_cast<char*>("A fit of factors of directions, on sums.")},
                                {0, nullptr}};
  static PyType_Spec spec{"rimetree._core.FactorFit", sizeof(FitObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  Ref type = check(PyType_FromSpec(&spec));
  fit_type = reinterpret_cast<PyTypeObject*>(type.get());
  return type;
}

PyObject* open_factor_fit(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *sums, *unknowns;
    if (!PyArg_ParseTuple(arguments, "O!O", &PyDict_Type, &sums, &unknowns)) throw PythonError();
    std::unique_ptr<fit::FactorFit> fit = made(sums, unknowns);
    auto* object = PyObject_New(FitObject, fit_type);
    if (object == nullptr) throw PythonError();
    new (&object->fit) std::unique_ptr<fit::FactorFit>(std::move(fit));
    return Ref(reinterpret_cast<PyObject*>(object));
  });
}

}  // namespace rimetree::python
