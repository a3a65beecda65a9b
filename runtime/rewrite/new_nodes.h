// Nodes that a rewriting adds to a forest. Equal ones are made once, so that what all baselines share is one node.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/core/forest/forest.h"

namespace rimetree::rewrite {

/// What a node that sums sources is made of; its children are those of class PSV.
struct SourceSumNode {
  int lmn = -1, brightness = -1, uvw = -1, shape = -1;
  std::vector<int> jones;  ///< J_p, J_q^H, the innermost pair first
  int n_minus = 1;
  bool smear_time = false, smear_frequency = false;
  double time_width_s = 0, freq_width_hz = 0;  ///< 0: those of the cells
};

/// What a node that smears is made of: over an exposure or a channel of a width, in seconds or hertz.
struct SmearingNode {
  int lmn = -1, uvw = -1, n_minus = 1;
  bool in_time = false;
  double width = 0;
};

/// Where these are among its children, and Jones terms from the last one on.
inline constexpr std::size_t kLmnSlot = 0, kBrightnessSlot = 1, kUvwSlot = 2, kShapeSlot = 3, kFirstJonesSlot = 4;

class NewNodes {
 public:
  /// Looks for the classes that it needs, by their algebra.
  NewNodes(const Forest& forest, const Registry& registry);
  /// Whether all classes are there; else nothing can be rewritten.
  bool complete() const { return complete_; }

  /// For names of nodes and errors: the node on behalf of which others are added from now on.
  void set_owner(int node) { owner_ = node; }

  int conjugate_transpose(int node);
  int negative(int node);
  int difference(int a, int b);
  int quotient(int a, int b);
  /// One over each number.
  int inverse(int node);
  int total(int a, int b);
  int exponential(int node);
  /// Of an amplitude and an angle.
  int polar(int amplitude, int angle);
  /// Of numbers, or of one matrix with numbers.
  int product(int a, int b);
  /// Of a stack of matrices with one of numbers.
  int scaled(int matrices, int numbers);
  /// All elements of the nodes, one after the other, in these dimensions.
  int stack(std::span<const int> nodes, const TensorShape& dims);
  int transpose(int matrix);
  int constant(double value, const TensorShape& dims);
  /// One number of a tensor, counted row-major.
  int selected(int tensor, int number);
  /// One number of a 2x2 matrix, counted row-major.
  int element(int matrix, int number);
  /// One row of a matrix of numbers, or one column.
  int row(int matrix, std::int64_t number);
  int column(int matrix, std::int64_t number);

  // What may stand in the owner's place: with `in_place` it does.
  int sum(std::vector<int> terms, bool in_place);
  int matrix_product(std::vector<int> factors, bool in_place);
  int elementwise_product(std::vector<int> factors, bool in_place);
  int phase(int lmn, int uvw, int n_minus, bool in_place);
  int smearing(const SmearingNode& smearing, bool in_place);
  /// The real or the imaginary part.
  int part(int node, Algebra which, bool in_place);
  int first_element(int matrix, bool in_place);
  int element_in_place(int matrix, int number);
  int source_sum(const SourceSumNode& sum, bool in_place);

  const std::vector<NewNode>& all() const { return nodes_; }
  /// All but those of the first n that stand in their owners' places.
  std::vector<NewNode> without_replacing(std::size_t n) const;
  /// Of those that have numbers of their own, in their order: on whose behalf they were added first.
  const std::vector<int>& owners() const { return owners_; }

 private:
  int shared(const NodeClass* node_class, std::map<std::string, StateValue> state, std::uint64_t state_key,
             std::vector<int> children);
  int add(const NodeClass* node_class, std::map<std::string, StateValue> state, std::vector<int> children,
          bool in_place);
  int placed(const NodeClass* node_class, std::map<std::string, StateValue> state, std::uint64_t state_key,
             std::vector<int> children, bool in_place);

  const Forest& forest_;
  std::size_t first_;
  int owner_ = -1;
  bool complete_ = false;
  const NodeClass *conjugate_transpose_, *negation_, *difference_, *product_, *quotient_, *composition_, *constant_,
      *sum_, *matrix_product_, *selection_, *transpose_, *phase_, *source_sum_, *exponential_, *polar_number_,
      *smearing_, *real_part_, *imaginary_part_;
  std::vector<NewNode> nodes_;
  std::vector<int> owners_;
  std::vector<std::size_t> entry_;  // of the same nodes: where they are in nodes_
  std::unordered_multimap<std::uint64_t, std::pair<int, std::uint64_t>> known_;  // hash -> node, key of its state
};

}  // namespace rimetree::rewrite
