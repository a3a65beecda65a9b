// Node classes that exist only for tests of the runtime: they count how often they are evaluated, depend on whatever a
// test wants, and misbehave on demand.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/core/classes/registry.h"
#include "runtime/core/forest/forest.h"
#include "runtime/evaluate/evaluator.h"

namespace rimetree::test {

/// What was evaluated, by any thread.
class CallLog {
 public:
  /// Called by every test node before it computes, on the thread that computes it.
  std::function<void(const Node&)> on_call;

  void record(const Node& node);
  void record_batch(std::size_t size);
  /// Evaluations of a node since the last clear().
  int calls(const std::string& node) const;
  int total() const;
  /// Names of the nodes evaluated since the last clear(), by name.
  std::vector<std::string> evaluated() const;
  /// Sizes of the batches that reached a class with a batch call of its own.
  std::vector<std::size_t> batches() const;
  void clear();

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int> calls_;
  std::vector<std::size_t> batches_;
};

/// Adds to the registry, all logging to `log`:
///   Leaf      no children; value + (sum of the request's properties it depends on); see the state in test_nodes.cc
///   Combine   factor * sin(sum of children), exact derivatives; any number of scalars
///   Slots     children a, b (optional), rest (repeated); result [3]: which slots it sees, see its evaluate()
///   Optional  child a, optional; gives a, or -1 without one
///   Whole     children x; evaluated by one call for a whole batch, with the scale of the node that was called
///   Always    child x; evaluated for every request, on the calling thread
///   Shaped    no children; zeros of dimensions `shape`
///   Pair      children a, b of equal dimensions; their sum
///   Awkward   no children; misbehaves as its state "how" says
void add_test_nodes(Registry& registry, std::shared_ptr<CallLog> log);

/// A forest in the making, with a registry of the test classes of its own.
struct ForestUnderTest {
  ForestUnderTest() { add_test_nodes(registry, log); }

  /// Describes a node at the next script line; children by position.
  void node(const std::string& name, const std::string& class_name, const std::vector<std::string>& children = {},
            const std::map<std::string, StateValue>& state = {});
  std::shared_ptr<Forest> build() const { return Forest::build(specs, registry); }
  /// The errors that building it gives; none if it can be built.
  std::vector<BuildError> errors() const;

  std::shared_ptr<CallLog> log = std::make_shared<CallLog>();
  Registry registry;
  std::vector<NodeSpec> specs;
};

/// `n_time` times from `first_time_s` in steps of a second, `n_frequency` channels of 1 MHz from 1 GHz.
std::shared_ptr<const Cells> grid(int n_time = 2, int n_frequency = 3, double first_time_s = 0);
/// A request for these cells.
Request request(std::shared_ptr<const Cells> cells = grid());

/// All values as they are in memory, for comparing bit by bit.
std::vector<double> values(const Result& result);

}  // namespace rimetree::test
