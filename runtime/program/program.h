// A recording made ready to run on many cells. Each operation is done on the cells along whose axes its operands vary
// and on no others: once for all, once for each frequency, ... Cells are taken in blocks short enough for the numbers
// in between to stay in the first-level cache.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "runtime/core/cells/axes.h"
#include "runtime/program/kernels.h"
#include "runtime/program/recording.h"

namespace rimetree::program {

/// Axes along which something varies: bit 0 the items (entries of stacks that are treated alike), then those of the
/// cells.
using Axes = std::uint8_t;
inline constexpr int kDimensions = 1 + kAxes;
inline constexpr Axes kItems = 1;
constexpr Axes bit_of(Axis axis) { return static_cast<Axes>(2 << static_cast<int>(axis)); }
/// The axes of the cells along which a shape is longer than 1.
Axes axes_of(const CellShape& cells);
/// Beside the axes along which coordinates vary: that all cells are equally long, or wide.
inline constexpr Axes kEqualTimeWidths = 32, kEqualFrequencyWidths = 64;
/// The last of the axes of the cells, along which neighbours in memory lie; -1 if there is none.
int innermost(Axes axes);

/// What a program writes: an element of an array, by parts.
struct Output {
  std::int32_t array = 0;
  std::int32_t element = 0;       ///< of item 0
  std::int32_t item_stride = 0;   ///< elements from one item to the next
  std::int32_t re = -1, im = -1;  ///< names of numbers; complex if there is a second one
};

/// Where an array of numbers is when a program runs: numbers are double, or pairs of them where it is complex. Strides
/// are in numbers, 0 along axes on which nothing varies.
struct Array {
  void* numbers = nullptr;
  bool is_complex = false;
  std::size_t plane = 0;  ///< between elements
  std::array<std::size_t, kAxes> stride{};
  /// Where the numbers of each item are, if not in one array: for inputs of sums that vary along all cells.
  void* const* of_item = nullptr;
};

/// What a program is run on.
struct Data {
  std::span<const Array> inputs;
  std::span<const Array> outputs;
  std::size_t n_item = 1;
  CellShape cells;                    ///< of the result
  const double* coordinates[4] = {};  ///< by Coordinate, along the axis
  bool adds = false;                  ///< to what the outputs hold, where several cells may share a number
  /// Several calls share the cells of one run, unless they are added up: this is number `part` of `n_part`.
  std::size_t part = 0, n_part = 1;
};

class Program {
 public:
  /// `inputs`: the axes of the cells along which each varies. `coordinates`: those along which coordinates vary (not so
  /// where there is one cell only). `cells`: axes of the cells of the result.
  /// `pairs`: whether complex numbers may be taken as pairs of real ones where that gives the same (pairs.h).
  enum class Pairs : std::uint8_t { never, where_possible };
  /// What becomes of items: each has outputs of its own; or they are added, one after the other, to what the outputs
  /// hold.
  enum class Items : std::uint8_t { apart, summed };
  Program(const Recording& recording, std::span<const Output> outputs, std::span<const Axes> inputs, Axes coordinates,
          Axes cells, Pairs pairs = Pairs::where_possible);
  Program(Items items, const Recording& recording, std::span<const Output> outputs, std::span<const Axes> inputs,
          Axes coordinates, Axes cells);
  /// All operations for one cell and one item, as devices do them (thread_program.h).
  struct OfOneCell {};
  Program(const Recording& recording, std::span<const Output> outputs, OfOneCell);

  /// From any number of threads.
  void run(const Data& data) const;

  /// Instructions done on each cell, and all in all: for reports.
  std::size_t n_instruction() const;
  /// Whether complex numbers are taken as pairs.
  bool takes_pairs() const { return pairs_ != nullptr; }
  /// Whether it reads and writes more than it computes.
  bool streams() const { return streams_; }

 private:
  friend class Compiler;
  friend class Runner;
  friend class ThreadWriter;
  /// An instruction works on rows, of which there are constants (one number) and locals (one for each cell of a block).
  struct Instruction {
    enum class What : std::uint8_t { compute, look_up, load, load_complex, fetch, leave, store } what = What::compute;
    Op op = Op::constant;  ///< of what is computed
    Kernel kernel = nullptr;
    std::int32_t out[2] = {-1, -1}, in[kMostOperands] = {-1, -1, -1, -1, -1};
    std::int32_t walk = -1;    ///< of what reads or writes memory, or may: which walk
    std::int32_t global = -1;  ///< of what is left for other tiers, or fetched there: which
  };
  struct Tier {
    Axes axes = 0;
    std::vector<Instruction> instructions;
  };
  /// What is read or written, cell by cell, on a tier.
  struct Place {
    enum class What : std::uint8_t { input, coordinate, global, output } what = What::input;
    std::int32_t index = 0;  ///< which input, coordinate, ...
    std::int32_t element = 0, item_stride = 0;
    std::int32_t entry_stride = 0;  ///< of tables: elements from one entry to the next
    bool imaginary = false;
    Axes tier = 0;
  };
  /// A number of each item that is the same on all cells: the row that has it, and where it is read.
  struct Spread {
    std::int32_t row = 0, place = 0;
  };
  std::vector<Tier> tiers_;
  std::vector<Place> places_;
  std::vector<Axes> global_axes_;                         // of numbers that one tier makes and others read
  std::vector<std::pair<std::int32_t, double>> numbers_;  // constants, with their rows
  std::int32_t n_constant_ = 0, n_local_ = 0;             // rows: constants come first
  bool streams_ = false;
  int inner_ = -1;                 // the innermost axis of the cells
  bool sums_ = false;              // items are summed; of the last tier, then:
  std::vector<Instruction> once_;  // what is done once for all items
  std::vector<Spread> spreads_;
  std::vector<Instruction> begin_sums_, end_sums_;  // running sums come from the outputs, and go there
  std::shared_ptr<const Program> pairs_;            // the same on pairs, or nothing
};

}  // namespace rimetree::program
