// Levenberg-Marquardt: problems with known minima, bounds, priors, and every way in which a fit can end.
#include "runtime/fit/levenberg_marquardt.h"

#include <gtest/gtest.h>

#include <complex>
#include <functional>
#include <limits>

namespace rimetree::fit {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
using Vector = std::vector<double>;

/// Residuals and their derivatives [residual][unknown] at x.
using Problem = std::function<void(const Vector& x, Vector& residuals, std::vector<Vector>& slopes)>;

NormalEquations equations_of(const Problem& problem, const Vector& x, double data_power) {
  Vector residuals;
  std::vector<Vector> slopes;
  problem(x, residuals, slopes);
  NormalEquations result(x.size());
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    if (!std::isfinite(residuals[i])) continue;
    result.objective += residuals[i] * residuals[i];
    ++result.equations;
    for (std::size_t k = 0; k < x.size(); ++k) {
      result.gradient[k] -= slopes[i][k] * residuals[i];
      for (std::size_t l = 0; l <= k; ++l) result.at(k, l) += slopes[i][k] * slopes[i][l];
    }
  }
  result.chi_square = result.objective;
  result.data_power = data_power;
  return result;
}

LevenbergMarquardt run(const Problem& problem, const Vector& start, FitOptions options = {}, Vector minimum = {},
                       Vector maximum = {}, double data_power = 1, std::vector<ComplexMatrix> matrices = {}) {
  if (minimum.empty()) minimum.assign(start.size(), -kInf);
  if (maximum.empty()) maximum.assign(start.size(), kInf);
  LevenbergMarquardt fit(options, start, minimum, maximum, std::move(matrices));
  while (fit.running()) fit.take(equations_of(problem, fit.trial(), data_power));
  return fit;
}

/// Rosenbrock's valley, minimum 0 at (1, 1).
void rosenbrock(const Vector& x, Vector& r, std::vector<Vector>& j) {
  r = {10 * (x[1] - x[0] * x[0]), 1 - x[0]};
  j = {{-20 * x[0], 10}, {-1, 0}};
}

TEST(LevenbergMarquardt, FindsTheBottomOfRosenbrocksValley) {
  const auto fit = run(rosenbrock, {-1.2, 1}, {.iterations = 200});
  EXPECT_EQ(fit.status(), FitStatus::converged);
  EXPECT_NEAR(fit.solution()[0], 1, 1e-9);
  EXPECT_NEAR(fit.solution()[1], 1, 1e-9);
  EXPECT_NEAR(fit.first_equations().objective, 24.2, 1e-12);
}

/// y = a exp(b t) + 0.1 (-1)^i for a = 2, b = -0.3: residuals stay.
void decay(const Vector& x, Vector& r, std::vector<Vector>& j) {
  r.clear(), j.clear();
  for (int i = 0; i < 20; ++i) {
    const double t = 0.5 * i, e = std::exp(x[1] * t), datum = 2 * std::exp(-0.3 * t) + (i % 2 ? 0.1 : -0.1);
    r.push_back(datum - x[0] * e);
    j.push_back({-e, -x[0] * t * e});
  }
}

TEST(LevenbergMarquardt, EndsWhereTheGradientVanishes) {
  const auto fit = run(decay, {1, 0}, {.sigma_tolerance = 1e-8});
  EXPECT_EQ(fit.status(), FitStatus::converged);
  for (const double g : fit.equations().gradient) EXPECT_NEAR(g, 0, 1e-7);
  EXPECT_NEAR(fit.solution()[0], 2, 0.2);
  EXPECT_LT(fit.equations().chi_square, 0.2);
}

TEST(LevenbergMarquardt, AtTheSolutionNothingIsTried) {
  const auto fit = run(decay, run(decay, {1, 0}).solution());
  EXPECT_EQ(fit.status(), FitStatus::converged);
  EXPECT_EQ(fit.iterations(), 0);
}

TEST(LevenbergMarquardt, KeepsToItsBounds) {
  const auto fit = run(rosenbrock, {-1.2, 1}, {.iterations = 200}, {-kInf, -kInf}, {0.5, kInf});
  EXPECT_EQ(fit.status(), FitStatus::converged);
  EXPECT_EQ(fit.solution()[0], 0.5);
  EXPECT_NEAR(fit.solution()[1], 0.25, 1e-7);
  EXPECT_TRUE(fit.held(0));
  EXPECT_FALSE(fit.held(1));
}

