#include "runtime/solve/jones/jones_contribution.h"

#include <algorithm>

namespace rimetree::solve {

namespace {

/// What is needed for a moment again and again, by thread.
struct Scratch {
  std::vector<std::uint32_t> unknowns;
  std::vector<std::array<std::vector<std::uint32_t>, 2>> places;     ///< by term and side: of each derivative's unknown
  std::vector<Complex<double>> coefficients, misfit, image, slopes;  ///< slopes [unknown, basis]
  struct Range {
    std::size_t first = 0, last = 0;  ///< of the basis, where an unknown has slopes
  };
  std::vector<Range> ranges;
  std::vector<std::uint32_t> touched;  ///< unknowns with slopes, ascending
};

double conj_product(const Complex<double>* a, const Complex<double>* b, std::size_t first, std::size_t last) {
  double sum = 0;
  for (std::size_t k = first; k < last; ++k) sum += a[k].re * b[k].re + a[k].im * b[k].im;
  return sum;
}

/// y = H x of a Hermitian matrix whose lower triangle is given; x is 0 outside [first, last).
void apply(std::size_t n, const Complex<double>* h, const Complex<double>* x, std::size_t first, std::size_t last,
           Complex<double>* y) {
  for (std::size_t k = 0; k < n; ++k) {
    Complex<double> sum{};
    for (std::size_t l = first; l < std::min(last, k + 1); ++l) sum += h[k * (k + 1) / 2 + l] * x[l];
    for (std::size_t l = std::max(first, k + 1); l < last; ++l) sum += conj(h[l * (l + 1) / 2 + k]) * x[l];
    y[k] = sum;
  }
}

/// The unknowns of an equation on a block, and where those of each derivative are among them.
void find_unknowns(const std::vector<std::array<std::uint32_t, 2>>& sides, const JonesProduct* products,
                   Scratch& scratch) {
  std::vector<std::uint32_t>& unknowns = scratch.unknowns;
  unknowns.clear();
  for (const auto& term : sides)
    for (const std::uint32_t side : term)
      for (const auto& [unknown, slope] : products[side].derivatives) unknowns.push_back(unknown);
  std::sort(unknowns.begin(), unknowns.end());
  unknowns.erase(std::unique(unknowns.begin(), unknowns.end()), unknowns.end());
  scratch.places.resize(std::max(scratch.places.size(), sides.size()));
  for (std::size_t term = 0; term < sides.size(); ++term)
    for (std::size_t side : {0, 1}) {
      auto& places = scratch.places[term][side];
      places.clear();
      for (const auto& [unknown, slope] : products[sides[term][side]].derivatives)
        places.push_back(
            static_cast<std::uint32_t>(std::lower_bound(unknowns.begin(), unknowns.end(), unknown) - unknowns.begin()));
    }
}

/// Adds to the slope of coefficient k with respect to an unknown.
void add_slope(std::size_t n, std::uint32_t place, std::size_t k, Complex<double> value, Scratch& scratch) {
  if (value.re == 0 && value.im == 0) return;
  Scratch::Range& range = scratch.ranges[place];
  Complex<double>* slope = &scratch.slopes[place * n];
  if (range.first == range.last) range = {k, k};
  while (range.first > k) slope[--range.first] = {};
  while (range.last <= k) slope[range.last++] = {};
  slope[k] += value;
}

/// Slopes of the coefficients of an element, by unknown.
void find_slopes(const JonesProducts& of, const Item& item, std::size_t element, const JonesProduct* products,
                 Scratch& scratch) {
  const auto& sides = of.sides(item.equation);
  const bool diagonal = of.model(item.equation).diagonal;
  const std::size_t n = of.n_basis(item.equation), n_feed = of.n_feed(), per_term = diagonal ? 1 : of.n_element();
  const std::size_t i = element / n_feed, j = element % n_feed;
  scratch.slopes.resize(scratch.unknowns.size() * n);
  scratch.ranges.assign(scratch.unknowns.size(), {});
  for (std::size_t term = 0; term < sides.size(); ++term) {
    const JonesProduct &left = products[sides[term][0]], &right = products[sides[term][1]];
    // Of a term as L M R, one of L and R being a derivative.
    const auto add = [&](std::uint32_t place, const JonesProduct::Matrix& l, const JonesProduct::Matrix& r) {
      if (diagonal) return add_slope(n, place, term, l[i * n_feed + i] * r[j * n_feed + j], scratch);
      for (std::size_t a = 0; a < n_feed; ++a)
        for (std::size_t e = 0; e < n_feed; ++e)
          add_slope(n, place, term * per_term + a * n_feed + e, l[i * n_feed + a] * r[e * n_feed + j], scratch);
    };
    for (std::size_t d = 0; d < left.derivatives.size(); ++d)
      add(scratch.places[term][0][d], left.derivatives[d].second, right.value);
    for (std::size_t d = 0; d < right.derivatives.size(); ++d)
      add(scratch.places[term][1][d], left.value, right.derivatives[d].second);
  }
}

/// Adds gradient and matrix from slopes and misfit. `h`: lower triangle.
void add_equations(std::size_t n, const Complex<double>* h, Scratch& scratch, fit::NormalEquations& to) {
  scratch.touched.clear();
  for (std::uint32_t place = 0; place < scratch.unknowns.size(); ++place)
    if (scratch.ranges[place].first < scratch.ranges[place].last) scratch.touched.push_back(place);
  for (std::size_t s = 0; s < scratch.touched.size(); ++s) {
    const std::uint32_t place = scratch.touched[s];
    const auto [first, last] = scratch.ranges[place];
    const Complex<double>* slope = &scratch.slopes[place * n];
    to.gradient[place] += conj_product(slope, scratch.misfit.data(), first, last);
    apply(n, h, slope, first, last, scratch.image.data());
    double* row = &to.matrix[place * to.n];
    for (std::size_t o = 0; o <= s; ++o) {
      const std::uint32_t other = scratch.touched[o];
      row[other] += conj_product(&scratch.slopes[other * n], scratch.image.data(), scratch.ranges[other].first,
                                 scratch.ranges[other].last);
    }
  }
}

}  // namespace

void contribute(const JonesProducts& of, const JonesSums& sums, const ErrorModel& errors, const Item& item,
                const JonesProduct* products, Contribution& contribution) {
  thread_local Scratch of_thread;
  Scratch& scratch = of_thread;  // to ask once where it is
  const auto& sides = of.sides(item.equation);
  find_unknowns(sides, products, scratch);
  contribution.reset(scratch.unknowns.size());
  contribution.unknowns.assign(scratch.unknowns.begin(), scratch.unknowns.end());
  fit::NormalEquations& to = contribution.equations;
  const std::size_t n = of.n_basis(item.equation), block = sums.block_of(item);
  scratch.misfit.resize(n);
  scratch.image.resize(n);
  for (std::size_t element = 0; element < of.n_element(); ++element) {
    const ScalarSums& scalars = sums.scalars(block, item.equation, element);
    contribution.excluded += excluded_of(scalars);
    if (scalars.equations == 0) continue;
    const Complex<double>*b = sums.of_products(block, item.equation, element), *h = b + n;
    std::vector<Complex<double>>& c = scratch.coefficients;
    c.clear();
    for (const auto& [left, right] : sides)
      of.append_coefficients(item.equation, element, products[left], products[right], c);
    apply(n, h, c.data(), 0, n, scratch.image.data());
    for (std::size_t k = 0; k < n; ++k) scratch.misfit[k] = b[k] - scratch.image[k];
    const bool robust = errors.degrees_of_freedom > 0;
    // power - 2 Re c^H b + c^H H c; rounding may take it below zero where the fit is perfect.
    const double chi_square = robust ? scalars.chi_square
                                     : std::max(0.0, scalars.power - conj_product(c.data(), b, 0, n) -
                                                         conj_product(c.data(), scratch.misfit.data(), 0, n));
    to.equations += static_cast<std::size_t>(scalars.equations);
    to.information += scalars.equations / errors.variance_factor(sums.is_complex[item.equation] ? 2 : 1);
    to.data_power += scalars.data_power;
    to.chi_square += chi_square;
    to.objective += robust ? scalars.objective : chi_square;
    if (n == 1 && h->re == 0) continue;  // a model without light there, as in crossed hands of an unpolarised sky
    find_slopes(of, item, element, products, scratch);
    add_equations(n, h, scratch, to);
  }
}

}  // namespace rimetree::solve
