// Rows that are flagged wholly move UVW with them. A cell of which single channels are flagged still counts as whole:
// its middle stays where it is. The mean is then that of another frequency, at which a source far from the phase centre
// has another phase; the middle of a plane through the visibilities is right but for the part of them that is lost by
// smearing, and tells less.
#include "runtime/ms/set/averaging.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>

namespace rimetree::ms {

namespace {

/// Where cells begin along an axis, and its end: at most so many, not wider together than `most_width` (0: any), and
/// not over gaps, turns or any of `limits`.
std::vector<std::size_t> cell_edges(const std::vector<double>& centre, const std::vector<double>& width,
                                    std::size_t most, double most_width, const std::vector<double>& limits) {
  constexpr double kGap = 1.5, kRounding = 1e-6;
  double step = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < centre.size(); ++i) step = std::min(step, std::abs(centre[i] - centre[i - 1]));
  const auto interval = [&limits](double at) { return std::upper_bound(limits.begin(), limits.end(), at); };
  std::vector<std::size_t> edges;
  for (std::size_t i = 0; i < centre.size(); ++i) {
    bool begins = edges.empty() || interval(centre[i]) != interval(centre[i - 1]);
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
  return {cell_edges(tile.time_s, tile.interval_s, averaging.slots, 0, averaging.time_edges_s),
          cell_edges(tile.frequency_hz, tile.channel_width_hz, averaging.channels, averaging.width_hz,
                     averaging.frequency_edges_hz)};
}

class Averager {
 public:
  /// `whole`: a tile, or its axes.
  Averager(const Tile& whole, const Averaging& averaging)
      : averaging_(averaging), edges_(edges_of(whole, averaging)), made_(average_outline(whole, averaging)) {
    for (const double width_s : made_.interval_s) scale_s_ = std::max(scale_s_, width_s);
    if (!(scale_s_ > 0)) scale_s_ = 1;
  }

  /// Slots with which cells begin, and where the last one ends.
  const std::vector<std::size_t>& slots() const { return edges_.times; }

  /// The cells from `cell` on whose slots are those of a part of the tile.
  void add(const Tile& part, std::size_t cell) {
    if (made_.row.empty()) begin(part);
    part_ = &part;
    first_ = edges_.times[cell];
    const std::size_t end = first_ + part.n_time();
    for (std::size_t b = 0; b < part.n_baseline(); ++b)
      for (std::size_t t = cell; t < made_.n_time() && edges_.times[t] < end; ++t) average_row(b, t);
  }
  Tile take() { return std::move(made_); }

 private:
  /// Makes room for what parts like this have.
  void begin(const Tile& part) {
    made_.row.assign(made_.n_row(), -1);
    made_.uvw_m.assign(3 * made_.n_row(), 0);
    made_.uvw_rate_m_s.assign(3 * made_.n_row(), 0);
    made_.exposure_s.assign(made_.n_row(), 0);
    for (const auto& [name, values] : part.columns) made_.columns[name].assign(made_.n_visibility(), {});
    if (!part.flag.empty()) made_.flag.assign(made_.n_visibility(), 1);
    if (!part.weight.empty()) made_.weight.assign(made_.n_visibility(), 0);
  }

  void average_row(std::size_t baseline, std::size_t time) {
    const Tile& part = *part_;
    const std::size_t from = baseline * part.n_time(), to = baseline * made_.n_time() + time;
    present_.clear();
    for (std::size_t t = edges_.times[time] - first_; t < edges_.times[time + 1] - first_; ++t)
      if (is_seen(from + t)) present_.push_back(t);
    if (present_.empty()) return;
    const double share = 1 / static_cast<double>(present_.size());
    made_.row[to] = part.row[from + present_.front()];
    for (const std::size_t t : present_)
      for (std::size_t k = 0; k < 3; ++k) {
        made_.uvw_m[3 * to + k] += share * part.uvw_m[3 * (from + t) + k];
        made_.uvw_rate_m_s[3 * to + k] += share * part.uvw_rate_m_s[3 * (from + t) + k];
      }
    made_.exposure_s[to] = part.time_s[present_.back()] - part.time_s[present_.front()] +
                           0.5 * (part.exposure_s[from + present_.front()] + part.exposure_s[from + present_.back()]);
    average_cells(from, to);
  }

  /// Whether there is a row of which anything is good.
  bool is_seen(std::size_t at) const {
    if (part_->row[at] < 0) return false;
    if (part_->flag.empty()) return true;
    const std::size_t n = part_->n_channel() * part_->n_correlation();
    const std::uint8_t* flag = &part_->flag[at * n];
    return std::find(flag, flag + n, 0) != flag + n;
  }

