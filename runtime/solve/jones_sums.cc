// The part of JonesSource that looks at the data: one pass over all cells.
#include <algorithm>

#include "runtime/solve/generic_source.h"
#include "runtime/solve/jones_source.h"
#include "runtime/solve/operand.h"

namespace rimetree::solve {

struct JonesSource::Planes {
  Operand data, weight;
  bool weighted = false;
  FlagOperand data_flags, weight_flags;
  struct Core {
    Operand value;
    FlagOperand flags;
    bool flags_merge = false, solvable = false;
  };
  std::vector<Core> cores;
  bool any_flags = false;

  bool flagged(std::size_t element, std::size_t t, std::size_t f) const {
    if (!any_flags) return false;
    if (data_flags.at(element, t, f) || weight_flags.at(element, t, f)) return true;
    for (const Core& core : cores)
      if (core.flags_merge ? core.flags.any(t, f) : core.flags.at(element, t, f)) return true;
    return false;
  }
};

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
    for (std::uint32_t t = 0; has_data_[e] && n_basis(e) > 0 && t < problem_.time_segments().size(); ++t)
      for (std::uint32_t f = 0; f < problem_.frequency_segments().size(); ++f) items.push_back({e, t, f});
  return items;
}

void JonesSource::sweep(Sweep what, Cancellation& cancellation) {
  std::vector<int> roots;
  for (std::size_t e = 0; e < models_.size(); ++e) {
    roots.push_back(problem_.equations[e].data);
    if (problem_.equations[e].weight >= 0) roots.push_back(problem_.equations[e].weight);
    for (const JonesTerm& term : models_[e].terms) roots.push_back(term.core);
  }
  // Fixed, all of them: after the first time this gives what has been kept.
  const auto results = evaluator_.evaluate_step(request_, roots, &cancellation);
  check_failures(results);
  std::vector<Planes> planes(models_.size());
  std::size_t next = 0;
  for (std::size_t e = 0; e < models_.size(); ++e) {
    const std::size_t begin = next;
    const auto take = [&]() -> const Result& { return *results[next++]; };
    const bool weighted = problem_.equations[e].weight >= 0;
    const std::size_t end = begin + 1 + (weighted ? 1 : 0) + models_[e].terms.size();
    has_data_[e] =
        std::all_of(results.begin() + static_cast<std::ptrdiff_t>(begin),
                    results.begin() + static_cast<std::ptrdiff_t>(end), [](const auto& r) { return r->ok(); });
    next = has_data_[e] ? begin : end;
    if (!has_data_[e]) continue;
    Planes& of = planes[e];
    const Result& data = take();
    of.data = Operand(data.value);
    of.data_flags = FlagOperand(data.flags);
    bool is_complex = data.value.is_complex();
    of.weighted = weighted;
    if (weighted) {
      const Result& weight = take();
      of.weight = Operand(weight.value);
      of.weight_flags = FlagOperand(weight.flags);
    }
    for (const JonesTerm& term : models_[e].terms) {
      const Result& core = take();
      of.cores.push_back({Operand(core.value), FlagOperand(core.flags), term.flags_merge, term.solvable()});
      is_complex = is_complex || core.value.is_complex();
      for (const auto* factors : {&term.left, &term.right})
        for (const int node : *factors) is_complex = is_complex || factors_[node]->value.is_complex();
    }
    complex_[e] = is_complex;
    of.any_flags = !of.data_flags.empty() || !of.weight_flags.empty() ||
                   std::any_of(of.cores.begin(), of.cores.end(), [](const auto& core) { return !core.flags.empty(); });
  }
  values_.resize(first_.back());
  scalars_.resize(models_.size() * problem_.n_block() * elements_);
  const std::vector<Item> all = items();
  evaluator_.thread_pool().parallel_for(
      all.size(), 4,
      [&](std::size_t begin, std::size_t end, int) {
        for (std::size_t i = begin; i < end; ++i) sum_block(planes[all[i].equation], all[i], what);
      },
      &cancellation);
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

}  // namespace

