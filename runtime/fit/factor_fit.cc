#include "runtime/fit/factor_fit.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

namespace rimetree::fit {
namespace {

using DenseRows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr double kNothing = 1e-150;  // of a curvature
constexpr double kRidge = 1e-9;      // of the curvature: what data do not tell stays where it is
constexpr double kFirstDamping = 1e-2, kLeastDamping = 1e-9, kMostDamping = 1e9;
constexpr double kGrowth = 2, kMostLess = 1.0 / 3;  // of the damping: after one step that was too long, and a good one
constexpr double kLongest = 1;                      // step of a logarithm of an amplitude
constexpr double kMost = 20;                        // such a logarithm
constexpr double kEnded = 1e-7;                     // of chi-square, gained by the last step

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(std::string("fit of factors: ") + what);
}

/// What the damping is multiplied with after a step that gained so much: little where slope and curvature had told that
/// gain, more than 1 where they had told much more (Nielsen 1999, IMM-REP-1999-05).
double less_damping(double gained, double told) {
  const double ratio = std::clamp(gained / std::max(told, kNothing), 0.0, 1.0);
  return std::max(kMostLess, 1 - std::pow(2 * ratio - 1, 3));
}

}  // namespace

struct FactorFit::Scratch {
  explicit Scratch(const FactorFit& fit)
      : plane(2 * fit.stride_),
        seen(fit.n_bin_ * fit.n_feed_ * fit.n_direction_ * plane),
        model(seen.size()),
        turned(fit.n_direction_ * fit.n_antenna_),
        scaled(turned.size()),
        factor(2 * turned.size()) {
    const std::size_t n = fit.n_direction_ + fit.of_all_, n_rate = fit.rates_.size();
    slope.resize(n_rate * n * plane);
    curvature.resize(n_rate * (n_rate + 1) / 2 * (n * (n + 1) / 2) * plane);
    rate.resize(n_rate);
    pair_rate.resize(n_rate * (n_rate + 1) / 2);
    used = std::make_unique<bool[]>(fit.n_direction_);
  }

  double* of_bin(std::vector<double>& planes, std::size_t bin, std::size_t feed, const FactorFit& fit) const {
    return planes.data() + (bin * fit.n_feed_ + feed) * fit.n_direction_ * plane;
  }

  std::size_t plane;
  std::vector<double> seen, model;                        // [bin][feed][direction] planes
  std::vector<double> turned, scaled, factor;             // [direction][antenna]
  std::vector<double> slope, curvature, rate, pair_rate;  // as of NormalSums
  std::unique_ptr<bool[]> used;
};

