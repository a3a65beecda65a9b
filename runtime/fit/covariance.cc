// The normal matrix is scaled to unit diagonal; its eigenvalues give rank, condition, standard errors (pseudo-inverse)
// and, for each unknown, how much of it is determined. Of more than 100 unknowns only the null space is found, by
// inverse iteration. A phase common to all antennas is never determined and does no harm. A norm of a Jones matrix that
// is not determined is flagged: as undetermined on a lone baseline, as ambiguous where products on the baselines solved
// are determined nevertheless (two sets of antennas without baselines among themselves).
#include "runtime/fit/covariance.h"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <cstdint>
#include <limits>

#include "runtime/fit/scaled_matrix.h"
#include "runtime/fit/spectrum.h"

namespace rimetree::fit {

namespace {

// A combination with less than this part in the null space has none but for rounding.
constexpr double kNullPart = 1e-5;
// What a condition sees of a null space less than this part of what others see is a rounding error.
constexpr double kUnseen = 1e-9;
// What steps of a null space have of an unknown is a rounding error of 0 below this times the condition of the rest,
// but not less than the least and not more than the most that rounding is taken for.
constexpr double kNoPart = 1e-14, kLeastPart = 1e-12, kMostPart = 1e-8;
// Squares of what rounding leaves.
constexpr double kSquaredRounding = 1e-14;
// Above this order all eigenvalues take too long; only the null space is found.
constexpr Eigen::Index kLarge = 100;
// And above this one a sparse matrix is not made dense, whatever happens.
constexpr std::size_t kMostDense = 10000;

/// Of the rows and columns of scale > 0.
Spectrum of_dense(const NormalEquations& equations, const Eigen::VectorXd& scale, Wanted wanted) {
  std::vector<Eigen::Index> moving, place(static_cast<std::size_t>(scale.size()), 0);
  for (Eigen::Index i = 0; i < scale.size(); ++i) {
    place[static_cast<std::size_t>(i)] = static_cast<Eigen::Index>(moving.size());
    if (scale[i] > 0) moving.push_back(i);
  }
  const auto m = static_cast<Eigen::Index>(moving.size());
  Eigen::MatrixXd matrix = scaled_dense(equations, scale);
  if (m < scale.size()) {
    matrix = matrix(moving, moving).eval();
    wanted.columns = wanted.columns(moving, Eigen::all).eval();
    if (wanted.known.cols() > 0) wanted.known = wanted.known(moving, Eigen::all).eval();
    for (auto& [i, j] : wanted.pairs) i = place[static_cast<std::size_t>(i)], j = place[static_cast<std::size_t>(j)];
  }
  Spectrum part;
  if (m > kLarge) part = spectrum_by_null_space(matrix, wanted);
  if (!part.good) part = spectrum_by_eigenvalues(matrix, wanted);
  if (!part.good || m == scale.size()) return part;
  Spectrum all = part;
  Eigen::MatrixXd null = Eigen::MatrixXd::Zero(scale.size(), part.null.cols());
  null(moving, Eigen::all) = Eigen::MatrixXd(part.null);
  all.null = null.sparseView();
  all.images = Eigen::MatrixXd::Zero(scale.size(), part.images.cols());
  if (part.images.cols() > 0) all.images(moving, Eigen::all) = part.images;
  all.inverse = Eigen::VectorXd::Zero(scale.size());
  all.inverse(moving) = part.inverse;
  return all;
}

Spectrum spectrum_of(const NormalEquations& equations, const Eigen::VectorXd& scale, const Wanted& wanted) {
  Spectrum spectrum;
  if (equations.sparsity) spectrum = spectrum_of_sparse(equations, scale, wanted);
  if (!spectrum.good && (!equations.sparsity || equations.n <= kMostDense))
    spectrum = of_dense(equations, scale, wanted);
  return spectrum;
}

Eigen::VectorXd scale_of_others(const NormalEquations& equations, const std::vector<bool>& held) {
  std::vector<bool> free(equations.n);
  for (std::size_t k = 0; k < equations.n; ++k) free[k] = !held[k];
  return scale_of(equations, free);
}

/// [n, combination] of scaled unknowns.
Eigen::MatrixXd columns_of(const std::vector<Combination>& combinations, const Eigen::VectorXd& scale) {
  Eigen::MatrixXd columns = Eigen::MatrixXd::Zero(scale.size(), static_cast<Eigen::Index>(combinations.size()));
  for (std::size_t c = 0; c < combinations.size(); ++c)
    for (const auto& [k, coefficient] : combinations[c])
      columns(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(c)) +=
          scale[static_cast<Eigen::Index>(k)] * coefficient;
  return columns;
}

/// Steps of the unknowns as orthonormal columns of scaled ones.
Eigen::MatrixXd orthonormal(const std::vector<std::vector<double>>& steps, const Eigen::VectorXd& scale) {
  Eigen::MatrixXd columns = Eigen::MatrixXd::Zero(scale.size(), static_cast<Eigen::Index>(steps.size()));
  for (std::size_t j = 0; j < steps.size(); ++j)
    for (Eigen::Index k = 0; k < scale.size(); ++k)
      if (scale[k] > 0) columns(k, static_cast<Eigen::Index>(j)) = steps[j][static_cast<std::size_t>(k)] / scale[k];
  if (columns.cols() == 0) return columns;
  for (Eigen::Index j = 0; j < columns.cols(); ++j)
    if (const double size = columns.col(j).norm(); size > 0) columns.col(j) /= size;
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> factors(columns);
  factors.setThreshold(kNullPart);  // what rounding leaves of steps that others make up is none
  return factors.householderQ() * Eigen::MatrixXd::Identity(scale.size(), factors.rank());
}

/// Whether what moves from one part of the unknowns to another is an error besides that of the other's own, or what the
/// equations of either part have by themselves, as they do with the others held.
enum class Moved : std::uint8_t { added, counted_already };

/// What an inverse G becomes with projectors 1 - R M^T on both sides, where it is kept: `moves` R, `images` G M.
void project(const Eigen::MatrixXd& moves, const Eigen::MatrixXd& images, const Eigen::MatrixXd& middle,
             const Wanted& wanted, Moved moved, Spectrum& spectrum) {
  const Eigen::MatrixXd through = moves * middle;
  const auto taken = [&](Eigen::Index i, Eigen::Index j) {
    return images.row(i).dot(moves.row(j)) + images.row(j).dot(moves.row(i));
  };
  const auto added = [&](Eigen::Index i, Eigen::Index j) { return through.row(i).dot(moves.row(j)); };
  std::vector<bool> only_larger(static_cast<std::size_t>(moves.rows()));  // where the larger of both counts
  const Eigen::VectorXd before = spectrum.inverse;
  for (Eigen::Index i = 0; i < moves.rows(); ++i) {
    only_larger[static_cast<std::size_t>(i)] = moved == Moved::counted_already && taken(i, i) == 0;
    spectrum.inverse[i] = only_larger[static_cast<std::size_t>(i)]
                              ? std::max(before[i], added(i, i))
                              : std::max(before[i] + added(i, i) - taken(i, i), 0.0);
  }
  for (std::size_t k = 0; k < wanted.pairs.size(); ++k) {
    const auto [i, j] = wanted.pairs[k];
    double& element = spectrum.elements[static_cast<Eigen::Index>(k)];
    const double other = added(i, j) - taken(i, j);
    if (!only_larger[static_cast<std::size_t>(i)])
      element += other;
    else if (added(i, i) + added(j, j) > before[i] + before[j])
      element = other;
  }
}

/// Of the null space, orthonormal columns for what the conditions determine. Makes `inverse` that of a solution that
/// fulfils them: the diagonal of P A+ P^T with P = 1 - R (C^T R)+ C^T, of conditions C and the part R of the null space
/// that they see.
Eigen::MatrixXd impose(const Wanted& wanted, Moved moved, Spectrum& spectrum) {
  // A condition may see little of the steps that it is for, as that on the slope of a narrow band: each as much as
  // others.
  Eigen::MatrixXd conditions = wanted.columns;
  Eigen::MatrixXd seen = conditions.transpose() * spectrum.null;
  const Eigen::VectorXd sizes = seen.rowwise().norm();
  for (Eigen::Index c = 0; c < sizes.size(); ++c) {
    const double factor = sizes[c] > kUnseen * sizes.maxCoeff() ? 1 / sizes[c] : 0;
    conditions.col(c) *= factor;
    seen.row(c) *= factor;
    spectrum.images.col(c) *= factor;
  }
  const Eigen::JacobiSVD<Eigen::MatrixXd> parts(seen, Eigen::ComputeThinV | Eigen::ComputeThinU);
  const Eigen::VectorXd& values = parts.singularValues();
  const auto rank = static_cast<Eigen::Index>((values.array() > kNullPart * values[0]).count());
  if (!(values[0] > 0)) return {spectrum.null.rows(), 0};
  Eigen::MatrixXd determined = spectrum.null * parts.matrixV().leftCols(rank);
  const Eigen::MatrixXd moves =
      determined * values.head(rank).cwiseInverse().asDiagonal() * parts.matrixU().leftCols(rank).transpose();
  const Eigen::MatrixXd middle = conditions.transpose() * spectrum.images;
  project(moves, spectrum.images, middle, wanted, moved, spectrum);
  return determined;
}

/// What the data say of scaled unknowns.
struct Sight {
  Spectrum spectrum;      ///< its null space only where matrices are whole
  std::size_t nulls = 0;  ///< dimensions of the null space
  double condition = 0;
  Eigen::VectorXd undetermined;  ///< by unknown: the squared length of its unit vector in the null space
  Eigen::VectorXd at_most;       ///< by unknown: what the null space adds to the inverse at most
  std::vector<bool> determined;  ///< by combination
};

/// Whether combinations have no part in a null space, but for what orthonormal vectors of it, `known`, say.
class Determined {
 public:
  Determined(const Eigen::SparseMatrix<double>& null, Eigen::MatrixXd known) : null_(null), known_(std::move(known)) {}
  /// `combination`: of different unknowns, that have these scales.
  bool operator()(const Combination& combination, const Eigen::VectorXd& scale) const {
    if (null_.cols() == 0) return true;
    Eigen::SparseVector<double> in_null(null_.cols());
    Eigen::VectorXd in_known = Eigen::VectorXd::Zero(known_.cols());
    double all = 0;
    for (const auto& [k, coefficient] : combination) {
      const auto row = static_cast<Eigen::Index>(k);
      const double part = scale[row] * coefficient;
      in_null += part * null_.row(row).transpose();
      in_known += part * known_.row(row).transpose();
      all += part * part;
    }
    return in_null.squaredNorm() - in_known.squaredNorm() <= kNullPart * kNullPart * all;
  }

