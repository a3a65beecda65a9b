#include "runtime/device/cell_launch.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

namespace rimetree {

namespace {

std::mutex mutex;
std::map<std::pair<std::string, int>, GpuLauncher>& gpu_launchers() {
  static std::map<std::pair<std::string, int>, GpuLauncher> launchers;
  return launchers;
}
GpuLauncher find_launcher(const std::string& class_name, int variant) {
  const std::lock_guard lock(mutex);
  const auto it = gpu_launchers().find({class_name, variant});
  return it == gpu_launchers().end() ? nullptr : it->second;
}

/// A job with all its arrays where the host finds them: each result and each child an array of its own.
struct ResolvedJob {
  ResolvedJob(const memory::Device& device, const CellJob& from, std::size_t bytes_per_value) : job(from) {
    const auto resolve = [&device](auto*& array, std::size_t count) {
      using Array = std::remove_reference_t<decltype(array)>;
      if (array != nullptr) array = static_cast<Array>(device.resolve(array, count * sizeof *array));
    };
    const auto n_item = static_cast<std::size_t>(job.n_item);
    resolve(job.d_item, n_item);
    items.assign(job.d_item, job.d_item + n_item);
    std::int32_t n_child = 0;
    for (const CellItem& item : items)
      n_child = std::max(n_child, std::max(item.first_child, item.first_derivative) + item.n_child);
    resolve(job.d_child, static_cast<std::size_t>(n_child));
    children.assign(job.d_child, job.d_child + n_child);
    resolve(job.d_many, static_cast<std::size_t>(job.n_array));
    resolve(job.d_time_s, 2 * static_cast<std::size_t>(job.n_time));
    resolve(job.d_frequency_hz, 2 * static_cast<std::size_t>(job.n_frequency));

    const auto move = [&](auto& array, std::size_t bytes) {
      if (array.base < 0) return;
      arrays.push_back(static_cast<std::byte*>(device.resolve(job.array(array.base) + array.offset, bytes)));
      array.base = static_cast<std::int32_t>(arrays.size() - 1);
      array.offset = 0;
    };
    for (CellArray& child : children)
      move(child, child.plane * child.dims.size() * (child.is_complex != 0 ? 2 : 1) * sizeof(double));
    for (CellItem& item : items) move(item, item.n_value * bytes_per_value);
    job.d_item = items.data();
    job.d_child = children.data();
    job.d_many = arrays.data();
  }
  CellJob job;
  std::vector<CellItem> items;
  std::vector<CellArray> children;
  std::vector<std::byte*> arrays;
};

}  // namespace

void add_gpu_launcher(const std::string& class_name, int variant, GpuLauncher launcher) {
  const std::lock_guard lock(mutex);
  gpu_launchers()[{class_name, variant}] = launcher;
}

bool has_launcher(const memory::Device& device, const std::string& class_name, int variant) {
  return device.is_emulated() || find_launcher(class_name, variant) != nullptr;
}

void launch_emulated(memory::Queue& queue, const CellJob& job, std::size_t bytes_per_value,
                     std::function<void(const CellJob& job)> run) {
  queue.run([&device = queue.device(), job, bytes_per_value, run = std::move(run)] {
    run(ResolvedJob(device, job, bytes_per_value).job);
  });
}

void launch_on_gpu(memory::Queue& queue, const std::string& class_name, int variant, const void* program,
                   const CellJob& job) {
  const GpuLauncher launcher = find_launcher(class_name, variant);
  if (launcher == nullptr) throw std::logic_error(class_name + ": no program for " + queue.device().name());
  launcher(queue, program, job);
}

}  // namespace rimetree
