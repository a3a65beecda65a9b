#include "tests/support/test_nodes.h"

#include <cmath>
#include <cstring>

#include "runtime/cell/cell_node.h"
#include "runtime/core/error.h"
#include "runtime/math/complex.h"

namespace rimetree::test {

void CallLog::record(const Node& node) {
  {
    const std::lock_guard lock(mutex_);
    ++calls_[node.name()];
  }
  if (on_call) on_call(node);
}
void CallLog::record_batch(std::size_t size) {
  const std::lock_guard lock(mutex_);
  batches_.push_back(size);
}
int CallLog::calls(const std::string& node) const {
  const std::lock_guard lock(mutex_);
  const auto it = calls_.find(node);
  return it == calls_.end() ? 0 : it->second;
}
int CallLog::total() const {
  const std::lock_guard lock(mutex_);
  int sum = 0;
  for (const auto& [name, count] : calls_) sum += count;
  return sum;
}
std::vector<std::string> CallLog::evaluated() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, count] : calls_) names.push_back(name);
  return names;
}
std::vector<std::size_t> CallLog::batches() const {
  const std::lock_guard lock(mutex_);
  return batches_;
}
void CallLog::clear() {
  const std::lock_guard lock(mutex_);
  calls_.clear();
  batches_.clear();
}

namespace {

using LogPtr = std::shared_ptr<CallLog>;
constexpr std::int64_t kNoFlag = 0;

Vells filled(const Evaluation& evaluation, double value) {
  Vells target = evaluation.make(NumberType::real, {});
  for (std::size_t i = 0; i < target.size(); ++i) target.real()[i] = value;
  return target;
}

class Leaf final : public Node {
 public:
  Leaf(const State& state, LogPtr log) : Node(state), log_(std::move(log)) {
    for (const std::string& what : state.text_list("depends_on")) {
      if (what == "domain")
        own_ |= kDomain;
      else if (what == "data")
        own_ |= kData;
      else if (what == "parameter")
        own_ |= kParameter | kSolvable;
      else if (what == "iteration")
        own_ |= kIteration;
      else
        throw StateError("no such dependency: " + what);
    }
  }
  static NodeClass info() {
    return {.name = "Leaf",
            .state = {{.name = "value", .type = StateType::real, .default_value = 1.0, .per_node = true},
                      {.name = "depends_on", .type = StateType::text_list, .default_value = std::vector<std::string>{}},
                      {.name = "flag", .type = StateType::integer, .default_value = kNoFlag, .per_node = true},
                      {.name = "missing", .type = StateType::boolean, .default_value = false, .per_node = true}}};
  }
  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {}; }
  NodeTraits own_traits() const override {
    if (own_ & kDomain) return {.depends_on = own_, .varies_along = set_of(Axis::time) | set_of(Axis::frequency)};
    return {.depends_on = own_};
  }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    log_->record(*this);
    if (state().boolean("missing")) return evaluation.set_missing();
    double value = state().real("value");
    if (own_ & kData) value += static_cast<double>(evaluation.request.data_id);
    if (own_ & kIteration) value += static_cast<double>(evaluation.request.iteration);
    CellShape shape;
    if (own_ & kDomain) shape = evaluation.cells().shape();
    Vells target = evaluation.make(NumberType::real, shape);
    std::size_t i = 0;
    for (int t = 0; t < shape[Axis::time]; ++t)
      for (int f = 0; f < shape[Axis::frequency]; ++f, ++i) {
        target.real()[i] = value;
        if (own_ & kDomain)
          target.real()[i] += evaluation.cells().axis(Axis::time).centre[static_cast<std::size_t>(t)] + 1e-3 * f;
      }
    evaluation.set(std::move(target));
    if ((own_ & kParameter) && evaluation.request.derivatives) evaluation.add({index(), 0}, filled(evaluation, 1));
    if (const auto bits = static_cast<std::int32_t>(state().integer("flag"))) {
      Flags flags(evaluation.pool, 1, shape);
      flags.data()[0] = bits;  // the first cell only
      evaluation.set_flags(std::move(flags));
    }
  }

 private:
  LogPtr log_;
  DependencySet own_ = kNothing;
};

struct CombineBody {
  template <class N>
  static N apply(N a, N b) {
    return a + b;
  }
};