FactorFit::FactorFit(const FactorSums& sums, std::vector<FactorUnknowns> unknowns, std::vector<double> most_rate)
    : n_antenna_(sums.n_antenna),
      n_freq_(sums.n_freq),
      n_bin_(sums.n_time * sums.n_freq),
      n_feed_(sums.n_feed),
      n_direction_(sums.n_direction),
      stride_((sums.baselines.size() + kFactorLanes - 1) / kFactorLanes * kFactorLanes),
      n_unknown_(most_rate.size()),
      data_(sums.data),
      baselines_(sums.baselines),
      scales_(n_unknown_),
      most_rate_(std::move(most_rate)) {
  const std::size_t n_baseline = baselines_.size(), n = n_direction_, n_cell = n_bin_ * n_feed_, plane = 2 * stride_;
  require(sums.product.size() == 2 * n_baseline * n_cell * n,
          "products are not [baseline, time, freq, feed, direction]");
  require(sums.power.size() == sums.product.size() * n,
          "powers are not [baseline, time, freq, feed, direction, direction]");
  for (const auto& [p, q] : baselines_) require(p < n_antenna_ && q < n_antenna_, "a baseline has an unknown antenna");
  const std::size_t triangle = n * (n + 1) / 2;
  product_.resize(n_cell * n * plane);
  power_.resize(n_cell * triangle * plane);
  for (std::size_t b = 0; b < n_baseline; ++b)
    for (std::size_t cell = 0; cell < n_cell; ++cell)
      for (std::size_t k = 0; k < n; ++k) {
        const double* product = sums.product.data() + 2 * ((b * n_cell + cell) * n + k);
        for (int part = 0; part < 2; ++part)
          product_[(cell * n + k) * plane + static_cast<std::size_t>(part) * stride_ + b] = product[part];
        for (std::size_t l = k; l < n; ++l) {
          const double* power = sums.power.data() + 2 * (((b * n_cell + cell) * n + k) * n + l);
          for (int part = 0; part < 2; ++part)
            power_[(cell * triangle + in_triangle(k, l, n)) * plane + static_cast<std::size_t>(part) * stride_ + b] =
                power[part];
        }
      }

  std::map<std::vector<double>, std::size_t> rates;
  for (FactorUnknowns& own : unknowns) {
    require(own.rate.size() == n_freq_ && own.directions.size() == n && own.feeds.size() == n_feed_ &&
                own.number.size() == n_bin_ * n_antenna_,
            "unknowns do not fit to the sums");
    Kind kind;
    kind.rate = rates.try_emplace(own.rate, rates.size()).first->second;
    if (kind.rate == rates_.size()) rates_.push_back(own.rate);
    for (std::size_t k = 0; k < n; ++k)
      if (own.directions[k]) kind.directions.push_back(k);
    if (n > 1 && kind.directions.size() == n) kind.directions = {n}, of_all_ = true;
    for (const std::int32_t number : own.number) {
      require(number < static_cast<std::int32_t>(n_unknown_), "there are more unknowns than rates");
      if (number >= 0 && !own.turns) scales_[static_cast<std::size_t>(number)] = true;
    }
    kind.unknowns = std::move(own);
    kinds_.push_back(std::move(kind));
  }
  std::map<std::vector<std::int32_t>, std::size_t> group_of;
  for (std::size_t bin = 0; bin < n_bin_; ++bin) {
    std::vector<std::int32_t> numbers;
    for (const Kind& kind : kinds_) {
      const auto first = kind.unknowns.number.begin() + static_cast<std::ptrdiff_t>(bin * n_antenna_);
      numbers.insert(numbers.end(), first, first + static_cast<std::ptrdiff_t>(n_antenna_));
    }
    const std::size_t group = group_of.try_emplace(std::move(numbers), groups_.size()).first->second;
    if (group == groups_.size()) groups_.emplace_back();
    groups_[group].push_back(bin);
  }
}

BinSums FactorFit::sums_of(std::size_t bin, std::size_t feed) const {
  const std::size_t cell = bin * n_feed_ + feed, plane = 2 * stride_, n = n_direction_;
  return {product_.data() + cell * n * plane, power_.data() + cell * (n * (n + 1) / 2) * plane, n, stride_};
}

