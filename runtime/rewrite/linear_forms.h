// Real expressions as a tree has them, multiplied out: sums of products of numbers, frequencies and quantities that do
// not vary in frequency. Phases that are written by hand are read in this way.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runtime/core/forest/forest.h"
#include "runtime/math/complex.h"

namespace rimetree::rewrite {

/// A quantity in a product: a node, one element of it, or one column of a matrix.
struct Atom {
  int node = -1;
  int element = -1;  ///< counted row-major; -1: all of it; see column()
  int written = -1;  ///< a node that is just this; -1: none is
  /// The element that stands for a column; the column of an element, -1: it stands for none.
  static int element_of_column(int column) { return -2 - column; }
  int column() const { return element < -1 ? -2 - element : -1; }
  friend bool operator==(const Atom& a, const Atom& b) { return a.node == b.node && a.element == b.element; }
};

/// coefficient nu^frequency n1^p1 n2^p2 ... a1 a2 ...
struct Monomial {
  Complex<double> coefficient{1, 0};
  int frequency = 0;
  std::vector<std::pair<int, int>> numbers;  ///< constants, in order, and their powers
  std::vector<Atom> baseline, source;        ///< what belongs to a baseline, or a station, and what to a source
};

/// What sums in an expression leave out.
struct LeftOut {
  bool flagged = false, missing = false;
};

using Form = std::vector<Monomial>;
/// Longer ones are none that somebody has written as a phase.
inline constexpr std::size_t kMostMonomials = 24;
Form product(const Form& a, const Form& b);
/// Divides by numbers and frequencies; false if a divisor is something else, or a sum.
bool divide(Form& form, const Form& divisor);

class FormReader {
 public:
  /// `refused`: nodes that must be evaluated as they are written, by node.
  FormReader(const Forest& forest, const std::vector<bool>& refused);

  /// Multiplies a node out. False: it is no such sum, or too long a one.
  bool read(int node, Form& form);
  /// Whether what was read last holds a sum that leaves out elements that are flagged.
  bool leaves_out_flagged() const { return leaves_out_flagged_; }
  /// Adds the nodes to which an expression comes down, where they are no numbers. False: there are too many.
  bool find_leaves(int node, std::vector<int>& leaves);

  /// What varies in time belongs to baselines. Of other nodes, and of directions that vary in time, it is said before
  /// anything is read.
  void say_baseline(int node) { is_baseline_[static_cast<std::size_t>(node)] = true; }
  void say_source(int node) { is_source_[static_cast<std::size_t>(node)] = true; }
  bool is_baseline(int leaf) const;
  /// Whether a node is the time itself: a large number, of which little is left after a difference.
  bool is_time(int node) const;

  /// The value of a number. It is noted down: what has been read holds as long as it does not change.
  Complex<double> value_of(int number);
  bool is_number(int node) const;
  /// That the value of a constant has been read.
  void note(int constant);
  const std::vector<int>& numbers() const { return numbers_; }

 private:
  enum Kind : std::uint8_t { kBaseline = 1, kSource = 2, kOther = 4, kNumber = 8, kUnknown = 255 };
  std::uint8_t kind(int node);
  bool read(int node, int element, int written, Form& form);
  bool read_product(std::span<const int> children, int element, Form& form);
  bool read_quotient(std::span<const int> children, int element, Form& form);
  bool read_atom(int node, int element, int written, Form& form);
  int child_of_composition(int node, int& element) const;
  int selected(int node) const;
  int selected_row(int node) const;
  bool is_dot_product(int node) const;
  bool goes_on_below(int node) const;
  bool read_dot_product(int node, int element, Form& form);

  const Forest& forest_;
  const std::vector<bool>& refused_;
  std::vector<AxisSet> axes_;       // by node: along which its values may vary
  std::vector<std::uint8_t> kind_;  // by node: a set of kinds, or unknown
  std::vector<bool> is_baseline_, is_source_, is_noted_;
  std::vector<int> numbers_;
  bool leaves_out_flagged_ = false;
  int n_left_ = 0;  // nodes that may still be looked at
};

}  // namespace rimetree::rewrite
