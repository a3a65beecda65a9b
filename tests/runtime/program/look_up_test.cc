// Numbers that programs look up in tables against the tables themselves: whatever varies along what, one part or both,
// in sums over items, on threads of devices, and their derivatives.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "runtime/core/cells/cell_loop.h"
#include "runtime/core/values/vells.h"
#include "runtime/program/derive.h"
#include "runtime/program/program.h"
#include "runtime/program/recorded.h"
#include "runtime/program/thread_program.h"

namespace rimetree::program {
namespace {

constexpr std::size_t kEntries = 5, kElements = 3;

/// Some of the cells' axes.
CellShape some_of(const CellShape& cells, std::mt19937_64& random) {
  CellShape some;
  for (int axis = 0; axis < kAxes; ++axis)
    if (random() % 2 == 0) some.extent[axis] = cells.extent[axis];
  return some;
}

/// A table of complex or real entries, and which of them is wanted, by item.
struct Tables {
  CellShape cells, of_table, of_entry;
  std::size_t n_item;
  bool is_complex, of_items;
  std::vector<double> table, entry;

  Tables(const CellShape& on, std::size_t items, std::mt19937_64& random)
      : cells(on),
        of_table(some_of(on, random)),
        of_entry(some_of(on, random)),
        n_item(items),
        is_complex(random() % 2 == 0),
        of_items(items > 1 && random() % 3 != 0) {
    std::normal_distribution<double> normal;
    table.resize(kEntries * kElements * of_table.size() * (is_complex ? 2 : 1));
    for (double& number : table) number = normal(random);
    entry.resize(of_entry.size() * (of_items ? items : 1));
    for (double& number : entry) number = static_cast<double>(random() % kEntries);
  }
  std::vector<Array> inputs() {
    return {{table.data(), is_complex, of_table.size(), broadcast_strides(of_table)},
            {entry.data(), false, of_entry.size(), broadcast_strides(of_entry)}};
  }
  std::vector<Axes> axes() const { return {axes_of(of_table), axes_of(of_entry)}; }
  Load load_of_entry() const { return {.input = 1, .item_stride = of_items ? 1 : 0}; }
  double looked_up(std::size_t item, std::size_t element, const std::array<int, kAxes>& cell, bool imaginary) const {
    const std::size_t own = offset_of(cell, broadcast_strides(of_entry)) + (of_items ? item * of_entry.size() : 0);
    const std::size_t at = (static_cast<std::size_t>(entry[own]) * kElements + element) * of_table.size() +
                           offset_of(cell, broadcast_strides(of_table));
    return is_complex ? table[2 * at + (imaginary ? 1 : 0)] : imaginary ? 0 : table[at];
  }
};

CellShape cells_of(std::mt19937_64& random) {
  CellShape cells;
  cells[Axis::time] = 1 + static_cast<std::int32_t>(random() % 3);
  cells[Axis::frequency] = random() % 4 == 0 ? 700 : 1 + static_cast<std::int32_t>(random() % 20);
  return cells;
}

TEST(LookUp, GivesTheEntriesThatANumberSays) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 400; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    Tables tables(cells_of(random), random() % 2 == 0 ? 1 : 2 + random() % 4, random);
    const auto element = static_cast<std::int32_t>(random() % kElements);
    Recording recording;
    const std::int32_t entry = recording.load(tables.load_of_entry());
    const auto part = [&](bool imaginary) { return recording.look_up(entry, {0, element, kElements, imaginary}); };
    // In either order, or only one of them.
    const bool both = tables.is_complex && random() % 3 != 0, imaginary_first = random() % 2 == 0;
    const bool one = tables.is_complex && imaginary_first;
    const std::int32_t first = part(one), second = both ? part(!one) : recording.constant(0);
    const Output output{.item_stride = tables.n_item > 1 ? 1 : 0, .re = first, .im = second};
    const std::size_t plane = tables.cells.size();
    std::vector<double> result(2 * plane * tables.n_item, -1);
    const Array out{result.data(), true, plane, broadcast_strides(tables.cells)};
    const std::vector<Array> inputs = tables.inputs();
    const Program program(recording, {&output, 1}, tables.axes(), 0, axes_of(tables.cells));
    Data data{.inputs = inputs, .outputs = {&out, 1}, .n_item = tables.n_item, .cells = tables.cells};
    data.n_part = 1 + random() % 3;
    for (data.part = 0; data.part < data.n_part; ++data.part) program.run(data);
    for (std::size_t item = 0; item < tables.n_item; ++item) {
      std::size_t i = item * plane;
      for_each_cell(tables.cells, [&](const std::array<int, kAxes>& cell) {
        ASSERT_EQ(result[2 * i], tables.looked_up(item, static_cast<std::size_t>(element), cell, one));
        ASSERT_EQ(result[2 * i + 1], both ? tables.looked_up(item, static_cast<std::size_t>(element), cell, !one) : 0);
        ++i;
      });
    }
  }
}