/// Of each baseline and direction, in a bin and a feed.
void FactorFit::set_factors(std::span<const double> place, std::size_t bin, std::size_t feed, Scratch& scratch) const {
  std::fill(scratch.turned.begin(), scratch.turned.end(), 0.0);
  std::fill(scratch.scaled.begin(), scratch.scaled.end(), 0.0);
  bool scales = false;
  for (const Kind& kind : kinds_) {
    if (!kind.unknowns.feeds[feed]) continue;
    scales |= !kind.unknowns.turns;
    const double rate = kind.unknowns.rate[bin % n_freq_];
    const std::int32_t* number = kind.unknowns.number.data() + bin * n_antenna_;
    std::vector<double>& logarithm = kind.unknowns.turns ? scratch.turned : scratch.scaled;
    const bool all = kind.directions.size() == 1 && kind.directions[0] == n_direction_;
    for (std::size_t a = 0; a < n_antenna_; ++a) {
      if (number[a] < 0) continue;
      const double value = rate * place[static_cast<std::size_t>(number[a])];
      if (all)
        for (std::size_t k = 0; k < n_direction_; ++k) logarithm[k * n_antenna_ + a] += value;
      else
        for (const std::size_t k : kind.directions) logarithm[k * n_antenna_ + a] += value;
    }
  }
  for (std::size_t i = 0; i < scratch.turned.size(); ++i) {
    const double size = scales ? std::exp(scratch.scaled[i]) : 1;
    scratch.factor[2 * i] = size * std::cos(scratch.turned[i]);
    scratch.factor[2 * i + 1] = size * std::sin(scratch.turned[i]);
  }
  double* seen = scratch.of_bin(scratch.seen, bin, feed, *this);
  for (std::size_t k = 0; k < n_direction_; ++k, seen += scratch.plane) {
    const double* factor = scratch.factor.data() + 2 * k * n_antenna_;
    for (std::size_t b = 0; b < baselines_.size(); ++b) {
      const double *p = factor + 2 * baselines_[b].first, *q = factor + 2 * baselines_[b].second;
      seen[b] = p[0] * q[0] + p[1] * q[1];
      seen[stride_ + b] = p[1] * q[0] - p[0] * q[1];
    }
  }
}

/// Chi-square at a place; sets what it sees there, and the model.
double FactorFit::look(std::span<const double> place, Scratch& scratch) const {
  double chi_square = data_;
  for (std::size_t bin = 0; bin < n_bin_; ++bin)
    for (std::size_t feed = 0; feed < n_feed_; ++feed) {
      set_factors(place, bin, feed, scratch);
      chi_square += add_up(sums_of(bin, feed), scratch.of_bin(scratch.seen, bin, feed, *this),
                           scratch.of_bin(scratch.model, bin, feed, *this));
    }
  return chi_square;
}

/// Adds planes of a group of bins and a feed to the unknowns that they are of.
class FactorFit::Scatter {
 public:
  Scatter(const FactorFit& fit, const std::vector<bool>& held, std::size_t bin, std::size_t feed)
      : fit_(fit), held_(held), first_number_(bin * fit.n_antenna_) {
    for (const Kind& kind : fit.kinds_) {
      const std::int32_t* number = numbers_of(kind);
      if (kind.unknowns.feeds[feed] &&
          std::any_of(number, number + fit.n_antenna_, [&](std::int32_t one) { return is_free(one); }))
        kinds_.push_back(&kind);
    }
  }

  bool is_empty() const { return kinds_.empty(); }
  void set_used(bool* used) const {
    std::fill_n(used, fit_.n_direction_, false);
    for (const Kind* kind : kinds_)
      for (const std::size_t k : kind->directions)
        if (k < fit_.n_direction_) used[k] = true;
  }

  void add_slopes(const std::vector<double>& planes, std::vector<double>& slope) const {
    const std::size_t n = fit_.n_direction_ + fit_.of_all_;
    for (const Kind* kind : kinds_)
      for (const std::size_t k : kind->directions) {
        // The real part of conj(i) z is the imaginary part of z.
        const double* value =
            planes.data() + (kind->rate * n + k) * 2 * fit_.stride_ + kind->unknowns.turns * fit_.stride_;
        const std::int32_t* number = numbers_of(*kind);
        for (std::size_t b = 0; b < fit_.baselines_.size(); ++b)
          for (const End& end : ends(*kind, number, b))
            if (is_free(end.number)) slope[static_cast<std::size_t>(end.number)] += end.sign * value[b];
      }
  }

  void add_curvatures(const std::vector<double>& planes, std::vector<double>& curvature) const {
    for (std::size_t i = 0; i < kinds_.size(); ++i)
      for (std::size_t j = i; j < kinds_.size(); ++j)
        for (const std::size_t k : kinds_[i]->directions)
          for (const std::size_t l : kinds_[j]->directions) add_pair(i, k, j, l, planes, curvature);
  }

