// Nodes that are evaluated as one program: nodes whose functions of one cell can be recorded, with one root, of whose
// results nobody but each other wants to know. Numbers in between never are in memory. What comes
// out is, bit by bit, what the nodes give one by one.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/cell/cell_program.h"
#include "runtime/core/forest/forest.h"
#include "runtime/evaluate/plan.h"
#include "runtime/evaluate/program_cache.h"
#include "runtime/evaluate/term_programs.h"
#include "runtime/program/program.h"
#include "runtime/program/thread_program.h"

namespace rimetree {

class FusedDerivatives;
class ThreadPool;

/// A node with all that is evaluated as a part of it: nodes whose consumers are all among them.
struct FusedGroup {
  std::vector<int> members;  ///< children before their parents; the last one is the root
  std::vector<int> leaves;   ///< nodes whose results are read, in the order of the program's inputs
  /// Children of the members, one member after the other: kAbsent, which of the leaves, or ~(which of the members).
  std::vector<std::int32_t> links;
  std::size_t n_item = 1;  ///< of stacks: the program is of one item, which is done for all; 1: of the nodes as a whole
  std::int32_t form = 0;   ///< groups whose members are of the same batches and linked alike have the same
  AxisSet varies_along = 0;  ///< axes along which the result varies beyond the leaves
  static constexpr std::int32_t kAbsent = std::numeric_limits<std::int32_t>::max();
};

class Fusion {
 public:
  /// More nodes than this make no small program.
  static constexpr std::size_t kMostMembers = 4096;

  Fusion(const Forest& forest, const Plan& plan);
  ~Fusion();

  /// How many items a node's body treats alike; 0: its class and state do not let it be a part of a program.
  std::size_t items_of(int node) const { return items_[static_cast<std::size_t>(plan_.batch_of(node))]; }
  /// Whether it may be a part of a program that has its nodes as a whole.
  bool can_be_whole(int node) const { return items_of(node) != 0 && items_of(node) <= RecordableNode::kFewItems; }

  /// Whether a node looks up entries of a child, which then is no part of a program with it.
  bool looks_up(int node, std::size_t slot) const;

  /// By node: whether it is a part of others, as far as the plan can tell; sums of many terms are programs of their own
  /// in evaluations of values.
  const std::vector<bool>& expected_parts(bool with_sums);

  /// Sums of many terms, whose nodes are parts of these rather than of their consumers.
  TermSums& sums() { return sums_; }
  TermPrograms& term_programs() { return term_programs_; }
  FusedDerivatives& derivatives() { return *derivatives_; }

  /// Finds the nodes of groups, from the roots down.
  class Search {
   public:
    Search(const Fusion& fusion, std::size_t n_node)
        : fusion_(fusion), root_(n_node, kUnread), readers_(n_node, 0), groups_(n_node) {}
    /// How many times nodes that have been placed read this one.
    int readers(int node) const { return readers_[static_cast<std::size_t>(node)]; }
    /// The root of the group of those; negative if they are not in one.
    int root_of_readers(int node) const { return root_[static_cast<std::size_t>(node)]; }
    /// After all that read it: gives the root of the node's group, which is itself unless all of them are in one; -1 if
    /// it takes part in none. `items`: as of Fusion::items_of(); `is_seen`: others want its result.
    int place(int node, std::span<const int> children, std::size_t items, bool is_seen);

   private:
    static constexpr int kUnread = -1, kSeveral = -2;
    const Fusion& fusion_;
    std::vector<int> root_, readers_;  // by node: of the group of those that read it; how many these are
    /// How many members a group has, what divides the numbers of their items, and the largest of these.
    struct Size {
      std::size_t members = 0, common = 0, most = 0;
      bool takes(std::size_t items) const;
    };
    std::vector<Size> groups_;  // by root
  };

  /// Says of the group of which root each node is a part; -1: of none. Groups are kept as long as that is the same.
  void set_parts(const std::vector<int>& parts);
  /// A node with its parts.
  std::shared_ptr<const FusedGroup> group(int root);

  struct Made {
    std::optional<program::Program> program;                  ///< nothing: the nodes have to be evaluated one by one
    bool is_complex = false;                                  ///< what comes out
    std::shared_ptr<const program::ThreadProgram> on_device;  ///< made when it is asked for; nullptr: it cannot be
    bool was_asked_for = false;
  };
  /// The program of a group, `results` of its leaves; `shape`: cells of its result. Groups that are alike share it.
  const Made& program_of(const FusedGroup& group, std::span<const Result* const> results, const Cells& cells,
                         const CellShape& shape) {
    return find(group, results, cells, shape);
  }
  /// The program of a group for devices; nullptr where it is none of theirs.
  std::shared_ptr<const program::ThreadProgram> program_on_device(const FusedGroup& group,
                                                                  std::span<const Result* const> results,
                                                                  const Cells& cells, const CellShape& shape);
  /// Cells on which the result of a group varies.
  CellShape cells_of(const FusedGroup& group, std::span<const Result* const> results, const Cells& cells) const;
  /// Fills the values of a group's result, by all threads if any are given.
  static void run(const program::Program& program, std::size_t n_item, std::span<const Result* const> results,
                  const Cells& cells, Vells& target, ThreadPool* threads);
  /// The same for any arrays; `shape`: cells of the result.
  static void run(const program::Program& program, std::size_t n_item, std::span<const program::Array> inputs,
                  std::span<const program::Array> outputs, const Cells& cells, const CellShape& shape,
                  ThreadPool* threads);
  /// Sets flags and zeros of a group's result, by the rules of its members one by one.
  void complete(const FusedGroup& group, std::span<const Result* const> results, const Request& request,
                memory::Pool& pool, Result& result) const;

 private:
  FusedGroup find_group(int root);
  Made& find(const FusedGroup& group, std::span<const Result* const> results, const Cells& cells,
             const CellShape& shape);

  const Forest& forest_;
  const Plan& plan_;
  TermSums sums_;
  TermPrograms term_programs_;
  std::unique_ptr<FusedDerivatives> derivatives_;
  std::vector<std::size_t> items_;                 // by batch: items_of()
  std::vector<const RecordableNode*> looking_up_;  // by batch: one of its nodes, if these look up entries
  std::vector<bool> expected_[2];                  // expected_parts(), once somebody has asked
  std::vector<std::int32_t> number_;               // by node, while a group is found: among its leaves or members
  std::vector<int> parts_;                         // of the groups that are kept
  std::unordered_map<int, std::shared_ptr<const FusedGroup>> groups_;  // by root
  std::map<std::vector<std::int32_t>, std::int32_t> forms_;            // by batches of the members, and links
  ProgramCache<Made> made_;                                            // by form, and axes and types of the leaves
};

}  // namespace rimetree
