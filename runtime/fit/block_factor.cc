#include "runtime/fit/block_factor.h"

#include <algorithm>

#include "runtime/fit/dense_factor.h"

namespace rimetree::fit {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

Index at(std::size_t k) { return static_cast<Index>(k); }

/// The inverse of L L^T, all of it.
MatrixXd inverse_of(const MatrixXd& factor) {
  const Index n = factor.rows();
  MatrixXd root = MatrixXd::Zero(n, n), inverse = MatrixXd::Zero(n, n);
  if (n == 0) return inverse;
  invert_lower(factor, root);
  add_product(inverse, view(root).transposed(), view(root), n, false, Triangle::lower);
  inverse.triangularView<Eigen::StrictlyUpper>() = inverse.transpose();
  return inverse;
}

Index place_in(const std::vector<std::uint32_t>& sorted, std::uint32_t value) {
  return std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin();
}

}  // namespace

void BlockFactor::set(const NormalEquations& equations, const VectorXd& scale) {
  sparsity_ = equations.sparsity;
  order_ = sparsity_->order();
  blocks_.resize(order_->blocks.size());
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const Index own = at(order_->blocks[b].unknowns.size()), shared = at(order_->blocks[b].border.size());
    blocks_[b].own = MatrixXd::Identity(own, own);
    blocks_[b].shared = MatrixXd::Zero(shared, own);
  }
  border_ = MatrixXd::Identity(at(order_->border.size()), at(order_->border.size()));
  for (std::size_t column = 0; column < sparsity_->n(); ++column)
    for (std::size_t e = sparsity_->begin(column) + 1; e < sparsity_->begin(column + 1); ++e) {
      std::size_t i = sparsity_->row(e), j = column;
      const double value = scale[at(i)] * scale[at(j)] * equations.matrix[e];
      if (order_->block_of[j] < 0) std::swap(i, j);
      const std::int32_t of_i = order_->block_of[i], of_j = order_->block_of[j];
      const std::uint32_t row = order_->place[i], own = order_->place[j];
      if (of_j < 0)
        border_(std::max(row, own), std::min(row, own)) = value;
      else if (of_i < 0)
        blocks_[static_cast<std::size_t>(of_j)].shared(
            place_in(order_->blocks[static_cast<std::size_t>(of_j)].border, row), own) = value;
      else
        blocks_[static_cast<std::size_t>(of_j)].own(std::max(row, own), std::min(row, own)) = value;
    }
}

void BlockFactor::add_to_diagonal(std::size_t unknown, double value) {
  const std::int32_t b = order_->block_of[unknown];
  const Index k = at(order_->place[unknown]);
  (b < 0 ? border_ : blocks_[static_cast<std::size_t>(b)].own)(k, k) += value;
}

bool BlockFactor::factorise(double shift) {
  border_factor_ = border_;
  border_factor_.diagonal().array() += shift;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    Block& block = blocks_[b];
    block.factor = block.own;
    block.factor.diagonal().array() += shift;
    if (!factorise_lower(block.factor)) return false;
    block.eliminated = block.shared.transpose();
    solve_lower(block.factor, block.eliminated);
    const DenseView eliminated = view(block.eliminated);
    const std::vector<std::uint32_t>& border = order_->blocks[b].border;
    if (border.size() == order_->border.size()) {
      add_product(border_factor_, eliminated.transposed(), eliminated, block.eliminated.rows(), true, Triangle::lower);
      continue;
    }
    MatrixXd part = MatrixXd::Zero(at(border.size()), at(border.size()));
    add_product(part, eliminated.transposed(), eliminated, block.eliminated.rows(), false, Triangle::lower);
    for (std::size_t j = 0; j < border.size(); ++j)
      for (std::size_t i = j; i < border.size(); ++i) border_factor_(border[i], border[j]) -= part(at(i), at(j));
  }
  return border_.rows() == 0 || factorise_lower(border_factor_);
}

MatrixXd BlockFactor::of_block(const MatrixXd& x, std::size_t b) const {
  const auto& unknowns = order_->blocks[b].unknowns;
  return x(std::vector<Index>(unknowns.begin(), unknowns.end()), Eigen::all);
}

MatrixXd BlockFactor::of_border(const MatrixXd& x) const {
  return x(std::vector<Index>(order_->border.begin(), order_->border.end()), Eigen::all);
}