/// A valley along y = f(x) with walls so many times as steep as its floor, minimum at x = 1; and a residual that stays.
Problem valley(double steepness, double (*f)(double), double (*slope)(double), double stays = 0) {
  return [=](const Vector& x, Vector& r, std::vector<Vector>& j) {
    r = {steepness * (x[1] - f(x[0])), 1 - x[0], stays};
    j = {{-steepness * slope(x[0]), steepness}, {-1, 0}, {0, 0}};
  };
}
double square(double x) { return x * x; }
double twice(double x) { return 2 * x; }

TEST(LevenbergMarquardt, FollowsValleysOfAnyCurve) {
  const auto steps = [](const Problem& problem) {
    const auto fit = run(problem, {-1.2, 1}, {.iterations = 500}, {}, {}, 1e8);
    EXPECT_EQ(fit.status(), FitStatus::converged);
    EXPECT_NEAR(fit.solution()[0], 1, 1e-3);
    return fit.iterations();
  };
  // Without turning back 159, 88 and 25.
  EXPECT_LE(steps(valley(100, square, twice)), 70);
  EXPECT_LE(steps(valley(
                100, [](double x) { return std::sin(3 * x); }, [](double x) { return 3 * std::cos(3 * x); })),
            60);
  EXPECT_LE(steps(valley(
                100, [](double x) { return x * x * x; }, [](double x) { return 3 * x * x; })),
            12);
}

TEST(LevenbergMarquardt, WhereNoiseHidesAValleyItIsNotFollowed) {
  const auto fit = run(valley(10, square, twice, 100), {-1.2, 1}, {.iterations = 200}, {}, {}, 1e8);
  EXPECT_EQ(fit.status(), FitStatus::converged);
  EXPECT_GT(fit.iterations(), 20);  // 11 if it was
}

TEST(LevenbergMarquardt, TurnsBackWithinTheIterationsAllowed) {
  for (const int iterations : {1, 2, 3, 4}) {
    LevenbergMarquardt fit({.iterations = iterations}, {-1.2, 1}, {-kInf, -kInf}, {kInf, kInf});
    int taken = -1;
    while (fit.running()) fit.take(equations_of(rosenbrock, fit.trial(), 1e6)), ++taken;
    EXPECT_EQ(fit.status(), FitStatus::exhausted);
    EXPECT_EQ(taken, iterations);
    EXPECT_EQ(fit.trial(), fit.solution());
    EXPECT_NEAR(equations_of(rosenbrock, fit.solution(), 1e6).objective, fit.equations().objective, 0);
  }
}

// For data of which the residuals are a small part, so that the fit counts as close to the solution.
TEST(LevenbergMarquardt, StepsAlongACurvedValleyTurnBackIntoIt) {
  for (const double most : {kInf, 0.5}) {
    LevenbergMarquardt fit({.iterations = 200}, {-1.2, 1}, {-kInf, -kInf}, {most, kInf});
    while (fit.running()) {
      EXPECT_LE(fit.trial()[0], most);
      fit.take(equations_of(rosenbrock, fit.trial(), 1e6));
    }
    EXPECT_EQ(fit.status(), FitStatus::converged);
    EXPECT_LE(fit.iterations(), most == kInf ? 14 : 24);  // 35 and 31 without turning back
    EXPECT_NEAR(fit.solution()[0], std::min(1.0, most), 1e-6);
    EXPECT_NEAR(fit.solution()[1], std::pow(std::min(1.0, most), 2), 1e-6);
  }
}

TEST(LevenbergMarquardt, AStartOutsideTheBoundsIsMovedInside) {
  LevenbergMarquardt fit({}, {5, -5}, {-1, -1}, {1, 1});
  EXPECT_EQ(fit.trial(), (Vector{1, -1}));
}

TEST(LevenbergMarquardt, WhatTheDataDoNotDetermineStaysWhereItIs) {
  // Only the sum is determined, and the third unknown by nothing at all.
  const Problem sum = [](const Vector& x, Vector& r, std::vector<Vector>& j) {
    r = {10 - x[0] - x[1]};
    j = {{-1, -1, 0}};
  };
  const auto fit = run(sum, {1, 3, 7});
  EXPECT_EQ(fit.status(), FitStatus::converged);
  EXPECT_NEAR(fit.solution()[0] + fit.solution()[1], 10, 1e-9);
  EXPECT_NEAR(fit.solution()[1] - fit.solution()[0], 2, 1e-9);
  EXPECT_EQ(fit.solution()[2], 7);
}

