// Passes over the data, in stretches of the equations, on the host or on devices: what makes the sums.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/solve/jones/jones_sums.h"
#include "runtime/solve/problem/part_view.h"
#include "runtime/solve/sums/device_sums.h"

namespace rimetree::solve {

struct JonesPlanes;

/// Some cells of one element, gathered into short arrays: which takes care of strides. Then flags, weights and what is
/// not finite are looked at, and the sums are plain loops.
struct JonesChunk;

class JonesSweep {
 public:
  /// All sums, or what does not come out of sums without loss.
  enum class What { sums, exact };

  JonesSweep(Evaluator& evaluator, const Problem& problem, RequestParts& parts, const JonesProducts& products,
             JonesSums& sums)
      : evaluator_(evaluator), problem_(problem), parts_(parts), products_(products), sums_(sums) {}

  void run(What what, const ErrorModel& errors, Cancellation& cancellation);

 private:
  using Stretch = std::pair<std::size_t, std::size_t>;  ///< [first, last) equations that are looked at together

  bool residuals(What what) const { return what == What::exact || errors_.degrees_of_freedom > 0; }
  std::vector<Item> items(std::size_t first, std::size_t last) const;
  std::vector<int> fixed_nodes(std::size_t equation) const;
  /// Whether the tile of a part has nothing of what a node needs, so that its result would be missing.
  bool is_missing(int node) const;
  std::vector<Stretch> stretches() const;
  /// What the equations of a stretch see, as far as there are data.
  std::vector<int> roots_of(const Stretch& stretch) const;
  /// Nodes below each stretch that are below no other one: nobody asks for them again once it is done.
  std::vector<std::vector<int>> own_nodes(std::span<const Stretch> stretches) const;
  JonesPlanes planes_of(std::size_t equation, std::span<const ResultPtr> results);
  void sweep_part(What what, Cancellation& cancellation);
  std::vector<JonesPlanes> look_at(const Stretch& stretch, std::vector<ResultPtr>& results, Cancellation& cancellation);
  void sweep_on_host(std::size_t first, std::span<const JonesPlanes> planes, What what, const std::vector<bool>& done,
                     Cancellation& cancellation);

  // Cells of a block; see jones_cells.cc.
  /// Cells of a chunk, from `at` on: those of n times from one on, of `width` channels from one on.
  struct Rows {
    std::size_t at, time, n, channel, width;
  };
  friend struct JonesChunk;
  void sum_block(const JonesPlanes& planes, const Item& item, What what);
  void append_rows(const JonesPlanes& planes, const Item& item, std::size_t element, const Rows& rows,
                   JonesChunk& chunk) const;
  std::size_t weigh(const JonesPlanes& planes, const Item& item, std::size_t element, JonesChunk& chunk,
                    ScalarSums& sums) const;
  void add_residuals(const Item& item, const std::vector<Complex<double>>& c, JonesChunk& chunk,
                     ScalarSums& sums) const;
  void add_chunk(const JonesPlanes& planes, const Item& item, std::size_t element, What what,
                 const std::vector<Complex<double>>& c, JonesChunk& chunk, ScalarSums& sums);

  // On devices, which keep what they have been sent; see jones_devices.cc.
  bool is_worth_devices(std::span<const JonesPlanes> planes) const;
  SumInput sum_input(std::size_t equation, const JonesPlanes& planes) const;
  SumBlocks sum_blocks() const;
  std::vector<Complex<double>> coefficients_of(const SumShare& share) const;
  void start(const SumShare& share, DeviceSums& sums, What what) const;
  void finish(const SumShare& share, DeviceSums& on_device);
  std::vector<std::deque<SumShare>> deal_out(std::size_t first, std::span<const JonesPlanes> planes, bool& keep) const;
  void sweep_on_devices(std::size_t first, std::span<const JonesPlanes> planes, What what, bool keep,
                        std::vector<bool>& done, Cancellation& cancellation);
  bool sweep_again(What what);

  Evaluator& evaluator_;
  const Problem& problem_;
  RequestParts& parts_;
  const JonesProducts& products_;
  JonesSums& sums_;
  ErrorModel errors_;
  PartView part_;  ///< that is looked at
  /// Of the last sweep, if devices had room for all of it.
  std::vector<std::pair<SumShare, std::unique_ptr<DeviceSums>>> shares_;
};

}  // namespace rimetree::solve
