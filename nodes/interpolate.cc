// Interpolate: a table at places between its entries, along each of its first k dimensions
//   linear  sum over the 2^k corners around the place of (product of the distances from the opposite corner)
//           table[corner]
//   cubic   the same over 4^k entries with the weights of cubic convolution, exact for polynomials of second order;
//           beyond the first and the last entry the table is continued by the parabola through three
//
// Children: table [n1, .., nk, ..], real or complex; place, real: where to look, in steps of the table from its first
// entry: [k] or [source,k], or one child for each of 2 or 3 indices, [] or [source]. A vector alone is one place: of
// one index for each source the child is [source,1]. State: outside (text, default "nan"): what there is beyond the
// first and the last entry: "nan", "zero", or "edge" (the nearest entry's value); method (text, default "linear"). Up
// to 1e-6 of a step beyond counts as at the entry: it is rounding, of times in seconds of MJD as well, that are counted
// in steps. Result: [..] or [source,..], unit of the table; complex if it is. Flags: union. Derivative: exact, by dual
// numbers; with respect to the place that of the piece towards larger indices. Press et al. 2007, Numerical Recipes,
// 3rd ed., 3.6 (bilinear interpolation); Keys 1981, IEEE Trans. ASSP 29, 1153 (cubic convolution, a = -1/2).
#include <array>
#include <cmath>
#include <limits>

#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

namespace {

enum class Outside : std::uint8_t { nan, zero, edge };  // as in the fields' choices
enum class Method : std::uint8_t { linear, cubic };

// Numbers that record have their own of these two (recorded.h).
template <class T>
T chosen(bool condition, T yes, T no) {
  return condition ? yes : no;
}
/// What does not count must not spoil; it has a say in derivatives only.
template <class T>
T weighed(T weight, T x) {
  if constexpr (std::is_floating_point_v<T>)
    if (weight == 0) return T(0);
  return weight * x;
}

constexpr int kMostIndices = 3;
constexpr int kMostEntries = 4;     // around a place, along one dimension
constexpr double kRounding = 1e-6;  // of places
constexpr const char* kPlaceShape = "[k] or [source,k], k = 1, 2 or 3; or 2 or 3 children [] or [source]";

}  // namespace

struct InterpolateBody {
  int k;  ///< how many indices a place has
  std::size_t n_source;
  std::size_t entry;  ///< elements of one
  Outside outside;
  Method method;

  std::size_t items() const { return n_source; }

  template <class In, class Out>
  void item(const In& in, std::size_t s, Out out) const {
    using Real = typename In::Real;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const TensorShape& table = in.dims(0);
    Corner<Real> corner[kMostEntries * kMostEntries * kMostEntries] = {{Real(0.0), Real(1.0)}};
    Real is_number(1.0), is_inside(1.0);  // or 0
    int n = 1;
    for (int d = 0; d < k; ++d) {
      const Real place = place_of(in, s, d);
      const auto at = value_of(place);
      const double last = static_cast<double>(table[d] - 1), top = std::max(last - 1, 0.0);
      is_number = chosen(at == at, is_number, Real(0.0));
      is_inside = chosen(at >= -kRounding, chosen(at <= last + kRounding, is_inside, Real(0.0)), Real(0.0));
      using std::rint;  // numbers that record have their own
      const Real whole = Real(rint(at));
      const Real floor = chosen(whole > Real(at), whole - 1.0, whole);
      const Real lower = chosen(at >= 0.0, chosen(floor <= Real(top), floor, Real(top)), Real(0.0));
      // What is rounding goes from the value only: there the derivative is that of the piece beside.
      const Real on_table = chosen(at > last, Real(last), chosen(at < 0.0, Real(0.0), Real(at)));
      const Real moves = (place - Real(at)) + (on_table - lower);
      const Real part = chosen(at > last + kRounding, on_table - lower, chosen(at < -kRounding, Real(0.0), moves));
      const double length = table[d];
      const Entries<Real> along =
          method == Method::cubic && table[d] > 2 ? by_cubics(lower, part, table[d]) : by_lines(lower, part, table[d]);
      for (int e = along.count - 1; e >= 0; --e)  // the first, which holds what the others are made of, last
        for (int c = 0; c < n; ++c)
          corner[c + e * n] = {corner[c].index * length + along.first + double(e), corner[c].weight * along.weight[e]};
      n *= along.count;
    }
    const bool is_edge = outside == Outside::edge;
    const Real is_kept = is_edge ? is_number : is_inside;
    const Real other = outside == Outside::zero ? chosen(is_number == Real(1.0), Real(0.0), Real(nan)) : Real(nan);
    for (std::size_t e = 0; e < entry; ++e) {
      auto sum = scaled(corner[0].weight, in.look_up(0, corner[0].index, entry, e));
      for (int c = 1; c < n; ++c) sum = sum + scaled(corner[c].weight, in.look_up(0, corner[c].index, entry, e));
      out[e] = kept(is_kept, sum, other);
    }
  }

