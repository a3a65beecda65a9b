#include "runtime/fit/factor_fit.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace rimetree::fit {
namespace {

using Phasor = std::complex<double>;

/// Two directions, five antennas, two times and three channels, two feeds: models of random visibilities, and data with
/// the factors of a planted place.
class FactorFits : public testing::Test {
 protected:
  static constexpr std::size_t kAntennas = 5, kTimes = 2, kChannels = 3, kFeeds = 2, kDirections = 2, kSamples = 6;
  static constexpr std::size_t kBins = kTimes * kChannels, kUnknowns = 4 + 4 + 5 + 1;

  FactorFits() {
    for (std::uint32_t p = 0; p < kAntennas; ++p)
      for (std::uint32_t q = p + 1; q < kAntennas; ++q) baselines_.emplace_back(p, q);
    // Of the first direction a phase and a slope along the band, antenna 0 being the reference; gains of one feed, in
    // all directions; a scale of the second direction.
    const std::vector<double> flat{1, 1, 1}, slope{-1, 0, 1};
    add(flat, true, {true, false}, {true, true}, [](std::size_t a) { return a == 0 ? -1 : int(a) - 1; });
    add(slope, true, {true, false}, {true, true}, [](std::size_t a) { return a == 0 ? -1 : int(a) + 3; });
    add(flat, false, {true, true}, {true, false}, [](std::size_t a) { return int(a) + 8; });
    add(flat, false, {false, true}, {true, true}, [](std::size_t) { return 13; });
    for (double& x : planted_) x = 0.5 * normal_(random_);
    fill();
  }

  template <class Number>
  void add(std::vector<double> rate, bool turns, std::vector<bool> directions, std::vector<bool> feeds,
           const Number& number_of) {
    FactorUnknowns own{std::move(rate), turns, std::move(directions), std::move(feeds), {}};
    for (std::size_t bin = 0; bin < kBins; ++bin)
      for (std::size_t a = 0; a < kAntennas; ++a) own.number.push_back(number_of(a));
    unknowns_.push_back(std::move(own));
  }

  Phasor factor(const std::vector<double>& place, std::size_t b, std::size_t bin, std::size_t feed,
                std::size_t direction) const {
    const auto antenna = [&](std::size_t a) {
      Phasor logarithm = 0;
      for (const FactorUnknowns& own : unknowns_) {
        const std::int32_t number = own.number[bin * kAntennas + a];
        if (number >= 0 && own.directions[direction] && own.feeds[feed])
          logarithm += own.rate[bin % kChannels] * place[static_cast<std::size_t>(number)] *
                       (own.turns ? Phasor(0, 1) : Phasor(1, 0));
      }
      return std::exp(logarithm);
    };
    return antenna(baselines_[b].first) * std::conj(antenna(baselines_[b].second));
  }

  /// Of samples: data, and models of each direction.
  void fill() {
    for (std::size_t b = 0; b < baselines_.size(); ++b)
      for (std::size_t bin = 0; bin < kBins; ++bin)
        for (std::size_t feed = 0; feed < kFeeds; ++feed) {
          Phasor product[kDirections] = {}, power[kDirections][kDirections] = {};
          for (std::size_t s = 0; s < kSamples; ++s) {
            Phasor model[kDirections], data = 0;
            for (std::size_t k = 0; k < kDirections; ++k) {
              model[k] = {normal_(random_), normal_(random_)};
              data += factor(planted_, b, bin, feed, k) * model[k];
            }
            data_ += std::norm(data);
            for (std::size_t k = 0; k < kDirections; ++k) {
              product[k] += std::conj(model[k]) * data;
              for (std::size_t l = 0; l < kDirections; ++l) power[k][l] += std::conj(model[k]) * model[l];
            }
            samples_.push_back({b, bin, feed, data, {model[0], model[1]}});
          }
          for (std::size_t k = 0; k < kDirections; ++k) {
            product_.insert(product_.end(), {product[k].real(), product[k].imag()});
            for (std::size_t l = 0; l < kDirections; ++l)
              power_.insert(power_.end(), {power[k][l].real(), power[k][l].imag()});
          }
        }
  }

  double chi_square(const std::vector<double>& place) const {
    double sum = 0;
    for (const auto& [b, bin, feed, data, model] : samples_) {
      Phasor left = data;
      for (std::size_t k = 0; k < kDirections; ++k) left -= factor(place, b, bin, feed, k) * model[k];
      sum += std::norm(left);
    }
    return sum;
  }

  FactorSums sums() const {
    return {baselines_, product_, power_, data_, kAntennas, kTimes, kChannels, kFeeds, kDirections};
  }
  FactorFit fit() const { return {sums(), unknowns_, std::vector<double>(kUnknowns, 1.0)}; }

