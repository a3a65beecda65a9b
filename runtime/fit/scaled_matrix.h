// Normal matrices scaled to unit diagonal, as Eigen has them. For the sources of this folder that include Eigen.
#pragma once

#include <Eigen/Core>
#include <Eigen/SparseCore>
#include <vector>

#include "runtime/fit/normal_equations.h"

namespace rimetree::fit {

/// 1/sqrt of the diagonal; 0 for unknowns that are not free or occur in no equation.
inline Eigen::VectorXd scale_of(const NormalEquations& equations, const std::vector<bool>& free) {
  Eigen::VectorXd scale(static_cast<Eigen::Index>(equations.n));
  for (std::size_t k = 0; k < equations.n; ++k)
    scale[static_cast<Eigen::Index>(k)] =
        free[k] && equations.diagonal(k) > 0 ? 1 / std::sqrt(equations.diagonal(k)) : 0;
  return scale;
}

/// The lower triangle; unknowns of scale 0 have a row of the unit matrix.
inline Eigen::MatrixXd scaled_dense(const NormalEquations& equations, const Eigen::VectorXd& scale) {
  const auto n = static_cast<Eigen::Index>(equations.n);
  if (equations.sparsity) {
    const Sparsity& of = *equations.sparsity;
    Eigen::MatrixXd matrix = Eigen::MatrixXd::Identity(n, n);
    for (Eigen::Index j = 0; j < n; ++j)
      for (std::size_t e = of.begin(static_cast<std::size_t>(j)) + 1; e < of.begin(static_cast<std::size_t>(j) + 1);
           ++e)
        matrix(of.row(e), j) = scale[of.row(e)] * scale[j] * equations.matrix[e];
    return matrix;
  }
  Eigen::MatrixXd matrix(n, n);
  for (Eigen::Index j = 0; j < n; ++j) {
    matrix(j, j) = 1;
    for (Eigen::Index i = j + 1; i < n; ++i)
      matrix(i, j) = scale[i] * scale[j] * equations.matrix[static_cast<std::size_t>(i * n + j)];
  }
  return matrix;
}

inline Eigen::SparseMatrix<double> scaled_sparse(const NormalEquations& equations, const Eigen::VectorXd& scale) {
  const Sparsity& of = *equations.sparsity;
  const auto n = static_cast<Eigen::Index>(equations.n);
  Eigen::SparseMatrix<double> matrix(n, n);
  matrix.reserve(static_cast<Eigen::Index>(of.n_element()));
  for (Eigen::Index j = 0; j < n; ++j) {
    matrix.startVec(j);
    for (std::size_t e = of.begin(static_cast<std::size_t>(j)); e < of.begin(static_cast<std::size_t>(j) + 1); ++e) {
      const auto i = static_cast<Eigen::Index>(of.row(e));
      matrix.insertBack(i, j) = i == j ? 1 : scale[i] * scale[j] * equations.matrix[e];
    }
  }
  matrix.finalize();
  return matrix;
}

}  // namespace rimetree::fit