 private:
  template <class Real>
  struct Corner {
    Real index;  ///< which entry
    Real weight;
  };
  /// Entries around a place along one dimension, from the `first` on.
  template <class Real>
  struct Entries {
    Real first;
    int count;
    Real weight[kMostEntries];
  };
  /// Of the place that is `part` of a step from entry `lower` on.
  template <class Real>
  static Entries<Real> by_lines(Real lower, Real part, std::int32_t length) {
    if (length < 2) return {lower, 1, {Real(1.0)}};
    return {lower, 2, {1.0 - part, part}};
  }
  /// The same in tables of three entries or more.
  template <class Real>
  static Entries<Real> by_cubics(Real lower, Real part, std::int32_t length) {
    const Real u = part, square = u * u, cube = square * u;
    // What the entries from lower - 1 to lower + 2 count for.
    const Real before = square - 0.5 * (u + cube), at = 1.0 + 1.5 * cube - 2.5 * square;
    const Real after = 2.0 * square + 0.5 * u - 1.5 * cube, beyond = 0.5 * (cube - square);
    // In the first and the last step one of them is that of a parabola through the other three: 3 a - 3 b + c.
    const Real first[] = {at + 3.0 * before, after - 3.0 * before, beyond + before, Real(0.0)};
    const Real last[] = {Real(0.0), before + beyond, at - 3.0 * beyond, after + 3.0 * beyond};
    const Real inside[] = {before, at, after, beyond};
    const auto is_first = lower < Real(0.5);
    const auto is_last = lower > Real(length - 2.5);
    Entries<Real> found{Real(0.0), std::min(length, kMostEntries), {}};
    if (length == 3) {
      for (int e = 0; e < 3; ++e) found.weight[e] = chosen(is_first, first[e], last[e + 1]);
      return found;
    }
    found.first = chosen(is_first, lower, chosen(is_last, lower - 2.0, lower - 1.0));
    for (int e = 0; e < kMostEntries; ++e)
      found.weight[e] = chosen(is_first, first[e], chosen(is_last, last[e], inside[e]));
    return found;
  }
  template <class In>
  typename In::Real place_of(const In& in, std::size_t s, int d) const {
    const auto real_part = [](const auto& x) {
      if constexpr (requires { x.im; })
        return x.re;
      else
        return x;
    };
    if (in.n_children() > 2) {
      const auto child = static_cast<std::size_t>(1 + d);
      return real_part(in(child, in.dims(child).is_scalar() ? 0 : s));
    }
    return real_part(in(1, static_cast<std::size_t>(k) * s + static_cast<std::size_t>(d)));
  }
  template <class Real, class N>
  static N scaled(Real weight, const N& x) {
    if constexpr (requires { x.im; })
      return {weighed(weight, x.re), weighed(weight, x.im)};
    else
      return weighed(weight, x);
  }
  /// A number where the condition is 1; where it is 0, another one.
  template <class Real, class N>
  static N kept(Real condition, const N& x, Real other) {
    if constexpr (requires { x.im; })
      return {chosen(condition == Real(1.0), x.re, other), chosen(condition == Real(1.0), x.im, Real(0.0))};
    else
      return chosen(condition == Real(1.0), x, other);
  }
};

class Interpolate final : public CellNode<Interpolate> {
 public:
  explicit Interpolate(const State& state)
      : CellNode(state),
        outside_(static_cast<Outside>(state.choice("outside"))),
        method_(static_cast<Method>(state.choice("method"))) {}
  static constexpr Numbers kNumbers = Numbers::same;

