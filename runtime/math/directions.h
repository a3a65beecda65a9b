// Whether numbers are direction cosines, and what they probably are if not.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>

namespace rimetree {

/// How far l^2 + m^2 + n^2 of a direction may be from 1: what numbers of six digits give.
inline constexpr double kDirectionTolerance = 2e-6;

/// What is wrong with a direction; empty if nothing is. What is not a number is no mistake of this kind.
inline std::string mistake_in_direction(double l, double m, double n) {
  const double square = l * l + m * m + n * n;
  if (!(std::abs(square - 1) > kDirectionTolerance)) return "";
  if (l * l + m * m > 1 + kDirectionTolerance || std::abs(n) > 1 + kDirectionTolerance)
    return "direction cosines are not beyond 1; is this the uvw, or are these angles?";
  if (std::abs(l * l + m * m + (n + 1) * (n + 1) - 1) <= kDirectionTolerance)
    return "the third component is n = sqrt(1 - l^2 - m^2), not n - 1";
  return "l^2 + m^2 + n^2 must be 1";
}

/// The first mistake among directions [source][l, m, n][cell], with the source and its numbers; empty if there is none.
inline std::string first_mistake_in_directions(const double* lmn, std::size_t n_source, std::size_t n_cell) {
  for (std::size_t s = 0; s < n_source; ++s)
    for (std::size_t cell = 0; cell < n_cell; ++cell) {
      const double *l = lmn + 3 * s * n_cell + cell, *m = l + n_cell, *n = m + n_cell;
      const std::string mistake = mistake_in_direction(*l, *m, *n);
      if (mistake.empty()) continue;
      char numbers[120];
      std::snprintf(numbers, sizeof numbers, "%zu is (l, m, n) = (%.9g, %.9g, %.9g): ", s, *l, *m, *n);
      return "child \"lmn\": direction " + (numbers + mistake);
    }
  return "";
}

}  // namespace rimetree
