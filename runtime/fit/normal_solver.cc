#include "runtime/fit/normal_solver.h"

#include <Eigen/Eigenvalues>
#include <Eigen/SparseCholesky>

#include "runtime/fit/block_factor.h"
#include "runtime/fit/dense_factor.h"
#include "runtime/fit/scaled_matrix.h"

namespace rimetree::fit {

struct NormalSolver::Implementation {
  Eigen::VectorXd scale;
  Eigen::MatrixXd dense;
  Eigen::SparseMatrix<double> sparse;
  std::shared_ptr<const Sparsity> sparsity;  // of which `ordered` knows the order of elimination
  Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>, Eigen::Lower> ordered;
  BlockFactor blocks;
  bool in_blocks = false;
  Eigen::MatrixXd missing, signs;  // [n, updates], scaled; [updates, 1]

  /// (matrix + damping)^-1 columns; false if it is not positive.
  bool solve(double damping, Eigen::MatrixXd& columns) {
    if (in_blocks) {
      if (!blocks.factorise(damping)) return false;
      columns = blocks.solve(columns);
    } else if (sparsity) {
      ordered.setShift(damping);
      ordered.factorize(sparse);
      if (ordered.info() != Eigen::Success || !(ordered.vectorD().array() > 0).all()) return false;
      columns = ordered.solve(columns).eval();
    } else {
      Eigen::MatrixXd shifted = dense;
      shifted.diagonal().array() += damping;
      if (!factorise_lower(shifted)) return false;
      solve_lower(shifted, columns);
      solve_lower_transposed(shifted, columns);
    }
    return columns.allFinite();
  }
};

NormalSolver::NormalSolver() : implementation_(std::make_unique<Implementation>()) {}
NormalSolver::~NormalSolver() = default;
NormalSolver::NormalSolver(NormalSolver&&) noexcept = default;
NormalSolver& NormalSolver::operator=(NormalSolver&&) noexcept = default;

void NormalSolver::set(const NormalEquations& equations, const std::vector<bool>& free,
                       const std::vector<MissingCurvature::Update>& missing) {
  Implementation& own = *implementation_;
  own.scale = scale_of(equations, free);
  own.in_blocks = equations.sparsity && equations.sparsity->order() != nullptr;
  if (own.in_blocks) {
    own.blocks.set(equations, own.scale);
    own.sparsity = nullptr;
  } else if (!equations.sparsity) {
    own.dense = scaled_dense(equations, own.scale);
    own.sparsity = nullptr;
  } else {
    own.sparse = scaled_sparse(equations, own.scale);
    if (own.sparsity != equations.sparsity) own.ordered.analyzePattern(own.sparse);
    own.sparsity = equations.sparsity;
  }
  const auto n = static_cast<Eigen::Index>(equations.n), updates = static_cast<Eigen::Index>(missing.size());
  own.missing.resize(n, updates);
  own.signs.resize(updates, 1);
  for (Eigen::Index u = 0; u < updates; ++u) {
    const auto& update = missing[static_cast<std::size_t>(u)];
    own.missing.col(u) = Eigen::Map<const Eigen::VectorXd>(update.vector.data(), n).cwiseProduct(own.scale);
    own.signs(u, 0) = update.sign;
  }
}

std::vector<double> NormalSolver::step(double damping, const std::vector<double>& gradient) {
  Implementation& own = *implementation_;
  const auto n = static_cast<Eigen::Index>(gradient.size()), updates = own.missing.cols();
  Eigen::MatrixXd columns(n, 1 + updates);
  columns.col(0) = Eigen::Map<const Eigen::VectorXd>(gradient.data(), n).cwiseProduct(own.scale);
  columns.rightCols(updates) = own.missing;
  if (!own.solve(damping, columns)) return {};
  Eigen::VectorXd solution = columns.col(0);
  if (updates > 0) {
    // Sherman, Morrison & Woodbury. The sum is positive where this small matrix has as many positive eigenvalues as
    // there are updates of positive sign (Haynsworth 1968, Linear Algebra Appl. 1, 73).
    Eigen::MatrixXd small = own.missing.transpose() * columns.rightCols(updates);
    small.diagonal() += own.signs.col(0);
    small = (0.5 * (small + small.transpose())).eval();
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(small);
    const Eigen::VectorXd& values = eigen.eigenvalues();
    if (!values.allFinite() || (values.array() > 0).count() != (own.signs.array() > 0).count() ||
        (values.array() == 0).any())
      return {};
    const Eigen::VectorXd part = eigen.eigenvectors().transpose() * (own.missing.transpose() * solution);
    solution -= columns.rightCols(updates) * (eigen.eigenvectors() * part.cwiseQuotient(values));
  }
  if (!solution.allFinite()) return {};
  solution = solution.cwiseProduct(own.scale).eval();
  return {solution.data(), solution.data() + n};
}

void NormalSolver::release() {
  implementation_->dense.resize(0, 0);
  implementation_->blocks.release();
  implementation_->sparse.resize(0, 0);
  implementation_->missing.resize(0, 0);
}

}  // namespace rimetree::fit
