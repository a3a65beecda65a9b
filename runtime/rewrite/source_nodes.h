// What the nodes of a forest are to sums over sources: which hold phases of sources, which vary, which may not be read.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/core/forest/forest.h"
#include "runtime/rewrite/linear_forms.h"
#include "runtime/rewrite/real_nodes.h"

namespace rimetree::rewrite {

/// One number for two nodes.
inline std::uint64_t key_of(int node, int other) {
  return static_cast<std::uint64_t>(node) << 32 | static_cast<std::uint32_t>(other);
}

/// Why nodes that must not be part of a term are not (runtime/evaluate/made_nodes.cc says which).
inline constexpr const char* kMustBeAsWritten =
    "its data are flagged element by element or missing, or unknowns move its phase or shape (derivatives cost less "
    "so)";

bool is_sum(Algebra algebra);

/// Whether a node is what a class calls a brightness, or a part of it.
bool looks_like_brightness(const Forest& forest, int node);

/// What smearing is over, from a node's state; 0: the widths of the cells.
double width_of(const State& state, const char* field);

class SourceNodes {
 public:
  /// `refused`: nodes that must not be part of a term, by node. `leaving_out`: phases and smearing that do so.
  SourceNodes(const Forest& forest, const std::vector<bool>& refused,
              std::span<const std::pair<int, LeftOut>> leaving_out);

  const Forest& forest() const { return forest_; }
  Algebra algebra(int node) const { return forest_.node(node).algebra(); }
  std::span<const int> children(int node) const { return forest_.children(node); }
  const TensorShape& dims(int node) const { return forest_.node(node).dims(); }
  const State& state(int node) const { return forest_.node(node).state(); }

  /// Whether there are phases of sources. If not, nothing else may be asked.
  bool any() const { return any_; }
  /// Directions of phases.
  std::size_t n_direction() const { return n_direction_; }
  /// Directions and shapes of sources that vary in time.
  std::size_t n_moving() const { return n_moving_; }

  bool is_refused(int node) const { return refused_[static_cast<std::size_t>(node)]; }
  /// Whether a factor must be read as it is written. What a conjugate transpose is of is read itself.
  bool is_refused_factor(int node) const {
    return is_refused(node) || (algebra(node) == Algebra::conjugate_transpose && is_refused(children(node)[0]));
  }
  /// Whether it is a phase, smearing, a taper, or a sum or product of any.
  bool has_term(int node) const { return holds_[static_cast<std::size_t>(node)] != 0; }
  bool has_phase(int node) const { return (holds_[static_cast<std::size_t>(node)] & kPhase) != 0; }
  /// Whether all that it has of these is within real or imaginary parts, which are numbers.
  bool has_parts_only(int node) const { return holds_[static_cast<std::size_t>(node)] == kPart; }
  /// Whether a product without phases is better read as its factors, which other sums, or other terms, have as well.
  bool is_of_one_term(int node) const;
  /// Whether there is a sum with phases in a node, of whatever that is made.
  bool holds_sum(int node) const;
  /// Of a sum; 1 for what is none.
  int n_term(int node) const;

  bool may_vary(int node, Axis axis) const { return (varies_[static_cast<std::size_t>(node)] & set_of(axis)) != 0; }
  bool may_vary_in_time(int node) const { return may_vary(node, Axis::time); }
  /// What is left out in the sums that a phase or smearing is made from.
  LeftOut leaves_out(int node) const {
    return leaves_out_.empty() ? LeftOut{} : leaves_out_[static_cast<std::size_t>(node)];
  }

  bool is_real(int node) { return is_real_(node); }
  /// Whether a node is zero on all cells.
  bool is_zero(int node);
  /// Whether two nodes are the coordinates of one station, but one with rates, the other without.
  bool are_one_place(int a, int b);
  /// Nodes whose states have been read, as constants that are zero: what has been found holds as long as they do not
  /// change.
  const std::vector<int>& read_states() const { return read_states_; }

 private:
  /// What a node is, or one below it in sums and products is: phases, smearing or tapers, real or imaginary parts of
  /// phases.
  enum Holds : std::uint8_t { kPhase = 1, kLoss = 2, kPart = 4 };
  void count_readers();
  void find_what_varies();
  void count_moving();
  std::uint8_t held_by(int node) const;

  const Forest& forest_;
  const std::vector<bool>& refused_;
  bool any_ = false;
  std::size_t n_direction_ = 0, n_moving_ = 0;
  std::vector<std::uint32_t> n_reader_;  // by node: parents
  std::vector<std::uint8_t> holds_;      // by node: of Holds
  std::vector<AxisSet> varies_;          // by node: along which axes
  std::vector<LeftOut> leaves_out_;      // by node; empty: none does
  RealNodes is_real_;
  std::vector<int> read_states_;
  std::unordered_map<std::uint64_t, bool> one_place_;  // by pair of nodes
};

}  // namespace rimetree::rewrite
