#include "nodes/psv/device/direct.h"

#include "nodes/psv/device/direct_launch.h"

namespace rimetree::psv {
template <class T>
void DirectMethod<T>::open(std::span<const std::unique_ptr<DeviceContext>> devices, const DeviceChunks& chunks,
                           bool channels_are_cut) {
  chunk_sources_ = chunks.sources;
  const bool keep = chunks.sources >= p_.sky.n_source && !(channels_are_cut && packed_.jones_vary());
  skies_.clear();
  for (const auto& device : devices)
    skies_.push_back(std::make_unique<DeviceSky<T>>(p_, packed_, *device, threads_, keep));
}

template <class T>
std::size_t DirectMethod<T>::fill(DeviceSlot& slot) {
  auto* rows = static_cast<DeviceRow*>(slot.rows.get());
  for (std::size_t r = 0; r < slot.n_row; ++r) rows[r] = device_row(p_.rows, packed_.jones, slot.first_row + r);
  return slot.n_row * sizeof(DeviceRow);
}

template <class T>
void DirectMethod<T>::compute(std::size_t device, DeviceSlot& slot) {
  const DirectRows rows{slot.d_rows.template as<const DeviceRow>(), slot.n_row, slot.range,
                        slot.d_out.template as<Complex<double>>(), block_threads_};
  launch_sum(p_, packed_, *skies_[device], rows, chunk_sources_, false);
}

template class DirectMethod<float>;
template class DirectMethod<double>;

}  // namespace rimetree::psv
