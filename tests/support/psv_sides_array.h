// Arrays of antennas with Jones terms of every structure, for tests of the matrix product over sources on the host.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <list>
#include <random>

#include "nodes/psv/matrix/sides_plan.h"
#include "nodes/psv/matrix/sides_solve.h"
#include "nodes/psv/reference.h"
#include "runtime/core/values/largest_error.h"

namespace rimetree::testing::sides {

enum class Term { kReal, kComplex, kDiagonal, kFull };
enum class Light { kI, kIQ, kIQUV, kGeneral };

struct Options {
  std::size_t n_antenna = 5, n_time = 3, n_channel = 11, n_source = 37;
  std::vector<std::array<Term, 2>> pairs = {{Term::kFull, Term::kFull}};  ///< on the left and on the right
  bool in_time = true, in_frequency = true, spectra = false;
  Light light = Light::kIQUV;
  bool smearing = false, shapes = false;
  double exposure_s = 4;
  std::vector<std::pair<int, int>> baselines = {};  ///< empty: all p < q
  int missing = 0;                                  ///< every so many rows there is none
};

/// An array with rows and terms of antennas.
struct Array {
  explicit Array(const Options& options) : o(options) {
    make_sky();
    make_rows();
    make_terms();
  }

  double number() { return 2.0 * (double(random() >> 11) / 9007199254740992.0) - 1.0; }

  void make_sky() {
    for (std::size_t f = 0; f < o.n_channel; ++f) frequency.push_back(1.4e9 + 1e6 * double(f)), width.push_back(1e6);
    const std::size_t n_spectrum = o.spectra ? o.n_channel : 1;
    for (std::size_t s = 0; s < o.n_source; ++s) {
      l.push_back(0.1 * number()), m.push_back(0.1 * number());
      n.push_back(std::sqrt(1 - l[s] * l[s] - m[s] * m[s]));
      const bool extended = o.shapes && s % 2 == 0;
      const ShapeAxes<double> in_plane = axes_in_plane(extended ? 2e-4 : 0, extended ? 1e-4 : 0, number());
      for (const auto& axis : {in_plane.major, in_plane.minor})
        axes.insert(axes.end(), {axis[0], axis[1], extended ? 1e-4 * number() : 0});
      profile.push_back(s % 4 == 0 ? 0 : 1);
    }
    for (auto& element : brightness) element.resize(o.n_source * n_spectrum);
    for (std::size_t i = 0; i < o.n_source * n_spectrum; ++i) {
      const double flux = 1.5 + number(), q = o.light == Light::kI ? 0 : number(), u = number(), v = number();
      const bool all = o.light >= Light::kIQUV;
      brightness[0][i] = flux + q, brightness[3][i] = flux - q;
      brightness[1][i] = all ? Complex<double>{u, v} : Complex<double>{};
      brightness[2][i] = conj(brightness[1][i]);
      if (o.light == Light::kGeneral) brightness[2][i] = {number(), number()}, brightness[0][i].im = number();
      total_flux += 4;
    }
  }

  void make_rows() {
    // Differences of numbers with few digits have no rounding errors.
    const auto coordinate = [&](double size) { return std::round(size * number() * 1024) / 1024; };
    std::vector<double> place[6];
    for (int k = 0; k < 6; ++k)
      for (std::size_t i = 0; i < o.n_antenna * o.n_time; ++i) place[k].push_back(coordinate(k < 3 ? 900 : 4));
    auto baselines = o.baselines;
    for (int p = 0; p < int(o.n_antenna) && o.baselines.empty(); ++p)
      for (int q = p + 1; q < int(o.n_antenna); ++q) baselines.emplace_back(p, q);
    for (std::size_t b = 0; b < baselines.size(); ++b) {
      ends.p.push_back(10 + 3 * baselines[b].first), ends.q.push_back(10 + 3 * baselines[b].second);
      for (std::size_t t = 0; t < o.n_time; ++t) {
        const auto at = [&](int k, int antenna) { return place[k][std::size_t(antenna) * o.n_time + t]; };
        for (int k = 0; k < 6; ++k) all_uvw[k].push_back(at(k, baselines[b].first) - at(k, baselines[b].second));
        if (o.missing > 0 && (b * o.n_time + t) % std::size_t(o.missing) == 1) continue;
        for (int k = 0; k < 6; ++k) uvw[k].push_back(all_uvw[k].back());
        exposure.push_back(o.exposure_s * (1 + 0.1 * double(t)));
        baseline.push_back(int(b)), time.push_back(int(t));
      }
    }
    for (std::size_t t = 0; t < o.n_time; ++t) exposures.push_back(o.exposure_s * (1 + 0.1 * double(t)));
    pair_of = baselines;
  }

