#include "runtime/python/py_node.h"

#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/error.h"
#include "runtime/core/node/node.h"
#include "runtime/core/values/pull_back.h"
#include "runtime/python/array.h"
#include "runtime/python/convert.h"
#include "runtime/python/interpreter.h"

namespace rimetree::python {

namespace {

PyObject* call_function = nullptr;      // owned; see set_py_node_calls
PyObject* pull_function = nullptr;      // the same
PyObject* find_function = nullptr;      // the same
UsedObjects* used_by_forest = nullptr;  // of the forest that is made; guarded by the GIL

/// The object that a number refers to. Throws StateError where nobody has it any more.
std::shared_ptr<const UsedObject> object_of(std::int64_t number) {
  const WithGil gil;
  if (used_by_forest != nullptr)
    if (const auto known = used_by_forest->find(number); known != used_by_forest->end()) return known->second;
  const Ref arguments = tuple(integer(number));
  Ref found(PyObject_CallObject(find_function, arguments.get()));
  if (!found) {
    PyErr_Clear();
    throw StateError("state field \"object\" is " + std::to_string(number) + ", which is the number of no function");
  }
  auto object = std::make_shared<const UsedObject>(std::move(found));
  if (used_by_forest != nullptr) used_by_forest->emplace(number, object);
  return object;
}

Ref cells_to_python(const Cells& cells) {
  Ref list = check(PyList_New(0));
  for (int axis = 0; axis < kAxes; ++axis) {
    const AxisGrid& grid = cells.axis(static_cast<Axis>(axis));
    const Ref pair = grid.centre.empty() ? none() : tuple(make_array(grid.centre), make_array(grid.width));
    check_status(PyList_Append(list.get(), pair.get()));
  }
  return list;
}

/// Values from an array [tensor dimensions..., time, freq, l, m].
Vells vells_of(PyObject* object, const Evaluation& evaluation) {
  const StateArray array = array_of(object);
  const TensorShape& dims = evaluation.node.dims();
  const auto rank = static_cast<std::size_t>(dims.rank);
  CellShape cells;
  bool fits = array.shape.size() == rank + kAxes;
  for (std::size_t i = 0; fits && i < rank; ++i) fits = array.shape[i] == dims[static_cast<int>(i)];
  for (std::size_t i = 0; fits && i < kAxes; ++i) cells.extent[i] = static_cast<std::int32_t>(array.shape[rank + i]);
  if (!fits)
    throw ShapeError("evaluate() returned an array that does not have the node's dimensions " + to_string(dims));
  Vells values = evaluation.make(array.type, cells);
  double* target = array.type == NumberType::complex ? &values.complex()->re : values.real();
  std::copy(array.data.begin(), array.data.end(), target);
  return values;
}

/// Flags from an array [1 or tensor element, time, freq, l, m] that is not 0 where something is flagged.
Flags flags_of(PyObject* object, const Evaluation& evaluation) {
  const StateArray array = array_of(object);
  if (array.shape.size() != 1 + kAxes) throw ShapeError("evaluate() returned a mask that does not fit");
  CellShape cells;
  for (std::size_t i = 0; i < kAxes; ++i) cells.extent[i] = static_cast<std::int32_t>(array.shape[1 + i]);
  Flags flags(evaluation.pool, static_cast<std::size_t>(array.shape[0]), cells);
  std::transform(array.data.begin(), array.data.end(), flags.data(), [](double flag) { return flag != 0 ? 1 : 0; });
  return flags;
}

/// Adds an array in the form and type of a child's values.
void add_to_adjoint(PyObject* object, Vells& adjoint) {
  const StateArray array = array_of(object);
  if (array.data.size() * sizeof(double) != adjoint.bytes() ||
      (array.type == NumberType::complex) != adjoint.is_complex())
    throw Error("an adjoint does not have the form of its child");
  double* target = adjoint.is_complex() ? &adjoint.complex()->re : adjoint.real();
  for (std::size_t i = 0; i < array.data.size(); ++i) target[i] += array.data[i];
}

Ref array_or_none(const Vells* vells) { return vells == nullptr ? none() : make_array(*vells); }
Ref flags_or_none(const Result* result) { return result->flags.empty() ? none() : make_array(result->flags); }

class PyNode final : public Node {
 public:
  explicit PyNode(const State& state) : Node(state), object_(object_of(state.integer("object"))) {
    for (const auto length : state.integers("dims")) dims_.append(length);
    for (const std::string& name : state.text_list("depends_on")) {
      if (name == "domain")
        dependencies_ |= kDomain;
      else if (name == "data")
        dependencies_ |= kData;
      else if (name == "iteration")
        dependencies_ |= kIteration;
      else
        throw StateError("depends_on may hold \"domain\", \"data\" and \"iteration\", not \"" + name + "\"");
    }
    for (const std::string& name : state.text_list("mixes")) mixed_ |= set_of(axis_from_name(name));
    if (state.integer("version") < 0) dependencies_ |= kCall;
    masked_ = state.boolean("masked");
  }

