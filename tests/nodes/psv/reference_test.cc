// The general PSV path: every broadcast, and derivatives against finite differences in extended precision.
#include "nodes/psv/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "tests/support/psv_oracle.h"

namespace rimetree::testing {
namespace {

constexpr int kSources = 4, kTimes = 3, kChannels = 5, kInputs = 11;

/// Inputs that vary along any axes: l m u v w du dv dw major minor angle, each [source][time][channel] with strides
/// that may be zero.
struct Inputs {
  std::vector<double> value[kInputs];
  std::ptrdiff_t stride[kInputs][3];
  std::vector<std::complex<double>> brightness[4], jones[8];
  double frequency[kChannels], width[kChannels], exposure[kTimes];

  double at(int i, int s, int t, int f) const {
    return value[i][s * stride[i][0] + t * stride[i][1] + f * stride[i][2]];
  }
};

Inputs make_inputs(unsigned seed) {
  std::mt19937_64 engine(seed);
  const auto next = [&engine] { return 2.0 * double(engine() >> 11) / 9007199254740992.0 - 1.0; };
  const double scale[kInputs] = {0.05, 0.05, 300, 300, 100, 0.2, 0.2, 0.1, 3e-4, 2e-4, 3};
  Inputs x;
  for (int i = 0; i < kInputs; ++i) {
    const std::ptrdiff_t full[3] = {kTimes * kChannels, kChannels, 1};
    // Axes are switched by the bits of a running number, so that each input meets each combination.
    const unsigned bits = (seed + 3 * i) % 8;
    for (int a = 0; a < 3; ++a) x.stride[i][a] = bits >> a & 1 ? full[a] : 0;
    if (i >= 2 && i < 8) x.stride[i][0] = 0;
    for (int k = 0; k < kSources * kTimes * kChannels; ++k) x.value[i].push_back(scale[i] * next());
  }
  for (auto* set : {x.brightness, x.jones, x.jones + 4})
    for (int e = 0; e < 4; ++e)
      for (int k = 0; k < kSources * kTimes * kChannels; ++k) set[e].push_back({next(), next()});
  for (int f = 0; f < kChannels; ++f) x.frequency[f] = 1.4e9 + 1e7 * f + 1e6 * next(), x.width[f] = -1e6;
  for (double& e : x.exposure) e = 10;
  return x;
}

oracle::Matrix expected(const Inputs& x, int t, int f) {
  std::vector<oracle::Source> sources;
  std::vector<oracle::Matrix> p, q;
  oracle::Matrix sum;
  for (int s = 0; s < kSources; ++s) {
    const auto at = [&](int i) { return x.at(i, s, t, f); };
    oracle::Source source;
    source.l = at(0), source.m = at(1), source.n = std::sqrt(1 - at(0) * at(0) - at(1) * at(1));
    source.major = at(8), source.minor = at(9), source.position_angle = at(10);
    oracle::Matrix b, jp, jq;
    const int k = (s * kTimes + t) * kChannels + f;
    for (int e = 0; e < 4; ++e) b.e[e] = x.brightness[e][k], jp.e[e] = x.jones[e][k], jq.e[e] = x.jones[4 + e][k];
    source.brightness = {b};
    const oracle::Row row{at(2), at(3), at(4), at(5), at(6), at(7), x.exposure[t]};
    const oracle::Matrix one = oracle::visibility({source}, row, {x.frequency[f], x.width[f]}, 0, {jp}, {adjoint(jq)});
    for (int e = 0; e < 4; ++e) sum.e[e] += one.e[e];
  }
  return sum;
}

/// The code's answer for number type T; input `varied` is a variable, shifted as a whole.
template <class T>
std::vector<Complex<T>> evaluate(const Inputs& x, const std::function<T(double, int)>& number) {
  std::vector<T> value[kInputs + 1];
  for (int i = 0; i < kInputs; ++i)
    for (const double v : x.value[i]) value[i].push_back(number(v, i));
  std::vector<Complex<T>> brightness[4], jones[8];
  for (int e = 0; e < 4; ++e)
    for (const auto& z : x.brightness[e]) brightness[e].push_back({number(z.real(), 100 + e), number(z.imag(), -1)});
  for (int e = 0; e < 8; ++e)
    for (const auto& z : x.jones[e]) jones[e].push_back({number(z.real(), -1), number(z.imag(), 200 + e)});

  constexpr std::ptrdiff_t kS = kTimes * kChannels, kT = kChannels;
  // n follows from l and m, on all axes.
  std::vector<T> n;
  for (int s = 0; s < kSources; ++s)
    for (int t = 0; t < kTimes; ++t)
      for (int f = 0; f < kChannels; ++f) {
        const T l = value[0][s * x.stride[0][0] + t * x.stride[0][1] + f * x.stride[0][2]];
        const T m = value[1][s * x.stride[1][0] + t * x.stride[1][1] + f * x.stride[1][2]];
        n.push_back(sqrt(T(1) - l * l - m * m));
      }
  psv::Problem<T> y;
  y.n_source = kSources, y.n_time = kTimes, y.n_channel = kChannels;
  psv::Strided<T>* view[kInputs] = {
      &y.l, &y.m, &y.u, &y.v, &y.w, &y.du, &y.dv, &y.dw, &y.major, &y.minor, &y.position_angle};
  for (int i = 0; i < kInputs; ++i) *view[i] = {value[i].data(), x.stride[i][0], x.stride[i][1], x.stride[i][2]};
  y.n = {n.data(), kS, kT, 1};
  psv::JonesPair<T> pair;
  pair.p_is_matrix = pair.q_is_matrix = true;
  for (int e = 0; e < 4; ++e) {
    y.brightness[e] = {brightness[e].data(), kS, kT, 1};
    pair.p[e] = {jones[e].data(), kS, kT, 1};
    pair.q[e] = {jones[4 + e].data(), kS, kT, 1};
  }
  y.jones = &pair, y.n_jones = 1;
  y.frequency_hz = x.frequency, y.width_hz = x.width, y.exposure_s = x.exposure;
  std::vector<Complex<T>> out(4 * kTimes * kChannels);
  psv::evaluate_reference(y, out.data());
  return out;
}

TEST(PsvReference, TakesEveryBroadcast) {
  for (unsigned seed = 0; seed < 24; ++seed) {
    const Inputs x = make_inputs(seed);
    const auto got = evaluate<double>(x, [](double v, int) { return v; });
    for (int t = 0; t < kTimes; ++t)
      for (int f = 0; f < kChannels; ++f) {
        const oracle::Matrix v = expected(x, t, f);
        for (int e = 0; e < 4; ++e) {
          const Complex<double> z = got[(e * kTimes + t) * kChannels + f];
          // Elements of the sandwich are below 8 sqrt(2) per source. n is rounded: up to 1e4 rad * 1e-16.
          EXPECT_LT(std::abs(oracle::Number(z.re, z.im) - v.e[e]), 1e-12 * kSources * 12);
        }
      }
  }
}

/// Shifts one input as `number` above marks it.
Inputs shifted(Inputs x, int which, double h) {
  if (which < kInputs)
    for (double& v : x.value[which]) v += h;
  else if (which >= 200)
    for (auto& z : x.jones[which - 200]) z.imag(z.imag() + h);
  else
    for (auto& z : x.brightness[which - 100]) z.real(z.real() + h);
  return x;
}

TEST(PsvReference, DifferentiatesWithRespectToEveryInput) {
  // Steps small against the scale on which the phase turns (a radian per step * derivative of 1e4 rad at most), so that
  // the central difference is good to 1e-7 of the derivative's own scale; rounding of 80-bit sums is far below.
  const double step[kInputs] = {1e-8, 1e-8, 1e-4, 1e-4, 1e-4, 1e-5, 1e-5, 1e-5, 1e-8, 1e-8, 1e-5};
  for (const int which : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 100, 102, 200, 203, 205, 206}) {
    SCOPED_TRACE(which);
    const Inputs x = make_inputs(7 + which);
    const double h = which < kInputs ? step[which] : 1e-6;
    const auto got =
        evaluate<Dual<double>>(x, [which](double v, int i) { return Dual<double>(v, i == which ? 1.0 : 0.0); });
    double worst = 0, largest = 0;
    for (int t = 0; t < kTimes; ++t)
      for (int f = 0; f < kChannels; ++f) {
        const oracle::Matrix up = expected(shifted(x, which, h), t, f), down = expected(shifted(x, which, -h), t, f);
        for (int e = 0; e < 4; ++e) {
          const oracle::Number slope = (up.e[e] - down.e[e]) / (2 * static_cast<oracle::Real>(h));
          const Complex<Dual<double>> z = got[(e * kTimes + t) * kChannels + f];
          worst = std::max(worst, static_cast<double>(std::abs(oracle::Number(z.re.d, z.im.d) - slope)));
          largest = std::max(largest, static_cast<double>(std::abs(slope)));
        }
      }
    EXPECT_GT(largest, 0);
    EXPECT_LT(worst, 1e-6 * largest);
  }
}

}  // namespace
}  // namespace rimetree::testing
