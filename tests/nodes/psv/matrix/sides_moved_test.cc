// What the matrix product over sources changes by along an unknown that terms depend on, against differences of the
// scalar text of the sum: visibilities are polynomials in what moves, of a degree for which the differences are exact.
#include <map>

#include "tests/support/instruction_sets.h"
#include "tests/support/psv_sides_array.h"

namespace rimetree::testing {
namespace {

using namespace sides;

enum class Sides { kLeft, kRight, kBoth };

/// An array whose terms move: those of some sides, and of some of the pairs.
struct Moved {
  explicit Moved(const Options& options, Sides sides = Sides::kBoth, bool all_pairs = true, bool keep_structure = true,
                 double size = 1)
      : array(options), size(size) {
    std::mt19937_64 own(5);
    const auto next = [&own] { return 2.0 * (double(own() >> 11) / 9007199254740992.0) - 1.0; };
    const std::size_t n_pair = options.pairs.size();
    std::size_t i = 0;  // antenna by antenna, pair by pair, left before right
    for (const auto& term : array.terms) {
      const std::size_t side = i % 2, pair = i / 2 % n_pair;
      const Term kind = options.pairs[pair][side];
      const bool moves = (sides == Sides::kBoth || (sides == Sides::kLeft) == (side == 0)) && (all_pairs || pair == 0);
      auto& tangent = tangents.emplace_back(term.size());
      for (std::size_t k = 0; k < term.size() && moves; ++k) {
        const std::size_t element = k / (term.size() / 4);
        const bool off = kind == Term::kDiagonal && keep_structure && (element == 1 || element == 2);
        if (!off) tangent[k] = {size * next(), kind == Term::kReal ? 0 : size * next()};
      }
      views_of[term.data()] = moves ? tangent.data() : nullptr;
      ++i;
    }
    for (psv::JonesPair<double> pair : array.jones_pairs) {
      for (auto* view : {pair.p, pair.q}) {
        Complex<double>* tangent = views_of.at(view[0].data);
        for (int e = 3; e >= 0; --e)
          if (view[e]) view[e].data = tangent == nullptr ? nullptr : tangent + (view[e].data - view[0].data);
      }
      pairs.push_back(pair);
    }
  }

  /// Values and slopes of all rows; either may be left out.
  std::vector<Complex<double>> rows_of(bool values, bool slopes, int n_thread = 1) const {
    const psv::SkyInput input = array.sky_input();
    const auto sky = psv::pack_sky<double>(input);
    const psv::Channels channels = psv::analyse_channels(array.frequency.data(), array.width.data(), array.o.n_channel);
    const psv::Rows own = array.rows();
    psv::JonesTerms jones{int(array.o.pairs.size()), array.jones_pairs.data(), array.o.in_frequency};
    jones.tangents = pairs.data();
    ThreadPool threads(n_thread);
    Cancellation none;
    const psv::Summed of{sky, channels, own, jones, 0, {}, array.ends};
    const psv::matrix::SidesPlan plan = psv::matrix::sides_plan(of, 1e-12, threads);
    EXPECT_EQ(plan.obstacle, "");
    const std::size_t size = 4 * array.o.n_channel;
    std::vector<Complex<double>> out(2 * own.n_row * size, {NAN, NAN});
    std::vector<Complex<double>*> row;
    for (std::size_t r = 0; r < 2 * own.n_row; ++r) row.push_back(out.data() + r * size);
    const auto plane = std::ptrdiff_t(array.o.n_channel);
    psv::matrix::solve_by_sides(
        of, plan, {{values ? row.data() : nullptr, plane}, {slopes ? row.data() + own.n_row : nullptr, plane}}, threads,
        none);
    return out;
  }

  /// The reference's visibilities of all baselines with terms that have moved so far.
  std::vector<std::vector<Complex<double>>> moved_by(double step) const {
    Array other(array.o);
    auto tangent = tangents.begin();
    for (auto& term : other.terms) {
      for (std::size_t k = 0; k < term.size(); ++k) term[k] = term[k] + (*tangent)[k] * Complex<double>(step);
      ++tangent;
    }
    const psv::SkyInput input = other.sky_input();
    std::vector<std::vector<Complex<double>>> all;
    for (std::size_t b = 0; b < other.pair_of.size(); ++b) {
      auto& one = all.emplace_back(4 * other.o.n_time * other.o.n_channel);
      psv::evaluate_reference(other.problem(input, b), one.data());
    }
    return all;
  }

