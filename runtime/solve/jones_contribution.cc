// The part of JonesSource that makes normal equations from the sums over the data, one block of one equation at a time.
#include <algorithm>
#include <map>

#include "runtime/solve/jones_source.h"

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

}  // namespace

// Baselines share the products of their antennas.
void JonesSource::find_products() {
  std::map<std::vector<int>, std::uint32_t> known;
  for (const JonesModel& model : models_) {
    sides_.emplace_back();
    for (const JonesTerm& term : model.terms) {
      if (!term.solvable()) continue;
      std::array<std::uint32_t, 2> sides{};
      for (std::size_t side : {0, 1}) {
        const std::vector<int>& factors = side == 0 ? term.left : term.right;
        const auto [found, is_new] = known.try_emplace(factors, static_cast<std::uint32_t>(product_factors_.size()));
        if (is_new) product_factors_.push_back(factors);
        sides[side] = found->second;
      }
      sides_.back().push_back(sides);
    }
  }
}

/// How many blocks' products are in memory at a time.
std::size_t JonesSource::blocks_at_a_time() const {
  constexpr std::size_t kMostBytes = 32u << 20;
  std::size_t bytes = 1;
  for (const std::vector<int>& factors : product_factors_) {
    bytes += sizeof(Product);
    for (const int node : factors)
      bytes += factors_[node]->derivatives.size() * sizeof(decltype(Product::derivatives)::value_type);
  }
  return std::clamp<std::size_t>(kMostBytes / bytes, 1, problem_.n_block());
}

JonesSource::Products JonesSource::products(const Item& item) const {
  Products result;
  for (const auto& [left, right] : sides_[item.equation])
    result.push_back({product(product_factors_[left], item), product(product_factors_[right], item)});
  return result;
}

std::vector<Complex<double>> JonesSource::coefficients(std::uint32_t equation, std::size_t element,
                                                       const Products& products) const {
  std::vector<Complex<double>> c;
  for (const auto& [left, right] : products) append_coefficients(equation, element, left, right, c);
  return c;
}

void JonesSource::append_coefficients(std::uint32_t equation, std::size_t element, const Product& left,
                                      const Product& right, std::vector<Complex<double>>& c) const {
  const std::size_t i = element / side_, j = element % side_;
  if (models_[equation].diagonal) return c.push_back(left.value[i * side_ + i] * right.value[j * side_ + j]);
  for (std::size_t a = 0; a < side_; ++a)
    for (std::size_t b = 0; b < side_; ++b) c.push_back(left.value[i * side_ + a] * right.value[b * side_ + j]);
}

