// What is asked of reverse mode: chi-square and its gradient with respect to all unknowns cost at most four
// evaluations, however many unknowns there are. Counted in machine instructions, by valgrind's callgrind.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/benchmarks/programs.h"

namespace rimetree {
namespace {

constexpr double kMost = 4;  // evaluations

std::string obstacle() {
#ifdef RIMETREE_NOT_OPTIMISED
  return "this is no optimised build without sanitizers";
#endif
  return testing::run("valgrind --version").status != 0 ? "valgrind is not installed" : "";
}

double count(const std::string& work, const std::string& what, int times = 1) {
  const auto output = testing::run(
      "LD_BIND_NOW=1 valgrind --tool=callgrind --callgrind-out-file=/dev/null --collect-atstart=no "
      "--toggle-collect=measured " RIMETREE_GRADIENT_WORK " " +
      work + " " + what + " " + std::to_string(times));
  const double instructions = std::atof(testing::after(output.text, "Collected").c_str());
  if (output.status != 0 || instructions <= 0) ADD_FAILURE() << output.text;
  return instructions;
}

class GradientCost : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string reason = obstacle(); !reason.empty()) GTEST_SKIP() << reason;
  }
};
INSTANTIATE_TEST_SUITE_P(Work, GradientCost,
                         ::testing::Values("psv", "psv-smearing", "psv-jones", "psv-bandpass", "tree"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name)
                             if (c == '-') c = '_';
                           return name;
                         });

TEST_P(GradientCost, IsAFewEvaluations) {
  const double value = count(GetParam(), "value"), gradient = count(GetParam(), "gradient");
  ASSERT_GT(value, 0);
  std::printf("%s: %.4g instructions for a value, %.3f times as many with the gradient\n", GetParam(), value,
              gradient / value);
  EXPECT_LE(gradient, kMost * value);
  // More than the forward pass, or it has not been counted; and a pass down of three times the cost would be noticed.
  EXPECT_GT(gradient, value);
  EXPECT_GT(count(GetParam(), "gradient", 3), kMost * value);
}

}  // namespace
}  // namespace rimetree
