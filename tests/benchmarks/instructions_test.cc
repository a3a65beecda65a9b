// How many machine instructions the hot paths take, counted by valgrind's callgrind. Counts hardly depend on the
// machine or its load, so that a slowdown shows where a timed test would not dare to fail. They do depend on the
// compiler and on the instruction set (valgrind knows no AVX-512, so these are of AVX2): with others there is nothing
// to compare with.
//
// What the C library's copies count depends on the processor: up to 4 % of the direct sums and 6 % of the delay method.
//
// Where a change makes one of them larger for a good reason, or smaller: store what the test prints.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "tests/benchmarks/programs.h"

namespace rimetree {
namespace {

using testing::after;
using testing::Output;
using testing::run;

constexpr double kTolerance = 0.12;

struct Stored {
  const char* work;
  double per_unit;  ///< instructions per source-visibility, row, or node; g++ 12, AVX2
};
constexpr Stored kStored[] = {
    {"psv-double", 7.79},
    {"psv-single", 4.52},
    {"psv-smearing", 12.07},
    {"psv-shapes-double", 4.60},
    {"psv-shapes-single", 3.48},
    {"psv-delay", 374600},
    {"building", 4116},
    {"tree", 2161},
    // Of these some 1500 look for sums of many terms, which is done once for three evaluations here.
    {"tree-fused", 3560},
};

/// Why instructions cannot be compared here; empty if they can.
std::string obstacle() {
#ifdef RIMETREE_NOT_OPTIMISED
  return "this is no optimised build without sanitizers";
#endif
#if !defined(__GNUC__) || defined(__clang__) || __GNUC__ != 12
  return std::string("instructions were counted with g++ 12, this is built by ") + __VERSION__;
#endif
  if (run("valgrind --version").status != 0) return "valgrind is not installed";
  return "";
}

struct Count {
  double per_unit = 0;
  std::string instruction_set;
};
std::optional<Count> count(const std::string& work, double share = 0) {
  // Collecting is switched at the entry and the exit of both: inside measured(), but not inside the nodes' classes.
  const Output output =
      run("LD_BIND_NOW=1 valgrind --tool=callgrind --callgrind-out-file=/dev/null --collect-atstart=no "
          "--toggle-collect=measured '--toggle-collect=rimetree::Contract::evaluate_batch*' "
          "'--toggle-collect=rimetree::Fusion::run*' "
          "'--toggle-collect=rimetree::TermPrograms::execute*' " RIMETREE_INSTRUCTION_WORK " " +
          work + " " + std::to_string(share));
  const double collected = std::atof(after(output.text, "Collected").c_str());
  const double units = std::atof(after(output.text, "units").c_str());
  if (output.status != 0 || collected <= 0 || units <= 0) {
    ADD_FAILURE() << output.text;
    return std::nullopt;
  }
  return Count{collected / units, after(output.text, "instruction set")};
}

bool too_many(double per_unit, const Stored& stored) { return per_unit > stored.per_unit * (1 + kTolerance); }

class Instructions : public ::testing::TestWithParam<Stored> {
 protected:
  void SetUp() override {
    if (const std::string reason = obstacle(); !reason.empty()) GTEST_SKIP() << reason;
  }
};
INSTANTIATE_TEST_SUITE_P(Work, Instructions, ::testing::ValuesIn(kStored), [](const auto& info) {
  std::string name = info.param.work;
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
});

TEST_P(Instructions, AreNotMoreThanTheyWere) {
  const Stored& stored = GetParam();
  const auto counted = count(stored.work);
  ASSERT_TRUE(counted);
  if (counted->instruction_set != "AVX2")
    GTEST_SKIP() << "instructions were counted with AVX2, this is " << counted->instruction_set;
  std::printf("%s: %.4g instructions per unit, stored are %.4g\n", stored.work, counted->per_unit, stored.per_unit);
  EXPECT_FALSE(too_many(counted->per_unit, stored));
  // A slowdown by a quarter would be noticed.
  const auto slower = count(stored.work, 0.25);
  ASSERT_TRUE(slower);
  EXPECT_TRUE(too_many(slower->per_unit, stored)) << slower->per_unit << ": lower the stored count";
}

}  // namespace
}  // namespace rimetree