MatrixXd BlockFactor::times(const MatrixXd& x) const {
  MatrixXd y = MatrixXd::Zero(x.rows(), x.cols());
  const MatrixXd shared = of_border(x);
  MatrixXd border = border_.selfadjointView<Eigen::Lower>() * shared;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const BlockOrder::Block& places = order_->blocks[b];
    const std::vector<Index> rows(places.border.begin(), places.border.end());
    const MatrixXd own = of_block(x, b), others = shared(rows, Eigen::all);
    MatrixXd result = blocks_[b].own.selfadjointView<Eigen::Lower>() * own;
    add_product(result, view(blocks_[b].shared).transposed(), view(others), others.rows());
    for (std::size_t k = 0; k < places.unknowns.size(); ++k) y.row(places.unknowns[k]) = result.row(at(k));
    MatrixXd part = MatrixXd::Zero(others.rows(), x.cols());
    add_product(part, view(blocks_[b].shared), view(own), own.rows());
    border(rows, Eigen::all) += part;
  }
  for (std::size_t k = 0; k < order_->border.size(); ++k) y.row(order_->border[k]) = border.row(at(k));
  return y;
}

MatrixXd BlockFactor::solve(const MatrixXd& x) const {
  MatrixXd y(x.rows(), x.cols()), border = of_border(x);
  std::vector<MatrixXd> forward(blocks_.size());
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const auto& places = order_->blocks[b].border;
    forward[b] = of_block(x, b);
    solve_lower(blocks_[b].factor, forward[b]);
    MatrixXd part = MatrixXd::Zero(at(places.size()), x.cols());
    add_product(part, view(blocks_[b].eliminated).transposed(), view(forward[b]), forward[b].rows());
    border(std::vector<Index>(places.begin(), places.end()), Eigen::all) -= part;
  }
  if (border.rows() > 0) {
    solve_lower(border_factor_, border);
    solve_lower_transposed(border_factor_, border);
  }
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const auto& places = order_->blocks[b];
    const MatrixXd others = border(std::vector<Index>(places.border.begin(), places.border.end()), Eigen::all);
    add_product(forward[b], view(blocks_[b].eliminated), view(others), others.rows(), true);
    solve_lower_transposed(blocks_[b].factor, forward[b]);
    for (std::size_t k = 0; k < places.unknowns.size(); ++k) y.row(places.unknowns[k]) = forward[b].row(at(k));
  }
  for (std::size_t k = 0; k < order_->border.size(); ++k) y.row(order_->border[k]) = border.row(at(k));
  return y;
}

// With the Schur complement S, and V = A^-1 C^T of a block A and what it shares C: the inverse is S^-1 at the border,
// A^-1 + V S^-1 V^T within a block, and -V S^-1 between both.
void BlockFactor::invert(const std::vector<std::pair<Index, Index>>& pairs, VectorXd& diagonal,
                         VectorXd& elements) const {
  const Index n = at(order_->place.size());
  diagonal.resize(n);
  elements = VectorXd::Zero(at(pairs.size()));
  std::vector<std::vector<std::size_t>> of_block(blocks_.size());
  const MatrixXd inverse = inverse_of(border_factor_);
  for (std::size_t k = 0; k < order_->border.size(); ++k) diagonal[order_->border[k]] = inverse(at(k), at(k));
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const auto i = static_cast<std::size_t>(pairs[k].first), j = static_cast<std::size_t>(pairs[k].second);
    const std::int32_t b = std::max(order_->block_of[i], order_->block_of[j]);
    if (b < 0)
      elements[at(k)] = inverse(order_->place[i], order_->place[j]);
    else
      of_block[static_cast<std::size_t>(b)].push_back(k);
  }
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const BlockOrder::Block& places = order_->blocks[b];
    const std::vector<Index> rows(places.border.begin(), places.border.end());
    const Index own = at(places.unknowns.size());
    MatrixXd root = MatrixXd::Zero(own, own), towards = blocks_[b].eliminated;
    invert_lower(blocks_[b].factor, root);
    solve_lower_transposed(blocks_[b].factor, towards);  // V
    const MatrixXd seen = inverse(rows, rows);
    MatrixXd across = MatrixXd::Zero(own, seen.cols());
    add_product(across, view(towards), view(seen), seen.rows());
    for (Index k = 0; k < own; ++k)
      diagonal[places.unknowns[static_cast<std::size_t>(k)]] =
          root.col(k).squaredNorm() + across.row(k).dot(towards.row(k));
    for (const std::size_t k : of_block[b]) {
      std::size_t i = static_cast<std::size_t>(pairs[k].first), j = static_cast<std::size_t>(pairs[k].second);
      if (order_->block_of[i] < 0) std::swap(i, j);
      const Index p = order_->place[i], q = order_->place[j];
      if (order_->block_of[j] == order_->block_of[i])
        elements[at(k)] = root.col(p).dot(root.col(q)) + across.row(p).dot(towards.row(q));
      else if (order_->block_of[j] < 0)
        elements[at(k)] = -across(p, place_in(places.border, order_->place[j]));
    }
  }
}

void BlockFactor::release() {
  blocks_.clear();
  border_.resize(0, 0);
  border_factor_.resize(0, 0);
}

}  // namespace rimetree::fit
