// The part of JonesSource that sums over the cells of a block.
#include <algorithm>
#include <limits>

#include "runtime/solve/jones_planes.h"

namespace rimetree::solve {

std::size_t JonesSource::n_basis(std::uint32_t equation) const {
  const JonesModel& model = models_[equation];
  std::size_t n = 0;
  for (const JonesTerm& term : model.terms) n += term.solvable() ? (model.diagonal ? 1 : elements_) : 0;
  return n;
}

std::size_t JonesSource::block_of(const Item& item) const {
  return item.time_segment * problem_.frequency_segments().size() + item.frequency_segment;
}
const Complex<double>* JonesSource::sums_of(const Item& item, std::size_t element) const {
  const std::size_t k = n_basis(item.equation);
  return &values_[first_[item.equation] + (block_of(item) * elements_ + element) * (k + k * (k + 1) / 2)];
}
Complex<double>* JonesSource::sums_of(const Item& item, std::size_t element) {
  return const_cast<Complex<double>*>(std::as_const(*this).sums_of(item, element));
}
const JonesSource::Sums& JonesSource::scalars_of(const Item& item, std::size_t element) const {
  return scalars_[(item.equation * problem_.n_block() + block_of(item)) * elements_ + element];
}

std::vector<Item> JonesSource::items() const {
  std::vector<Item> items;
  for (std::uint32_t e = 0; e < models_.size(); ++e)
    for (std::uint32_t t = 0; solves(e) && t < problem_.time_segments().size(); ++t)
      for (std::uint32_t f = 0; f < problem_.frequency_segments().size(); ++f) items.push_back({e, t, f});
  return items;
}

// Cells are gathered into short arrays first, which takes care of strides, flags, weights and what is not finite; the
// sums over them then are plain loops.
struct JonesSource::Chunk {
  static constexpr std::size_t kMost = 512;
  explicit Chunk(std::size_t n_basis)
      : n_basis(n_basis), weight(kMost), d_re(kMost), d_im(kMost), power(kMost), m(2 * n_basis * kMost) {}
  double* re(std::size_t k) { return &m[2 * k * kMost]; }
  double* im(std::size_t k) { return &m[(2 * k + 1) * kMost]; }

  std::size_t n = 0, n_basis;
  std::vector<double> weight;      ///< 0: the cell does not count
  std::vector<double> d_re, d_im;  ///< datum less fixed terms
  std::vector<double> power;       ///< of the datum itself
  std::vector<double> m;           ///< visibilities of the terms
};

namespace {

constexpr std::size_t kLanes = 4;  // independent sums, so that additions need not wait for each other

/// Sum of w a* b.
Complex<double> weighted_product(std::size_t n, const double* w, const double* a_re, const double* a_im,
                                 const double* b_re, const double* b_im) {
  double re[kLanes] = {}, im[kLanes] = {};
  const auto add = [&](std::size_t i, std::size_t lane) {
    re[lane] += w[i] * (a_re[i] * b_re[i] + a_im[i] * b_im[i]);
    im[lane] += w[i] * (a_re[i] * b_im[i] - a_im[i] * b_re[i]);
  };
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
  for (; i < n; ++i) add(i, i % kLanes);
  return {(re[0] + re[1]) + (re[2] + re[3]), (im[0] + im[1]) + (im[2] + im[3])};
}

/// Sum of w |a|^2.
double weighted_power(std::size_t n, const double* w, const double* re, const double* im) {
  double sum[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      sum[lane] += w[i + lane] * (re[i + lane] * re[i + lane] + im[i + lane] * im[i + lane]);
  for (; i < n; ++i) sum[i % kLanes] += w[i] * (re[i] * re[i] + im[i] * im[i]);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/// Whether all weights are good and all of `zero` are.
bool all_good(std::size_t n, const double* w, const double* zero) {
  double sum[kLanes] = {}, least[kLanes];
  std::fill_n(least, kLanes, std::numeric_limits<double>::max());
  const auto add = [&](std::size_t i, std::size_t lane) {
    sum[lane] += zero[i] + 0 * w[i];
    least[lane] = w[i] < least[lane] ? w[i] : least[lane];
  };
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
  for (; i < n; ++i) add(i, i % kLanes);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]) == 0 && *std::min_element(least, least + kLanes) > 0;
}

}  // namespace

JonesSource::Sums& JonesSource::Sums::operator+=(const Sums& other) {
  power += other.power, data_power += other.data_power;
  objective += other.objective, chi_square += other.chi_square;
  equations += other.equations;
  excluded += other.excluded;
  return *this;
}

void JonesSource::sum_block(const Planes& planes, const RequestPart& part, const Item& item, Sweep what) {
  // Residuals are wanted for exact values, and where weights depend on them.
  const bool residuals = what == Sweep::exact || errors_.degrees_of_freedom > 0;
  const Products products = residuals ? this->products(item) : Products{};
  const std::size_t n = n_basis(item.equation);
  const auto [first_time, last_time] =
      problem_.time_segments().overlap(item.time_segment, part.first_time, part.n_time());
  const auto& frequencies = problem_.frequency_segments().begin;
  Chunk chunk(n);
  for (std::size_t element = 0; element < elements_; ++element) {
    const auto c = residuals ? coefficients(item.equation, element, products) : std::vector<Complex<double>>{};
    Sums sums;
    for (std::size_t t = first_time; t < last_time; ++t)
      for (std::size_t f = frequencies[item.frequency_segment], end; f < frequencies[item.frequency_segment + 1];
           f = end) {
        if (chunk.n == Chunk::kMost) add_chunk(item, element, what, c, chunk, sums);
        end = std::min(frequencies[item.frequency_segment + 1], f + Chunk::kMost - chunk.n);
        append_row(planes, item, element, {t, f, end - f}, chunk, sums.excluded);
      }
    add_chunk(item, element, what, c, chunk, sums);
    scalars_[(item.equation * problem_.n_block() + block_of(item)) * elements_ + element] += sums;
  }
}

// `row`: time, first channel, number of channels.
void JonesSource::append_row(const Planes& planes, const Item& item, std::size_t element,
                             std::array<std::size_t, 3> row, Chunk& chunk, Excluded& excluded) const {
  const auto [t, first, n] = row;
  const std::size_t at = chunk.n;
  chunk.n += n;
  double *w = &chunk.weight[at], *d_re = &chunk.d_re[at], *d_im = &chunk.d_im[at];
  planes.data.copy_row(element, t, first, n, d_re, d_im);
  for (std::size_t i = 0; i < n; ++i) chunk.power[at + i] = d_re[i] * d_re[i] + d_im[i] * d_im[i];
  std::array<double, Chunk::kMost> re, im;
  std::size_t k = 0;
  const bool diagonal = models_[item.equation].diagonal;
  for (const Planes::Core& core : planes.cores) {
    if (!core.solvable) {
      core.value.copy_row(element, t, first, n, re.data(), im.data());
      for (std::size_t i = 0; i < n; ++i) d_re[i] -= re[i], d_im[i] -= im[i];
      continue;
    }
    for (std::size_t ab = 0; ab < (diagonal ? 1 : elements_); ++ab, ++k)
      core.value.copy_row(diagonal ? element : ab, t, first, n, chunk.re(k) + at, chunk.im(k) + at);
  }
  if (planes.weighted)
    planes.weight.copy_row(element, t, first, n, w, im.data());
  else
    std::fill_n(w, n, 1.0);
  const double factor = problem_.equations[item.equation].weight_factor;
  for (std::size_t i = 0; i < n; ++i) w[i] *= factor;
  // Zero times what is finite is zero; times anything else it is NaN.
  for (std::size_t i = 0; i < n; ++i) re[i] = 0 * chunk.power[at + i] + 0 * d_re[i] + 0 * d_im[i];
  for (std::size_t l = 0; l < k; ++l)
    for (std::size_t i = 0; i < n; ++i) re[i] += 0 * chunk.re(l)[at + i] + 0 * chunk.im(l)[at + i];
  if (!planes.any_flags && all_good(n, w, re.data())) return;
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t* reason = nullptr;
    if (planes.flagged(element, t, first + i))
      reason = &excluded.flagged;
    else if (!good_weight(w[i]))
      reason = &excluded.bad_weight;
    else if (re[i] != 0)
      reason = &excluded.not_finite;
    if (reason == nullptr) continue;
    ++*reason;
    w[i] = d_re[i] = d_im[i] = chunk.power[at + i] = 0;
    for (std::size_t l = 0; l < k; ++l) chunk.re(l)[at + i] = chunk.im(l)[at + i] = 0;
  }
}

