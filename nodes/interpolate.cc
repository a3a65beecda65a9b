// Interpolate: a table at places between its entries, linear along each of its first k dimensions
//   sum over the 2^k corners around the place of (product of the distances from the opposite corner) table[corner]
//
// Children: table [n1, .., nk, ..], real or complex; place [k] or [source,k], real: where to look, in steps of the
// table from its first entry, as the k indices of one. State: outside (text, default "nan"): what there is beyond the
// first and the last entry: "nan", "zero", or "edge" (the nearest entry's value). Result: [..] or [source,..], unit of
// the table; complex if it is. Flags: union. Derivative: exact, by dual numbers; with respect to the place that of the
// piece towards larger indices. Press et al. 2007, Numerical Recipes, 3rd ed., 3.6 (bilinear interpolation).
#include <cmath>
#include <limits>

#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

class Interpolate final : public CellNode<Interpolate> {
 public:
  explicit Interpolate(const State& state) : CellNode(state), outside_(static_cast<Outside>(state.choice("outside"))) {}
  static constexpr Numbers kNumbers = Numbers::same;

  static NodeClass info() {
    return {.name = "Interpolate",
            .summary = "A table at places between its entries, linear along each of its first dimensions.",
            .formula = "k = 1: (1 - p + i) table[i] + (p - i) table[i+1], i = floor p; k = 2, 3: the same along each",
            .result = "the table's other dimensions, or [source, ..]; unit of the table; complex if it is",
            .reference = "Press et al. 2007, Numerical Recipes, 3rd ed., 3.6",
            .children = {{.label = "table",
                          .shape = "tensor: [n,..], [n,m,..] or [n,m,l,..]",
                          .unit = "any",
                          .doc = "values on a grid of one, two or three dimensions, each a number or a tensor"},
                         {.label = "place",
                          .shape = "[1], [2], [3], [source,1], [source,2] or [source,3]",
                          .unit = "dimensionless",
                          .doc = "where to look: for each dimension of the grid so many steps from its first entry",
                          .is_real = true}},
            .state = {{.name = "outside",
                       .type = StateType::text,
                       .default_value = std::string("nan"),
                       .doc = "what there is beyond the first and the last entry: nan, zero, or edge (the value of the "
                              "nearest entry)",
                       .choices = {"nan", "zero", "edge"}}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    const TensorShape &table = *children[0], &place = *children[1];
    const int k = place[place.rank - 1];
    if (table.rank < k)
      throw ShapeError("child \"table\" has dimensions " + to_string(table) + ", but places have " + std::to_string(k) +
                       " indices");
    TensorShape result;
    if (place.rank == 2) result.append(place[0]);
    for (int d = k; d < table.rank; ++d) result.append(table[d]);
    for (int d = 0; d < k; ++d)
      if (table[d] < 1) throw ShapeError("child \"table\" has dimensions " + to_string(table) + ": it has no entries");
    return result;
  }

  template <class N, class Out>
  void cell(const CellInput<N>& in, Out* out) const {
    const TensorShape &table = in.dims(0), &place = in.dims(1);
    const int k = place[place.rank - 1];
    std::size_t entry = 1;  // numbers of one entry
    for (int d = k; d < table.rank; ++d) entry *= static_cast<std::size_t>(table[d]);
    const std::size_t sources = place.rank == 2 ? static_cast<std::size_t>(place[0]) : 1;
    for (std::size_t s = 0; s < sources; ++s) look_up(in, table, k, s, entry, out + s * entry);
  }

 private:
  enum class Outside : std::uint8_t { nan, zero, edge };  // as in the field's choices

  template <class N>
  void look_up(const CellInput<N>& in, const TensorShape& table, int k, std::size_t s, std::size_t entry,
               N* out) const {
    using Real = typename CellInput<N>::Real;
    std::size_t first = 0, steps[3] = {};  // of the lower corner, and to the next entry along each dimension
    Real parts[3];                         // how far the place is from there
    bool is_inside = true, is_number = true;
    for (int d = 0; d < k; ++d) {
      const Real given = real_part(in(1, static_cast<std::size_t>(k) * s + static_cast<std::size_t>(d)));
      const auto last = static_cast<double>(table[d] - 1), at = static_cast<double>(value_of(given));
      is_inside = is_inside && at >= 0 && at <= last;
      is_number = is_number && !std::isnan(at);
      const double lower = at >= 0 ? std::min(std::floor(at), std::max(last - 1, 0.0)) : 0.0;
      parts[d] = at > last ? Real(last - lower) : at < 0 ? Real(0.0) : given - Real(lower);
      first = first * static_cast<std::size_t>(table[d]) + static_cast<std::size_t>(lower);
      for (int e = 0; e < d; ++e) steps[e] *= static_cast<std::size_t>(table[d]);
      steps[d] = table[d] > 1 ? 1 : 0;
    }
    for (std::size_t e = 0; e < entry; ++e) {
      if (!is_number || (!is_inside && outside_ != Outside::edge)) {
        out[e] = N(Real(is_number && outside_ == Outside::zero ? 0.0 : std::numeric_limits<double>::quiet_NaN()));
        continue;
      }
      N sum = N(Real(0.0));
      for (int corner = 0; corner < 1 << k; ++corner) {
        std::size_t index = first;
        Real weight = Real(1.0);
        for (int d = 0; d < k; ++d) {
          const bool upper = corner >> d & 1;
          index += upper ? steps[d] : 0;
          weight = weight * (upper ? parts[d] : Real(1.0) - parts[d]);
        }
        // What does not count must not spoil; it has a say in derivatives only.
        if constexpr (std::is_floating_point_v<Real>)
          if (weight == 0) continue;
        sum = sum + N(weight) * in(0, index * entry + e);
      }
      out[e] = sum;
    }
  }
  template <class N>
  static auto real_part(N x) {
    if constexpr (requires { x.im; })
      return x.re;
    else
      return x;
  }

  Outside outside_;
};

RIMETREE_REGISTER_NODE(Interpolate);

}  // namespace rimetree
