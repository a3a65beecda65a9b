// Sums over the cells of consecutive equations, made on a device: what they are made of goes up once and stays, sums
// come down.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/solve/problem/problem.h"
#include "runtime/solve/sums/sum_inputs.h"

namespace rimetree::solve {

/// How equations are divided.
struct SumBlocks {
  Segments time, frequency;
  std::size_t n_element = 1;
  bool is_real = false;  ///< see SumsJob
  std::size_t size() const { return time.size() * frequency.size(); }
};

/// What of sums is wanted at some values of the unknowns.
struct SumsWanted {
  ErrorModel errors;
  bool products = true;
  std::span<const Complex<double>> coefficients;  ///< as in SumEquation; empty: no residuals
};

/// Sums of sums, on the device too: see SumListsJob.
struct SumLists {
  std::vector<std::int64_t> first{0}, source;
  std::uint64_t version = 0;  ///< identifies the lists
};

class DeviceSums {
 public:
  /// Brings up what is not there, and keeps it there as long as this lives. Throws memory::OutOfMemory.
  DeviceSums(DeviceContext& device, const SumBlocks& blocks, std::span<const SumInput> inputs);
  DeviceSums(DeviceSums&&) = default;

  /// Queues everything. Throws memory::OutOfMemory.
  void start(const SumsWanted& wanted);
  /// Queues sums of the sums, which finish() then gives instead. Throws memory::OutOfMemory.
  void add_up(const SumLists& lists);
  /// The sums, by equation, block and element: ScalarSums, then products (SumsJob::n_number). Waits for them.
  std::vector<double> finish();
  /// Of the last start().
  std::size_t n_number() const { return static_cast<std::size_t>(job_.n_number()); }

 private:
  using Handle = memory::ResidentArrays::Handle;
  void set_tables(const SumTables& tables, const SumBlocks& blocks);

  DeviceContext* device_;
  std::uint64_t owner_;
  std::vector<Handle> held_;
  Handle d_coefficients_, d_partial_, d_sums_, d_lists_, d_totals_;
  SumsJob job_;
};

/// Equations that a device sums up together.
using SumShare = std::vector<std::uint32_t>;

struct SumShareSteps {
  std::function<std::unique_ptr<DeviceSums>(DeviceContext& device, const SumShare& share)> start;
  std::function<void(const SumShare& share, std::unique_ptr<DeviceSums> sums)> finish;
  /// For this one there is no room, even by itself.
  std::function<void(std::uint32_t equation, const memory::OutOfMemory& error)> give_up;
};

/// Has each device sum up its shares, one after the other; all devices at a time. A share for which memory does not
/// suffice is halved.
void sum_by_shares(const DeviceContexts& devices, std::vector<std::deque<SumShare>> waiting,
                   const SumShareSteps& steps);

}  // namespace rimetree::solve
