// What a formula does, written down: elementary operations in the order in which they were made, each once. Numbers of
// the type Recorded (recorded.h) add to the recording that is current on their thread.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "runtime/program/op.h"

namespace rimetree::program {

/// A formula does what cannot be recorded: it decides too often by the values of numbers what it does, or does too
/// much.
class NotRecordable : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A number in memory, as far as is known before there is any: part of an element of an input.
struct Load {
  std::int32_t input = 0;        ///< which of the inputs
  std::int32_t element = 0;      ///< of item 0
  std::int32_t item_stride = 0;  ///< elements from one item to the next
  bool imaginary = false;
  friend bool operator==(const Load&, const Load&) = default;
};

/// A number of an entry of a table, where which entry it is becomes known only when the program runs: part of an
/// element of an input that all items read.
struct LookUp {
  std::int32_t input = 0;
  std::int32_t element = 0;  ///< of entry 0
  std::int32_t stride = 1;   ///< elements from one entry to the next
  bool imaginary = false;
};

/// One operation. Numbers are named by their place in the recording.
struct Operation {
  Op op = Op::constant;
  Coordinate coordinate{};  ///< of coordinates
  /// Of loads: what the fields of Load are; of look-ups: which entry, and what the fields of LookUp are.
  std::int32_t operand[kMostOperands]{-1, -1, -1, -1, -1};
  double number = 0;  ///< of constants
  Load from() const { return {operand[0], operand[1], operand[2], operand[3] != 0}; }
  LookUp looked_up() const { return {operand[1], operand[2], operand[3], operand[4] != 0}; }
  friend bool operator==(const Operation& a, const Operation& b);
};

class Recording {
 public:
  /// More operations than this are no small program.
  static constexpr std::size_t kMostOperations = 200000;

  /// The recording of the innermost Scope on this thread; throws std::logic_error where there is none.
  static Recording& current();
  class Scope {
   public:
    explicit Scope(Recording& recording);
    ~Scope();
    Scope(const Scope&) = delete;

   private:
    Recording* before_;
  };

  // Each gives the number's name: an earlier one where the same has been done before, or where nothing needs to be
  // done.
  std::int32_t constant(double number);
  std::int32_t load(const Load& from);
  std::int32_t coordinate(Coordinate which);
  /// `entry`: a number that is always the number of an entry, an integer.
  std::int32_t look_up(std::int32_t entry, const LookUp& from);
  std::int32_t make(Op op, std::int32_t a, std::int32_t b = -1, std::int32_t c = -1);

  /// Ways that a formula can go, by conditions that are known only when the program runs: each is gone once, and what
  /// comes out is selected.
  class Paths {
   public:
    /// More of them than this are no small program.
    static constexpr std::size_t kMost = 64;
    explicit Paths(Recording& recording);
    ~Paths();
    Paths(const Paths&) = delete;
    /// Takes what came out of the way that was gone.
    void add(std::vector<std::int32_t> names);
    /// Whether there is another one to go.
    bool next();
    /// What came out of all, selected.
    std::vector<std::int32_t> names() const;

   private:
    friend class Recording;
    struct Decision {
      std::int32_t condition;
      bool yes;
    };
    struct Path {
      std::vector<Decision> decisions;
      std::vector<std::int32_t> names;
    };
    std::vector<std::int32_t> merged(std::size_t first, std::size_t last, std::size_t depth) const;
    Recording& recording_;
    Paths* outer_;
    std::vector<Decision> decisions_;  // of the way being gone, and where it was decided before
    std::size_t at_ = 0;
    std::vector<Path> paths_;
  };
  /// Whether a condition is taken to hold on the way that is being gone.
  bool decide(std::int32_t condition);

  /// Whether two other recordings do the same with elements of their inputs at one distance from each other: this is of
  /// item 0, they are of items 1 and n_item - 1. Then the loads here get their item_stride.
  bool generalise(const Recording& second, const Recording& last, std::size_t n_item);

  const std::vector<Operation>& operations() const { return operations_; }
  const Operation& operator[](std::int32_t name) const { return operations_[static_cast<std::size_t>(name)]; }
  bool is_constant(std::int32_t name) const { return (*this)[name].op == Op::constant; }
  /// Throws std::logic_error if the number is none.
  double constant_of(std::int32_t name) const;

 private:
  std::int32_t add(const Operation& operation);
  std::int32_t simplified(Op op, std::int32_t a, std::int32_t b, std::int32_t c);
  bool is(std::int32_t name, double number) const;

  struct Hash {
    std::size_t operator()(const Operation& operation) const;
  };
  Paths* paths_ = nullptr;
  std::vector<Operation> operations_;
  std::unordered_map<Operation, std::int32_t, Hash> names_;
};

}  // namespace rimetree::program