  static NodeClass info() {
    return {
        .name = "Interpolate",
        .summary = "A table at places between its entries, by lines or cubics along each of its first dimensions.",
        .formula =
            "linear, k = 1: (1 - p + i) table[i] + (p - i) table[i+1], i = floor p; k = 2, 3: the same along "
            "each; cubic: of table[i-1] to table[i+2], with the weights of cubic convolution",
        .result = "the table's other dimensions, or [source, ..]; unit of the table; complex if it is",
        .reference = "Press et al. 2007, Numerical Recipes, 3rd ed., 3.6; Keys 1981, IEEE Trans. ASSP 29, 1153",
        .children = {{.label = "table",
                      .shape = "tensor: [n,..], [n,m,..] or [n,m,l,..]",
                      .unit = "any",
                      .doc = "values on a grid of one, two or three dimensions, each a number or a tensor"},
                     {.label = "place",
                      .shape = kPlaceShape,
                      .unit = "dimensionless",
                      .doc = "where to look: for each dimension of the grid so many steps from its first entry; all "
                             "in one child, or each in one of its own",
                      .repeated = true,
                      .is_real = true}},
        .state = {{.name = "outside",
                   .type = StateType::text,
                   .default_value = std::string("nan"),
                   .doc = "what there is beyond the first and the last entry: nan, zero, or edge (the value of the "
                          "nearest entry)",
                   .choices = {"nan", "zero", "edge"}},
                  {.name = "method",
                   .type = StateType::text,
                   .default_value = std::string("linear"),
                   .doc = "linear, or cubic: smoother, and closer by far where the table is, of four entries along "
                          "each dimension (linear of two); it goes beyond the entries beside kinks",
                   .choices = {"linear", "cubic"}}},
        .minimum_children = 1};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    const Places places = places_in(children);
    const TensorShape& table = *children[0];
    if (table.rank < places.k)
      throw ShapeError("child \"table\" has dimensions " + to_string(table) + ", but places have " +
                       std::to_string(places.k) + " indices" + said_of_vectors(children));
    TensorShape result;
    if (places.n_source >= 0) result.append(places.n_source);
    for (int d = places.k; d < table.rank; ++d) result.append(table[d]);
    for (int d = 0; d < places.k; ++d)
      if (table[d] < 1) throw ShapeError("child \"table\" has dimensions " + to_string(table) + ": it has no entries");
    return result;
  }
  void bind(std::span<const TensorShape* const> children) override {
    const Places places = places_in(children);
    body_ = {places.k, static_cast<std::size_t>(places.n_source >= 0 ? places.n_source : 1), 1, outside_, method_};
    for (int d = places.k; d < children[0]->rank; ++d) body_.entry *= static_cast<std::size_t>((*children[0])[d]);
  }
  InterpolateBody body() const { return body_; }
  bool looks_up(std::size_t child) const override { return child == 0; }

 private:
  struct Places {
    int k = 0;
    std::int32_t n_source = -1;  ///< -1: one place that is no stack
  };
  /// For who means a stack by a vector.
  static std::string said_of_vectors(std::span<const TensorShape* const> children) {
    if (children.size() != 2 || children[1]->rank != 1) return "";
    const std::string n = std::to_string((*children[1])[0]);
    return " (one index for each of " + n + " sources has dimensions [" + n + ",1])";
  }
  static Places places_in(std::span<const TensorShape* const> children) {
    const std::span<const TensorShape* const> given = children.subspan(1);
    const auto refuse = [&](const TensorShape& dims) {
      throw ShapeError("child \"place\" has dimensions " + to_string(dims) + ", expected " + kPlaceShape +
                       said_of_vectors(children));
    };
    Places places{.k = static_cast<int>(given.size())};
    if (places.k == 1 && !given[0]->is_scalar()) {
      const TensorShape& dims = *given[0];
      places.k = dims[dims.rank - 1];
      if (dims.rank > 2 || places.k < 1 || places.k > kMostIndices) refuse(dims);
      if (dims.rank == 2) places.n_source = dims[0];
      return places;
    }
    for (const TensorShape* dims : given) {
      if (dims->rank > 1 || places.k > kMostIndices) refuse(*dims);
      if (dims->is_scalar()) continue;
      if (places.n_source >= 0 && places.n_source != (*dims)[0])
        throw ShapeError("children \"place\" are of " + std::to_string(places.n_source) + " and " +
                         std::to_string((*dims)[0]) + " sources");
      places.n_source = (*dims)[0];
    }
    return places;
  }

  Outside outside_;
  Method method_;
  InterpolateBody body_{};
};

RIMETREE_REGISTER_NODE(Interpolate);

}  // namespace rimetree
