// The matrix product as a method of the pipeline for devices (pipeline/pipeline.h).
#pragma once

#include "nodes/psv/matrix/plan.h"
#include "nodes/psv/pipeline/device_sky.h"
#include "nodes/psv/pipeline/pipeline.h"

namespace rimetree::psv::matrix {

template <class T>
class MatrixMethod final : public SkyMethod<T> {
 public:
  /// `plan` must have no obstacle; `jones`: the chains it was made with.
  MatrixMethod(const Summed& of, MatrixPlan plan, const MatrixVariant& variant, ThreadPool& threads);

  DeviceCosts costs() const override;
  std::size_t row_number(std::size_t row) const override { return plan_.entries[row].row; }
  std::size_t chunk_end(std::size_t begin, std::size_t end) const override;
  std::size_t fill(DeviceSlot& slot) override;
  void compute(std::size_t device, DeviceSlot& slot) override;
  bool chunks_are_independent() const override { return this->sky(0).keeps(); }

 private:
  using SkyMethod<T>::of_, SkyMethod<T>::packed_;
  void add_tile(std::span<const MatrixEntry> entries, std::size_t first_row);
  MatrixJob<T> job_of(const DeviceSlot& slot) const;

  MatrixPlan plan_;
  MatrixVariant variant_;
  bool regular_ = true;
  std::vector<std::size_t> tile_begin_;  // the first row of each tile
  // Of the slot filled last; kept for their memory.
  std::vector<MatrixTile> tiles_;
  std::vector<MatrixAntenna> antennas_;
  std::vector<MatrixRow> rows_;
};

}  // namespace rimetree::psv::matrix