 private:
  Eigen::SparseMatrix<double, Eigen::RowMajor> null_;
  Eigen::MatrixXd known_;
};

Sight sight_of(const NormalEquations& equations, const Eigen::VectorXd& scale, const Wanted& wanted,
               const std::vector<Combination>& combinations) {
  Sight sight;
  sight.spectrum = spectrum_of(equations, scale, wanted);
  if (!sight.spectrum.good) return sight;
  Spectrum& spectrum = sight.spectrum;
  sight.nulls = static_cast<std::size_t>(spectrum.null.cols());
  sight.condition = spectrum.largest / spectrum.smallest;
  const bool any = (scale.array() > 0).count() > static_cast<Eigen::Index>(sight.nulls);
  Eigen::MatrixXd known(scale.size(), 0);
  if (any && wanted.columns.cols() > 0 && sight.nulls > 0) known = impose(wanted, Moved::added, spectrum);
  sight.undetermined = squared_rows(spectrum.null) - known.rowwise().squaredNorm();
  sight.undetermined = (sight.undetermined.array() > kSquaredRounding).select(sight.undetermined, 0.0);
  sight.at_most = sight.undetermined / (kRankTolerance * spectrum.largest);
  const Determined is_determined(spectrum.null, std::move(known));
  for (const Combination& combination : combinations) sight.determined.push_back(is_determined(combination, scale));
  return sight;
}

/// One block of a matrix that has nothing between its blocks, as a matrix of its own.
NormalEquations equations_of(const NormalEquations& all, const BlockOrder& order,
                             const std::vector<std::uint32_t>& unknowns) {
  NormalEquations own(unknowns.size());
  for (const std::uint32_t column : unknowns)
    for (std::size_t e = all.sparsity->begin(column); e < all.sparsity->begin(column + 1); ++e)
      own.at(order.place[all.sparsity->row(e)], order.place[column]) = all.matrix[e];
  return own;
}

/// Of equations that leave out what couples parts: those of each block with all others held. What the parts can hold as
/// well as each other goes by the conditions: of errors of one what it may not have becomes another's.
Sight sight_of_blocks(const NormalEquations& equations, const Eigen::VectorXd& scale, const Wanted& wanted,
                      const std::vector<Combination>& combinations) {
  constexpr double kOther = 1e-6;  // of a known step, squared, that blocks have no part in
  const BlockOrder& order = *equations.sparsity->order();
  const Eigen::Index n = scale.size();
  Sight all;
  all.undetermined = all.at_most = all.spectrum.inverse = Eigen::VectorXd::Zero(n);
  all.spectrum.images = Eigen::MatrixXd::Zero(n, wanted.columns.cols());
  all.spectrum.elements = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(wanted.pairs.size()));
  all.determined.assign(combinations.size(), true);
  std::vector<std::vector<std::size_t>> pairs(order.blocks.size());
  for (std::size_t k = 0; k < wanted.pairs.size(); ++k)
    pairs[static_cast<std::size_t>(order.block_of[static_cast<std::size_t>(wanted.pairs[k].first)])].push_back(k);
  std::vector<std::vector<std::size_t>> combinations_of(
      order.blocks.size());  // numbers, of those with parts in a block
  for (std::size_t c = 0; c < combinations.size(); ++c)
    for (const auto& [k, coefficient] : combinations[c]) {
      std::vector<std::size_t>& here = combinations_of[static_cast<std::size_t>(order.block_of[k])];
      if (here.empty() || here.back() != c) here.push_back(c);
    }
  Eigen::MatrixXd others = wanted.known;
  for (std::size_t b = 0; b < order.blocks.size(); ++b) {
    const std::vector<Eigen::Index> at(order.blocks[b].unknowns.begin(), order.blocks[b].unknowns.end());
    const Eigen::VectorXd own_scale = scale(at);
    const auto moving = static_cast<std::size_t>((own_scale.array() > 0).count());
    if (moving == 0) continue;
    Wanted own{wanted.columns(at, Eigen::all), {}};
    for (const std::size_t k : pairs[b])
      own.pairs.emplace_back(order.place[static_cast<std::size_t>(wanted.pairs[k].first)],
                             order.place[static_cast<std::size_t>(wanted.pairs[k].second)]);
    const Spectrum spectrum = spectrum_of(equations_of(equations, order, order.blocks[b].unknowns), own_scale, own);
    if (!spectrum.good) return all;
    all.nulls += static_cast<std::size_t>(spectrum.null.cols());
    all.condition = std::max(all.condition, spectrum.largest / spectrum.smallest);
    all.spectrum.inverse(at) = spectrum.inverse;
    if (own.columns.cols() > 0) all.spectrum.images(at, Eigen::all) = spectrum.images;
    for (std::size_t k = 0; k < pairs[b].size(); ++k)
      all.spectrum.elements[static_cast<Eigen::Index>(pairs[b][k])] = spectrum.elements[static_cast<Eigen::Index>(k)];
    if (spectrum.null.cols() == 0) continue;
    all.undetermined(at) = squared_rows(spectrum.null);
    all.at_most(at) = all.undetermined(at) / (kRankTolerance * spectrum.largest);
    const Determined is_determined(spectrum.null, Eigen::MatrixXd(own_scale.size(), 0));
    others(at, Eigen::all) = without(spectrum.null, others(at, Eigen::all));
    for (const std::size_t c : combinations_of[b]) {
      Combination part;
      for (const auto& [k, coefficient] : combinations[c])
        if (order.block_of[k] == static_cast<std::int32_t>(b)) part.emplace_back(order.place[k], coefficient);
      all.determined[c] = all.determined[c] && is_determined(part, own_scale);
    }
  }
  all.spectrum.good = true;
  if (wanted.known.cols() == 0) return all;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(others.transpose() * others);
  all.nulls += static_cast<std::size_t>((eigen.eigenvalues().array() > kOther).count());
  all.spectrum.null = wanted.known.sparseView();
  if (wanted.columns.cols() > 0) impose(wanted, Moved::counted_already, all.spectrum);
  return all;
}

}  // namespace