  /// All cells of a row that is made, from the rows that are there.
  void average_cells(std::size_t from, std::size_t to) {
    const std::size_t n_correlation = part_->n_correlation(), n_made = made_.n_channel() * n_correlation;
    const std::size_t n_given = part_->n_channel() * n_correlation, n_column = part_->columns.size();
    if (are_alike(from)) return average_alike(from, to);
    const bool planes = std::isfinite(averaging_.off_centre);
    double middle_s = 0;
    for (const std::size_t t : present_)
      middle_s += (part_->time_s[t] - part_->time_s[present_.front()]) / static_cast<double>(present_.size());
    used_.resize(n_given);
    moments_.assign(n_made, {});
    total_.assign(n_made * n_column, {});
    for (const std::size_t t : present_) {
      const std::size_t first = (from + t) * n_given;
      use_weights(first);
      const double y = (part_->time_s[t] - part_->time_s[present_.front()] - middle_s) / scale_s_;
      for_each_used([&](std::size_t i, std::size_t cell, double x) { moments_[cell].add(used_[i], x, y); });
      auto total = total_.begin();
      for (const auto& [name, values] : part_->columns) {
        const std::complex<float>* given = &values[first];
        for_each_used([&](std::size_t i, std::size_t cell, double x) {
          const auto value = used_[i] * std::complex<double>(given[i]);
          auto& sums = total[static_cast<std::ptrdiff_t>(cell)];
          sums[0] += value;
          if (planes) sums[1] += x * value, sums[2] += y * value;
        });
        total += static_cast<std::ptrdiff_t>(n_made);
      }
    }
    for (std::size_t i = 0; i < n_made; ++i) {
      const Moments& moments = moments_[i];
      const bool off = std::abs(moments.x) + std::abs(moments.y) > averaging_.off_centre * moments.one;
      const Plane plane = off ? moments.plane() : Plane{moments.one};
      if (!(plane.weight > 0)) continue;
      if (!made_.weight.empty()) made_.weight[to * n_made + i] = static_cast<float>(plane.weight);
      if (!made_.flag.empty()) made_.flag[to * n_made + i] = 0;
      const auto* sums = &total_[i];
      for (auto& [name, values] : made_.columns) {
        const auto sum = (*sums)[0] - plane.x * (*sums)[1] - plane.y * (*sums)[2];
        values[to * n_made + i] = std::complex<float>(sum / plane.weight);
        sums += n_made;
      }
    }
  }

  /// Calls body(visibility of a row, cell and correlation that is made, place in the cell along frequency) for those
  /// that count.
  template <class Body>
  void for_each_used(const Body& body) const {
    const std::size_t n_correlation = part_->n_correlation();
    for (std::size_t k = 0; k < made_.n_channel(); ++k)
      for (std::size_t f = edges_.channels[k]; f < edges_.channels[k + 1]; ++f) {
        const double x = (part_->frequency_hz[f] - made_.frequency_hz[k]) / made_.channel_width_hz[k];
        for (std::size_t c = 0; c < n_correlation; ++c)
          if (const std::size_t i = f * n_correlation + c; used_[i] > 0) body(i, k * n_correlation + c, x);
      }
  }

  /// Whether all visibilities of the rows that are there count, those of a correlation with one weight.
  bool are_alike(std::size_t from) const {
    const std::size_t n_correlation = part_->n_correlation(), n_given = part_->n_channel() * n_correlation;
    const std::size_t origin = (from + present_.front()) * n_given;
    for (const std::size_t t : present_) {
      const std::size_t first = (from + t) * n_given;
      if (!part_->flag.empty()) {
        const std::uint8_t* flag = &part_->flag[first];
        std::uint8_t any = 0;
        for (std::size_t i = 0; i < n_given; ++i) any |= flag[i];
        if (any != 0) return false;
      }
      bool same = true;
      for (std::size_t f = 0; !part_->weight.empty() && f < part_->n_channel(); ++f)
        for (std::size_t c = 0; c < n_correlation; ++c)
          same = same && part_->weight[first + f * n_correlation + c] == part_->weight[origin + c];
      if (!same) return false;
      for (const auto& [name, values] : part_->columns) {  // zero times no number is none
        const float* given = reinterpret_cast<const float*>(&values[first]);
        float zero = 0;
        for (std::size_t i = 0; i < 2 * n_given; ++i) zero += 0 * given[i];
        if (zero != 0) return false;
      }
    }
    for (std::size_t c = 0; c < n_correlation && !part_->weight.empty(); ++c) {
      const float weight = part_->weight[origin + c];
      if (!(weight > 0) || !std::isfinite(weight)) return false;
    }
    return true;
  }

