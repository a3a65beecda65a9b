#include "runtime/fit/normalisation.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <complex>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

namespace rimetree::fit {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Numbers of less than this part of the largest are rounding errors of 0, of which no step is a relative change. Those
// that are normalised are compared with others of the same rank: a dead antenna's gain is small, but no rounding error.
constexpr double kNothing = 1e-10;
// Steps seen by a term to less than this part (squared) of that which it sees best are not seen.
constexpr double kSeen = 1e-12;
constexpr int kNewtonSteps = 50;
// No step of Newton's method changes an amplitude by more than this factor's logarithm.
constexpr double kLongestChange = 1;

/// The steps as relative changes: of the logarithm of amplitudes, and of phases (or of what adds to them).
class Steps {
 public:
  Steps(std::vector<double>& x, const std::vector<Number>& numbers, const std::vector<std::vector<double>>& open)
      : x_(x),
        numbers_(numbers),
        nothing_(nothing(numbers, x)),
        stretch_(rows(), columns(open)),
        turn_(rows(), columns(open)) {
    for (Index k = 0; k < rows(); ++k)
      for (Index j = 0; j < columns(open); ++j) {
        const Number& number = numbers_[static_cast<std::size_t>(k)];
        const std::vector<double>& step = open[static_cast<std::size_t>(j)];
        const std::complex<double> relative = !usable(number) ? 0
                                              : number.factor ? part(number, step) / value(number)
                                                              : std::complex<double>(0, step[number.re]);
        stretch_(k, j) = relative.real();
        turn_(k, j) = relative.imag();
      }
  }
  bool usable(const Number& number) const {
    return !number.factor || std::abs(value(number)) > nothing_.at(key(number));
  }
  /// Up to which size numbers are rounding errors of 0, by `key`.
  static std::map<std::int64_t, double> nothing(const std::vector<Number>& numbers, const std::vector<double>& x) {
    std::map<std::int64_t, double> most;
    double all = 0;
    for (const Number& number : numbers) {
      const double size = number.factor ? std::abs(part(number, x)) : 0;
      double& of = most[key(number)];
      of = std::max(of, kNothing * size), all = std::max(all, kNothing * size);
    }
    if (most.contains(0)) most[0] = all;
    return most;
  }
  static std::int64_t key(const Number& number) { return std::max<std::int64_t>(number.rank, 0); }
  static std::complex<double> part(const Number& number, const std::vector<double>& of) {
    return {of[number.re], number.im < 0 ? 0.0 : of[static_cast<std::size_t>(number.im)]};
  }
  const MatrixXd& stretch() const { return stretch_; }
  const MatrixXd& turn() const { return turn_; }
  std::complex<double> value(const Number& number) const { return part(number, x_); }

  /// Moves all numbers by a combination of the steps.
  void move(const VectorXd& combination) {
    const VectorXd stretch = stretch_ * combination, turn = turn_ * combination;
    for (Index k = 0; k < rows(); ++k) {
      const Number& number = numbers_[static_cast<std::size_t>(k)];
      if (!number.factor) {
        x_[number.re] += turn[k];
        continue;
      }
      if (!usable(number)) continue;
      const std::complex<double> moved = value(number) * std::exp(std::complex<double>(stretch[k], turn[k]));
      x_[number.re] = moved.real();
      if (number.im >= 0) x_[static_cast<std::size_t>(number.im)] = moved.imag();
    }
  }

  /// What a combination of steps does to a number, as a derivative that weighs large amplitudes most.
  void add_condition(std::size_t k, const VectorXd& combination, Combination& condition) const {
    const Number& number = numbers_[k];
    const auto row = static_cast<Index>(k);
    const std::complex<double> relative(stretch_.row(row) * combination, turn_.row(row) * combination);
    if (!number.factor) return condition.emplace_back(number.re, relative.imag()), void();
    const std::complex<double> g = value(number), slope = relative * g / std::abs(g);
    condition.emplace_back(number.re, slope.real());
    if (number.im >= 0) condition.emplace_back(static_cast<std::size_t>(number.im), slope.imag());
  }

 private:
  Index rows() const { return static_cast<Index>(numbers_.size()); }
  static Index columns(const std::vector<std::vector<double>>& open) { return static_cast<Index>(open.size()); }

