// Bodies that read what their class has not declared, or what is not there: what became of it looked like a result.
#include "runtime/cell/cell_node.h"
#include "runtime/cell/cell_reduction.h"
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

struct MistakenUndeclaredBody {
  template <class In, class Out>
  void cell(const In& in, Out out) const {
    using N = typename In::Number;
    out[0] = in(0) + N(in.frequency_hz);
    out[1] = in(0) + N(in.time_s);
    out[2] = in(0);
  }
};

struct MistakenOutsideBody {
  std::size_t child, element;
  template <class In, class Out>
  void cell(const In& in, Out out) const {
    out[0] = in(child, element);
  }
};

/// Frequencies are declared, times are not.
class MistakenUndeclared final : public CellNode<MistakenUndeclared> {
 public:
  using CellNode::CellNode;
  static constexpr Numbers kNumbers = Numbers::real_to_real;
  static constexpr bool kVariesInFrequency = true;
  static NodeClass info() { return {.name = "MistakenUndeclared", .children = {{.label = "x"}}}; }
  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {3}; }
  MistakenUndeclaredBody body() const { return {}; }
};

/// The same, cell by cell.
class MistakenOnHost final : public CellNode<MistakenOnHost> {
 public:
  using CellNode::CellNode;
  static constexpr Numbers kNumbers = Numbers::real_to_real;
  static constexpr bool kVariesInFrequency = true;
  static NodeClass info() { return {.name = "MistakenOnHost", .children = {{.label = "x"}}}; }
  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {3}; }
  template <class N, class Out>
  void cell(const CellInput<N>& in, Out* out) const {
    MistakenUndeclaredBody().cell(in, out);
  }
};

class MistakenOutside final : public CellNode<MistakenOutside> {
 public:
  using CellNode::CellNode;
  static constexpr Numbers kNumbers = Numbers::real_to_real;
  static NodeClass info() {
    return {.name = "MistakenOutside",
            .children = {{.label = "x"}, {.label = "y", .optional = true}},
            .state = {{.name = "child", .type = StateType::integer}, {.name = "element", .type = StateType::integer}}};
  }
  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {}; }
  MistakenOutsideBody body() const {
    return {static_cast<std::size_t>(state().integer("child")), static_cast<std::size_t>(state().integer("element"))};
  }
};

/// The same for the host only, cell by cell.
class MistakenOutsideOnHost final : public CellNode<MistakenOutsideOnHost> {
 public:
  using CellNode::CellNode;
  static constexpr Numbers kNumbers = Numbers::same;
  static NodeClass info() {
    NodeClass found = MistakenOutside::info();
    found.name = "MistakenOutsideOnHost";
    return found;
  }
  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {}; }
  template <class N, class Out>
  void cell(const CellInput<N>& in, Out* out) const {
    out[0] = Out(
        in(static_cast<std::size_t>(state().integer("child")), static_cast<std::size_t>(state().integer("element"))));
  }
};

struct MistakenProductBody {
  static constexpr bool kRealOnly = false, kOfNothing = false, kLinear = false;
  template <class N>
  static void add(N& outcome, N value, std::size_t count) {
    outcome = count == 0 ? value : outcome * value;
  }
  template <class N>
  static N finish(N outcome, std::size_t) {
    return outcome;
  }
};

/// Says nothing of how many children it needs.
class MistakenProduct final : public CellReduction<MistakenProductBody> {
 public:
  using CellReduction::CellReduction;
  static NodeClass info() {
    return {.name = "MistakenProduct",
            .children = {{.label = "x", .repeated = true}},
            .state = reduction_state("The values of several children go into one product")};
  }
};

void add_classes() {
  registry();
  static const auto clashes = Registry::instance().add(
      {with_factory<MistakenUndeclared>(MistakenUndeclared::info()),
       with_factory<MistakenOnHost>(MistakenOnHost::info()), with_factory<MistakenOutside>(MistakenOutside::info()),
       with_factory<MistakenOutsideOnHost>(MistakenOutsideOnHost::info()),
       with_factory<MistakenProduct>(MistakenProduct::info())},
      "test of mistaken bodies");
  ASSERT_TRUE(clashes.empty());
}

TEST(MistakenBodies, CoordinatesThatAreNotDeclaredAreNoNumbers) {
  add_classes();
  for (const char* name : {"MistakenUndeclared", "MistakenOnHost"}) {
    TestForest forest;
    forest.constant("c", 2.0).node("x", name, {"c"});
    const ResultPtr x = forest.evaluate("x");
    expect_ok(x);
    EXPECT_EQ(value_at(x->value, 0, 0, 1).re, 1.1e9 + 2);
    EXPECT_TRUE(std::isnan(value_at(x->value, 1).re)) << name << ": it had been 2";
    EXPECT_EQ(value_at(x->value, 2).re, 2);
  }
}

/// On the host alone it had read any memory, or ended the program.
TEST(MistakenBodies, ReadingWhatIsNotThereIsAFailure) {
  add_classes();
  const struct {
    std::int64_t child, element;
    const char* said;
  } cases[] = {{0, 2, "its body reads element 2 of child 0, which has dimensions [2]"},
               {1, 0, "its body reads child 1, which is not there"},
               {2, 0, "its body reads child 2, which is not there"}};
  for (const char* name : {"MistakenOutside", "MistakenOutsideOnHost"})
    for (const auto& c : cases) {
      TestForest forest;
      forest.constant("c", array({2}, {3, 4}));
      forest.node("x", name, {"c"}, {{"child", c.child}, {"element", c.element}});
      const ResultPtr x = forest.evaluate("x");
      ASSERT_EQ(x->failures.size(), 1u);
      EXPECT_NE(x->failures[0].message.find(c.said), std::string::npos) << name << ": " << x->failures[0].message;
    }
}

/// It ended the program.
TEST(MistakenBodies, ReductionsOfNoChildrenAreErrorsOfTheForest) {
  add_classes();
  EXPECT_THROW(TestForest().node("x", "MistakenProduct").evaluate("x"), ForestError);
  TestForest forest;
  forest.constant("c", array({3}, {2, 3, 4})).node("x", "MistakenProduct", {"c"}, {{"tensor_axis", std::int64_t{0}}});
  forest.request.cells = cells({5e9}, {1e9});
  const ResultPtr x = forest.evaluate("x");
  expect_ok(x);
  EXPECT_EQ(value_at(x->value, 0).re, 24);
}

}  // namespace
}  // namespace rimetree::test
