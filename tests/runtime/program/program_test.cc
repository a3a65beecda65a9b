// Programs against the same formulae evaluated number by number: random ones, on inputs that vary along any axes.
#include "runtime/program/program.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "runtime/core/cells/cell_loop.h"
#include "tests/runtime/program/random_formula.h"

namespace rimetree::program {
namespace {

using test::Formula;
using test::same_bits;

/// An input with its numbers; complex ones take two of the formula's.
struct Input {
  std::vector<double> numbers;
  Array array;
  Axes axes;
  std::size_t elements;
};

Input make_input(std::mt19937_64& random, const CellShape& cells, std::size_t elements) {
  Input input;
  CellShape own;
  for (int axis = 0; axis < kAxes; ++axis)
    if (random() % 2 == 0) own.extent[axis] = cells.extent[axis];
  input.axes = axes_of(own);
  input.elements = elements;
  input.array.is_complex = random() % 2 == 0;
  input.array.plane = own.size();
  std::size_t step = 1;
  for (int axis = kAxes - 1; axis >= 0; --axis) {
    const auto extent = static_cast<std::size_t>(own.extent[axis]);
    input.array.stride[static_cast<std::size_t>(axis)] = extent == 1 ? 0 : step;
    step *= extent;
  }
  std::normal_distribution<double> normal;
  for (std::size_t i = 0; i < own.size() * elements * 2; ++i) input.numbers.push_back(normal(random));
  return input;
}

/// Runs one random formula on items and cells, and number by number.
void check(std::mt19937_64& random, const CellShape& cells, std::size_t n_item) {
  const std::size_t n_input = 1 + random() % 3;
  std::vector<Input> inputs;
  for (std::size_t i = 0; i < n_input; ++i) inputs.push_back(make_input(random, cells, n_item + 1));
  Recording recording;
  std::vector<std::int32_t> given;
  std::vector<Load> loads;
  for (std::size_t i = 0; i < n_input; ++i)
    for (const bool imaginary : {false, true}) {
      if (imaginary && !inputs[i].array.is_complex) continue;
      const auto stride = static_cast<std::int32_t>(n_item > 1 ? random() % 2 : 0);
      loads.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(random() % 2), stride, imaginary});
      given.push_back(recording.load(loads.back()));
    }
  const Formula formula(given.size(), 1 + random() % 60, random);
  const std::vector<std::int32_t> names = formula.record(recording, given);

  // A real and a complex output, of any numbers.
  const std::size_t chosen[] = {names.size() - 1, random() % names.size(), random() % names.size()};
  const std::int32_t item_stride = n_item > 1 ? 1 : 0;
  const Output outputs[] = {{.array = 0, .item_stride = item_stride, .re = names[chosen[0]]},
                            {.array = 1, .item_stride = item_stride, .re = names[chosen[1]], .im = names[chosen[2]]}};
  std::vector<Axes> axes;
  std::vector<Array> in;
  for (Input& input : inputs) {
    axes.push_back(input.axes);
    input.array.numbers = input.numbers.data();
    in.push_back(input.array);
  }
  const std::size_t plane = cells.size();
  std::vector<double> real(plane * n_item, -7), complex(2 * plane * n_item, -7);
  std::array<std::size_t, kAxes> stride{};
  std::size_t step = 1;
  for (std::size_t axis = kAxes; axis-- > 0; step *= static_cast<std::size_t>(cells.extent[axis]))
    stride[axis] = cells.extent[axis] == 1 ? 0 : step;
  const Array out[] = {{real.data(), false, plane, stride}, {complex.data(), true, plane, stride}};
  const Program program(recording, outputs, axes, 0, axes_of(cells));
  program.run({.inputs = in, .outputs = out, .n_item = n_item, .cells = cells});

  std::size_t cell_number = 0;
  for_each_cell(cells, [&](const std::array<int, kAxes>& cell) {
    for (std::size_t s = 0; s < n_item; ++s) {
      std::vector<double> numbers;
      for (const Load& load : loads) {
        const Input& input = inputs[static_cast<std::size_t>(load.input)];
        const std::size_t at =
            (static_cast<std::size_t>(load.element) + s * static_cast<std::size_t>(load.item_stride)) *
                input.array.plane +
            offset_of(cell, input.array.stride);
        numbers.push_back(input.numbers[input.array.is_complex ? 2 * at + load.imaginary : at]);
      }
      const std::vector<double> wanted = formula.evaluate(numbers);
      const std::size_t i = s * plane + cell_number;
      ASSERT_TRUE(same_bits(real[i], wanted[chosen[0]])) << real[i] << " " << wanted[chosen[0]];
      ASSERT_TRUE(same_bits(complex[2 * i], wanted[chosen[1]])) << complex[2 * i] << " " << wanted[chosen[1]];
      ASSERT_TRUE(same_bits(complex[2 * i + 1], wanted[chosen[2]]));
    }
    ++cell_number;
  });
}

