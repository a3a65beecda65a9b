// What steps of the unknowns do to the products of Jones terms, whatever the data say of these.
#include <algorithm>
#include <utility>

#include "runtime/solve/jones/jones_source.h"

namespace rimetree::solve {

namespace {

using Matrix = std::array<Complex<double>, 4>;

/// The real part of the scalar product, of elements whose bit is set.
double dot(const Matrix& a, const Matrix& b, unsigned elements) {
  double sum = 0;
  for (std::size_t e = 0; e < 4; ++e)
    if ((elements >> e & 1u) != 0) sum += a[e].re * b[e].re + a[e].im * b[e].im;
  return sum;
}

/// Elements of the products to the left and to the right of fixed visibilities that an element of a model is made of:
/// a row and a column.
std::array<unsigned, 2> elements_of(const JonesTerm::Place& place, std::size_t n_feed) {
  const std::size_t row = place.row, column = place.column;
  std::array<unsigned, 2> found{};
  for (std::size_t k = 0; k < n_feed; ++k) {
    found[0] |= 1u << (row * n_feed + k);
    found[1] |= 1u << (k * n_feed + column);
  }
  return found;
}

}  // namespace

std::vector<std::vector<ProductOnBlock>> JonesSource::products() const {
  std::vector<std::vector<ProductOnBlock>> found(problem_.n_group());
  constexpr std::size_t kNone = ~std::size_t{0};
  std::vector<std::size_t> last(products_.different().size(), kNone);   // the block where a product was seen last,
  std::vector<std::pair<std::size_t, std::size_t>> place(last.size());  // and where it stands: group and number
  for (std::size_t block = 0; block < problem_.n_block(); ++block)
    for (std::uint32_t e = 0; e < products_.n_equation(); ++e) {
      const Item item = item_of(e, block);
      if (!sums_.has_data[e] || products_.n_basis(e) == 0 || sums_.n_equation(item) == 0) continue;
      const std::int32_t group = problem_.group_of(item);
      if (group < 0) continue;
      // Products are those of an antenna, so that many baselines have the same.
      std::vector<ProductOnBlock>& own = found[static_cast<std::size_t>(group)];
      for (std::size_t term = 0; term < products_.sides(e).size(); ++term) {
        std::array<unsigned, 2> seen{};
        for (std::size_t element = 0; element < products_.n_element(e); ++element) {
          const JonesTerm::Place at = products_.place(e, term, element);
          if (!at.there || !(sums_.scalars(sums_.block_of(item), e, element).equations > 0)) continue;
          const std::array<unsigned, 2> more = elements_of(at, products_.n_feed());
          for (std::size_t side = 0; side < 2; ++side) seen[side] |= more[side];
        }
        for (std::size_t side = 0; side < 2; ++side) {
          const std::uint32_t product = products_.sides(e)[term][side];
          if (std::exchange(last[product], block) != block) {
            place[product] = {static_cast<std::size_t>(group), own.size()};
            own.push_back({product, static_cast<std::uint32_t>(block)});
          }
          const auto [of, number] = place[product];
          found[of][number].elements |= static_cast<std::uint8_t>(seen[side]);
        }
      }
    }
  return found;
}

void JonesSource::changes_of(ProductOnBlock of, Contribution& changes) const {
  const JonesProduct product = products_.product(products_.different()[of.product], item_of(0, of.block));
  const double size = dot(product.value, product.value, of.elements);
  if (!(size > 0)) return changes.reset(0);  // or NaN
  std::vector<std::uint32_t> unknowns;
  for (const auto& [unknown, slope] : product.derivatives) unknowns.push_back(unknown);
  std::sort(unknowns.begin(), unknowns.end());
  unknowns.erase(std::unique(unknowns.begin(), unknowns.end()), unknowns.end());  // one may be of two factors
  changes.reset(unknowns.size());
  changes.unknowns = unknowns;
  const auto place = [&](std::uint32_t unknown) {
    return static_cast<std::size_t>(std::lower_bound(unknowns.begin(), unknowns.end(), unknown) - unknowns.begin());
  };
  for (const auto& [one, one_slope] : product.derivatives)
    for (const auto& [other, other_slope] : product.derivatives)
      if (place(one) >= place(other))
        changes.equations.at(place(one), place(other)) += dot(one_slope, other_slope, of.elements) / size;
}

}  // namespace rimetree::solve