class Combine final : public CellNode<Combine> {
 public:
  Combine(const State& state, LogPtr log) : CellNode(state), log_(std::move(log)) {}
  static NodeClass info() {
    return {.name = "Combine",
            .children = {{.label = "term", .repeated = true}},
            .state = {{.name = "factor", .type = StateType::real, .default_value = 1.0}},
            .minimum_children = 1};
  }
  static constexpr Numbers kNumbers = Numbers::real_to_real;
  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    for (const TensorShape* child : children)
      if (!child->is_scalar()) throw ShapeError("child has dimensions " + to_string(*child) + ", expected a scalar");
    return {};
  }
  template <class N, class Out>
  void cell(const CellInput<N>& in, Out* out) const {
    N sum = N(0);
    for (std::size_t child = 0; child < in.n_children(); ++child) sum = sum + in(child);
    out[0] = N(state().real("factor")) * sin(sum);
  }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    log_->record(*this);
    CellNode::evaluate(evaluation);
  }

 private:
  LogPtr log_;
};

class Slots final : public Node {
 public:
  Slots(const State& state, LogPtr log) : Node(state), log_(std::move(log)) {}
  static NodeClass info() {
    return {.name = "Slots",
            .children = {{.label = "a"}, {.label = "b", .optional = true}, {.label = "rest", .repeated = true}},
            .state = {{.name = "skips", .type = StateType::boolean, .default_value = false}}};
  }
  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {3}; }
  NodeTraits own_traits() const override { return {.skips_missing = state().boolean("skips")}; }

 protected:
  /// [a or -1, b or -1, the rest as the digits of a decimal number].
  void evaluate(Evaluation& evaluation) const override {
    log_->record(*this);
    Vells target = evaluation.make(NumberType::real, {});
    const auto value = [&](std::size_t slot) { return evaluation.child(slot).value.real()[0]; };
    target.real()[0] = evaluation.has_child(0) ? value(0) : -1;
    target.real()[1] = evaluation.has_child(1) ? value(1) : -1;
    target.real()[2] = 0;
    for (std::size_t slot = 2; slot < evaluation.children().size(); ++slot)
      target.real()[2] = 10 * target.real()[2] + value(slot);
    evaluation.set(std::move(target));
  }

 private:
  LogPtr log_;
};

class Optional final : public Node {
 public:
  Optional(const State& state, LogPtr log) : Node(state), log_(std::move(log)) {}
  static NodeClass info() { return {.name = "Optional", .children = {{.label = "a", .optional = true}}}; }
  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {}; }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    log_->record(*this);
    evaluation.set(filled(evaluation, evaluation.has_child(0) ? evaluation.child(0).value.real()[0] : -1));
  }

 private:
  LogPtr log_;
};

class Whole final : public Node {
 public:
  Whole(const State& state, LogPtr log) : Node(state), log_(std::move(log)) {}
  static NodeClass info() {
    return {.name = "Whole",
            .children = {{.label = "x"}},
            .state = {{.name = "scale", .type = StateType::real, .default_value = 1.0},
                      {.name = "throws", .type = StateType::boolean, .default_value = false},
                      {.name = "tag", .type = StateType::integer, .default_value = std::int64_t{0}, .per_node = true}}};
  }
  TensorShape result_dims(std::span<const TensorShape* const> children) const override { return *children[0]; }
  std::unique_ptr<BatchKernel> make_kernel() const override { return std::make_unique<Kernel>(log_, state()); }

 protected:
  void evaluate(Evaluation&) const override { throw std::logic_error("only batches are expected"); }

 private:
  class Kernel final : public BatchKernel {
   public:
    Kernel(LogPtr log, const State& state) : log_(std::move(log)), state_(state) {}
    void evaluate(BatchContext&, std::span<Evaluation* const> batch) override {
      log_->record_batch(batch.size());
      if (state_.boolean("throws")) throw std::runtime_error("the whole batch is spoilt");
      for (Evaluation* evaluation : batch) {
        log_->record(evaluation->node);
        evaluation->set(filled(*evaluation, state_.real("scale") * evaluation->child(0).value.real()[0]));
      }
    }

   private:
    LogPtr log_;
    State state_;
  };

  LogPtr log_;
};

class Always final : public Node {
 public:
  Always(const State& state, LogPtr log) : Node(state), log_(std::move(log)) {}
  static NodeClass info() { return {.name = "Always", .children = {{.label = "x"}}}; }
  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {}; }
  NodeTraits own_traits() const override { return {.always_evaluates = true, .single_threaded = true}; }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    log_->record(*this);
    evaluation.set(filled(evaluation, evaluation.child(0).value.real()[0]));
  }

 private:
  LogPtr log_;
};

class Shaped final : public Node {
 public:
  Shaped(const State& state, LogPtr log) : Node(state), log_(std::move(log)) {}
  static NodeClass info() {
    return {.name = "Shaped", .state = {{.name = "shape", .type = StateType::array, .doc = "the dimensions"}}};
  }
  TensorShape result_dims(std::span<const TensorShape* const>) const override {
    TensorShape dims;
    for (const std::int64_t extent : state().integers("shape")) dims.append(static_cast<std::int32_t>(extent));
    return dims;
  }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    log_->record(*this);
    evaluation.set(filled(evaluation, 0));
  }

 private:
  LogPtr log_;
};

