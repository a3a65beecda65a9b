// Programs that sum items against the same formulae evaluated number by number and added up one after the other: the
// same bits, whatever varies along what, in parts or not, and wherever the numbers of items are.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "runtime/core/cells/cell_loop.h"
#include "runtime/core/values/vells.h"
#include "runtime/program/program.h"
#include "tests/runtime/program/random_formula.h"

namespace rimetree::program {
namespace {

using test::Formula;
using test::same_bits;

/// Two elements, which all items share or which are each item's own, those of an item in one piece.
struct Source {
  CellShape cells;
  bool is_complex, of_items, in_places;
  std::vector<double> numbers;
  std::vector<void*> places;
  std::size_t numbers_of_item() const { return 2 * cells.size() * (is_complex ? 2 : 1); }
  double at(std::size_t item, std::size_t element, const std::array<int, kAxes>& cell, bool imaginary) const {
    const std::size_t i = element * cells.size() + offset_of(cell, broadcast_strides(cells));
    return numbers[(of_items ? item : 0) * numbers_of_item() + (is_complex ? 2 * i + imaginary : i)];
  }
  Array array() {
    Array made{numbers.data(), is_complex, cells.size(), broadcast_strides(cells)};
    if (!in_places) return made;
    for (std::size_t at = 0; at < numbers.size(); at += numbers_of_item()) places.push_back(numbers.data() + at);
    made.numbers = nullptr;
    made.of_item = places.data();
    return made;
  }
};

Source make_source(std::mt19937_64& random, const CellShape& cells, std::size_t n_item) {
  Source source;
  for (int axis = 0; axis < kAxes; ++axis)
    if (random() % 2 == 0) source.cells.extent[axis] = cells.extent[axis];
  source.is_complex = random() % 2 == 0;
  source.of_items = random() % 3 != 0;
  source.in_places = source.of_items && cells.size() > 1 && source.cells == cells;
  std::normal_distribution<double> normal;
  const std::size_t n = source.numbers_of_item() * (source.of_items ? n_item : 1);
  while (source.numbers.size() < n) source.numbers.push_back(normal(random));
  return source;
}

void check(std::mt19937_64& random, const CellShape& cells, std::size_t n_item) {
  std::vector<Source> sources;
  for (std::size_t i = 0; i < 1 + random() % 4; ++i) sources.push_back(make_source(random, cells, n_item));
  Recording recording;
  std::vector<std::int32_t> given;
  std::vector<Load> loads;
  std::vector<Axes> axes;
  std::vector<Array> inputs;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    axes.push_back(axes_of(sources[i].cells));
    inputs.push_back(sources[i].array());
    for (std::int32_t element = 0; element < 2; ++element)
      for (const bool imaginary : {false, true}) {
        if (imaginary && !sources[i].is_complex) continue;
        loads.push_back({static_cast<std::int32_t>(i), element, sources[i].of_items ? 2 : 0, imaginary});
        given.push_back(recording.load(loads.back()));
      }
  }
  const Formula formula(given.size(), 1 + random() % 40, random);
  const std::vector<std::int32_t> names = formula.record(recording, given);
  const std::size_t chosen[] = {names.size() - 1, random() % names.size(), random() % names.size()};
  const Output outputs[] = {{.array = 0, .re = names[chosen[0]]},
                            {.array = 1, .re = names[chosen[1]], .im = names[chosen[2]]}};
  const std::size_t plane = cells.size();
  std::vector<double> real(plane, -0.0), complex(2 * plane, 0.5);
  const auto stride = broadcast_strides(cells);
  const Array out[] = {{real.data(), false, plane, stride}, {complex.data(), true, plane, stride}};
  const Program program(Program::Items::summed, recording, outputs, axes, 0, axes_of(cells));
  Data data{.inputs = inputs, .outputs = out, .n_item = n_item, .cells = cells};
  data.n_part = 1 + random() % 3;
  for (data.part = 0; data.part < data.n_part; ++data.part) program.run(data);

