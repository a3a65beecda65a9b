// Correlation: the visibilities of one baseline among the products of a Correlate node
//   V_pq[a,b] = mean of v_pa v_qb*
//
// Child: products, [product] of Correlate. State: station_1_index, station_2_index (p, q), feeds (of a station: 1 or
// 2), inputs ([station,feed]; empty: station * feeds + feed), quantity ("visibility", "weight" or "count"). Result:
// [2,2] by feeds, as a Spigot gives it: visibilities (complex, unit of the child); "weight": 1/variance of each real
// part of noise that is independent from input to input, 2 n / (V_ii V_jj); "count": n, independent samples. With one
// feed the element (0,0) alone is there. Flags: those of the product; 1 on elements that are not there. Derivative:
// none. Smirnov 2011, A&A 527, A106, eq. 5; noise: Thompson, Moran & Swenson 2017, section 6.2.
#include <algorithm>
#include <array>
#include <cmath>

#include "nodes/correlator/products.h"
#include "runtime/core/classes/ms_baseline.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/error.h"

namespace rimetree {

class Correlation final : public Node {
 public:
  explicit Correlation(const State& state)
      : Node(state),
        feeds_(static_cast<std::size_t>(state.integer("feeds"))),
        quantity_(static_cast<Quantity>(state.choice("quantity"))) {
    const Baseline baseline = baseline_of(state);
    const std::vector<std::int64_t> inputs = state.integers("inputs");
    const std::vector<std::int64_t>& shape = state.array("inputs").shape;
    if (!inputs.empty() && (shape.size() != 2 || shape[1] != static_cast<std::int64_t>(feeds_)))
      throw StateError("state field \"inputs\" must be [station,feed] with " + std::to_string(feeds_) + " feeds");
    for (const auto& [station, to] : {std::pair(baseline.antenna1, &first_), {baseline.antenna2, &second_}})
      for (std::size_t feed = 0; feed < feeds_; ++feed) {
        const std::size_t at = static_cast<std::size_t>(station) * feeds_ + feed;
        if (!inputs.empty() && at >= inputs.size())
          throw StateError("state field \"inputs\" has " + std::to_string(shape[0]) +
                           " stations, but one of the node is " + std::to_string(station));
        (*to)[feed] = inputs.empty() ? static_cast<std::int64_t>(at) : inputs[at];
        if ((*to)[feed] < 0) throw StateError("state field \"inputs\" holds " + std::to_string((*to)[feed]));
      }
  }

