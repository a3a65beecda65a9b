// The matrix product over sources in reverse, against the adjoint that goes row by row (which is held to the oracle).
#include "nodes/psv/adjoint/sides_reverse.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "tests/support/instruction_sets.h"
#include "tests/support/psv_sides_array.h"

namespace rimetree::testing {
namespace {

using namespace sides;
using psv::adjoint::SourceAdjoints;
using psv::adjoint::SourceWish;

/// An array's rows in the order of their times, with random adjoints and places for what terms gain.
struct Reversed {
  explicit Reversed(const Options& options) : array(options), input(array.sky_input()) {
    sky = psv::pack_sky<double>(input);
    channels = psv::analyse_channels(array.frequency.data(), array.width.data(), array.o.n_channel);
    rows = array.rows();
    std::vector<std::size_t> order(rows.n_row);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return array.time[a] < array.time[b]; });
    const double** column[] = {&rows.u, &rows.v, &rows.w, &rows.du, &rows.dv, &rows.dw, &rows.exposure_s};
    for (std::size_t i = 0; i < std::size(column); ++i) {
      if (*column[i] == nullptr) continue;
      for (const std::size_t r : order) ordered[i].push_back((*column[i])[r]);
      *column[i] = ordered[i].data();
    }
    for (const std::size_t r : order) baseline.push_back(array.baseline[r]), time.push_back(array.time[r]);
    rows.baseline = baseline.data(), rows.time = time.data();
    adjoint.resize(rows.n_row * 4 * array.o.n_channel);
    for (auto& a : adjoint) a = {array.number(), array.number()};
    for (std::size_t r = 0; r < rows.n_row; ++r) row.push_back(adjoint.data() + r * 4 * array.o.n_channel);
    std::map<const Complex<double>*, std::ptrdiff_t> place;
    for (const auto& term : array.terms) place[term.data()] = n_target, n_target += std::ptrdiff_t(term.size());
    for (const auto& pair : array.jones_pairs)
      for (const auto* side : {&pair.p, &pair.q}) first.push_back(place.at(side[0]->data));
    const auto n = static_cast<std::size_t>(n_target);
    const bool moving = array.o.in_time;
    jones = {int(array.o.pairs.size()),
             array.jones_pairs.data(),
             array.o.in_frequency,
             {first.data(), nullptr, moving ? n : 0, moving ? 0 : n}};
  }
  Reversed(const Reversed&) = delete;

  psv::Summed summed() const { return {sky, channels, rows, jones, 0, {}, array.ends}; }
  psv::adjoint::ResultAdjoints given() const { return {row.data(), std::ptrdiff_t(array.o.n_channel)}; }
  SourceAdjoints by_rows(SourceWish wish) const {
    ThreadPool threads(1);
    Cancellation none;
    return psv::adjoint::pull_back_rows(summed(), given(), wish, threads, none);
  }
  SourceAdjoints by_sides(SourceWish wish, int n_thread = 1) const {
    ThreadPool threads(n_thread);
    Cancellation none;
    const psv::Summed of = summed();
    const psv::matrix::SidesPlan plan = psv::matrix::sides_plan(of, 1e-12, threads, wish.weights);
    EXPECT_EQ(psv::adjoint::reverse_obstacle(plan, sky, wish), "");
    return psv::adjoint::pull_back_by_sides(of, plan, given(), wish, threads, none);
  }

