#include "runtime/device/recorded_job.h"

namespace rimetree {

JobOnHost<RecordedJob>::JobOnHost(const memory::Device& device, const RecordedJob& from)
    : cells(device, from.cells, from.bytes_per_value()), job(from) {
  job.cells = cells.job;
  const ArraysOnHost resolve(device);
  resolve(job.d_operations, job.n_operation);
  resolve(job.d_numbers, job.n_number);
}

void launch_recorded(memory::Queue& queue, const RecordedJob& job) {
  launch_job(queue, job, [](const RecordedJob& on_host) {
    with_registers(on_host, [&]<int kRegisters>() {
      for (std::int32_t k = 0; k < on_host.cells.n_item; ++k) {
        const CellItem& item = on_host.cells.d_item[k];
        for (std::size_t i = 0; i < item.n_thread; ++i) run_recorded<kRegisters>(on_host, item, i);
      }
    });
  });
}

}  // namespace rimetree
