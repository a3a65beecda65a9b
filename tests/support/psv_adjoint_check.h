// Adjoint kernels of PSV held to the scalar body on traced numbers, for tests of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "nodes/psv/adjoint/adjoint.h"
#include "runtime/core/values/largest_error.h"
#include "tests/support/psv_adjoint_oracle.h"
#include "tests/support/psv_combinations.h"

namespace rimetree::testing {

/// Largest difference, as a fraction of the largest value.
inline double relative_error(const std::vector<double>& got, const std::vector<double>& expected) {
  double error = 0, scale = 0;
  EXPECT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < expected.size() && i < got.size(); ++i) {
    keep_larger(error, std::abs(got[i] - expected[i]));
    scale = std::max(scale, std::abs(expected[i]));
  }
  return scale > 0 ? error / scale : error;
}

/// A case's rows in the order of their times.
struct OrderedRows {
  explicit OrderedRows(const Case& c) {
    std::vector<std::size_t> order(c.n_row());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return c.row_time[a] < c.row_time[b]; });
    rows = c.psv_rows();
    const double** column[] = {&rows.u, &rows.v, &rows.w, &rows.du, &rows.dv, &rows.dw, &rows.exposure_s};
    for (std::size_t i = 0; i < std::size(column); ++i) {
      if (*column[i] == nullptr) continue;
      for (const std::size_t r : order) values[i].push_back((*column[i])[r]);
      *column[i] = values[i].data();
    }
    for (const std::size_t r : order) {
      from.push_back(r), baseline.push_back(c.row_baseline[r]), time.push_back(c.row_time[r]);
    }
    rows.baseline = baseline.data(), rows.time = time.data();
  }
  OrderedRows(const OrderedRows&) = delete;

  psv::Rows rows;
  std::vector<std::size_t> from;  // [row]: its number in the case
  std::vector<double> values[7];
  std::vector<std::int32_t> baseline, time;
};

/// Where the derivatives with respect to a case's Jones terms go: all that move, or none.
struct Targets {
  explicit Targets(const Case& c) {
    for (const auto& pair : c.jones_pairs)
      for (const auto* side : {&pair.p, &pair.q}) {
        first.push_back(side[0]->data - c.jones_values.data());
        moving = moving || side[0]->time != 0;
      }
  }
  psv::JonesTargets of(const Case& c) const {
    if (c.n_pair == 0) return {};
    return {first.data(), nullptr, moving ? c.jones_values.size() : 0, moving ? 0 : c.jones_values.size()};
  }
  std::vector<std::ptrdiff_t> first;
  bool moving = false;
};

inline std::vector<double> parts_of(const std::vector<Complex<double>>& values) {
  std::vector<double> parts;
  for (const auto& z : values) parts.insert(parts.end(), {z.re, z.im});
  return parts;
}

inline std::vector<double> numbers_of(const std::vector<ShapeAxes<double>>& axes) {
  std::vector<double> numbers;
  for (const auto& one : axes) {
    numbers.insert(numbers.end(), one.major, one.major + 3);
    numbers.insert(numbers.end(), one.minor, one.minor + 3);
  }
  return numbers;
}

inline void expect_same_bits(const psv::adjoint::SourceAdjoints& a, const psv::adjoint::SourceAdjoints& b) {
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.positions, b.positions);
  EXPECT_EQ(numbers_of(a.axes), numbers_of(b.axes));
  EXPECT_EQ(parts_of(a.moving_jones), parts_of(b.moving_jones));
  EXPECT_EQ(parts_of(a.steady_jones), parts_of(b.steady_jones));
}

/// A case with adjoints of its visibilities, as the kernels are given them. The case must outlive it.
struct AdjointProblem {
  explicit AdjointProblem(const Case& c) : AdjointProblem(c, random_adjoints(c)) {}
  /// `given`: [row of the case][XX XY YX YY][channel]
  AdjointProblem(const Case& c, std::vector<Complex<double>> given)
      : adjoint(std::move(given)),
        sky(psv::pack_sky<double>(c.sky_input())),
        channels(psv::analyse_channels(c.frequency.data(), c.width.data(), c.n_channel())),
        ordered(c),
        targets(c),
        jones{c.n_pair, c.jones_pairs.data(), false, targets.of(c)} {
    for (const std::size_t r : ordered.from) row.push_back(adjoint.data() + r * 4 * c.n_channel());
    for (const auto& pair : c.jones_pairs) jones.varies_in_frequency |= pair.p[0].channel != 0;
  }
  AdjointProblem(const AdjointProblem&) = delete;

