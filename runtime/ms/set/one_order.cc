#include "runtime/ms/set/one_order.h"

#include <algorithm>
#include <complex>
#include <map>
#include <tuple>
#include <utility>

#include "runtime/core/error.h"
#include "runtime/ms/set/tile_plan.h"

namespace rimetree::ms {
namespace {

constexpr std::uint8_t kBoth = 3;

/// Which orders each pair of antennas has: 1, 2 or both.
class Orders {
 public:
  explicit Orders(const RowIndex& index) : index_(index) {
    for (std::int64_t row = 0; row < index.n_row(); ++row)
      n_ = std::max<std::size_t>(n_, 1 + std::max(index.antenna1[row], index.antenna2[row]));
    of_pair_.assign(n_ * n_, 0);
    for (std::int64_t row = 0; row < index.n_row(); ++row) {
      if (index.antenna1[row] != index.antenna2[row]) at(row) |= is_swapped(row) ? 2 : 1;
    }
  }

  bool any_both() const { return std::find(of_pair_.begin(), of_pair_.end(), kBoth) != of_pair_.end(); }
  bool is_swapped(std::int64_t row) const { return index_.antenna1[row] > index_.antenna2[row]; }
  bool both(std::int64_t row) { return at(row) == kBoth; }

  /// Pairs that have both orders in one time slot of a data description and field.
  void leave_those_at_one_time() {
    std::map<std::pair<int, int>, std::vector<std::int64_t>> groups;
    for (std::int64_t row = 0; row < index_.n_row(); ++row)
      groups[{index_.data_desc_id[row], index_.field_id[row]}].push_back(row);
    for (auto& [ids, rows] : groups) {
      const double tolerance_s = slot_tolerance_s(index_, rows);
      std::erase_if(rows, [this](std::int64_t row) { return at(row) == 0; });  // autocorrelations
      const auto place = [this](std::int64_t row) { return std::make_tuple(pair(row), index_.time_s[row], row); };
      std::sort(rows.begin(), rows.end(), [&](std::int64_t a, std::int64_t b) { return place(a) < place(b); });
      for (std::size_t i = 1; i < rows.size(); ++i) {
        const std::int64_t a = rows[i - 1], b = rows[i];
        if (pair(a) != pair(b) || is_swapped(a) == is_swapped(b)) continue;
        if (index_.time_s[b] - index_.time_s[a] <= tolerance_s) of_pair_[pair(a)] = kLeft;
      }
    }
  }

 private:
  static constexpr std::uint8_t kLeft = 4;  // both, as they are stored

  std::size_t pair(std::int64_t row) const {
    const auto [low, high] = std::minmax(index_.antenna1[row], index_.antenna2[row]);
    return static_cast<std::size_t>(low) * n_ + static_cast<std::size_t>(high);
  }
  std::uint8_t& at(std::int64_t row) { return of_pair_[pair(row)]; }

  const RowIndex& index_;
  std::size_t n_ = 0;
  std::vector<std::uint8_t> of_pair_;  // [lower antenna, higher antenna]
};

/// casacore's number of a correlation of q and p, given that of p and q; 0 where none is known.
int exchanged_type(int type) {
  constexpr int kRL = 6, kLR = 7, kXY = 10, kYX = 11, kLast = 12;
  if (type == kRL || type == kLR) return kRL + kLR - type;
  if (type == kXY || type == kYX) return kXY + kYX - type;
  return type >= 1 && type <= kLast ? type : 0;  // those of Stokes parameters are conjugated like XX
}

template <class Value>
void exchange(Value* row, std::size_t n_channel, const std::vector<std::size_t>& from, std::vector<Value>* cell) {
  const std::size_t n = from.size();
  for (std::size_t channel = 0; channel < n_channel; ++channel, row += n) {
    cell->assign(row, row + n);
    for (std::size_t k = 0; k < n; ++k) row[k] = (*cell)[from[k]];
  }
}

}  // namespace

std::optional<std::vector<std::size_t>> exchanged_correlations(const std::vector<int>& correlation_type) {
  std::vector<std::size_t> from;
  for (const int type : correlation_type) {
    const auto found = std::find(correlation_type.begin(), correlation_type.end(), exchanged_type(type));
    if (found == correlation_type.end()) return std::nullopt;
    from.push_back(static_cast<std::size_t>(found - correlation_type.begin()));
  }
  return from;
}

std::shared_ptr<const RowIndex> in_one_order(const std::shared_ptr<const RowIndex>& stored,
                                             const std::vector<bool>& exchangeable) {
  Orders orders(*stored);
  if (!orders.any_both()) return stored;
  orders.leave_those_at_one_time();
  auto made = std::make_shared<RowIndex>(*stored);
  made->turned.assign(stored->time_s.size(), 0);
  bool any = false;
  for (std::int64_t row = 0; row < stored->n_row(); ++row) {
    if (!orders.is_swapped(row) || !orders.both(row) || !exchangeable.at(stored->data_desc_id[row])) continue;
    std::swap(made->antenna1[row], made->antenna2[row]);
    made->turned[row] = 1;
    any = true;
  }
  return any ? made : stored;
}

void turn_rows(const std::vector<std::uint8_t>& turned, Tile* tile) {
  const auto is_turned = [&turned](std::int64_t row) { return row >= 0 && turned[row] != 0; };
  if (turned.empty() || std::none_of(tile->row.begin(), tile->row.end(), is_turned)) return;
  const auto from = exchanged_correlations(tile->correlation_type);
  if (!from) throw Error("rows are to be turned whose correlations have no partner");
  const std::size_t n_channel = tile->n_channel(), n = n_channel * tile->n_correlation();
  std::vector<std::complex<float>> values;
  std::vector<std::uint8_t> flags;
  std::vector<float> weights;
  for (std::size_t i = 0; i < tile->n_row(); ++i) {
    if (!is_turned(tile->row[i])) continue;
    for (std::size_t k = 3 * i; k < 3 * i + 3; ++k) {
      tile->uvw_m[k] = -tile->uvw_m[k];
      tile->uvw_rate_m_s[k] = -tile->uvw_rate_m_s[k];
    }
    for (auto& [name, column] : tile->columns) {
      exchange(&column[i * n], n_channel, *from, &values);
      std::transform(&column[i * n], &column[i * n] + n, &column[i * n], [](auto v) { return std::conj(v); });
    }
    if (!tile->flag.empty()) exchange(&tile->flag[i * n], n_channel, *from, &flags);
    if (!tile->weight.empty()) exchange(&tile->weight[i * n], n_channel, *from, &weights);
  }
}

}  // namespace rimetree::ms