TEST(LevenbergMarquardt, EndsWithoutEquations) {
  const auto fit = run([](const Vector&, Vector& r, std::vector<Vector>& j) { r = {}, j = {}; }, {1});
  EXPECT_EQ(fit.status(), FitStatus::no_equations);
  EXPECT_EQ(fit.solution(), Vector{1});
}

TEST(LevenbergMarquardt, WithoutUnknownsThereIsNothingToFind) {
  const auto fit = run([](const Vector&, Vector& r, std::vector<Vector>& j) { r = {1}, j = {{}}; }, {});
  EXPECT_EQ(fit.status(), FitStatus::converged);
  EXPECT_EQ(fit.equations().objective, 1);
}

TEST(LevenbergMarquardt, EndsWhereTheStartIsNotFinite) {
  const Problem slope = [](const Vector& x, Vector& r, std::vector<Vector>& j) {
    r = {std::sqrt(x[0])};
    j = {{0.5 / std::sqrt(x[0])}};  // infinite at 0
  };
  EXPECT_EQ(run(slope, {0}).status(), FitStatus::not_finite);
}

TEST(LevenbergMarquardt, DoesNotStepWhereTheModelEnds) {
  // log(x) = -3 from x = 1: full steps lead to negative x, where there is no equation to fit.
  const Problem logarithm = [](const Vector& x, Vector& r, std::vector<Vector>& j) {
    r = {-3 - std::log(x[0])};
    j = {{-1 / x[0]}};
  };
  const auto fit = run(logarithm, {1}, {}, {}, {}, 9);
  EXPECT_EQ(fit.status(), FitStatus::converged);
  EXPECT_NEAR(fit.solution()[0], std::exp(-3.0), 1e-9);
}

TEST(LevenbergMarquardt, EndsWithoutConvergenceAfterTheIterationsAllowed) {
  const auto fit = run(rosenbrock, {-1.2, 1}, {.iterations = 3});
  EXPECT_EQ(fit.status(), FitStatus::exhausted);
  EXPECT_EQ(fit.iterations(), 3);
  EXPECT_LT(fit.equations().objective, 24.2);
}

TEST(LevenbergMarquardt, AFitThatDidNotEndSaysWhatStepWasToCome) {
  const auto fit = run(rosenbrock, {-1.2, 1}, {.iterations = 3});
  NormalSolver solver;
  solver.set(fit.equations(), {true, true}, {});
  const Vector undamped = solver.step(1e-9, fit.equations().gradient);
  ASSERT_EQ(fit.missing_step().size(), 2u);
  for (std::size_t k = 0; k < 2; ++k)
    EXPECT_NEAR(fit.missing_step()[k], undamped[k], 1e-6 * std::abs(undamped[k])) << k;
  EXPECT_TRUE(run(decay, {1, 0}).missing_step().empty());
}

TEST(LevenbergMarquardt, StepsThatDampingMakesShortAreNoSolution) {
  const Problem line = [](const Vector& x, Vector& r, std::vector<Vector>& j) {
    r = {10 - x[0]};
    j = {{-1}};
  };
  const auto fit = run(line, {0}, {.damping = 1e12});
  EXPECT_EQ(fit.status(), FitStatus::converged);
  EXPECT_NEAR(fit.solution()[0], 10, 1e-6);
}

TEST(LevenbergMarquardt, StallsWhereDerivativesAreWrong) {
  const Problem wrong = [](const Vector& x, Vector& r, std::vector<Vector>& j) {
    r = {10 + x[0] * x[0]};
    j = {{x[0] > 0 ? -1.0 : 1.0}};  // points uphill on both sides
  };
  EXPECT_EQ(run(wrong, {0.5}, {.iterations = 1000}).status(), FitStatus::stalled);
}

