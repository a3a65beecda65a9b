// Trees in which sums over sources are taken together give what the same trees give node by node.
#include <gtest/gtest.h>

#include "runtime/evaluate/evaluator.h"
#include "tests/support/random_rime.h"
#include "tests/support/same_values.h"

namespace rimetree {
namespace {

using test::expect_same, test::RandomRime, test::Trouble;

class RandomTrees : public ::testing::TestWithParam<std::tuple<int, Trouble, std::string>> {};

TEST_P(RandomTrees, GiveTheSameEitherWay) {
  const auto [first, trouble, device] = GetParam();
  for (int seed = first; seed < first + 60; ++seed) {
    RandomRime rime(static_cast<unsigned>(seed), trouble);
    const std::string what = "seed " + std::to_string(seed);
    EvaluatorOptions options{.threads = 2, .device = {device, 0}};
    std::vector<ResultPtr> results[2];
    ValueAndGradient gradient[2];
    for (const bool as_written : {true, false}) {
      const auto forest = Forest::build(rime.tree.specs(), test::registry());
      options.as_written = as_written;
      Evaluator evaluator(forest, options);
      std::vector<int> roots;
      for (const std::string& root : rime.roots) roots.push_back(forest->find(root));
      Request request = rime.tree.request;
      request.derivatives = true;
      results[as_written] = evaluator.evaluate(request, roots);
      request.derivatives = false;
      gradient[as_written] = evaluator.value_and_gradient(request, forest->find(rime.objective));
      if (trouble == Trouble::none) {
        EXPECT_EQ(&evaluator.evaluated() == &evaluator.forest(), as_written) << what << ": nothing was recognised";
      }
    }
    for (std::size_t i = 0; i < rime.roots.size(); ++i)
      expect_same(*results[0][i], *results[1][i], what + " " + rime.roots[i]);
    ASSERT_EQ(gradient[0].value->status, gradient[1].value->status) << what;
    if (!gradient[1].value->ok()) continue;
    const double chi_square = gradient[1].value->value.real()[0];
    EXPECT_NEAR(gradient[0].value->value.real()[0], chi_square, 1e-11 * chi_square) << what;
    ASSERT_EQ(gradient[0].gradient.by_node().size(), gradient[1].gradient.by_node().size()) << what;
    for (const auto& [node, expected] : gradient[1].gradient.by_node())
      for (std::size_t k = 0; k < expected.size(); ++k)
        EXPECT_NEAR(gradient[0].gradient.of(node)[k], expected[k], 1e-11 * (chi_square + std::abs(expected[k])))
            << what;
    if (HasFailure()) return;
  }
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<int, Trouble, std::string>>& info) {
  static const char* const kTroubles[] = {"Sound", "Flagged", "FlaggedByElement", "Missing", "Failing"};
  const auto& [first, trouble, device] = info.param;
  return kTroubles[static_cast<int>(trouble)] + device + std::to_string(first);
}

INSTANTIATE_TEST_SUITE_P(Sound, RandomTrees,
                         ::testing::Combine(::testing::Values(0, 100), ::testing::Values(Trouble::none),
                                            ::testing::Values("none", "simulated")),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Troubled, RandomTrees,
                         ::testing::Combine(::testing::Values(1000),
                                            ::testing::Values(Trouble::flagged, Trouble::flagged_by_element,
                                                              Trouble::missing, Trouble::failing),
                                            ::testing::Values("none", "simulated")),
                         name_of);

}  // namespace
}  // namespace rimetree