  /// What terms gain, added to 0.5 at once instead of given back: as by_rows() lays it out.
  std::vector<double> added_by_sides(int n_thread) {
    std::vector<Complex<double>> complex(std::size_t(n_target), {0.5, 0.5});
    std::vector<double> real(std::size_t(n_target), 0.5), all;
    std::vector<psv::TermSlopes> slopes;
    const auto is_real = [this](std::size_t side) {
      return array.o.pairs[side / 2 % array.o.pairs.size()][side % 2] == Term::kReal;
    };
    for (std::size_t i = 0; i < first.size(); ++i)
      slopes.push_back(is_real(i) ? psv::TermSlopes{nullptr, real.data() + first[i]}
                                  : psv::TermSlopes{complex.data() + first[i], nullptr});
    jones.targets.slopes = slopes.data();
    const SourceAdjoints got = by_sides({}, n_thread);
    jones.targets.slopes = nullptr;
    EXPECT_TRUE(got.moving_jones.empty() && got.steady_jones.empty());
    for (std::size_t i = 0; i < complex.size(); ++i) all.insert(all.end(), {complex[i].re - 0.5, complex[i].im - 0.5});
    for (const double x : real) all.push_back(x - 0.5);
    return all;
  }
  /// The same, from what is given back.
  std::vector<double> added_by_rows() const {
    const SourceAdjoints got = by_rows({});
    const auto& terms = array.o.in_time ? got.moving_jones : got.steady_jones;
    std::vector<double> all(2 * terms.size()), real(terms.size());
    for (std::size_t side = 0; side < first.size(); ++side) {
      const Term term = array.o.pairs[side / 2 % array.o.pairs.size()][side % 2];
      const std::size_t size = array.terms.front().size();
      for (std::size_t i = std::size_t(first[side]); i < std::size_t(first[side]) + size; ++i)
        term == Term::kReal ? void(real[i] = terms[i].re)
                            : void((all[2 * i] = terms[i].re, all[2 * i + 1] = terms[i].im));
    }
    all.insert(all.end(), real.begin(), real.end());
    return all;
  }

  Array array;
  psv::SkyInput input;
  psv::Sky<double> sky;
  psv::Channels channels;
  psv::Rows rows;
  psv::JonesTerms jones;
  std::vector<double> ordered[7];
  std::vector<std::int32_t> baseline, time;
  std::vector<Complex<double>> adjoint;
  std::vector<const Complex<double>*> row;
  std::vector<std::ptrdiff_t> first;
  std::ptrdiff_t n_target = 0;
};

std::vector<double> numbers_of(const SourceAdjoints& a) {
  std::vector<double> all = a.weights;
  all.insert(all.end(), a.positions.begin(), a.positions.end());
  for (const auto* terms : {&a.moving_jones, &a.steady_jones})
    for (const auto& z : *terms) all.insert(all.end(), {z.re, z.im});
  return all;
}

/// The largest difference, as a fraction of the largest number; NaN if one is not a number, or of another length.
double difference(const std::vector<double>& got, const std::vector<double>& wanted) {
  if (got.size() != wanted.size()) return NAN;
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    keep_larger(worst, std::abs(got[i] - wanted[i]));
    largest = std::max(largest, std::abs(wanted[i]));
  }
  return largest > 0 ? worst / largest : worst;
}

void check(const Options& options, SourceWish wish) {
  const Reversed reversed(options);
  const SourceAdjoints got = reversed.by_sides(wish), wanted = reversed.by_rows(wish);
  if (wish.weights) {
    EXPECT_LT(difference(got.weights, wanted.weights), 1e-11);
  }
  EXPECT_LT(difference(got.positions, wanted.positions), 1e-11);
  const auto terms = [](SourceAdjoints a) {
    a.weights.clear(), a.positions.clear();
    return numbers_of(a);
  };
  EXPECT_GT(terms(got).size(), 0u);
  EXPECT_LT(difference(terms(got), terms(wanted)), 1e-11);
  EXPECT_EQ(numbers_of(got), numbers_of(reversed.by_sides(wish, 3))) << "threads decide about bits";
}

constexpr SourceWish kAll{true, true, false}, kTerms{};

TEST(PsvSidesReverse, TakesTermsOfEveryStructure) {
  constexpr Term kTermKinds[] = {Term::kReal, Term::kComplex, Term::kDiagonal, Term::kFull};
  for (const Term left : kTermKinds)
    for (const Term right : kTermKinds)
      for (const Light light : {Light::kI, Light::kIQ, Light::kIQUV, Light::kGeneral})
        for (const SourceWish wish : {kTerms, kAll}) {
          SCOPED_TRACE(::testing::Message() << "terms " << int(left) << " and " << int(right) << ", light "
                                            << int(light) << ", all " << wish.weights);
          check({.n_source = 19, .pairs = {{left, right}}, .light = light}, wish);
        }
}