Covariance covariance(const NormalEquations& equations, const std::vector<bool>& held,
                      const CovarianceRequest& request) {
  Covariance result;
  result.sigma.assign(equations.n, std::numeric_limits<double>::quiet_NaN());
  result.at_most.assign(equations.n, std::numeric_limits<double>::quiet_NaN());
  result.determined.assign(equations.n, 0.0);
  result.of_pairs.assign(request.pairs.size(), 0.0);
  const Eigen::VectorXd scale = scale_of_others(equations, held);
  const auto moving = static_cast<std::size_t>((scale.array() > 0).count());
  for (const Combination& combination : request.combinations)
    result.combination_determined.push_back(
        moving == 0 &&
        std::all_of(combination.begin(), combination.end(), [&](const auto& part) { return held[part.first]; }));
  if (moving == 0) return result;
  Wanted wanted;
  wanted.columns = columns_of(request.conditions, scale);
  wanted.columns.colwise().normalize();
  wanted.known = orthonormal(request.open, scale);
  std::vector<std::size_t> numbers;
  for (std::size_t k = 0; k < request.pairs.size(); ++k) {
    const auto i = static_cast<Eigen::Index>(request.pairs[k].first),
               j = static_cast<Eigen::Index>(request.pairs[k].second);
    if (!(scale[i] > 0 && scale[j] > 0)) continue;
    wanted.pairs.emplace_back(i, j);
    numbers.push_back(k);
  }
  const bool in_blocks = equations.sparsity && equations.sparsity->leaves_out() && equations.sparsity->order();
  const Sight sight = in_blocks ? sight_of_blocks(equations, scale, wanted, request.combinations)
                                : sight_of(equations, scale, wanted, request.combinations);
  if (!sight.spectrum.good) return result;
  result.rank = moving - std::min(moving, sight.nulls);
  if (result.rank == 0) return result;
  result.condition = sight.condition;
  for (std::size_t k = 0; k < equations.n; ++k) {
    const auto i = static_cast<Eigen::Index>(k);
    if (!(scale[i] > 0)) continue;
    result.determined[k] = 1 - sight.undetermined[i];
    result.sigma[k] = scale[i] * std::sqrt(sight.spectrum.inverse[i]);
    result.at_most[k] = scale[i] * std::sqrt(sight.spectrum.inverse[i] + sight.at_most[i]);
  }
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const auto [i, j] = wanted.pairs[k];
    result.of_pairs[numbers[k]] = scale[i] * scale[j] * sight.spectrum.elements[static_cast<Eigen::Index>(k)];
  }
  result.combination_determined = sight.determined;
  return result;
}

std::vector<std::vector<double>> null_space(const NormalEquations& equations, const std::vector<bool>& held,
                                            const std::vector<std::vector<double>>& known) {
  const Eigen::VectorXd scale = scale_of_others(equations, held);
  std::vector<std::vector<double>> steps;
  if (!(scale.array() > 0).any()) return steps;
  const Spectrum spectrum =
      spectrum_of(equations, scale, {Eigen::MatrixXd(scale.size(), 0), {}, orthonormal(known, scale), false});
  if (!spectrum.good) return steps;
  const double no_part = std::clamp(kNoPart * spectrum.largest / spectrum.smallest, kLeastPart, kMostPart);
  const Eigen::VectorXd parts = squared_rows(spectrum.null).cwiseSqrt(), none = Eigen::VectorXd::Zero(scale.size());
  const Eigen::VectorXd factor = (parts.array() > no_part).select(scale, none);
  for (Eigen::Index k = 0; k < spectrum.null.cols(); ++k) {
    const Eigen::VectorXd step = Eigen::VectorXd(spectrum.null.col(k)).cwiseProduct(factor);
    steps.emplace_back(step.data(), step.data() + step.size());
  }
  return steps;
}

}  // namespace rimetree::fit