 private:
  struct End {
    std::int32_t number;
    double sign;
  };
  std::array<End, 2> ends(const Kind& kind, const std::int32_t* number, std::size_t baseline) const {
    const auto& [p, q] = fit_.baselines_[baseline];
    return {{{number[p], 1.0}, {number[q], kind.unknowns.turns ? -1.0 : 1.0}}};
  }
  const std::int32_t* numbers_of(const Kind& kind) const { return kind.unknowns.number.data() + first_number_; }
  bool is_free(std::int32_t number) const { return number >= 0 && !held_[static_cast<std::size_t>(number)]; }

  /// Of direction k of a kind and direction l of another.
  void add_pair(std::size_t i, std::size_t k, std::size_t j, std::size_t l, const std::vector<double>& planes,
                std::vector<double>& curvature) const {
    const Kind &one = *kinds_[i], &other = *kinds_[j];
    const std::size_t n_rate = fit_.rates_.size(), n = fit_.n_direction_ + fit_.of_all_;
    const std::size_t pair = in_triangle(std::min(one.rate, other.rate), std::max(one.rate, other.rate), n_rate);
    const double* value =
        planes.data() + (pair * (n * (n + 1) / 2) + in_triangle(std::min(k, l), std::max(k, l), n)) * 2 * fit_.stride_;
    // The real part of conj(f) z g is that of z, -i z, or i z; (l, k) has the conjugate of (k, l).
    double sign = 1;
    if (one.unknowns.turns != other.unknowns.turns) {
      value += fit_.stride_;
      sign = other.unknowns.turns == (k <= l) ? -1 : 1;
    }
    const std::int32_t *number = numbers_of(one), *other_number = numbers_of(other);
    const std::size_t count = fit_.n_unknown_;
    for (std::size_t b = 0; b < fit_.baselines_.size(); ++b)
      for (const End& x : ends(one, number, b)) {
        if (!is_free(x.number)) continue;
        const auto row = static_cast<std::size_t>(x.number);
        for (const End& y : ends(other, other_number, b)) {
          if (!is_free(y.number)) continue;
          const auto column = static_cast<std::size_t>(y.number);
          const double own = sign * x.sign * y.sign * value[b];
          curvature[row * count + column] += own;
          if (i != j) curvature[column * count + row] += own;
        }
      }
  }

  const FactorFit& fit_;
  const std::vector<bool>& held_;
  std::size_t first_number_;
  std::vector<const Kind*> kinds_;
};

/// At the place that was looked at last.
void FactorFit::set_normal(const std::vector<bool>& held, Scratch& scratch, Normal& normal) const {
  normal.slope.assign(n_unknown_, 0.0);
  normal.curvature.assign(n_unknown_ * n_unknown_, 0.0);
  NormalSums to{scratch.slope.data(), scratch.curvature.data(), scratch.rate.data(), scratch.pair_rate.data(),
                scratch.rate.size(),  scratch.pair_rate.size(), scratch.used.get(),  of_all_};
  for (const std::vector<std::size_t>& bins : groups_)
    for (std::size_t feed = 0; feed < n_feed_; ++feed) {
      const Scatter scatter(*this, held, bins.front(), feed);
      if (scatter.is_empty()) continue;
      scatter.set_used(scratch.used.get());
      std::fill(scratch.slope.begin(), scratch.slope.end(), 0.0);
      std::fill(scratch.curvature.begin(), scratch.curvature.end(), 0.0);
      for (const std::size_t bin : bins) {
        for (std::size_t r = 0; r < rates_.size(); ++r) scratch.rate[r] = rates_[r][bin % n_freq_];
        for (std::size_t r = 0; r < rates_.size(); ++r)
          for (std::size_t s = r; s < rates_.size(); ++s)
            scratch.pair_rate[in_triangle(r, s, rates_.size())] = scratch.rate[r] * scratch.rate[s];
        add_normal(sums_of(bin, feed), scratch.of_bin(scratch.seen, bin, feed, *this),
                   scratch.of_bin(scratch.model, bin, feed, *this), to);
      }
      scatter.add_slopes(scratch.slope, normal.slope);
      scatter.add_curvatures(scratch.curvature, normal.curvature);
    }
}