  std::vector<double>& x_;
  const std::vector<Number>& numbers_;
  std::map<std::int64_t, double> nothing_;
  MatrixXd stretch_, turn_;
};

/// The numbers of one rank: what they are now, and what steps do to them.
class Datum {
 public:
  Datum(const Steps& steps, const std::vector<Number>& numbers, std::int64_t rank, const MatrixXd& basis) {
    for (std::size_t k = 0; k < numbers.size(); ++k)
      if (numbers[k].rank == rank) members_.push_back(k);
    const auto n = static_cast<Index>(members_.size());
    stretch_.resize(n, basis.cols());
    turn_.resize(n, basis.cols());
    amplitude_ = weight_ = phase_ = VectorXd::Zero(n);
    stretches_ = VectorXd::Zero(n);
    for (Index i = 0; i < n; ++i) {
      const Number& number = numbers[members_[static_cast<std::size_t>(i)]];
      const auto k = static_cast<Index>(members_[static_cast<std::size_t>(i)]);
      stretch_.row(i) = steps.stretch().row(k) * basis;
      turn_.row(i) = steps.turn().row(k) * basis;
      const std::complex<double> value = steps.value(number);
      stretches_[i] = number.factor ? 1 : 0;
      weight_[i] = amplitude_[i] = number.factor ? std::abs(value) : 1;
      phase_[i] = !number.factor ? value.real() : number.im < 0 ? 0 : std::arg(value);
    }
    unwrap(numbers);
    std::vector<Index> count;
    std::vector<double> sum;
    for (Index i = 0; i < n; ++i) {
      const std::size_t series = of(numbers, i).series;
      if (series >= sum.size()) sum.resize(series + 1, 0.0), count.resize(series + 1, 0);
      sum[series] += weight_[i];
      ++count[series];
    }
    std::vector<double> change(sum.size(), 0.0);
    VectorXd all = VectorXd::Zero(n);
    for (Index i = 0; i < n; ++i) {
      const std::size_t series = of(numbers, i).series;
      weight_[i] *= static_cast<double>(count[series]) / sum[series];
      const auto k = static_cast<Index>(members_[static_cast<std::size_t>(i)]);
      all[i] = weight_[i] * (steps.stretch().row(k).squaredNorm() + steps.turn().row(k).squaredNorm());
      change[series] += all[i];
    }
    balance(numbers, change);
    size_ = all.dot(scale_);
  }

  const std::vector<std::size_t>& members() const { return members_; }
  /// What all steps change these numbers by: the trace of `gram` if the basis were whole.
  double size() const { return size_; }
  MatrixXd gram() const { return gram(stretch_, turn_, weight_.cwiseProduct(scale_)); }

  /// Of eigenvectors of `gram` and their eigenvalues those combinations that also change different numbers where these
  /// weigh what they are: what all of them have of a weak antenna's numbers, though little, would be all that is seen.
  MatrixXd apart(const MatrixXd& seen, const VectorXd& values) const {
    const MatrixXd alike = seen * values.cwiseSqrt().cwiseInverse().asDiagonal();
    const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(gram(stretch_ * alike, turn_ * alike, weight_));
    return alike * eigen.eigenvectors();
  }

  /// The combination of steps after which amplitudes have mean 1 and phases nothing of what steps can take from them:
  /// the minimum of sum(|g| e^u - u) + sum |g| (phase + v)^2/2 of stretches u and turns v, which is convex.
  VectorXd target(const MatrixXd& seen) const {
    const MatrixXd stretch = stretch_ * seen, turn = turn_ * seen;
    const MatrixXd fixed = turn.transpose() * weight_.asDiagonal() * turn;
    VectorXd logarithm = VectorXd::Zero(amplitude_.size());
    for (Index i = 0; i < amplitude_.size(); ++i)
      if (stretches_[i] > 0) logarithm[i] = std::log(amplitude_[i]);
    const MatrixXd all = stretch.transpose() * weight_.asDiagonal() * stretch + fixed;
    VectorXd a = all.ldlt().solve(-(stretch.transpose() * weight_.cwiseProduct(logarithm)) -
                                  turn.transpose() * weight_.cwiseProduct(phase_));
    for (int step = 0; step < kNewtonSteps; ++step) {
      const VectorXd now = amplitude_.cwiseProduct((stretch * a).array().exp().matrix()).cwiseProduct(stretches_);
      const VectorXd slope =
          stretch.transpose() * (now - stretches_) + turn.transpose() * weight_.cwiseProduct(phase_ + turn * a);
      const MatrixXd curvature = stretch.transpose() * now.asDiagonal() * stretch + fixed;
      VectorXd change = -curvature.ldlt().solve(slope);
      if (!change.allFinite()) break;
      const double longest = stretch.rows() > 0 ? (stretch * change).cwiseAbs().maxCoeff() : 0;
      if (longest > kLongestChange) change *= kLongestChange / longest;
      a += change;
      if (change.norm() <= 1e-14 * a.norm()) break;
    }
    return a;
  }

