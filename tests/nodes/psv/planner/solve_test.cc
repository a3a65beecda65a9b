// Rows shared among threads, with Jones terms of antennas: in another order than the caller's, and the same bits.
#include "nodes/psv/planner/solve.h"

#include <gtest/gtest.h>

#include "tests/support/psv_case.h"

namespace rimetree::testing {
namespace {

std::vector<Complex<double>> solved(const Case& c, const psv::SkyInput& input, const psv::JonesTerms& jones,
                                    psv::planner::MethodKind method, int n_thread) {
  const auto sky = psv::pack_sky<double>(input);
  const psv::Channels channels = psv::analyse_channels(c.frequency.data(), c.width.data(), c.n_channel());
  const psv::Rows rows = c.psv_rows();
  std::vector<Complex<double>> out(c.n_row() * 4 * c.n_channel());
  std::vector<Complex<double>*> row;
  for (std::size_t r = 0; r < c.n_row(); ++r) row.push_back(out.data() + r * 4 * c.n_channel());
  const psv::Output output{row.data(), std::ptrdiff_t(c.n_channel())};
  psv::planner::Choice choice;
  choice.method = method;
  ThreadPool threads(n_thread);
  Cancellation none;
  psv::planner::solve_rows({{sky, channels, rows, jones}, input, output}, choice, threads, none);
  return out;
}

TEST(PsvSolve, TakesRowsWithVaryingTermsATimeAtATime) {
  for (const bool spectra : {false, true})
    for (const auto& [method, bound] : {std::pair{psv::planner::MethodKind::kDirectDouble, 1e-12},
                                        std::pair{psv::planner::MethodKind::kDirectSingle, 1e-6}}) {
      CaseOptions o;
      o.jones = JonesKind::kAntennas;
      o.polarisation = Polarisation::kFull;
      o.spectra = spectra;
      o.smearing = true;
      o.n_baseline = 36;
      o.n_time = 5;
      const Case c(o);
      const psv::JonesTerms jones{c.n_pair, c.jones_pairs.data(), true};
      const auto one = solved(c, c.sky_input(), jones, method, 1), three = solved(c, c.sky_input(), jones, method, 3);
      EXPECT_LT(largest_error(one, c.expected(), c.total_flux()), bound);
      for (std::size_t i = 0; i < one.size(); ++i) ASSERT_EQ(one[i], three[i]);
    }
}

}  // namespace
}  // namespace rimetree::testing
