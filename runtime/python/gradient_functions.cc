#include "runtime/python/gradient_functions.h"

#include <algorithm>

#include "runtime/core/node/solution_tiles.h"
#include "runtime/evaluate/derivative_check.h"
#include "runtime/python/array.h"
#include "runtime/python/convert.h"
#include "runtime/python/forest_object.h"
#include "runtime/python/interpreter.h"

namespace rimetree::python {

namespace {

std::vector<int> solvable_parms(const Forest& forest) {
  std::vector<int> parms;
  for (std::size_t i = 0; i < forest.size(); ++i)
    if (forest.node(static_cast<int>(i)).n_unknown() > 0) parms.push_back(static_cast<int>(i));
  return parms;
}

/// One number per coefficient, repeated for each tile.
Ref per_unknown(const std::vector<double>& of_coefficient, const SolutionTiles& tiles) {
  std::vector<double> all;
  for (std::size_t tile = 0; tile < tiles.n_tile(); ++tile)
    all.insert(all.end(), of_coefficient.begin(), of_coefficient.end());
  return make_array(all);
}

}  // namespace

Ref gradient_vector(const Forest& forest, Gradient& gradient) {
  std::vector<double> vector;
  for (const int parm : solvable_parms(forest)) {
    const std::span<double> own = gradient.of(parm);
    if (own.empty())  // not below the node
      vector.insert(vector.end(), forest.node(parm).n_unknown(), 0.0);
    else
      vector.insert(vector.end(), own.begin(), own.end());
  }
  return make_array(vector);
}

PyObject* forest_parameters(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject* object;
    if (!PyArg_ParseTuple(arguments, "O", &object)) throw PythonError();
    const EvaluatorInUse evaluator(object);
    const Forest& forest = evaluator->forest();
    return list_of(solvable_parms(forest), [&](int parm) {
      const Node& node = forest.node(parm);
      const SolutionTiles tiles = SolutionTiles::of(node);
      const ParmLimits limits(node.state(), tiles);
      Dict dict;
      dict.set("name", text(node.name())).set("value", make_array(tiles.values()));
      dict.set("shape", list_of(tiles.value_shape(), [](std::int64_t n) { return integer(n); }));
      dict.set("minimum", per_unknown(limits.minimum, tiles)).set("maximum", per_unknown(limits.maximum, tiles));
      dict.set("prior_mean", per_unknown(limits.prior_mean, tiles));
      dict.set("prior_sigma", per_unknown(limits.prior_sigma, tiles));
      return dict.take();
    });
  });
}

PyObject* set_forest_parameters(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *object, *vector;
    if (!PyArg_ParseTuple(arguments, "OO", &object, &vector)) throw PythonError();
    const std::vector<double> values = doubles_of(vector);
    const EvaluatorInUse evaluator(object);
    Forest& forest = evaluator->forest();
    const std::vector<int> parms = solvable_parms(forest);
    std::size_t n = 0;
    for (const int parm : parms) n += forest.node(parm).n_unknown();
    if (values.size() != n)
      throw Error("the vector has " + std::to_string(values.size()) + " numbers, but the solvable Parms have " +
                  std::to_string(n) + " unknowns");
    auto next = values.begin();
    for (const int parm : parms) {
      const SolutionTiles tiles = SolutionTiles::of(forest.node(parm));
      const auto end = next + static_cast<std::ptrdiff_t>(tiles.n_unknown());
      // Parms that stay as they are leave the results kept of them valid.
      if (!std::equal(next, end, tiles.values().begin()))
        forest.set_state(
            parm, {{"value", StateArray{tiles.value_shape(), NumberType::real, std::vector<double>(next, end)}}});
      next = end;
    }
    return none();
  });
}

PyObject* forest_gradient(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *object, *name, *cells, *precision;
    double tolerance = 0;
    if (!PyArg_ParseTuple(arguments, "OUOUd", &object, &name, &cells, &precision, &tolerance)) throw PythonError();
    const Request request = request_of(cells, precision, tolerance);
    const EvaluatorInUse evaluator(object);
    const Forest& forest = evaluator->forest();
    const int root = forest.find(string_of(name));
    Cancellation cancellation = interruptible();
    ValueAndGradient found;
    {
      const WithoutGil without;
      found = evaluator->value_and_gradient(request, root, &cancellation);
    }
    if (!found.value->ok()) return tuple(result_to_python(forest, *found.value), none());
    return tuple(result_to_python(forest, *found.value), gradient_vector(forest, found.gradient));
  });
}

PyObject* check_forest_derivatives(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *object, *name, *cells, *precision;
    double tolerance = 0;
    if (!PyArg_ParseTuple(arguments, "OUOUd", &object, &name, &cells, &precision, &tolerance)) throw PythonError();
    const Request request = request_of(cells, precision, tolerance);
    const EvaluatorInUse evaluator(object);
    const int root = evaluator->forest().find(string_of(name));
    Cancellation cancellation = interruptible();
    DerivativeCheck check;
    {
      const WithoutGil without;
      check = check_derivatives(*evaluator, request, root, &cancellation);
    }
    return tuple(list_of(check.nodes,
                         [](const NodeCheck& node) {
                           return tuple(text(node.node), text(node.node_class), number(node.difference),
                                        number(node.noise), boolean(node.extended));
                         }),
                 list_of(check.unknowns, [](const UnknownCheck& unknown) {
                   return tuple(text(unknown.parm), integer(static_cast<std::int64_t>(unknown.unknown)),
                                number(unknown.forward), number(unknown.reverse));
                 }));
  });
}

}  // namespace rimetree::python