class Pair final : public ElementwiseNode<CombineBody> {
 public:
  Pair(const State& state, LogPtr log) : ElementwiseNode(state), log_(std::move(log)) {}
  static NodeClass info() {
    return {.name = "Pair", .children = {{.label = "a", .shape = "any"}, {.label = "b", .shape = "that of a"}}};
  }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    log_->record(*this);
    ElementwiseNode::evaluate(evaluation);
  }

 private:
  LogPtr log_;
};

class Awkward final : public Node {
 public:
  Awkward(const State& state, LogPtr log) : Node(state), log_(std::move(log)) {}
  static NodeClass info() {
    return {.name = "Awkward", .state = {{.name = "how", .type = StateType::text, .per_node = true}}};
  }
  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {2}; }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    log_->record(*this);
    const std::string& how = state().text("how");
    if (how == "throws") throw std::runtime_error("it went wrong");
    if (how == "throws a number") throw 42;
    if (how == "runs out of memory") throw memory::OutOfMemory("test device", 12345);
    if (how == "gives nothing") return;
    CellShape cells;
    if (how == "wrong cells") cells[Axis::time] = evaluation.cells().shape()[Axis::time] + 1;
    const TensorShape dims = how == "wrong dimensions" ? TensorShape{3} : TensorShape{2};
    const auto zeros = [&](const TensorShape& wanted, const CellShape& on) {
      Vells target(evaluation.pool, NumberType::real, wanted, on);
      std::memset(target.real(), 0, target.bytes());
      return target;
    };
    evaluation.set(zeros(dims, cells));
    if (how == "wrong flag cells") {
      cells[Axis::frequency] = evaluation.cells().shape()[Axis::frequency] + 1;
      evaluation.set_flags(Flags(evaluation.pool, 1, cells));
    }
    if (how == "wrong flag planes") evaluation.set_flags(Flags(evaluation.pool, 3, cells));
    if (how == "wrong derivative dimensions") evaluation.add({7, 0}, zeros({3}, cells));
    if (how == "wrong derivative cells") {
      cells[Axis::time] = evaluation.cells().shape()[Axis::time] + 1;
      evaluation.add({7, 0}, zeros({2}, cells));
    }
    if (how == "unsorted derivatives" || how == "a derivative twice") {
      evaluation.add({9, how == "a derivative twice" ? 0 : 1}, zeros({2}, cells));
      evaluation.add({9, 0}, zeros({2}, cells));
      evaluation.add({2, 5}, zeros({2}, cells));
    }
  }

 private:
  LogPtr log_;
};

template <class T>
NodeClass logging(const LogPtr& log) {
  NodeClass node_class = T::info();
  node_class.make = [log](const State& state) -> std::shared_ptr<Node> { return std::make_shared<T>(state, log); };
  return node_class;
}

}  // namespace

void add_test_nodes(Registry& registry, LogPtr log) {
  registry.add(
      {logging<Leaf>(log), logging<Combine>(log), logging<Slots>(log), logging<Optional>(log), logging<Whole>(log),
       logging<Always>(log), logging<Shaped>(log), logging<Pair>(log), logging<Awkward>(log)},
      "test nodes");
}

void ForestUnderTest::node(const std::string& name, const std::string& class_name,
                           const std::vector<std::string>& children, const std::map<std::string, StateValue>& state) {
  NodeSpec spec{name, class_name, state, {}, "script.py:" + std::to_string(specs.size() + 1)};
  for (const std::string& child : children) spec.children.emplace_back("", child);
  specs.push_back(std::move(spec));
}

std::vector<BuildError> ForestUnderTest::errors() const {
  try {
    build();
  } catch (const ForestError& error) {
    return error.errors();
  }
  return {};
}

std::shared_ptr<const Cells> grid(int n_time, int n_frequency, double first_time_s) {
  AxisGrid time, frequency;
  for (int i = 0; i < n_time; ++i) {
    time.centre.push_back(first_time_s + i);
    time.width.push_back(1);
  }
  for (int i = 0; i < n_frequency; ++i) {
    frequency.centre.push_back(1e9 + 1e6 * i);
    frequency.width.push_back(1e6);
  }
  return std::make_shared<const Cells>(Cells::time_frequency(std::move(time), std::move(frequency)));
}

Request request(std::shared_ptr<const Cells> cells) {
  Request result;
  result.cells = std::move(cells);
  return result;
}

std::vector<double> values(const Result& result) {
  const std::size_t count = result.value.size() * (result.value.is_complex() ? 2 : 1);
  return {result.value.real(), result.value.real() + count};
}

}  // namespace rimetree::test