  void make_terms() {
    const std::size_t nt = o.in_time ? o.n_time : 1, nf = o.in_frequency ? o.n_channel : 1,
                      block = o.n_source * nt * nf;
    const auto side = [&](Term term, std::size_t antenna, std::size_t pair, bool adjoint,
                          psv::Strided<Complex<double>>* view) {
      auto& values = terms.emplace_back(4 * block);
      std::mt19937_64 own(7 + 100 * antenna + 10 * pair);
      const auto next = [&] { return 2.0 * (double(own() >> 11) / 9007199254740992.0) - 1.0; };
      for (std::size_t e = 0; e < 4; ++e)
        for (std::size_t i = 0; i < block; ++i) {
          Complex<double> z{next(), next()};
          if (term == Term::kReal) z.im = 0;
          if (term == Term::kDiagonal && (e == 1 || e == 2)) z = {0.0, -0.0};
          // As ConjTranspose gives it.
          const std::size_t to = adjoint && (e == 1 || e == 2) ? 3 - e : e;
          values[to * block + i] = adjoint ? conj(z) : z;
        }
      for (std::size_t e = 0; e < (term >= Term::kDiagonal ? 4 : 1); ++e)
        view[e] = {values.data() + e * block, std::ptrdiff_t(nt * nf), o.in_time ? std::ptrdiff_t(nf) : 0,
                   o.in_frequency ? 1 : 0};
    };
    struct Views {
      psv::Strided<Complex<double>> view[4];
    };
    std::vector<Views> left, right;
    for (std::size_t a = 0; a < o.n_antenna; ++a)
      for (std::size_t k = 0; k < o.pairs.size(); ++k) {
        side(o.pairs[k][0], a, k, false, left.emplace_back().view);
        side(o.pairs[k][1], a, k, true, right.emplace_back().view);
      }
    for (const auto& [p, q] : pair_of)
      for (std::size_t k = 0; k < o.pairs.size(); ++k) {
        psv::JonesPair<double> pair;
        std::copy_n(left[std::size_t(p) * o.pairs.size() + k].view, 4, pair.p);
        std::copy_n(right[std::size_t(q) * o.pairs.size() + k].view, 4, pair.q);
        pair.p_is_matrix = o.pairs[k][0] >= Term::kDiagonal, pair.q_is_matrix = o.pairs[k][1] >= Term::kDiagonal;
        jones_pairs.push_back(pair);
      }
    // Two matrices may raise an element eightfold.
    total_flux *= std::pow(8.0, double(o.pairs.size()));
  }

  psv::SkyInput sky_input() const {
    psv::SkyInput in;
    in.n_source = std::ptrdiff_t(o.n_source), in.n_channel = std::ptrdiff_t(o.n_channel);
    in.brightness_varies = o.spectra, in.with_jones = true;
    in.l = {l.data(), 1, 0, 0}, in.m = {m.data(), 1, 0, 0}, in.n = {n.data(), 1, 0, 0};
    const std::ptrdiff_t n_spectrum = o.spectra ? std::ptrdiff_t(o.n_channel) : 1;
    for (int e = 0; e < 4; ++e) in.brightness[e] = {brightness[e].data(), n_spectrum, 0, o.spectra ? 1 : 0};
    if (!o.shapes) return in;
    for (std::size_t i = 0; i < 6; ++i) in.axes[i] = {axes.data() + i, 6, 0, 0};
    in.profile = {profile.data(), 1, 0, 0};
    return in;
  }
  psv::Rows rows() const {
    psv::Rows r;
    r.n_row = baseline.size();
    r.u = uvw[0].data(), r.v = uvw[1].data(), r.w = uvw[2].data();
    if (o.smearing) r.du = uvw[3].data(), r.dv = uvw[4].data(), r.dw = uvw[5].data(), r.exposure_s = exposure.data();
    r.baseline = baseline.data(), r.time = time.data();
    return r;
  }

