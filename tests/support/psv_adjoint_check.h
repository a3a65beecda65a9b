// The adjoint kernel of PSV held to the scalar body on traced numbers, for tests of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "nodes/psv/adjoint/adjoint.h"
#include "nodes/psv/body.h"
#include "runtime/math/traced.h"
#include "tests/support/psv_case.h"

namespace rimetree::testing {

using T = Traced<double>;

/// Derivatives by source, in the case's order, as the body gives them.
struct Expected {
  std::vector<double> lmn, shape;           // [source][3]
  std::vector<Complex<double>> brightness;  // [element][source][channel or 1]
  std::vector<Complex<double>> jones;       // as Case::jones_values
};

/// The same places in another array, from time `time` on.
inline psv::Strided<Complex<T>> same_place(const Case& c, const psv::Strided<Complex<double>>& view, std::int32_t time,
                                           const std::vector<Complex<T>>& values) {
  return {values.data() + (view.data - c.jones_values.data()) + time * view.time, view.source, 0, view.channel};
}

/// `adjoint`: [row][XX XY YX YY][channel].
inline Expected expected_adjoints(const Case& c, const std::vector<Complex<double>>& adjoint) {
  const std::size_t n_source = c.sources.size(), n_channel = c.n_channel();
  const std::size_t n_weight = c.options.spectra ? n_channel : 1;
  Expected found{std::vector<double>(3 * n_source), std::vector<double>(3 * n_source),
                 std::vector<Complex<double>>(4 * n_source * n_weight),
                 std::vector<Complex<double>>(c.jones_values.size())};
  Tape<double> tape;
  const auto input = [&](double x, double& target) { return T(x, tape.input(&target), &tape); };
  std::vector<T> lmn(3 * n_source), shape(3 * n_source);
  std::vector<Complex<T>> brightness;
  const std::vector<double>* from[6] = {&c.l, &c.m, &c.n, &c.major, &c.minor, &c.angle};
  for (std::size_t s = 0; s < n_source; ++s)
    for (std::size_t i = 0; i < 3; ++i) {
      lmn[3 * s + i] = input((*from[i])[s], found.lmn[3 * s + i]);
      if (c.options.gaussians) shape[3 * s + i] = input((*from[3 + i])[s], found.shape[3 * s + i]);
    }
  for (std::size_t i = 0; i < c.brightness.size(); ++i)
    brightness.emplace_back(input(c.brightness[i].re, found.brightness[i].re),
                            input(c.brightness[i].im, found.brightness[i].im));
  std::vector<Complex<T>> jones;
  for (std::size_t i = 0; i < c.jones_values.size(); ++i)
    jones.emplace_back(input(c.jones_values[i].re, found.jones[i].re), input(c.jones_values[i].im, found.jones[i].im));
  const std::size_t mark = tape.size();
  for (std::size_t row = 0; row < c.n_row(); ++row) {
    psv::Problem<T> problem;
    const auto count = static_cast<std::ptrdiff_t>(n_weight);
    psv::Strided<T>* place[6] = {&problem.l,     &problem.m,     &problem.n,
                                 &problem.major, &problem.minor, &problem.position_angle};
    for (std::size_t i = 0; i < 3; ++i) {
      *place[i] = {lmn.data() + i, 3, 0, 0};
      if (c.options.gaussians) *place[3 + i] = {shape.data() + i, 3, 0, 0};
    }
    for (std::size_t e = 0; e < 4; ++e)
      problem.brightness[e] = {brightness.data() + e * n_source * n_weight, count, 0, n_weight > 1 ? 1 : 0};
    std::vector<psv::JonesPair<T>> pairs;
    for (int k = 0; k < c.n_pair; ++k) {
      const auto& from = c.jones_pairs[static_cast<std::size_t>(c.row_baseline[row] * c.n_pair + k)];
      auto& pair = pairs.emplace_back();
      pair.p_is_matrix = from.p_is_matrix, pair.q_is_matrix = from.q_is_matrix, pair.q_is_adjoint = from.q_is_adjoint;
      for (int e = 0; e < 4; ++e) {
        pair.p[e] = same_place(c, from.p[e], c.row_time[row], jones);
        pair.q[e] = same_place(c, from.q[e], c.row_time[row], jones);
      }
    }
    problem.jones = pairs.data();
    problem.n_jones = c.n_pair;
    std::vector<T> store;
    store.reserve(6);
    psv::Strided<T>* uvw[6] = {&problem.u, &problem.v, &problem.w, &problem.du, &problem.dv, &problem.dw};
    for (std::size_t i = 0; i < (c.options.smearing ? 6u : 3u); ++i) {
      store.push_back(i < 3 ? c.uvw[i][row] : c.duvw[i - 3][row]);
      *uvw[i] = {&store.back(), 0, 0, 0};
    }
    problem.frequency_hz = c.frequency.data();
    problem.width_hz = c.width.data();
    problem.exposure_s = c.exposure.data() + row;
    for (std::size_t f = 0; f < n_channel; ++f)
      for (std::size_t s = 0; s < n_source; ++s) {
        const Jones<T> v =
            psv::contribution(problem, static_cast<std::ptrdiff_t>(s), 0, static_cast<std::ptrdiff_t>(f));
        const Complex<T> element[4] = {v.xx, v.xy, v.yx, v.yy};
        for (std::size_t e = 0; e < 4; ++e) {
          const Complex<double> a = adjoint[(row * 4 + e) * n_channel + f];
          tape.seed(element[e].re.number, a.re);
          tape.seed(element[e].im.number, a.im);
        }
        tape.sweep(mark);
      }
  }
  tape.flush();
  return found;
}

/// dL/d(weight in a plane) from dL/d(brightness).
inline double along_plane(psv::Plane plane, const Complex<double> (&b)[4]) {
  switch (plane) {
    case psv::Plane::kI:
      return b[0].re + b[3].re;
    case psv::Plane::kQ:
      return b[0].re - b[3].re;
    case psv::Plane::kU:
      return b[1].re + b[2].re;
    case psv::Plane::kV:
      return b[1].im - b[2].im;
    default: {
      const int i = static_cast<int>(plane) - static_cast<int>(psv::Plane::kXxRe);
      return i % 2 == 0 ? b[i / 2].re : b[i / 2].im;
    }
  }
}

/// Largest difference, as a fraction of the largest value.
inline double relative_error(const std::vector<double>& got, const std::vector<double>& expected) {
  double error = 0, scale = 0;
  EXPECT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < expected.size() && i < got.size(); ++i) {
    if (!(std::abs(got[i] - expected[i]) <= error)) error = std::abs(got[i] - expected[i]);
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
    return {first.data(), moving ? c.jones_values.size() : 0, moving ? 0 : c.jones_values.size()};
  }
  std::vector<std::ptrdiff_t> first;
  bool moving = false;
};