  /// Means, which are what planes through regular cells have in the middle.
  void average_alike(std::size_t from, std::size_t to) {
    const std::size_t n_correlation = part_->n_correlation(), n_made = made_.n_channel() * n_correlation;
    const std::size_t n_given = part_->n_channel() * n_correlation, origin = (from + present_.front()) * n_given;
    for (auto& [name, made] : made_.columns) {
      const auto& values = part_->columns.at(name);
      sum_.assign(n_made, {});
      for (const std::size_t t : present_) {
        const std::complex<float>* given = &values[(from + t) * n_given];
        for (std::size_t k = 0; k < made_.n_channel(); ++k)
          for (std::size_t f = edges_.channels[k]; f < edges_.channels[k + 1]; ++f)
            for (std::size_t c = 0; c < n_correlation; ++c)
              sum_[k * n_correlation + c] += std::complex<double>(given[f * n_correlation + c]);
      }
      for (std::size_t i = 0; i < n_made; ++i)
        made[to * n_made + i] = std::complex<float>(sum_[i] / number_of(i / n_correlation));
    }
    for (std::size_t i = 0; i < n_made; ++i) {
      const double weight = part_->weight.empty() ? 1 : part_->weight[origin + i % n_correlation];
      if (!made_.weight.empty())
        made_.weight[to * n_made + i] = static_cast<float>(weight * number_of(i / n_correlation));
      if (!made_.flag.empty()) made_.flag[to * n_made + i] = 0;
    }
  }

  /// How many visibilities a cell of the rows that are there is made of.
  double number_of(std::size_t channel) const {
    return static_cast<double>(present_.size() * (edges_.channels[channel + 1] - edges_.channels[channel]));
  }

  /// Weights of the visibilities of a row; 0 for those that are flagged or, in any column, no numbers.
  void use_weights(std::size_t first) {
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const double weight = part_->weight.empty() ? 1 : part_->weight[first + i];
      const bool good = weight > 0 && std::isfinite(weight) && (part_->flag.empty() || part_->flag[first + i] == 0);
      used_[i] = good ? weight : 0;
    }
    for (const auto& [name, values] : part_->columns)
      for (std::size_t i = 0; i < used_.size(); ++i)
        if (!std::isfinite(values[first + i].real()) || !std::isfinite(values[first + i].imag())) used_[i] = 0;
  }

  /// The value in the middle of a plane through visibilities: (sum w V - x sum w x V - y sum w y V) / weight.
  struct Plane {
    double weight = 0, x = 0, y = 0;
  };

  /// Sums of the weights, and of these times places along frequency (x) and time (y).
  struct Moments {
    double one = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    void add(double w, double at_x, double at_y) {
      one += w, x += w * at_x, y += w * at_y;
      xx += w * at_x * at_x, xy += w * at_x * at_y, yy += w * at_y * at_y;
    }
    /// By least squares: of the equations of the plane's value and slopes, the slopes are eliminated.
    Plane plane() const {
      constexpr double kNothing = 1e-9;
      Plane found{one};
      const double slope_x = xx > kNothing * one ? x / xx : 0;
      const double rest_y = y - slope_x * xy, rest_yy = yy - (xx > kNothing * one ? xy * xy / xx : 0);
      if (rest_yy > kNothing * one) found.y = rest_y / rest_yy;
      found.x = xx > kNothing * one ? (x - xy * found.y) / xx : 0;
      found.weight = one - found.x * x - found.y * y;
      if (!(found.weight > kNothing * one)) found.weight = 0;
      return found;
    }
  };

  const Averaging& averaging_;
  const Tile* part_ = nullptr;  // that is averaged
  std::size_t first_ = 0;       // its first slot
  Edges edges_;
  Tile made_;
  double scale_s_ = 0;                // of places along time
  std::vector<std::size_t> present_;  // slots of a cell for which its baseline has a row
  std::vector<double> used_;          // weights of the visibilities of a row
  std::vector<std::complex<double>> sum_;
  std::vector<Moments> moments_;                            // of the cells that are made of some rows
  std::vector<std::array<std::complex<double>, 3>> total_;  // [column, cell] sums of w V, w x V and w y V
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
  if (!averaging.any()) return tile;
  Averager averager(tile, averaging);
  averager.add(tile, 0);
  return averager.take();
}

Tile average_by_parts(const Tile& outline, const Averaging& averaging, std::size_t most_slots, const ReadSlots& read) {
  Averager averager(outline, averaging);
  const std::vector<std::size_t>& slots = averager.slots();
  for (std::size_t cell = 0, end; cell + 1 < slots.size(); cell = end) {
    end = cell + 1;
    while (end + 1 < slots.size() && slots[end + 1] - slots[cell] <= most_slots) ++end;
    averager.add(read(slots[cell], slots[end] - slots[cell]), cell);
  }
  return averager.take();
}

}  // namespace rimetree::ms
