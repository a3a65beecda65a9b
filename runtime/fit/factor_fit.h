// Fits of antennas' factors on models of several directions, on sums over the data, from many places.
//
// Factors are diagonal, one for each antenna, direction, feed and bin of time and frequency. Their logarithms are sums
// of unknowns times known rates, those of phases times i. Of data d and models m_k with weights w each bin has
//   product_k = sum w conj(m_k) d,   power_kl = sum w conj(m_k) m_l   (Hermitian),
// and chi-square, whatever the factors f_k = a_k(p) conj(a_k(q)) of baseline (p, q) are, is
//   sum w |d|^2 + sum over bins of [ sum_kl conj(f_k) power_kl f_l - 2 Re sum_k conj(f_k) product_k ].
// So a step of Levenberg and Marquardt's costs microseconds, however many the data are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runtime/fit/factor_loops.h"

namespace rimetree::fit {

/// `product` [baseline][bin][feed][direction] and `power` [..][direction][direction] hold real and imaginary part one
/// after the other. A bin is a time and a frequency: `n_time` times `n_freq`, frequencies first.
struct FactorSums {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> baselines;  ///< antennas p, q
  std::span<const double> product, power;
  double data = 0;
  std::size_t n_antenna = 0, n_time = 0, n_freq = 0, n_feed = 0, n_direction = 0;
};

/// Unknowns of one kind: by each the logarithm of a factor grows, times `rate` [freq], times i if it `turns`.
struct FactorUnknowns {
  std::vector<double> rate;
  bool turns = false;
  std::vector<bool> directions, feeds;  ///< those it acts on
  std::vector<std::int32_t> number;     ///< [bin][antenna] among all unknowns, -1: none. Several may share one
};

class FactorFit {
 public:
  /// `most_rate` [unknown]: by how much a unit of it turns (rad) or scales (nepers) at most. Throws
  /// std::invalid_argument where sizes do not fit together. `sums` are copied.
  FactorFit(const FactorSums& sums, std::vector<FactorUnknowns> unknowns, std::vector<double> most_rate);

  std::size_t n_unknown() const { return n_unknown_; }

  /// At a place [unknown].
  double chi_square(std::span<const double> place) const;

  struct Normal {
    std::vector<double> slope, curvature;  ///< half the slope downwards [n], half the curvature [n][n]
  };
  /// 0 of the unknowns that are `held`.
  Normal normal(std::span<const double> place, const std::vector<bool>& held) const;

  struct Climbed {
    double chi_square = 0;
    int steps = 0, good = 0;  ///< that were tried, and that led down
  };
  /// Moves a place to the minimum next to it, or so many steps towards it (Nielsen 1999, IMM-REP-1999-05).
  Climbed climb(std::span<double> place, int steps, const std::vector<bool>& held) const;

 private:
  struct Scratch;
  class Scatter;
  struct Kind {
    FactorUnknowns unknowns;
    std::size_t rate = 0;                 ///< among all
    std::vector<std::size_t> directions;  ///< one behind the last: all of them
  };

  BinSums sums_of(std::size_t bin, std::size_t feed) const;
  double look(std::span<const double> place, Scratch& scratch) const;
  void set_factors(std::span<const double> place, std::size_t bin, std::size_t feed, Scratch& scratch) const;
  void set_normal(const std::vector<bool>& held, Scratch& scratch, Normal& normal) const;

  std::size_t n_antenna_, n_freq_, n_bin_, n_feed_, n_direction_, stride_, n_unknown_;
  double data_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> baselines_;
  std::vector<double> product_, power_;  ///< [bin][feed] planes, as of BinSums
  std::vector<Kind> kinds_;
  std::vector<std::vector<double>> rates_;        ///< all that differ
  bool of_all_ = false;                           ///< whether any kind acts on all directions together
  std::vector<std::vector<std::size_t>> groups_;  ///< bins in which the same unknowns hold
  std::vector<bool> scales_;                      ///< by unknown
  std::vector<double> most_rate_;
};

}  // namespace rimetree::fit
