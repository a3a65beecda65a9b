// Chains of terms of different intervals: solved for together, and in turns where equations would be too large.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

/// Bandpasses and gains of antennas, on the other side of each other in the chain if `inside_out`.
class ChainScene {
 public:
  static constexpr int kAntennas = 14;

  ChainScene(bool inside_out, std::uint64_t memory_budget) {
    std::vector<double> times, channels, slots{5e9 - 5}, edges{1e9 - 5e6};
    for (int t = 0; t < kTimes; ++t) times.push_back(5e9 + 10 * t), slots.push_back(5e9 + 5 + 10 * t);
    for (int f = 0; f < kChannels; ++f) channels.push_back(1e9 + 1e7 * f), edges.push_back(1e9 + 5e6 + 1e7 * f);
    forest_.request.cells = cells(times, channels, 10, 1e7);
    forest_.constant("zero", 0.0);
    forest_.constant("model", complex_array({2, 2}, {{5, 0}, {0, 0}, {0, 0}, {4, 0}}));
    for (int p = 0; p < kAntennas; ++p) {
      term("B", p, "freq_edges_hz", edges, 1);
      term("G", p, "time_edges_s", slots, 0);
    }
    TestForest::Children condeqs;
    for (int p = 0; p < kAntennas; ++p)
      for (int q = p + 1; q < kAntennas; ++q) condeqs.push_back(baseline(p, q, inside_out));
    forest_.node("solver", "Solver", condeqs, {{"iterations", std::int64_t{50}}});
    forest_.node("device", "DeviceMemory", {}, {{"device", "none"}});
    built_ = Forest::build(forest_.specs(), registry());
    evaluator_ = std::make_unique<Evaluator>(built_, EvaluatorOptions{.threads = 2, .memory_budget = memory_budget});
  }
  SolveReport solve() {
    expect_ok(evaluator_->evaluate(forest_.request, "solver"));
    return evaluator_->solves().reports.front();
  }

 private:
  static constexpr int kTimes = 10, kChannels = 12;
  static constexpr double kNoise = 0.05;

  double normal(double sigma) { return std::normal_distribution<>(0, sigma)(random_); }

  void term(const std::string& name, int p, const std::string& field, const std::vector<double>& edges, int rank) {
    TestForest::Children elements;
    const auto n = static_cast<std::int64_t>(edges.size());
    for (const char* feed : {"x", "y"}) {
      const std::string element = name + feed + std::to_string(p);
      for (const char* part : {"r", "i"})
        forest_.node(element + part, "Parm", {},
                     {{"value", *part == 'r' ? 1.0 : 0.0},
                      {"solvable", true},
                      {"normalised", std::int64_t{rank}},
                      {field, array({n}, edges)}});
      forest_.node(element, "ToComplex", {element + "r", element + "i"});
      for (std::int64_t k = 0; k + 1 < n; ++k) truth_[element].push_back({1 + normal(0.1), normal(0.3)});
      elements.push_back(element);
    }
    const std::string node = name + std::to_string(p);
    forest_.node(node, "Matrix22", {elements[0], "zero", "zero", elements[1]})
        .node(node + "H", "ConjTranspose", {node});
  }

  std::string baseline(int p, int q, bool inside_out) {
    const std::string one = std::to_string(p), other = std::to_string(q), pq = one + ":" + other;
    std::vector<Complex<double>> data;
    for (int e = 0; e < 4; ++e)
      for (std::size_t t = 0; t < kTimes; ++t)
        for (std::size_t f = 0; f < kChannels; ++f) {
          const std::string feed = e == 0 ? "x" : "y";
          Complex<double> value{normal(kNoise), normal(kNoise)};
          if (e == 0 || e == 3)
            value += truth_["B" + feed + one][f] * truth_["G" + feed + one][t] * Complex<double>(e == 0 ? 5 : 4) *
                     conj(truth_["B" + feed + other][f] * truth_["G" + feed + other][t]);
          data.push_back(value);
        }
    forest_.constant("data" + pq, complex_array({2, 2, kTimes, kChannels}, data), 2);
    const std::string outer = inside_out ? "B" : "G", inner = inside_out ? "G" : "B";
    forest_.node("V" + pq, "MatrixMultiply",
                 {outer + one, inner + one, "model", inner + other + "H", outer + other + "H"});
    return forest_.node("c" + pq, "Condeq", {"data" + pq, "V" + pq}).specs().back().name;
  }

