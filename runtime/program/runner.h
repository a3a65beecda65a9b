// One run of a program: tier by tier, block by block.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/program/program.h"
#include "runtime/program/read_ahead.h"
#include "runtime/program/walk.h"

namespace rimetree::program {

/// Cells of a block: some ten rows of them stay in the first-level cache. Programs that read and write more than they
/// compute go through memory in longer runs, which is faster.
inline constexpr std::size_t kBlock = 256, kLongBlock = 16384, kCachedCells = 32768;
inline constexpr std::size_t kFirstLevelCells = 3072, kMostCells = 1024;
inline constexpr std::size_t kShortBlock = 64, kSumCells = 49152;
/// Numbers that tiers leave for others, of several items together.
inline constexpr std::size_t kLeft = std::size_t{1} << 16;

/// What a run needs; that of the thread is used again, since getting memory is slow.
struct Room {
  std::vector<double> memory;
  std::vector<std::size_t> globals;
  std::vector<Row> rows;
  std::vector<Walk> walks;
  // Of a tier that sums: one call for each instruction, and operands that are elsewhere for each item.
  struct Moving {
    std::size_t call;
    int operand;
    std::int32_t row;
  };
  // Calls, from one on, that add products of the same two rows with numbers to sums are done together.
  struct Shared {
    std::size_t call = 0;
    SharedProducts products;
  };
  std::vector<Call> calls;
  std::vector<Moving> moving;
  std::vector<Shared> shared;
  ReadAhead ahead;
};
inline Room& room_of_thread() {
  static thread_local Room room;
  return room;
}

inline void pad(double* row, std::size_t n) {
  for (std::size_t i = n; i < padded(n); ++i) row[i] = row[n - 1];
}

class Runner {
 public:
  Runner(const Program& program, const Data& data) : program_(program), data_(data) {}

  void run() {
    if (data_.n_item == 0 || data_.cells.size() == 0) return;
    if (program_.streams_ && !data_.adds)
      choose_long_blocks();
    else
      block_ = std::clamp(kFirstLevelCells / std::max<std::size_t>(1, std::size_t(program_.n_local_)) / kStep * kStep,
                          kBlock, kMostCells);
    if (program_.sums_) choose_short_blocks();
    // So many items at a time that what tiers leave for others stays in the second-level cache.
    n_item_ = data_.n_item;
    std::size_t left = 0;
    for (const Axes axes : program_.global_axes_)
      if (axes & kItems) left += size(axes) / data_.n_item;
    left += program_.spreads_.size() * kStep;
    const std::size_t together = left == 0 ? data_.n_item : std::max<std::size_t>(1, kLeft / left);
    for (; first_item_ < data_.n_item; first_item_ += together) {
      n_item_ = std::min(together, data_.n_item - first_item_);
      lay_out();
      for (const auto& [row, number] : program_.numbers_) std::fill_n(own(row), kStep, number);
      for (const Program::Tier& tier : program_.tiers_)
        if (program_.sums_ && &tier == &program_.tiers_.back())
          run_sums(tier);
        else
          run_tier(tier);
    }
  }

 private:
  using What = Program::Instruction::What;
  using Where = Program::Place::What;

  std::size_t extent(int dimension) const {
    return dimension == 0 ? n_item_ : static_cast<std::size_t>(data_.cells.extent[dimension - 1]);
  }
  std::size_t size(Axes axes) const {
    std::size_t n = 1;
    for (int d = 0; d < kDimensions; ++d)
      if (axes >> d & 1) n *= extent(d);
    return n;
  }
  double* own(std::int32_t row) {
    const auto r = static_cast<std::size_t>(row), constants = static_cast<std::size_t>(program_.n_constant_);
    return memory_ + (r < constants ? r * kStep : constants * kStep + (r - constants) * (block_ + kStep));
  }

  /// As long as all rows stay in the second-level cache, and every part has a share.
  void choose_long_blocks() {
    const auto rows = static_cast<std::size_t>(std::max(1, program_.n_local_));
    const std::size_t share = data_.cells.size() / (4 * data_.n_part);
    block_ = std::max(kBlock, std::min({kCachedCells / rows, kLongBlock, share}) / kStep * kStep);
  }

  /// Running sums of many outputs: so short that they stay in the second-level cache.
  void choose_short_blocks() {
    const auto rows = static_cast<std::size_t>(std::max(1, program_.n_local_));
    block_ = std::clamp(kSumCells / rows / kStep * kStep, kShortBlock, kBlock);
  }

