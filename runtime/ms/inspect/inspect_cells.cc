#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <map>
#include <numeric>

#include "runtime/ms/inspect/inspect_parts.h"
#include "runtime/ms/set/row_blocks.h"
#include "runtime/ms/set/weights.h"

namespace rimetree::ms {
namespace {

using Rows = std::vector<std::int64_t>;

// Columns of visibilities are looked at as a whole up to this; of larger ones, blocks of rows spread evenly.
constexpr double kLookAtBytes = 4e9;
constexpr double kDeadDecades = -6;  // of the median: a thousandth in amplitude

struct Counts {
  std::int64_t all = 0, flagged = 0, zero = 0, negative = 0, not_finite = 0, usable = 0;
};

struct Power {
  double sum = 0, logarithms = 0;
  std::int64_t count = 0, not_zero = 0;

  void add(double square) {
    sum += square;
    ++count;
    if (square == 0) return;
    logarithms += std::log10(square);
    ++not_zero;
  }
};

/// Of the rows of an antenna: the power, and how many rows have which decade of it (the geometric mean of |v|^2, so
/// that a channel with interference counts little).
class AntennaPower {
 public:
  void add(const Power& row) {
    sum_ += row.sum;
    count_ += row.count;
    if (row.count == 0) return;
    const double step = row.not_zero == 0 ? 0 : (row.logarithms / static_cast<double>(row.not_zero) - kLowest) * kSteps;
    ++rows_[static_cast<std::size_t>(std::clamp(step, 0.0, static_cast<double>(rows_.size() - 1)))];
  }
  std::int64_t count() const { return count_; }
  double mean() const { return sum_ / static_cast<double>(count_); }
  /// The logarithm of that which a twentieth of the rows reach: those to antennas that are not dead. The least: zeros.
  double reached() const {
    std::int64_t above = std::accumulate(rows_.begin(), rows_.end(), std::int64_t{0}) / 20;
    std::size_t step = rows_.size() - 1;
    for (; step > 0 && rows_[step] <= above; --step) above -= rows_[step];
    return kLowest + static_cast<double>(step) / kSteps;
  }
  static constexpr double kLowest = -40, kSteps = 4;  // steps in a decade

 private:
  double sum_ = 0;
  std::int64_t count_ = 0;
  std::array<std::int64_t, 320> rows_{};
};

bool parallel_hand(int type) { return type == 1 || type == 5 || type == 8 || type == 9 || type == 12; }

Rows part_of(const Rows& rows, std::size_t begin, std::size_t end) {
  return {rows.begin() + static_cast<std::ptrdiff_t>(begin), rows.begin() + static_cast<std::ptrdiff_t>(end)};
}

class CellScan {
 public:
  CellScan(const MeasurementSet& ms, const RowIndex& index, MsSummary* summary)
      : ms_(ms), index_(index), summary_(*summary), row_flags_(ms.table().bools("FLAG_ROW", 0, ms.n_row())) {
    summary_.antenna_cells.assign(ms.metadata().antennas.size(), {});
    power_.assign(ms.metadata().antennas.size(), {});
    looked_at_.assign(ms.metadata().antennas.size(), false);
    for (const std::uint8_t flag : row_flags_) summary_.n_flag_row += flag != 0;
    for (ColumnSummary& column : summary_.columns) column.all_zero = true;
    for (std::size_t i = 0; i < summary_.columns.size(); ++i) {
      if (summary_.columns[i].name == "DATA") power_column_ = i;
    }
    find_lost_uvw();
  }

  void scan(int data_desc_id, const Rows& rows) {
    const CellShape shape = ms_.cell_shape(data_desc_id);
    part_ = CellPart{shape, 0, shape.n_channel};
    parallel_.clear();
    for (const int type : ms_.polarization(data_desc_id).correlation_type) parallel_.push_back(parallel_hand(type));
    spectrum_ = has_weight_spectrum(ms_.table(), rows);
    const double share = kLookAtBytes / (8.0 * static_cast<double>(part_.size()) * static_cast<double>(ms_.n_row()));
    double looked_at = 0, passed = 0;
    for_row_blocks(rows.size(), part_.size() * 16, [&](std::size_t begin, std::size_t end) {
      const Rows block = part_of(rows, begin, end);
      count(block);
      passed += static_cast<double>(block.size());
      if (looked_at > share * passed) return;
      looked_at += static_cast<double>(block.size());
      for (std::size_t i = 0; i < summary_.columns.size(); ++i) look_at(i, block);
    });
  }

  void finish() {
    const double all = static_cast<double>(std::max<std::int64_t>(1, counts_.all));
    summary_.cells_scanned = true;
    summary_.flagged_fraction = static_cast<double>(counts_.flagged) / all;
    summary_.zero_weight_fraction = static_cast<double>(counts_.zero) / all;
    summary_.negative_weight_fraction = static_cast<double>(counts_.negative) / all;
    summary_.not_finite_weight_fraction = static_cast<double>(counts_.not_finite) / all;
    summary_.usable_fraction = static_cast<double>(counts_.usable) / all;
    for (ColumnSummary& column : summary_.columns) column.all_zero &= column.n_looked_at > 0;
    find_dead();
  }

