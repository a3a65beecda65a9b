// Rows that are flagged wholly move UVW with them. A cell of which single channels are flagged still counts as whole:
// its middle stays where it is, and a source far from the phase centre is seen there with an error of the order of its
// smearing.
#include "runtime/ms/averaging.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

namespace rimetree::ms {

namespace {

/// Where cells begin along an axis, and its end: at most so many, not wider together than `most_width` (0: any), and
/// not over gaps or turns.
std::vector<std::size_t> cell_edges(const std::vector<double>& centre, const std::vector<double>& width,
                                    std::size_t most, double most_width) {
  constexpr double kGap = 1.5, kRounding = 1e-6;
  double step = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < centre.size(); ++i) step = std::min(step, std::abs(centre[i] - centre[i - 1]));
  std::vector<std::size_t> edges;
  for (std::size_t i = 0; i < centre.size(); ++i) {
    bool begins = edges.empty();
    if (!begins) {
      const std::size_t first = edges.back();
      const double distance = centre[i] - centre[i - 1];
      begins = std::abs(distance) > kGap * step || (i > first + 1 && distance * (centre[i - 1] - centre[first]) < 0);
      if (most_width > 0)
        begins |= std::abs(centre[i] - centre[first]) + 0.5 * (width[i] + width[first]) > most_width * (1 + kRounding);
      else
        begins |= i - first >= most;
    }
    if (begins) edges.push_back(i);
  }
  edges.push_back(centre.size());
  return edges;
}

/// Middle and width of each cell.
void average_axis(const std::vector<std::size_t>& edges, std::vector<double>* centre, std::vector<double>* width) {
  std::vector<double> centres, widths;
  for (std::size_t k = 0; k + 1 < edges.size(); ++k) {
    const std::size_t first = edges[k], last = edges[k + 1] - 1;
    centres.push_back((*centre)[first] + 0.5 * ((*centre)[last] - (*centre)[first]));
    widths.push_back(std::abs((*centre)[last] - (*centre)[first]) + 0.5 * ((*width)[first] + (*width)[last]));
  }
  *centre = std::move(centres);
  *width = std::move(widths);
}

struct Edges {
  std::vector<std::size_t> times, channels;
};

Edges edges_of(const Tile& tile, const Averaging& averaging) {
  return {cell_edges(tile.time_s, tile.interval_s, averaging.slots, 0),
          cell_edges(tile.frequency_hz, tile.channel_width_hz, averaging.channels, averaging.width_hz)};
}

class Averager {
 public:
  Averager(const Tile& tile, const Averaging& averaging)
      : tile_(tile), edges_(edges_of(tile, averaging)), made_(average_outline(tile, averaging)) {}

  Tile make() {
    made_.row.assign(made_.n_row(), -1);
    made_.uvw_m.assign(3 * made_.n_row(), 0);
    made_.uvw_rate_m_s.assign(3 * made_.n_row(), 0);
    made_.exposure_s.assign(made_.n_row(), 0);
    for (const auto& [name, values] : tile_.columns) made_.columns[name].assign(made_.n_visibility(), {});
    if (!tile_.flag.empty()) made_.flag.assign(made_.n_visibility(), 1);
    if (!tile_.weight.empty()) made_.weight.assign(made_.n_visibility(), 0);
    for (std::size_t b = 0; b < tile_.n_baseline(); ++b)
      for (std::size_t t = 0; t < made_.n_time(); ++t) average_row(b, t);
    return std::move(made_);
  }

