// The matrix product as a method of the pipeline for devices (device/pipeline.h).
#pragma once

#include "nodes/psv/device/device_sky.h"
#include "nodes/psv/device/pipeline.h"
#include "nodes/psv/matrix/plan.h"

namespace rimetree::psv {

template <class T>
class MatrixMethod final : public DeviceMethod {
 public:
  /// `plan` must have no obstacle; `jones`: the chains it was made with.
  MatrixMethod(const DeviceProblem& problem, MatrixPlan plan, const MatrixVariant& variant, ThreadPool& threads);

  DeviceCosts costs() const override;
  std::span<const DeviceRun> runs() const override { return packed_.channels.runs; }
  std::size_t row_number(std::size_t row) const override { return plan_.entries[row].row; }
  std::size_t chunk_end(std::size_t begin, std::size_t end) const override;
  void open(std::span<const std::unique_ptr<DeviceContext>> devices, const DeviceChunks& chunks,
            bool channels_are_cut) override;
  std::size_t fill(DeviceSlot& slot) override;
  void compute(std::size_t device, DeviceSlot& slot) override;

 private:
  void add_tile(std::span<const MatrixEntry> entries, std::size_t first_row);
  MatrixJob<T> job_of(const DeviceSky<T>& sky, const DeviceSlot& slot) const;

  const DeviceProblem& p_;
  MatrixPlan plan_;
  MatrixVariant variant_;
  ThreadPool& threads_;
  PackedProblem packed_;
  bool regular_ = true;
  std::vector<std::size_t> tile_begin_;               // the first row of each tile
  std::vector<MatrixRun> runs_;                       // as many as packed_.channels.runs
  std::vector<std::unique_ptr<DeviceSky<T>>> skies_;  // [device]
  // Of the slot filled last; kept for their memory.
  std::vector<MatrixTile> tiles_;
  std::vector<MatrixAntenna> antennas_;
  std::vector<MatrixRow> rows_;
  std::size_t chunk_sources_ = 0;
};

}  // namespace rimetree::psv