 private:
  const Number& of(const std::vector<Number>& numbers, Index i) const {
    return numbers[members_[static_cast<std::size_t>(i)]];
  }

  static MatrixXd gram(const MatrixXd& stretch, const MatrixXd& turn, const VectorXd& weight) {
    return stretch.transpose() * weight.asDiagonal() * stretch + turn.transpose() * weight.asDiagonal() * turn;
  }

  /// Of series that change much more than others, as gains of a weak antenna do, which all steps change by more of what
  /// they are, `gram` has only as much as of those: what is little of the others would be taken for nothing.
  void balance(const std::vector<Number>& numbers, const std::vector<double>& change) {
    std::vector<double> sizes;
    std::copy_if(change.begin(), change.end(), std::back_inserter(sizes), [](double x) { return x > 0; });
    std::sort(sizes.begin(), sizes.end());
    const double usual = sizes.empty() ? 0 : sizes[sizes.size() / 2];
    scale_ = VectorXd::Ones(static_cast<Index>(members_.size()));
    for (Index i = 0; i < scale_.size(); ++i) {
      const double own = change[of(numbers, i).series];
      if (own > usual) scale_[i] = usual / own;
    }
  }

  /// Along the columns of each row, and from the first number of a row to that of the next.
  void unwrap(const std::vector<Number>& numbers) {
    std::vector<Index> order(members_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Index>(i);
    std::sort(order.begin(), order.end(), [&](Index a, Index b) {
      const Number &one = of(numbers, a), &other = of(numbers, b);
      return std::tie(one.series, one.row, one.column) < std::tie(other.series, other.row, other.column);
    });
    Index first_of_row = -1;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Number& here = of(numbers, order[i]);
      const bool same = i > 0 && of(numbers, order[i - 1]).series == here.series;
      const bool same_row = same && of(numbers, order[i - 1]).row == here.row;
      const Index before = same_row ? order[i - 1] : same ? first_of_row : -1;
      if (before >= 0 && here.factor)
        phase_[order[i]] -= 2 * M_PI * std::round((phase_[order[i]] - phase_[before]) / (2 * M_PI));
      if (!same_row) first_of_row = order[i];
    }
  }

  std::vector<std::size_t> members_;
  MatrixXd stretch_, turn_;
  VectorXd amplitude_, weight_, phase_, stretches_, scale_;
  double size_ = 0;
};

/// What combinations of steps (columns of the basis) do to the sums of series that are held: [sum, column]. The sums
/// are those of real and imaginary parts; `unknowns`: of each sum.
MatrixXd changes_of_sums(const std::vector<Number>& numbers, std::int64_t rank,
                         const std::vector<std::vector<double>>& open, const MatrixXd& basis,
                         std::vector<std::vector<std::uint32_t>>& unknowns) {
  std::map<std::pair<std::uint32_t, bool>, std::vector<std::uint32_t>> sums;
  for (const Number& number : numbers) {
    if (number.rank != rank) continue;
    sums[{number.series, false}].push_back(number.re);
    if (number.im >= 0) sums[{number.series, true}].push_back(static_cast<std::uint32_t>(number.im));
  }
  MatrixXd changes = MatrixXd::Zero(static_cast<Index>(sums.size()), static_cast<Index>(open.size()));
  for (const auto& [series, of] : sums) {
    const auto row = static_cast<Index>(unknowns.size());
    for (std::size_t j = 0; j < open.size(); ++j)
      for (const std::uint32_t u : of) changes(row, static_cast<Index>(j)) += open[j][u];
    unknowns.push_back(of);
  }
  return changes * basis;
}

/// Combinations of steps (columns) that the conditions do not see.
MatrixXd unseen_by(const std::vector<Combination>& conditions, const std::vector<std::vector<double>>& steps) {
  const auto n = static_cast<Index>(steps.size());
  if (conditions.empty() || n == 0) return MatrixXd::Identity(n, n);
  MatrixXd seen(static_cast<Index>(conditions.size()), n);
  for (std::size_t c = 0; c < conditions.size(); ++c)
    for (std::size_t j = 0; j < steps.size(); ++j) {
      double sum = 0;
      for (const auto& [unknown, coefficient] : conditions[c]) sum += coefficient * steps[j][unknown];
      seen(static_cast<Index>(c), static_cast<Index>(j)) = sum;
    }
  seen.rowwise().normalize();
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(seen.transpose() * seen);
  const auto unseen = static_cast<Index>((eigen.eigenvalues().array() <= kSeen * eigen.eigenvalues()[n - 1]).count());
  return eigen.eigenvectors().leftCols(unseen);
}

/// Conditions that hold the sums, as far as steps that are still open change them.
void hold_sums(const std::vector<Number>& numbers, std::int64_t rank, const std::vector<std::vector<double>>& open,
               Normalised& result) {
  const auto is_held = [rank](const Number& number) { return number.rank == rank; };
  if (std::none_of(numbers.begin(), numbers.end(), is_held)) return;
  const MatrixXd basis = unseen_by(result.conditions, open);
  std::vector<std::vector<std::uint32_t>> unknowns;
  const MatrixXd changes = changes_of_sums(numbers, rank, open, basis, unknowns);
  if (changes.rows() == 0 || changes.cols() == 0 || !changes.allFinite()) return;
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(changes.transpose() * changes);
  // Of steps that no sum sees rounding leaves something.
  double most = 0;
  for (std::size_t j = 0; j < open.size(); ++j)
    for (const std::vector<std::uint32_t>& of : unknowns)
      for (const std::uint32_t u : of) most += open[j][u] * open[j][u];
  for (Index j = 0; j < changes.cols(); ++j) {
    if (!(eigen.eigenvalues()[j] > kSeen * most / static_cast<double>(open.size()))) continue;
    const VectorXd coefficients = changes * eigen.eigenvectors().col(j);
    Combination condition;
    for (std::size_t sum = 0; sum < unknowns.size(); ++sum)
      for (const std::uint32_t u : unknowns[sum]) condition.emplace_back(u, coefficients[static_cast<Index>(sum)]);
    result.conditions.push_back(std::move(condition));
  }
  for (const std::vector<std::uint32_t>& of : rank == -1 ? unknowns : std::vector<std::vector<std::uint32_t>>{})
    result.normalised.insert(result.normalised.end(), of.begin(), of.end());
}

}  // namespace