 private:
  void average_row(std::size_t baseline, std::size_t time) {
    present_.clear();
    for (std::size_t t = edges_.times[time]; t < edges_.times[time + 1]; ++t)
      if (is_seen(baseline * tile_.n_time() + t)) present_.push_back(t);
    if (present_.empty()) return;
    const std::size_t from = baseline * tile_.n_time(), to = baseline * made_.n_time() + time;
    const double share = 1 / static_cast<double>(present_.size());
    made_.row[to] = tile_.row[from + present_.front()];
    for (const std::size_t t : present_)
      for (std::size_t k = 0; k < 3; ++k) {
        made_.uvw_m[3 * to + k] += share * tile_.uvw_m[3 * (from + t) + k];
        made_.uvw_rate_m_s[3 * to + k] += share * tile_.uvw_rate_m_s[3 * (from + t) + k];
      }
    made_.exposure_s[to] = tile_.time_s[present_.back()] - tile_.time_s[present_.front()] +
                           0.5 * (tile_.exposure_s[from + present_.front()] + tile_.exposure_s[from + present_.back()]);
    for (std::size_t channel = 0; channel < made_.n_channel(); ++channel)
      for (std::size_t c = 0; c < made_.n_correlation(); ++c)
        average_cell(from, channel, c, (to * made_.n_channel() + channel) * made_.n_correlation() + c);
  }

  /// Whether there is a row of which anything is good.
  bool is_seen(std::size_t at) const {
    if (tile_.row[at] < 0) return false;
    if (tile_.flag.empty()) return true;
    const std::size_t n = tile_.n_channel() * tile_.n_correlation();
    const std::uint8_t* flag = &tile_.flag[at * n];
    return std::find(flag, flag + n, 0) != flag + n;
  }

  void average_cell(std::size_t from, std::size_t channel, std::size_t correlation, std::size_t to) {
    good_.clear();
    double sum = 0;
    for (const std::size_t t : present_)
      for (std::size_t f = edges_.channels[channel]; f < edges_.channels[channel + 1]; ++f) {
        const std::size_t at = ((from + t) * tile_.n_channel() + f) * tile_.n_correlation() + correlation;
        const double weight = tile_.weight.empty() ? 1 : tile_.weight[at];
        if (!is_good(at, weight)) continue;
        good_.push_back({at, weight});
        sum += weight;
      }
    if (good_.empty()) return;
    for (auto& [name, values] : made_.columns) {
      const auto& given = tile_.columns.at(name);
      std::complex<double> total = 0;
      for (const Good& one : good_) total += one.weight * std::complex<double>(given[one.at]);
      values[to] = std::complex<float>(total / sum);
    }
    if (!made_.weight.empty()) made_.weight[to] = static_cast<float>(sum);
    if (!made_.flag.empty()) made_.flag[to] = 0;
  }

  bool is_good(std::size_t at, double weight) const {
    if (!(weight > 0) || !std::isfinite(weight) || (!tile_.flag.empty() && tile_.flag[at] != 0)) return false;
    return std::all_of(tile_.columns.begin(), tile_.columns.end(), [at](const auto& column) {
      return std::isfinite(column.second[at].real()) && std::isfinite(column.second[at].imag());
    });
  }

  struct Good {
    std::size_t at;
    double weight;
  };
  const Tile& tile_;
  Edges edges_;
  Tile made_;
  std::vector<std::size_t> present_;  // slots of a cell for which its baseline has a row
  std::vector<Good> good_;
};

}  // namespace

Tile average_outline(const Tile& tile, const Averaging& averaging) {
  Tile made;
  made.data_desc_id = tile.data_desc_id;
  made.field_id = tile.field_id;
  made.layer = tile.layer;
  made.first_channel = tile.first_channel;
  made.baselines = tile.baselines;
  made.correlation_type = tile.correlation_type;
  made.time_s = tile.time_s;
  made.interval_s = tile.interval_s;
  made.frequency_hz = tile.frequency_hz;
  made.channel_width_hz = tile.channel_width_hz;
  const Edges edges = edges_of(tile, averaging);
  average_axis(edges.times, &made.time_s, &made.interval_s);
  average_axis(edges.channels, &made.frequency_hz, &made.channel_width_hz);
  return made;
}

Tile average(const Tile& tile, const Averaging& averaging) {
  return averaging.any() ? Averager(tile, averaging).make() : tile;
}

}  // namespace rimetree::ms
