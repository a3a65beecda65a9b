// The product's own sum in extended precision against the tests' oracle, and what a request to verify brings.
#include "nodes/psv/verify.h"

#include <gtest/gtest.h>

#include "tests/support/forest_fixture.h"
#include "tests/support/psv_case.h"

namespace rimetree::testing {
namespace {

TEST(PsvVerify, TwoIndependentTextsAgree) {
  for (const JonesKind jones : {JonesKind::kNone, JonesKind::kScalar, JonesKind::kMatrix, JonesKind::kVarying})
    for (int bits = 0; bits < 8; ++bits) {
      CaseOptions o;
      o.jones = jones;
      o.polarisation = Polarisation::kGeneral;
      o.spectra = bits & 1;
      o.gaussians = bits & 2;
      o.disks = bits & 1;
      o.smearing = bits & 4;
      o.n_source = 5;
      o.n_channel = 6;
      o.phase_rad = 1e5;
      const Case c(o);
      const auto expected = c.expected();
      for (std::size_t b = 0; b < o.n_baseline; ++b)
        for (std::size_t t = 0; t < o.n_time; ++t)
          for (std::size_t f = 0; f < c.n_channel(); ++f) {
            const auto got = psv::extended_visibility(c.problem(b), std::ptrdiff_t(t), std::ptrdiff_t(f));
            for (std::size_t e = 0; e < 4; ++e) {
              const auto difference =
                  std::abs(got.value[e] - expected[((b * o.n_time + t) * 4 + e) * c.n_channel() + f]);
              EXPECT_LT(static_cast<double>(difference), 3e-14 * c.total_flux());
            }
            EXPECT_GT(got.flux, 0);
          }
    }
}

/// Two sources on one baseline, with a Jones term, or in a sky that varies in time.
void scene(test::TestForest& forest, const std::string& kind) {
  forest.constant("l", test::array({2, 3}, {0.01, 0.02, std::sqrt(1 - 5e-4), -0.02, 0.01, std::sqrt(1 - 5e-4)}));
  forest.constant("b", test::array({2}, {1, 2})).constant("uvw", test::array({3}, {300, -200, 50}));
  forest.constant("j", test::array({2}, {1.5, 0.5}));
  forest.node("t", "Time").node("zero", "Subtract", {"t", "t"}).node("l_t", "Add", {"l", "zero"});
  if (kind == "jones")
    forest.node("v", "PSV", {"l", "b", "uvw", "", "j", "j"});
  else
    forest.node("v", "PSV", {kind == "varying" ? "l_t" : "l", "b", "uvw"});
}

TEST(PsvVerify, ARequestIsMetOnEveryPath) {
  for (const std::string kind : {"plain", "jones", "varying"}) {
    test::TestForest forest;
    scene(forest, kind);
    forest.request.verify = 7;
    test::expect_ok(forest.evaluate("v"));
    const VerificationReport found = forest.evaluator->verification();
    EXPECT_EQ(found.count, 7u) << kind;
    EXPECT_LT(found.largest_error, 1e-14) << kind;
    EXPECT_NE(found.where.find("v at time"), std::string::npos);
  }
}

TEST(PsvVerify, NotesTellTheMethodAndDescriptionsForetellIt) {
  test::TestForest forest;
  scene(forest, "plain");
  forest.request.tolerance = 1e-5;
  test::expect_ok(forest.evaluate("v"));
  const std::vector<std::string> notes = forest.evaluator->notes().list();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("to 1e-05 of the total flux: direct in "), std::string::npos) << notes[0];
  const auto described = forest.evaluator->describe(forest.request);
  ASSERT_EQ(described.size(), 1u);
  EXPECT_NE(described[0].second.text.find("to 1e-05 of the total flux: direct in "), std::string::npos);
  EXPECT_GT(described[0].second.seconds, 0);
}

TEST(PsvVerify, ATighterToleranceIsAnotherResult) {
  test::TestForest forest;
  scene(forest, "plain");
  forest.request.tolerance = 1e-5;
  const ResultPtr rough = forest.evaluate("v");
  forest.request.tolerance = 1e-12;
  const ResultPtr fine = forest.evaluator->evaluate(forest.request, "v");
  EXPECT_NE(rough, fine);
  forest.request.tolerance = 1e-15;
  const ResultPtr none = forest.evaluate("v");
  ASSERT_EQ(none->status, Result::Status::failed);
  EXPECT_NE(none->failures.at(0).message.find("smallest that PSV meets is 1e-12"), std::string::npos);
}

TEST(Verification, KeepsTheLargestErrorAndWhatIsNoNumber) {
  Verification v;
  v.add(1e-9, "a");
  v.add(1e-7, "b");
  v.add(1e-8, "c");
  EXPECT_EQ(v.report().count, 3u);
  EXPECT_EQ(v.report().where, "b");
  v.add(std::nan(""), "d");
  v.add(1.0, "e");
  EXPECT_EQ(v.report().where, "d");
  v.reset();
  EXPECT_EQ(v.report().count, 0u);
  v.add(0.0, "f");
  EXPECT_EQ(v.report().where, "f");
}

}  // namespace
}  // namespace rimetree::testing
