// The inner loops of factor_fit.h, with the machine's vectors. Numbers of all baselines lie together: a plane is
// [real or imaginary part][baseline], filled up with zeros to a multiple of kFactorLanes.
#pragma once

#include <cstddef>

namespace rimetree::fit {

inline constexpr std::size_t kFactorLanes = 8;

/// The place of (i, j), i <= j < n, in the upper triangle of a matrix, row by row.
constexpr std::size_t in_triangle(std::size_t i, std::size_t j, std::size_t n) { return i * n - i * (i + 1) / 2 + j; }

/// Of one bin and feed. Planes: `product` [direction], `power` [upper triangle of directions].
struct BinSums {
  const double *product, *power;
  std::size_t n_direction, stride;  ///< numbers of half a plane

  std::size_t plane() const { return 2 * stride; }
};

/// What the models times factors `seen` [direction] add to chi-square, without what the data are by themselves. Writes
/// `model` [direction]: power times these factors.
double add_up(const BinSums& sums, const double* seen, double* model);

/// Sums over bins, times rates of unknowns. One direction more, the last, stands for all together if `of_all`; with it
/// there are n.
struct NormalSums {
  double *slope, *curvature;  ///< planes [rate][n], [pair of rates][upper triangle of n]
  const double *rate, *pair_rate;
  std::size_t n_rate, n_pair;
  const bool* used;  ///< by direction: whether unknowns act on it alone
  bool of_all;

  std::size_t n(const BinSums& sums) const { return sums.n_direction + of_all; }
};

/// Adds a bin: with factors f and their `model`, conj(f) (product - model) to slopes, conj(f) power f to curvatures.
void add_normal(const BinSums& sums, const double* seen, const double* model, const NormalSums& to);

}  // namespace rimetree::fit
