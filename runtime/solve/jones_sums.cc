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
    for (std::uint32_t t = 0; has_data_[e] && t < problem_.time_segments().size(); ++t)
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

void JonesSource::sum_block(const Planes& planes, const Item& item, Sweep what) {
  // Residuals are wanted for exact values, and where weights depend on them.
  const bool residuals = what == Sweep::exact || errors_.degrees_of_freedom > 0;
  const Products products = residuals ? this->products(item) : Products{};
  for (std::size_t element = 0; element < elements_; ++element)
    sum_element(planes, item, element, what,
                residuals ? coefficients(item.equation, element, products) : std::vector<Complex<double>>{});
}

void JonesSource::sum_element(const Planes& planes, const Item& item, std::size_t element, Sweep what,
                              const std::vector<Complex<double>>& c) {
  const std::size_t n = n_basis(item.equation);
  const bool diagonal = models_[item.equation].diagonal;
  Complex<double>*b = sums_of(item, element), *h = b + n;
  Sums sums;
  if (what == Sweep::sums) std::fill(b, h + n * (n + 1) / 2, Complex<double>{});
  std::vector<Complex<double>> m(n);
  const int dimensions = complex_[item.equation] ? 2 : 1;
  const double weight_factor = problem_.equations[item.equation].weight_factor;
  const auto& times = problem_.time_segments().begin;
  const auto& frequencies = problem_.frequency_segments().begin;
  for (std::size_t t = times[item.time_segment]; t < times[item.time_segment + 1]; ++t)
    for (std::size_t f = frequencies[item.frequency_segment]; f < frequencies[item.frequency_segment + 1]; ++f) {
      bool flagged = planes.data_flags.at(element, t, f) || planes.weight_flags.at(element, t, f);
      for (const Planes::Core& core : planes.cores)
        flagged = flagged || (core.flags_merge ? core.flags.any(t, f) : core.flags.at(element, t, f));
      if (flagged) {
        ++sums.excluded.flagged;
        continue;
      }
      const double given = planes.weighted ? planes.weight.at(element, t, f).re : 1;
      if (!good_weight(given)) {
        ++sums.excluded.bad_weight;
        continue;
      }
      const Complex<double> datum = planes.data.at(element, t, f);
      Complex<double> d = datum;
      bool finite = is_finite(datum);
      std::size_t k = 0;
      for (const Planes::Core& core : planes.cores) {
        if (!core.solvable) {
          d = d - core.value.at(element, t, f);
          continue;
        }
        for (std::size_t ab = 0; ab < (diagonal ? 1 : elements_); ++ab, ++k) {
          m[k] = core.value.at(diagonal ? element : ab, t, f);
          finite = finite && is_finite(m[k]);
        }
      }
      if (!finite || !is_finite(d)) {
        ++sums.excluded.not_finite;
        continue;
      }
      double weight = given * weight_factor;
      if (!c.empty()) {
        Complex<double> residual = d;
        for (std::size_t l = 0; l < n; ++l) residual = residual - c[l] * m[l];
        const double square = weight * (residual.re * residual.re + residual.im * residual.im);
        const double factor = errors_.weight_factor(square, dimensions);
        sums.objective += errors_.objective(square, dimensions);
        sums.chi_square += square * factor;
        weight *= factor;
      }
      sums.equations += static_cast<std::uint64_t>(dimensions);
      sums.power += weight * (d.re * d.re + d.im * d.im);
      sums.data_power += weight * (datum.re * datum.re + datum.im * datum.im);
      if (what == Sweep::exact) continue;
      for (std::size_t l = 0; l < n; ++l) {
        const Complex<double> wm{weight * m[l].re, -weight * m[l].im};  // w m_l*
        b[l] += wm * d;
        for (std::size_t j = 0; j <= l; ++j) h[l * (l + 1) / 2 + j] += wm * m[j];
      }
    }
  scalars_[(item.equation * problem_.n_block() + block_of(item)) * elements_ + element] = sums;
}

bool JonesSource::add_exact_chi_square(std::vector<GroupEquations>& groups, Cancellation& cancellation) {
  evaluate_factors(cancellation);
  sweep(Sweep::exact, cancellation);
  for (const Item& item : items()) {
    const std::int32_t g = problem_.group_of(item);
    for (std::size_t element = 0; g >= 0 && element < elements_; ++element)
      groups[static_cast<std::size_t>(g)].equations.chi_square += scalars_of(item, element).chi_square;
  }
  summed_ = false;  // what follows would begin anew
  return true;
}

}  // namespace rimetree::solve