  /// The largest error of the rows' slopes, as a fraction of the largest of them; NaN if one is not written.
  double error() const {
    const auto p1 = moved_by(1 / size), p2 = moved_by(2 / size), m1 = moved_by(-1 / size), m2 = moved_by(-2 / size);
    const std::vector<Complex<double>> got = rows_of(true, true);
    const std::size_t n_row = array.baseline.size(), nf = array.o.n_channel;
    double worst = 0, largest = 0;
    for (std::size_t r = 0; r < n_row; ++r)
      for (std::size_t e = 0; e < 4; ++e)
        for (std::size_t f = 0; f < nf; ++f) {
          const auto b = std::size_t(array.baseline[r]), i = (e * array.o.n_time + std::size_t(array.time[r])) * nf + f;
          // Exact for polynomials of the fourth degree: two pairs of terms that move.
          const Complex<double> want = ((p1[b][i] - m1[b][i]) * 8.0 - (p2[b][i] - m2[b][i])) / Complex<double>(12.0);
          const double off = abs(got[((n_row + r) * 4 + e) * nf + f] * Complex<double>(1 / size) - want);
          keep_larger(worst, off);
          largest = std::max(largest, abs(want));
        }
    EXPECT_GT(largest, 0.1);
    return worst / largest;
  }

  /// By how much values differ that are made with slopes and alone, as a fraction of the total flux times that of
  /// terms. NaN if one of them is not finite.
  double values_off() const {
    const auto both = rows_of(true, true), alone = rows_of(true, false);
    double worst = 0;
    for (std::size_t i = 0; i < both.size() / 2; ++i) keep_larger(worst, abs(both[i] - alone[i]));
    return worst;
  }