TEST(LookUp, IsAPartOfSumsOverItems) {
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    Tables tables(cells_of(random), 1 + random() % 5, random);
    Recording recording;
    const std::int32_t entry = recording.load(tables.load_of_entry());
    const std::int32_t re = recording.look_up(entry, {0, 1, kElements, false}),
                       im = tables.is_complex ? recording.look_up(entry, {0, 1, kElements, true}) : re;
    const std::int32_t product =
        recording.make(Op::multiply, recording.make(Op::add, entry, recording.constant(1)), im);
    const Output output{.re = recording.make(Op::add, re, product)};
    std::vector<double> sums(tables.cells.size(), 0.0);
    const Array out{sums.data(), false, tables.cells.size(), broadcast_strides(tables.cells)};
    const std::vector<Array> inputs = tables.inputs();
    const Program program(Program::Items::summed, recording, {&output, 1}, tables.axes(), 0, axes_of(tables.cells));
    program.run({.inputs = inputs, .outputs = {&out, 1}, .n_item = tables.n_item, .cells = tables.cells});
    std::size_t i = 0;
    for_each_cell(tables.cells, [&](const std::array<int, kAxes>& cell) {
      double wanted = 0;
      for (std::size_t item = 0; item < tables.n_item; ++item) {
        const std::size_t own =
            offset_of(cell, broadcast_strides(tables.of_entry)) + (tables.of_items ? item * tables.of_entry.size() : 0);
        wanted += tables.looked_up(item, 1, cell, false) +
                  (tables.entry[own] + 1) * tables.looked_up(item, 1, cell, tables.is_complex);
      }
      ASSERT_NEAR(sums[i++], wanted, 1e-12);
    });
  }
}

TEST(LookUp, AtAKnownEntryIsALoad) {
  Recording recording;
  const std::int32_t name = recording.look_up(recording.constant(2), {0, 1, kElements, true});
  EXPECT_EQ(recording[name].op, Op::load);
  EXPECT_EQ(recording[name].from(), (Load{0, 7, 0, true}));
}

/// One cell of a thread: a complex table and a number.
struct OneCell {
  const std::vector<double>& table;
  double number;
  mutable double re = 0, im = 0;

  double coordinate(int) const { return 0; }
  void load(const ThreadOperation&, double* first, double*) const { *first = number; }
  void look_up(const ThreadOperation& operation, std::size_t entry, double* first, double* second) const {
    const double* const at = &table[2 * (operation.element() + entry * operation.stride())];
    const bool both = operation.part == ThreadOperation::both;
    if (first != nullptr) *first = at[!both && operation.part == ThreadOperation::imaginary ? 1 : 0];
    if (second != nullptr) *second = at[1];
  }
  void store(const ThreadOperation&, double real, double imaginary) const { re = real, im = imaginary; }
};

TEST(LookUp, IsOneOperationOfAThreadForBothParts) {
  const std::vector<double> table{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};  // two entries of three elements
  for (const bool imaginary_first : {false, true}) {
    Recording recording;
    const std::int32_t entry = recording.load({.input = 1});
    const auto part = [&](bool imaginary) { return recording.look_up(entry, {0, 2, kElements, imaginary}); };
    const std::int32_t first = part(imaginary_first), second = part(!imaginary_first);
    const Output output{.re = imaginary_first ? second : first, .im = imaginary_first ? first : second};
    const auto program = thread_program(recording, {&output, 1}, 1);
    ASSERT_NE(program, nullptr);
    EXPECT_EQ(program->operations.size(), 3u);  // load, look up, store
    EXPECT_TRUE(program->does_read(0));
    const OneCell cell{table, 1};
    run_thread<ThreadProgram::kMostRegisters>(program->operations.data(), 3, program->numbers.data(), cell);
    EXPECT_EQ(cell.re, 10);
    EXPECT_EQ(cell.im, 11);
  }
}

TEST(LookUp, IsDerivedThroughTheTableAndNotThroughTheEntry) {
  Recording recording;
  const Recording::Scope scope(recording);
  const std::int32_t entry = recording.load({.input = 1}), value = recording.look_up(entry, {0, 1, kElements, false});
  const std::int32_t names[] = {value};
  const auto of_entry = tangents(
      recording, names, [&](const Load& load) { return load.input == 1 ? recording.load({.input = 2}) : kZero; });
  EXPECT_EQ(of_entry[0], kZero);
  const auto of_table = tangents(recording, names, [&](const Load& load) {
    return load.input == 0 ? recording.load({.input = 3, .element = load.element}) : kZero;
  });
  ASSERT_NE(of_table[0], kZero);
  EXPECT_EQ(recording[of_table[0]].op, Op::look_up);
  EXPECT_EQ(recording[of_table[0]].looked_up().input, 3);
  EXPECT_EQ(recording[of_table[0]].looked_up().element, 1);
  const Adjoint outcome{value, recording.constant(1)};
  EXPECT_TRUE(adjoints(recording, {&outcome, 1}, [](const Load& load) { return load.input == 1; }).empty());
  EXPECT_THROW(adjoints(recording, {&outcome, 1}, [](const Load& load) { return load.input == 0; }), NotRecordable);
}

}  // namespace
}  // namespace rimetree::program
