// Jones terms that many baselines have in common go into the brightness: a visibility is the same alone, where it keeps
// its terms, and among many.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/forest_fixture.h"

namespace rimetree {
namespace {

using test::array;
using test::complex_array;
using test::TestForest;

constexpr int kAntennas = 12, kSources = 5;
constexpr std::int64_t kChannels = 3;

struct FoldedCase {
  const char* name;
  bool matrices, along_channels, is_unpolarised;
  int kinds;
};
std::string name_of(const ::testing::TestParamInfo<FoldedCase>& info) { return info.param.name; }

class FoldedTerms : public ::testing::TestWithParam<FoldedCase> {
 protected:
  /// All baselines of antennas with so many kinds of terms; gives the names of their nodes.
  std::vector<std::string> write(TestForest& forest) {
    const FoldedCase& of = GetParam();
    std::vector<double> lmn;
    for (int s = 0; s < kSources; ++s) {
      const double l = place_(random_), m = place_(random_);
      lmn.insert(lmn.end(), {l, m, std::sqrt(1 - l * l - m * m)});
    }
    forest.constant("lmn", array({kSources, 3}, lmn));
    if (of.is_unpolarised)
      forest.constant("b", array({kSources}, std::vector<double>(kSources, 1.5)));
    else
      forest.constant("b", numbers({kSources, 2, 2}));
    std::vector<std::int64_t> shape{kSources};
    if (of.matrices) shape.insert(shape.end(), {2, 2});
    if (of.along_channels) shape.insert(shape.end(), {1, kChannels});
    for (int k = 0; k < of.kinds; ++k) {
      const std::string name = "E" + std::to_string(k);
      forest.constant(name, numbers(shape), of.along_channels ? 2 : 0).node(name + "H", "ConjTranspose", {name});
    }
    std::vector<std::string> names;
    for (int p = 0; p < kAntennas; ++p)
      for (int q = p + 1; q < kAntennas; ++q) {
        const std::string pq = std::to_string(p) + "_" + std::to_string(q);
        forest.constant("uvw" + pq, array({3}, {300 * place_(random_), 300 * place_(random_), 10}));
        const std::string first = "E" + std::to_string(p % of.kinds), second = "E" + std::to_string(q % of.kinds);
        forest.node("v" + pq, "PSV", {"lmn", "b", "uvw" + pq, "jones=" + first, "jones=" + second + "H"});
        names.push_back("v" + pq);
      }
    return names;
  }

 private:
  StateArray numbers(std::vector<std::int64_t> shape) {
    std::size_t count = 1;
    for (const std::int64_t length : shape) count *= static_cast<std::size_t>(length);
    std::vector<Complex<double>> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back({normal_(random_), normal_(random_)});
    return complex_array(std::move(shape), values);
  }
  std::mt19937 random_{7};
  std::normal_distribution<double> normal_{0, 1};
  std::uniform_real_distribution<double> place_{-0.02, 0.02};
};

TEST_P(FoldedTerms, AreTheSameAmongManyBaselinesAsAlone) {
  TestForest forest;
  const std::vector<std::string> names = write(forest);
  std::vector<ResultPtr> alone;
  for (const std::string& name : names) alone.push_back(forest.evaluate(name));  // by an evaluator of its own
  const auto many = std::make_shared<Evaluator>(forest.built, EvaluatorOptions{.threads = 2});
  std::vector<int> roots;
  for (const std::string& name : names) roots.push_back(forest.built->find(name));
  const std::vector<ResultPtr> together = many->evaluate(forest.request, roots);
  const auto says_so = [](const std::string& text) {
    return text.find("products of brightness and Jones terms") != std::string::npos;
  };
  EXPECT_EQ(std::ranges::any_of(many->notes().list(), says_so), GetParam().kinds < 3);
  bool is_expected = false;
  for (const auto& [node, description] : many->describe(forest.request)) is_expected |= says_so(description.text);
  EXPECT_EQ(is_expected, GetParam().kinds < 3);
  for (std::size_t i = 0; i < names.size(); ++i) {
    test::expect_ok(together[i]);
    for (std::size_t e = 0; e < 4; ++e)
      for (std::size_t f = 0; f < kChannels; ++f)
        test::expect_near(test::value_at(together[i]->value, e, 0, f), test::value_at(alone[i]->value, e, 0, f), 1e-12);
  }
}

INSTANTIATE_TEST_SUITE_P(Terms, FoldedTerms,
                         ::testing::Values(FoldedCase{"OneNumber", false, false, true, 1},
                                           FoldedCase{"TwoNumbers", false, false, false, 2},
                                           FoldedCase{"OneMatrix", true, false, false, 1},
                                           FoldedCase{"TwoMatrices", true, false, true, 2},
                                           FoldedCase{"NumbersAlongChannels", false, true, false, 1},
                                           FoldedCase{"MatricesAlongChannels", true, true, false, 1},
                                           FoldedCase{"FewBaselinesOfEach", true, true, false, 5}),
                         name_of);

}  // namespace
}  // namespace rimetree