  static NodeClass info() {
    return {.name = "PyNode",
            .summary = "A node written in Python: an object with evaluate(cells, *children) on NumPy arrays.",
            .result = "dimensions `dims`; whatever evaluate() returns",
            .reference = "MeqTrees: PyNode",
            .children = {{.label = "child", .doc = "given to evaluate() as arrays", .repeated = true}},
            .state = {
                {.name = "object", .type = StateType::integer, .doc = "number of the Python object", .per_node = true},
                {.name = "dims",
                 .type = StateType::array,
                 .default_value = StateArray{{0}, NumberType::real, {}},
                 .doc = "tensor dimensions of the result"},
                {.name = "depends_on",
                 .type = StateType::text_list,
                 .default_value = std::vector<std::string>{"domain"},
                 .doc = "beyond the children: domain, data, iteration"},
                {.name = "mixes",
                 .type = StateType::text_list,
                 .default_value = std::vector<std::string>(kAxisNames.begin(), kAxisNames.end()),
                 .doc = "axes along which a cell of the result may depend on other cells of the children"},
                {.name = "masked",
                 .type = StateType::boolean,
                 .default_value = false,
                 .doc = "whether evaluate() gets masked arrays, masked where children are flagged, and may return one, "
                        "whose mask are the flags of the result"},
                {.name = "version",
                 .type = StateType::integer,
                 .default_value = std::int64_t{-1},
                 .doc = "of what the object holds: results are kept as long as it stays the same; -1: until the call "
                        "of the forest ends",
                 .per_node = true}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const>) const override { return dims_; }
  NodeTraits own_traits() const override {
    return {.depends_on = dependencies_,
            .varies_along = set_of(Axis::time) | set_of(Axis::frequency),
            .mixed_axes = mixed_,
            .single_threaded = true};
  }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    guarded_call([&] { call(evaluation); });
  }
  void pull_back(PullBack& pull) const override {
    guarded_call([&] { call_pull_back(pull); });
  }

 private:
  template <class Body>
  static void guarded_call(const Body& body) {
    with_gil([&] {
      try {
        body();
      } catch (const PythonError&) {
        // Ctrl-C, or what else ends a program, is no failure of the node: it stays set and is what the caller gets.
        if (!PyErr_ExceptionMatches(PyExc_Exception)) throw Cancelled();
        throw Error("Python node failed: " + take_python_error());
      }
    });
  }

  void call_pull_back(PullBack& pull) const {
    const auto& children = pull.inputs.children();
    std::vector<std::int64_t> wanted;
    for (std::size_t i = 0; i < children.size(); ++i) wanted.push_back(pull.child(i) != nullptr);
    const Ref values = list_of(children, [](const Result* child) { return make_array(child->value); });
    const Ref is_wanted = list_of(wanted, [](std::int64_t want) { return boolean(want != 0); });
    const Ref flags = masked_ ? list_of(children, flags_or_none) : none();
    const Ref cells = cells_to_python(pull.inputs.cells());
    const Ref adjoint = make_array(pull.adjoint);
    const Ref arguments =
        tuple(Ref::borrowed(object_->get()), Ref::borrowed(cells.get()), Ref::borrowed(values.get()),
              Ref::borrowed(is_wanted.get()), Ref::borrowed(adjoint.get()),
              integer(static_cast<std::int64_t>(pull.inputs.node.dims().rank)), Ref::borrowed(flags.get()));
    const Ref adjoints = check(PyObject_CallObject(pull_function, arguments.get()));
    std::size_t slot = 0;
    for_each(adjoints.get(), [&](PyObject* one) {
      if (Vells* child = pull.child(slot++); child != nullptr && one != Py_None) add_to_adjoint(one, *child);
    });
  }

  void call(Evaluation& evaluation) const {
    const auto& children = evaluation.children();
    const Ref flags = masked_ ? list_of(children, flags_or_none) : none();
    const auto run = [&](const ParameterId* parameter) {
      const Ref values = list_of(children, [](const Result* child) { return make_array(child->value); });
      const Ref derivatives = parameter == nullptr ? none() : list_of(children, [&](const Result* child) {
        return array_or_none(child->derivative(*parameter));
      });
      const Ref cells = cells_to_python(evaluation.cells());
      const Ref arguments =
          tuple(Ref::borrowed(object_->get()), Ref::borrowed(cells.get()), Ref::borrowed(values.get()),
                Ref::borrowed(derivatives.get()), integer(static_cast<std::int64_t>(evaluation.node.dims().rank)),
                Ref::borrowed(flags.get()));
      const Ref result = check(PyObject_CallObject(call_function, arguments.get()));
      PyObject *values_found, *mask;  // the mask of derivatives does not count
      if (!PyArg_ParseTuple(result.get(), "OO", &values_found, &mask)) throw PythonError();
      if (parameter == nullptr && mask != Py_None) evaluation.set_flags(flags_of(mask, evaluation));
      return vells_of(values_found, evaluation);
    };
    evaluation.set(run(nullptr));
    for (const ParameterId& parameter : evaluation.parameters()) evaluation.add(parameter, run(&parameter));
  }

  std::shared_ptr<const UsedObject> object_;
  TensorShape dims_;
  DependencySet dependencies_ = kNothing;
  AxisSet mixed_ = kNoAxes;
  bool masked_ = false;
};

RIMETREE_REGISTER_NODE(PyNode);

}  // namespace

MakesNodesOf::MakesNodesOf(UsedObjects& used) { used_by_forest = &used; }
MakesNodesOf::~MakesNodesOf() { used_by_forest = nullptr; }

PyObject* set_py_node_calls(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *evaluate, *pull_back, *find;
    if (!PyArg_ParseTuple(arguments, "OOO", &evaluate, &pull_back, &find)) throw PythonError();
    const auto keep = [](PyObject*& kept, PyObject* function) {
      Py_INCREF(function);
      Py_XDECREF(kept);
      kept = function;
    };
    keep(call_function, evaluate), keep(pull_function, pull_back), keep(find_function, find);
    return none();
  });
}

}  // namespace rimetree::python
