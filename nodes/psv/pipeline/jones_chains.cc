#include "nodes/psv/pipeline/jones_chains.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace rimetree::psv::pipeline {

Jones<double> jones_of(const JonesFactor& factor, std::size_t source, std::int32_t time, std::int32_t channel) {
  const auto at = [&](int e) {
    const Strided<Complex<double>>& view = factor.view[e];
    const Complex<double> z = view ? view.at(static_cast<std::ptrdiff_t>(source), time, channel) : Complex<double>();
    return factor.is_conjugated ? conj(z) : z;
  };
  return factor.is_matrix ? Jones<double>{at(0), at(1), at(2), at(3)} : Jones<double>{at(0), {}, {}, at(0)};
}

Jones<double> brightness_of(const Sky<double>& sky, std::size_t source, std::int32_t channel) {
  const std::size_t f = sky.n_weight_channel == 1 ? 0 : static_cast<std::size_t>(channel);
  return jones_from(&sky.brightness[(source * sky.n_weight_channel + f) * 8]);
}

namespace {

/// Collects the chains of one side.
class ChainList {
 public:
  ChainList(bool is_q, JonesChains::OfSide& to) : is_q_(is_q), to_(to) {}

  /// The next baseline.
  void add(const JonesTerms& jones, std::int32_t baseline, const JonesAxes& longest) {
    const JonesPair<double>* pairs = jones.pairs + std::ptrdiff_t{baseline} * jones.n_pair;
    JonesChains::Chain chain;
    Name name;
    for (int k = 0; k < jones.n_pair; ++k) {
      JonesFactor factor;
      const auto& view = is_q_ ? pairs[k].q : pairs[k].p;
      std::copy(view, view + 4, factor.view);
      factor.is_matrix = is_q_ ? pairs[k].q_is_matrix : pairs[k].p_is_matrix;
      factor.is_conjugated = is_q_ ? pairs[k].q_is_conjugated : pairs[k].p_is_conjugated;
      factor.is_transposed = is_q_ ? pairs[k].q_is_transposed : pairs[k].p_is_transposed;
      factor.target = jones.target_of(pairs + k, is_q_);
      if (jones.tangents != nullptr) add_tangent(jones.tangents[pairs + k - jones.pairs], factor);
      if (jones.targets.slopes != nullptr)
        factor.slopes = jones.targets.slopes[2 * (pairs + k - jones.pairs) + (is_q_ ? 1 : 0)];
      // Strides follow from the data within a batch: its baselines have children of the same dimensions.
      for (const auto& one : factor.tangent) name.emplace_back(one.data, -1, factor.tangent_is_conjugated);
      for (const auto& one : factor.view) {
        name.emplace_back(one.data, factor.target, factor.is_conjugated);
        if (one && one.time != 0) to_.axes.n_time = longest.n_time;
        if (one && one.channel != 0) to_.axes.n_channel = longest.n_channel;
      }
      chain.push_back(factor);
    }
    const auto [known, is_new] = known_.try_emplace(name, static_cast<std::int32_t>(to_.chains.size()));
    if (is_new) to_.chains.push_back(std::move(chain));
    to_.of_baseline.push_back(known->second);
  }

 private:
  void add_tangent(const JonesPair<double>& pair, JonesFactor& factor) const {
    const auto& view = is_q_ ? pair.q : pair.p;
    std::copy(view, view + 4, factor.tangent);
    factor.tangent_is_conjugated = is_q_ ? pair.q_is_conjugated : pair.p_is_conjugated;
  }
  /// Views and targets.
  using Name = std::vector<std::tuple<const void*, std::ptrdiff_t, bool>>;

  bool is_q_;
  JonesChains::OfSide& to_;
  std::map<Name, std::int32_t> known_;
};

}  // namespace

JonesChains jones_chains(const JonesTerms& jones, const Rows& rows, std::size_t n_channel) {
  JonesChains chains;
  if (jones.n_pair == 0 || rows.n_row == 0) return chains;
  const std::int32_t n_baseline = *std::max_element(rows.baseline, rows.baseline + rows.n_row) + 1;
  const JonesAxes longest{*std::max_element(rows.time, rows.time + rows.n_row) + 1,
                          static_cast<std::int32_t>(n_channel)};
  ChainList left(false, chains.left), right(true, chains.right);
  for (std::int32_t b = 0; b < n_baseline; ++b) left.add(jones, b, longest), right.add(jones, b, longest);
  return chains;
}

template <class T>
std::vector<Complex<T>> products_of(const JonesChains& chains, bool right, bool with_brightness, const JonesAxes& axes,
                                    const Sky<double>& sky, const ProductRange& range, ThreadPool& threads) {
  const std::size_t n_source = range.source_end - range.source_begin, n_chain = chains.of(right).chains.size();
  const bool varies = axes.n_channel > 1;
  const auto n_time = static_cast<std::size_t>(axes.n_time);
  const auto n_channel = static_cast<std::size_t>(varies ? range.n_channel : 1);
  std::vector<Complex<T>> all(n_chain * n_time * n_channel * n_source * 4);
  threads.parallel_for(n_chain * n_time * n_channel, 1, [&](std::size_t first, std::size_t last, int) {
    for (std::size_t i = first; i < last; ++i) {
      Complex<T>* to = all.data() + i * n_source * 4;
      const auto f = static_cast<std::int32_t>(i % n_channel) + (varies ? range.first_channel : 0);
      const auto t = static_cast<std::int32_t>(i / n_channel % n_time);
      for (std::size_t s = range.source_begin; s < range.source_end; ++s, to += 4) {
        Jones<double> j = with_brightness ? brightness_of(sky, s, f) : Jones<double>{1.0, 0.0, 0.0, 1.0};
        for (const JonesFactor& one : chains.of(right).chains[i / n_channel / n_time]) {
          const Jones<double> factor = jones_of(one, sky.order[s], t, f);
          j = right ? j * factor : factor * j;
        }
        for_each_element(j, [to](int e, Complex<double> z) { to[e] = {static_cast<T>(z.re), static_cast<T>(z.im)}; });
      }
    }
  });
  return all;
}

template std::vector<Complex<float>> products_of(const JonesChains&, bool, bool, const JonesAxes&, const Sky<double>&,
                                                 const ProductRange&, ThreadPool&);
template std::vector<Complex<double>> products_of(const JonesChains&, bool, bool, const JonesAxes&, const Sky<double>&,
                                                  const ProductRange&, ThreadPool&);

}  // namespace rimetree::psv::pipeline
