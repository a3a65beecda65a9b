// What is asked of a symmetric matrix that is not negative: its null space, and the inverse of the rest. For the
// sources of this folder that include Eigen.
#pragma once

#include <Eigen/Core>
#include <Eigen/SparseCore>
#include <functional>
#include <utility>
#include <vector>

#include "runtime/fit/normal_equations.h"

namespace rimetree::fit {

/// Eigenvalues below this fraction of the largest are what rounding leaves of zero.
inline constexpr double kRankTolerance = 1e-12;

/// What to make of the pseudo-inverse besides its diagonal.
struct Wanted {
  Eigen::MatrixXd columns;                                   ///< [n, any number]: to be multiplied by it
  std::vector<std::pair<Eigen::Index, Eigen::Index>> pairs;  ///< elements; of a sparse matrix those that it has itself
  Eigen::MatrixXd known = {};                                ///< [n, any number]: of the null space, orthonormal
  bool inverse = true;                                       ///< else only the null space
};

struct Spectrum {
  bool good = false;
  Eigen::SparseMatrix<double> null;  ///< [n, number of null vectors], orthonormal
  Eigen::VectorXd inverse;           ///< diagonal of the pseudo-inverse
  Eigen::MatrixXd images;            ///< of the wanted columns: the pseudo-inverse times them
  Eigen::VectorXd elements;          ///< of the pseudo-inverse, for each wanted pair
  double largest = 0, smallest = 0;  ///< eigenvalues outside the null space
};

/// Of unit diagonal, only lower triangles are looked at. By all eigenvalues: 9 n^3 operations, and few at a time.
Spectrum spectrum_by_eigenvalues(const Eigen::MatrixXd& matrix, const Wanted& wanted);
/// By inverse iteration on more vectors than the null space has, and the inverse of the matrix with its null space
/// filled (Golub & Van Loan, "Matrix Computations", 4th ed., section 8.2.4). `smallest` is an estimate from above.
Spectrum spectrum_by_null_space(const Eigen::MatrixXd& matrix, const Wanted& wanted);
/// Likewise, of a sparse matrix, scaled; of the inverse only those elements are made that its factors have.
Spectrum spectrum_of_sparse(const NormalEquations& equations, const Eigen::VectorXd& scale, const Wanted& wanted);

using Multiply = std::function<Eigen::MatrixXd(const Eigen::MatrixXd&)>;

struct NullSpace {
  bool good = false;
  Eigen::MatrixXd vectors;  ///< [n, number of null vectors], orthonormal; the known ones first
  double smallest = 0;      ///< an estimate, from above, of the smallest eigenvalue outside
};

/// By inverse iteration. `solve` multiplies by the inverse of matrix + 10 kRankTolerance largest, of its largest
/// eigenvalue. `known`: [n, any number], vectors of the null space; the others are looked for.
NullSpace find_null_space(Eigen::Index n, const Eigen::MatrixXd& known, const Multiply& matrix, const Multiply& solve,
                          double largest);
/// x without what the orthonormal columns of `known` have of it.
template <class Columns>
Eigen::MatrixXd without(const Columns& known, const Eigen::MatrixXd& x) {
  if (known.cols() == 0) return x;
  const Eigen::MatrixXd parts = known.transpose() * x;
  return x - known * parts;
}
/// By row, the sum of squares.
Eigen::VectorXd squared_rows(const Eigen::SparseMatrix<double>& columns);
Eigen::MatrixXd side_by_side(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b);
/// Its largest eigenvalue, roughly.
double largest_eigenvalue(Eigen::Index n, const Multiply& matrix);

}  // namespace rimetree::fit
