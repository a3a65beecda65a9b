// What sums over cells are made of, and how it gets to a device.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/core/values/result.h"
#include "runtime/device/device_context.h"
#include "runtime/solve/sums/sums_job.h"

namespace rimetree::solve {

/// Values, and what identifies them.
struct SumOperand {
  const Vells* values = nullptr;  ///< nullptr: none
  memory::ArrayKey key;
  int element = -1;  ///< as in SumVector

  SumOperand() = default;
  /// The values of a result, or of its k-th derivative.
  explicit SumOperand(const Result& result, int element = -1);
  SumOperand(const Result& result, std::size_t derivative);
};

/// What one equation's sums are made of; see SumEquation.
struct SumInput {
  SumOperand data, residual, weight;
  std::vector<SumOperand> fixed, vectors;
  std::function<bool(std::size_t element, std::size_t t, std::size_t f)> flagged;  ///< empty: nothing is
  memory::ArrayKey flags_key;
  double weight_factor = 1;
  int dimensions = 2;

  /// Of everything that must be on the device, flags included.
  std::uint64_t bytes(const CellShape& cells, std::size_t n_element) const;
};

/// Finds a place on a device for everything that sums are made of: what is there is left where it is, all else goes up,
/// known by its key, large arrays by themselves and small ones together.
class SumArrays {
 public:
  explicit SumArrays(DeviceContext& device) : device_(device) {}
  SumArray add(const SumOperand& operand);
  /// Flags of all elements on all cells; `input` must stay until settle().
  SumArray add_flags(const SumInput& input, const CellShape& cells, std::size_t n_element);
  /// Brings up what is small and tells the job where all arrays are.
  void finish(SumsJob& job, std::uint64_t owner);
  /// What add() gave is right only after this.
  void settle(SumArray& array) const;
  /// They stay on the device as long as somebody has these.
  std::vector<memory::ResidentArrays::Handle> take() { return std::move(held_); }

 private:
  using Handle = memory::ResidentArrays::Handle;
  using Fill = std::function<void(std::byte* to)>;
  struct Small {
    memory::ArrayKey key;
    std::size_t bytes;
    Fill fill;
    std::int64_t base = -1;
    std::size_t offset = 0;
  };
  std::int64_t hold(Handle array);
  void place(SumArray& array, memory::ArrayKey key, Fill fill);
  Handle resident(memory::ArrayKey key, std::size_t bytes, const Fill& fill);
  std::size_t bring_up_together(std::size_t begin);

  DeviceContext& device_;
  std::vector<Handle> held_;
  std::map<memory::DeviceBlock*, std::int64_t> blocks_;
  std::unordered_map<std::uint64_t, std::int64_t> known_;  // by owner: array, or -2 - number of a small one
  std::vector<Small> small_;
};

/// What a launch is told of its equations.
struct SumTables {
  SumTables(std::span<const SumInput> inputs, std::size_t n_block, std::size_t n_element, const CellShape& cells,
            SumArrays& arrays);
  void settle(const SumArrays& arrays);

  std::vector<SumEquation> equations;
  std::vector<SumArray> fixed;
  std::vector<SumVector> vectors;
  std::int64_t n_coefficient = 0, most_vectors = 0;
};

}  // namespace rimetree::solve
