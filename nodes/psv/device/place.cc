#include "nodes/psv/device/place.h"

#include <stdexcept>

#include "memory/device.h"

namespace rimetree::psv {

namespace {
void (*gpu_placer)(memory::Queue&, const PlaceJob&) = nullptr;
}  // namespace

void set_gpu_placer(void (*launcher)(memory::Queue& queue, const PlaceJob& job)) { gpu_placer = launcher; }

void launch(memory::Queue& queue, const PlaceJob& job) {
  if (job.size() == 0) return;
  if (!queue.device().is_emulated()) {
    if (gpu_placer == nullptr) throw std::logic_error("PSV: no kernel for " + queue.device().name());
    return gpu_placer(queue, job);
  }
  queue.run([job = PlaceJob(job), &device = queue.device()]() mutable {
    const auto resolve = [&device](auto*& array, std::int64_t count) {
      using Array = std::remove_reference_t<decltype(array)>;
      array = static_cast<Array>(device.resolve(array, static_cast<std::size_t>(count) * sizeof *array));
    };
    resolve(job.from, job.size());
    resolve(job.to, job.n_to);
    resolve(job.offset, job.n_row);
    for (std::int64_t i = 0; i < job.size(); ++i) job.place(i);
  });
}

}  // namespace rimetree::psv