  /// Memory for rows and for what tiers leave for others.
  void lay_out() {
    room_.globals.clear();
    room_.walks.clear();
    std::vector<double>& memory = room_.memory;
    const auto constants = static_cast<std::size_t>(program_.n_constant_),
               locals = static_cast<std::size_t>(program_.n_local_);
    std::size_t n = constants * kStep + locals * (block_ + kStep);
    for (const Axes axes : program_.global_axes_) {
      room_.globals.push_back(n);
      n += padded(size(axes));
    }
    const std::size_t spread = n;
    n += program_.spreads_.size() * n_item_ * kStep;
    if (memory.size() < n + kStep) memory.resize(n + kStep);
    // Rows begin where vectors do.
    memory_ = reinterpret_cast<double*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
    room_.rows.resize(constants + locals);
    for (std::size_t r = 0; r < room_.rows.size(); ++r)
      room_.rows[r] = {own(static_cast<std::int32_t>(r)), r < constants ? 0 : ~std::size_t{0}};
    for (const Program::Place& place : program_.places_) room_.walks.push_back(walk(place));
    spread_ = memory_ + spread;
  }

  Walk walk(const Program::Place& place) const {
    Walk walk;
    std::array<std::size_t, kDimensions> stride{};
    std::size_t unit = 1;
    if (place.what == Where::input || place.what == Where::output) {
      const bool is_input = place.what == Where::input;
      const Array& array = (is_input ? data_.inputs : data_.outputs)[static_cast<std::size_t>(place.index)];
      walk.is_complex = array.is_complex;
      unit = array.is_complex ? 2 : 1;
      walk.base = static_cast<double*>(array.numbers) + static_cast<std::size_t>(place.element) * array.plane * unit;
      stride[0] = static_cast<std::size_t>(place.item_stride) * array.plane;
      walk.entry_stride = static_cast<std::size_t>(place.entry_stride) * array.plane * unit;
      std::copy(array.stride.begin(), array.stride.end(), stride.begin() + 1);
      walk.base += first_item_ * stride[0] * unit;
      if (array.of_item != nullptr && is_input) {
        walk.of_item = array.of_item + first_item_;
        walk.offset = static_cast<std::size_t>(place.element) * array.plane * unit +
                      (array.is_complex && place.imaginary ? 1 : 0);
      }
    } else if (place.what == Where::coordinate) {
      walk.base = const_cast<double*>(data_.coordinates[place.index]);
      stride[place.index <= static_cast<int>(Coordinate::time_width_s) ? 1 : 2] = 1;
    } else {
      walk.base = memory_ + room_.globals[static_cast<std::size_t>(place.index)];
      std::size_t step = 1;
      for (int d = kDimensions - 1; d >= 0; --d) {
        if ((program_.global_axes_[static_cast<std::size_t>(place.index)] >> d & 1) == 0) continue;
        stride[static_cast<std::size_t>(d)] = extent(d) == 1 ? 0 : step;
        step *= extent(d);
      }
    }
    for (int d = walk.of_item == nullptr ? 0 : 1; d < kDimensions; ++d)
      if (place.tier >> d & 1) walk.add(extent(d), stride[static_cast<std::size_t>(d)] * unit);
    if (walk.is_complex && place.imaginary && place.what == Where::input) walk.base += 1;
    return walk;
  }

  /// The last tier of a program that sums items: block by block, all items of a block after each other, so that running
  /// sums stay in the first-level cache.
  void run_sums(const Program::Tier& tier);
  /// Calls of a tier that sums, which are the same for all items but for what is read where it lies.
  void prepare_steps(const Program::Tier& tier);
  void prepare_call(const Program::Instruction& instruction, const std::vector<bool>& moves, Call& call);
  /// Finds calls of a tier that sums which share the rows of their products.
  void find_shared(const Program::Tier& tier);
  void add_shared(Room::Shared& shared, const Program::Tier& tier, std::size_t n);
  void run_steps(const Program::Tier& tier, std::size_t first, std::size_t n);
  /// Running sums are in their own rows from the first item on.
  void begin_sum(const Program::Instruction& instruction, std::size_t first, std::size_t n);
  /// What is elsewhere for each item is where this one has it.
  void begin_item(std::size_t item);
  void spread();

