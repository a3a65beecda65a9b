// The sums over the cells of a block.
#include <algorithm>

#include "runtime/solve/jones/jones_planes.h"
#include "runtime/solve/jones/jones_sweep.h"
#include "runtime/solve/sums/strand_sums.h"

namespace rimetree::solve {

struct JonesChunk {
  static constexpr std::size_t kMost = kChunkCells;
  /// Memory for so many basis visibilities, used again by the same thread.
  static JonesChunk& of_thread(std::size_t n_basis) {
    thread_local JonesChunk chunk;
    chunk.n = 0;
    chunk.n_basis = n_basis;
    chunk.rows.clear();
    if (chunk.m.size() < 2 * n_basis * kMost) chunk.m.resize(2 * n_basis * kMost);
    return chunk;
  }
  double* re(std::size_t k) { return &m[2 * k * kMost]; }
  double* im(std::size_t k) { return &m[(2 * k + 1) * kMost]; }

  std::size_t n = 0, n_basis = 0;
  std::array<double, kMost> weight;      ///< 0: the cell does not count
  std::array<double, kMost> d_re, d_im;  ///< datum less fixed terms
  std::array<double, kMost> power;       ///< where there are fixed terms: of the datum with or without them
  std::vector<double> m;                 ///< visibilities of the terms
  std::vector<JonesSweep::Rows> rows;
  std::vector<double*> numbers;  ///< the arrays that count, while they are looked at
};

namespace {

/// Calls add(i, strand) for all cells; strands do not wait for each other.
template <class Add>
void for_each_cell(std::size_t n, const Add& add) {
  std::size_t i = 0;
  for (; i + kStrands <= n; i += kStrands)
    for (std::size_t strand = 0; strand < kStrands; ++strand) add(i + strand, strand);
  for (; i < n; ++i) add(i, i % kStrands);
}

}  // namespace

void JonesSweep::sum_block(const JonesPlanes& planes, const Item& item, What what) {
  const auto products = residuals(what) ? products_.by_term(item) : std::vector<std::array<JonesProduct, 2>>{};
  const std::size_t n = products_.n_basis(item.equation);
  const auto [first_time, last_time] = part_.counted_slots(item.time_segment, planes.cells);
  const auto [first_channel, last_channel] = part_.counted_channels(item.frequency_segment, planes.cells);
  JonesChunk& chunk = JonesChunk::of_thread(n);
  for (std::size_t element = 0; element < products_.n_element(item.equation); ++element) {
    const auto c = residuals(what) ? products_.coefficients(item, element, products) : std::vector<Complex<double>>{};
    ScalarSums sums;
    const std::size_t width = last_channel - first_channel;
    for (std::size_t t = first_time, rows; t < last_time; t += rows) {
      if (chunk.n + width > JonesChunk::kMost) {  // a row is cut only where a chunk is full
        rows = 1;
        for (std::size_t f = first_channel, end; f < last_channel; f = end) {
          if (chunk.n == JonesChunk::kMost) add_chunk(planes, item, element, what, c, chunk, sums);
          end = std::min(last_channel, f + JonesChunk::kMost - chunk.n);
          append_rows(planes, item, element, {chunk.n, t, 1, f, end - f}, chunk);
        }
      } else {
        rows = std::min(last_time - t, (JonesChunk::kMost - chunk.n) / width);
        append_rows(planes, item, element, {chunk.n, t, rows, first_channel, width}, chunk);
      }
    }
    add_chunk(planes, item, element, what, c, chunk, sums);
    sums_.scalars(sums_.block_of(item), item.equation, element) += sums;
  }
}

void JonesSweep::append_rows(const JonesPlanes& planes, const Item& item, std::size_t element, const Rows& rows,
                             JonesChunk& chunk) const {
  const auto& [at, t, n_row, first, width] = rows;
  const std::size_t n = n_row * width;
  chunk.n += n;
  chunk.rows.push_back(rows);
  double *d_re = &chunk.d_re[at], *d_im = &chunk.d_im[at];
  planes.data.copy_rows(element, t, n_row, first, width, d_re, d_im);
  if (products_.model(item.equation).conjugate)
    for (std::size_t i = 0; i < n; ++i) d_im[i] = -d_im[i];
  std::size_t k = 0;
  const std::size_t n_basis = products_.n_basis_of_term(item.equation);
  const auto power = [&](std::size_t i) { return d_re[i] * d_re[i] + d_im[i] * d_im[i]; };
  if (planes.any_fixed)
    for (std::size_t i = 0; i < n; ++i) chunk.power[at + i] = power(i);
  for (const JonesPlanes::Core& core : planes.cores) {
    const JonesTerm::Place place = core.term->place(element);
    if (!place.there) {
      for (std::size_t end = k + (core.solvable ? n_basis : 0); k < end; ++k)
        std::fill_n(chunk.re(k) + at, n, 0.0), std::fill_n(chunk.im(k) + at, n, 0.0);
      continue;
    }
    if (!core.solvable) {
      std::array<double, JonesChunk::kMost> re, im;
      core.value.copy_rows(place.element, t, n_row, first, width, re.data(), im.data());
      const double sign = core.term->minus ? -1 : 1;
      for (std::size_t i = 0; i < n; ++i) d_re[i] -= sign * re[i], d_im[i] -= sign * im[i];
      continue;
    }
    for (std::size_t ab = 0; ab < n_basis; ++ab, ++k) {
      double *re = chunk.re(k) + at, *im = chunk.im(k) + at;
      core.value.copy_rows(n_basis == 1 ? place.element : ab, t, n_row, first, width, re, im);
      if (core.term->minus)
        for (std::size_t i = 0; i < n; ++i) re[i] = -re[i], im[i] = -im[i];
    }
  }
  if (planes.any_fixed)  // of data that are a fixed term, as in 0 = D - V
    for (std::size_t i = 0; i < n; ++i) chunk.power[at + i] = std::max(chunk.power[at + i], power(i));
  if (planes.weighted)
    planes.weight.copy_real_rows(element, t, n_row, first, width, &chunk.weight[at]);
  else
    std::fill_n(&chunk.weight[at], n, 1.0);
}

/// Weights as they count, 0 for cells that do not, whose numbers become 0 as well. Gives how many cells count.
std::size_t JonesSweep::weigh(const JonesPlanes& planes, const Item& item, std::size_t element, JonesChunk& chunk,
                              ScalarSums& sums) const {
  const std::size_t n = chunk.n;
  double* w = chunk.weight.data();
  const double factor = problem_.equations[item.equation].weight_factor;
  for (std::size_t i = 0; i < n; ++i) w[i] *= factor;
  std::vector<double*>& numbers = chunk.numbers;
  numbers.assign({chunk.d_re.data(), chunk.d_im.data()});
  if (planes.any_fixed) numbers.push_back(chunk.power.data());
  for (std::size_t k = 0; k < chunk.n_basis; ++k) numbers.push_back(chunk.re(k)), numbers.push_back(chunk.im(k));
  if (!planes.any_flags && all_count(n, w, numbers.data(), numbers.size())) return n;
  std::size_t counted = 0;
  for (const Rows& rows : chunk.rows)
    for (std::size_t cell = 0; cell < rows.n * rows.width; ++cell) {
      const std::size_t i = rows.at + cell, time = rows.time + cell / rows.width;
      const bool finite = std::all_of(numbers.begin(), numbers.end(), [i](const double* x) { return is_finite(x[i]); });
      switch (use_of(planes.flagged(element, time, rows.channel + cell % rows.width), w[i], finite)) {
        case CellUse::counted:
          ++counted;
          continue;
        case CellUse::flagged:
          ++sums.flagged;
          break;
        case CellUse::bad_weight:
          ++sums.bad_weight;
          break;
        case CellUse::not_finite:
          ++sums.not_finite;
      }
      w[i] = 0;
      for (double* x : numbers) x[i] = 0;
    }
  return counted;
}

/// Chi-square and objective with the model's unknown terms, by which weights may change.
void JonesSweep::add_residuals(const Item& item, const std::vector<Complex<double>>& c, JonesChunk& chunk,
                               ScalarSums& sums) const {
  const std::size_t n = chunk.n, n_basis = chunk.n_basis;
  const int dimensions = sums_.is_complex[item.equation] ? 2 : 1;
  std::array<double, JonesChunk::kMost> re, im;
  std::copy_n(chunk.d_re.data(), n, re.data());
  std::copy_n(chunk.d_im.data(), n, im.data());
  for (std::size_t k = 0; k < n_basis; ++k)
    for (std::size_t i = 0; i < n; ++i) {
      const Complex<double> model = c[k] * Complex<double>{chunk.re(k)[i], chunk.im(k)[i]};
      re[i] -= model.re, im[i] -= model.im;
    }
  const MisfitSums misfit = sum_of_misfits(errors_, dimensions, n, re.data(), im.data(), chunk.weight.data());
  sums.objective += misfit.objective;
  sums.chi_square += misfit.chi_square;
}

void JonesSweep::add_chunk(const JonesPlanes& planes, const Item& item, std::size_t element, What what,
                           const std::vector<Complex<double>>& c, JonesChunk& chunk, ScalarSums& sums) {
  const std::size_t counted = weigh(planes, item, element, chunk, sums);
  const std::size_t n = chunk.n, n_basis = chunk.n_basis;
  const int dimensions = sums_.is_complex[item.equation] ? 2 : 1;
  double* w = chunk.weight.data();
  sums.equations += static_cast<double>(counted) * dimensions;
  if (!c.empty()) add_residuals(item, c, chunk, sums);
  const double power = sum_of_powers(n, w, chunk.d_re.data(), chunk.d_im.data());
  sums.power += power;
  if (!planes.any_fixed) {
    sums.data_power += power;
  } else {
    double data_power[kStrands] = {};
    for_each_cell(n, [&](std::size_t i, std::size_t strand) { data_power[strand] += w[i] * chunk.power[i]; });
    sums.data_power += sum_of_strands(data_power);
  }
  chunk.n = 0;
  chunk.rows.clear();
  if (what == What::exact) return;
  Complex<double>*b = sums_.of_products(sums_.block_of(item), item.equation, element), *h = b + n_basis;
  for (std::size_t k = 0; k < n_basis; ++k) {
    b[k] += sum_of_products(n, w, chunk.re(k), chunk.im(k), chunk.d_re.data(), chunk.d_im.data());
    for (std::size_t l = 0; l < k; ++l)
      h[k * (k + 1) / 2 + l] += sum_of_products(n, w, chunk.re(k), chunk.im(k), chunk.re(l), chunk.im(l));
    h[k * (k + 1) / 2 + k] += sum_of_powers(n, w, chunk.re(k), chunk.im(k));
  }
}

}  // namespace rimetree::solve
