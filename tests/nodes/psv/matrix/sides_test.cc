// The matrix product over sources on the host: antennas' sides with Jones terms of every structure, against the scalar
// text of the sum.
#include "tests/support/instruction_sets.h"
#include "tests/support/psv_sides_array.h"

namespace rimetree::testing {
namespace {

using namespace sides;

TEST(PsvSides, TakesTermsOfEveryStructure) {
  using enum Term;
  for (const Light light : {Light::kI, Light::kIQ, Light::kIQUV, Light::kGeneral})
    for (const auto& pairs : std::vector<std::vector<std::array<Term, 2>>>{
             {{kReal, kReal}},
             {{kComplex, kComplex}},
             {{kDiagonal, kDiagonal}},
             {{kFull, kFull}},
             {{kFull, kComplex}},
             {{kReal, kFull}},
             {{kDiagonal, kFull}},
             {{kFull, kDiagonal}},
             {{kComplex, kComplex}, {kReal, kReal}},
             {{kComplex, kComplex}, {kFull, kFull}, {kDiagonal, kDiagonal}}}) {
      Options o;
      o.light = light, o.pairs = pairs;
      EXPECT_LT(Array(o).error(), 1e-14) << int(light) << ' ' << int(pairs[0][0]) << ' ' << int(pairs[0][1]);
    }
}

TEST(PsvSides, IsAsAccurateOnEveryInstructionSet) {
  using enum Term;
  for_each_instruction_set([] {
    for (const Light light : {Light::kI, Light::kIQ, Light::kIQUV, Light::kGeneral})
      for (const Term term : {kReal, kComplex, kDiagonal, kFull})
        for (const bool smearing : {false, true}) {
          Options o;
          o.light = light, o.pairs = {{term, term}}, o.smearing = smearing, o.n_antenna = 5, o.n_time = 3;
          EXPECT_LT(Array(o).error(), 1e-14) << int(light) << int(term) << smearing;
        }
  });
}

TEST(PsvSides, TakesTermsThatVaryAlongEitherAxis) {
  for (const Term term : {Term::kComplex, Term::kFull})
    for (const bool in_time : {false, true})
      for (const bool in_frequency : {false, true})
        for (const bool spectra : {false, true})
          for (const std::size_t n_channel : {1, 2, 7, 16, 40}) {
            Options o;
            o.pairs = {{term, term}}, o.in_time = in_time, o.in_frequency = in_frequency, o.spectra = spectra;
            o.n_channel = n_channel, o.n_source = 5, o.n_time = 19, o.n_antenna = 4;
            EXPECT_LT(Array(o).error(), 1e-14) << n_channel << in_time << in_frequency << spectra;
          }
}

TEST(PsvSides, SmearsAndTapersEachBaseline) {
  for (const Term term : {Term::kComplex, Term::kDiagonal, Term::kFull})
    for (const Light light : {Light::kI, Light::kIQ, Light::kIQUV})
      for (const auto& [smearing, shapes] : {std::pair{true, false}, {false, true}, {true, true}})
        for (const double exposure_s : {0.3, 4.0, 40.0}) {
          Options o;
          o.pairs = {{term, term}}, o.light = light, o.smearing = smearing, o.shapes = shapes;
          o.exposure_s = exposure_s;
          EXPECT_LT(Array(o).error(), 1e-14) << int(term) << smearing << shapes << exposure_s;
        }
}

TEST(PsvSides, TakesRowsOfAnyAntennas) {
  using Baselines = std::vector<std::pair<int, int>>;
  for (const Baselines& baselines :
       {Baselines{{0, 1}}, Baselines{{1, 0}}, Baselines{{2, 2}}, Baselines{{0, 1}, {1, 0}, {0, 0}, {0, 1}, {4, 2}},
        Baselines{{0, 3}, {1, 4}, {1, 1}}})
    for (const Term term : {Term::kReal, Term::kFull})
      for (const int missing : {0, 2, 3}) {
        Options o;
        o.baselines = baselines, o.pairs = {{term, term}}, o.missing = missing;
        EXPECT_LT(Array(o).error(), 1e-14) << baselines.size() << missing;
      }
  for (const std::size_t n_source : {1, 15, 16, 17}) {
    Options o;
    o.n_source = n_source, o.n_antenna = 2, o.n_time = 1, o.n_channel = 1;
    EXPECT_LT(Array(o).error(), 1e-14) << n_source;
  }
}

TEST(PsvSides, CutsManyAntennasIntoTilesAndGivesTheSameBitsOnAnyThreads) {
  for (const Term term : {Term::kReal, Term::kFull}) {
    Options o;
    o.n_antenna = 70, o.n_time = 2, o.n_channel = 5, o.n_source = 2, o.pairs = {{term, term}}, o.missing = 5;
    const Array array(o);
    std::vector<Complex<double>> one, three;
    EXPECT_LT(array.error(1, &one), 1e-14);
    array.error(3, &three);
    for (std::size_t i = 0; i < one.size(); ++i) ASSERT_EQ(one[i], three[i]);
  }
}

TEST(PsvSides, CountsWhatUvwOfAntennasLeaveOpen) {
  Options o;
  o.n_antenna = 12;
  Array array(o);
  // Each row is off by itself: within the tolerance, and by far more than rounding.
  for (int k = 0; k < 3; ++k)
    for (std::size_t r = 0; r < array.uvw[k].size(); ++r) {
      const double off_m = 3e-8 * array.number();
      array.uvw[k][r] += off_m, array.all_uvw[k][r] += off_m;
    }
  EXPECT_GT(array.error(1, nullptr, 1e-6), 1e-11);
}

TEST(PsvSides, SaysWhatIsInItsWay) {
  const auto obstacle = [](Array& array) {
    const psv::SkyInput input = array.sky_input();
    const auto sky = psv::pack_sky<double>(input);
    const psv::Channels channels = psv::analyse_channels(array.frequency.data(), array.width.data(), array.o.n_channel);
    const psv::Rows rows = array.rows();
    const psv::JonesTerms jones{1, array.jones_pairs.data(), true};
    ThreadPool threads(1);
    return psv::matrix::sides_plan({sky, channels, rows, jones, 0, {}, array.ends}, 1e-12, threads).obstacle;
  };
  Options o;
  o.n_antenna = 12, o.smearing = true;
  Array array(o);
  EXPECT_EQ(obstacle(array), "");
  std::swap(array.width[3], array.frequency[3]);  // a channel of more than a gigahertz
  EXPECT_NE(obstacle(array).find("too much across a channel"), std::string::npos) << obstacle(array);
  std::swap(array.width[3], array.frequency[3]);
  for (std::size_t r = 0; r < array.uvw[1].size(); ++r) array.uvw[1][r] += 1e-6 * array.number();
  EXPECT_NE(obstacle(array).find("not differences of one vector per antenna"), std::string::npos) << obstacle(array);
  array.ends = {};
  EXPECT_NE(obstacle(array).find("antennas of the baselines are not known"), std::string::npos);
}

// NaN stays at its own antenna and channel, and structures are found anew for each: a matrix that is diagonal
// elsewhere.
TEST(PsvSides, KeepsWhatIsNotANumberWhereItIs) {
  Options o;
  o.pairs = {{Term::kDiagonal, Term::kDiagonal}}, o.in_time = o.in_frequency = true, o.n_channel = 9;
  Array array(o);
  const psv::Strided<Complex<double>>& xy = array.jones_pairs[0].p[1];  // of antenna 0
  const_cast<Complex<double>&>(xy.at(3, 1, 4)) = {NAN, 0};
  std::vector<Complex<double>> out;
  array.error(1, &out);
  for (std::size_t r = 0; r < array.baseline.size(); ++r)
    for (std::size_t f = 0; f < o.n_channel; ++f) {
      const bool hit = array.pair_of[std::size_t(array.baseline[r])].first == 0 && array.time[r] == 1 && f == 4;
      EXPECT_EQ(std::isnan(out[r * 4 * o.n_channel + f].re), hit) << r << ' ' << f;
    }
}

// Cells of several times are in one vector: what is no number at one of them must not decide how the factors of the
// others are made.
TEST(PsvSides, KeepsARateThatIsNotANumberAtItsRow) {
  Options o;
  o.pairs = {{Term::kComplex, Term::kComplex}}, o.smearing = true, o.n_channel = 1, o.n_time = 8, o.n_antenna = 2;
  for (std::size_t fast = 0; fast < o.n_time; ++fast)
    for (std::size_t hit = 0; hit < o.n_time; ++hit) {
      if (hit == fast) continue;
      Array array(o);
      for (std::size_t r = 0; r < o.n_time; ++r)
        for (int k = 3; k < 6; ++k) array.all_uvw[k][r] = array.uvw[k][r] *= r == fast ? 1 : 1e-4;
      std::vector<Complex<double>> expected, out;
      array.error(1, &expected);
      array.all_uvw[3][hit] = array.uvw[3][hit] = NAN;
      array.error(1, &out);
      EXPECT_TRUE(std::isnan(out[hit * 4].re));
      for (std::size_t r = 0; r < o.n_time; ++r)
        if (r != hit) {
          EXPECT_NEAR(abs(out[r * 4] - expected[r * 4]), 0, 1e-14 * array.total_flux) << hit << fast << r;
        }
    }
}

}  // namespace
}  // namespace rimetree::testing
