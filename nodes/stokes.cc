// Stokes: the brightness matrix of Stokes parameters
//   linear feeds [[I+Q, U+iV], [U-iV, I-Q]], circular feeds [[I+V, Q+iU], [Q-iU, I-V]]
//
// Child: stokes [4] or [source,4]: I, Q, U, V (Jy). State: feed (string, "linear" or "circular", default "linear").
// Result: [2,2] or [source,2,2], complex, Jy; so that I = (XX+YY)/2.
// Flags: union. Derivative: exact, by dual numbers.
// Smirnov 2011, A&A 527, A106 (brightness matrix), with the factor 1/2 left out as in MeqTrees.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct StokesBody {
  std::size_t sources;
  bool circular;

  std::size_t items() const { return sources; }
  template <class In, class Out>
  void item(const In& in, std::size_t s, Out out) const {
    brightness(in(0, 4 * s), in(0, 4 * s + 1), in(0, 4 * s + 2), in(0, 4 * s + 3), out);
  }
  /// Row-major: XX XY YX YY or RR RL LR LL.
  template <class T, class Out>
  void brightness(T i, T q, T u, T v, Out b) const {
    const T diagonal = circular ? v : q, real = circular ? q : u, imaginary = circular ? u : v;
    b[0] = {i + diagonal, T(0)};
    b[1] = {real, imaginary};
    b[2] = {real, -imaginary};
    b[3] = {i - diagonal, T(0)};
  }
};

class Stokes final : public CellNode<Stokes> {
 public:
  explicit Stokes(const State& state) : CellNode(state), circular_(state.text("feed") == "circular") {}
  static constexpr Numbers kNumbers = Numbers::real_to_complex;

  static NodeClass info() {
    return {.name = "Stokes",
            .algebra = Algebra::brightness,
            .summary = "Brightness matrix (coherency at the source) of Stokes parameters I, Q, U, V.",
            .formula = "linear: [[I+Q, U+iV], [U-iV, I-Q]]; circular: [[I+V, Q+iU], [Q-iU, I-V]]",
            .result = "[2,2] or [source,2,2], complex, unit of the child; I = (XX+YY)/2",
            .reference = "Smirnov 2011, A&A 527, A106 (brightness matrix), without the factor 1/2; MeqTrees Stokes",
            .children = {{.label = "stokes",
                          .shape = "[4] or [source,4]",
                          .unit = "Jy",
                          .doc = "Stokes I, Q, U, V (IAU convention)"}},
            .state = {{.name = "feed",
                       .type = StateType::text,
                       .default_value = std::string("linear"),
                       .doc = "linear (X, Y) or circular (R, L) feeds",
                       .choices = {"linear", "circular"}}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    const TensorShape& stokes = *children[0];
    return stokes.rank == 1 ? TensorShape{2, 2} : TensorShape{stokes[0], 2, 2};
  }

  StokesBody body() const { return {dims().size() / 4, circular_}; }

 private:
  bool circular_;
};

RIMETREE_REGISTER_NODE(Stokes);

}  // namespace rimetree