  void run_tier(const Program::Tier& tier) {
    if (tier.instructions.empty()) return;
    const std::size_t total = size(tier.axes);
    together_ = tier.axes == 0 ? ~std::size_t{0} : 0;
    std::size_t begin = 0, end = total;
    if (data_.n_part > 1 && &tier == &program_.tiers_.back()) {
      const std::size_t n_block = (total + block_ - 1) / block_;
      begin = n_block * data_.part / data_.n_part * block_;
      end = std::min(total, n_block * (data_.part + 1) / data_.n_part * block_);
    }
    ReadAhead& ahead = room_.ahead;
    const bool far = looks_ahead(tier, end - begin);
    for (std::size_t first = begin; first < end; first += block_) {
      const std::size_t n = std::min(block_, total - first), next = first + n;
      if (far) ahead.aim(next, std::min(block_, end - next), tier.instructions.size());
      for (const Program::Instruction& instruction : tier.instructions) {
        execute(instruction, first, n);
        if (far) ahead.ask();
      }
    }
  }

  /// Whether so many cells of a tier read and write more than stays in caches; then it is known what they do. Long runs
  /// through memory are foreseen by the machine itself.
  bool looks_ahead(const Program::Tier& tier, std::size_t n) {
    if (program_.streams_ && !data_.adds) return false;
    room_.ahead.begin();
    for (const Program::Instruction& instruction : tier.instructions)
      if (instruction.walk >= 0 && instruction.what != What::look_up)
        room_.ahead.add(room_.walks[static_cast<std::size_t>(instruction.walk)]);
    return n * room_.ahead.numbers() * sizeof(double) > ReadAhead::kWorthwhile;
  }

  Row& row(std::int32_t number) { return room_.rows[static_cast<std::size_t>(number)]; }

  void execute(const Program::Instruction& instruction, std::size_t first, std::size_t n) {
    switch (instruction.what) {
      case What::compute:
      case What::look_up: {
        Call call;
        for (int k = 0; k < kMostOperands && instruction.in[k] >= 0; ++k) {
          call.in[k] = row(instruction.in[k]);
          // Where the outcome is one number as well, it may take its operand's place while others of the row are
          // unread.
          call.in[k].varies |= together_;
        }
        for (int k = 0; k < 2 && instruction.out[k] >= 0; ++k)
          row(instruction.out[k]).numbers = call.out[k] = target(instruction, k, first, n);
        do_call(instruction, call, first, n);
        break;
      }
      case What::load:
      case What::fetch:
        load(instruction, first, n);
        break;
      case What::load_complex:
        load_complex(instruction, first, n);
        break;
      case What::leave:
        std::copy_n(row(instruction.in[0]).numbers, n,
                    memory_ + room_.globals[static_cast<std::size_t>(instruction.global)] + first);
        break;
      case What::store:
        store(instruction, first, n);
        break;
    }
  }

  void do_call(const Program::Instruction& instruction, const Call& call, std::size_t first, std::size_t n) {
    if (instruction.what == What::compute)
      instruction.kernel(call, padded(n));
    else
      look_up(instruction, call, first, n);
  }

  /// Numbers of the entries that a row of numbers says: one part of them, or both.
  void look_up(const Program::Instruction& instruction, const Call& call, std::size_t first, std::size_t n) {
    const Walk& from = room_.walks[static_cast<std::size_t>(instruction.walk)];
    const Row& entry = call.in[0];
    const bool both = instruction.out[1] >= 0;
    // The walk is that of the part which was asked for first.
    const bool imaginary = program_.places_[static_cast<std::size_t>(instruction.walk)].imaginary;
    const std::ptrdiff_t to_first = both && imaginary ? -1 : 0;
    const std::size_t step = from.inner_stride();
    from.for_each_run(first, n, [&](const double* where, std::size_t done, std::size_t length) {
      where += to_first;
      for (std::size_t i = 0; i < length; ++i) {
        const auto which = static_cast<std::size_t>(entry.numbers[(done + i) & entry.varies]);
        const double* const at = where + i * step + which * from.entry_stride;
        call.out[0][done + i] = at[0];
        if (both) call.out[1][done + i] = at[1];
      }
    });
    pad(call.out[0], n);
    if (both) pad(call.out[1], n);
  }

  /// Where an outcome goes: where it is stored, if that is as rows are, or to the row's own place.
  double* target(const Program::Instruction& instruction, int k, std::size_t first, std::size_t n) {
    if (instruction.what == What::compute && instruction.walk >= 0 && !data_.adds && n % kStep == 0) {
      const Walk& to = room_.walks[static_cast<std::size_t>(instruction.walk)];
      if (!to.is_complex && to.n == 1 && to.is_contiguous()) return to.base + first;
    }
    return own(instruction.out[k]);
  }

  bool is_one(const Row& r) const { return r.varies == 0; }