double FactorFit::chi_square(std::span<const double> place) const {
  Scratch scratch(*this);
  return look(place, scratch);
}

FactorFit::Normal FactorFit::normal(std::span<const double> place, const std::vector<bool>& held) const {
  Scratch scratch(*this);
  Normal normal;
  look(place, scratch);
  set_normal(held, scratch, normal);
  return normal;
}

namespace {

/// (curvature + damping) x = slope, in units in which each unknown turns or scales by as much: else the curvature of a
/// delay would make nothing of a phase's.
Eigen::VectorXd step_of(const FactorFit::Normal& normal, const std::vector<double>& rate, double damping) {
  const auto n = static_cast<Eigen::Index>(normal.slope.size());
  const Eigen::Map<const Eigen::VectorXd> unit(rate.data(), n), slope(normal.slope.data(), n);
  const Eigen::VectorXd per_unit = unit.cwiseInverse();
  DenseRows damped =
      per_unit.asDiagonal() * Eigen::Map<const DenseRows>(normal.curvature.data(), n, n) * per_unit.asDiagonal();
  const double largest = n > 0 ? damped.diagonal().maxCoeff() : 0;
  for (Eigen::Index i = 0; i < n; ++i)
    damped(i, i) += std::max(damped(i, i), std::max(1e-12 * largest, kNothing)) * (kRidge + damping);
  const Eigen::VectorXd right = slope.cwiseProduct(per_unit);
  const Eigen::LLT<DenseRows> factor(damped);
  Eigen::VectorXd step;
  if (factor.info() == Eigen::Success)
    step = factor.solve(right);
  else  // rounding has left it not quite positive
    step = Eigen::PartialPivLU<DenseRows>(damped).solve(right);
  return step.cwiseProduct(per_unit);
}

}  // namespace

FactorFit::Climbed FactorFit::climb(std::span<double> place, int steps, const std::vector<bool>& held) const {
  const auto limit = [&](std::span<double> values, double most) {
    for (std::size_t i = 0; i < n_unknown_; ++i)
      if (scales_[i]) values[i] = std::clamp(values[i], -most, most);
  };
  Scratch scratch(*this);
  Normal normal;
  limit(place, kMost);
  Climbed climbed;
  climbed.chi_square = look(place, scratch);
  set_normal(held, scratch, normal);
  double damping = kFirstDamping, growth = kGrowth;
  std::vector<double> other(n_unknown_);
  while (climbed.steps < steps && damping < kMostDamping) {
    ++climbed.steps;
    Eigen::VectorXd step = step_of(normal, most_rate_, damping);
    limit({step.data(), n_unknown_}, kLongest);
    for (std::size_t i = 0; i < n_unknown_; ++i) other[i] = place[i] + step[static_cast<Eigen::Index>(i)];
    limit(other, kMost);
    const double found = look(other, scratch), gained = climbed.chi_square - found;
    if (!(gained >= 0)) {
      damping = std::max(damping * growth, kLeastDamping);
      growth *= kGrowth;
      continue;
    }
    const bool ended = gained <= kEnded * climbed.chi_square;
    std::copy(other.begin(), other.end(), place.begin());
    climbed.chi_square = found;
    ++climbed.good;
    if (ended) break;
    const auto n = static_cast<Eigen::Index>(n_unknown_);
    const double told = 2 * step.dot(Eigen::Map<const Eigen::VectorXd>(normal.slope.data(), n)) -
                        step.dot(Eigen::Map<const DenseRows>(normal.curvature.data(), n, n) * step);
    damping = std::max(damping * less_damping(gained, told), kLeastDamping);
    growth = kGrowth;
    set_normal(held, scratch, normal);
  }
  return climbed;
}

}  // namespace rimetree::fit
