// Cholesky factors of dense matrices, and what is made of them, mostly by products that use the machine's vectors
// (dense_product.h). For the sources of this folder that include Eigen.
#pragma once

#include <Eigen/Core>

#include "runtime/fit/dense_product.h"

namespace rimetree::fit {

using DenseRef = Eigen::Ref<Eigen::MatrixXd, 0, Eigen::OuterStride<>>;
using DenseConstRef = Eigen::Ref<const Eigen::MatrixXd, 0, Eigen::OuterStride<>>;

/// c += a b, or c -= a b; a product with a transposed matrix is one of its DenseView.
void add_product(DenseRef c, const DenseView& a, const DenseView& b, Eigen::Index k, bool subtract = false,
                 Triangle triangle = Triangle::all);
DenseView view(const DenseConstRef& matrix);

/// L of a matrix of which the lower triangle counts, in its place; what is above is left as it is. False if the matrix
/// is not positive.
bool factorise_lower(DenseRef matrix);
/// x = L^-1 x, and x = L^-T x.
void solve_lower(const DenseConstRef& lower, DenseRef x);
void solve_lower_transposed(const DenseConstRef& lower, DenseRef x);
/// x = L^-1, of which nothing above the diagonal is written.
void invert_lower(const DenseConstRef& lower, DenseRef x);

}  // namespace rimetree::fit