  static NodeClass info() {
    return {
        .name = "Correlation",
        .summary = "Visibilities of one baseline among the products of Correlate, their weights or their counts.",
        .formula = "V_pq[a,b] = mean of v_pa v_qb*; weight 2 n / (V_ii V_jj)",
        .result = "[2,2] by feeds: visibilities (complex, unit of the child), weights (1/unit^2) or counts",
        .reference = "Smirnov 2011, A&A 527, A106, eq. 5; Thompson, Moran & Swenson 2017, section 6.2",
        .children = {{.label = "products",
                      .shape = "[product]",
                      .unit = "any",
                      .doc =
                          "of all inputs i >= j, number i (i + 1) / 2 + j: Correlate without gates, or one of them"}},
        .state = with_baseline(
            {{.name = "feeds",
              .type = StateType::integer,
              .default_value = std::int64_t{2},
              .doc = "inputs of a station",
              .limits = {.least = 1, .most = 2}},
             {.name = "inputs",
              .type = StateType::array,
              .default_value = StateArray{{0}, NumberType::real, {}},
              .doc = "[station,feed]: number of the input; empty: station * feeds + feed"},
             {.name = "quantity",
              .type = StateType::text,
              .default_value = std::string("visibility"),
              .doc = "\"visibility\"; \"weight\": 1/variance of each real part, from counts and autocorrelations; or "
                     "\"count\": independent samples",
              .choices = {"visibility", "weight", "count"}}})};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    const TensorShape& from = *children[0];
    const auto inputs = static_cast<std::size_t>((std::sqrt(8.0 * double(from.size()) + 1) - 1) / 2 + 0.5);
    if (correlator::n_products(inputs) != from.size())
      throw ShapeError("child \"products\" has dimensions " + to_string(from) +
                       ", expected [product]: n (n + 1) / 2 of them for n inputs");
    for (std::size_t feed = 0; feed < feeds_; ++feed)
      for (const std::int64_t input : {first_[feed], second_[feed]})
        if (static_cast<std::size_t>(input) >= inputs)
          throw ShapeError("a station has input " + std::to_string(input) + ", but child \"products\" is of " +
                           std::to_string(inputs) + " inputs");
    return {2, 2};
  }
  NodeTraits own_traits() const override { return {.mixed_axes = kNoAxes}; }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    const Result& all = evaluation.child(0);
    const NumberType type = quantity_ == Quantity::visibility ? NumberType::complex : NumberType::real;
    CellShape cells = all.value.cells();
    if (quantity_ != Quantity::visibility && all.weight.empty())
      throw Error("child \"products\" comes without counts: it must be Correlate itself for its weights");
    if (quantity_ == Quantity::count) cells = all.weight.cells();
    Vells value = evaluation.make(type, cells);
    const bool flagged = !all.flags.empty() || feeds_ == 1;
    Flags flags;
    if (flagged) flags = Flags(evaluation.pool, 4, all.flags.empty() ? CellShape{} : all.flags.cells());
    for (std::size_t element = 0; element < 4; ++element) put(element, all, value, flags);
    evaluation.set(std::move(value));
    evaluation.set_flags(std::move(flags));
  }

 private:
  enum class Quantity : std::uint8_t { visibility, weight, count };  // as in the field's choices

  void put(std::size_t element, const Result& all, Vells& value, Flags& flags) const {
    const std::size_t a = element / 2, b = element % 2, n = value.cells().size();
    const bool there = a < feeds_ && b < feeds_;
    if (!flags.empty()) {
      std::int32_t* to = flags.data() + element * flags.cells().size();
      std::fill_n(to, flags.cells().size(), there ? 0 : 1);
    }
    if (!there) {
      if (value.is_complex())
        std::fill_n(value.complex() + element * n, n, Complex<double>());
      else
        std::fill_n(value.real() + element * n, n, 0.0);
      return;
    }
    const auto i = static_cast<std::size_t>(first_[a]), j = static_cast<std::size_t>(second_[b]);
    const std::size_t product = correlator::product_of(std::max(i, j), std::min(i, j));
    if (!flags.empty() && !all.flags.empty())
      std::copy_n(all.flags.plane(product), flags.cells().size(), flags.data() + element * flags.cells().size());
    const auto stride = broadcast_strides(all.weight.empty() ? CellShape{} : all.weight.cells());
    const auto n_frequency = static_cast<std::size_t>(value.cells()[Axis::frequency]);
    for (std::size_t cell = 0; cell < n; ++cell) {
      const std::size_t at = element * n + cell;
      if (quantity_ == Quantity::visibility) {
        const Complex<double> x = all.value.at(product, cell);
        value.complex()[at] = i >= j ? x : conj(x);
        continue;
      }
      const double count = all.weight.at(product, cell / n_frequency * stride[0] + cell % n_frequency * stride[1]).re;
      if (quantity_ == Quantity::count) {
        value.real()[at] = count;
        continue;
      }
      const double power =
          all.value.at(correlator::product_of(i, i), cell).re * all.value.at(correlator::product_of(j, j), cell).re;
      // An autocorrelation's noise is all in one real part.
      value.real()[at] = power > 0 ? (i == j ? 1 : 2) * count / power : 0;
    }
  }

  std::size_t feeds_;
  Quantity quantity_;
  std::array<std::int64_t, 2> first_{}, second_{};
};

RIMETREE_REGISTER_NODE(Correlation);

}  // namespace rimetree