TEST(Program, GivesWhatTheFormulaGives) {
  std::mt19937_64 random(11);
  const CellShape shapes[] = {{},
                              {{5, 1, 1, 1}},
                              {{1, 300, 1, 1}},
                              {{3, 7, 1, 1}},
                              {{4, 130, 1, 1}},
                              {{2, 3, 4, 5}},
                              {{600, 1, 1, 1}},
                              {{9000, 2, 1, 1}}};
  for (int trial = 0; trial < 24; ++trial)
    for (const CellShape& cells : shapes)
      for (const std::size_t items : {1u, 2u, 3u, 40u}) {
        SCOPED_TRACE(to_string(cells) + ", items " + std::to_string(items) + ", trial " + std::to_string(trial));
        if (items == 40 && (trial % 4 != 0 || cells.size() > 400)) continue;
        if (cells.size() > 9000 && (trial % 8 != 0 || items > 2)) continue;  // items one after the other
        check(random, cells, items);
        if (HasFatalFailure()) return;
      }
}

TEST(Program, NothingIsDoneForNoItems) {
  Recording recording;
  const std::int32_t name = recording.load({0, 0, 1, false});
  const Output output{.item_stride = 1, .re = name};
  const Axes axes[] = {0};
  const Program program(recording, {&output, 1}, axes, 0, 0);
  const Array none{};
  program.run({.inputs = {&none, 1}, .outputs = {&none, 1}, .n_item = 0});
}

// One load of k, one sine and cosine together, three joined products: not what the text would have.
TEST(Program, DoesNothingTwice) {
  Recording recording;
  const auto k = recording.load({0, 0, 0, false}), unused = recording.load({0, 1, 0, false});
  recording.make(Op::exp, unused);
  const auto sine = recording.make(Op::sin, k), cosine = recording.make(Op::cos, k);
  EXPECT_EQ(recording.make(Op::sin, k), sine);
  EXPECT_EQ(recording.make(Op::multiply, cosine, sine), recording.make(Op::multiply, sine, cosine));
  const auto sum =
      recording.make(Op::add, recording.make(Op::multiply, sine, sine), recording.make(Op::multiply, cosine, cosine));
  const Output output{.re = recording.make(Op::subtract, sum, recording.constant(0))};
  const Axes axes[] = {bit_of(Axis::time)};
  const Program program(recording, {&output, 1}, axes, 0, axes[0]);
  EXPECT_EQ(program.n_instruction(), 4u);  // load, sine and cosine, sum of products, store
  EXPECT_EQ(recording.make(Op::add, recording.constant(2), recording.constant(3)), recording.constant(5));
  EXPECT_EQ(recording.make(Op::multiply, recording.make(Op::negate, k), recording.make(Op::negate, k)),
            recording.make(Op::multiply, k, k));
}

// Blocks are long where little is computed. A tier that only hands to each item what others have computed, or that has
// nothing to hand on, does not decide about that.
TEST(Program, TheTierThatComputesSaysWhetherItStreams) {
  const Axes frequency = bit_of(Axis::frequency), both = frequency | bit_of(Axis::time);
  const auto streams = [](Axes input, Axes cells, int sines, std::int32_t item_stride) {
    Recording recording;
    std::int32_t x = recording.load({0, 0, 0, false});
    for (int i = 0; i < sines; ++i) x = recording.make(Op::sin, x);
    const Output outputs[] = {{.array = 0, .item_stride = item_stride, .re = x}};
    return Program(recording, outputs, std::span(&input, 1), 0, cells).streams();
  };
  for (const std::int32_t item_stride : {0, 1}) {
    SCOPED_TRACE(item_stride);
    EXPECT_TRUE(streams(both, both, 0, item_stride));
    EXPECT_TRUE(streams(both, both, 1, item_stride));
    EXPECT_FALSE(streams(both, both, 10, item_stride));
    EXPECT_TRUE(streams(frequency, both, 10, item_stride));  // ten sines of each frequency are little for all cells
  }
}

