// Shapelets: visibility of a source that is a sum of shapelets, at its own position, relative to that of a point of the
// flux that the coefficients are multiples of,
//   sum c_jk i^(j+k) phi_j(2 pi beta_1 u_1) phi_k(2 pi beta_2 u_2),  phi_n(x) = H_n(x) exp(-x^2/2) / sqrt(2^n n!)
// with H_n the Hermite polynomials, u_1 along the first axis and u_2 along the second, in wavelengths. On the sky the
// source is sum c_jk phi_j(x_1/beta_1) phi_k(x_2/beta_2) / (2 pi beta_1 beta_2).
//
// Children: coefficients [j,k] or [source,j,k]; axes [3] or [source,3]: full width at half maximum of the first
// function along both axes, beta sqrt(8 ln 2) (rad), and position angle of the first one, north through east (rad); the
// second is 90 degrees before it, to the west where the first is to the north. uvw [3], or [2,3] of which the first row
// counts (m). directions [2,3] or [source,2,3]: unit vectors to the east and to the north at the source as coordinates
// u, v, w (UVW); default: those at the phase centre. State: none. Result: scalar or [source], complex, dimensionless;
// varies along freq. Flags: union. Derivative: exact, by dual numbers.
//
// Refregier 2003, MNRAS 338, 35; axes and coefficients as Line et al. 2020, PASA 37, e027.
#include <cmath>
#include <vector>

#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/math/conventions.h"

namespace rimetree {

struct ShapeletsBody {
  std::size_t sources, first, second;  ///< and how many functions there are along both axes
  bool directions_of_sources;

  std::size_t items() const { return sources; }
  template <class In, class Out>
  void item(const In& in, std::size_t s, Out out) const {
    using N = typename In::Number;
    const N major = in(1, 3 * s), minor = in(1, 3 * s + 1), angle = in(1, 3 * s + 2);
    const auto along = [&](std::size_t axis) {
      const std::size_t at = directions_of_sources ? 6 * s + 3 * axis : 3 * axis;
      return in.has(3) ? N(in(3, at) * in(2, 0) + in(3, at + 1) * in(2, 1) + in(3, at + 2) * in(2, 2)) : N(in(2, axis));
    };
    const N to_east = along(0), to_north = along(1), c = cos(angle), d = sin(angle);
    const N per_metre = N(2 * kPi / std::sqrt(8 * std::log(2.0)) / kSpeedOfLight_m_s * in.frequency_hz);
    const std::vector<N> phi_1 = functions(N(major * (to_east * d + to_north * c)) * per_metre, first);
    const std::vector<N> phi_2 = functions(N(minor * (to_north * d - to_east * c)) * per_metre, second);
    // Even and odd orders apart: i^(j+k) makes one of them real and the other imaginary.
    N part[2] = {N(0.0), N(0.0)};
    for (std::size_t j = 0; j < first; ++j) {
      N sum[2] = {N(0.0), N(0.0)};
      for (std::size_t k = 0; k < second; ++k) {
        const N term = in(0, (s * first + j) * second + k) * phi_2[k];
        sum[k % 2] = k % 4 < 2 ? N(sum[k % 2] + term) : N(sum[k % 2] - term);
      }
      // i^j (sum[0] + i sum[1])
      const bool negative = j % 4 >= 2;
      const N even = phi_1[j] * sum[0], odd = phi_1[j] * sum[1];
      const std::size_t real = j % 2;
      part[real] = negative ? N(part[real] - even) : N(part[real] + even);
      part[1 - real] = (real == 1) != negative ? N(part[1 - real] - odd) : N(part[1 - real] + odd);
    }
    *out = Complex<N>(part[0], part[1]);
  }

 private:
  /// phi_0 .. phi_(n - 1) at x.
  template <class N>
  static std::vector<N> functions(const N& x, std::size_t n) {
    std::vector<N> phi;
    phi.reserve(n);
    phi.push_back(exp(x * x * N(-0.5)));
    if (n > 1) phi.push_back(x * phi[0] * N(std::sqrt(2.0)));
    for (std::size_t k = 2; k < n; ++k) {
      const auto order = static_cast<double>(k);
      phi.push_back(x * phi[k - 1] * N(std::sqrt(2 / order)) - phi[k - 2] * N(std::sqrt((order - 1) / order)));
    }
    return phi;
  }
};

class Shapelets final : public CellNode<Shapelets> {
 public:
  using CellNode::CellNode;
  static constexpr Numbers kNumbers = Numbers::real_to_complex;
  static constexpr bool kVariesInFrequency = true;

  static NodeClass info() {
    return {.name = "Shapelets",
            .summary = "Factor by which the visibility of a source that is a sum of shapelets differs from a point's.",
            .formula =
                "sum c_jk i^(j+k) phi_j(2 pi beta_1 u_1) phi_k(2 pi beta_2 u_2), phi_n(x) = H_n(x) exp(-x^2/2) / "
                "sqrt(2^n n!), u_1 and u_2 along the axes in wavelengths",
            .result = "scalar or [source], complex, dimensionless; varies along freq",
            .reference =
                "Refregier 2003, MNRAS 338, 35; axes and coefficients as Line et al. 2020, PASA 37, e027; "
                "docs/conventions.md, shapelets",
            .children = {{.label = "coefficients",
                          .shape = "[j,k] or [source,j,k]",
                          .unit = "dimensionless",
                          .doc = "what each function counts"},
                         {.label = "axes",
                          .shape = "[3] or [source,3]",
                          .unit = "rad",
                          .doc = "full width at half maximum of the first function along both axes, beta sqrt(8 ln 2), "
                                 "and position angle of the first one, north through east; the second axis is 90 "
                                 "degrees before it"},
                         {.label = "uvw",
                          .shape = "[3] or [2,3]",
                          .unit = "m",
                          .doc = "coordinates of the baseline; of [2,3] only the first row is used"},
                         {.label = "directions",
                          .shape = "[2,3] or [source,2,3]",
                          .unit = "dimensionless",
                          .doc = "unit vectors to the east and to the north at the source as coordinates u, v, w; "
                                 "default: those at the phase centre",
                          .optional = true}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    const TensorShape& coefficients = *children[0];
    const int rank = coefficients.rank;
    if (coefficients[rank - 2] < 1 || coefficients[rank - 1] < 1)
      throw ShapeError("child \"coefficients\" has dimensions " + to_string(coefficients) + ", expected one at least");
    const auto require_rank = [&](std::size_t child, int expected) {
      if (children[child]->rank != expected)
        throw ShapeError("child \"" + node_class().children[child].label + "\" has dimensions " +
                         to_string(*children[child]) + ", but the coefficients " + to_string(coefficients));
    };
    require_rank(1, rank - 1);
    if (children[3] != nullptr && rank == 2) require_rank(3, 2);
    return rank == 2 ? TensorShape{} : TensorShape{coefficients[0]};
  }
  void bind(std::span<const TensorShape* const> children) override {
    const TensorShape& coefficients = *children[0];
    first_ = static_cast<std::size_t>(coefficients[coefficients.rank - 2]);
    second_ = static_cast<std::size_t>(coefficients[coefficients.rank - 1]);
    directions_of_sources_ = children[3] != nullptr && children[3]->rank == 3;
  }

  ShapeletsBody body() const { return {dims().size(), first_, second_, directions_of_sources_}; }

 private:
  std::size_t first_ = 0, second_ = 0;
  bool directions_of_sources_ = false;
};

RIMETREE_REGISTER_NODE(Shapelets);

}  // namespace rimetree
