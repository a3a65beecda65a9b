// Fourier transforms on a GPU by cuFFT, which is looked for when the first one is wanted: who correlates nothing needs
// no library of 300 MB. Where it is not there, the project's own steps do the same.
#include <cufft.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "memory/cuda_device.h"
#include "memory/optional_library.h"
#include "nodes/correlator/device/fourier_job.h"
#include "runtime/device/job_launch.h"

namespace rimetree::correlator {
namespace {

/// The library's functions.
struct Cufft {
  memory::OptionalLibrary library{"libcufft.so." + std::to_string(CUFFT_VER_MAJOR)};
  decltype(&cufftPlanMany) plan_many = nullptr;
  decltype(&cufftSetStream) set_stream = nullptr;
  decltype(&cufftExecC2C) execute = nullptr;
  decltype(&cufftDestroy) destroy = nullptr;

  Cufft() {
    library.find("cufftPlanMany", plan_many);
    library.find("cufftSetStream", set_stream);
    library.find("cufftExecC2C", execute);
    library.find("cufftDestroy", destroy);
  }
};
const Cufft& cufft() {
  static const Cufft functions;
  return functions;
}

void check(cufftResult result, const char* what) {
  if (result == CUFFT_ALLOC_FAILED) throw memory::OutOfMemory("a GPU (cuFFT)", 0);
  if (result != CUFFT_SUCCESS)
    throw std::runtime_error(std::string(what) + " failed: cuFFT says " + std::to_string(static_cast<int>(result)));
}

/// Plans by device, length and batch. They are few: all portions but the last have the same size. The library gives
/// back what is left when the process ends.
class Plans {
 public:
  void run(cudaStream_t stream, const FourierJob& job) {
    constexpr std::size_t kMost = 8;
    const std::lock_guard lock(mutex_);
    int device = 0;
    memory::check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    const auto key = std::pair(std::pair(device, job.n), job.batch);
    if (!plans_.contains(key)) {
      if (plans_.size() >= kMost) {
        // Its work may still be under way.
        memory::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        check(cufft().destroy(plans_.begin()->second), "cufftDestroy");
        plans_.erase(plans_.begin());
      }
      cufftHandle plan;
      int n = job.n;
      check(cufft().plan_many(&plan, 1, &n, nullptr, 1, n, nullptr, 1, n, CUFFT_C2C, static_cast<int>(job.batch)),
            "cufftPlanMany");
      plans_.emplace(key, plan);
    }
    const cufftHandle plan = plans_.at(key);
    check(cufft().set_stream(plan, stream), "cufftSetStream");
    check(cufft().execute(plan, reinterpret_cast<cufftComplex*>(job.signal), reinterpret_cast<cufftComplex*>(job.bins),
                          CUFFT_FORWARD),
          "cufftExecC2C");
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::pair<int, std::int32_t>, std::int64_t>, cufftHandle> plans_;
};

void launch_fourier(memory::Queue& queue, const FourierJob& job) {
  static Plans plans;
  plans.run(memory::cuda_stream(queue), job);
}

[[maybe_unused]] const bool brought = [] {
  set_gpu_fourier_library([] { return cufft().library.is_there(); });
  return bring_launcher(&launch_fourier);
}();

}  // namespace
}  // namespace rimetree::correlator
