// Complex sums, differences and multiples by real numbers, which are taken as pairs of real numbers where they can be:
// held to the same done number by number.
#include "runtime/program/pairs.h"

#include <gtest/gtest.h>

#include <complex>
#include <numeric>
#include <optional>
#include <random>

#include "runtime/core/cells/cell_loop.h"
#include "runtime/program/recording.h"

namespace rimetree::program {
namespace {

using Complex = std::complex<double>;

/// Numbers of an input on all cells, or on those along some axes.
struct Input {
  Input(const CellShape& cells, Axes axes, bool is_complex, std::size_t elements, std::mt19937_64& random)
      : axes(axes) {
    std::size_t step = 1;
    for (int axis = kAxes; axis-- > 0;) {
      if ((axes & bit_of(static_cast<Axis>(axis))) == 0) continue;
      array.stride[static_cast<std::size_t>(axis)] = step;
      step *= static_cast<std::size_t>(cells.extent[axis]);
    }
    array.plane = step;
    array.is_complex = is_complex;
    std::normal_distribution<double> normal;
    numbers.resize(2 * step * elements);
    for (double& number : numbers) number = normal(random);
    array.numbers = numbers.data();
  }
  Complex at(std::size_t element, const std::array<int, kAxes>& cell) const {
    const std::size_t i = element * array.plane + offset_of(cell, array.stride);
    return array.is_complex ? Complex(numbers[2 * i], numbers[2 * i + 1]) : Complex(numbers[i]);
  }
  Axes axes;
  std::vector<double> numbers;
  Array array;
};

enum class Formula { sums, differences_and_multiples, products, sums_of_products, with_conjugates };

Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// x + y + ..., or s x - y - ..., or x y z ..., or 0 + x y + y z + ..., or x y* ...: s is real.
Complex formula(Formula which, Complex s, const std::vector<Complex>& x) {
  if (which == Formula::sums_of_products) {
    Complex z;
    for (std::size_t i = 1; i < x.size(); ++i) z += product(x[i - 1], x[i]);
    return z;
  }
  Complex z =
      which == Formula::differences_and_multiples ? Complex(s.real() * x[0].real(), s.real() * x[0].imag()) : x[0];
  for (std::size_t i = 1; i < x.size(); ++i) {
    if (which == Formula::sums) z += x[i];
    if (which == Formula::differences_and_multiples) z -= x[i];
    if (which == Formula::products) z = product(z, x[i]);
    if (which == Formula::with_conjugates) z = product(z, std::conj(x[i]));
  }
  return z;
}

struct Names {
  std::int32_t re, im;
};
Names record(Recording& recording, Formula which, std::int32_t s, const std::vector<Names>& x) {
  const auto make = [&](Op op, std::int32_t a, std::int32_t b) { return recording.make(op, a, b); };
  const auto product = [&](Names a, Names b) -> Names {
    return {make(Op::subtract, make(Op::multiply, a.re, b.re), make(Op::multiply, a.im, b.im)),
            make(Op::add, make(Op::multiply, a.re, b.im), make(Op::multiply, a.im, b.re))};
  };
  if (which == Formula::sums_of_products) {
    Names sum{recording.constant(0), recording.constant(0)};
    for (std::size_t i = 1; i < x.size(); ++i) {
      const Names term = product(x[i - 1], x[i]);
      sum = {make(Op::add, sum.re, term.re), make(Op::add, sum.im, term.im)};
    }
    return sum;
  }
  Names z = x[0];
  if (which == Formula::differences_and_multiples) z = {make(Op::multiply, s, z.re), make(Op::multiply, s, z.im)};
  for (std::size_t i = 1; i < x.size(); ++i) {
    if (which == Formula::sums) z = {make(Op::add, z.re, x[i].re), make(Op::add, z.im, x[i].im)};
    if (which == Formula::differences_and_multiples)
      z = {make(Op::subtract, z.re, x[i].re), make(Op::subtract, z.im, x[i].im)};
    if (which == Formula::products) z = product(z, x[i]);
    if (which == Formula::with_conjugates) z = product(z, {x[i].re, recording.make(Op::negate, x[i].im)});
  }
  return z;
}

struct Case {
  CellShape cells;
  Formula formula = Formula::sums;
  std::size_t n_child = 3, n_item = 1, n_part = 1;
  Axes factor = 0;  ///< axes of s
  /// Instead of an input, s.
  std::optional<Coordinate> coordinate;
  bool one_broadcast = false;  ///< the last child varies along no axis
};

/// Whether pairs are taken.
bool check(const Case& given) {
  std::mt19937_64 random(7);
  const Axes all = axes_of(given.cells);
  std::vector<Input> inputs;
  inputs.emplace_back(given.cells, given.factor, false, 1, random);
  for (std::size_t i = 0; i < given.n_child; ++i) {
    const bool is_one = given.one_broadcast && i + 1 == given.n_child;
    inputs.emplace_back(given.cells, is_one ? Axes(0) : all, true, given.n_item, random);
  }
  Recording recording;
  const std::int32_t s = given.coordinate ? recording.coordinate(*given.coordinate) : recording.load({0, 0, 0, false});
  const std::array<int, kAxes>& extent = given.cells.extent;
  const int axis = given.coordinate == Coordinate::frequency_hz ? 1 : 0;
  std::vector<double> coordinate(static_cast<std::size_t>(extent[axis]));
  std::iota(coordinate.begin(), coordinate.end(), 3.0);
  std::vector<Names> x;
  const std::int32_t stride = given.n_item > 1 ? 1 : 0;
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const auto input = static_cast<std::int32_t>(i);
    x.push_back({recording.load({input, 0, stride, false}), recording.load({input, 0, stride, true})});
  }
  const Names z = record(recording, given.formula, s, x);
  Input output(given.cells, all, true, given.n_item, random);
  std::vector<Axes> axes;
  std::vector<Array> arrays;
  for (const Input& input : inputs) {
    axes.push_back(input.axes);
    arrays.push_back(input.array);
  }
  const Output outputs[] = {{.array = 0, .item_stride = stride, .re = z.re, .im = z.im}};
  const Program program(recording, outputs, axes, given.coordinate ? all : Axes(0), all);
  for (std::size_t part = 0; part < given.n_part; ++part) {
    Data data{.inputs = arrays,
              .outputs = std::span(&output.array, 1),
              .n_item = given.n_item,
              .cells = given.cells,
              .part = part,
              .n_part = given.n_part};
    if (given.coordinate) data.coordinates[static_cast<std::size_t>(*given.coordinate)] = coordinate.data();
    program.run(data);
  }
  for_each_cell(given.cells, [&](const std::array<int, kAxes>& cell) {
    for (std::size_t item = 0; item < given.n_item; ++item) {
      std::vector<Complex> children;
      for (std::size_t i = 1; i < inputs.size(); ++i) children.push_back(inputs[i].at(item, cell));
      const Complex factor =
          given.coordinate ? coordinate[static_cast<std::size_t>(cell[axis])] : inputs[0].at(0, cell);
      EXPECT_EQ(output.at(item, cell), formula(given.formula, factor, children));
    }
  });
  return program.takes_pairs();
}

constexpr Axes kTime = bit_of(Axis::time), kFrequency = bit_of(Axis::frequency);

TEST(ProgramPairs, SumsOfAnyLengthAndShape) {
  for (const std::size_t n_child : {2u, 3u, 4u, 5u, 6u, 10u, 17u})
    for (const CellShape& cells :
         {CellShape{{3, 1, 1, 1}}, CellShape{{1, 5, 1, 1}}, CellShape{{7, 301, 1, 1}}, CellShape{{2, 20000, 1, 1}}})
      EXPECT_TRUE(check({.cells = cells, .n_child = n_child})) << n_child;
}
TEST(ProgramPairs, OneCellHasNoAxisToMakeLonger) { EXPECT_FALSE(check({.cells = {}})); }
TEST(ProgramPairs, Items) {
  EXPECT_TRUE(check({.cells = {{4, 9, 1, 1}}, .n_item = 5}));
  EXPECT_TRUE(check({.cells = {{4, 9, 1, 1}}, .formula = Formula::differences_and_multiples, .n_item = 5}));
}
TEST(ProgramPairs, PartsOfARun) { EXPECT_TRUE(check({.cells = {{50, 1001, 1, 1}}, .n_child = 10, .n_part = 3})); }
TEST(ProgramPairs, RealFactorsAlongOuterAxesOnly) {
  const auto multiples = [](Axes factor) {
    return check({.cells = {{6, 33, 1, 1}}, .formula = Formula::differences_and_multiples, .factor = factor});
  };
  EXPECT_TRUE(multiples(0));
  EXPECT_TRUE(multiples(kTime));
  EXPECT_FALSE(multiples(kFrequency));
  EXPECT_FALSE(multiples(kTime | kFrequency));
}
TEST(ProgramPairs, WhatDoesNotVaryAlongTheInnermostAxisHasPartsThatDiffer) {
  EXPECT_FALSE(check({.cells = {{6, 33, 1, 1}}, .one_broadcast = true}));
}
TEST(ProgramPairs, CoordinatesMayVaryAlongTheInnermostAxis) {
  for (const Coordinate coordinate : {Coordinate::time_s, Coordinate::frequency_hz})
    for (const CellShape& cells : {CellShape{{6, 33, 1, 1}}, CellShape{{33, 1, 1, 1}}, CellShape{{1, 33, 1, 1}}})
      EXPECT_FALSE(check({.cells = cells, .formula = Formula::differences_and_multiples, .coordinate = coordinate}));
}
TEST(ProgramPairs, Products) {
  for (const Formula formula : {Formula::products, Formula::sums_of_products})
    for (const std::size_t n_child : {2u, 3u, 4u, 9u})
      for (const CellShape& cells :
           {CellShape{{3, 1, 1, 1}}, CellShape{{1, 5, 1, 1}}, CellShape{{7, 301, 1, 1}}, CellShape{{2, 20000, 1, 1}}})
        EXPECT_TRUE(check({.cells = cells, .formula = formula, .n_child = n_child})) << n_child;
  EXPECT_TRUE(check({.cells = {{4, 9, 1, 1}}, .formula = Formula::sums_of_products, .n_item = 5}));
  EXPECT_TRUE(check({.cells = {{50, 1001, 1, 1}}, .formula = Formula::products, .n_part = 3}));
  EXPECT_FALSE(check({.cells = {{6, 33, 1, 1}}, .formula = Formula::products, .one_broadcast = true}));
}
TEST(ProgramPairs, ConjugatesAreNoPairs) {
  EXPECT_FALSE(check({.cells = {{6, 33, 1, 1}}, .formula = Formula::with_conjugates}));
}

}  // namespace
}  // namespace rimetree::program
