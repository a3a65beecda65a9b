// Null spaces beside eigenvalues that are hardly more than rounding.
#include "runtime/fit/spectrum.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <random>

namespace rimetree::fit {
namespace {

TEST(Spectrum, what_data_hardly_determine_stays_out_of_the_null_space) {
  // Six steps of inverse iteration left a hundredth of it there.
  constexpr Eigen::Index kSize = 40, kNulls = 3;
  std::mt19937 random(3);
  const Eigen::MatrixXd any =
      Eigen::MatrixXd::NullaryExpr(kSize, kSize, [&] { return static_cast<double>(random()) / 4294967296.0 - 0.5; });
  const Eigen::MatrixXd turned = Eigen::HouseholderQR<Eigen::MatrixXd>(any).householderQ();
  Eigen::VectorXd values = Eigen::VectorXd::LinSpaced(kSize, 0.1, 1);
  values.head(kNulls).setZero();
  values[kNulls] = 1e-11;
  values[kNulls + 1] = 3e-11;
  const Eigen::MatrixXd matrix = turned * values.asDiagonal() * turned.transpose();
  // However many of its vectors are known.
  for (const Eigen::Index known : {0, 1, 2, int{kNulls}}) {
    Eigen::MatrixXd null;
    const Eigen::LDLT<Eigen::MatrixXd> factor(matrix + 1e-11 * Eigen::MatrixXd::Identity(kSize, kSize));
    if (known % 2 == 0) {
      const NullSpace found = find_null_space(
          kSize, turned.leftCols(known), [&](const Eigen::MatrixXd& x) -> Eigen::MatrixXd { return matrix * x; },
          [&](const Eigen::MatrixXd& x) -> Eigen::MatrixXd { return factor.solve(x); }, 1);
      ASSERT_TRUE(found.good);
      null = found.vectors;
    } else {
      null = spectrum_by_null_space(matrix, {Eigen::MatrixXd(kSize, 0), {}, turned.leftCols(known)}).null;
    }
    ASSERT_EQ(null.cols(), kNulls);
    EXPECT_LT((null.transpose() * null - Eigen::MatrixXd::Identity(kNulls, kNulls)).norm(), 1e-12);
    const Eigen::MatrixXd apart = turned.rightCols(kSize - kNulls).transpose() * null;
    EXPECT_LT(apart.norm(), 1e-4);  // of rounding errors of 1e-16 over eigenvalues of 1e-11
  }
}

}  // namespace
}  // namespace rimetree::fit
