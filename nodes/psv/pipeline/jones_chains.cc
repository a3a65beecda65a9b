#include "nodes/psv/pipeline/jones_chains.h"

#include <algorithm>
#include <map>

namespace rimetree::psv {

Jones<double> jones_of(const JonesFactor& factor, std::size_t source, std::int32_t time, std::int32_t channel) {
  const auto at = [&](int e) {
    return factor.view[e] ? factor.view[e].at(static_cast<std::ptrdiff_t>(source), time, channel) : Complex<double>();
  };
  return factor.is_matrix ? Jones<double>{at(0), at(1), at(2), at(3)} : Jones<double>{at(0), {}, {}, at(0)};
}

Jones<double> brightness_of(const Sky<double>& sky, std::size_t source, std::int32_t channel) {
  const std::size_t f = sky.n_weight_channel == 1 ? 0 : static_cast<std::size_t>(channel);
  const double* b = &sky.brightness[(source * sky.n_weight_channel + f) * 8];
  return {{b[0], b[1]}, {b[2], b[3]}, {b[4], b[5]}, {b[6], b[7]}};
}

namespace {

/// Fills [chain][time][channel][source] with product(chain, packed source, time, channel).
template <class T, class F>
std::vector<Complex<T>> products(std::size_t n_chain, const JonesAxes& axes, const ProductRange& range,
                                 ThreadPool& threads, F&& product) {
  const std::size_t n_source = range.source_end - range.source_begin;
  const bool varies = axes.n_channel > 1;
  const auto n_time = static_cast<std::size_t>(axes.n_time);
  const auto n_channel = static_cast<std::size_t>(varies ? range.n_channel : 1);
  std::vector<Complex<T>> all(n_chain * n_time * n_channel * n_source * 4);
  threads.parallel_for(n_chain * n_time * n_channel, 1, [&](std::size_t first, std::size_t last, int) {
    for (std::size_t i = first; i < last; ++i) {
      Complex<T>* to = all.data() + i * n_source * 4;
      const auto f = static_cast<std::int32_t>(i % n_channel) + (varies ? range.first_channel : 0);
      const auto t = static_cast<std::int32_t>(i / n_channel % n_time);
      for (std::size_t s = range.source_begin; s < range.source_end; ++s) {
        const Jones<double> j = product(i / n_channel / n_time, s, t, f);
        for (const Complex<double>& e : {j.xx, j.xy, j.yx, j.yy}) *to++ = {static_cast<T>(e.re), static_cast<T>(e.im)};
      }
    }
  });
  return all;
}

/// Collects the chains of one side.
class ChainList {
 public:
  ChainList(bool is_q, std::vector<JonesChains::Chain>& chains, JonesAxes& axes)
      : is_q_(is_q), chains_(chains), axes_(axes) {}

  /// Number of the chain of a baseline.
  std::int32_t add(const JonesTerms& jones, std::int32_t baseline, const JonesAxes& longest) {
    const JonesPair<double>* pairs = jones.pairs + std::ptrdiff_t{baseline} * jones.n_pair;
    JonesChains::Chain chain;
    std::vector<std::pair<const void*, std::ptrdiff_t>> name;
    for (int k = 0; k < jones.n_pair; ++k) {
      JonesFactor factor;
      const auto& view = is_q_ ? pairs[k].q : pairs[k].p;
      std::copy(view, view + 4, factor.view);
      factor.is_matrix = is_q_ ? pairs[k].q_is_matrix : pairs[k].p_is_matrix;
      factor.target = jones.target_of(pairs + k, is_q_);
      // Strides follow from the data within a batch: its baselines have children of the same dimensions.
      for (const auto& one : factor.view) {
        name.emplace_back(one.data, factor.target);
        if (one && one.time != 0) axes_.n_time = longest.n_time;
        if (one && one.channel != 0) axes_.n_channel = longest.n_channel;
      }
      chain.push_back(factor);
    }
    const auto [known, is_new] = known_.try_emplace(name, static_cast<std::int32_t>(chains_.size()));
    if (is_new) chains_.push_back(std::move(chain));
    return known->second;
  }

 private:
  bool is_q_;
  std::vector<JonesChains::Chain>& chains_;
  JonesAxes& axes_;
  std::map<std::vector<std::pair<const void*, std::ptrdiff_t>>, std::int32_t> known_;  // by views and targets
};

}  // namespace

JonesChains jones_chains(const JonesTerms& jones, const Rows& rows, std::size_t n_channel) {
  JonesChains chains;
  if (jones.n_pair == 0 || rows.n_row == 0) return chains;
  const std::int32_t n_baseline = *std::max_element(rows.baseline, rows.baseline + rows.n_row) + 1;
  const JonesAxes longest{*std::max_element(rows.time, rows.time + rows.n_row) + 1,
                          static_cast<std::int32_t>(n_channel)};
  ChainList left(false, chains.left, chains.left_axes), right(true, chains.right, chains.right_axes);
  for (std::int32_t b = 0; b < n_baseline; ++b) {
    chains.left_of.push_back(left.add(jones, b, longest));
    chains.right_of.push_back(right.add(jones, b, longest));
  }
  return chains;
}

JonesAxes left_axes(const JonesChains& chains, const Sky<double>& sky) {
  JonesAxes axes = chains.left_axes;
  axes.n_channel = std::max(axes.n_channel, static_cast<std::int32_t>(sky.n_weight_channel));
  return axes;
}

template <class T>
std::vector<Complex<T>> left_products(const JonesChains& chains, const Sky<double>& sky, const ProductRange& range,
                                      bool with_brightness, ThreadPool& threads) {
  return products<T>(chains.left.size(), left_axes(chains, sky), range, threads,
                     [&](std::size_t chain, std::size_t s, std::int32_t t, std::int32_t f) {
                       Jones<double> j{1.0, 0.0, 0.0, 1.0};
                       if (with_brightness) j = brightness_of(sky, s, f);
                       for (const JonesFactor& one : chains.left[chain]) j = jones_of(one, sky.order[s], t, f) * j;
                       return j;
                     });
}

template <class T>
std::vector<Complex<T>> right_products(const JonesChains& chains, const Sky<double>& sky, const ProductRange& range,
                                       ThreadPool& threads) {
  return products<T>(chains.right.size(), chains.right_axes, range, threads,
                     [&](std::size_t chain, std::size_t s, std::int32_t t, std::int32_t f) {
                       Jones<double> j{1.0, 0.0, 0.0, 1.0};
                       for (const JonesFactor& one : chains.right[chain]) j = j * jones_of(one, sky.order[s], t, f);
                       return j;
                     });
}

template std::vector<Complex<float>> left_products<float>(const JonesChains&, const Sky<double>&, const ProductRange&,
                                                          bool, ThreadPool&);
template std::vector<Complex<float>> right_products<float>(const JonesChains&, const Sky<double>&, const ProductRange&,
                                                           ThreadPool&);
template std::vector<Complex<double>> left_products<double>(const JonesChains&, const Sky<double>&, const ProductRange&,
                                                            bool, ThreadPool&);
template std::vector<Complex<double>> right_products<double>(const JonesChains&, const Sky<double>&,
                                                             const ProductRange&, ThreadPool&);

}  // namespace rimetree::psv