  Array array;
  double size;  ///< of what terms change by
  std::list<std::vector<Complex<double>>> tangents;
  std::map<const Complex<double>*, Complex<double>*> views_of;
  std::vector<psv::JonesPair<double>> pairs;
};

// Differences lose two digits.
constexpr double kRounding = 1e-12;

TEST(PsvSidesMoved, IsAsAccurateOnEveryInstructionSet) {
  using enum Term;
  for_each_instruction_set([] {
    for (const Light light : {Light::kI, Light::kIQ, Light::kIQUV, Light::kGeneral})
      for (const Term term : {kReal, kComplex, kDiagonal, kFull})
        for (const bool smearing : {false, true}) {
          Options o;
          o.light = light, o.pairs = {{term, term}}, o.smearing = smearing, o.n_antenna = 5, o.n_time = 3;
          EXPECT_LT(Moved(o).error(), kRounding) << int(light) << int(term) << smearing;
        }
  });
}

TEST(PsvSidesMoved, TermsOfEveryStructureMove) {
  using enum Term;
  for (const Light light : {Light::kI, Light::kIQ, Light::kIQUV, Light::kGeneral})
    for (const auto& pairs : std::vector<std::vector<std::array<Term, 2>>>{{{kReal, kReal}},
                                                                           {{kComplex, kComplex}},
                                                                           {{kDiagonal, kDiagonal}},
                                                                           {{kFull, kFull}},
                                                                           {{kFull, kComplex}},
                                                                           {{kReal, kFull}},
                                                                           {{kFull, kDiagonal}},
                                                                           {{kComplex, kComplex}, {kReal, kReal}},
                                                                           {{kComplex, kComplex}, {kFull, kFull}}})
      for (const Sides sides : {Sides::kLeft, Sides::kRight, Sides::kBoth})
        for (const bool all_pairs : {true, false}) {
          Options o;
          o.light = light, o.pairs = pairs, o.n_antenna = 4, o.n_time = 2, o.n_source = 21;
          EXPECT_LT(Moved(o, sides, all_pairs).error(), kRounding)
              << int(light) << int(pairs[0][0]) << int(pairs[0][1]) << int(sides) << all_pairs;
        }
}

TEST(PsvSidesMoved, DiagonalMatricesMayLeaveTheDiagonal) {
  for (const Light light : {Light::kI, Light::kIQUV})
    for (const Sides sides : {Sides::kLeft, Sides::kRight, Sides::kBoth}) {
      Options o;
      o.light = light, o.pairs = {{Term::kDiagonal, Term::kDiagonal}}, o.n_antenna = 3;
      EXPECT_LT(Moved(o, sides, true, false).error(), kRounding) << int(light) << int(sides);
    }
}

TEST(PsvSidesMoved, SmearingTapersSpectraAndFewSources) {
  for (const Term term : {Term::kReal, Term::kComplex, Term::kDiagonal, Term::kFull})
    for (const Light light : {Light::kI, Light::kIQ, Light::kIQUV})
      for (const auto& [smearing, shapes] : {std::pair{true, false}, {false, true}, {true, true}})
        for (const std::size_t n_source : {1, 8, 9, 17}) {
          Options o;
          o.pairs = {{term, term}}, o.light = light, o.smearing = smearing, o.shapes = shapes, o.n_source = n_source;
          o.spectra = n_source == 9, o.n_antenna = 4, o.n_time = 2, o.in_frequency = n_source != 17;
          EXPECT_LT(Moved(o).error(), kRounding) << int(term) << int(light) << smearing << shapes << n_source;
        }
}

TEST(PsvSidesMoved, BitsDependNeitherOnThreadsNorOnWhatElseIsAskedFor) {
  for (const Term term : {Term::kReal, Term::kDiagonal, Term::kFull}) {
    Options o;
    o.n_antenna = 66, o.n_time = 2, o.n_channel = 5, o.n_source = 18, o.pairs = {{term, term}}, o.missing = 5;
    o.light = Light::kI;
    const Moved moved(o);
    const auto both = moved.rows_of(true, true), threads = moved.rows_of(true, true, 3),
               values = moved.rows_of(true, false), slopes = moved.rows_of(false, true);
    for (std::size_t i = 0; i < both.size(); ++i) {
      ASSERT_EQ(both[i], threads[i]);
      ASSERT_EQ(both[i], (i < both.size() / 2 ? values : slopes)[i]) << i;
    }
  }
}

TEST(PsvSidesMoved, SlopesOfAnySize) {
  for (const Term term : {Term::kReal, Term::kComplex, Term::kDiagonal, Term::kFull})
    for (const double size : {1e-9, 3e8, 1e-60}) {
      Options o;
      o.pairs = {{term, term}}, o.n_antenna = 4, o.n_time = 1;
      EXPECT_LT(Moved(o, Sides::kBoth, true, true, size).error(), kRounding) << int(term) << size;
    }
}

// Values have the bits that they have alone.
TEST(PsvSidesMoved, SlopesThatAreNotFiniteOrFarLargerForSomeSourcesLeaveValuesAlone) {
  for (const Term term : {Term::kComplex, Term::kFull})
    for (const double odd : {double(NAN), double(INFINITY), 1e12, 0.0}) {
      Options o;
      o.pairs = {{term, term}}, o.n_antenna = 4, o.n_time = 1, o.in_time = false, o.n_channel = 3, o.n_source = 40;
      Moved moved(o);
      // Of one of the first antenna's sources; with 0, of all.
      std::vector<Complex<double>>& tangent = moved.tangents.front();
      if (odd != 0) tangent[38 * o.n_channel] = {odd, 0};
      for (auto& one : moved.tangents)
        if (odd == 0) std::fill(one.begin(), one.end(), Complex<double>());
      EXPECT_EQ(moved.values_off(), 0) << int(term) << odd;
      const auto got = moved.rows_of(true, true);
      std::size_t n_finite = 0, n_zero = 0;
      for (std::size_t i = got.size() / 2; i < got.size(); ++i)
        n_finite += std::isfinite(abs(got[i])), n_zero += got[i] == Complex<double>();
      EXPECT_GT(n_finite, 0U) << "of other antennas, or channels";
      EXPECT_EQ(n_finite == got.size() / 2, odd == 0 || odd == 1e12);
      EXPECT_EQ(n_zero == got.size() / 2, odd == 0);
    }
}

}  // namespace
}  // namespace rimetree::testing
