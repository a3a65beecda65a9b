// Starting a job on whatever device a queue belongs to: a GPU by the launcher that the plugin for GPUs brings, an
// emulated device by host code that runs the same bodies, block by block and thread by thread.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <type_traits>

#include "memory/device.h"
#include "memory/queue.h"

namespace rimetree::psv {

/// Queues `gpu`, or on an emulated device run_on_host(job) with the job's arrays (for_each_array) where the host finds
/// them. Throws std::logic_error on a GPU without the plugin.
template <class Job, class RunOnHost>
void launch_anywhere(memory::Queue& queue, const Job& job, void (*gpu)(memory::Queue&, const Job&),
                     RunOnHost run_on_host) {
  if (queue.device().is_emulated())
    return queue.run([own = job, run_on_host, &device = queue.device()]() mutable {
      for_each_array(own, [&device](auto*& array, std::int64_t count) {
        using Array = std::remove_reference_t<decltype(array)>;
        array = static_cast<Array>(device.resolve(array, static_cast<std::size_t>(count) * sizeof *array));
      });
      run_on_host(own);
    });
  if (gpu == nullptr) throw std::logic_error("PSV: no kernel for " + queue.device().name());
  gpu(queue, job);
}

/// Calls f.template operator()<kPlanes>() with the least number of planes for which there are kernels.
template <class F>
void with_planes(int n_plane, F&& f) {
  switch (n_plane) {
    case 1:
      return f.template operator()<1>();
    case 2:
      return f.template operator()<2>();
    case 4:
      return f.template operator()<4>();
    default:
      return f.template operator()<8>();
  }
}

}  // namespace rimetree::psv
