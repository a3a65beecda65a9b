// Cholesky factors of a scaled normal matrix in a BlockOrder. For the sources of this folder that include Eigen.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/fit/block_order.h"
#include "runtime/fit/normal_equations.h"

namespace rimetree::fit {

class BlockFactor {
 public:
  /// Takes the matrix, whose sparsity has an order, scaled to unit diagonal; unknowns of scale 0 have a row of the unit
  /// matrix.
  void set(const NormalEquations& equations, const Eigen::VectorXd& scale);
  /// Of a block by itself: the lower triangle.
  const Eigen::MatrixXd& own(std::size_t block) const { return blocks_[block].own; }
  const BlockOrder& order() const { return *order_; }
  /// Adds to the elements of a block, for the factorisations that follow.
  void add_to_block(std::size_t block, const Eigen::MatrixXd& values) { blocks_[block].own += values; }
  /// Adds to an element of the diagonal, for the factorisations that follow.
  void add_to_diagonal(std::size_t unknown, double value);
  /// Factors of the matrix plus a multiple of the unit matrix; false if it is not positive.
  bool factorise(double shift);
  /// matrix * x, without shift.
  Eigen::MatrixXd times(const Eigen::MatrixXd& x) const;
  /// Of what was factorised: its inverse times x.
  Eigen::MatrixXd solve(const Eigen::MatrixXd& x) const;
  /// The diagonal of the inverse, and some of its elements.
  void invert(const std::vector<std::pair<Eigen::Index, Eigen::Index>>& pairs, Eigen::VectorXd& diagonal,
              Eigen::VectorXd& elements) const;
  void release();

 private:
  struct Block {
    Eigen::MatrixXd own, shared;         ///< [own, own] lower triangle; [border, own]
    Eigen::MatrixXd factor, eliminated;  ///< L; L^-1 shared^T: [own, border]
  };
  Eigen::MatrixXd of_block(const Eigen::MatrixXd& x, std::size_t b) const;
  Eigen::MatrixXd of_border(const Eigen::MatrixXd& x) const;

  std::shared_ptr<const Sparsity> sparsity_;
  const BlockOrder* order_ = nullptr;
  std::vector<Block> blocks_;
  Eigen::MatrixXd border_, border_factor_;
};

}  // namespace rimetree::fit
