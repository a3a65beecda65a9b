// The arrays of a job: what the nodes of a batch read is brought up to the device, if it is not there.
#pragma once

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/device/cell_job.h"
#include "runtime/device/device_batch.h"

namespace rimetree {

/// What an array is, for its key.
enum class ArrayRole : std::uint64_t {
  result = 101,
  derivative,
  group,
  derivative_group,
  items,
  arrays,
  axis_grid,
  operations,
  numbers
};
std::uint64_t owner_of(ArrayRole role, std::uint64_t name);

/// The bytes that an array takes among others of one block.
inline std::size_t bytes_in_block(std::size_t bytes) {
  constexpr std::size_t kAlignment = 2 * sizeof(double);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// They stay on the device as long as this lives; what is queued before that comes before their memory is used again.
class JobArrays {
 public:
  using Handle = memory::ResidentArrays::Handle;
  struct Place {
    std::int32_t base = -1;
    std::size_t offset = 0;
  };

  JobArrays(DeviceContext& device, const DeviceBatch& batch);
  /// Where the values of a child, or its derivative, are; nowhere if nobody reads them.
  Place at(const Vells& values) const;
  /// Makes an array the job's next one.
  std::int32_t add(Handle array);
  /// Tells the job where the arrays are.
  void describe(CellJob& job, std::uint64_t owner);

 private:
  /// A child's values, or its derivative.
  struct Input {
    const Result* of;
    const Derivative* derivative;  ///< nullptr: values
    const Vells& values() const { return derivative != nullptr ? derivative->value : of->value; }
    /// Tells arrays of one node from each other.
    std::uint64_t name() const;
  };
  /// By what made them. Derivatives, many of which never change, go by themselves.
  using Groups = std::map<std::pair<ArrayRole, std::uint64_t>, std::vector<Input>>;

  void add(const DeviceBatch& batch, const Input& input, Groups& groups);
  std::int32_t on_block(memory::DeviceBlock& block);
  void bring_up(const Input& input);
  void bring_up_together(const Groups::key_type& group, std::vector<Input>& inputs);

  DeviceContext& device_;
  std::vector<Handle> arrays_;
  Handle table_;
  std::unordered_map<memory::DeviceBlock*, std::int32_t> blocks_;
  std::unordered_map<const Vells*, Place> at_;
};

}  // namespace rimetree