  struct Sample {
    std::size_t b, bin, feed;
    Phasor data;
    std::array<Phasor, kDirections> model;
  };
  std::mt19937 random_{3};
  std::normal_distribution<double> normal_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> baselines_;
  std::vector<FactorUnknowns> unknowns_;
  std::vector<double> planted_ = std::vector<double>(kUnknowns), product_, power_;
  std::vector<Sample> samples_;
  double data_ = 0;
  const std::vector<bool> none_held_ = std::vector<bool>(kUnknowns);
};

TEST_F(FactorFits, HaveTheChiSquareOfTheData) {
  const FactorFit fit = this->fit();
  EXPECT_NEAR(fit.chi_square(planted_), 0, 1e-11 * data_);
  std::vector<double> place = planted_;
  for (double& x : place) x += 0.3 * normal_(random_);
  EXPECT_NEAR(fit.chi_square(place), chi_square(place), 1e-11 * data_);
}

TEST_F(FactorFits, SlopesAreThoseOfDifferences) {
  std::vector<double> place = planted_;
  for (double& x : place) x += 0.3 * normal_(random_);
  const FactorFit::Normal normal = fit().normal(place, none_held_);
  for (std::size_t i = 0; i < kUnknowns; ++i) {
    std::vector<double> up = place, down = place;
    up[i] += 1e-5, down[i] -= 1e-5;
    EXPECT_NEAR(normal.slope[i], (chi_square(down) - chi_square(up)) / 4e-5, 1e-8 * data_) << i;
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_EQ(normal.curvature[i * kUnknowns + j], normal.curvature[j * kUnknowns + i]);
  }
  // Where nothing is left the curvature is all of the second derivative.
  const FactorFit::Normal there = fit().normal(planted_, none_held_);
  for (std::size_t i = 0; i < kUnknowns; ++i)
    for (std::size_t j = 0; j < kUnknowns; ++j) {
      const auto at = [&](double a, double b) {
        std::vector<double> other = planted_;
        other[i] += a, other[j] += b;
        return chi_square(other);
      };
      const double second = (at(1e-4, 1e-4) - at(1e-4, -1e-4) - at(-1e-4, 1e-4) + at(-1e-4, -1e-4)) / 8e-8;
      EXPECT_NEAR(there.curvature[i * kUnknowns + j], second, 1e-6 * data_) << i << ", " << j;
    }
}

TEST_F(FactorFits, ClimbToWhatWasPlanted) {
  std::vector<double> place = planted_;
  for (double& x : place) x += 0.2 * normal_(random_);
  const FactorFit::Climbed climbed = fit().climb(place, 50, none_held_);
  EXPECT_LT(climbed.chi_square, 1e-9 * data_);
  EXPECT_LE(climbed.good, climbed.steps);
  EXPECT_EQ(fit().climb(place, 1, none_held_).steps, 1);
  EXPECT_NEAR(chi_square(place), climbed.chi_square, 1e-11 * data_);
}

TEST_F(FactorFits, LeaveWhatIsHeldWhereItIs) {
  std::vector<bool> held = none_held_;
  held[2] = held[9] = held[13] = true;
  std::vector<double> place = planted_;
  for (double& x : place) x += 0.2 * normal_(random_);
  const std::vector<double> before = place;
  const double begin = chi_square(place);
  EXPECT_LT(fit().climb(place, 50, held).chi_square, begin);
  for (std::size_t i = 0; i < kUnknowns; ++i) EXPECT_EQ(place[i] == before[i], held[i]) << i;
}

// Far below the data the curvature is next to nothing, and a step by it would go beyond all numbers.
TEST_F(FactorFits, TakeNoLongStepsOfAmplitudes) {
  std::vector<double> place = planted_;
  for (std::size_t i = 8; i < 13; ++i) place[i] = -6;
  const std::vector<double> before = place;
  EXPECT_EQ(fit().climb(place, 1, none_held_).good, 1);
  for (std::size_t i = 8; i < 13; ++i) EXPECT_DOUBLE_EQ(std::abs(place[i] - before[i]), 1) << i;
}

TEST_F(FactorFits, StayFiniteOnDataOfNothing) {
  std::fill(product_.begin(), product_.end(), 0.0);
  std::fill(power_.begin(), power_.end(), 0.0);
  data_ = 0;
  std::vector<double> place = planted_;
  EXPECT_EQ(fit().climb(place, 50, none_held_).chi_square, 0);
  for (const double x : place) EXPECT_TRUE(std::isfinite(x));
}

TEST_F(FactorFits, SayWhatDoesNotFit) {
  const std::vector<double> rates(kUnknowns, 1.0);
  FactorSums fewer = sums();
  fewer.baselines.pop_back();
  EXPECT_THROW(FactorFit(fewer, unknowns_, rates), std::invalid_argument);
  EXPECT_THROW(FactorFit(sums(), unknowns_, {1.0}), std::invalid_argument);
  unknowns_[0].number.pop_back();
  EXPECT_THROW(FactorFit(sums(), unknowns_, rates), std::invalid_argument);
}

}  // namespace
}  // namespace rimetree::fit
