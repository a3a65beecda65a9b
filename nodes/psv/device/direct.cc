#include "nodes/psv/device/direct.h"

#include "nodes/psv/device/direct_launch.h"

namespace rimetree::psv {

template <class T>
std::size_t DirectMethod<T>::fill(DeviceSlot& slot) {
  auto* rows = static_cast<DeviceRow*>(slot.rows.get());
  for (std::size_t r = 0; r < slot.n_row; ++r) rows[r] = device_row(of_.rows, packed_.jones, slot.first_row + r);
  return slot.n_row * sizeof(DeviceRow);
}

template <class T>
void DirectMethod<T>::compute(std::size_t device, DeviceSlot& slot) {
  const DirectRows rows{slot.d_rows.template as<const DeviceRow>(), slot.n_row, slot.range,
                        slot.d_out.template as<Complex<double>>(), block_threads_};
  launch_sum(this->sky(device), rows, this->chunk_sources(), false);
}

template class DirectMethod<float>;
template class DirectMethod<double>;

}  // namespace rimetree::psv
