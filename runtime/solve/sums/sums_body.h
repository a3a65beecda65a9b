// What threads do in a launch of sums over cells: functions of a thread's number, for host and device.
#pragma once

#include "runtime/solve/sums/sums_job.h"

namespace rimetree::solve {

/// Which cells of which element of which equation a thread sums over.
struct SumPlace {
  RT_HD SumPlace(const SumsJob& job, std::int64_t thread) {
    slot = thread % job.n_slot;
    element = static_cast<std::size_t>(thread / job.n_slot % job.n_element);
    equation = thread / job.n_slot / job.n_element;
    std::int64_t end = job.n_block();  // the block is in [block, end)
    while (end - block > 1) {
      const std::int64_t middle = (block + end) / 2;
      (job.d_first_slot[middle] <= slot ? block : end) = middle;
    }
    const std::int32_t *time = job.d_time + block / job.n_frequency,
                       *frequency = job.d_frequency + block % job.n_frequency;
    first_time = static_cast<std::size_t>(time[0]);
    first_frequency = static_cast<std::size_t>(frequency[0]);
    row_length = static_cast<std::size_t>(frequency[1] - frequency[0]);
    const std::size_t cells = static_cast<std::size_t>(time[1] - time[0]) * row_length,
                      within = static_cast<std::size_t>(slot - job.d_first_slot[block]);
    const std::size_t chunk = within / kStrands * kChunkCells;
    first_cell = chunk + within % kStrands;
    end_cell = cells < chunk + kChunkCells ? cells : chunk + kChunkCells;
  }
  std::int64_t slot = 0, equation = 0, block = 0;
  std::size_t element = 0, first_time = 0, first_frequency = 0, row_length = 1, first_cell = 0, end_cell = 0;
};

/// The quantities of one cell.
class SumCell {
 public:
  RT_HD SumCell(const SumsJob& job, const SumPlace& place, std::size_t cell)
      : job_(job),
        equation_(job.d_equation[place.equation]),
        element_(place.element),
        t_(place.first_time + cell / place.row_length),
        f_(place.first_frequency + cell % place.row_length) {
    residual_ = number(equation_.residual);
    for (std::int64_t k = 0; k < equation_.n_fixed; ++k) residual_ -= number(job.d_fixed[equation_.first_fixed + k]);
  }
  /// 0: the residual; then vectors.
  RT_HD Complex<double> quantity(std::int64_t i) const { return i == 0 ? residual_ : vector(i - 1); }

  /// The weight, 0 where the cell does not count; adds to what does not depend on products.
  RT_HD double weigh(const SumPlace& place, ScalarSums& sums) const {
    const Complex<double> datum = number(equation_.data);
    const double power = datum.re * datum.re + datum.im * datum.im;
    bool finite = is_finite(power) && is_finite(residual_);
    const Complex<double>* coefficient = nullptr;
    if (job_.d_coefficient != nullptr)
      coefficient = job_.d_coefficient + equation_.first_coefficient +
                    (place.block * job_.n_element + static_cast<std::int64_t>(element_)) * equation_.n_vector;
    Complex<double> misfit = residual_;
    if (job_.is_real == 0)
      for (std::int64_t k = 0; k < equation_.n_vector; ++k) {
        const Complex<double> m = vector(k);
        finite = finite && is_finite(m);
        if (coefficient != nullptr) misfit -= coefficient[k] * m;
      }
    const bool flagged =
        equation_.flags.base >= 0 &&
        job_.values<unsigned char>(equation_.flags)[job_.place(equation_.flags, element_, t_, f_)] != 0;
    double w = equation_.weight.base >= 0 ? number(equation_.weight).re : 1.0;
    w *= equation_.weight_factor;
    switch (use_of(flagged, w, finite)) {
      case CellUse::counted:
        break;
      case CellUse::flagged:
        sums.flagged += 1;
        return 0;
      case CellUse::bad_weight:
        sums.bad_weight += 1;
        return 0;
      case CellUse::not_finite:
        sums.not_finite += 1;
        return 0;
    }
    const int dimensions = static_cast<int>(equation_.dimensions);
    sums.equations += dimensions;
    if (coefficient != nullptr || job_.is_real != 0) {
      const CellMisfit of = misfit_of(job_.errors, w, misfit, dimensions);
      sums.objective += of.objective;
      sums.chi_square += of.chi_square;
      w *= of.factor;
    }
    sums.power += weighted_power(w, residual_);
    sums.data_power += w * power;
    return w;
  }

 private:
  RT_HD Complex<double> vector(std::int64_t k) const {
    const SumVector& of = job_.d_vector[equation_.first_vector + k];
    return job_.number(of.values, of.element < 0 ? element_ : static_cast<std::size_t>(of.element), t_, f_);
  }
  RT_HD Complex<double> number(const SumArray& array) const { return job_.number(array, element_, t_, f_); }

