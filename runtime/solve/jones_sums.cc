// The part of JonesSource that sums over the cells of a block.
#include <algorithm>
#include <limits>

#include "runtime/solve/jones_planes.h"

namespace rimetree::solve {

std::size_t JonesSource::block_of(const Item& item) const {
  return item.time_segment * problem_.frequency_segments().size() + item.frequency_segment;
}
const Complex<double>* JonesSource::sums_of(const Item& item, std::size_t element) const {
  const std::size_t k = n_basis(item.equation);
  return &values_[block_of(item) * first_.back() + first_[item.equation] + element * (k + k * (k + 1) / 2)];
}
Complex<double>* JonesSource::sums_of(const Item& item, std::size_t element) {
  return const_cast<Complex<double>*>(std::as_const(*this).sums_of(item, element));
}
const ScalarSums& JonesSource::scalars_of(const Item& item, std::size_t element) const {
  return scalars_[(block_of(item) * models_.size() + item.equation) * elements_ + element];
}

void JonesSource::append_items(std::uint32_t equation, std::uint32_t first_segment, std::uint32_t end_segment,
                               std::vector<Item>& items) const {
  if (n_basis(equation) == 0) return;
  for (std::uint32_t t = first_segment; t < end_segment; ++t)
    for (std::uint32_t f = 0; f < problem_.frequency_segments().size(); ++f) items.push_back({equation, t, f});
}

std::vector<Item> JonesSource::items() const {
  std::vector<Item> items;
  for (std::uint32_t e = 0; e < models_.size(); ++e)
    if (has_data_[e]) append_items(e, 0, static_cast<std::uint32_t>(problem_.time_segments().size()), items);
  return items;
}

std::vector<Item> JonesSource::items(std::size_t first, std::size_t last) const {
  std::vector<Item> items;
  for (auto e = static_cast<std::uint32_t>(first); e < last; ++e)
    append_items(e, part_.first_segment, part_.end_segment(), items);
  return items;
}

// Cells are gathered into short arrays first, which takes care of strides; then flags, weights and what is not finite
// are looked at, and the sums are plain loops.
struct JonesSource::Chunk {
  static constexpr std::size_t kMost = kChunkCells;
  /// Memory for so many basis visibilities, used again by the same thread.
  static Chunk& of_thread(std::size_t n_basis) {
    thread_local Chunk chunk;
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
  std::array<double, kMost> power;       ///< of the datum itself, where there are fixed terms
  std::vector<double> m;                 ///< visibilities of the terms
  std::vector<Rows> rows;
  std::vector<double*> numbers;  ///< the arrays that count, while they are looked at
};

namespace {

/// Calls add(i, lane) for all cells; lanes do not wait for each other.
template <class Add>
void for_each_cell(std::size_t n, const Add& add) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
  for (; i < n; ++i) add(i, i % kLanes);
}

/// Sum of w a* b.
Complex<double> sum_of_products(std::size_t n, const double* w, const double* a_re, const double* a_im,
                                const double* b_re, const double* b_im) {
  double re[kLanes] = {}, im[kLanes] = {};
  for_each_cell(n, [&](std::size_t i, std::size_t lane) {
    const Complex<double> a{a_re[i], a_im[i]}, b{b_re[i], b_im[i]};
    re[lane] += weighted_product_re(w[i], a, b);
    im[lane] += weighted_product_im(w[i], a, b);
  });
  return {sum_of_lanes(re), sum_of_lanes(im)};
}

/// Sum of w |a|^2. (Written out: so the compiler finds its vectors.)
double sum_of_powers(std::size_t n, const double* w, const double* re, const double* im) {
  double sum[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      sum[lane] += weighted_power(w[i + lane], re[i + lane], im[i + lane]);
  for (; i < n; ++i) sum[i % kLanes] += weighted_power(w[i], re[i], im[i]);
  return sum_of_lanes(sum);
}

/// 0 if all numbers are finite, else NaN.
double zero_if_finite(std::size_t n, const double* x) {
  double sum[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) sum[lane] += 0 * x[i + lane];
  for (; i < n; ++i) sum[0] += 0 * x[i];
  return sum_of_lanes(sum);
}

double least_of(std::size_t n, const double* x) {
  double least[kLanes];
  std::fill_n(least, kLanes, std::numeric_limits<double>::max());
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      least[lane] = x[i + lane] < least[lane] ? x[i + lane] : least[lane];
  for (; i < n; ++i) least[0] = std::min(least[0], x[i]);
  return *std::min_element(least, least + kLanes);
}

}  // namespace

void JonesSource::sum_block(const Planes& planes, const Item& item, Sweep what) {
  // Residuals are wanted for exact values, and where weights depend on them.
  const bool residuals = what == Sweep::exact || errors_.degrees_of_freedom > 0;
  const Products products = residuals ? this->products(item) : Products{};
  const std::size_t n = n_basis(item.equation);
  const auto [first_time, last_time] = part_.counted_slots(item.time_segment, planes.cells);
  const auto [first_channel, last_channel] =
      counted_channels(problem_.frequency_segments(), item.frequency_segment, part_.cells(), planes.cells);
  Chunk& chunk = Chunk::of_thread(n);
  for (std::size_t element = 0; element < elements_; ++element) {
    const auto c = residuals ? coefficients(item.equation, element, products) : std::vector<Complex<double>>{};
    ScalarSums sums;
    const std::size_t width = last_channel - first_channel;
    for (std::size_t t = first_time, rows; t < last_time; t += rows) {
      if (chunk.n + width > Chunk::kMost) {  // a row is cut only where a chunk is full
        rows = 1;
        for (std::size_t f = first_channel, end; f < last_channel; f = end) {
          if (chunk.n == Chunk::kMost) add_chunk(planes, item, element, what, c, chunk, sums);
          end = std::min(last_channel, f + Chunk::kMost - chunk.n);
          append_rows(planes, item, element, {chunk.n, t, 1, f, end - f}, chunk);
        }
      } else {
        rows = std::min(last_time - t, (Chunk::kMost - chunk.n) / width);
        append_rows(planes, item, element, {chunk.n, t, rows, first_channel, width}, chunk);
      }
    }
    add_chunk(planes, item, element, what, c, chunk, sums);
    scalars_[(block_of(item) * models_.size() + item.equation) * elements_ + element] += sums;
  }
}

void JonesSource::append_rows(const Planes& planes, const Item& item, std::size_t element, const Rows& rows,
                              Chunk& chunk) const {
  const auto& [at, t, n_row, first, width] = rows;
  const std::size_t n = n_row * width;
  chunk.n += n;
  chunk.rows.push_back(rows);
  double *d_re = &chunk.d_re[at], *d_im = &chunk.d_im[at];
  planes.data.copy_rows(element, t, n_row, first, width, d_re, d_im);
  std::size_t k = 0;
  const bool diagonal = models_[item.equation].diagonal;
  if (planes.any_fixed)
    for (std::size_t i = 0; i < n; ++i) chunk.power[at + i] = d_re[i] * d_re[i] + d_im[i] * d_im[i];
  for (const Planes::Core& core : planes.cores) {
    if (!core.solvable) {
      std::array<double, Chunk::kMost> re, im;
      core.value.copy_rows(element, t, n_row, first, width, re.data(), im.data());
      for (std::size_t i = 0; i < n; ++i) d_re[i] -= re[i], d_im[i] -= im[i];
      continue;
    }
    for (std::size_t ab = 0; ab < (diagonal ? 1 : elements_); ++ab, ++k)
      core.value.copy_rows(diagonal ? element : ab, t, n_row, first, width, chunk.re(k) + at, chunk.im(k) + at);
  }
  if (planes.weighted)
    planes.weight.copy_real_rows(element, t, n_row, first, width, &chunk.weight[at]);
  else
    std::fill_n(&chunk.weight[at], n, 1.0);
}

/// Weights as they count, 0 for cells that do not, whose numbers become 0 as well.
void JonesSource::weigh(const Planes& planes, const Item& item, std::size_t element, Chunk& chunk,
                        ScalarSums& sums) const {
  const std::size_t n = chunk.n;
  double* w = chunk.weight.data();
  const double factor = problem_.equations[item.equation].weight_factor;
  for (std::size_t i = 0; i < n; ++i) w[i] *= factor;
  std::vector<double*>& numbers = chunk.numbers;
  numbers.assign({chunk.d_re.data(), chunk.d_im.data()});
  if (planes.any_fixed) numbers.push_back(chunk.power.data());
  for (std::size_t k = 0; k < chunk.n_basis; ++k) numbers.push_back(chunk.re(k)), numbers.push_back(chunk.im(k));
  double zero = zero_if_finite(n, w);
  for (const double* x : numbers) zero += zero_if_finite(n, x);
  if (!planes.any_flags && zero == 0 && least_of(n, w) > 0) return;
  for (const Rows& rows : chunk.rows)
    for (std::size_t cell = 0; cell < rows.n * rows.width; ++cell) {
      const std::size_t i = rows.at + cell, time = rows.time + cell / rows.width;
      const bool finite = std::all_of(numbers.begin(), numbers.end(), [i](const double* x) { return is_finite(x[i]); });
      switch (use_of(planes.flagged(element, time, rows.channel + cell % rows.width), w[i], finite)) {
        case CellUse::counted:
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
}

void JonesSource::add_chunk(const Planes& planes, const Item& item, std::size_t element, Sweep what,
                            const std::vector<Complex<double>>& c, Chunk& chunk, ScalarSums& sums) {
  weigh(planes, item, element, chunk, sums);
  const std::size_t n = chunk.n, n_basis = chunk.n_basis;
  const int dimensions = complex_[item.equation] ? 2 : 1;
  double* w = chunk.weight.data();
  for (std::size_t i = 0; i < n; ++i) sums.equations += w[i] > 0 ? dimensions : 0;
  if (!c.empty()) {
    std::array<double, Chunk::kMost> re, im;
    std::copy_n(chunk.d_re.data(), n, re.data());
    std::copy_n(chunk.d_im.data(), n, im.data());
    for (std::size_t k = 0; k < n_basis; ++k)
      for (std::size_t i = 0; i < n; ++i) {
        const Complex<double> model = c[k] * Complex<double>{chunk.re(k)[i], chunk.im(k)[i]};
        re[i] -= model.re, im[i] -= model.im;
      }
    double objective[kLanes] = {}, chi_square[kLanes] = {};
    for_each_cell(n, [&](std::size_t i, std::size_t lane) {
      if (w[i] == 0) return;
      const CellMisfit misfit = misfit_of(errors_, w[i], {re[i], im[i]}, dimensions);
      objective[lane] += misfit.objective;
      chi_square[lane] += misfit.chi_square;
      w[i] *= misfit.factor;
    });
    sums.objective += sum_of_lanes(objective);
    sums.chi_square += sum_of_lanes(chi_square);
  }
  const double power = sum_of_powers(n, w, chunk.d_re.data(), chunk.d_im.data());
  sums.power += power;
  if (!planes.any_fixed) {
    sums.data_power += power;
  } else {
    double data_power[kLanes] = {};
    for_each_cell(n, [&](std::size_t i, std::size_t lane) { data_power[lane] += w[i] * chunk.power[i]; });
    sums.data_power += sum_of_lanes(data_power);
  }
  chunk.n = 0;
  chunk.rows.clear();
  if (what == Sweep::exact) return;
  Complex<double>*b = sums_of(item, element), *h = b + n_basis;
  for (std::size_t k = 0; k < n_basis; ++k) {
    b[k] += sum_of_products(n, w, chunk.re(k), chunk.im(k), chunk.d_re.data(), chunk.d_im.data());
    for (std::size_t l = 0; l < k; ++l)
      h[k * (k + 1) / 2 + l] += sum_of_products(n, w, chunk.re(k), chunk.im(k), chunk.re(l), chunk.im(l));
    h[k * (k + 1) / 2 + k] += sum_of_powers(n, w, chunk.re(k), chunk.im(k));
  }
}

}  // namespace rimetree::solve
