#include "runtime/fit/block_factor.h"

#include <Eigen/Cholesky>
#include <algorithm>

namespace rimetree::fit {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

Index at(std::size_t k) { return static_cast<Index>(k); }

/// L of a matrix of which the lower triangle counts; false if it is not positive.
bool factor_of(MatrixXd& matrix) {
  const Eigen::LLT<Eigen::Ref<MatrixXd>> factor(matrix);
  return factor.info() == Eigen::Success;
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
    if (!factor_of(block.factor)) return false;
    block.eliminated = block.factor.triangularView<Eigen::Lower>().solve(block.shared.transpose());
    const std::vector<std::uint32_t>& border = order_->blocks[b].border;
    if (border.size() == order_->border.size()) {
      border_factor_.selfadjointView<Eigen::Lower>().rankUpdate(block.eliminated.transpose(), -1);
      continue;
    }
    MatrixXd part = MatrixXd::Zero(at(border.size()), at(border.size()));
    part.selfadjointView<Eigen::Lower>().rankUpdate(block.eliminated.transpose());
    for (std::size_t j = 0; j < border.size(); ++j)
      for (std::size_t i = j; i < border.size(); ++i) border_factor_(border[i], border[j]) -= part(at(i), at(j));
  }
  return border_.rows() == 0 || factor_of(border_factor_);
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
    const MatrixXd own = of_block(x, b);
    const MatrixXd result =
        blocks_[b].own.selfadjointView<Eigen::Lower>() * own + blocks_[b].shared.transpose() * shared(rows, Eigen::all);
    for (std::size_t k = 0; k < places.unknowns.size(); ++k) y.row(places.unknowns[k]) = result.row(at(k));
    border(rows, Eigen::all) += blocks_[b].shared * own;
  }
  for (std::size_t k = 0; k < order_->border.size(); ++k) y.row(order_->border[k]) = border.row(at(k));
  return y;
}

MatrixXd BlockFactor::solve(const MatrixXd& x) const {
  MatrixXd y(x.rows(), x.cols()), border = of_border(x);
  std::vector<MatrixXd> forward(blocks_.size());
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const auto& places = order_->blocks[b].border;
    forward[b] = blocks_[b].factor.triangularView<Eigen::Lower>().solve(of_block(x, b));
    border(std::vector<Index>(places.begin(), places.end()), Eigen::all) -=
        blocks_[b].eliminated.transpose() * forward[b];
  }
  if (border.rows() > 0) {
    border_factor_.triangularView<Eigen::Lower>().solveInPlace(border);
    border_factor_.transpose().triangularView<Eigen::Upper>().solveInPlace(border);
  }
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const auto& places = order_->blocks[b];
    forward[b] -=
        blocks_[b].eliminated * border(std::vector<Index>(places.border.begin(), places.border.end()), Eigen::all);
    blocks_[b].factor.transpose().triangularView<Eigen::Upper>().solveInPlace(forward[b]);
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
  MatrixXd inverse = MatrixXd::Identity(border_.rows(), border_.rows());
  if (border_.rows() > 0) {
    border_factor_.triangularView<Eigen::Lower>().solveInPlace(inverse);
    inverse = (inverse.transpose() * inverse).eval();
  }
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
    MatrixXd root = MatrixXd::Identity(own, own);
    blocks_[b].factor.triangularView<Eigen::Lower>().solveInPlace(root);
    const MatrixXd towards = root.transpose() * blocks_[b].eliminated;  // V
    const MatrixXd across = towards * inverse(rows, rows);
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
