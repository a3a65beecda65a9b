// The rows of a chunk are sorted by their sides, once for left and once for right, so that phasors are made twice; but
// there are no atomics, and nothing is stored per source, row and channel. Another launch adds up the pieces of each
// side, in order, to a total as large as the products themselves. What the sides have gained comes down, and the host
// takes it through their terms, as it multiplied these: once per antenna, not per baseline. Channels on which nothing
// depends are passed over, be their terms NaN.
#include "nodes/psv/device/side_rows.h"

#include <algorithm>

namespace rimetree::psv::device {
namespace {

/// Rows of a piece at the most.
constexpr std::int32_t kPieceRows = 128;

/// What a factor of a product gains, from the product's share X of it, to where its derivatives go.
void add_to_target(const JonesFactor& factor, const Jones<double>& gained, std::ptrdiff_t place,
                   const JonesTargets& targets, SourceAdjoints& out) {
  const auto target = static_cast<std::size_t>(factor.target), n_moving = targets.n_moving;
  Complex<double>* first = target < n_moving ? &out.moving_jones[target] : &out.steady_jones[target - n_moving];
  if (!factor.is_matrix) {
    first[place] += gained.xx + gained.yy;  // a scalar stands for its multiple of the unit matrix
    return;
  }
  for_each_element(gained,
                   [&](int i, Complex<double> z) { first[place + (factor.view[i].data - factor.view[0].data)] += z; });
}

/// From what a product of a source gains to what its factors do, from the outermost inwards, and the brightness, which
/// is returned.
Jones<double> pull_through(const JonesChains::Chain& chain, const Sky<double>& sky, std::size_t source,
                           std::int32_t time, std::int32_t channel, bool right, const JonesTargets& targets,
                           Jones<double> slope, SourceAdjoints& out) {
  const std::size_t order = sky.order[source];
  const auto factor = [&](std::size_t k) { return jones_of(chain[k], order, time, channel); };
  for (std::size_t k = chain.size(); k-- > 0;) {
    if (chain[k].target >= 0) {
      // Left: F_k X with X = F_(k-1) .. F_0 B; right: X F_k with X = F_0 .. F_(k-1).
      Jones<double> x = right ? Jones<double>{1.0, 0.0, 0.0, 1.0} : brightness_of(sky, source, channel);
      for (std::size_t j = 0; j < k; ++j) x = right ? x * factor(j) : factor(j) * x;
      const auto& view = chain[k].view[0];
      add_to_target(chain[k], right ? hermitian(x) * slope : slope * hermitian(x),
                    static_cast<std::ptrdiff_t>(order) * view.source + time * view.time + channel * view.channel,
                    targets, out);
    }
    slope = right ? slope * hermitian(factor(k)) : hermitian(factor(k)) * slope;
  }
  return slope;
}

}  // namespace

bool goes_by_sides(const Summed& of, const PackedProblem& packed) {
  return !packed.jones.empty() && (of.jones.targets.any() || packed.jones_vary());
}

std::int32_t n_side(const PackedProblem& packed, bool right) {
  return static_cast<std::int32_t>(packed.jones.of(right).chains.size()) * packed.axes_of(right).n_time;
}

std::vector<std::int32_t> side_rows(std::span<const DeviceRow> rows, const PackedProblem& packed, bool right) {
  const auto n_product = static_cast<std::int32_t>(packed.jones.of(right).chains.size());
  const bool moves = packed.axes_of(right).n_time > 1;
  const auto side_of = [&](const DeviceRow& row) {
    return static_cast<std::size_t>((moves ? row.time * n_product : 0) + (right ? row.right : row.left));
  };
  // Counted, not compared: sides follow each other.
  std::vector<std::int32_t> begin(static_cast<std::size_t>(n_side(packed, right)) + 1), data;
  for (const DeviceRow& row : rows) ++begin[side_of(row) + 1];
  for (std::size_t side = 1; side < begin.size(); ++side) {
    begin[side] += begin[side - 1];
    for (std::int32_t first = begin[side - 1]; first < begin[side]; first += kPieceRows)
      data.insert(data.end(), {first, std::min(first + kPieceRows, begin[side]), static_cast<std::int32_t>(side) - 1});
  }
  const std::size_t n = data.size();
  data.resize(n + rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r)
    data[n + static_cast<std::size_t>(begin[side_of(rows[r])]++)] = static_cast<std::int32_t>(r);
  return data;
}

void pull_through_terms(const DeviceSky<double>& device_sky, const ProductRange& range, bool right,
                        std::span<const double> gained, SourceWish wish, SourceAdjoints& out) {
  const PackedProblem& packed = device_sky.packed();
  const Sky<double>& sky = device_sky.summed().sky;
  const JonesTargets& targets = device_sky.summed().jones.targets;
  const auto& chains = packed.jones.of(right).chains;
  const auto n_time = static_cast<std::size_t>(packed.axes_of(right).n_time);
  const bool vary = packed.jones_vary();
  const auto n_channel = static_cast<std::size_t>(vary ? range.n_channel : 1);
  const std::size_t n_source = range.source_end - range.source_begin, n_weight = sky.n_weight_channel;
  // Each source has terms of its own: its thread is the only one to add to what they gain, in order.
  device_sky.threads().parallel_for(n_source, 1, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t s = begin; s < end; ++s)
      for (std::size_t side = 0; side < n_time * chains.size(); ++side)
        for (std::size_t f = 0; f < n_channel; ++f) {
          const double* g = gained.data() + ((side * n_source + s) * n_channel + f) * 8;
          // Terms may be anything where nothing depends on them.
          if (std::all_of(g, g + 8, [](double x) { return x == 0; })) continue;
          const std::size_t source = range.source_begin + s;
          const std::int32_t channel = vary ? range.first_channel + static_cast<std::int32_t>(f) : 0;
          const auto time = static_cast<std::int32_t>(side / chains.size());
          const Jones<double> of_b = pull_through(chains[side % chains.size()], sky, source, time, channel, right,
                                                  targets, jones_from(g), out);
          if (right || !wish.weights) continue;
          double* w = &out.weights[(source * n_weight + (n_weight > 1 ? static_cast<std::size_t>(channel) : 0)) * 8];
          for_each_element(of_b, [w](int i, Complex<double> z) { w[2 * i] += z.re, w[2 * i + 1] += z.im; });
        }
  });
}

}  // namespace rimetree::psv::device