void JonesSource::sum_block(const Planes& planes, const Item& item, Sweep what) {
  // Residuals are wanted for exact values, and where weights depend on them.
  const bool residuals = what == Sweep::exact || errors_.degrees_of_freedom > 0;
  const Products products = residuals ? this->products(item) : Products{};
  const std::size_t n = n_basis(item.equation);
  const auto& times = problem_.time_segments().begin;
  const auto& frequencies = problem_.frequency_segments().begin;
  Chunk chunk(n);
  for (std::size_t element = 0; element < elements_; ++element) {
    const auto c = residuals ? coefficients(item.equation, element, products) : std::vector<Complex<double>>{};
    Sums sums;
    if (what == Sweep::sums) std::fill_n(sums_of(item, element), n + n * (n + 1) / 2, Complex<double>{});
    for (std::size_t t = times[item.time_segment]; t < times[item.time_segment + 1]; ++t)
      for (std::size_t f = frequencies[item.frequency_segment], end; f < frequencies[item.frequency_segment + 1];
           f = end) {
        if (chunk.n == Chunk::kMost) add_chunk(item, element, what, c, chunk, sums);
        end = std::min(frequencies[item.frequency_segment + 1], f + Chunk::kMost - chunk.n);
        append_row(planes, item, element, {t, f, end - f}, chunk, sums.excluded);
      }
    add_chunk(item, element, what, c, chunk, sums);
    scalars_[(item.equation * problem_.n_block() + block_of(item)) * elements_ + element] = sums;
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
  // Zero times what is finite is zero; times anything else it is NaN.
  std::fill_n(re.data(), n, 0.0);
  for (std::size_t i = 0; i < n; ++i) re[i] += 0 * chunk.power[at + i] + 0 * d_re[i] + 0 * d_im[i];
  for (std::size_t l = 0; l < k; ++l)
    for (std::size_t i = 0; i < n; ++i) re[i] += 0 * chunk.re(l)[at + i] + 0 * chunk.im(l)[at + i];
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t* reason = nullptr;
    if (planes.flagged(element, t, first + i))
      reason = &excluded.flagged;
    else if (!good_weight(w[i]))
      reason = &excluded.bad_weight;
    else if (re[i] != 0)
      reason = &excluded.not_finite;
    w[i] *= problem_.equations[item.equation].weight_factor;
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
  for (std::size_t i = 0; i < n; ++i) sums.data_power += w[i] * chunk.power[i];
  sums.power += weighted_product(n, w, chunk.d_re.data(), chunk.d_im.data(), chunk.d_re.data(), chunk.d_im.data()).re;
  chunk.n = 0;
  if (what == Sweep::exact) return;
  Complex<double>*b = sums_of(item, element), *h = b + n_basis;
  for (std::size_t k = 0; k < n_basis; ++k) {
    b[k] += weighted_product(n, w, chunk.re(k), chunk.im(k), chunk.d_re.data(), chunk.d_im.data());
    for (std::size_t l = 0; l <= k; ++l)
      h[k * (k + 1) / 2 + l] += weighted_product(n, w, chunk.re(k), chunk.im(k), chunk.re(l), chunk.im(l));
  }
}

void JonesSource::add_exact_chi_square(std::vector<GroupEquations>& groups, Cancellation& cancellation) {
  evaluate_factors(cancellation);
  sweep(Sweep::exact, cancellation);
  for (const Item& item : items()) {
    const std::int32_t g = problem_.group_of(item);
    for (std::size_t element = 0; g >= 0 && element < elements_; ++element)
      groups[static_cast<std::size_t>(g)].equations.chi_square += scalars_of(item, element).chi_square;
  }
  summed_ = false;  // what follows would begin anew
}

}  // namespace rimetree::solve
