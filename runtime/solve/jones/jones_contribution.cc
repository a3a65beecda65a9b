#include "runtime/solve/jones/jones_contribution.h"

#include <algorithm>

namespace rimetree::solve {

namespace {

bool is_zero(const Complex<double>& x) { return x.re == 0 && x.im == 0; }

/// What is needed for a moment again and again, by thread.
struct Scratch {
  std::vector<std::uint32_t> unknowns;
  std::vector<std::array<std::vector<std::uint32_t>, 2>> places;  ///< by term and side: of each derivative's unknown
  std::vector<Complex<double>> coefficients, misfit, slopes;      ///< slopes [unknown, basis]
  std::vector<double> h_re, h_im;                                 ///< the Hermitian matrix, [column, row]
  std::vector<double> image_re, image_im;
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

/// Takes a Hermitian matrix, of which the lower triangle is given.
void take_matrix(std::size_t n, const Complex<double>* lower, Scratch& scratch) {
  for (std::vector<double>* part : {&scratch.h_re, &scratch.h_im}) part->resize(n * n);
  for (std::vector<double>* part : {&scratch.image_re, &scratch.image_im}) part->resize(n);
  for (std::size_t row = 0; row < n; ++row)
    for (std::size_t column = 0; column <= row; ++column, ++lower) {
      scratch.h_re[column * n + row] = scratch.h_re[row * n + column] = lower->re;
      scratch.h_im[row * n + column] = -lower->im;
      scratch.h_im[column * n + row] = lower->im;
    }
}

/// The image of x, which is 0 outside [first, last), under that matrix.
void apply(std::size_t n, const Complex<double>* x, std::size_t first, std::size_t last, Scratch& scratch) {
  double *re = scratch.image_re.data(), *im = scratch.image_im.data();
  std::fill_n(re, n, 0.0);
  std::fill_n(im, n, 0.0);
  for (std::size_t column = first; column < last; ++column) {
    const double *h_re = &scratch.h_re[column * n], *h_im = &scratch.h_im[column * n];
    const double x_re = x[column].re, x_im = x[column].im;
    for (std::size_t row = 0; row < n; ++row) {
      re[row] += h_re[row] * x_re - h_im[row] * x_im;
      im[row] += h_re[row] * x_im + h_im[row] * x_re;
    }
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

/// Slopes of coefficients from `first` to `last` with respect to an unknown, to add to.
Complex<double>* slopes_at(std::size_t n, std::uint32_t place, std::size_t first, std::size_t last, Scratch& scratch) {
  Scratch::Range& range = scratch.ranges[place];
  Complex<double>* slope = &scratch.slopes[place * n];
  if (range.first == range.last) range = {first, first};
  while (range.first > first) slope[--range.first] = {};
  while (range.last < last) slope[range.last++] = {};
  return slope + first;
}

/// Slopes of the coefficients of an element, by unknown.
void find_slopes(const JonesProducts& of, const Item& item, std::size_t element, const JonesProduct* products,
                 Scratch& scratch) {
  const auto& sides = of.sides(item.equation);
  const bool diagonal = of.model(item.equation).diagonal;
  const std::size_t n = of.n_basis(item.equation), n_feed = of.n_feed(), per_term = of.n_basis_of_term(item.equation);
  scratch.slopes.resize(scratch.unknowns.size() * n);
  scratch.ranges.assign(scratch.unknowns.size(), {});
  for (std::size_t term = 0; term < sides.size(); ++term) {
    const JonesTerm::Place place = of.place(item.equation, term, element);
    if (!place.there) continue;
    const std::size_t i = place.row, j = place.column;
    const JonesProduct &left = products[sides[term][0]], &right = products[sides[term][1]];
    // Of a term as L M R, one of L and R being a derivative.
    const auto add = [&](std::uint32_t place, const JonesProduct::Matrix& l, const JonesProduct::Matrix& r) {
      if (diagonal) {
        const Complex<double> own = l[i * n_feed + i] * r[j * n_feed + j];
        if (!is_zero(own)) *slopes_at(n, place, term, term + 1, scratch) += own;
        return;
      }
      for (std::size_t a = 0; a < n_feed; ++a) {
        const Complex<double> of_row = l[i * n_feed + a];
        if (is_zero(of_row)) continue;  // as most of a derivative is
        std::size_t first = 0, last = n_feed;
        while (first < last && is_zero(r[first * n_feed + j])) ++first;
        while (first < last && is_zero(r[(last - 1) * n_feed + j])) --last;
        if (first == last) continue;
        const std::size_t row = term * per_term + a * n_feed;
        Complex<double>* slope = slopes_at(n, place, row + first, row + last, scratch);
        for (std::size_t e = first; e < last; ++e) slope[e - first] += of_row * r[e * n_feed + j];
      }
    };
    for (std::size_t d = 0; d < left.derivatives.size(); ++d)
      add(scratch.places[term][0][d], left.derivatives[d].second, right.value);
    for (std::size_t d = 0; d < right.derivatives.size(); ++d)
      add(scratch.places[term][1][d], left.value, right.derivatives[d].second);
  }
}

/// Adds gradient and matrix from slopes and misfit.
void add_equations(std::size_t n, Scratch& scratch, fit::NormalEquations& to) {
  scratch.touched.clear();
  for (std::uint32_t place = 0; place < scratch.unknowns.size(); ++place)
    if (scratch.ranges[place].first < scratch.ranges[place].last) scratch.touched.push_back(place);
  for (std::size_t s = 0; s < scratch.touched.size(); ++s) {
    const std::uint32_t place = scratch.touched[s];
    const auto [first, last] = scratch.ranges[place];
    const Complex<double>* slope = &scratch.slopes[place * n];
    to.gradient[place] += conj_product(slope, scratch.misfit.data(), first, last);
    apply(n, slope, first, last, scratch);
    double* row = &to.matrix[place * to.n];
    for (std::size_t o = 0; o <= s; ++o) {
      const std::uint32_t other = scratch.touched[o];
      const Complex<double>* own = &scratch.slopes[other * n];
      double sum = 0;
      for (std::size_t k = scratch.ranges[other].first; k < scratch.ranges[other].last; ++k)
        sum += own[k].re * scratch.image_re[k] + own[k].im * scratch.image_im[k];
      row[other] += sum;
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
  for (std::size_t element = 0; element < of.n_element(item.equation); ++element) {
    const ScalarSums& scalars = sums.scalars(block, item.equation, element);
    contribution.excluded += excluded_of(scalars);
    if (scalars.equations == 0) continue;
    const Complex<double>*b = sums.of_products(block, item.equation, element), *h = b + n;
    std::vector<Complex<double>>& c = scratch.coefficients;
    c.clear();
    for (std::size_t k = 0; k < sides.size(); ++k)
      of.append_coefficients(item.equation, k, element, products[sides[k][0]], products[sides[k][1]], c);
    take_matrix(n, h, scratch);
    apply(n, c.data(), 0, n, scratch);
    for (std::size_t k = 0; k < n; ++k)
      scratch.misfit[k] = {b[k].re - scratch.image_re[k], b[k].im - scratch.image_im[k]};
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
    add_equations(n, scratch, to);
  }
}

}  // namespace rimetree::solve