TEST(PsvSidesReverse, IsAsAccurateOnEveryInstructionSet) {
  for_each_instruction_set([] {
    for (const Term term : {Term::kReal, Term::kComplex, Term::kDiagonal, Term::kFull})
      for (const Light light : {Light::kI, Light::kIQ, Light::kIQUV, Light::kGeneral}) {
        SCOPED_TRACE(::testing::Message() << "term " << int(term) << ", light " << int(light));
        check({.n_source = 19, .pairs = {{term, term}}, .light = light}, kAll);
      }
  });
}

TEST(PsvSidesReverse, TakesSeveralTermsInARow) {
  check({.pairs = {{Term::kFull, Term::kFull}, {Term::kDiagonal, Term::kReal}, {Term::kFull, Term::kFull}}}, kAll);
  check({.pairs = {{Term::kComplex, Term::kReal}, {Term::kComplex, Term::kComplex}}}, kAll);
  check({.pairs = {{Term::kComplex, Term::kReal}, {Term::kReal, Term::kComplex}}, .light = Light::kI}, kTerms);
  check({.pairs = {{Term::kComplex, Term::kFull}, {Term::kDiagonal, Term::kComplex}}}, kAll);
}

TEST(PsvSidesReverse, TakesTermsThatVaryAlongEitherAxis) {
  for (const bool in_time : {false, true})
    for (const bool in_frequency : {false, true})
      for (const bool spectra : {false, true})
        for (const std::size_t n_channel : {1, 3, 29}) {
          SCOPED_TRACE(::testing::Message() << in_time << in_frequency << spectra << " " << n_channel);
          check({.n_channel = n_channel, .in_time = in_time, .in_frequency = in_frequency, .spectra = spectra}, kAll);
          check({.n_channel = n_channel,
                 .pairs = {{Term::kComplex, Term::kComplex}},
                 .in_time = in_time,
                 .in_frequency = in_frequency,
                 .spectra = spectra,
                 .light = Light::kI},
                kTerms);
        }
}

TEST(PsvSidesReverse, SmearsAndTapersEachBaseline) {
  for (const Term term : {Term::kComplex, Term::kDiagonal, Term::kFull})
    for (const Light light : {Light::kI, Light::kIQ, Light::kIQUV})
      for (const bool shapes : {false, true}) {
        SCOPED_TRACE(::testing::Message() << int(term) << int(light) << shapes);
        check({.pairs = {{term, term}}, .light = light, .smearing = true, .shapes = shapes}, kTerms);
        check({.pairs = {{term, term}}, .light = light, .smearing = true, .shapes = shapes}, {true, false, false});
      }
}

TEST(PsvSidesReverse, TakesRowsOfAnyAntennas) {
  check({.n_time = 11, .n_channel = 2, .baselines = {{0, 1}, {2, 1}, {3, 3}, {1, 4}, {4, 0}}}, kAll);
  check({.n_antenna = 9, .n_channel = 5, .missing = 4}, kAll);
  check({.n_antenna = 70, .n_time = 1, .n_channel = 9, .n_source = 300}, kTerms);
  check({.n_antenna = 3, .n_time = 40, .n_channel = 17, .n_source = 1, .in_time = false}, kAll);
}