// Two gains of each of four antennas on a sky of which the second feed's product with the first is weak: the phase
// between the feeds is a curved valley. With residuals that stay, of which the noise is stronger than the weak product.
void weakly_polarised(const Vector& x, Vector& r, std::vector<Vector>& j) {
  using Number = std::complex<double>;
  r.clear(), j.clear();
  const auto add = [&](Number datum, double sky, std::size_t a, std::size_t b) {  // sky g_a conj(g_b)
    const Number ga(x[2 * a], x[2 * a + 1]), gb(x[2 * b], x[2 * b + 1]), i(0, 1);
    const Number residual = datum - sky * ga * std::conj(gb);
    Vector re(x.size(), 0.0), im(x.size(), 0.0);
    const auto slope = [&](std::size_t k, Number d) { re[k] -= d.real(), im[k] -= d.imag(); };
    slope(2 * a, sky * std::conj(gb)), slope(2 * a + 1, sky * i * std::conj(gb));
    slope(2 * b, sky * ga), slope(2 * b + 1, -sky * i * ga);
    r.push_back(residual.real()), r.push_back(residual.imag());
    j.push_back(re), j.push_back(im);
  };
  const auto gain = [](std::size_t k) { return std::polar(1 + 0.1 * std::sin(3.0 * double(k)), k % 2 ? 0.8 : 0.0); };
  for (std::size_t p = 0; p < 4; ++p)
    for (std::size_t q = p + 1; q < 4; ++q)
      for (std::size_t f = 0; f < 2; ++f)
        for (std::size_t h = 0; h < 2; ++h) {
          const std::size_t a = 2 * p + f, b = 2 * q + h;
          const double sky = f == h ? 1 : 1e-3;
          const std::complex<double> noise(std::sin(11.0 * double(a) + 5.0 * double(b)), std::cos(7.0 * double(a * b)));
          add(sky * gain(a) * std::conj(gain(b)) + 3e-3 * noise, sky, a, b);
        }
}

TEST(LevenbergMarquardt, FollowsACurvedValleyAndLearnsWhatNoiseDoesThere) {
  Vector start(16, 0.0);
  for (std::size_t k = 0; k < 16; k += 2) start[k] = 1;
  std::vector<ComplexMatrix> numbers;
  for (std::uint32_t k = 0; k < 8; ++k) numbers.push_back({1, {2 * k, 2 * k + 1}});
  const Vector none(16, -kInf), all(16, kInf);
  const auto fit = [&](const std::vector<ComplexMatrix>& matrices) {
    LevenbergMarquardt fit({.iterations = 500}, start, none, all, matrices);
    while (fit.running()) fit.take(equations_of(weakly_polarised, fit.trial(), 24));
    return fit;
  };
  const auto turning = fit(numbers), straight = fit({});
  EXPECT_EQ(turning.status(), FitStatus::converged);
  EXPECT_EQ(straight.status(), FitStatus::converged);
  EXPECT_LE(turning.iterations(), 12);
  EXPECT_LE(straight.iterations(), 22);  // 70 if steps did not turn back into the valley
  EXPECT_NEAR(turning.equations().objective, straight.equations().objective, 1e-6 * straight.equations().objective);
}

TEST(LevenbergMarquardt, StraightStepsPastASaddleAreStretched) {
  Vector start(16, 0.0);
  for (std::size_t k = 0; k < 8; ++k) {
    const std::complex<double> gain = std::polar(1.0, k % 2 ? 3.5 : 0.0);  // beside 3.94, which is a saddle
    start[2 * k] = gain.real(), start[2 * k + 1] = gain.imag();
  }
  const auto fit = run(weakly_polarised, start, {.iterations = 200}, {}, {}, 24);
  EXPECT_EQ(fit.status(), FitStatus::converged);
  EXPECT_LE(fit.iterations(), 32);  // 48 if they were not
}

/// (x0 + i x1) exp(2 pi i nu x2) in 16 channels of 1 MHz at 43 GHz, with x2 in ns: the phase in the middle is all but
/// the same unknown twice. Data are those of 1, 0.4 rad and 3 ns, and a little more in every other channel.
void narrow_band(const Vector& x, Vector& r, std::vector<Vector>& j) {
  r.clear(), j.clear();
  for (int k = 0; k < 16; ++k) {
    const double turns = 2 * 3.141592653589793 * (43 + 1e-3 * k);
    const std::complex<double> turned = std::polar(1.0, turns * x[2]),
                               model = std::complex<double>(x[0], x[1]) * turned,
                               datum = std::polar(k % 2 ? 1.1 : 0.9, turns * 3 + 0.4 + (k % 2 ? 0.1 : -0.1));
    const std::complex<double> slopes[] = {turned, std::complex<double>(0, 1) * turned,
                                           std::complex<double>(0, turns) * model};
    for (const bool real : {true, false}) {
      const auto part = [real](std::complex<double> z) { return real ? z.real() : z.imag(); };
      r.push_back(part(datum - model));
      j.push_back({-part(slopes[0]), -part(slopes[1]), -part(slopes[2])});
    }
  }
}

