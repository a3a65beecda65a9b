// The baseline computes what it is compared for: its bodies, executed by the host, against the scalar PSV body.
#include "tests/benchmarks/cuda/thesis_design.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/psv_case.h"

namespace rimetree::testing {
namespace {

TEST(ThesisDesign, SumsTheSameSky) {
  for (const std::size_t n_source : {1, 15, 16, 17, 100})
    for (const int m : {1, 16, 32}) {
      CaseOptions o;
      o.polarisation = Polarisation::kFull;
      o.spectra = o.smearing = true;
      o.n_source = n_source;
      o.n_baseline = 1;
      o.phase_rad = 100;  // its phases are in plain double precision
      const Case c(o);
      thesis::Problem p;
      p.n_source = std::int32_t(n_source), p.n_time = std::int32_t(o.n_time), p.n_channel = std::int32_t(c.n_channel());
      p.sources_per_thread = m;
      std::vector<double> uvw, sigma, half_exposure, half_width;
      for (const auto& axis : {c.uvw[0], c.uvw[1], c.uvw[2], c.duvw[0], c.duvw[1], c.duvw[2]})
        for (const double value : axis) uvw.push_back(-value);
      sigma.insert(sigma.end(), c.l.begin(), c.l.end());
      sigma.insert(sigma.end(), c.m.begin(), c.m.end());
      for (const double n : c.n) sigma.push_back(n - 1);
      for (const double exposure : c.exposure) half_exposure.push_back(exposure / 2);
      for (const double width : c.width) half_width.push_back(width / 2);
      std::vector<Complex<double>> partial(4 * std::size_t(p.n_group()) * c.n_channel() * o.n_time);
      std::vector<Complex<double>> out(o.n_time * c.n_channel() * 4);
      p.uvw = uvw.data(), p.sigma = sigma.data(), p.brightness = c.brightness.data();
      p.frequency_hz = c.frequency.data(), p.half_exposure_s = half_exposure.data(),
      p.half_width_hz = half_width.data();
      p.partial = partial.data(), p.out = out.data();
      thesis::evaluate_on_host(p);

      const auto expected = c.reference();  // [row][element][channel]
      for (std::size_t t = 0; t < o.n_time; ++t)
        for (std::size_t f = 0; f < c.n_channel(); ++f)
          for (std::size_t j = 0; j < 4; ++j) {
            const Complex<double> got = out[(t * c.n_channel() + f) * 4 + j];
            // 100 rad in double precision, and n - 1 with its cancellation.
            EXPECT_LT(abs(got - expected[(t * 4 + j) * c.n_channel() + f]), 1e-12 * c.total_flux());
          }
    }
}

}  // namespace
}  // namespace rimetree::testing