TEST(PsvSidesReverse, AddsToWhereDerivativesEndUp) {
  for (const bool in_time : {false, true})
    for (const bool in_frequency : {false, true})
      for (const std::size_t n_channel : {3, 16})
        for (const auto& pair : std::vector<std::array<Term, 2>>{
                 {Term::kFull, Term::kReal}, {Term::kReal, Term::kComplex}, {Term::kDiagonal, Term::kFull}}) {
          SCOPED_TRACE(::testing::Message() << in_time << in_frequency << n_channel << int(pair[0]) << int(pair[1]));
          Reversed reversed({.n_antenna = 3,
                             .n_channel = n_channel,
                             .n_source = 250,
                             .pairs = {pair},
                             .in_time = in_time,
                             .in_frequency = in_frequency});
          const std::vector<double> got = reversed.added_by_sides(1);
          EXPECT_LT(difference(got, reversed.added_by_rows()), 1e-11);
          EXPECT_EQ(got, reversed.added_by_sides(3)) << "threads decide about bits";
        }
}

TEST(PsvSidesReverse, AdjointsMayBeDiagonal) {
  for (const auto& [left, right] : {std::pair{Term::kDiagonal, Term::kDiagonal},
                                    {Term::kFull, Term::kDiagonal},
                                    {Term::kDiagonal, Term::kComplex},
                                    {Term::kFull, Term::kFull}})
    for (const Light light : {Light::kI, Light::kIQ, Light::kIQUV})
      for (const bool smearing : {false, true})
        for (const std::size_t n_source : {1, 9, 250}) {
          Reversed reversed(
              {.n_channel = 9, .n_source = n_source, .pairs = {{left, right}}, .light = light, .smearing = smearing});
          for (std::size_t i = 0; i < reversed.adjoint.size(); ++i)
            if (const std::size_t e = i / 9 % 4; e == 1 || e == 2) reversed.adjoint[i] = {};
          EXPECT_LT(difference(numbers_of(reversed.by_sides(kTerms)), numbers_of(reversed.by_rows(kTerms))), 1e-11)
              << int(left) << int(right) << int(light) << smearing << n_source;
        }
}

/// What is not a number counts for nothing where nothing depends on it, and stays out of other antennas' terms.
TEST(PsvSidesReverse, NotANumberWhereNothingDependsOnIt) {
  for (const Term term : {Term::kComplex, Term::kFull}) {
    Reversed reversed({.pairs = {{term, term}}});
    const std::size_t n_channel = reversed.array.o.n_channel;
    const SourceAdjoints before = reversed.by_sides(kTerms);
    auto& of_antenna_2 = *std::next(reversed.array.terms.begin(), 4);  // its left side
    for (std::size_t i = 0; i < of_antenna_2.size(); i += n_channel) of_antenna_2[i + 3] = {NAN, INFINITY};
    for (std::size_t r = 0; r < reversed.rows.n_row; ++r)
      if (reversed.array.pair_of[std::size_t(reversed.baseline[r])].first == 2)
        for (std::size_t e = 0; e < 4; ++e) reversed.adjoint[(4 * r + e) * n_channel + 3] = {};
    EXPECT_LT(difference(numbers_of(reversed.by_sides(kTerms)), numbers_of(reversed.by_rows(kTerms))), 1e-11);
    EXPECT_FALSE(numbers_of(before) == numbers_of(reversed.by_sides(kTerms))) << "the test must see that channel";
  }
}

TEST(PsvSidesReverse, SaysWhatItCannotGive) {
  ThreadPool threads(1);
  const auto why = [&](const Options& options, SourceWish wish) {
    const Reversed reversed(options);
    const psv::Summed of = reversed.summed();
    return psv::adjoint::reverse_obstacle(psv::matrix::sides_plan(of, 1e-12, threads), reversed.sky, wish);
  };
  EXPECT_EQ(why({.smearing = true}, {true, true, false}), "positions of smeared or extended sources are asked for");
  EXPECT_EQ(why({.shapes = true}, {false, true, false}), "positions of smeared or extended sources are asked for");
  EXPECT_EQ(why({.shapes = true}, {false, false, true}), "shapes are asked for");
  EXPECT_EQ(why({.smearing = true, .shapes = true}, {true, false, false}), "");
  EXPECT_EQ(why({}, {true, true, true}), "");
}

}  // namespace
}  // namespace rimetree::testing
