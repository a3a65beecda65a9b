// What the data say of a solution: its standard errors, and which combinations of unknowns they do not determine.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "runtime/fit/normal_equations.h"

namespace rimetree::fit {

struct Covariance {
  std::size_t rank = 0;         ///< of the normal matrix scaled to unit diagonal
  double condition = 0;         ///< of its part of full rank: largest by smallest eigenvalue, roughly; the largest of
                                ///< those of blocks that share no unknown
  std::vector<double> sigma;    ///< [n] standard errors; of what is determined, where not all is (pseudo-inverse)
  std::vector<double> at_most;  ///< [n] sigma, if of steps that no condition holds equations saw as much as their own
                                ///< rounding errors
  std::vector<double> determined;  ///< [n] 1 where the data determine the unknown, 0 where they say nothing: the
                                   ///< squared length of its unit vector outside the null space
  std::vector<double> of_pairs;    ///< by pair of unknowns that was asked for: their covariance
  std::vector<bool> combination_determined;  ///< by combination: whether it has no part in the null space
};

/// A linear combination of unknowns: (unknown, coefficient).
using Combination = std::vector<std::pair<std::size_t, double>>;

/// `held[k]`: unknowns that do not move (sigma NaN). Unknowns without any equation are determined by nothing.
/// `combinations`: of which to say as well whether they are determined. `conditions`: combinations whose value is
/// known, by a convention, of which data say nothing; they count as determined, and errors are those of a solution that
/// fulfils them (an S-transformation: Baarda 1973, "S-transformations and criterion matrices").
/// `pairs`: of unknowns that occur in one equation, whose covariance is wanted. `open`: steps [n] of which no equation
/// can see anything, as is known from elsewhere; the matrix, of which all elements are rounded, tells them apart from
/// what it hardly determines only so well.
struct CovarianceRequest {
  std::vector<Combination> combinations, conditions;
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  std::vector<std::vector<double>> open = {};
};
Covariance covariance(const NormalEquations& equations, const std::vector<bool>& held,
                      const CovarianceRequest& request = {});

/// Steps of the unknowns that change no equation, [n] each; they span all such steps. `known`: some of them.
std::vector<std::vector<double>> null_space(const NormalEquations& equations, const std::vector<bool>& held,
                                            const std::vector<std::vector<double>>& known = {});

}  // namespace rimetree::fit