 private:
  void find_lost_uvw() {
    lost_uvw_.assign(static_cast<std::size_t>(index_.n_row()), 0);
    Rows all(lost_uvw_.size());
    for (std::size_t row = 0; row < all.size(); ++row) all[row] = static_cast<std::int64_t>(row);
    for_row_blocks(all.size(), 24, [&](std::size_t begin, std::size_t end) {
      std::vector<double> uvw_m(3 * (end - begin));
      ms_.table().read_vectors("UVW", part_of(all, begin, end), 3, uvw_m.data());
      for (std::size_t row = begin; row < end; ++row) {
        const double* uvw = &uvw_m[3 * (row - begin)];
        lost_uvw_[row] = !std::isfinite(uvw[0] + uvw[1] + uvw[2]);
        summary_.n_uvw_not_finite += lost_uvw_[row] && index_.antenna1[row] != index_.antenna2[row];
      }
    });
  }

  void count(const Rows& rows) {
    const std::size_t size = part_.size();
    std::vector<std::uint8_t> flags(rows.size() * size);
    ms_.table().read_cells("FLAG", rows, part_, flags.data());
    std::vector<float> weights;
    read_weights(ms_.table(), rows, part_, spectrum_, &weights);
    usable_.assign(flags.size(), 0);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::int64_t row = rows[r];
      std::int64_t usable = 0;
      for (std::size_t i = r * size; i < (r + 1) * size; ++i) {
        const bool flagged = flags[i] != 0 || row_flags_[row] != 0;
        counts_.flagged += flagged;
        counts_.zero += weights[i] == 0;
        counts_.negative += weights[i] < 0;
        counts_.not_finite += !std::isfinite(weights[i]);
        usable_[i] = !flagged && weights[i] > 0 && std::isfinite(weights[i]);
        usable += usable_[i];
      }
      counts_.all += static_cast<std::int64_t>(size);
      counts_.usable += usable;
      const int p = index_.antenna1[row], q = index_.antenna2[row];
      if (p == q) continue;
      for (const int antenna : {p, q}) {
        summary_.antenna_cells[antenna].all += static_cast<std::int64_t>(size);
        if (!lost_uvw_[row]) summary_.antenna_cells[antenna].usable += usable;
      }
    }
  }

  /// What a column holds in rows of which usable_ is known.
  void look_at(std::size_t which, const Rows& rows) {
    ColumnSummary& column = summary_.columns[which];
    if (!ms_.table().all_defined(column.name, rows)) return;
    std::vector<std::complex<float>> values(rows.size() * part_.size());
    ms_.table().read_cells(column.name, rows, part_, values.data());
    column.n_looked_at += static_cast<std::int64_t>(values.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      Power power;
      for (std::size_t i = r * part_.size(); i < (r + 1) * part_.size(); ++i) {
        column.all_zero &= values[i] == std::complex<float>(0);
        if (!std::isfinite(values[i].real()) || !std::isfinite(values[i].imag())) {
          ++column.n_not_finite;
          column.n_usable_not_finite += usable_[i];
        } else if (usable_[i] && parallel_[i % parallel_.size()]) {
          power.add(std::norm(std::complex<double>(values[i])));
        }
      }
      const int p = index_.antenna1[rows[r]], q = index_.antenna2[rows[r]];
      if (which != power_column_ || p == q) continue;
      for (const int antenna : {p, q}) {
        power_[antenna].add(power);
        looked_at_[antenna] = true;
      }
    }
  }

  void find_dead() {
    std::vector<double> reached;
    for (std::size_t a = 0; a < power_.size(); ++a) {
      AntennaCells& cells = summary_.antenna_cells[a];
      cells.no_numbers = looked_at_[a] && cells.usable > 0 && power_[a].count() == 0;
      if (power_[a].count() == 0) continue;
      cells.power = power_[a].mean();
      if (power_[a].reached() > AntennaPower::kLowest) reached.push_back(power_[a].reached());
    }
    if (reached.empty()) return;
    const auto middle = reached.begin() + static_cast<std::ptrdiff_t>(reached.size() / 2);
    std::nth_element(reached.begin(), middle, reached.end());
    for (std::size_t a = 0; a < power_.size(); ++a) {
      summary_.antenna_cells[a].dead = power_[a].count() > 0 && power_[a].reached() < *middle + kDeadDecades;
    }
  }

  const MeasurementSet& ms_;
  const RowIndex& index_;
  MsSummary& summary_;
  const std::vector<std::uint8_t> row_flags_;
  std::vector<std::uint8_t> lost_uvw_, usable_;
  std::vector<AntennaPower> power_;
  std::vector<bool> looked_at_;
  std::size_t power_column_ = 0;
  CellPart part_;
  std::vector<bool> parallel_;
  bool spectrum_ = false;
  Counts counts_;
};

}  // namespace

void summarise_cells(const MeasurementSet& ms, const RowIndex& index, MsSummary* summary) {
  std::map<int, Rows> rows_of_description;
  for (std::int64_t row = 0; row < index.n_row(); ++row) rows_of_description[index.data_desc_id[row]].push_back(row);
  CellScan scan(ms, index, summary);
  for (const auto& [id, rows] : rows_of_description) scan.scan(id, rows);
  scan.finish();
}

}  // namespace rimetree::ms