void JonesSource::add_chunk(const Item& item, std::size_t element, Sweep what, const std::vector<Complex<double>>& c,
                            Chunk& chunk, Sums& sums) {
  const std::size_t n = chunk.n, n_basis = chunk.n_basis;
  const double dimensions = complex_[item.equation] ? 2 : 1;
  for (std::size_t i = 0; i < n; ++i)
    sums.equations += chunk.weight[i] > 0 ? static_cast<std::uint64_t>(dimensions) : 0;
  if (!c.empty()) {
    std::array<double, Chunk::kMost> re, im;
    std::copy_n(chunk.d_re.data(), n, re.data());
    std::copy_n(chunk.d_im.data(), n, im.data());
    for (std::size_t k = 0; k < n_basis; ++k)
      for (std::size_t i = 0; i < n; ++i) {
        re[i] -= c[k].re * chunk.re(k)[i] - c[k].im * chunk.im(k)[i];
        im[i] -= c[k].re * chunk.im(k)[i] + c[k].im * chunk.re(k)[i];
      }
    for (std::size_t i = 0; i < n; ++i) {
      const double square = chunk.weight[i] * (re[i] * re[i] + im[i] * im[i]);
      const double factor = errors_.weight_factor(square, static_cast<int>(dimensions));
      sums.objective += chunk.weight[i] > 0 ? errors_.objective(square, static_cast<int>(dimensions)) : 0;
      sums.chi_square += square * factor;
      chunk.weight[i] *= factor;
    }
  }
  const double* w = chunk.weight.data();
  const double power = weighted_power(n, w, chunk.d_re.data(), chunk.d_im.data());
  sums.power += power;
  const std::vector<JonesTerm>& terms = models_[item.equation].terms;
  if (std::all_of(terms.begin(), terms.end(), [](const JonesTerm& term) { return term.solvable(); }))
    sums.data_power += power;
  else
    for (std::size_t i = 0; i < n; ++i) sums.data_power += w[i] * chunk.power[i];
  chunk.n = 0;
  if (what == Sweep::exact) return;
  Complex<double>*b = sums_of(item, element), *h = b + n_basis;
  for (std::size_t k = 0; k < n_basis; ++k) {
    b[k] += weighted_product(n, w, chunk.re(k), chunk.im(k), chunk.d_re.data(), chunk.d_im.data());
    for (std::size_t l = 0; l < k; ++l)
      h[k * (k + 1) / 2 + l] += weighted_product(n, w, chunk.re(k), chunk.im(k), chunk.re(l), chunk.im(l));
    h[k * (k + 1) / 2 + k] += weighted_power(n, w, chunk.re(k), chunk.im(k));
  }
}

}  // namespace rimetree::solve