TEST(Program, AddsToWhatIsThere) {
  Recording recording;
  const Output output{.re = recording.load({0, 0, 0, false})};
  const Axes axes[] = {axes_of({{3, 4, 1, 1}})};
  std::vector<double> in(12), out{100, 200, 300};
  for (std::size_t i = 0; i < 12; ++i) in[i] = double(i);
  const Array input{in.data(), false, 12, {4, 1, 0, 0}}, target{out.data(), false, 3, {1, 0, 0, 0}};
  const Program program(recording, {&output, 1}, axes, 0, axes[0]);
  program.run({.inputs = {&input, 1}, .outputs = {&target, 1}, .cells = {{3, 4, 1, 1}}, .adds = true});
  EXPECT_EQ(out, (std::vector<double>{106, 222, 338}));
}

// Adding up along any axes, and cells shared by several calls: nothing is done twice and nothing left out.
TEST(Program, AddsUpAlongWhatATargetDoesNotVary) {
  const CellShape cells{{3, 300, 2, 1}};
  const std::size_t n = cells.size();
  std::vector<double> numbers(2 * n);
  for (std::size_t i = 0; i < 2 * n; ++i) numbers[i] = std::sin(double(i));
  const Axes all = axes_of(cells);
  for (int kept = 0; kept < 8; ++kept) {
    CellShape own = cells;
    for (int axis = 0; axis < 3; ++axis)
      if ((kept >> axis & 1) == 0) own.extent[axis] = 1;
    std::array<std::size_t, kAxes> stride{}, full{600, 2, 1, 0};
    std::size_t step = 1;
    for (std::size_t axis = kAxes; axis-- > 0; step *= static_cast<std::size_t>(own.extent[axis]))
      stride[axis] = own.extent[axis] == 1 ? 0 : step;
    std::vector<double> wanted(2 * own.size(), 5), real(own.size(), 5), complex(2 * own.size(), 5);
    std::size_t i = 0;
    for_each_cell(cells, [&](const std::array<int, kAxes>& cell) {
      const std::size_t at = offset_of(cell, stride);
      wanted[2 * at] += numbers[2 * i];
      wanted[2 * at + 1] += numbers[2 * i++ + 1];
    });
    Recording recording;
    const auto re = recording.load({0, 0, 0, false}), im = recording.load({0, 0, 0, true});
    const Output outputs[] = {{.array = 0, .re = re}, {.array = 1, .re = re, .im = im}};
    const Program program(recording, outputs, {&all, 1}, 0, all);
    const Array in{numbers.data(), true, n, full};
    const Array out[] = {{real.data(), false, own.size(), stride}, {complex.data(), true, own.size(), stride}};
    program.run({.inputs = {&in, 1}, .outputs = out, .cells = cells, .adds = true});
    for (std::size_t k = 0; k < own.size(); ++k) {
      ASSERT_NEAR(real[k], wanted[2 * k], 1e-12) << "kept " << kept;
      ASSERT_NEAR(complex[2 * k], wanted[2 * k], 1e-12);
      ASSERT_NEAR(complex[2 * k + 1], wanted[2 * k + 1], 1e-12);
    }
  }
}

TEST(Program, SeveralCallsShareTheCells) {
  const CellShape cells{{7, 130, 1, 1}};
  const Axes all = axes_of(cells);
  Recording recording;
  const auto x = recording.load({0, 0, 0, false});
  const Output output{.re = recording.make(Op::multiply, x, recording.coordinate(Coordinate::time_s))};
  const Program program(recording, {&output, 1}, {&all, 1}, all, all);
  std::vector<double> in(910), time(7);
  for (std::size_t i = 0; i < 910; ++i) in[i] = double(i);
  for (std::size_t i = 0; i < 7; ++i) time[i] = 1 + double(i);
  const Array input{in.data(), false, 910, {130, 1, 0, 0}};
  for (const std::size_t parts : {1u, 2u, 3u, 4u, 50u}) {
    std::vector<double> out(910, -1);
    const Array target{out.data(), false, 910, {130, 1, 0, 0}};
    for (std::size_t part = 0; part < parts; ++part) {
      Data data{.inputs = {&input, 1}, .outputs = {&target, 1}, .cells = cells, .part = part, .n_part = parts};
      data.coordinates[0] = time.data();
      program.run(data);
    }
    for (std::size_t i = 0; i < 910; ++i) ASSERT_EQ(out[i], in[i] * time[i / 130]) << parts << " parts";
  }
}

}  // namespace
}  // namespace rimetree::program
