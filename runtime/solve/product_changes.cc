// What steps of the unknowns do to the products of Jones terms, whatever the data say of these.
#include <set>
#include <tuple>

#include "runtime/solve/jones_source.h"

namespace rimetree::solve {

namespace {

using Matrix = std::array<Complex<double>, 4>;

/// The real part of the scalar product.
double dot(const Matrix& a, const Matrix& b) {
  double sum = 0;
  for (std::size_t e = 0; e < 4; ++e) sum += a[e].re * b[e].re + a[e].im * b[e].im;
  return sum;
}

}  // namespace

bool JonesSource::add_changes_of_products(std::vector<fit::NormalEquations>& groups) const {
  // Products are those of an antenna, so that many baselines have the same.
  std::set<std::tuple<std::vector<int>, std::uint32_t, std::uint32_t>> seen;
  for (const Item& item : sums_.items()) {
    const std::int32_t g = problem_.group_of(item);
    if (g < 0 || groups[static_cast<std::size_t>(g)].n == 0 || sums_.n_equation(item) == 0) continue;
    fit::NormalEquations& changes = groups[static_cast<std::size_t>(g)];
    for (const JonesTerm& term : products_.model(item.equation).terms)
      for (const std::vector<int>* factors : {&term.left, &term.right}) {
        if (factors->empty() || !seen.emplace(*factors, item.time_segment, item.frequency_segment).second) continue;
        const JonesProduct product = products_.product(*factors, item);
        const double size = dot(product.value, product.value);
        if (!(size > 0)) continue;
        for (std::size_t i = 0; i < product.derivatives.size(); ++i)
          for (std::size_t j = 0; j <= i; ++j) {
            const auto& [one, one_slope] = product.derivatives[i];
            const auto& [other, other_slope] = product.derivatives[j];
            const double both = i != j && one == other ? 2 : 1;  // an unknown of two factors
            changes.at(problem_.place_in_group(one), problem_.place_in_group(other)) +=
                both * dot(one_slope, other_slope) / size;
          }
      }
  }
  return true;
}

}  // namespace rimetree::solve