  std::size_t i = 0;
  for_each_cell(cells, [&](const std::array<int, kAxes>& cell) {
    double wanted[] = {-0.0, 0.5, 0.5};
    for (std::size_t s = 0; s < n_item; ++s) {
      std::vector<double> numbers;
      for (const Load& load : loads)
        numbers.push_back(sources[static_cast<std::size_t>(load.input)].at(s, static_cast<std::size_t>(load.element),
                                                                           cell, load.imaginary));
      const std::vector<double> term = formula.evaluate(numbers);
      for (int k = 0; k < 3; ++k) wanted[k] += term[chosen[k]];
    }
    ASSERT_TRUE(same_bits(real[i], wanted[0])) << real[i] << " " << wanted[0];
    ASSERT_TRUE(same_bits(complex[2 * i], wanted[1])) << complex[2 * i] << " " << wanted[1];
    ASSERT_TRUE(same_bits(complex[2 * i + 1], wanted[2])) << complex[2 * i + 1] << " " << wanted[2];
    ++i;
  });
}

TEST(ItemSums, AreTermsAddedUpInOrder) {
  std::mt19937_64 random(5);
  const CellShape shapes[] = {
      {}, {{5, 1, 1, 1}}, {{1, 300, 1, 1}}, {{4, 7, 1, 1}}, {{4, 130, 1, 1}}, {{2, 3, 4, 5}}, {{16, 64, 1, 1}}};
  for (int trial = 0; trial < 40; ++trial)
    for (const CellShape& cells : shapes)
      for (const std::size_t items : {1u, 2u, 9u, 60u}) {
        if (items == 60 && (trial % 4 != 0 || cells.size() > 400)) continue;
        SCOPED_TRACE(to_string(cells) + ", items " + std::to_string(items) + ", trial " + std::to_string(trial));
        check(random, cells, items);
        if (HasFatalFailure()) return;
      }
}

TEST(ItemSums, ManyItemsAreDoneInBatches) {
  std::mt19937_64 random(6);
  for (int trial = 0; trial < 6; ++trial) {
    check(random, {{3, 5, 1, 1}}, 20000);
    if (HasFatalFailure()) return;
  }
}

// What is added to several sums as products of the same complex number with constants is done for all of them in one
// go.
TEST(ItemSums, OfMatricesAreThoseOfEachElement) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  const CellShape cells{{3, 50, 1, 1}};
  const std::size_t plane = cells.size(), n_item = 5;
  const double kinds[] = {0.0, -0.0, 1.0, HUGE_VAL, std::nan("")};
  for (const std::int32_t n_element : {1, 2, 3, 4, 7, 9}) {
    // One number of all cells, and n_element of each item.
    std::vector<double> phase(2 * plane), matrix(2 * n_item * static_cast<std::size_t>(n_element));
    for (double& x : phase) x = normal(random);
    for (double& x : matrix) x = random() % 8 == 0 ? kinds[random() % std::size(kinds)] : normal(random);
    const Array inputs[] = {{phase.data(), true, plane, broadcast_strides(cells)}, {matrix.data(), true, 1, {}}};
    Recording recording;
    const std::int32_t re = recording.load({0, 0, 0, false}), im = recording.load({0, 0, 0, true});
    std::vector<Output> outputs;
    for (std::int32_t e = 0; e < n_element; ++e) {
      const std::int32_t a = recording.load({1, e, n_element, false}), b = recording.load({1, e, n_element, true});
      // In either order: (re + i im) (a + i b), or its conjugate.
      const Op sum = e % 3 == 2 ? Op::subtract : Op::add, difference = e % 3 == 2 ? Op::add : Op::subtract;
      const auto product = [&](std::int32_t x, std::int32_t y) { return recording.make(Op::multiply, x, y); };
      outputs.push_back({.array = 0,
                         .element = e,
                         .re = recording.make(difference, product(re, a), product(im, b)),
                         .im = recording.make(sum, product(im, a), product(re, b))});
    }
    std::vector<double> found(2 * plane * static_cast<std::size_t>(n_element), 0.25), wanted = found;
    const Array out{found.data(), true, plane, broadcast_strides(cells)};
    const Axes axes[] = {axes_of(cells), 0};
    const Program program(Program::Items::summed, recording, outputs, axes, 0, axes_of(cells));
    program.run({.inputs = inputs, .outputs = {&out, 1}, .n_item = n_item, .cells = cells});
    for (std::size_t e = 0; e < static_cast<std::size_t>(n_element); ++e)
      for (std::size_t i = 0; i < plane; ++i)
        for (std::size_t s = 0; s < n_item; ++s) {
          const double* const z = &matrix[2 * (s * static_cast<std::size_t>(n_element) + e)];
          const double x = phase[2 * i], y = phase[2 * i + 1], sign = e % 3 == 2 ? -1 : 1;
          double* const sum = &wanted[2 * (e * plane + i)];
          sum[0] += x * z[0] - sign * (y * z[1]), sum[1] += y * z[0] + sign * (x * z[1]);
        }
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_TRUE(same_bits(found[i], wanted[i])) << n_element << ' ' << i;
  }
}

TEST(ItemSums, OfNothingAreWhatTheyBeginWith) {
  Recording recording;
  const Output output{.re = recording.load({0, 0, 1, false})};
  const Axes axes[] = {0};
  double sum = 3;
  const Array none{}, out{&sum, false, 1, {}};
  const Program program(Program::Items::summed, recording, {&output, 1}, axes, 0, 0);
  program.run({.inputs = {&none, 1}, .outputs = {&out, 1}, .n_item = 0});
  EXPECT_EQ(sum, 3);
}

}  // namespace
}  // namespace rimetree::program