  /// The largest error of the rows' visibilities as a fraction of the flux, which is to be within the plan's bound, and
  /// NaN if a row is not written.
  double error(int n_thread = 1, std::vector<Complex<double>>* copy = nullptr, double tolerance = 1e-12) const {
    const psv::SkyInput input = sky_input();
    const auto sky = psv::pack_sky<double>(input);
    const psv::Channels channels = psv::analyse_channels(frequency.data(), width.data(), o.n_channel);
    const psv::Rows own_rows = rows();
    const psv::JonesTerms jones{int(o.pairs.size()), jones_pairs.data(), o.in_frequency};
    ThreadPool threads(n_thread);
    Cancellation none;
    const psv::Summed of{sky, channels, own_rows, jones, 0, {}, ends};
    const psv::matrix::SidesPlan plan = psv::matrix::sides_plan(of, tolerance, threads);
    EXPECT_EQ(plan.obstacle, "");
    EXPECT_LE(plan.bound, tolerance);
    std::vector<Complex<double>> out(own_rows.n_row * 4 * o.n_channel, {NAN, NAN});
    std::vector<Complex<double>*> row;
    for (std::size_t r = 0; r < own_rows.n_row; ++r) row.push_back(out.data() + r * 4 * o.n_channel);
    psv::matrix::solve_by_sides(of, plan, {{row.data(), std::ptrdiff_t(o.n_channel)}, {}}, threads, none);
    if (copy != nullptr) *copy = out;
    double worst = 0;
    for (std::size_t b = 0, r = 0; b < pair_of.size(); ++b) {
      std::vector<Complex<double>> expected(4 * o.n_time * o.n_channel);
      psv::evaluate_reference(problem(input, b), expected.data());
      for (; r < own_rows.n_row && baseline[r] == int(b); ++r)
        for (std::size_t e = 0; e < 4; ++e)
          for (std::size_t f = 0; f < o.n_channel; ++f) {
            const Complex<double> want = expected[(e * o.n_time + std::size_t(time[r])) * o.n_channel + f];
            const double off = abs(out[(r * 4 + e) * o.n_channel + f] - want) / total_flux;
            keep_larger(worst, off);
          }
    }
    if (!std::isnan(worst)) {
      EXPECT_LE(worst, plan.bound);
    }
    return worst;
  }
  psv::Problem<double> problem(const psv::SkyInput& in, std::size_t b) const {
    psv::Problem<double> x;
    x.n_source = in.n_source, x.n_time = std::ptrdiff_t(o.n_time), x.n_channel = in.n_channel;
    x.l = in.l, x.m = in.m, x.n = in.n;
    x.profile = in.profile;
    std::copy_n(in.axes, 6, x.axes);
    std::copy_n(in.brightness, 4, x.brightness);
    psv::Strided<double>* view[6] = {&x.u, &x.v, &x.w, &x.du, &x.dv, &x.dw};
    for (int k = 0; k < (o.smearing ? 6 : 3); ++k) *view[k] = {all_uvw[k].data() + b * o.n_time, 0, 1, 0};
    x.jones = &jones_pairs[b * o.pairs.size()], x.n_jones = int(o.pairs.size());
    x.frequency_hz = frequency.data(), x.width_hz = width.data(), x.exposure_s = exposures.data();
    return x;
  }

  Options o;
  std::mt19937_64 random{3};
  std::vector<double> frequency, width, l, m, n, axes, profile, uvw[6], all_uvw[6], exposure, exposures;
  std::vector<Complex<double>> brightness[4];
  std::vector<std::int32_t> baseline, time;
  std::vector<std::pair<int, int>> pair_of;
  std::list<std::vector<Complex<double>>> terms;
  std::vector<psv::JonesPair<double>> jones_pairs;
  psv::BaselineEnds ends;
  double total_flux = 0;
};

}  // namespace rimetree::testing::sides