TEST(LevenbergMarquardt, ADelayBesideThePhaseOfANarrowBandIsFoundInFewSteps) {
  const ComplexMatrix number{1, {0, 1}};
  const auto fit = run(narrow_band, {0.8, 0.9, 4.2}, {.iterations = 20}, {}, {}, 16, {number});
  EXPECT_EQ(fit.status(), FitStatus::converged);
  Vector residuals;
  std::vector<Vector> slopes;
  const Vector& x = fit.solution();
  narrow_band(x, residuals, slopes);
  for (std::size_t k = 0; k < 3; ++k) {
    double gradient = 0, size = 0;
    for (std::size_t i = 0; i < residuals.size(); ++i)
      gradient += slopes[i][k] * residuals[i], size += std::abs(slopes[i][k] * residuals[i]);
    EXPECT_LT(std::abs(gradient), 1e-7 * size) << k;
  }
  EXPECT_NEAR(x[2], 3, 0.5);  // residuals as large as these leave a delay to that
}

TEST(LevenbergMarquardt, OfASparseMatrixGoesTheSameWay) {
  // Unknown 0 is the common slope of curves of which each has an offset and a rate of its own.
  constexpr std::size_t kCurves = 30, n = 1 + 2 * kCurves;
  const Problem curves = [](const Vector& x, Vector& r, std::vector<Vector>& j) {
    r.clear(), j.clear();
    for (std::size_t c = 0; c < kCurves; ++c)
      for (int i = 0; i < 6; ++i) {
        const double t = 0.3 * i, e = std::exp(x[2 + 2 * c] * t);
        r.push_back(std::exp(0.1 * static_cast<double>(c % 5) * t) + 2 * t +
                    0.01 * std::sin(static_cast<double>(c) + i) - x[1 + 2 * c] * e - x[0] * t);
        Vector slope(n, 0.0);
        slope[0] = -t, slope[1 + 2 * c] = -e, slope[2 + 2 * c] = -x[1 + 2 * c] * t * e;
        j.push_back(slope);
      }
  };
  SparsityBuilder builder(n);
  for (std::uint32_t c = 0; c < kCurves; ++c) builder.connect(std::vector<std::uint32_t>{0, 1 + 2 * c, 2 + 2 * c});
  const auto elements = builder.finish();
  const auto sparse_of = [&](const NormalEquations& dense) {
    NormalEquations sparse(n, elements);
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t e = elements->begin(k); e < elements->begin(k + 1); ++e)
        sparse.matrix[e] = dense.matrix[elements->row(e) * n + k];
    sparse.gradient = dense.gradient;
    sparse.objective = dense.objective, sparse.chi_square = dense.chi_square;
    sparse.data_power = dense.data_power, sparse.equations = dense.equations;
    return sparse;
  };
  const auto fit = [&](bool sparse) {
    LevenbergMarquardt fit({.tolerance = 1e-9}, Vector(n, 0.5), Vector(n, -kInf), Vector(n, kInf));
    while (fit.running()) {
      const NormalEquations dense = equations_of(curves, fit.trial(), 1000);
      fit.take(sparse ? sparse_of(dense) : dense);
    }
    return fit;
  };
  const auto sparse = fit(true), dense = fit(false);
  EXPECT_EQ(sparse.status(), FitStatus::converged);
  EXPECT_EQ(sparse.iterations(), dense.iterations());
  for (std::size_t k = 0; k < n; ++k) EXPECT_NEAR(sparse.solution()[k], dense.solution()[k], 1e-9);
}

TEST(NormalEquations, PriorsPullAndCount) {
  NormalEquations equations(2);
  add_priors(equations, {3, 3}, {1, 0}, {0.5, 0});
  EXPECT_EQ(equations.equations, 1u);
  EXPECT_DOUBLE_EQ(equations.objective, 16);
  EXPECT_DOUBLE_EQ(equations.diagonal(0), 4);
  EXPECT_DOUBLE_EQ(equations.gradient[0], -8);
  EXPECT_EQ(equations.diagonal(1), 0);
}

}  // namespace
}  // namespace rimetree::fit
