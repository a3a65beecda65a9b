// Programs as threads of devices run them against the same formulae evaluated number by number: random ones, of stacks.
#include "runtime/program/thread_program.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>

#include "runtime/program/pairs.h"
#include "tests/runtime/program/random_formula.h"

namespace rimetree::program {
namespace {

using test::Formula;
using test::same_bits;

/// Inputs of one cell: numbers by input, element and part; and what was stored, by element.
struct OneCell {
  const std::vector<std::vector<double>>& inputs;
  std::size_t entry = 0;
  std::map<std::size_t, std::pair<double, double>>& stored;

  double coordinate(int which) const { return 10.0 + which; }
  double at(const ThreadOperation& operation, int part) const {
    return inputs[operation.in[0]]
                 [2 * (operation.element() + entry * operation.stride()) + static_cast<std::size_t>(part)];
  }
  void load(const ThreadOperation& operation, double* first, double* second) const {
    if (first != nullptr) *first = at(operation, operation.part == ThreadOperation::imaginary ? 1 : 0);
    if (second != nullptr) *second = at(operation, 1);
  }
  void look_up(const ThreadOperation&, std::size_t, double*, double*) const { FAIL() << "there are no tables"; }
  void store(const ThreadOperation& operation, double re, double im) const {
    stored[operation.element() + entry * operation.stride()] = {re, im};
  }
};

void run(const ThreadProgram& program, const OneCell& cell) {
  run_thread<ThreadProgram::kMostRegisters>(program.operations.data(), static_cast<int>(program.operations.size()),
                                            program.numbers.data(), cell);
}

TEST(ThreadProgram, GivesWhatTheFormulaGivesForEachEntry) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 300; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const std::size_t n_item = trial % 3 == 0 ? 4 : 1, n_input = 1 + random() % 3;
    std::vector<std::vector<double>> inputs(n_input);
    for (auto& input : inputs)
      for (std::size_t i = 0; i < 2 * (n_item + 1); ++i) input.push_back(normal(random));
    Recording recording;
    std::vector<std::int32_t> given;
    std::vector<Load> loads;
    for (std::size_t i = 0; i < n_input; ++i)
      for (const bool imaginary : {false, true}) {
        loads.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(random() % 2),
                         static_cast<std::int32_t>(n_item > 1 ? random() % 2 : 0), imaginary});
        given.push_back(recording.load(loads.back()));
      }
    const Formula formula(given.size(), 1 + random() % 80, random, trial % 2 == 0);
    const std::vector<std::int32_t> names = formula.record(recording, given);
    const std::size_t re = names.size() - 1, im = random() % names.size();
    const bool is_complex = trial % 4 != 0;
    const Output output{
        .element = 3, .item_stride = n_item > 1 ? 2 : 0, .re = names[re], .im = is_complex ? names[im] : -1};
    const auto program = thread_program(recording, {&output, 1}, n_item);
    ASSERT_NE(program, nullptr);
    EXPECT_EQ(program->n_item, n_item);
    std::map<std::size_t, std::pair<double, double>> stored;
    for (std::size_t entry = 0; entry < n_item; ++entry) {
      run(*program, {inputs, entry, stored});
      std::vector<double> numbers;
      for (const Load& load : loads)
        numbers.push_back(
            inputs[static_cast<std::size_t>(load.input)]
                  [2 * (static_cast<std::size_t>(load.element) + entry * static_cast<std::size_t>(load.item_stride)) +
                   load.imaginary]);
      const std::vector<double> wanted = formula.evaluate(numbers);
      const auto& [real, imaginary] = stored.at(3 + entry * static_cast<std::size_t>(output.item_stride));
      ASSERT_TRUE(same_bits(real, wanted[re])) << real << " " << wanted[re];
      ASSERT_TRUE(!is_complex || same_bits(imaginary, wanted[im])) << imaginary << " " << wanted[im];
    }
    EXPECT_EQ(stored.size(), n_item);
  }
}

TEST(ThreadProgram, AllFunctionsAreThoseOfTheHost) {
  const std::vector<std::vector<double>> inputs{{0.37, 0}};
  for (int i = 0; i < kOps; ++i) {
    const Op op = static_cast<Op>(i);
    if (operands_of(op) == 0 || operands_of(op) > 2 || op == Op::sin_cos || op == Op::look_up || is_of_pairs(op))
      continue;
    Recording recording;
    const std::int32_t x = recording.load({}), y = recording.coordinate(Coordinate::frequency_hz);
    const Output output{.re = recording.make(op, x, operands_of(op) > 1 ? y : -1)};
    std::map<std::size_t, std::pair<double, double>> stored;
    run(*thread_program(recording, {&output, 1}, 1), {inputs, 0, stored});
    EXPECT_TRUE(same_bits(stored.at(0).first, apply(op, 0.37, 12.0))) << static_cast<int>(op);
  }
}

TEST(ThreadProgram, SineAndCosineOfOneNumberAreOneOperation) {
  Recording recording;
  const std::int32_t x = recording.load({});
  const Output output{.re = recording.make(Op::cos, x), .im = recording.make(Op::sin, x)};
  const auto program = thread_program(recording, {&output, 1}, 1);
  EXPECT_EQ(program->operations.size(), 3u);  // load, both, store
  std::map<std::size_t, std::pair<double, double>> stored;
  const std::vector<std::vector<double>> inputs{{0.37, 0}};
  run(*program, {inputs, 0, stored});
  EXPECT_EQ(stored.at(0), std::pair(apply(Op::cos, 0.37), apply(Op::sin, 0.37)));
}

TEST(ThreadProgram, LongSumsNeedFewRegistersAndTooManyNumbersAreRefused) {
  Recording sum, crossed;
  std::int32_t total = -1, product = -1;
  constexpr std::int32_t kTerms = 4 * ThreadProgram::kMostRegisters;
  for (std::int32_t i = 0; i < kTerms; ++i) {
    const std::int32_t term = sum.make(Op::sin, sum.load({.element = i}));
    total = total < 0 ? term : sum.make(Op::add, total, term);
  }
  const Output of_sum{.re = total};
  const auto program = thread_program(sum, {&of_sum, 1}, 1);
  ASSERT_NE(program, nullptr);
  EXPECT_LE(program->n_register, 8);
  // Each is read twice, the last one of all first.
  std::vector<std::int32_t> numbers;
  for (std::int32_t i = 0; i < kTerms; ++i)
    numbers.push_back(
        crossed.make(Op::sin, i == 0 ? crossed.load({}) : crossed.make(Op::add, numbers.back(), crossed.constant(1))));
  for (std::int32_t i = kTerms; i-- > 0;)
    product = product < 0 ? numbers.back() : crossed.make(Op::divide, product, numbers[static_cast<std::size_t>(i)]);
  const Output of_crossed{.re = product};
  EXPECT_EQ(thread_program(crossed, {&of_crossed, 1}, 1), nullptr);
}

}  // namespace
}  // namespace rimetree::program