  /// Of random signs.
  static std::vector<Complex<double>> random_adjoints(const Case& c) {
    std::vector<Complex<double>> adjoint(c.n_row() * 4 * c.n_channel());
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal;
    for (auto& a : adjoint) a = {normal(random), normal(random)};
    return adjoint;
  }
  psv::adjoint::ResultAdjoints given() const {
    return {row.data(), static_cast<std::ptrdiff_t>(channels.frequency_hz.size())};
  }
  psv::adjoint::SourceAdjoints on_host(psv::adjoint::SourceWish wish = {true, true, true}, int n_thread = 1) const {
    ThreadPool threads(n_thread);
    Cancellation cancellation;
    return psv::adjoint::pull_back_rows({sky, channels, ordered.rows, jones}, given(), wish, threads, cancellation);
  }

  std::vector<Complex<double>> adjoint;
  psv::Sky<double> sky;
  psv::Channels channels;
  OrderedRows ordered;
  std::vector<const Complex<double>*> row;  ///< in their order
  Targets targets;
  psv::JonesTerms jones;
};

/// A kernel on so many threads.
using Pull = std::function<psv::adjoint::SourceAdjoints(const AdjointProblem&, psv::adjoint::SourceWish, int n_thread)>;
inline psv::adjoint::SourceAdjoints pull_on_host(const AdjointProblem& problem, psv::adjoint::SourceWish wish,
                                                 int n_thread) {
  return problem.on_host(wish, n_thread);
}

/// Derivatives with respect to the sky against the oracle's.
inline void expect_sky(const Case& c, const psv::Sky<double>& sky, const psv::adjoint::SourceAdjoints& got,
                       const Expected& expected) {
  const std::size_t columns = c.axes_are_vectors() ? 6 : 3;
  std::vector<double> weights, lmn_got, lmn, shapes, shapes_got;
  const std::size_t n_source = sky.n_source, n_weight = sky.n_weight_channel;
  for (std::size_t k = 0; k < n_source; ++k) {
    const std::size_t s = sky.order[k];
    for (std::size_t f = 0; f < n_weight; ++f) {
      Complex<double> b[4];
      for (std::size_t e = 0; e < 4; ++e) b[e] = expected.brightness[(e * n_source + s) * n_weight + f];
      for (const psv::Plane plane : sky.planes) weights.push_back(along_plane(plane, b));
    }
    for (std::size_t i = 0; i < 3; ++i) {
      Dual<double> x[3] = {c.l[s], c.m[s], c.n[s]};
      x[i].d = 1;
      lmn_got.push_back((i < 2 ? got.positions[3 * k + i] : 0) +
                        got.positions[3 * k + 2] * n_offset(x[0], x[1], x[2], 1).d);
      lmn.push_back(expected.lmn[3 * s + i]);
    }
    if (k < sky.n_point) continue;
    const double* shape = expected.shape.data() + columns * s;
    shapes.insert(shapes.end(), shape, shape + columns);
    std::vector<double> own = numbers_of({got.axes[k - sky.n_point]});
    if (columns == 3) {
      double in_plane[3] = {};
      add_in_plane(got.axes[k - sky.n_point], c.major[s], c.minor[s], c.angle[s], in_plane);
      own.assign(in_plane, in_plane + 3);
    }
    shapes_got.insert(shapes_got.end(), own.begin(), own.end());
  }
  // Phases of 1e4 radians leave 1e-12 of each term; sums are of random signs.
  EXPECT_LT(relative_error(got.weights, weights), 1e-11);
  EXPECT_LT(relative_error(lmn_got, lmn), 1e-11);
  EXPECT_LT(relative_error(shapes_got, shapes), 1e-11);
}