  TestForest forest_;
  std::map<std::string, std::vector<Complex<double>>> truth_;
  std::shared_ptr<Forest> built_;
  std::unique_ptr<Evaluator> evaluator_;
  std::mt19937_64 random_{3};
};

bool in_turns(const SolveReport& report) { return report.method.find("one term after the other") != std::string::npos; }

/// Complex numbers with their phases relative to those of the first antenna: data tell no others.
struct Numbers {
  std::vector<Complex<double>> value;
  std::vector<double> sigma;
};
std::map<std::string, Numbers> numbers_of(const SolveReport& report) {
  std::map<std::string, Numbers> found;
  std::map<std::string, const SolvedParm*> parms;
  for (const SolvedParm& parm : report.parms) parms[parm.parm] = &parm;
  const auto value = [&](const std::string& name, std::size_t k) {
    return Complex<double>(parms.at(name + "r")->value[k], parms.at(name + "i")->value[k]);
  };
  for (const auto& [real, parm] : parms) {
    if (real.back() != 'r') continue;
    const std::string name = real.substr(0, real.size() - 1), first = name.substr(0, 2) + "0";
    for (std::size_t k = 0; k < parm->value.size(); ++k) {
      const Complex<double> reference = value(first, k);
      found[name].value.push_back(value(name, k) * conj(reference) * (1 / abs(reference)));
      found[name].sigma.push_back(std::hypot(parm->sigma[k], parms.at(name + "i")->sigma[k]));
    }
  }
  return found;
}

TEST(SolveInTurns, SolutionsAndErrorsAreThoseOfAllTermsTogether) {
  constexpr std::uint64_t kEnough = 1u << 30, kLittle = 12u << 20;
  for (const bool inside_out : {false, true}) {
    const SolveReport together = ChainScene(inside_out, kEnough).solve(),
                      turns = ChainScene(inside_out, kLittle).solve();
    EXPECT_FALSE(in_turns(together)) << together.method;
    EXPECT_TRUE(in_turns(turns)) << turns.method;
    ASSERT_EQ(turns.groups.size(), 1u);
    EXPECT_TRUE(together.groups[0].converged && turns.groups[0].converged);
    EXPECT_EQ(turns.groups[0].rank, together.groups[0].rank);
    EXPECT_NEAR(turns.groups[0].chi_square, together.groups[0].chi_square, 1e-9 * together.groups[0].chi_square);
    const auto numbers = numbers_of(turns), expected = numbers_of(together);
    ASSERT_EQ(numbers.size(), 4u * ChainScene::kAntennas);
    for (const auto& [name, of] : numbers)
      for (std::size_t k = 0; k < of.value.size(); ++k) {
        const Numbers& other = expected.at(name);
        EXPECT_LE(abs(of.value[k] - other.value[k]), 0.01 * other.sigma[k]) << name;
        EXPECT_NEAR(of.sigma[k], other.sigma[k], 0.01 * other.sigma[k]) << name;
      }
    for (const SolvedParm& parm : turns.parms) {
      EXPECT_EQ(parm.normalised, parm.parm[0] == 'B');
      EXPECT_EQ(std::count(parm.flag.begin(), parm.flag.end(), 0), static_cast<std::ptrdiff_t>(parm.flag.size()));
    }
  }
}

}  // namespace
}  // namespace rimetree::test
