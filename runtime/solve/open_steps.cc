// What steps that the data leave open do to the products of Jones terms.
#include <map>
#include <set>

#include "runtime/solve/jones_source.h"

namespace rimetree::solve {

namespace {

using Matrix = std::array<Complex<double>, 4>;

double norm(const Matrix& m) {
  double sum = 0;
  for (const Complex<double>& element : m) sum += element.re * element.re + element.im * element.im;
  return sum;
}

}  // namespace

bool JonesSource::add_changes(std::vector<OpenSteps>& groups) const {
  // Products are those of an antenna, so that many baselines have the same.
  std::set<std::tuple<std::vector<int>, std::uint32_t, std::uint32_t>> seen;
  for (const Item& item : sums_.items()) {
    const std::int32_t g = problem_.group_of(item);
    if (g < 0 || groups[static_cast<std::size_t>(g)].steps.empty()) continue;
    if (sums_.n_equation(item) == 0) continue;
    OpenSteps& open = groups[static_cast<std::size_t>(g)];
    const std::size_t n = open.steps.size();
    open.changes.resize(n * n, 0.0);
    for (const JonesTerm& term : products_.model(item.equation).terms)
      for (const std::vector<int>* factors : {&term.left, &term.right}) {
        if (factors->empty() || !seen.emplace(*factors, item.time_segment, item.frequency_segment).second) continue;
        const JonesProduct product = products_.product(*factors, item);
        const double size = norm(product.value);
        if (!(size > 0)) continue;
        std::vector<Matrix> change(n, Matrix{});
        for (const auto& [unknown, slope] : product.derivatives)
          for (std::size_t j = 0; j < n; ++j) {
            const double step = open.steps[j][problem_.place_in_group(unknown)];
            for (std::size_t e = 0; e < 4; ++e) change[j][e] += slope[e] * step;
            open.uncancelled += step * step * norm(slope) / size;
          }
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t j = 0; j <= i; ++j) {
            double sum = 0;
            for (std::size_t e = 0; e < 4; ++e)
              sum += change[i][e].re * change[j][e].re + change[i][e].im * change[j][e].im;
            open.changes[i * n + j] += sum / size;
          }
      }
  }
  for (OpenSteps& open : groups) {
    const std::size_t n = open.changes.empty() ? 0 : open.steps.size();
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < i; ++j) open.changes[j * n + i] = open.changes[i * n + j];
  }
  return true;
}

}  // namespace rimetree::solve