/// `products`: of the item's block, by number.
void JonesSource::contribute(const Item& item, const Product* products, Contribution& contribution) const {
  thread_local Scratch of_thread;
  Scratch& scratch = of_thread;  // to ask once where it is
  const auto& sides = sides_[item.equation];
  const bool diagonal = models_[item.equation].diagonal;
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
  contribution.reset(unknowns.size());
  contribution.unknowns.assign(unknowns.begin(), unknowns.end());
  fit::NormalEquations& to = contribution.equations;
  const std::size_t n = n_basis(item.equation), per_term = diagonal ? 1 : elements_;
  scratch.misfit.resize(n);
  scratch.image.resize(n);
  for (std::size_t element = 0; element < elements_; ++element) {
    const ScalarSums& scalars = scalars_of(item, element);
    contribution.excluded += excluded_of(scalars);
    if (scalars.equations == 0) continue;
    const Complex<double>*b = sums_of(item, element), *h = b + n;
    std::vector<Complex<double>>& c = scratch.coefficients;
    c.clear();
    for (const auto& [left, right] : sides)
      append_coefficients(item.equation, element, products[left], products[right], c);
    apply(n, h, c.data(), 0, n, scratch.image.data());
    for (std::size_t k = 0; k < n; ++k) scratch.misfit[k] = b[k] - scratch.image[k];
    const bool robust = errors_.degrees_of_freedom > 0;
    // power - 2 Re c^H b + c^H H c; rounding may take it below zero where the fit is perfect.
    const double chi_square = robust ? scalars.chi_square
                                     : std::max(0.0, scalars.power - conj_product(c.data(), b, 0, n) -
                                                         conj_product(c.data(), scratch.misfit.data(), 0, n));
    to.equations += static_cast<std::size_t>(scalars.equations);
    to.information += scalars.equations / errors_.variance_factor(complex_[item.equation] ? 2 : 1);
    to.data_power += scalars.data_power;
    to.chi_square += chi_square;
    to.objective += robust ? scalars.objective : chi_square;

    // Slopes of the coefficients, by unknown.
    scratch.slopes.resize(unknowns.size() * n);
    scratch.ranges.assign(unknowns.size(), {});
    const auto add = [&](std::uint32_t place, std::size_t k, Complex<double> value) {
      if (value.re == 0 && value.im == 0) return;
      Scratch::Range& range = scratch.ranges[place];
      Complex<double>* slope = &scratch.slopes[place * n];
      if (range.first == range.last) range = {k, k};
      while (range.first > k) slope[--range.first] = {};
      while (range.last <= k) slope[range.last++] = {};
      slope[k] += value;
    };
    const std::size_t i = element / side_, j = element % side_;
    for (std::size_t term = 0; term < sides.size(); ++term) {
      const Product &left = products[sides[term][0]], &right = products[sides[term][1]];
      for (std::size_t d = 0; d < left.derivatives.size(); ++d) {
        const auto& slope = left.derivatives[d].second;
        const std::uint32_t place = scratch.places[term][0][d];
        if (diagonal) {
          add(place, term, slope[i * side_ + i] * right.value[j * side_ + j]);
          continue;
        }
        for (std::size_t a = 0; a < side_; ++a)
          for (std::size_t e = 0; e < side_; ++e)
            add(place, term * per_term + a * side_ + e, slope[i * side_ + a] * right.value[e * side_ + j]);
      }
      for (std::size_t d = 0; d < right.derivatives.size(); ++d) {
        const auto& slope = right.derivatives[d].second;
        const std::uint32_t place = scratch.places[term][1][d];
        if (diagonal) {
          add(place, term, left.value[i * side_ + i] * slope[j * side_ + j]);
          continue;
        }
        for (std::size_t a = 0; a < side_; ++a)
          for (std::size_t e = 0; e < side_; ++e)
            add(place, term * per_term + a * side_ + e, left.value[i * side_ + a] * slope[e * side_ + j]);
      }
    }
    scratch.touched.clear();
    for (std::uint32_t place = 0; place < unknowns.size(); ++place)
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
}

void JonesSource::add_to(std::vector<GroupEquations>& groups, Cancellation& cancellation) {
  evaluate_factors(cancellation);
  if (!summed_ || errors_.degrees_of_freedom > 0) sweep(Sweep::sums, cancellation);
  summed_ = true;
  const std::size_t n_frequency = problem_.frequency_segments().size(), n_product = product_factors_.size();
  const std::size_t step = blocks_at_a_time();
  std::vector<Item> items;
  std::vector<std::uint32_t> blocks;  // with items
  for (std::size_t first = 0; first < problem_.n_block(); first += step) {
    items.clear();
    blocks.clear();
    for (std::size_t block = first; block < std::min(first + step, problem_.n_block()); ++block) {
      const std::size_t before = items.size();
      for (std::uint32_t e = 0; e < models_.size(); ++e) {
        if (!has_data_[e] || n_basis(e) == 0) continue;
        const Item item{e, static_cast<std::uint32_t>(block / n_frequency),
                        static_cast<std::uint32_t>(block % n_frequency)};
        const std::int32_t group = problem_.group_of(item);
        if (group >= 0 && groups[static_cast<std::size_t>(group)].wanted) items.push_back(item);
      }
      if (items.size() > before) blocks.push_back(static_cast<std::uint32_t>(block));
    }
    products_.resize(std::min(step, problem_.n_block()) * n_product);
    evaluator_.thread_pool().parallel_for(
        blocks.size() * n_product, 64,
        [&](std::size_t begin, std::size_t end, int) {
          for (std::size_t k = begin; k < end; ++k) {
            const std::size_t block = blocks[k / n_product], number = k % n_product;
            const Item item{0, static_cast<std::uint32_t>(block / n_frequency),
                            static_cast<std::uint32_t>(block % n_frequency)};
            products_[(block - first) * n_product + number] = product(product_factors_[number], item);
          }
        },
        &cancellation);
    assemble(
        problem_, items,
        [&](const Item& item, Contribution& contribution) {
          contribute(item, &products_[(block_of(item) - first) * n_product], contribution);
        },
        groups, evaluator_.thread_pool(), cancellation);
  }
}

}  // namespace rimetree::solve