Normalised normalise(std::vector<double> x, std::vector<Number> numbers, const std::vector<std::vector<double>>& open,
                     const std::vector<std::vector<double>>& every) {
  Normalised result;
  const std::map<std::int64_t, double> nothing = Steps::nothing(numbers, x);
  std::erase_if(numbers, [&](const Number& number) {
    return number.rank >= 0 && number.factor && !(std::abs(Steps::part(number, x)) > nothing.at(Steps::key(number)));
  });
  Steps steps(x, numbers, open);
  std::set<std::int64_t, std::greater<>> ranks;
  for (const Number& number : numbers)
    if (number.rank > 0) ranks.insert(number.rank);
  MatrixXd basis = MatrixXd::Identity(static_cast<Index>(open.size()), static_cast<Index>(open.size()));
  for (const std::int64_t rank : ranks) {
    if (basis.cols() == 0) break;
    const Datum datum(steps, numbers, rank, basis);
    const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(datum.gram());
    const VectorXd& values = eigen.eigenvalues();
    // What is left may not change these numbers at all, but for rounding.
    const double most = std::max(values[values.size() - 1], datum.size() / static_cast<double>(open.size()));
    if (!(most > 0) || !values.allFinite()) continue;
    const auto unseen = static_cast<Index>((values.array() <= kSeen * most).count());
    if (unseen == values.size()) continue;
    const Index count = values.size() - unseen;
    const MatrixXd seen = datum.apart(eigen.eigenvectors().rightCols(count), values.tail(count));
    if (!seen.allFinite()) continue;
    const VectorXd target = datum.target(seen);
    if (!target.allFinite()) continue;
    steps.move(basis * (seen * target));
    for (Index j = 0; j < seen.cols(); ++j) {
      const VectorXd combination = basis * seen.col(j);
      Combination condition;
      for (const std::size_t k : datum.members()) steps.add_condition(k, combination, condition);
      result.conditions.push_back(std::move(condition));
    }
    for (const std::size_t k : datum.members()) {
      result.normalised.push_back(numbers[k].re);
      if (numbers[k].im >= 0) result.normalised.push_back(static_cast<std::uint32_t>(numbers[k].im));
    }
    basis = (basis * eigen.eigenvectors().leftCols(unseen)).eval();
  }
  const std::vector<std::vector<double>>& left = every.empty() ? open : every;
  for (const std::int64_t rank : {-1, -2}) hold_sums(numbers, rank, left, result);
  result.x = std::move(x);
  return result;
}

}  // namespace rimetree::fit
