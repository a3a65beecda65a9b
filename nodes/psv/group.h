// Baselines that see the same sky, as the solvers take them.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "nodes/psv/device_pack.h"
#include "nodes/psv/kernel.h"
#include "nodes/psv/operands.h"
#include "runtime/node.h"

namespace rimetree::psv {

/// Rows of a group of baselines, flattened: baseline by baseline, within that time by time.
struct GroupRows {
  std::vector<double> uvw[6], exposure_s;
  std::vector<std::int32_t> baseline, time;
  std::vector<Complex<double>*> output;
  Rows rows;

  /// Baseline number `index`, whose uvw (3 components, or 6 with rates) are `values` and whose visibilities go to
  /// `target`, [time][channel].
  void add(const Vells& values, int n_components, std::int32_t index, std::int32_t n_time, const Cells& cells,
           Complex<double>* target, std::size_t n_channel);
  const Rows& finish(bool smear_time, bool smear_frequency);
};

/// The Jones terms of a group, each result converted once and each chain of them listed once.
class GroupJones {
 public:
  explicit GroupJones(const ChildLayout& layout) : layout_(layout) {}
  /// Jones children of the next baseline: J_p, J_q^H, J_p, J_q^H ...
  void add(std::span<const Result* const> children);
  const JonesChains& chains() const { return chains_; }

 private:
  using Key = std::vector<const Result*>;
  std::int32_t number_of(std::span<const Result* const> children, std::size_t side);

  const ChildLayout& layout_;
  std::map<const Result*, Operand<double>> operands_;
  std::map<Key, std::int32_t> known_[2];  // left, right
  JonesChains chains_;
};

/// A group before it is decided where it is evaluated.
struct GroupProblem {
  const SkyInput& input;
  const Sky<double>& sky;
  const Channels& channels;
  const Rows& rows;
  const Output& output;
};

/// Evaluates a group on the devices of the context. False, with a warning, if their memory is too small.
bool solve_group_on_devices(BatchContext& context, const Node& node, const GroupProblem& group,
                            const JonesChains& jones, double tolerance);

/// Says so where smearing as a product of sincs is not good enough.
void warn_of_large_cells(BatchContext& context, const Node& node, const SmearingLimits& limits);

}  // namespace rimetree::psv