  void load(const Program::Instruction& instruction, std::size_t first, std::size_t n) {
    const Walk& from = room_.walks[static_cast<std::size_t>(instruction.walk)];
    Row& to = row(instruction.out[0]);
    if (from.of_item != nullptr) first -= skipped_;
    if (is_one(to)) {
      std::fill_n(own(instruction.out[0]), kStep, *from.base);
      return;
    }
    // What lies in memory as it is wanted is read where it is.
    if (!from.is_complex && from.is_contiguous() && from.n == 1 && n % kStep == 0) {
      to.numbers = from.base + first;
      return;
    }
    to.numbers = own(instruction.out[0]);
    const std::size_t step = from.inner_stride();
    from.for_each_run(first, n, [&](const double* where, std::size_t done, std::size_t length) {
      double* out = to.numbers + done;
      if (step == 1)
        std::copy_n(where, length, out);
      else if (step == 0)
        fill_numbers(*where, out, length);
      else
        for (std::size_t i = 0; i < length; ++i) out[i] = where[i * step];
    });
    pad(to.numbers, n);
  }

  void load_complex(const Program::Instruction& instruction, std::size_t first, std::size_t n) {
    const Walk& from = room_.walks[static_cast<std::size_t>(instruction.walk)];
    double *re = row(instruction.out[0]).numbers = own(instruction.out[0]),
           *im = row(instruction.out[1]).numbers = own(instruction.out[1]);
    const std::size_t step = from.inner_stride();
    if (from.of_item != nullptr) first -= skipped_;
    // The walk is that of the part which was asked for first.
    const double* base = from.base - (program_.places_[static_cast<std::size_t>(instruction.walk)].imaginary ? 1 : 0);
    from.for_each_run(first, n, [&](const double* at, std::size_t done, std::size_t length) {
      const double* where = base + (at - from.base);
      if (step == 2) return split_complex(where, re + done, im + done, length);
      for (std::size_t i = 0; i < length; ++i) re[done + i] = where[i * step], im[done + i] = where[i * step + 1];
    });
    pad(re, n);
    pad(im, n);
  }

  void store(const Program::Instruction& instruction, std::size_t first, std::size_t n) {
    const Walk& to = room_.walks[static_cast<std::size_t>(instruction.walk)];
    const Row re = row(instruction.in[0]);
    const Row im = instruction.in[1] >= 0 ? row(instruction.in[1]) : Row{};
    const std::size_t step = to.inner_stride();
    to.for_each_run(first, n, [&](double* where, std::size_t done, std::size_t length) {
      if (data_.adds) return add_run(re, im, done, where, step, length);
      if (re.numbers == where) return;  // see target()
      if (!is_one(re) && !to.is_complex && step == 1) {
        std::copy_n(re.numbers + done, length, where);
      } else if (to.is_complex && step == 2 && !is_one(re) && !is_one(im)) {
        join_complex(re.numbers + done, im.numbers + done, where, length);
      } else {
        for (std::size_t i = 0; i < length; ++i) {
          where[i * step] = re.numbers[(done + i) & re.varies];
          if (to.is_complex) where[i * step + 1] = im.numbers[(done + i) & im.varies];
        }
      }
    });
  }

  /// Adds up along a run where all of its cells share a number.
  static void add_run(const Row& re, const Row& im, std::size_t done, double* where, std::size_t step,
                      std::size_t length) {
    const bool is_complex = im.numbers != nullptr;
    if (step == 0) {
      const auto add = [&](const Row& from, double& to) {
        if (from.varies == 0)
          to += static_cast<double>(length) * from.numbers[0];
        else
          to += sum_numbers(from.numbers + done, length);
      };
      add(re, where[0]);
      if (is_complex) add(im, where[1]);
      return;
    }
    if (re.varies != 0 && !is_complex && step == 1) return add_numbers(re.numbers + done, where, length);
    if (re.varies != 0 && is_complex && im.varies != 0 && step == 2)
      return add_complex(re.numbers + done, im.numbers + done, where, length);
    for (std::size_t i = 0; i < length; ++i) {
      where[i * step] += re.numbers[(done + i) & re.varies];
      if (is_complex) where[i * step + 1] += im.numbers[(done + i) & im.varies];
    }
  }

  const Program& program_;
  const Data& data_;
  double* memory_ = nullptr;
  std::size_t together_ = 0;
  std::size_t block_ = kBlock;
  std::size_t first_item_ = 0, n_item_ = 1;  // of those that are done together
  double* spread_ = nullptr;                 // numbers of items, kStep times each
  std::size_t skipped_ = 0;                  // cells of items before the one whose numbers are summed
  Room& room_ = room_of_thread();
};

}  // namespace rimetree::program