  const SumsJob& job_;
  const SumEquation& equation_;
  std::size_t element_, t_, f_;
  Complex<double> residual_;
};

/// Row and column of a tile of the products: the lower triangle, row by row.
struct SumTile {
  RT_HD explicit SumTile(int number) : column(number) {
    while (column > row) column -= ++row;
  }
  int row = 0, column;
};

/// The number of w a_i* a_j among the values, j <= i; quantity 0 is the residual.
RT_HD inline std::int64_t sum_value(std::int64_t n_vector, std::int64_t i, std::int64_t j) {
  return j == 0 ? i - 1 : n_vector + (i - 1) * i / 2 + j - 1;
}

/// First launch: one strand of one chunk, one tile.
template <bool kReal>
RT_HD void sum_lane(const SumsJob& job, std::int64_t thread, int tile_number) {
  constexpr int kTile = SumsJob::kTile;
  if (thread >= job.n_thread()) return;
  const SumPlace place(job, thread);
  const SumTile tile(tile_number);
  const std::int64_t n_vector = job.d_equation[place.equation].n_vector;
  if (kTile * tile.row > n_vector) return;
  ScalarSums scalars;
  double re[kTile][kTile] = {}, im[kTile][kTile] = {};
  for (std::size_t i = place.first_cell; i < place.end_cell; i += kStrands) {
    const SumCell cell(job, place, i);
    const double w = cell.weigh(place, scalars);
    if (w == 0 || job.wants_products == 0) continue;
    Complex<double> a[kTile], b[kTile];
    RT_UNROLL
    for (int k = 0; k < kTile; ++k) {
      const std::int64_t row = kTile * tile.row + k;
      a[k] = row <= n_vector ? cell.quantity(row) : Complex<double>();
      b[k] = tile.row == tile.column ? a[k] : cell.quantity(kTile * tile.column + k);
    }
    RT_UNROLL
    for (int k = 0; k < kTile; ++k) {
      RT_UNROLL
      for (int l = 0; l < kTile; ++l) {
        re[k][l] += weighted_product_re(w, a[k], b[l]);
        if constexpr (!kReal) im[k][l] += weighted_product_im(w, a[k], b[l]);
      }
    }
  }
  const std::int64_t n_thread = job.n_thread();
  double* to = job.d_partial + thread;
  if (tile_number == 0) {
    const double all[] = {scalars.power,     scalars.data_power, scalars.objective,  scalars.chi_square,
                          scalars.equations, scalars.flagged,    scalars.bad_weight, scalars.not_finite};
    RT_UNROLL
    for (int k = 0; k < SumsJob::kScalars; ++k) to[k * n_thread] = all[k];
  }
  if (job.wants_products == 0) return;
  RT_UNROLL
  for (int k = 0; k < kTile; ++k) {
    RT_UNROLL
    for (int l = 0; l < kTile; ++l) {
      const std::int64_t i = kTile * tile.row + k, j = kTile * tile.column + l;
      if (i == 0 || i > n_vector || j > i) continue;
      const std::int64_t value = sum_value(n_vector, i, j);
      if constexpr (kReal) {
        to[(SumsJob::kScalars + value) * n_thread] = re[k][l];
      } else {
        to[(SumsJob::kScalars + 2 * value) * n_thread] = re[k][l];
        to[(SumsJob::kScalars + 2 * value + 1) * n_thread] = i == j ? 0 : im[k][l];
      }
    }
  }
}

/// Second launch: one number of one sum.
RT_HD inline void add_lanes(const SumsJob& job, std::int64_t thread) {
  const std::int64_t n_number = job.n_number();
  if (thread >= job.n_sum() * n_number) return;
  const std::int64_t number = thread % n_number, sum = thread / n_number;
  const std::int64_t n_own = job.is_real != 0 ? 1 : job.n_element;  // elements that have sums of their own
  const std::int64_t block = sum / n_own % job.n_block(), equation = sum / n_own / job.n_block();
  const std::int64_t n_vector = job.d_equation[equation].n_vector;
  double total = 0;
  if (number < SumsJob::kScalars + n_vector * (n_vector + 3) / 2 * (job.is_real != 0 ? 1 : 2)) {
    for (std::int64_t e = sum % n_own; e < job.n_element; e += n_own) {
      const double* from = job.d_partial + number * job.n_thread() + (equation * job.n_element + e) * job.n_slot;
      double of_element = 0;
      for (std::int64_t slot = job.d_first_slot[block]; slot < job.d_first_slot[block + 1]; slot += kStrands) {
        double strand[kStrands] = {};
        for (std::int64_t k = 0; k < static_cast<std::int64_t>(kStrands) && slot + k < job.d_first_slot[block + 1]; ++k)
          strand[k] = from[slot + k];
        of_element += sum_of_strands(strand);
      }
      total += of_element;
    }
  }
  job.d_sums[thread] = total;
}

/// One sum of sums.
RT_HD inline void add_list(const SumListsJob& job, std::int64_t thread) {
  if (thread >= job.n_total) return;
  double total = 0;
  for (std::int64_t i = job.d_first[thread]; i < job.d_first[thread + 1]; ++i) total += job.d_sums[job.d_source[i]];
  job.d_total[thread] = total;
}

}  // namespace rimetree::solve