inline void check(const Case& c, const Pull& pull = pull_on_host) {
  SCOPED_TRACE(c.options);
  AdjointProblem problem(c);
  const Expected expected = expected_adjoints(c, problem.adjoint);
  const psv::adjoint::SourceAdjoints got = pull(problem, {true, true, true}, 1);
  expect_same_bits(got, pull(problem, {true, true, true}, 3));
  const bool moving = problem.targets.moving;
  EXPECT_LT(relative_error(parts_of(moving ? got.moving_jones : got.steady_jones), parts_of(expected.jones)), 1e-11);
  expect_sky(c, problem.sky, got, expected);
  // What is not asked for changes nothing of the rest.
  const psv::adjoint::SourceAdjoints only_jones = pull(problem, {}, 1);
  EXPECT_EQ(parts_of(only_jones.moving_jones), parts_of(got.moving_jones));
  EXPECT_EQ(parts_of(only_jones.steady_jones), parts_of(got.steady_jones));
  EXPECT_TRUE(only_jones.positions.empty());
  problem.jones.targets = {};
  const psv::adjoint::SourceAdjoints without_jones = pull(problem, {true, true, true}, 1);
  EXPECT_TRUE(without_jones.moving_jones.empty() && without_jones.steady_jones.empty());
  EXPECT_LT(relative_error(without_jones.weights, got.weights), 1e-12);
  EXPECT_LT(relative_error(without_jones.positions, got.positions), 1e-12);
}

/// The same values may be those of two nodes, with an adjoint each.
inline void check_terms_asked_for_twice(const Pull& pull) {
  const Case c({.n_source = 5, .n_baseline = 6, .jones = JonesKind::kAntennas});
  const std::size_t size = c.jones_values.size(), per_row = 4 * c.n_channel();
  const auto of_baselines = [&](const std::vector<std::ptrdiff_t>& first, bool even, bool odd) {
    std::vector<Complex<double>> adjoint(c.n_row() * per_row);
    for (std::size_t i = 0; i < adjoint.size(); ++i)
      if (c.row_baseline[i / per_row] % 2 == 1 ? odd : even) adjoint[i] = {0.3, -0.2};
    AdjointProblem problem(c, adjoint);
    problem.jones.targets = {first.data(), nullptr, 2 * size, 0};
    return parts_of(pull(problem, {}, 1).moving_jones);
  };
  std::vector<std::ptrdiff_t> together = Targets(c).first, apart = together;
  for (std::size_t b = 1; b < 6; b += 2)
    for (std::size_t side = 0; side < 2; ++side) apart[2 * b + side] += static_cast<std::ptrdiff_t>(size);
  const std::vector<double> both = of_baselines(apart, true, true);
  const auto half = [size](const std::vector<double>& parts, std::size_t i) {
    const auto begin = parts.begin() + static_cast<std::ptrdiff_t>(2 * size * i);
    return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(2 * size));
  };
  EXPECT_LT(relative_error(half(both, 0), half(of_baselines(together, true, false), 0)), 1e-13);
  EXPECT_LT(relative_error(half(both, 1), half(of_baselines(together, false, true), 0)), 1e-13);
}

/// Channels that are flagged may hold anything; here in the terms of one antenna.
inline void check_not_a_number(const Pull& pull) {
  const std::size_t dead = 7;
  std::vector<psv::adjoint::SourceAdjoints> found;
  for (const bool poisoned : {false, true}) {
    Case c({.n_source = 5, .n_baseline = 6, .jones = JonesKind::kAntennas});
    const std::size_t n_channel = c.n_channel();
    if (poisoned)
      for (std::size_t i = 0; i < c.jones_values.size() / 4; ++i)  // the first of four antennas
        if (i % n_channel == dead) c.jones_values[i] = {std::nan(""), std::nan("")};
    std::vector<Complex<double>> adjoint(c.n_row() * 4 * n_channel, {0.3, -0.2});
    for (std::size_t i = 0; i < adjoint.size(); ++i)
      if (i % n_channel == dead) adjoint[i] = {};
    found.push_back(pull(AdjointProblem(c, adjoint), {true, true, true}, 1));
  }
  expect_same_bits(found[0], found[1]);
}

}  // namespace rimetree::testing
