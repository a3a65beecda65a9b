// The adjoint kernel against the scalar body on traced numbers, in every kind of sky, channels and smearing.
#include "nodes/psv/adjoint/adjoint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "nodes/psv/body.h"
#include "runtime/math/traced.h"
#include "tests/support/psv_case.h"

namespace rimetree::testing {
namespace {

using T = Traced<double>;

/// Derivatives by source, in the case's order, as the body gives them.
struct Expected {
  std::vector<double> lmn, shape;           // [source][3]
  std::vector<Complex<double>> brightness;  // [element][source][channel or 1]
};

/// `adjoint`: [row][XX XY YX YY][channel].
Expected expected_adjoints(const Case& c, const std::vector<Complex<double>>& adjoint) {
  const std::size_t n_source = c.sources.size(), n_channel = c.n_channel();
  const std::size_t n_weight = c.options.spectra ? n_channel : 1;
  Expected found{std::vector<double>(3 * n_source), std::vector<double>(3 * n_source),
                 std::vector<Complex<double>>(4 * n_source * n_weight)};
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
    // Jones terms as constants, at this row's time.
    std::vector<psv::JonesPair<T>> pairs(static_cast<std::size_t>(c.n_pair));
    std::vector<std::vector<Complex<T>>> terms;
    terms.reserve(pairs.size() * 8);
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      const psv::JonesPair<double>& from =
          c.jones_pairs[static_cast<std::size_t>(c.row_baseline[row]) * pairs.size() + k];
      pairs[k].p_is_matrix = from.p_is_matrix, pairs[k].q_is_matrix = from.q_is_matrix;
      pairs[k].q_is_adjoint = from.q_is_adjoint;
      for (const bool q : {false, true})
        for (int e = 0; e < 4; ++e) {
          const auto& view = q ? from.q[e] : from.p[e];
          if (!view) continue;
          auto& values = terms.emplace_back();
          for (std::size_t s = 0; s < n_source; ++s) {
            const Complex<double> z = view.at(static_cast<std::ptrdiff_t>(s), c.row_time[row], 0);
            values.push_back({z.re, z.im});
          }
          (q ? pairs[k].q[e] : pairs[k].p[e]) = {values.data(), 1, 0, 0};
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
double along_plane(psv::Plane plane, const Complex<double> (&b)[4]) {
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
double relative_error(const std::vector<double>& got, const std::vector<double>& expected) {
  double error = 0, scale = 0;
  EXPECT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < expected.size() && i < got.size(); ++i) {
    if (!(std::abs(got[i] - expected[i]) <= error)) error = std::abs(got[i] - expected[i]);
    scale = std::max(scale, std::abs(expected[i]));
  }
  return scale > 0 ? error / scale : error;
}

void check(const CaseOptions& options) {
  const Case c(options);
  const std::size_t n_channel = c.n_channel();
  std::vector<Complex<double>> adjoint(c.n_row() * 4 * n_channel);
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (auto& a : adjoint) a = {normal(random), normal(random)};
  const Expected expected = expected_adjoints(c, adjoint);

  const auto sky = psv::pack_sky<double>(c.sky_input());
  const auto channels = psv::analyse_channels(c.frequency.data(), c.width.data(), n_channel);
  std::vector<const Complex<double>*> row;
  for (std::size_t r = 0; r < c.n_row(); ++r) row.push_back(adjoint.data() + r * 4 * n_channel);
  const psv::JonesTerms jones{c.n_pair, c.jones_pairs.data(), false};
  Cancellation cancellation;
  ThreadPool one(1), three(3);
  const psv::ResultAdjoints given{row.data(), static_cast<std::ptrdiff_t>(n_channel)};
  const psv::SourceAdjoints got =
      psv::pull_back_rows(sky, channels, c.psv_rows(), jones, given, {true, true, true}, one, cancellation);
  const psv::SourceAdjoints again =
      psv::pull_back_rows(sky, channels, c.psv_rows(), jones, given, {true, true, true}, three, cancellation);
  EXPECT_EQ(got.weights, again.weights);
  EXPECT_EQ(got.positions, again.positions);
  EXPECT_EQ(got.shapes, again.shapes);

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

TEST(PsvAdjoint, EveryPolarisation) {
  for (const auto polarisation :
       {Polarisation::kUnpolarised, Polarisation::kCircular, Polarisation::kFull, Polarisation::kGeneral})
    check({.polarisation = polarisation});
}

TEST(PsvAdjoint, EveryGrid) {
  for (const auto grid :
       {Grid::kRegular, Grid::kRounded, Grid::kDescending, Grid::kGapped, Grid::kIrregular, Grid::kSingle, Grid::kWide})
    for (const bool smearing : {false, true}) {
      SCOPED_TRACE(static_cast<int>(grid));
      check({.n_channel = 70, .polarisation = Polarisation::kFull, .grid = grid, .smearing = smearing});
    }
}

TEST(PsvAdjoint, SmearingWeakAndStrong) {
  for (const double spacing_hz : {1e2, 2.5e5, 2e7})
    for (const double exposure_s : {1e-4, 4.0, 400.0}) {
      SCOPED_TRACE(::testing::Message() << spacing_hz << " Hz, " << exposure_s << " s");
      check({.spacing_hz = spacing_hz, .smearing = true, .exposure_s = exposure_s});
    }
}

TEST(PsvAdjoint, Gaussians) {
  for (const bool smearing : {false, true})
    check({.n_source = 60, .polarisation = Polarisation::kFull, .gaussians = true, .smearing = smearing});
}

TEST(PsvAdjoint, Spectra) {
  for (const bool gaussians : {false, true})
    check({.n_source = 60,
           .polarisation = Polarisation::kCircular,
           .spectra = true,
           .gaussians = gaussians,
           .smearing = gaussians});
}

TEST(PsvAdjoint, JonesTerms) {
  for (const auto jones : {JonesKind::kScalar, JonesKind::kMatrix, JonesKind::kTwoPairs})
    for (const bool extended : {false, true}) {
      SCOPED_TRACE(static_cast<int>(jones));
      check({.polarisation = Polarisation::kGeneral, .jones = jones, .gaussians = extended, .smearing = extended});
    }
}

TEST(PsvAdjoint, ManyRowsInPortions) { check({.n_source = 55, .n_baseline = 40, .n_time = 11, .n_channel = 9}); }

TEST(PsvAdjoint, NothingToDo) {
  CaseOptions none;
  none.n_source = 0;
  check(none);
}

}  // namespace
}  // namespace rimetree::testing