inline std::vector<double> parts_of(const std::vector<Complex<double>>& values) {
  std::vector<double> parts;
  for (const auto& z : values) parts.insert(parts.end(), {z.re, z.im});
  return parts;
}

inline void expect_same_bits(const psv::SourceAdjoints& a, const psv::SourceAdjoints& b) {
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.positions, b.positions);
  EXPECT_EQ(a.shapes, b.shapes);
  EXPECT_EQ(parts_of(a.moving_jones), parts_of(b.moving_jones));
  EXPECT_EQ(parts_of(a.steady_jones), parts_of(b.steady_jones));
}

inline void check(const Case& c) {
  const std::size_t n_channel = c.n_channel();
  std::vector<Complex<double>> adjoint(c.n_row() * 4 * n_channel);
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (auto& a : adjoint) a = {normal(random), normal(random)};
  const Expected expected = expected_adjoints(c, adjoint);

  const auto sky = psv::pack_sky<double>(c.sky_input());
  const auto channels = psv::analyse_channels(c.frequency.data(), c.width.data(), n_channel);
  const OrderedRows ordered(c);
  std::vector<const Complex<double>*> row;
  for (const std::size_t r : ordered.from) row.push_back(adjoint.data() + r * 4 * n_channel);
  const Targets targets(c);
  const auto varies = [](const psv::JonesPair<double>& pair) { return pair.p[0].channel != 0; };
  const bool vary = std::any_of(c.jones_pairs.begin(), c.jones_pairs.end(), varies);
  psv::JonesTerms jones{c.n_pair, c.jones_pairs.data(), vary, targets.of(c)};
  Cancellation cancellation;
  const psv::ResultAdjoints given{row.data(), static_cast<std::ptrdiff_t>(n_channel)};
  const auto pull = [&](int n_thread, psv::SourceWish wish) {
    ThreadPool threads(n_thread);
    return psv::pull_back_rows(sky, channels, ordered.rows, jones, given, wish, threads, cancellation);
  };
  const psv::SourceAdjoints got = pull(1, {true, true, true});
  expect_same_bits(got, pull(3, {true, true, true}));
  EXPECT_LT(relative_error(parts_of(targets.moving ? got.moving_jones : got.steady_jones), parts_of(expected.jones)),
            1e-11);
  // What is not asked for changes nothing of the rest.
  psv::SourceAdjoints only_jones = pull(1, {});
  EXPECT_EQ(parts_of(only_jones.moving_jones), parts_of(got.moving_jones));
  EXPECT_EQ(parts_of(only_jones.steady_jones), parts_of(got.steady_jones));
  EXPECT_TRUE(only_jones.positions.empty());
  jones.targets = {};
  const psv::SourceAdjoints without_jones = pull(1, {true, true, true});
  EXPECT_TRUE(without_jones.moving_jones.empty() && without_jones.steady_jones.empty());
  EXPECT_LT(relative_error(without_jones.weights, got.weights), 1e-12);
  EXPECT_LT(relative_error(without_jones.positions, got.positions), 1e-12);

  std::vector<double> weights, lmn_got, lmn, shapes;
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
      if (k >= sky.n_point) shapes.push_back(expected.shape[3 * s + i]);
    }
  }
  // Phases of 1e4 radians leave 1e-12 of each term; sums are of random signs.
  EXPECT_LT(relative_error(got.weights, weights), 1e-11);
  EXPECT_LT(relative_error(lmn_got, lmn), 1e-11);
  EXPECT_LT(relative_error(got.shapes, shapes), 1e-11);
}

}  // namespace rimetree::testing
